/* The agents of a large gang in one process: all that they ask of the store and write
 * there is done by the agent's own code, at its own pace; only their programs are
 * played, and their machines are records of a provider.
 *   gang-ranks STORE JOB SECONDS [RANK]
 * waits for the job's nodes, lets the programs run that long once all run, then
 * RANK's fails (none: all end well), and goes on until every rank is done. Lines of
 * stdout tell what happened when, in ms of the boot clock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/birth.h"
#include "agent/context.h"
#include "agent/facts.h"
#include "agent/peers.h"
#include "agent/prepare.h"
#include "agent/requests.h"
#include "agent/thrift.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "record/journal.h"
#include "record/update.h"

enum { TICK_MS = 1000, TURN_MS = 20, LINE_MS = 5000, METRIC_MS = 10000 };

struct rank {
	struct gpc_agent a;
	struct gpc_agent_options options;
	struct gpc_node_file node;
	int64_t line_ms, metric_ms;
	bool over;
};
struct gang {
	const char *url, *job;
	struct gpc_store *store;
	struct rank *v;
	int n;
	int fails;                      /* -1 = none */
	int64_t for_ms, all_run_ms, failed_ms;
	int n_run, n_stopped, n_over;
	bool told;
};

static void say(const char *what, int64_t n)
{
	printf("%lld %s %lld\n", (long long)gpc_boot_ms(), what, (long long)n);
	fflush(stdout);
}

static void talk(void *arg, enum gpc_level level, const char *line)
{
	struct gpc_agent *a = arg;

	(void)level;
	if (a->logs)
		gpc_logs_talk(a->logs, line);
	if (getenv("GANG_TALK"))
		fprintf(stderr, "%d: %s\n", a->rank, line);
}

/* --- birth --------------------------------------------------------------------- */

static int read_spec(struct gpc_agent *a, struct gpc_error *err)
{
	int r = gpc_spec_from_json(a->job.spec, a->job.id, &a->spec, NULL, err);

	if (a->spec.checkpoint.grace_ms <= 0)
		a->spec.checkpoint.grace_ms = GPC_SPEC_GRACE_DEFAULT_MS;
	gpc_update_spec(&a->spec, &a->state);
	return r;
}

/* A store of its own, as a node has, only until it is born: a connection for each of a
 * thousand would be too many here. */
static int bear(struct gang *g, struct rank *x, const struct gpc_node *n,
	struct gpc_error *err)
{
	int r;

	x->options.log = &x->a.log;
	x->node = (struct gpc_node_file){ .v = 1, .id = gpc_strdup(n->id),
		.job = gpc_strdup(g->job), .store_url = gpc_strdup(g->url),
		.created_boot_ms = gpc_boot_ms() };
	x->a = (struct gpc_agent){ .options = &x->options, .node = &x->node,
		.step = GPC_STEP_RESTORE, .failed_rank = -1, .ask_fd = -1,
		.log = { .level = GPC_INFO, .sink = talk, .sink_arg = &x->a } };
	r = gpc_agent_birth(&x->a, err);
	if (r < 0)
		return r;
	gpc_store_free(x->a.store);
	x->a.store = g->store;
	r = read_spec(&x->a, err);
	if (r == 0)
		r = gpc_logs_new(g->store, g->job, x->a.attempt, x->a.rank,
			&x->a.logs, err);
	gpc_peers_self(&x->a);
	gpc_agent_phase(&x->a, GPC_PHASE_RESTORE);
	x->a.step = GPC_STEP_PEERS;
	return r;
}

static int await_nodes(struct gang *g, struct gpc_error *err)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	int r = 0;

	gpc_journal_init(&j, g->store, g->job, "");
	do {
		gpc_sleep_ms(500);
		r = gpc_journal_refresh(&j, NULL, err);
	} while (r == -GPC_ENOTFOUND || (r == 0 && (!j.state.num_nodes ||
		j.state.nodes.n < (size_t)j.state.num_nodes)));
	if (r < 0)
		return r;
	g->n = j.state.num_nodes;
	g->v = gpc_array((size_t)g->n, sizeof(*g->v));
	say("nodes", g->n);
	for (size_t i = 0; r == 0 && i < (size_t)g->n; i++)
		r = bear(g, &g->v[i], &j.state.nodes.v[i], err);
	say("born", g->n);
	return r;
}

/* --- the program ---------------------------------------------------------------- */

static void write_lines(struct rank *x, int64_t now)
{
	struct gpc_agent *a = &x->a;
	gpc_autostr *line = gpc_format("rank %d is at %lld\n", a->rank,
		(long long)now);
	static const char metric[] = "{\"name\":\"loss\",\"value\":1}\n";

	if (now >= x->line_ms) {
		x->line_ms = now + LINE_MS;
		if (write(gpc_logs_write_fd(a->logs, GPC_LOGS_OUT), line,
			strlen(line)) < 0)
			return;
	}
	if (now >= x->metric_ms) {
		x->metric_ms = now + METRIC_MS;
		gpc_logs_metric(a->logs, metric, sizeof(metric) - 1);
	}
}

static void end_program(struct gang *g, struct rank *x)
{
	static const char last[] = "out of patience\n";
	struct gpc_agent *a = &x->a;
	bool fails = a->rank == g->fails;

	if (a->stop.asked)
		gpc_agent_set_exit(a, a->phase, a->stop.reason, 0, 15,
			a->stop.detail);
	else
		gpc_agent_set_exit(a, a->phase, fails ? GPC_REASON_EXIT_CODE :
			GPC_REASON_COMPLETED, fails, 0, NULL);
	if (a->stop.asked && ++g->n_stopped == g->n - 1)
		say("stopped", g->n_stopped);
	if (fails && write(gpc_logs_write_fd(a->logs, GPC_LOGS_ERR), last,
		sizeof(last) - 1) < 0)
		return;
	if (fails && !a->stop.asked) {
		g->failed_ms = gpc_boot_ms();
		say("failed", a->rank);
	}
	gpc_agent_phase(a, GPC_PHASE_SAVE);
	a->step = GPC_STEP_REPORT;
	a->report_since_ms = gpc_boot_ms();
	gpc_logs_close_writers(a->logs);
}

static void begin_program(struct gang *g, struct rank *x)
{
	struct gpc_agent *a = &x->a;

	a->step = GPC_STEP_RUN;
	a->run_started_ms = gpc_wall_ms();
	a->run_started_boot_ms = gpc_boot_ms();
	gpc_agent_phase(a, GPC_PHASE_RUN);
	if (++g->n_run == g->n) {
		g->all_run_ms = gpc_boot_ms();
		say("run", g->n);
	}
}

static bool is_program_over(const struct gang *g, const struct gpc_agent *a,
	int64_t now)
{
	if (a->stop.asked)
		return true;
	return g->all_run_ms && now - g->all_run_ms >= g->for_ms &&
		(g->fails < 0 || g->fails == a->rank);
}

/* --- the loop, as agent/loop.c has it -------------------------------------------- */

static void advance(struct gang *g, struct rank *x, int64_t now)
{
	struct gpc_agent *a = &x->a;
	struct gpc_error err = {0};

	if (a->step == GPC_STEP_PEERS && gpc_peers_ready(a))
		begin_program(g, x);
	else if (a->step == GPC_STEP_RUN && is_program_over(g, a, now))
		end_program(g, x);
	if (a->step == GPC_STEP_REPORT && gpc_logs_ended(a->logs) &&
		gpc_logs_flush(a->logs, &err) && gpc_agent_put_exit(a, &err) == 0) {
		a->retry_ms = 0;
		a->step = GPC_STEP_VERDICT;
	}
	if (a->step == GPC_STEP_VERDICT && (a->abandoned ||
		gpc_peers_settled(a, now))) {
		a->step = GPC_STEP_DONE;
		gpc_agent_phase(a, GPC_PHASE_DONE);
		gpc_logs_flush(a->logs, NULL);
		x->over = true;
		if (a->rank == 0)
			say("verdict", g->fails);
		g->n_over++;
	}
}

static void turn(struct gang *g, struct rank *x)
{
	struct gpc_agent *a = &x->a;
	int64_t now = gpc_boot_ms();

	if (a->step == GPC_STEP_RUN)
		write_lines(x, now);
	gpc_logs_pump(a->logs, now);
	if (now >= a->poll_due_ms) {
		a->polled_n = a->seen_n;
		gpc_requests_poll(a);
		a->poll_due_ms = now + gpc_thrift_poll_ms(a);
	}
	if (now >= a->tick_due_ms) {
		a->tick_due_ms = now + TICK_MS;
		if (a->step > GPC_STEP_PEERS && a->step <= GPC_STEP_RUN &&
			now >= a->peers_due_ms) {
			a->peers_due_ms = now + gpc_thrift_peers_ms(a);
			gpc_peers_watch(a, now);
		}
		gpc_thrift_tick(a, now);
	}
	if (now >= a->beat_due_ms)
		gpc_agent_beat(a);
	advance(g, x, now);
	if (a->rank == 0 && a->failed_rank >= 0 && !g->told) {
		g->told = true;
		say("told", a->failed_rank);
	}
}

/* Rank 0 has a machine of its own, so that it does not wait for a round of all. */
static void run(struct gang *g)
{
	struct rank *first = g->v;

	for (int i = 0; i < g->n; i++)
		if (g->v[i].a.rank == 0)
			first = &g->v[i];
	while (g->n_over < g->n) {
		int64_t began = gpc_boot_ms(), seen = began;

		for (int i = 0; i < g->n; i++) {
			if (gpc_boot_ms() - seen >= TURN_MS && !first->over) {
				turn(g, first);
				seen = gpc_boot_ms();
			}
			if (!g->v[i].over)
				turn(g, &g->v[i]);
		}
		if (gpc_boot_ms() - began < TURN_MS)
			gpc_sleep_ms(TURN_MS);
	}
	say("over", g->n_over);
}

static void clear(struct gang *g)
{
	for (int i = 0; i < g->n; i++) {
		g->v[i].a.store = NULL; /* the gang's */
		gpc_prepare_undo(&g->v[i].a);
		gpc_node_file_clear(&g->v[i].node);
	}
	free(g->v);
	gpc_store_free(g->store);
}

static int open_gang(struct gang *g, char **argv, struct gpc_error *err)
{
	int64_t s = 0, rank = -1;
	int r = gpc_parse_i64(argv[3], 0, 100000, "SECONDS", &s, err);

	if (r == 0 && argv[4])
		r = gpc_parse_i64(argv[4], 0, 100000, "RANK", &rank, err);
	if (r == 0)
		r = gpc_store_open(argv[1], 0, NULL, &g->store, err);
	if (r == 0)
		r = gpc_store_identify(g->store, 0, err);
	g->url = argv[1];
	g->job = argv[2];
	g->for_ms = s * 1000;
	g->fails = (int)rank;
	return r;
}

int main(int argc, char **argv)
{
	struct gang g = {0};
	struct gpc_error err = {0};
	int r;

	if (argc < 4 || argc > 5) {
		fprintf(stderr, "usage: gang-ranks STORE JOB SECONDS [RANK]\n");
		return 2;
	}
	r = open_gang(&g, argv, &err);
	if (r == 0)
		r = await_nodes(&g, &err);
	if (r < 0)
		fprintf(stderr, "%s\n", err.msg);
	else
		run(&g);
	clear(&g);
	return r < 0;
}
