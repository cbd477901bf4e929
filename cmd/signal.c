/* `gpucloud signal`: a signal to the job's program, or the notice that a cloud
 * gives before it takes a spot machine away.
 */
#include "cmd/command.h"
#include "cmd/session_open.h"
#include "core/request.h"
#include "core/view.h"

struct sending { int rank; };

static const struct gpc_opt options[] = {
	GPC_OPT_INT(0, "rank", struct sending, rank, "N",
		"only to this rank; by default to all",
		.complete = GPC_COMPLETE_RANK, .key = GPC_OPT_NO_KEY),
	GPC_OPT_END
};

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct sending *o = c->ctx;
	int rank = gpc_cmd_given(c, "rank") ? o->rank : -1;
	gpc_auto(gpc_view) struct gpc_view v = {0};
	gpc_autoptr(gpc_session) *s = NULL;
	char job[GPC_JOB_ID_SIZE];
	int r = gpc_cmd_session(c, GPC_STORE_MUST_BE, &s, err);

	if (!r)
		r = gpc_job_find(s, c->argv[0], true, job, err);
	if (!r)
		r = gpc_view_load(s, job, &v, err);
	if (!r && rank >= v.state.num_nodes && rank > 0)
		return gpc_fail(err, GPC_EUSAGE, "--rank %d: the highest rank "
			"of %s is %d", rank, job, v.state.num_nodes - 1);
	if (!r)
		r = gpc_request_signal(s, job, c->argv[1], rank, err);
	if (r)
		return r;
	gpc_cmd_ensure_supervisor(c, s);
	if (c->out.format == GPC_OUT_JSON) {
		struct gpc_json *j = gpc_json_object();
		gpc_json_set_str(j, "job", job);
		gpc_json_set_str(j, "signal", c->argv[1]);
		gpc_json_set(j, "rank", rank < 0 ? gpc_json_null() :
			gpc_json_int(rank));
		return gpc_out_json(&c->out, "signal", j, err);
	}
	gpc_say(&c->talk, "gpucloud: %s goes to %s", c->argv[1], job);
	return 0;
}

static enum gpc_complete next(const char *const *words, int n)
{
	(void)words;
	return n ? GPC_COMPLETE_SIGNAL : GPC_COMPLETE_LIVE_JOB;
}

const struct gpc_command gpc_command_signal = {
	.name = "signal",
	.summary = "send a signal or an interruption notice to a job",
	.usage = "[OPTION]... JOB NAME",
	.about = "Sends the signal NAME (TERM, USR1, ...) to the program of "
		"JOB. The NAME interrupt is no signal but the notice that a "
		"cloud gives before it takes a spot machine away: the job "
		"saves, the node ends, and the next attempt goes on.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct sending),
	.min_args = 2,
	.max_args = 2,
	.complete_next = next,
	.run = run,
};
