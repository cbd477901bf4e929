/* Artifacts are plain objects, jobs/J/artifacts/<path below the workdir>, so
 * that any tool can fetch them. Bytes that a key cannot hold (control, not
 * ASCII, and % itself) are written as %XX. With `to` they are copied below
 * that folder instead. */
#define _DEFAULT_SOURCE
#include "agent/artifacts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/copy.h"
#include "base/crash.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "record/keys.h"

enum { MAX_DEPTH = 128, TRIES = 5, RETRY_MS = 2000 };

struct sending {
	struct gpc_agent *a;
	const struct gpc_cancel *cancel;
	const struct gpc_spec_artifact *artifact;
	uint64_t files, bytes;
};

bool gpc_artifacts_due(const struct gpc_agent *a)
{
	if (a->rank != 0 || a->abandoned || a->run_started_ms == 0)
		return false;
	/* Another attempt goes on: its results will be the job's. */
	if (gpc_reason_retry(a->exit.reason) == GPC_RETRY_RECOVER)
		return false;
	for (size_t i = 0; i < a->spec.artifacts.n; i++)
		if (a->spec.artifacts.v[i].when == GPC_SPEC_WHEN_ALWAYS
			|| a->exit.reason == GPC_REASON_COMPLETED)
			return true;
	return false;
}

/* The path below the workdir, or below the home for one outside of it. */
static const char *relative(const struct gpc_agent *a, const char *path)
{
	const char *base = gpc_path_contains(a->workdir, path) ? a->workdir
		: a->home;
	size_t n = strlen(base);

	return path[n] == '/' ? path + n + 1 : gpc_path_base(path);
}

static int put_as(struct sending *s, const char *path, const char *as,
	const struct stat *st, struct gpc_error *err)
{
	gpc_autostr *coded = gpc_key_escape(as);
	gpc_autostr *name = gpc_format("artifacts/%s", coded);
	gpc_autofd fd = -1;
	struct gpc_body body = { .size = (uint64_t)st->st_size };
	gpc_key key;
	int r;

	if (strlen(name) + strlen(s->a->job.id) + 8 >= GPC_KEY_SIZE)
		return gpc_fail(err, GPC_EPROTO, "%s: the path is too long for "
			"the store", path);
	gpc_key_job_file(key, s->a->job.id, name);
	r = gpc_open(path, O_RDONLY, 0, &fd, err);
	body.fd = fd;
	for (int i = 0; r == 0 && i < TRIES; i++) {
		r = gpc_store_put_body(s->a->store, key, &body, 0, err);
		GPC_CRASH("artifacts.file_put");
		if (r == 0 || !gpc_agent_may_retry(err)
			|| gpc_canceled(s->cancel))
			break;
		gpc_sleep_ms(RETRY_MS);
		r = i + 1 < TRIES ? 0 : r;
	}
	s->files += r == 0;
	s->bytes += r == 0 ? body.size : 0;
	return gpc_wrap(err, r, "artifact %s", path);
}

static int put_file(struct sending *s, const char *path, const struct stat *st,
	struct gpc_error *err)
{
	return put_as(s, path, relative(s->a, path), st, err);
}

int gpc_artifacts_put(struct gpc_agent *a, const char *path, const char *name,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	struct sending s = { .a = a, .cancel = cancel };
	struct stat st;

	if (lstat(path, &st) < 0)
		return gpc_fail_sys(err, errno, "cannot look at %s", path);
	return put_as(&s, path, name, &st, err);
}

static int put_tree(struct sending *s, const char *path, int depth,
	struct gpc_error *err);

static int put_dir(struct sending *s, const char *path, int depth,
	struct gpc_error *err)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int r = 0;

	if (!d)
		return gpc_fail_sys(err, errno, "cannot list %s", path);
	while (r == 0 && (errno = 0, e = readdir(d))) {
		gpc_autostr *below = NULL;

		if (gpc_eq(e->d_name, ".") || gpc_eq(e->d_name, ".."))
			continue;
		below = gpc_path_join(path, e->d_name);
		r = put_tree(s, below, depth + 1, err);
	}
	if (r == 0 && errno != 0)
		r = gpc_fail_sys(err, errno, "cannot list %s", path);
	closedir(d);
	return r;
}

static bool leads_nowhere(int sys)
{
	return sys == ENOENT || sys == ENOTDIR || sys == ELOOP ||
		sys == EACCES || sys == ENAMETOOLONG;
}

/* Links are followed where they stay inside the home: an artifact is what can
 * be read there. */
static int look(struct sending *s, const char *path, struct stat *ret_st,
	bool *ret_inside, struct gpc_error *err)
{
	gpc_autostr *home = realpath(s->a->home, NULL);
	gpc_autostr *real = home ? realpath(path, NULL) : NULL;

	*ret_inside = real && gpc_path_contains(home, real);
	if (home && (!*ret_inside ? real != NULL : stat(real, ret_st) == 0))
		return 0;
	*ret_inside = false;
	if (home && leads_nowhere(errno))
		return 0;
	return gpc_fail_sys(err, errno, "cannot look at %s", path);
}

static int put_tree(struct sending *s, const char *path, int depth,
	struct gpc_error *err)
{
	struct stat st;
	bool inside;
	int r;

	if (gpc_canceled(s->cancel))
		return gpc_fail(err, GPC_ECANCELED, "stopped");
	if (depth > MAX_DEPTH)
		return gpc_fail(err, GPC_EPROTO, "%s: folders too deep", path);
	r = look(s, path, &st, &inside, err);
	if (r < 0)
		return r;
	if (!inside) {
		gpc_agent_say(s->a, GPC_WARN, "artifact %s passed by: it leads "
			"nowhere or out of the job's home", path);
		return 0;
	}
	if (S_ISDIR(st.st_mode))
		return put_dir(s, path, depth, err);
	return S_ISREG(st.st_mode) ? put_file(s, path, &st, err) : 0;
}

static int copy_to(struct sending *s, const char *path, struct gpc_error *err)
{
	gpc_autostr *folder = NULL, *target = NULL;
	int r = gpc_path_absolute(gpc_spec_source_path(s->artifact->to), &folder,
		err);

	if (r < 0)
		return r;
	target = gpc_path_join(folder, relative(s->a, path));
	s->files++;
	return gpc_copy_tree(path, target, s->cancel, err);
}

/* The workdir's own path is no pattern. */
static char *escape_glob(const char *path)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	for (; *path; path++) {
		if (strchr("*?[\\", *path))
			gpc_buf_addc(&b, '\\');
		gpc_buf_addc(&b, *path);
	}
	return gpc_strdup(gpc_buf_str(&b));
}

static int send_one(struct sending *s, struct gpc_error *err)
{
	const char *path = s->artifact->path;
	gpc_autostr *home = escape_glob(s->a->home);
	gpc_autostr *workdir = escape_glob(s->a->workdir);
	gpc_autostr *pattern = gpc_starts_with(path, "~/")
		? gpc_path_join(home, path + 2) : gpc_path_join(workdir, path);
	gpc_autostr *clean = NULL;
	glob_t g = {0};
	int r = gpc_agent_path(s->a, path, "artifacts", &clean, err);
	int x = r < 0 ? GLOB_NOMATCH : glob(pattern, GLOB_PERIOD, NULL, &g);

	if (x != 0 && x != GLOB_NOMATCH)
		return gpc_fail(err, GPC_EIO, "artifacts: cannot look for %s",
			path);
	for (size_t i = 0; r == 0 && i < g.gl_pathc; i++) {
		gpc_autostr *found = NULL;
		const char *base = gpc_path_base(g.gl_pathv[i]);

		if (gpc_eq(base, ".") || gpc_eq(base, ".."))
			continue;
		r = gpc_path_absolute(g.gl_pathv[i], &found, err);
		if (r == 0 && !gpc_path_contains(s->a->home, found))
			r = gpc_fail(err, GPC_ECONFIG, "artifacts: %s lies "
				"outside the job's home", path);
		else if (r == 0)
			r = s->artifact->to ? copy_to(s, found, err)
				: put_tree(s, found, 0, err);
	}
	if (r == 0 && g.gl_pathc == 0)
		gpc_agent_say(s->a, GPC_WARN, "artifacts: nothing matches %s",
			path);
	globfree(&g);
	return r;
}

int gpc_artifacts_task(void *arg, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	struct gpc_agent *a = arg;
	struct sending s = { .a = a, .cancel = cancel };
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->spec.artifacts.n; i++) {
		s.artifact = &a->spec.artifacts.v[i];
		if (s.artifact->when == GPC_SPEC_WHEN_SUCCESS
			&& a->exit.reason != GPC_REASON_COMPLETED)
			continue;
		r = send_one(&s, err);
	}
	gpc_agent_say(a, GPC_INFO, "artifacts: %llu files, %llu bytes",
		(unsigned long long)s.files, (unsigned long long)s.bytes);
	return r;
}
