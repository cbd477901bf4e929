/* `gpucloud supervise`: the loop that moves this user's jobs forward. Other
 * commands start it in the background; here it runs before one's eyes.
 */
#include "core/supervise.h"

#include "base/str.h"
#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "cmd/phrase.h"
#include "cmd/session_open.h"
#include "cmd/supervise_on.h"
#include "core/machine.h"
#include "record/job.h"

struct supervise {
	bool once, install;
	struct gpc_supervise_on on;
};

static const struct gpc_opt options[] = {
	GPC_OPT_FLAG(0, "once", struct supervise, once,
		"one round over all jobs, for cron and CI",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_STR(0, "on", struct supervise, on.infra, "INFRA",
		"on a machine of its own, which ends with the last job",
		.complete = GPC_COMPLETE_INFRA, .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG('n', "dry-run", struct supervise, on.dry_run,
		"show the plan of that machine; buy nothing",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG('y', "yes", struct supervise, on.yes,
		"do not ask before it is bought", .guarded = true),
	GPC_OPT_MONEY(0, "max-cost", struct supervise, on.max_cost, "MONEY",
		"what it may cost at most", .guarded = true),
	GPC_OPT_DURATION(0, "max-life", struct supervise, on.life_ms, "TIME",
		"how long it may live at most (7d)",
		.min = GPC_MACHINE_LIFE_LEAST_MS, .guarded = true),
	GPC_OPT_FLAG(0, "install", struct supervise, install,
		"as a service of this user: not built yet",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_END
};

static int refuse(const char *what, struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_EUNSUPPORTED, "supervise %s is not built yet",
		what);

	gpc_hint(err, "`gpucloud supervise --once` from cron keeps jobs going "
		"when nobody is logged in");
	return r;
}

static int check_options(const struct supervise *o, struct gpc_error *err)
{
	if (o->on.infra && o->once)
		return gpc_fail(err, GPC_EUSAGE, "--once is of this machine, and "
			"--on of another one");
	if (!o->on.infra && o->on.dry_run)
		return gpc_fail(err, GPC_EUSAGE, "--dry-run shows the plan of "
			"--on INFRA");
	return o->on.infra ? gpc_cmd_supervise_on_check(o->on.infra, err) : 0;
}

/* Whether that one is at work, and what becomes of one that is not. */
static void say_other(struct gpc_cmd *c, struct gpc_session *s)
{
	int64_t ms = gpc_supervisor_silent_ms(s);
	gpc_autostr *silent = gpc_phrase_duration(ms);
	gpc_autostr *limit = gpc_phrase_duration(GPC_SUPERVISOR_STALE_MS);

	if (ms == 0)
		gpc_say(&c->talk, "gpucloud: another process supervises here "
			"already");
	else
		gpc_say(&c->talk, "gpucloud: another process supervises here "
			"already, silent for %s: after %s another one may take "
			"over", silent, limit);
}

/* Whether this process is the program of a supervisor's machine. */
static int find_machine(struct gpc_session *s, const char **ret_machine,
	struct gpc_error *err)
{
	gpc_auto(gpc_job) struct gpc_job job = {0};
	const char *own = gpc_cmd_own_job();
	int r = own ? gpc_job_get(s->store, own, &job, err) : 0;

	if (r == 0)
		*ret_machine = job.supervisor.profile ? own : NULL;
	return r;
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct supervise *o = c->ctx;
	struct gpc_supervise_how how = { .once = o->once,
		.heeded = gpc_signals_forget };
	gpc_autoptr(gpc_session) *s = NULL;

	if (o->install)
		return refuse("--install", err);
	int r = check_options(o, err);
	if (!r)
		r = gpc_cmd_session(c, GPC_STORE_MAY_LACK, &s, err);
	if (r)
		return r;
	if (!s->store) {
		gpc_say(&c->talk, "gpucloud: no store yet, so no jobs");
		return 0;
	}
	if (o->on.infra)
		return gpc_cmd_supervise_on(c, s, &o->on, err);
	if (!o->once)
		gpc_log(&c->log, GPC_VERBOSE, "supervising the jobs of %s in "
			"%s", s->place.owner.user, c->store_url);
	r = find_machine(s, &how.machine, err);
	if (!r)
		r = gpc_supervise_run(s, &how, err);
	if (r == -GPC_ECONFLICT) {
		say_other(c, s);
		return 0;
	}
	return r;
}

const struct gpc_command gpc_command_supervise = {
	.name = "supervise",
	.summary = "move this user's jobs forward until the last one has ended",
	.usage = "[OPTION]...",
	.about = "Buys, recovers and releases for every unfinished job of this "
		"user, and returns when the last one has ended. One process "
		"per user, machine and store does so; a second one says so "
		"and returns. Other commands start it in the background by "
		"themselves. With --on it runs on a small machine of a cloud, "
		"so that jobs go on while this one is off.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_STORE,
	.options = options,
	.ctx_size = sizeof(struct supervise),
	.run = run,
};
