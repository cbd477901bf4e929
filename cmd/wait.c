/* `gpucloud wait`: until jobs have ended; the exit status is theirs, of several
 * the highest. Waiting keeps a supervisor alive, so a job that nobody moved
 * goes on.
 */
#include "base/time.h"
#include "cmd/command.h"
#include "cmd/follow.h"
#include "cmd/session_open.h"

struct wait { int64_t timeout; };

static const struct gpc_opt options[] = {
	GPC_OPT_DURATION(0, "timeout", struct wait, timeout, "TIME",
		"give up after this, with exit status 7"),
	GPC_OPT_END
};

struct watched {
	struct gpc_follow **v;
	bool *ended;
	size_t n;
};

static void watched_clear(struct watched *w)
{
	for (size_t i = 0; i < w->n; i++)
		gpc_follow_free(w->v[i]);
	free(w->v);
	free(w->ended);
}

static int start(struct gpc_cmd *c, struct gpc_session *s, struct watched *w,
	struct gpc_error *err)
{
	size_t n = c->argc ? (size_t)c->argc : 1;
	struct gpc_follow_options how = {
		.json = c->out.format == GPC_OUT_JSON, .name_lines = n > 1,
	};

	w->v = gpc_array(n, sizeof(struct gpc_follow *));
	w->ended = gpc_array(n, sizeof(bool));
	for (size_t i = 0; i < n; i++) {
		char job[GPC_JOB_ID_SIZE];
		int r = gpc_job_find(s, c->argc ? c->argv[i] : "@", false, job,
			err);

		if (!r)
			r = gpc_follow_new(c, s, job, &how, &w->v[i], err);
		if (r)
			return r;
		w->n++;
	}
	return 0;
}

static int step_all(struct watched *w, int *status, bool *ret_done,
	struct gpc_error *err)
{
	*ret_done = true;
	for (size_t i = 0; i < w->n; i++) {
		if (w->ended[i])
			continue;
		int r = gpc_follow_step(w->v[i], &w->ended[i], err);
		if (r)
			return r;
		if (!w->ended[i]) {
			*ret_done = false;
			continue;
		}
		int one = gpc_follow_end(w->v[i]);
		*status = one > *status ? one : *status;
	}
	return 0;
}

static void pause_for_any(struct watched *w)
{
	for (size_t i = 0; i < w->n; i++) {
		if (!w->ended[i]) {
			gpc_follow_pause(w->v[i]);
			return;
		}
	}
}

static int timed_out(struct gpc_cmd *c, const struct watched *w,
	struct gpc_error *err)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct gpc_view *v = gpc_follow_view(w->v[i]);

		if (!w->ended[i]) {
			gpc_fail(err, GPC_ETIMEOUT, "%s is still %s", v->job.id,
				gpc_job_status_to_str(v->state.status));
			break;
		}
	}
	gpc_hint(err, "it runs on: gpucloud status %s",
		c->argc == 1 ? c->argv[0] : "");
	return -GPC_ETIMEOUT;
}

static int loop(struct gpc_cmd *c, struct watched *w, struct gpc_error *err)
{
	const struct wait *o = c->ctx;
	int64_t start_ms = gpc_boot_ms();
	int status = 0;

	for (;;) {
		bool done;
		int r = step_all(w, &status, &done, err);

		if (r)
			return r;
		if (done) {
			c->exit_status = status;
			return 0;
		}
		if (gpc_canceled(c->cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted; the "
				"job%s on", w->n == 1 ? " runs" : "s run");
		if (o->timeout && gpc_boot_ms() - start_ms >= o->timeout)
			return timed_out(c, w, err);
		pause_for_any(w);
	}
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	gpc_autoptr(gpc_session) *s = NULL;
	struct watched w = {0};
	int r = gpc_cmd_session(c, GPC_STORE_MUST_BE, &s, err);

	if (!r)
		r = start(c, s, &w, err);
	if (!r)
		r = loop(c, &w, err);
	watched_clear(&w);
	return r;
}

const struct gpc_command gpc_command_wait = {
	.name = "wait",
	.summary = "wait until jobs have ended",
	.usage = "[OPTION]... [JOB]...",
	.about = "Waits for the end of every JOB (by default the newest one) "
		"and says each state on the way. The exit status is the "
		"job's, of several the highest.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct wait),
	.max_args = -1,
	.complete = GPC_COMPLETE_JOB,
	.run = run,
};
