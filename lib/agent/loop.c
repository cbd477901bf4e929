/* The agent's life as one loop.
 *
 * A step is begun once and asked, each round, whether it is over; nothing here
 * waits anywhere but in poll. Whatever happens to the store, the program goes
 * on: facts are tried again, logs are held, and only the end waits for them, an
 * hour at most. */
#include "agent/loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "agent/artifacts.h"
#include "agent/ask.h"
#include "agent/birth.h"
#include "agent/checkpoint.h"
#include "agent/child.h"
#include "agent/env.h"
#include "agent/facts.h"
#include "agent/group.h"
#include "agent/limits.h"
#include "agent/mirror.h"
#include "agent/notice.h"
#include "agent/peers.h"
#include "agent/prepare.h"
#include "agent/publish.h"
#include "agent/report.h"
#include "agent/requests.h"
#include "agent/restore.h"
#include "agent/ssh.h"
#include "agent/system.h"
#include "agent/thrift.h"
#include "base/crash.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "model/boot_failure.h"

enum {
	TICK_MS = 1000, STEP_MS = 100,
};

static void begin(struct gpc_agent *a, enum gpc_step step);

/* --- phases of the program ------------------------------------------------ */

static int write_script(const struct gpc_agent *a, const char *name,
	const char *text, char **ret_path, struct gpc_error *err)
{
	gpc_autostr *path = gpc_path_join(a->options->node_dir, name);
	int r = gpc_write_file(path, text, strlen(text), 0700, err);

	if (r == 0)
		*ret_path = gpc_steal(&path);
	return r;
}

static int start_program(struct gpc_agent *a, const char *name,
	const char *text, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs env = {0};
	gpc_autostr *script = NULL;
	struct gpc_child c = { .strict = a->spec.strict, .cwd = a->workdir,
		.env = &env, .cgroup = a->cgroup,
		.out_fd = gpc_logs_write_fd(a->logs, GPC_LOGS_OUT),
		.err_fd = gpc_logs_write_fd(a->logs, GPC_LOGS_ERR),
		.salt = (unsigned)gpc_hash64(a->node->id, strlen(a->node->id)) };
	int r = write_script(a, name, text, &script, err);

	if (r < 0)
		return r;
	if (a->node->cpus_milli && !gpc_cgroup_limits_cpus(a->cgroup))
		c.cpus = (int)((a->node->cpus_milli + 999) / 1000);
	c.script = script;
	gpc_agent_env(a, &env);
	r = gpc_child_start(&c, &a->child, err);
	GPC_CRASH("agent.program_started");
	if (r < 0)
		return r;
	a->group = a->child;
	a->child_started_ms = gpc_boot_ms();
	return 0;
}

static void fail(struct gpc_agent *a, const struct gpc_error *err)
{
	gpc_autostr *detail = err->hint[0]
		? gpc_format("%s (%s)", err->msg, err->hint)
		: gpc_strdup(err->msg);

	if (a->stop.asked)
		gpc_agent_set_exit(a, a->phase, a->stop.reason, 0, 0,
			a->stop.detail);
	gpc_agent_set_exit(a, a->phase, a->boot ? a->boot->reason :
		gpc_agent_reason_of(err), 0, 0, detail);
	if (a->boot && a->exit.reason == a->boot->reason)
		gpc_set_str(&a->exit.boot, a->boot->word);
	begin(a, GPC_STEP_CLEAR);
}

static void begin_setup(struct gpc_agent *a)
{
	struct gpc_error err = {0};

	if (!a->spec.setup) {
		begin(a, GPC_STEP_BARRIER);
		return;
	}
	gpc_agent_phase(a, GPC_PHASE_SETUP);
	if (start_program(a, "setup.sh", a->spec.setup, &err) < 0)
		fail(a, &err);
}

static void begin_run(struct gpc_agent *a)
{
	struct gpc_error err = {0};

	if (!a->spec.run) {           /* only a setup was asked for */
		gpc_agent_set_exit(a, GPC_PHASE_SETUP, GPC_REASON_COMPLETED, 0,
			0, NULL);
		begin(a, GPC_STEP_CLEAR);
		return;
	}
	a->run_started_ms = gpc_wall_ms();
	a->run_started_boot_ms = gpc_boot_ms();
	a->phase = GPC_PHASE_RUN;
	gpc_agent_say(a, GPC_INFO, "phase run");
	if (start_program(a, "run.sh", a->spec.run, &err) < 0)
		fail(a, &err);
	else
		gpc_agent_beat(a);
}

/* --- steps ---------------------------------------------------------------- */

static const char *final_label(const struct gpc_agent *a)
{
	return a->stop.asked && a->stop.label ? a->stop.label : "final";
}

static void begin_save(struct gpc_agent *a)
{
	GPC_CRASH("agent.program_ended");
	gpc_agent_phase(a, GPC_PHASE_SAVE);
	gpc_requests_poll(a);         /* a save that was asked for meanwhile */
	if (a->stop.asked && !a->stop.save) {
		gpc_worker_cancel(a->worker);
		gpc_saver_close(a);
		begin(a, GPC_STEP_ARTIFACTS);
	}
}

static void begin(struct gpc_agent *a, enum gpc_step step)
{
	struct gpc_error err = {0};

	a->step = step;
	a->step_since_ms = gpc_boot_ms();
	switch (step) {
	case GPC_STEP_RESTORE:
		gpc_agent_phase(a, GPC_PHASE_RESTORE);
		if (gpc_worker_start(a->worker, gpc_restore_task, a, &err) < 0)
			fail(a, &err);
		break;
	case GPC_STEP_SETUP:
		begin_setup(a);
		break;
	case GPC_STEP_RUN:
		begin_run(a);
		break;
	case GPC_STEP_CLEAR:
		a->cleared_ms = gpc_boot_ms();
		break;
	case GPC_STEP_SAVE:
		begin_save(a);
		break;
	case GPC_STEP_ARTIFACTS:
		gpc_agent_phase(a, GPC_PHASE_DRAIN);
		break;
	case GPC_STEP_REPORT:
		a->report_since_ms = gpc_boot_ms();
		break;
	default:
		break;
	}
}

/* True once they are sent, or cannot be. */
static bool artifacts_sent(struct gpc_agent *a)
{
	struct gpc_error err = {0};

	if (gpc_worker_busy(a->worker))
		return false;
	if (a->artifacts_begun || !gpc_artifacts_due(a))
		return true;
	a->artifacts_begun = true;
	if (gpc_worker_start(a->worker, gpc_artifacts_task, a, &err) == 0)
		return false;
	gpc_agent_note(a, "artifacts: %s", err.msg);
	return true;
}

static bool kept_long_enough(const struct gpc_agent *a, int64_t now_ms)
{
	enum gpc_reason r = a->exit.reason;

	if (a->abandoned || a->state.cancel || r == GPC_REASON_COMPLETED
		|| r == GPC_REASON_CANCELLED
		|| gpc_reason_retry(r) == GPC_RETRY_RECOVER)
		return true;
	return now_ms - a->step_since_ms >= a->spec.limits.keep_on_failure_ms;
}

static void advance_before(struct gpc_agent *a)
{
	if (a->stop.asked && a->child <= 0 && !gpc_worker_busy(a->worker)) {
		gpc_agent_set_exit(a, a->phase, a->stop.reason, 0, 0,
			a->stop.detail);
		begin(a, GPC_STEP_CLEAR);
		return;
	}
	if (a->step == GPC_STEP_PEERS && gpc_peers_ready(a))
		begin(a, GPC_STEP_SETUP);
	else if (a->step == GPC_STEP_BARRIER && gpc_peers_barrier(a))
		begin(a, GPC_STEP_RUN);
	else if (a->step == GPC_STEP_SETUP && a->child == 0)
		begin(a, a->exit_set ? GPC_STEP_CLEAR : GPC_STEP_BARRIER);
}

static void advance_after(struct gpc_agent *a, int64_t now_ms)
{
	if (a->step == GPC_STEP_CLEAR && gpc_agent_cleared(a, now_ms)) {
		gpc_logs_close_writers(a->logs);
		begin(a, GPC_STEP_SAVE);
	} else if (a->step == GPC_STEP_SAVE
		&& !gpc_saver_finish(a, final_label(a))) {
		begin(a, GPC_STEP_ARTIFACTS);
	} else if (a->step == GPC_STEP_ARTIFACTS && artifacts_sent(a)
		&& !gpc_mirrors_finish(a, now_ms)) {
		begin(a, GPC_STEP_REPORT);
	} else if (a->step == GPC_STEP_REPORT && gpc_report_made(a, now_ms)) {
		begin(a, GPC_STEP_VERDICT);
	} else if (a->step == GPC_STEP_VERDICT && (a->abandoned
		|| now_ms - a->report_since_ms > GPC_AGENT_DRAIN_MS
		|| gpc_peers_settled(a, now_ms))) {
		begin(a, GPC_STEP_KEEP);
	} else if (a->step == GPC_STEP_KEEP && kept_long_enough(a, now_ms)) {
		begin(a, GPC_STEP_DONE);
	}
}

static void advance(struct gpc_agent *a, int64_t now_ms)
{
	if (a->step == GPC_STEP_RUN) {
		if (a->child == 0 && a->exit_set)
			begin(a, GPC_STEP_CLEAR);
	} else if (a->step < GPC_STEP_RUN) {
		advance_before(a);
	} else {
		advance_after(a, now_ms);
	}
}

/* --- the worker's ends ---------------------------------------------------- */

static void worker_ended(struct gpc_agent *a, int r,
	const struct gpc_error *err)
{
	if (a->step == GPC_STEP_RESTORE) {
		if (r < 0) {
			fail(a, err);
			return;
		}
		a->saver = gpc_saver_new(a);
		gpc_trim_memory();
		begin(a, GPC_STEP_PEERS);
	} else if (!gpc_saver_works(a)) {
		/* A result that could not be kept is no success. */
		if (r < 0 && a->exit.reason == GPC_REASON_COMPLETED) {
			a->exit.reason = gpc_agent_reason_of(err);
			gpc_set_str(&a->exit.detail, err->msg);
		}
		if (r < 0)
			gpc_agent_note(a, "%s", err->msg);
	} else {
		gpc_saver_done(a, r, err);
	}
}

/* --- the loop ------------------------------------------------------------- */

static void tick(struct gpc_agent *a, int64_t now_ms)
{
	if (now_ms >= a->poll_due_ms) {
		a->polled_n = a->seen_n;
		gpc_requests_poll(a);
		a->poll_due_ms = now_ms + gpc_thrift_poll_ms(a);
	}
	if (now_ms >= a->tick_due_ms) {
		a->tick_due_ms = now_ms + TICK_MS;
		gpc_requests_watch_store(a, now_ms);
		gpc_limits_tick(a, now_ms);
		if (a->metrics)
			gpc_metrics_tick(a->metrics);
		if (a->step > GPC_STEP_PEERS && a->step <= GPC_STEP_RUN
			&& now_ms >= a->peers_due_ms) {
			a->peers_due_ms = now_ms + gpc_thrift_peers_ms(a);
			gpc_peers_watch(a, now_ms);
		}
		gpc_thrift_tick(a, now_ms);
		gpc_notice_tick(a, now_ms);
		gpc_publish_tick(a, now_ms);
		gpc_report_watch_room(a, now_ms);
	}
	gpc_saver_tick(a, now_ms);
	gpc_mirrors_tick(a, now_ms);
	gpc_agent_ssh_tick(a, now_ms);
	gpc_agent_stop_tick(a, now_ms);
	if (now_ms >= a->beat_due_ms)
		gpc_agent_beat(a);
}

static int timeout_ms(const struct gpc_agent *a, int64_t now_ms)
{
	const int64_t due[] = { a->poll_due_ms, a->tick_due_ms, a->beat_due_ms,
		gpc_logs_next_ms(a->logs) };
	int64_t left = TICK_MS;

	for (size_t i = 0; i < sizeof(due) / sizeof(*due); i++)
		if (due[i] - now_ms < left)
			left = due[i] - now_ms;
	/* Steps that wait for others, or for processes to go or come. */
	if (left > STEP_MS && (gpc_agent_ssh_is_busy(a) ||
		(a->step != GPC_STEP_RESTORE && a->step != GPC_STEP_SETUP
		&& a->step != GPC_STEP_RUN)))
		left = STEP_MS;
	return left < 0 ? 0 : (int)left;
}

static void wait_for_something(struct gpc_agent *a, int child_fd)
{
	int64_t now = gpc_boot_ms();
	struct pollfd p[] = {
		{ .fd = child_fd, .events = POLLIN },
		{ .fd = gpc_worker_fd(a->worker), .events = POLLIN },
		{ .fd = gpc_logs_poll_fd(a->logs, GPC_LOGS_OUT, now),
			.events = POLLIN },
		{ .fd = gpc_logs_poll_fd(a->logs, GPC_LOGS_ERR, now),
			.events = POLLIN },
		{ .fd = a->ask_fd, .events = POLLIN },
	};

	if (poll(p, sizeof(p) / sizeof(*p), timeout_ms(a, now)) <= 0)
		return;
	if (p[0].revents)
		gpc_drain_fd(child_fd);
}

static void run_loop(struct gpc_agent *a, int child_fd)
{
	while (a->step != GPC_STEP_DONE) {
		struct gpc_error err = {0};
		int64_t now;
		int r;

		wait_for_something(a, child_fd);
		now = gpc_boot_ms();
		gpc_ask_take(a);
		gpc_agent_reap(a);
		gpc_logs_pump(a->logs, now);
		if (gpc_worker_take(a->worker, &r, &err))
			worker_ended(a, r, &err);
		tick(a, now);
		advance(a, now);
	}
	gpc_agent_phase(a, GPC_PHASE_DONE);
	GPC_CRASH("agent.done");
	if (!gpc_logs_flush(a->logs, NULL))
		gpc_log(a->options->log, GPC_WARN, "the agent's last words "
			"could not be stored");
}

/* --- start ---------------------------------------------------------------- */

static void talk(void *arg, enum gpc_level level, const char *line)
{
	struct gpc_agent *a = arg;
	gpc_autostr *text = gpc_format("%s\n", line);

	(void)level;
	if (a->logs)
		gpc_logs_talk(a->logs, line);
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;               /* agent.log is only a convenience */
}

static void unblock_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

int gpc_agent_run(const struct gpc_agent_options *options,
	const struct gpc_node_file *node)
{
	struct gpc_agent a = { .options = options, .node = node,
		.step = GPC_STEP_RESTORE, .failed_rank = -1, .ask_fd = -1 };
	struct gpc_error err = {0};
	int child_fd = -1, r;

	a.log = (struct gpc_log){ .level = GPC_INFO, .sink = talk,
		.sink_arg = &a };
	unblock_signals();
	gpc_adopt_orphans();
	r = gpc_child_watch(&child_fd, &err);
	if (r == 0)
		r = gpc_agent_birth(&a, &err);
	if (r < 0) {
		gpc_agent_say(&a, GPC_WARN, "this node ends: %s", err.msg);
		gpc_group_part(&a);
		gpc_prepare_undo(&a);
		return 0;
	}
	r = gpc_prepare(&a, &err);
	if (!a.logs || !a.worker) {
		gpc_agent_say(&a, GPC_ERROR, GPC_BOOT_MARK "%s: %s",
			gpc_boot_failure_word(&err), err.msg);
		gpc_prepare_undo(&a);
		return 1;
	}
	gpc_agent_say(&a, GPC_INFO, "job %s, attempt %d, rank %d of %d",
		a.job.id, a.attempt, a.rank, a.spec.num_nodes);
	if (r < 0)
		fail(&a, &err);
	else
		begin(&a, GPC_STEP_RESTORE);
	run_loop(&a, child_fd);
	gpc_group_part(&a);
	gpc_prepare_undo(&a);
	gpc_close(&child_fd);
	return 0;
}
