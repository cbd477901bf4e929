/* The supervisor's life under faults, in turn: every word of the pretend cloud
 * at every one of its calls, every operation of the store, and puts that land a
 * minute late, after what came next was written. */
#include <unistd.h>

#include "base/str.h"
#include "base/time.h"
#include "core/reconcile.h"
#include "core/submit.h"
#include "core_lab.h"
#include "provider/fake_book.h"
#include "record/index.h"
#include "record/keys.h"
#include "store_keys.h"

static void play(struct lab *lab, const char *job,
	const struct gpc_job_state *st)
{
	if (st->status == GPC_JOB_STARTING || st->status == GPC_JOB_SETUP)
		lab_beat(lab, job, st->attempt, 0, GPC_PHASE_RUN);
	if (st->status == GPC_JOB_RUNNING) {
		lab_log(lab, job, st->attempt, 0, "a word\n");
		lab_exit(lab, job, st->attempt, 0, GPC_REASON_COMPLETED, 0, 0);
		lab_beat(lab, job, st->attempt, 0, GPC_PHASE_DONE);
	}
}

static bool play_out(struct lab *lab, struct gpc_supervision *sv,
	const char *job)
{
	for (int i = 0; i < 2400; i++) {
		if (lab_step(sv))
			return true;
		play(lab, job, lab_state(sv));
		lab_advance(1000);
	}
	return false;
}

/* --- the pretend cloud ------------------------------------------------------ */

static bool may_end_so(enum gpc_fake_how how, const struct gpc_job_state *st)
{
	if (st->status == GPC_JOB_SUCCEEDED)
		return true;
	return (how == GPC_FAKE_AUTH && st->reason == GPC_REASON_AUTH) ||
		((how == GPC_FAKE_REFUSED || how == GPC_FAKE_LACKS) && st->reason == GPC_REASON_SPEC_INVALID);
}

/* False when there was no such call any more. */
static bool cloud_fault(int op, int how, int skip)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	gpc_autostr *script = gpc_format("{\"faults\":[{\"op\":\"%s\","
		"\"fault\":\"%s\",\"skip\":%d,\"ms\":5000}]}",
		gpc_fake_op_names[op], gpc_fake_how_names[how], skip);
	gpc_auto(gpc_fake_script) struct gpc_fake_script left = {0};
	gpc_autostr *dir = gpc_format("%s/fake", lab->s->place.state_dir);
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_error err;
	int swept;

	lab_script(lab, script);
	if (!play_out(lab, sv, job))
		fail_msg("%s: still %s", script, gpc_job_status_to_str(
			lab_state(sv)->status));
	if (!may_end_so((enum gpc_fake_how)how, lab_state(sv)))
		fail_msg("%s: %s", script, gpc_reason_to_str(
			lab_state(sv)->reason));
	assert_ok(gpc_fake_script_read(dir, &left, &err));
	lab_script(lab, "{}");
	assert_ok(gpc_reconcile(lab->s, &swept, &err));
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
	return left.faults.n == 0;
}

TEST(every_fault_of_the_cloud)
{
	for (int op = 0; gpc_fake_op_names[op]; op++)
		for (int how = 1; gpc_fake_how_names[how]; how++)
			for (int skip = 0; skip < 6;
				skip += (int)stride(5))
				if (!cloud_fault(op, how, skip))
					break;
}

/* --- the store ---------------------------------------------------------------- */

static int list_one(struct lab *lab, struct gpc_index_entry *ret_x)
{
	gpc_auto(gpc_index) struct gpc_index index = {0};
	struct gpc_error err;

	assert_ok(gpc_index_list(lab->s->store, 0, &index, &err));
	if (index.n)
		*ret_x = index.v[0];
	return (int)index.n;
}

/* Whatever landed last: the next supervisor that looks puts it right. */
static void assert_closed(struct lab *lab, const char *job)
{
	struct gpc_index_entry x = {0};

	lab_advance(5 * MINUTE);
	assert_int_equal(list_one(lab, &x), 1);
	if (x.live) {
		struct gpc_supervision *sv = lab_supervise(lab->s, job);

		assert_true(play_out(lab, sv, job));
		gpc_supervision_free(sv);
		assert_int_equal(list_one(lab, &x), 1);
	}
	assert_false(x.live);
}

static bool store_fault(const struct gpc_fault *what, unsigned nth)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	struct gpc_fault f = *what;
	struct gpc_error err;
	unsigned n;
	int swept;

	f.nth = nth;
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &f);
	if (!play_out(lab, sv, job))
		fail_msg("op %d how %d nth %u: still %s", f.op, f.how, nth,
			gpc_job_status_to_str(lab_state(sv)->status));
	n = gpc_store_fault_count(lab->s->store, f.op);
	gpc_store_fault_reset(lab->s->store);
	assert_closed(lab, job);
	assert_status(sv, "SUCCEEDED");
	assert_int_equal(lab_state(sv)->attempt, 1);
	assert_ok(gpc_reconcile(lab->s, &swept, &err));
	assert_int_equal(lab_ledger(lab).made, 1);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
	return nth <= n;
}

TEST(every_operation_of_the_store)
{
	for (size_t i = 0; lab_store_faults[i].code; i++)
		for (unsigned nth = 1; store_fault(&lab_store_faults[i], nth);)
			nth += (nth < 40 ? 1 : 7) * stride(9);
}

/* --- a submit whose puts land a minute late ------------------------------------ */

static int submit(struct lab *lab, struct gpc_submit_result *ret_r,
	struct gpc_error *err)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	struct gpc_tree tree = {0};
	struct gpc_mounts mounts = {0};
	struct gpc_submit_options options = { .once_key = "k" };

	lab_spec("", &spec);
	gpc_pairs_set(&spec.secrets, "TOKEN", "very-secret");
	return gpc_submit(lab->s, &spec, &tree, &mounts, &options, ret_r, err);
}

/* Each put in turn. */
static bool late_submit(unsigned nth)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	struct gpc_submit_result r = {0};
	struct gpc_supervision *sv;
	struct gpc_error err;
	bool struck;

	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &(struct gpc_fault){
		.op = GPC_FAULT_PUT, .how = GPC_FAULT_DELAYED, .late_ms = 60000,
		.nth = nth });
	if (submit(lab, &r, &err) < 0)
		assert_ok(submit(lab, &r, &err));
	struck = gpc_store_fault_count(lab->s->store, GPC_FAULT_PUT) >= nth;
	sv = lab_supervise(lab->s, r.job);
	assert_true(play_out(lab, sv, r.job));
	assert_status(sv, "SUCCEEDED");
	assert_closed(lab, r.job);
	assert_ok(submit(lab, &r, &err));
	assert_true(r.existed);
	assert_int_equal(count_keys(lab->s->store, "index/live/", NULL),
		0);
	assert_int_equal(lab_events(lab, r.job, "submitted"), 1);
	lab_check(lab, r.job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
	return struck;
}

TEST(a_submit_that_lands_late)
{
	for (unsigned nth = 1; late_submit(nth); nth += stride(3))
		continue;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_fault_of_the_cloud),
		cmocka_unit_test(every_operation_of_the_store),
		cmocka_unit_test(a_submit_that_lands_late),
	};

	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
