/* Limits, looked at once a second while a phase of the job runs. Durations are
 * taken from the boot clock; only a deadline is a moment of the wall clock. */
#include "agent/limits.h"

#include <stdio.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "provider/procs.h"

enum { DRAIN_SPARE_MS = 60000, SAMPLE_MS = 10000, NOW_GRACE_MS = 0 };

int64_t gpc_limits_drain_ms(const struct gpc_agent *a)
{
	int64_t drain = a->spec.checkpoint.grace_ms + DRAIN_SPARE_MS;
	int64_t life = a->node->expires_ms - a->node->created_ms;

	/* A short life must not be all leave-taking. */
	return drain > life / 4 ? life / 4 : drain;
}

static void stop(struct gpc_agent *a, enum gpc_reason reason, const char *detail)
{
	gpc_agent_stop(a, reason, a->spec.checkpoint.grace_ms, "final", detail);
}

static void check_time(struct gpc_agent *a, int64_t now_ms)
{
	const struct gpc_spec_limits *l = &a->spec.limits;
	int64_t ran = now_ms - a->run_started_boot_ms + a->state.ran_ms;
	char text[32];

	if (a->step == GPC_STEP_RUN && l->time_ms && ran >= l->time_ms) {
		gpc_autostr *detail = gpc_format("limits.time of %s",
			gpc_format_duration(l->time_ms, text, sizeof(text)));

		stop(a, GPC_REASON_TIME_LIMIT, detail);
	}
	if (a->step == GPC_STEP_SETUP && l->setup_ms
		&& now_ms - a->child_started_ms >= l->setup_ms) {
		gpc_autostr *detail = gpc_format("limits.setup of %s",
			gpc_format_duration(l->setup_ms, text, sizeof(text)));

		stop(a, GPC_REASON_TIME_LIMIT, detail);
	}
	if (l->deadline_ms && gpc_wall_ms() >= l->deadline_ms)
		stop(a, GPC_REASON_DEADLINE, "limits.deadline");
}

static void check_lifetime(struct gpc_agent *a, int64_t now_ms)
{
	const struct gpc_node_file *n = a->node;
	int64_t end;

	if (!n->expires_ms)
		return;
	end = n->created_boot_ms + (n->expires_ms - n->created_ms)
		- gpc_limits_drain_ms(a);
	if (now_ms >= end)
		stop(a, GPC_REASON_LIFETIME, "the node's lifetime ends");
}

/* What the job has cost so far, by the nodes that it has now. */
static void check_cost(struct gpc_agent *a)
{
	const struct gpc_money *limit = &a->spec.limits.cost;
	struct gpc_money sum = a->state.spent;
	char text[GPC_MONEY_SIZE];

	if (!limit->currency[0] || a->rank != 0)
		return;
	for (size_t i = 0; i < a->state.nodes.n; i++) {
		const struct gpc_node *n = &a->state.nodes.v[i];
		int64_t end = n->released_ms ? n->released_ms : gpc_wall_ms();

		if (n->status == GPC_NODE_RELEASED)
			continue;
		if (gpc_money_add(&sum, gpc_job_state_charge(&a->state, n,
			end - n->created_ms, false, NULL), NULL) < 0)
			return;
	}
	if (gpc_eq(sum.currency, limit->currency)
		&& gpc_money_cmp(sum, *limit) >= 0) {
		gpc_autostr *detail = gpc_format("limits.cost of %s",
			gpc_money_format(*limit, text));

		stop(a, GPC_REASON_COST_LIMIT, detail);
	}
}

/* Where no control group keeps the limit, the sum of resident memory does:
 * pages that several processes share count several times. */
static void check_memory(struct gpc_agent *a)
{
	gpc_auto(gpc_procs) struct gpc_procs p = {0};
	uint64_t sum = 0, limit = (uint64_t)a->node->memory_bytes;
	char used[32], allowed[32];

	if (limit == 0 || gpc_cgroup_limits_memory(a->cgroup))
		return;
	gpc_procs_list(&p);
	gpc_procs_below(&p, getpid());
	for (size_t i = 0; i < p.n; i++)
		sum += p.v[i].below ? p.v[i].rss_bytes : 0;
	if (sum > limit) {
		gpc_autostr *detail = gpc_format("%s in use, %s asked for",
			gpc_format_size(sum, used, sizeof(used)),
			gpc_format_size(limit, allowed, sizeof(allowed)));

		gpc_agent_stop(a, GPC_REASON_OUT_OF_MEMORY, NOW_GRACE_MS,
			"final", detail);
	}
}

static void check_tether(struct gpc_agent *a, int64_t now_ms)
{
	struct gpc_tether_watch *w = &a->tether;
	char text[32];

	if (gpc_tether_silent(w, a->store, a->job.id, now_ms)) {
		gpc_autostr *detail = gpc_format("its client has been silent "
			"for %s", gpc_format_duration(w->within_ms, text,
			sizeof(text)));

		stop(a, GPC_REASON_CANCELLED, detail);
	}
}

/* --- GPUs ----------------------------------------------------------------- */

static void put_sample(struct gpc_agent *a, int gpu,
	const struct gpc_gpu_sample *s)
{
	const struct { const char *name; double value; bool known; } all[] = {
		{ "utilization", s->utilization, s->utilization >= 0 },
		{ "memory_bytes", (double)s->memory_used_bytes, true },
		{ "power_w", s->power_mw / 1000.0, s->power_mw >= 0 },
		{ "temperature_c", s->temperature_c, s->temperature_c >= 0 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		gpc_autostr *name = gpc_format("gpu%d.%s", gpu, all[i].name);

		if (all[i].known)
			gpc_metrics_put(a->metrics, name, all[i].value);
	}
}

static void check_idle(struct gpc_agent *a, double mean, int64_t now_ms)
{
	const struct gpc_spec_limits *l = &a->spec.limits;

	if (a->step != GPC_STEP_RUN || l->idle_gpu_below <= 0)
		return;
	if (mean >= l->idle_gpu_below) {
		a->idle_since_ms = 0;
		return;
	}
	if (a->idle_since_ms == 0)
		a->idle_since_ms = now_ms;
	if (now_ms - a->idle_since_ms < l->idle_for_ms)
		return;
	if (l->idle_action == GPC_SPEC_IDLE_STOP)
		stop(a, GPC_REASON_IDLE, "limits.idle: the GPUs were not used");
	else
		gpc_agent_note(a, "the GPUs are used at %.0f %% on average",
			mean);
	a->idle_since_ms = 0;
}

static void sample_gpus(struct gpc_agent *a, int64_t now_ms)
{
	double sum = 0;
	int n = 0, i = 0;

	if (!a->nvml || now_ms < a->sample_due_ms)
		return;
	a->sample_due_ms = now_ms + SAMPLE_MS;
	for (const struct gpc_json *g = gpc_json_first(a->gpus); g;
		g = gpc_json_next(g), i++) {
		struct gpc_gpu_sample s;

		if (gpc_nvml_sample(a->nvml, (size_t)gpc_json_int_or(g, 0), &s,
			NULL) < 0)
			continue;
		put_sample(a, i, &s);
		if (s.utilization < 0)
			continue;
		sum += s.utilization;
		n++;
	}
	if (n)
		check_idle(a, sum / n, now_ms);
}

void gpc_limits_tick(struct gpc_agent *a, int64_t now_ms)
{
	sample_gpus(a, now_ms);
	if (a->stop.asked || a->step > GPC_STEP_RUN)
		return;
	check_time(a, now_ms);
	check_lifetime(a, now_ms);
	check_cost(a);
	check_memory(a);
	check_tether(a, now_ms);
}
