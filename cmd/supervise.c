/* `gpucloud supervise`: the loop that moves this user's jobs forward. Other
 * commands start it in the background; here it runs before one's eyes.
 */
#include "core/supervise.h"

#include "base/str.h"
#include "cmd/command.h"
#include "cmd/phrase.h"
#include "cmd/session_open.h"

struct supervise {
	bool once, install;
	const char *on;
};

static const struct gpc_opt options[] = {
	GPC_OPT_FLAG(0, "once", struct supervise, once,
		"one round over all jobs, for cron and CI",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_STR(0, "on", struct supervise, on, "INFRA",
		"on a machine of its own: not built yet",
		.complete = GPC_COMPLETE_INFRA, .key = GPC_OPT_NO_KEY),
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

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct supervise *o = c->ctx;
	gpc_autoptr(gpc_session) *s = NULL;

	if (o->on)
		return refuse("--on", err);
	if (o->install)
		return refuse("--install", err);
	int r = gpc_cmd_session(c, GPC_STORE_MAY_LACK, &s, err);
	if (r)
		return r;
	if (!s->store) {
		gpc_say(&c->talk, "gpucloud: no store yet, so no jobs");
		return 0;
	}
	if (!o->once)
		gpc_log(&c->log, GPC_VERBOSE, "supervising the jobs of %s in "
			"%s", s->place.owner.user, c->store_url);
	r = gpc_supervise_run(s, o->once, err);
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
		"themselves.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_STORE,
	.options = options,
	.ctx_size = sizeof(struct supervise),
	.run = run,
};
