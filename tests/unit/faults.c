/* Each system call of the core's flows fails in turn: with EIO, without room,
 * without descriptors, or by doing half; and each allocation that the outside
 * world sizes. How: faults_walk.h. */
#include "base/time.h"
#include "core/cost.h"
#include "core/logs.h"
#include "core/plan.h"
#include "core/reconcile.h"
#include "core/release.h"
#include "core/request.h"
#include "core/submit.h"
#include "core/update.h"
#include "core/view.h"
#include "faults_walk.h"
#include "record/index.h"
#include "record/keys.h"
#include "snapshot/snapshot.h"

/* --- a new store --------------------------------------------------------- */

static int run_open(struct bench *b, struct gpc_error *err)
{
	gpc_autostr *url = gpc_format("file://%s/new", b->lab->dir);
	struct gpc_store *s = NULL;
	int r = gpc_store_open(url, GPC_STORE_CREATE, NULL, &s, err);

	if (r == 0)
		r = gpc_store_identify(s, GPC_STORE_CREATE, err);
	if (r == 0)
		assert_true(s->caps & GPC_STORE_IF_ABSENT);
	gpc_store_free(s);
	return r;
}

/* --- what clients ask ------------------------------------------------------ */

static int run_ask(struct bench *b, struct gpc_error *err)
{
	gpc_auto(gpc_update_result) struct gpc_update_result x = {0};
	gpc_auto(gpc_view) struct gpc_view v = {0};
	struct gpc_update u = { .time_ms = 10 * MINUTE };
	char job[GPC_JOB_ID_SIZE];
	bool ended;
	int r = gpc_job_find(b->lab->s, "@", true, job, err);

	if (r == 0)
		r = gpc_update_job(b->lab->s, job, &u, &x, err);
	if (r == 0)
		r = gpc_request_cancel(b->lab->s, job, false, &ended, err);
	return r < 0 ? r : gpc_view_load(b->lab->s, job, &v, err);
}

static void check_ask(struct bench *b)
{
	assert_int_equal(lab_events(b->lab, b->job, "update"), 1);
	assert_in_range(lab_events(b->lab, b->job, "cancel"), 1, 2);
}

static void set_up_job(struct bench *b)
{
	gpc_autostr *job = lab_job(b->lab, "");

	memcpy(b->job, job, strlen(job) + 1);
}

static void set_up_running(struct bench *b)
{
	struct gpc_supervision *sv;

	set_up_job(b);
	sv = lab_supervise(b->lab->s, b->job);
	lab_run(b->lab, sv, b->job, 1);
	gpc_supervision_free(sv);
}

static int run_save_and_signal(struct bench *b, struct gpc_error *err)
{
	int64_t event;
	int r = gpc_request_save(b->lab->s, b->job, "mine", &event, err);

	return r < 0 ? r : gpc_request_signal(b->lab->s, b->job, "USR1", -1,
		err);
}

/* Who is told of an error asks for both again. */
static void check_save_and_signal(struct bench *b)
{
	assert_in_range(lab_events(b->lab, b->job, "save"), 1, 2);
	assert_in_range(lab_events(b->lab, b->job, "signal"), 1, 2);
}

static void set_up_ended(struct bench *b)
{
	struct gpc_supervision *sv;

	set_up_job(b);
	sv = lab_supervise(b->lab->s, b->job);
	for (int i = 0; !lab_step(sv) && i < 600; i++) {
		lab_play(b->lab, b->job, lab_state(sv));
		lab_advance(1000);
	}
	assert_status(sv, "SUCCEEDED");
	gpc_supervision_free(sv);
}

/* One of which only the answer was lost has been made. */
static int run_resume(struct bench *b, struct gpc_error *err)
{
	int r = gpc_request_resume(b->lab->s, b->job, NULL, NULL, err);

	io_pause(true);
	if (r == -GPC_ECONFLICT && lab_events(b->lab, b->job, "resume") > 0)
		r = 0;
	io_pause(false);
	return r;
}

static void check_resume(struct bench *b)
{
	assert_int_equal(lab_events(b->lab, b->job, "resume"), 1);
	assert_int_equal(count(b, "index/live/"), 1);
}

/* --- what is listed --------------------------------------------------------- */

static void set_up_two(struct bench *b)
{
	set_up_ended(b);
	lab_advance(MINUTE);
	set_up_running(b);
}

/* No list is shorter than the truth, whatever could not be read. */
static int run_list(struct bench *b, struct gpc_error *err)
{
	gpc_auto(gpc_index) struct gpc_index index = {0};
	gpc_auto(gpc_costs) struct gpc_costs costs = {0};
	gpc_auto(gpc_view) struct gpc_view v = {0};
	int r = gpc_index_list(b->lab->s->store, 0, &index, err);

	if (r == 0)
		assert_int_equal(index.n, 2);
	if (r == 0)
		r = gpc_cost_since(b->lab->s, 0, false, &costs, err);
	if (r == 0)
		assert_int_equal(costs.n, 2);
	if (r == 0)
		r = gpc_view_find(b->lab->s, "@", &v, err);
	if (r == 0)
		assert_string_equal(v.job.id, b->job);
	return r;
}

/* --- plan and submit -------------------------------------------------------- */

static int run_plan(struct bench *b, struct gpc_error *err)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_plan) struct gpc_plan plan = {0};

	io_pause(true);
	lab_spec("", &spec);
	io_pause(false);
	return gpc_plan_make(b->lab->s, &spec, (struct gpc_money){0}, 0, &plan,
		err);
}

static void check_submit(struct bench *b)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	gpc_auto(gpc_job) struct gpc_job job = {0};
	gpc_autoptr(gpc_json) *head = NULL;
	struct gpc_store *s = b->lab->s->store;
	struct gpc_error err;
	gpc_key key;

	assert_int_equal(count(b, "index/live/"), 1);
	assert_int_equal(count(b, "secrets/"), 1);
	/* The first event may be left to whoever needs it. */
	assert_ok(gpc_submit_finish(b->lab->s, b->job, &err));
	assert_int_equal(lab_events(b->lab, b->job, "submitted"), 1);
	assert_ok(gpc_store_get(s, gpc_key_job(key, b->job), 1 << 20, &text,
		&err));
	assert_ok(gpc_job_parse(text.data, text.len, &job, &err));
	assert_ok(gpc_snapshot_get_head(s, "blobs/", job.workspace, &head, &err));
	assert_ok(gpc_snapshot_restore(s, head, "blobs/", b->target, NULL, &err));
	check_restored(b);
}

/* --- logs ---------------------------------------------------------------- */

static void set_up_logs(struct bench *b)
{
	set_up_job(b);
	lab_log(b->lab, b->job, 1, 0, "one\ntwo\nthree\n");
}

static int hear(void *arg, int rank, int source, const void *data, size_t n,
	struct gpc_error *err)
{
	(void)rank;
	(void)source;
	(void)err;
	gpc_buf_add(arg, data, n);
	return 0;
}

/* The same reader goes on after an error, and says nothing twice. */
static int run_logs(struct bench *b, struct gpc_error *err)
{
	struct gpc_log_options o = { .rank = -1, .tail = -1 };
	gpc_autoptr(gpc_log_reader) *reader = gpc_log_reader_new(b->lab->s,
		b->job, &o);
	bool any;
	int r = 0;

	gpc_buf_reset(&b->text);
	for (int i = 0; i < 3; i++) {
		r = gpc_log_pump(reader, 1, 1, true, hear, &b->text, &any, err);
		if (r == 0 && !any)
			break;
	}
	return r;
}

static void check_logs(struct bench *b)
{
	assert_string_equal(gpc_buf_str(&b->text), "one\ntwo\nthree\n");
}

/* --- release by tags ------------------------------------------------------- */

static void set_up_release(struct bench *b)
{
	struct gpc_supervision *sv;

	set_up_job(b);
	sv = lab_supervise(b->lab->s, b->job);
	lab_step(sv);
	gpc_supervision_free(sv);
	assert_int_equal(lab_running(b->lab), 1);
}

static int run_release(struct bench *b, struct gpc_error *err)
{
	struct gpc_held_list l = {0};
	int r = gpc_held_find(b->lab->s, false, &l, err);

	gpc_vec_each(h, &l)
		if (r == 0)
			r = gpc_held_release(b->lab->s, h, MINUTE, err);
	gpc_held_clear(&l);
	return r;
}

static void check_release(struct bench *b)
{
	assert_int_equal(lab_running(b->lab), 0);
}

TEST(a_new_store) { in_turn(&(struct flow){ NULL, run_open, NULL }); }
TEST(an_update_and_a_cancel)
{
	in_turn(&(struct flow){ set_up_logs, run_ask, check_ask });
}
TEST(a_save_and_a_signal)
{
	in_turn(&(struct flow){ set_up_running, run_save_and_signal,
		check_save_and_signal });
}
TEST(a_resume)
{
	in_turn(&(struct flow){ set_up_ended, run_resume, check_resume });
}
TEST(a_list) { in_turn(&(struct flow){ set_up_two, run_list, NULL }); }
TEST(a_plan) { in_turn(&(struct flow){ NULL, run_plan, NULL }); }
TEST(a_submit)
{
	in_turn(&(struct flow){ make_small_tree, run_submit, check_submit });
}
TEST(a_log) { in_turn(&(struct flow){ set_up_logs, run_logs, check_logs }); }
TEST(a_release)
{
	in_turn(&(struct flow){ set_up_release, run_release, check_release });
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_store),
		cmocka_unit_test(an_update_and_a_cancel),
		cmocka_unit_test(a_save_and_a_signal),
		cmocka_unit_test(a_resume),
		cmocka_unit_test(a_list),
		cmocka_unit_test(a_plan),
		cmocka_unit_test(a_submit),
		cmocka_unit_test(a_log),
		cmocka_unit_test(a_release),
	};

	use_memory();
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
