/* See kept.h. Ids of stores and jobs are never used again, so nothing here is ever
 * wrong; it only grows old. */
#include "core/kept.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"

#define KEPT_MAX ((size_t)9 << 20)
#define JOB_MS ((int64_t)30 * 24 * 3600 * 1000)

static bool is_kept(const struct gpc_session *s)
{
	return s->store && s->store->id[0] && gpc_store_is_far(s->store);
}

static char *folder_of(const struct gpc_session *s, const char *kind)
{
	gpc_autostr *name = gpc_format("%s/%s", kind, s->store->id);

	return gpc_path_join(s->place.cache_dir, name);
}

struct gpc_json *gpc_kept_get(struct gpc_session *s, const char *kind,
	const char *name)
{
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = KEPT_MAX };
	gpc_autostr *folder = NULL, *path = NULL;
	struct gpc_json *j = NULL;

	if (!is_kept(s))
		return NULL;
	folder = folder_of(s, kind);
	path = gpc_path_join(folder, name);
	if (gpc_read_file(path, KEPT_MAX, &b, NULL) < 0 ||
		gpc_json_parse(gpc_buf_str(&b), b.len, &j, NULL) < 0)
		return NULL;
	return j;
}

static void remove_old(const char *folder, int64_t keep_ms)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		gpc_autostr *path = gpc_path_join(folder, e->d_name);
		struct stat st;

		if (e->d_name[0] != '.' && lstat(path, &st) == 0 &&
			S_ISREG(st.st_mode) && gpc_wall_ms() -
			(int64_t)st.st_mtim.tv_sec * 1000 > keep_ms)
			unlink(path);
	}
	if (d)
		closedir(d);
}

void gpc_kept_put(struct gpc_session *s, const char *kind, const char *name,
	struct gpc_json *j, int64_t keep_ms)
{
	gpc_autoptr(gpc_json) *owned = j;
	gpc_autostr *folder = NULL, *path = NULL, *text = NULL;
	struct gpc_error why;

	if (!is_kept(s))
		return;
	folder = folder_of(s, kind);
	path = gpc_path_join(folder, name);
	text = gpc_json_print(owned);
	if (gpc_mkdirs(folder, 0700, &why) < 0 ||
		gpc_write_file(path, text, strlen(text), 0600, &why) < 0) {
		gpc_log(s->log, GPC_VERBOSE, "%s", why.msg);
		return;
	}
	remove_old(folder, keep_ms);
}

bool gpc_kept_job(struct gpc_session *s, const char *id,
	struct gpc_job *ret_job)
{
	gpc_autoptr(gpc_json) *j = gpc_kept_get(s, "jobs", id);
	gpc_auto(gpc_job) struct gpc_job job = {0};
	gpc_autostr *text = j ? gpc_json_print(j) : NULL;

	if (!text || gpc_job_parse(text, strlen(text), &job, NULL) < 0 ||
		!gpc_eq(job.id, id))
		return false;
	*ret_job = job;
	job = (struct gpc_job){0};
	return true;
}

void gpc_keep_job(struct gpc_session *s, const struct gpc_job *job)
{
	if (is_kept(s))
		gpc_kept_put(s, "jobs", job->id, gpc_job_write(job), JOB_MS);
}
