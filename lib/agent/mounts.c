/* file_mounts onto the node, from what was taken at the submit: a folder's
 * contents go below the target, a single file becomes the target. Files are
 * written beside their places and renamed, so that nobody meets half of one.
 */
#include "agent/mounts.h"

#include <errno.h>
#include <stdio.h>

#include "agent/restore.h"
#include "base/crash.h"
#include "base/path.h"
#include "base/str.h"
#include "snapshot/snapshot.h"

static int get(struct gpc_agent *a, const struct gpc_job_mount *m,
	const char *to, const struct gpc_cancel *cancel, struct gpc_error *err)
{
	struct gpc_restore_options o = { .overwrite = true, .cancel = cancel };
	gpc_autoptr(gpc_json) *head = NULL;
	int r = gpc_snapshot_get_head(a->store, "blobs/", m->head, &head, err);

	return r < 0 ? r : gpc_snapshot_restore(a->store, head, "blobs/", to,
		&o, err);
}

static int put_file(struct gpc_agent *a, const struct gpc_job_mount *m,
	const char *target, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	gpc_autostr *part = gpc_format("%s.gpc-part", target);
	gpc_autostr *from = NULL;
	struct gpc_error late;
	int r = get(a, m, part, cancel, err), removed;

	from = gpc_path_join(part, gpc_path_base(m->file));
	GPC_CRASH("mounts.unpacked");
	if (r == 0 && rename(from, target) < 0)
		r = gpc_fail_sys(err, errno, "cannot write %s", target);
	removed = gpc_rmtree(part, &late);
	if (r == 0 && removed < 0)
		*err = late;
	return r < 0 ? r : removed;
}

/* A target that is in the way is the user's to mend: trying again would not
 * help. */
static int blame_target(int r, struct gpc_error *err)
{
	if (r == 0 || (r != -GPC_ECONFLICT && err->sys != ENOTDIR
		&& err->sys != EISDIR && err->sys != ELOOP
		&& err->sys != EACCES && err->sys != EPERM))
		return r;
	return gpc_recode(err, GPC_ECONFIG);
}

static int mount(struct gpc_agent *a, const struct gpc_job_mount *m,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	gpc_autostr *what = gpc_format("file_mounts.%s", m->target);
	gpc_autostr *target = NULL;
	int r = gpc_agent_path(a, m->target, what, &target, err);

	if (r < 0)
		return r;
	r = m->file ? put_file(a, m, target, cancel, err)
		: get(a, m, target, cancel, err);
	return gpc_wrap(err, blame_target(r, err), "%s", what);
}

static size_t count_sources(const struct gpc_spec *spec)
{
	size_t n = 0;

	gpc_vec_each(m, &spec->file_mounts)
		n += gpc_spec_source_is_bucket(m->source) ? 0 : m->sources.n ? m->sources.n : m->source != NULL;
	return n;
}

int gpc_mounts_restore(struct gpc_agent *a, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	int r = 0;

	/* What the paths hold now is not what was submitted. */
	if (a->job.mounts.n != count_sources(&a->spec)) {
		r = gpc_fail(err, GPC_ECONFIG, "file_mounts: the job's record "
			"has %zu of %zu sources", a->job.mounts.n,
			count_sources(&a->spec));
		gpc_hint(err, "an older gpucloud did not keep them: submit the "
			"job again");
		return r;
	}
	for (size_t i = 0; r == 0 && i < a->job.mounts.n; i++)
		r = mount(a, &a->job.mounts.v[i], cancel, err);
	return r;
}
