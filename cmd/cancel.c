/* `gpucloud cancel`: asks jobs to end. Every word is looked up before the first
 * job is asked, so that a typing error ends nothing.
 */
#include <string.h>

#include "cmd/command.h"
#include "cmd/session_open.h"
#include "core/request.h"
#include "core/view.h"

struct cancel { bool now; };

static const struct gpc_opt options[] = {
	GPC_OPT_FLAG(0, "now", struct cancel, now,
		"do not save a checkpoint first", .key = GPC_OPT_NO_KEY),
	GPC_OPT_END
};

struct row { char *job; bool ended; };
static const struct gpc_col cols[] = {
	GPC_COL("job", STR, struct row, job, GPC_COL_F_NAME),
	GPC_COL("ended_before", BOOL, struct row, ended, 0),
	GPC_COL_LAST
};
static const struct gpc_table table = {"cancel", cols, sizeof(struct row)};

static int find_all(struct gpc_cmd *c, struct gpc_session *s,
	struct gpc_strv *jobs, struct gpc_error *err)
{
	for (int i = 0; i < c->argc; i++) {
		char job[GPC_JOB_ID_SIZE];
		int r = gpc_job_find(s, c->argv[i], true, job, err);

		if (r)
			return r;
		if (!gpc_strv_has(jobs, job))
			gpc_strv_add(jobs, job);
	}
	return 0;
}

static int cancel_all(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_strv *jobs, struct row *rows, struct gpc_error *err)
{
	const struct cancel *o = c->ctx;

	for (size_t i = 0; i < jobs->n; i++) {
		int r = gpc_request_cancel(s, jobs->v[i], o->now,
			&rows[i].ended, err);

		if (r)
			return r;
		rows[i].job = jobs->v[i];
		if (rows[i].ended)
			gpc_say(&c->talk, "gpucloud: %s has ended already",
				jobs->v[i]);
		else
			gpc_say(&c->talk, "gpucloud: %s %s", jobs->v[i],
				o->now ? "is stopped now" :
				"saves what it can and stops");
	}
	return 0;
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	gpc_autoptr(gpc_session) *s = NULL;
	gpc_auto(gpc_strv) struct gpc_strv jobs = {0};
	int r = gpc_cmd_session(c, GPC_STORE_MUST_BE, &s, err);

	if (!r)
		r = find_all(c, s, &jobs, err);
	if (r)
		return r;
	struct row *rows = gpc_array(jobs.n ? jobs.n : 1, sizeof(*rows));
	r = cancel_all(c, s, &jobs, rows, err);
	gpc_cmd_ensure_supervisor(c, s);
	if (!r && c->out.format != GPC_OUT_TABLE &&
		c->out.format != GPC_OUT_WIDE)
		r = gpc_out_rows(&c->out, &table, rows, jobs.n, err);
	free(rows);
	return r;
}

const struct gpc_command gpc_command_cancel = {
	.name = "cancel",
	.summary = "end jobs",
	.usage = "[OPTION]... JOB...",
	.about = "Asks each JOB to save a checkpoint and to stop, and returns. "
		"`gpucloud release JOB` does the same and waits until its "
		"nodes are given back.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct cancel),
	.min_args = 1,
	.max_args = -1,
	.complete = GPC_COMPLETE_LIVE_JOB,
	.run = run,
};
