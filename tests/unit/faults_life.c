/* A supervisor's whole life, each system call of which fails in turn; see
 * faults_walk.h. */
#include <signal.h>

#include "base/time.h"
#include "core/reconcile.h"
#include "faults_walk.h"
#include "record/journal.h"

static void set_up_job(struct bench *b)
{
	gpc_autostr *job = lab_job(b->lab, "");

	memcpy(b->job, job, strlen(job) + 1);
}

static void play(struct bench *b, const struct gpc_job_state *st)
{
	if (st->status == GPC_JOB_STARTING || st->status == GPC_JOB_SETUP)
		lab_beat(b->lab, b->job, st->attempt, 0, GPC_PHASE_RUN);
	if (st->status == GPC_JOB_RUNNING) {
		lab_exit(b->lab, b->job, st->attempt, 0, GPC_REASON_COMPLETED, 0,
			0);
		lab_beat(b->lab, b->job, st->attempt, 0, GPC_PHASE_DONE);
	}
}

/* A step that fails is made again, as a supervisor does. */
static int run_supervise(struct bench *b, struct gpc_error *err)
{
	struct gpc_supervision *sv = NULL;
	bool done = false, sound = true;
	int r = gpc_supervision_new(b->lab->s, b->job, &sv, err);

	for (int i = 0; r == 0 && !done && i < 900; i++) {
		int64_t wake;
		struct gpc_error why = {0};
		int step = gpc_supervision_step(sv, &done, &wake, &why);

		if (step < 0 && !why.msg[0])
			sound = false;
		if (step < 0)
			*err = why;
		if (step == 0) {
			io_pause(true);
			play(b, gpc_supervision_state(sv));
			io_pause(false);
		}
		lab_advance(1000);
	}
	assert_true(sound);
	gpc_supervision_free(sv);
	return r == 0 && !done ? -(int)err->code : r;
}

static void check_supervise(struct bench *b)
{
	struct gpc_error err;
	int n;

	/* What was bought while nothing could be recorded is an orphan. */
	assert_ok(gpc_reconcile(b->lab->s, &n, &err));
	lab_check(b->lab, b->job, 1);
	assert_int_equal(lab_events(b->lab, b->job, "ended"), 1);
	assert_in_range(lab_events(b->lab, b->job, "created"), 1, 2);
	assert_int_equal(count(b, "index/live/"), 0);
	assert_int_equal(count(b, "index/done/"), 1);
}

/* --- the loop around it ----------------------------------------------------- */

struct turns { struct bench *b; int n; };

/* The agents' part, in the pauses of the supervisor. One that gets nowhere is
 * told to end, as a person would. */
static void take_turn(void *arg)
{
	struct turns *t = arg;
	struct lab *lab = t->b->lab;
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_error err;

	io_pause(true);
	gpc_journal_init(&j, lab_inner(lab), t->b->job, "");
	if (gpc_journal_refresh(&j, NULL, &err) == 0)
		play(t->b, &j.state);
	if (++t->n > 2000)
		lab->cancel.signal = SIGTERM;
	io_pause(false);
}

static int run_gang(struct bench *b, struct gpc_error *err)
{
	struct turns turns = { .b = b };
	int r;

	lab_on_sleep(take_turn, &turns);
	r = gpc_supervise_run(b->lab->s, &(struct gpc_supervise_how){0}, err);
	lab_on_sleep(NULL, NULL);
	b->lab->cancel = (struct gpc_cancel){0};
	return r;
}

/* Whatever it left is for the next one. */
static void check_gang(struct bench *b)
{
	struct gpc_error err;

	assert_ok(run_gang(b, &err));
	check_supervise(b);
}

TEST(a_supervisors_life)
{
	in_turn(&(struct flow){ set_up_job, run_supervise, check_supervise });
}

TEST(a_loops_life)
{
	in_turn(&(struct flow){ set_up_job, run_gang, check_gang, 41 });
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_supervisors_life),
		cmocka_unit_test(a_loops_life),
	};

	use_memory();
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
