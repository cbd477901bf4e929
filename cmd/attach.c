/* See attach.h. The first signal ends the watching (and a tethered job); the
 * second one ends us, whatever the job does. */
#include "cmd/attach.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/parse.h"
#include "cmd/interrupt.h"
#include "cmd/pull_say.h"
#include "core/request.h"

enum { TETHER_CI_MS = 600000 };

static bool in_ci(void)
{
	const char *ci = getenv("CI");

	return ci && *ci && !gpc_eq_nocase(ci, "false") && !gpc_eq(ci, "0");
}

int gpc_attach_tether(const struct gpc_cmd *c, int64_t option_ms,
	bool attached, struct gpc_tether *ret_t, struct gpc_error *err)
{
	bool given = gpc_cmd_given(c, "tether") || option_ms > 0;

	*ret_t = (struct gpc_tether){ .within_ms = option_ms };
	if (!given && attached && in_ci())
		ret_t->within_ms = TETHER_CI_MS;
	if (option_ms > 0 && !attached)
		return gpc_fail(err, GPC_EUSAGE, "-d leaves the job alone; "
			"--tether needs a client that stays");
	return 0;
}

static int pull(struct gpc_cmd *c, struct gpc_session *s, const char *job,
	const char *dir, struct gpc_error *err)
{
	struct gpc_fetched got = {0};
	int r;

	if (!dir)
		return 0;
	r = gpc_fetch_artifacts(s, job, dir, false, &got, err);
	if (r)
		return gpc_wrap(err, r, "pull artifacts of %s", job);
	gpc_pull_say(c, &got, job, dir);
	return 0;
}

static bool no_machine_asked_for(const struct gpc_job_state *st)
{
	return st->attempt == 0 && st->intents.n == 0;
}

/* Nothing was bought yet, so there is nothing that could run on. */
static bool nothing_begun(const struct gpc_follow *f,
	const struct gpc_attach *a)
{
	return a->follow.fresh && !a->existed &&
		no_machine_asked_for(&gpc_follow_view(f)->state);
}

/* Once it is cancelled: an intent may have come before that, and none comes after. */
static bool is_called_off(struct gpc_session *s, const char *job)
{
	gpc_auto(gpc_view) struct gpc_view v = {0};

	return gpc_view_load(s, job, &v, NULL) == 0 &&
		no_machine_asked_for(&v.state);
}

/* The job goes with us: it saves, and we look on as long as we may. */
static int end_job(struct gpc_cmd *c, struct gpc_session *s, const char *job,
	struct gpc_follow *f, int signal, struct gpc_error *err)
{
	bool ended = false;
	int r = gpc_request_cancel(s, job, false, &ended, err);

	if (r)
		return r;
	if (!ended)
		gpc_follow_tell(f, is_called_off(s, job) ? "is called off: no "
			"machine had been asked for" : "is cancelled with this "
			"client: it saves what it can and stops");
	if (!c->out.broken)
		r = gpc_follow_run(f, 0, err);
	if (r == -GPC_ECANCELED)
		r = 0;
	else if (!r && !c->out.broken) {
		gpc_follow_release(f);
		(void)gpc_follow_end(f);
	}
	c->exit_status = 128 + signal;
	return r;
}

static int interrupted(struct gpc_cmd *c, struct gpc_session *s,
	const char *job, struct gpc_attach *a, struct gpc_follow *f,
	struct gpc_error *err)
{
	int signal = c->cancel->signal ? c->cancel->signal : SIGPIPE;

	/* a reader who leaves has not changed his mind about the job */
	if (a->tether.within_ms ||
		(c->cancel->signal && nothing_begun(f, a))) {
		gpc_signals_forget();
		return end_job(c, s, job, f, signal, err);
	}
	gpc_follow_detach(f);
	c->exit_status = c->cancel->signal ? 128 + signal : 0;
	return 0;
}

static void say_tether(struct gpc_cmd *c, const struct gpc_tether *t)
{
	char text[32];

	if (t->within_ms)
		gpc_say(&c->talk, "gpucloud: the job ends with this client: "
			"when it is interrupted, or silent for %s",
			gpc_format_duration(t->within_ms, text, sizeof(text)));
}

/* "then repeat" would submit another one. */
void gpc_attach_hint(const char *job, struct gpc_error *err)
{
	if (!err->hint[0] || err->sys == ENOSPC || err->sys == EDQUOT)
		gpc_hint(err, "%s itself goes on; watch it: gpucloud logs -f %s; "
			"end it: gpucloud cancel %s", job, job, job);
}

int gpc_attach(struct gpc_cmd *c, struct gpc_session *s, const char *job,
	struct gpc_attach *a, struct gpc_error *err)
{
	gpc_autoptr(gpc_follow) *f = NULL;
	int r = 0;

	/* Somebody else's tether is not ours to renew for ever. */
	if (a->existed && !a->tether.within_ms)
		r = gpc_tether_cut(s->store, job, err);
	a->follow.tether = &a->tether;
	say_tether(c, &a->tether);
	if (!r)
		r = gpc_follow_new(c, s, job, &a->follow, &f, err);
	if (!r)
		r = gpc_follow_run(f, 0, err);
	if (f && (r == -GPC_ECANCELED || c->out.broken))
		return interrupted(c, s, job, a, f, err);
	if (r) {
		gpc_attach_hint(job, err);
		return r;
	}
	gpc_follow_release(f);
	r = pull(c, s, job, a->pull, err);
	c->exit_status = gpc_follow_end(f);
	return r;
}
