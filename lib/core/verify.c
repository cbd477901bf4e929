/* See verify.h. What vanishes because somebody prunes it is not damaged: after a
 * complaint the head is looked at once more. */
#include "core/verify.h"

#include "record/checkpoint.h"
#include "record/job.h"
#include "record/keys.h"

#define SHOWN 100

void gpc_verdicts_clear(struct gpc_verdicts *x)
{
	gpc_vec_each(v, x) {
		free(v->id);
		gpc_strv_clear(&v->damages);
	}
	gpc_vec_free(x);
}

struct looking { struct gpc_verdict *v; int rank; };

static void note(void *arg, const char *path, const char *blob,
	const char *what)
{
	struct looking *l = arg;
	gpc_autostr *rank = l->rank < 0 ? gpc_strdup("") :
		gpc_format("rank %d: ", l->rank);

	l->v->sound = false;
	if (l->v->n_damages++ >= SHOWN)
		return;
	gpc_strv_addf(&l->v->damages, "%s%s%s%s%s%s%s", rank, path ? path : "",
		path ? ": " : "", what, blob ? " (blob " : "", blob ? blob : "",
		blob ? ")" : "");
}

static struct gpc_verdict *add(struct gpc_verdicts *x, const char *id)
{
	struct gpc_verdict *v = gpc_vec_push(x);

	v->id = gpc_strdup(id);
	v->sound = true;
	return v;
}

int gpc_verify_checkpoint(struct gpc_session *s, const char *job, const char *id,
	const struct gpc_verify_options *o, struct gpc_verdicts *ret_x,
	struct gpc_error *err)
{
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = {0};
	struct gpc_error why = {0};
	struct looking l = {0};
	gpc_key key, prefix;
	int r = gpc_checkpoint_get(s->store, job, id, &c, &why);

	if (r < 0 && r != -GPC_EPROTO) {
		*err = why;
		return r;
	}
	l.v = add(ret_x, id);
	l.rank = -1;
	l.v->files = c.files;
	l.v->bytes = c.bytes;
	if (r < 0)
		note(&l, NULL, NULL, why.msg);
	r = 0;
	gpc_key_attempt(prefix, job, c.attempt, "blobs/");
	for (size_t i = 0; r == 0 && i < c.parts.n; i++) {
		l.rank = c.parts.n > 1 ? c.parts.v[i].rank : -1;
		r = gpc_snapshot_verify(s->store, c.parts.v[i].head, prefix, o,
			note, &l, err);
	}
	gpc_key_checkpoint(key, job, id);
	if (r == 0 && !l.v->sound)
		l.v->gone = gpc_store_head(s->store, key, NULL, NULL) ==
			-GPC_ENOTFOUND;
	return gpc_wrap(err, r, "checkpoint %s", id);
}

static int verify_head(struct gpc_session *s, const char *name,
	const char *head, const struct gpc_verify_options *o,
	struct gpc_verdicts *ret_x, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_error why = {0};
	struct looking l = { .rank = -1 };
	int r;

	if (!head)
		return 0;
	l.v = add(ret_x, name);
	r = gpc_snapshot_get_head(s->store, "blobs/", head, &j, &why);
	if (r == -GPC_ENOTFOUND || r == -GPC_EPROTO) {
		note(&l, NULL, head, r == -GPC_ENOTFOUND ?
			"its head is missing" : why.msg);
		return 0;
	}
	if (r < 0) {
		*err = why;
		return r;
	}
	l.v->files = gpc_json_get_int(j, "files", 0);
	l.v->bytes = gpc_json_get_int(j, "bytes", 0);
	return gpc_snapshot_verify(s->store, j, "blobs/", o, note, &l, err);
}

int gpc_verify_workspace(struct gpc_session *s, const char *job,
	const struct gpc_verify_options *o, struct gpc_verdicts *ret_x,
	struct gpc_error *err)
{
	gpc_auto(gpc_job) struct gpc_job j = {0};
	int r = gpc_job_get(s->store, job, &j, err);

	if (r == 0)
		r = verify_head(s, "workspace", j.workspace, o, ret_x, err);
	for (size_t i = 0; r == 0 && i < j.mounts.n; i++)
		r = verify_head(s, j.mounts.v[i].target, j.mounts.v[i].head, o,
			ret_x, err);
	return gpc_wrap(err, r, "job %s", job);
}
