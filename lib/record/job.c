/* job.json as everybody reads it: whole, up to one limit, and checked. It never
 * changes, so whoever has it needs not read it again.
 */
#include "record/job.h"

#include "record/keys.h"


int gpc_job_get(struct gpc_store *s, const char *job, struct gpc_job *ret_job,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = GPC_JOB_MAX_BYTES };
	gpc_key key;
	int r = gpc_store_get(s, gpc_key_job(key, job), GPC_JOB_MAX_BYTES, &b, err);

	if (r == 0)
		r = gpc_wrap(err, gpc_job_parse(gpc_buf_str(&b), b.len, ret_job,
			err), "%s", key);
	if (r == -GPC_EPROTO)
		gpc_hint(err, "put that object back from a copy; once its job has ended, "
			"`gpucloud prune --jobs` takes what is left of it");
	return r;
}

int gpc_job_get_spec(struct gpc_store *s, const char *job,
	struct gpc_job *ret_job, struct gpc_spec *ret_spec,
	struct gpc_error *err)
{
	gpc_auto(gpc_job) struct gpc_job read = {0};
	gpc_key key;
	int r = gpc_job_get(s, job, &read, err);

	if (r == 0)
		r = gpc_spec_from_json(read.spec, gpc_key_job(key, job),
			ret_spec, NULL, err);
	if (r < 0)
		return r;
	*ret_job = read;
	read = (struct gpc_job){0};
	return 0;
}
