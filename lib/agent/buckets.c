/* file_mounts from buckets onto the node, as the submit planned them. */
#include "agent/buckets.h"

#include <errno.h>
#include <inttypes.h>

#include "agent/restore.h"
#include "base/crash.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "transfer/source.h"

enum { SAY_MS = 10000 };

struct telling {
	struct gpc_agent *a;
	const char *target;
	int64_t said_ms;                /* boot clock */
};

static void say(const struct telling *t, const char *how,
	const struct gpc_transfer_counts *n)
{
	char done[32], all[32];

	gpc_agent_say(t->a, GPC_INFO, "file_mounts.%s: %s %" PRIu64 " of %" PRIu64
		" files, %s of %s", t->target, how, n->files, n->all_files,
		gpc_format_size(n->bytes, done, sizeof(done)),
		gpc_format_size(n->all_bytes, all, sizeof(all)));
}

static void progress(void *arg, const struct gpc_transfer_counts *n)
{
	struct telling *t = arg;
	int64_t now = gpc_boot_ms();

	if (now - t->said_ms < SAY_MS)
		return;
	t->said_ms = now;
	say(t, "copied", n);
}

/* What only the user can mend is the spec's fault: trying again would not help. */
static int blame(int r, struct gpc_error *err)
{
	if (r == 0 || (r != -GPC_ENOTFOUND && r != -GPC_EAUTH
		&& r != -GPC_ECONFLICT && r != -GPC_EPROTO
		&& err->sys != ENOTDIR && err->sys != EISDIR
		&& err->sys != ELOOP && err->sys != EACCES
		&& err->sys != EPERM))
		return r;
	return gpc_recode(err, GPC_ECONFIG);
}

static int fetch(struct gpc_agent *a, const struct gpc_job_bucket *b,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	struct telling t = { .a = a, .target = b->target,
		.said_ms = gpc_boot_ms() };
	gpc_autostr *what = gpc_format("file_mounts.%s", b->target);
	gpc_autostr *path = NULL;
	struct gpc_transfer_counts n = {0};
	const struct gpc_source from = {
		.url = b->source, .cancel = cancel, .log = &a->log,
		.folder = !gpc_eq(b->mode,
			gpc_spec_mode_names[GPC_SPEC_MODE_COPY]),
	};
	struct gpc_source_target to = { .progress = progress, .arg = &t,
		.into = gpc_ends_with(b->target, "/") };
	int r = gpc_agent_path(a, b->target, what, &path, err);

	to.path = path;
	if (r == 0)
		r = gpc_source_fetch(&from, &to, &n, err);
	GPC_CRASH("buckets.fetched");
	if (r == 0)
		say(&t, "has", &n);
	return gpc_wrap(err, blame(r, err), "%s", what);
}

static size_t count(const struct gpc_spec *spec)
{
	size_t n = 0;

	gpc_vec_each(m, &spec->file_mounts)
		n += gpc_spec_source_is_bucket(m->source);
	return n;
}

int gpc_buckets_restore(struct gpc_agent *a, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	int r = 0;

	if (a->job.buckets.n != count(&a->spec))
		return gpc_fail(err, GPC_ECONFIG, "file_mounts: the job's record "
			"has %zu of %zu buckets", a->job.buckets.n,
			count(&a->spec));
	for (size_t i = 0; r == 0 && i < a->job.buckets.n; i++)
		r = fetch(a, &a->job.buckets.v[i], cancel, err);
	return r;
}
