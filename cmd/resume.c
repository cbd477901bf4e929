/* `gpucloud resume`: a new attempt of an ended job, from its newest checkpoint
 * or from a named one. Secrets were deleted at the end and are asked for again.
 */
#include "base/time.h"
#include "cmd/attach.h"
#include "cmd/command.h"
#include "cmd/session_open.h"
#include "cmd/spec_load.h"
#include "core/request.h"
#include "core/view.h"

struct resume {
	bool detach;
	const char *checkpoint;
	struct gpc_strv secret;
	int64_t tether;
};

static const struct gpc_opt options[] = {
	GPC_OPT_FLAG('d', "detach", struct resume, detach,
		"print the job's id and return at once"),
	GPC_OPT_STR(0, "checkpoint", struct resume, checkpoint, "ID",
		"start from this one instead of the newest",
		.complete = GPC_COMPLETE_CHECKPOINT, .key = GPC_OPT_NO_KEY),
	GPC_OPT_LIST(0, "secret", struct resume, secret, "NAME[=@FILE]",
		"a secret again: from the environment, or from FILE",
		.complete = GPC_COMPLETE_ENV, .key = GPC_OPT_NO_KEY),
	GPC_OPT_TETHER(struct resume, tether),
	GPC_OPT_END
};

/* The job's secrets from --secret; what is missing there but set in the
 * environment is not taken silently: the user names it. */
static int check_secrets(const struct gpc_job *job,
	const struct gpc_pairs *given, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv missing = {0};
	int r;

	for (size_t i = 0; i < job->secrets.n; i++) {
		if (!gpc_pairs_has(given, job->secrets.v[i]))
			gpc_strv_add(&missing, job->secrets.v[i]);
	}
	for (size_t i = 0; i < given->n; i++) {
		if (!gpc_strv_has(&job->secrets, given->v[i].key))
			return gpc_fail(err, GPC_EUSAGE, "--secret %s: %s has "
				"no such secret", given->v[i].key, job->id);
	}
	if (!missing.n)
		return 0;
	gpc_autostr *list = gpc_strv_join(&missing, ", ");
	r = gpc_fail(err, GPC_EUSAGE, "%s needs its secrets again: %s", job->id,
		list);
	gpc_hint(err, "--secret %s takes the value of that environment "
		"variable, --secret %s=@FILE that of a file", missing.v[0],
		missing.v[0]);
	return r;
}

/* An end that a node has told is in the journal a moment later, by a supervisor,
 * which may have died before it. */
static int load_recorded(struct gpc_cmd *c, struct gpc_session *s,
	const char *job, struct gpc_view *v, struct gpc_error *err)
{
	int64_t end = gpc_boot_ms() + 10000;
	int r = gpc_view_load(s, job, v, err);

	if (!r && v->derived)
		gpc_cmd_ensure_supervisor(c, s);
	while (!r && v->derived && gpc_boot_ms() < end &&
		!gpc_canceled(s->cancel)) {
		gpc_view_clear(v);
		gpc_sleep_ms(50);
		r = gpc_view_load(s, job, v, err);
	}
	return r;
}

static int print_result(struct gpc_cmd *c, const char *job, int attempt,
	struct gpc_error *err)
{
	struct gpc_json *j;

	if (c->out.format != GPC_OUT_JSON)
		return gpc_out_print(&c->out, err, "%s\n", job);
	j = gpc_json_object();
	gpc_json_set_str(j, "job", job);
	gpc_json_set_int(j, "attempt", attempt);
	return gpc_out_json(&c->out, "resume", j, err);
}

static int start(struct gpc_cmd *c, struct gpc_session *s, const char *job,
	const struct gpc_pairs *secrets, struct gpc_error *err)
{
	const struct resume *o = c->ctx;
	gpc_auto(gpc_view) struct gpc_view v = {0};
	struct gpc_attach how = { .follow = {
		.log = true, .json = c->out.format == GPC_OUT_JSON,
		.fresh = true,
	} };
	int r = gpc_attach_tether(c, o->tether, !o->detach, &how.tether, err);

	if (!r)
		r = load_recorded(c, s, job, &v, err);
	if (!r && gpc_job_status_is_end(v.state.status))
		r = check_secrets(&v.job, secrets, err);
	/* What the client before us left would end the new attempt. */
	if (!r && gpc_job_status_is_end(v.state.status))
		r = how.tether.within_ms ?
			gpc_tether_put(&how.tether, s->store, job, err) :
			gpc_tether_cut(s->store, job, err);
	if (!r)
		r = gpc_request_resume(s, job, o->checkpoint, secrets, err);
	if (r)
		return r;
	gpc_cmd_ensure_supervisor(c, s);
	how.follow.from_attempt = v.state.attempt + 1;
	how.follow.after_event = v.state.n;
	if (!o->detach)
		return gpc_attach(c, s, job, &how, err);
	r = print_result(c, job, v.state.attempt + 1, err);
	if (!r)
		r = gpc_out_finish(&c->out, err);
	if (r)
		gpc_attach_hint(job, err);
	return gpc_wrap(err, r, "%s is resumed, but", job);
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct resume *o = c->ctx;
	gpc_autoptr(gpc_session) *s = NULL;
	gpc_auto(gpc_pairs) struct gpc_pairs secrets = {0};
	char job[GPC_JOB_ID_SIZE];
	int r = gpc_cmd_session(c, GPC_STORE_MUST_BE, &s, err);

	if (!r)
		r = gpc_job_find(s, c->argv[0], false, job, err);
	if (!r)
		r = gpc_spec_secrets(c, &o->secret, &secrets, err);
	return r ? r : start(c, s, job, &secrets, err);
}

const struct gpc_command gpc_command_resume = {
	.name = "resume",
	.summary = "go on from the newest checkpoint of an ended job",
	.usage = "[OPTION]... JOB",
	.about = "Starts the next attempt of a job that has ended, with the "
		"workspace and the spec that it was submitted with, and shows "
		"its output as submit does.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct resume),
	.min_args = 1,
	.max_args = 1,
	.complete = GPC_COMPLETE_ENDED_JOB,
	.run = run,
};
