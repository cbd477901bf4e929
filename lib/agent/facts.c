/* Beats, exits and the verdict as objects. Beats are hints and may be lost;
 * exits and verdicts are written once and tried until they are there. What
 * nobody can read in their place is replaced. */
#include "agent/facts.h"

#include <string.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/str.h"
#include "base/time.h"
#include "record/keys.h"
#include "record/roll.h"

enum { FACT_MAX = 256 * 1024 };

static int put_json(struct gpc_agent *a, const char *key, struct gpc_json *j,
	unsigned flags, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *owned = j;
	gpc_autostr *text = gpc_json_print(owned);

	return gpc_store_put(a->store, key, text, strlen(text), flags, err);
}

int gpc_agent_gpus(const struct gpc_agent *a)
{
	int n = 0;

	for (const struct gpc_json *g = gpc_json_first(a->gpus); g;
		g = gpc_json_next(g))
		n++;
	return n;
}

static int enter(struct gpc_agent *a, enum gpc_roll_word word,
	const char *value, struct gpc_error *err)
{
	int r;

	if (a->rolled & 1u << word || !gpc_roll_is_kept(a->spec.num_nodes))
		return 0;
	r = gpc_roll_put(a->store, a->job.id, a->attempt, a->rank, word, value,
		err);
	if (r == 0)
		a->rolled |= 1u << word;
	return r;
}

/* An end that has become another one, since it could not be kept, is told again. */
static int enter_end(struct gpc_agent *a, struct gpc_error *err)
{
	gpc_autostr *value = gpc_roll_end(a->exit.at_ms, a->exit.reason,
		a->failed_rank >= 0);
	int r;

	if (a->rolled_end != a->exit.reason)
		a->rolled &= ~(1u << GPC_ROLL_END);
	r = enter(a, GPC_ROLL_END, value, err);
	if (r == 0)
		a->rolled_end = a->exit.reason;
	return r;
}

/* How far this rank has come. */
static int call_out(struct gpc_agent *a, struct gpc_error *err)
{
	int r = enter(a, GPC_ROLL_HERE, a->address, err);

	if (r == 0 && a->phase == GPC_PHASE_RUN)
		r = enter(a, GPC_ROLL_RUN, NULL, err);
	if (r == 0 && a->exit_set)
		r = enter_end(a, err);
	if (r == 0 && a->phase == GPC_PHASE_DONE)
		r = enter(a, GPC_ROLL_DONE, NULL, err);
	return r;
}

int gpc_agent_enter_ready(struct gpc_agent *a, struct gpc_error *err)
{
	return enter(a, GPC_ROLL_READY, NULL, err);
}

void gpc_agent_beat(struct gpc_agent *a)
{
	char boot[64];
	struct gpc_error err = {0};
	struct gpc_beat b = { .v = 1, .n = ++a->beat_n,
		.boot = (char *)gpc_boot_id(boot), .instance = a->node->id,
		.address = a->address, .phase = a->phase,
		.gpus = gpc_agent_gpus(a),
		.pid = getpid(), .run_started_ms = a->run_started_ms,
		.master_port = a->rank == 0 ? a->master_port : 0,
		.note = a->note, .rest = a->beat_extra };
	gpc_key key;

	a->beat_due_ms = gpc_boot_ms() + GPC_AGENT_BEAT_MS;
	if (atomic_load(&a->store->lost))
		return;
	gpc_key_beat(key, a->job.id, a->attempt, a->rank);
	if (put_json(a, key, gpc_beat_write(&b), GPC_PUT_HINT, &err) < 0 ||
		call_out(a, &err) < 0) {
		a->beat_due_ms = gpc_boot_ms() + 2000;
		gpc_agent_say(a, GPC_WARN, "beat: %s", err.msg);
	}
	GPC_CRASH("agent.beat_put");
}

void gpc_agent_phase(struct gpc_agent *a, enum gpc_phase phase)
{
	if (a->phase == phase && a->beat_n > 0)
		return;
	a->phase = phase;
	gpc_agent_say(a, GPC_INFO, "phase %s", gpc_phase_names[phase]);
	gpc_agent_beat(a);
}

void gpc_agent_note(struct gpc_agent *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	free(a->note);
	a->note = gpc_vformat(fmt, ap);
	va_end(ap);
	gpc_agent_say(a, GPC_WARN, "%s", a->note);
	a->beat_due_ms = gpc_boot_ms();
}

void gpc_agent_tell_failed(struct gpc_agent *a, int rank,
	enum gpc_reason reason)
{
	if (a->spec.num_nodes < 2 || gpc_json_get(a->beat_extra, "failed"))
		return;
	if (!a->beat_extra)
		a->beat_extra = gpc_json_object();
	gpc_json_set_int(a->beat_extra, "failed", rank);
	gpc_json_set_str(a->beat_extra, "failed_reason",
		gpc_reason_to_str(reason));
	gpc_agent_beat(a);
}

static int get_fact(struct gpc_agent *a, const char *key, struct gpc_buf *b,
	bool *ret_found, struct gpc_error *err)
{
	int r = gpc_store_get(a->store, key, FACT_MAX, b, err);

	*ret_found = r == 0;
	return r == -GPC_ENOTFOUND ? 0 : r;
}

/* rank < 0: the verdict. */
static void end_key(gpc_key out, const struct gpc_agent *a, int rank)
{
	if (rank < 0)
		gpc_key_attempt(out, a->job.id, a->attempt, "verdict.json");
	else
		gpc_key_rank(out, a->job.id, a->attempt, rank, "exit.json");
}

int gpc_agent_get_exit(struct gpc_agent *a, int rank, struct gpc_exit *ret_x,
	bool *ret_found, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_key key;
	int r;

	end_key(key, a, rank);
	r = get_fact(a, key, &b, ret_found, err);
	return r < 0 || !*ret_found ? r
		: gpc_exit_parse(b.data, b.len, ret_x, err);
}

/* What is there already is ours, of an answer that was lost, or broken: a file is
 * replaced then, and what is no file stays. */
static int put_end(struct gpc_agent *a, int rank, const struct gpc_exit *x,
	struct gpc_error *err)
{
	gpc_auto(gpc_exit) struct gpc_exit there = {0};
	bool found = false;
	gpc_key key;
	int r;

	end_key(key, a, rank);
	r = put_json(a, key, gpc_exit_write(x), GPC_PUT_IF_ABSENT, err);
	if (r != -GPC_ECONFLICT)
		return r;
	r = gpc_agent_get_exit(a, rank, &there, &found, err);
	if ((r == 0 && found) || (r < 0 && r != -GPC_EPROTO))
		return r == -GPC_EUNSUPPORTED ? 0 : r;
	gpc_agent_say(a, GPC_WARN, "%s is damaged and is written again", key);
	r = put_json(a, key, gpc_exit_write(x), 0, err);
	if (r != -GPC_EPROTO)
		return r;
	gpc_agent_say(a, GPC_WARN, "%s", err->msg);
	return 0;
}

int gpc_agent_put_exit(struct gpc_agent *a, struct gpc_error *err)
{
	int r = enter_end(a, err);

	if (r == 0)
		r = put_end(a, a->rank, &a->exit, err);
	return r < 0 ? r : enter(a, GPC_ROLL_EXIT, a->exit.log_cut ? "cut" :
		NULL, err);
}

int gpc_agent_put_verdict(struct gpc_agent *a, const struct gpc_exit *x,
	struct gpc_error *err)
{
	return put_end(a, -1, x, err);
}

int gpc_agent_get_beat(struct gpc_agent *a, int rank, struct gpc_beat *ret_b,
	bool *ret_found, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_key key;
	int r;

	gpc_key_beat(key, a->job.id, a->attempt, rank);
	r = get_fact(a, key, &b, ret_found, err);
	return r < 0 || !*ret_found ? r
		: gpc_beat_parse(b.data, b.len, ret_b, err);
}
