/* See machine.h. */
#include "core/machine.h"

#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "core/supervision.h"
#include "core/view.h"
#include "record/index.h"
#include "record/job.h"

#define NAME "supervisor"
#define MEMORY ((uint64_t)1 << 30)
#define DISK ((uint64_t)10 << 30)       /* an image is 8 */
#define ID_MAX ((size_t)GPC_JOB_ID_SIZE)

/* What ends by itself is begun anew a few times; what cannot work at all does not
 * cost money for days. */
#define PROGRAM \
	"tries=0\n" \
	"until gpucloud supervise; do\n" \
	"\ttries=$((tries + 1))\n" \
	"\t[ \"$tries\" -lt 5 ] || exit 1\n" \
	"\tsleep 10\n" \
	"done\n"

void gpc_machine_spec(const struct gpc_machine_wish *w, struct gpc_spec *ret_spec)
{
	gpc_spec_init(ret_spec);
	gpc_set_str(&ret_spec->name, NAME);
	gpc_set_str(&ret_spec->resources.infra, w->infra);
	ret_spec->resources.memory_bytes = MEMORY;
	ret_spec->resources.memory_at_least = true;
	ret_spec->resources.disk_bytes = DISK;
	gpc_set_str(&ret_spec->run, PROGRAM);
	ret_spec->limits.cost = w->cost;
	gpc_pairs_copy(&ret_spec->envs, w->envs);
}

bool gpc_machine_serves(const struct gpc_job *job, const struct gpc_spec *spec)
{
	bool ordered;
	size_t n = gpc_spec_candidates(spec, &ordered);

	if (job->supervisor.profile)
		return false;
	for (size_t i = 0; i < n; i++) {
		gpc_autostr *name = gpc_resources_provider(
			gpc_spec_candidate(spec, i));

		if (!name || gpc_provider_caps(name) & GPC_PROVIDER_THIS_HOST)
			return false;
	}
	return true;
}

static bool has_ended(struct gpc_session *s, const char *job)
{
	gpc_auto(gpc_view) struct gpc_view v = {0};

	return gpc_view_load(s, job, &v, NULL) == 0 &&
		gpc_job_status_is_end(v.state.status);
}

/* An entry without a job is a submit under way, or one that died. */
static int look_at(struct gpc_session *s, const char *id,
	struct gpc_machine_look *l, struct gpc_error *err)
{
	gpc_auto(gpc_job) struct gpc_job job = {0};
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	int r = gpc_job_get_spec(s->store, id, &job, &spec, err);

	if (r == -GPC_ENOTFOUND)
		return 0;
	if (r < 0)
		return r;
	if (gpc_machine_serves(&job, &spec))
		l->jobs += !has_ended(s, id);
	else if (job.supervisor.profile && !l->machine[0] && !has_ended(s, id))
		memcpy(l->machine, id, strlen(id) + 1);
	return 0;
}

int gpc_machine_look(struct gpc_session *s, struct gpc_machine_look *ret_l,
	struct gpc_error *err)
{
	gpc_auto(gpc_index) struct gpc_index index = {0};
	struct gpc_machine_look l = {0};
	int r = gpc_index_list_live(s->store, &index, err);

	for (size_t i = 0; r == 0 && i < index.n; i++)
		if (gpc_eq(index.v[i].owner_hash, s->place.owner.hash))
			r = look_at(s, index.v[i].job, &l, err);
	if (r == 0)
		*ret_l = l;
	return r;
}

void gpc_machine_remember(struct gpc_session *s, const char *job)
{
	gpc_autostr *path = gpc_supervisor_file(s, "machine");
	struct gpc_error why;
	int r = gpc_mkdirs(s->place.state_dir, 0700, &why);

	if (r == 0)
		r = gpc_write_file(path, job, strlen(job), 0600, &why);
	if (r < 0)
		gpc_log(s->log, GPC_VERBOSE, "%s", why.msg);
}

char *gpc_machine_standby(struct gpc_session *s)
{
	gpc_autostr *path = gpc_supervisor_file(s, "machine");
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_auto(gpc_view) struct gpc_view v = {0};
	int r;

	if (gpc_read_file(path, ID_MAX, &b, NULL) < 0 || !b.len)
		return NULL;
	r = gpc_view_load(s, gpc_buf_str(&b), &v, NULL);
	if (r == 0 && !gpc_job_status_is_end(v.state.status))
		return gpc_strdup(gpc_buf_str(&b));
	if (r == 0 || r == -GPC_ENOTFOUND)
		(void)unlink(path);     /* it is not asked for again */
	return NULL;
}
