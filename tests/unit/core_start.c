/* From which checkpoint an attempt goes on when the newest one is damaged. */
#include <string.h>

#include "base/str.h"
#include "core/request.h"
#include "core_lab.h"
#include "record/keys.h"
#include "store/store.h"

#define SPEC "\"checkpoint\":{\"path\":\"ckpt\",\"keep\":9}"

static void harm(struct lab *lab, const char *job, const char *id)
{
	struct gpc_error err;
	gpc_key key;

	gpc_key_checkpoint(key, job, id);
	assert_ok(gpc_store_head(lab_inner(lab), key, NULL, &err));
	assert_ok(gpc_store_put(lab_inner(lab), key, "{", 1, 0, &err));
}

static void save(struct lab *lab, struct gpc_supervision *sv, const char *job,
	int attempt, int n)
{
	gpc_autostr *id = gpc_format("%d-%d-auto", attempt, n);

	lab_checkpoint(lab, job, attempt, n, "auto");
	lab_advance(2000);
	lab_step(sv);
	assert_string_equal(lab_state(sv)->checkpoint, id);
}

static void lose(struct lab *lab, struct gpc_supervision *sv)
{
	lab_script(lab, "{\"faults\":[{\"op\":\"list\",\"fault\":\"die\"}]}");
	lab_advance(2000);
	lab_step(sv);
}

static const struct gpc_try *try_of(struct gpc_supervision *sv, int attempt)
{
	return gpc_job_state_try((struct gpc_job_state *)lab_state(sv), attempt);
}

static struct gpc_supervision *saved(struct lab *lab, const char *job)
{
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	lab_run(lab, sv, job, 1);
	for (int i = 1; i <= 3; i++)
		save(lab, sv, job, 1, i);
	return sv;
}

static void complete(struct lab *lab, struct gpc_supervision *sv,
	const char *job, int attempt)
{
	lab_exit(lab, job, attempt, 0, GPC_REASON_COMPLETED, 0, 0);
	lab_beat(lab, job, attempt, 0, GPC_PHASE_DONE);
	lab_finish(sv, MINUTE);
	assert_status(sv, "SUCCEEDED");
	lab_check(lab, job, 1);
}

TEST(a_whole_one_is_taken)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, SPEC);
	struct gpc_supervision *sv = saved(lab, job);

	harm(lab, job, "1-2-auto");
	lose(lab, sv);
	lab_run(lab, sv, job, 2);
	assert_string_equal(try_of(sv, 2)->resume_from, "1-3-auto");
	assert_int_equal(try_of(sv, 2)->damaged.n, 0);
	assert_null(try_of(sv, 2)->damage);
	complete(lab, sv, job, 2);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* It is named, and not tried by a later attempt either. */
TEST(damaged_ones_are_passed_over)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, SPEC);
	struct gpc_supervision *sv = saved(lab, job);

	harm(lab, job, "1-2-auto");
	harm(lab, job, "1-3-auto");
	lose(lab, sv);
	lab_run(lab, sv, job, 2);
	assert_string_equal(try_of(sv, 2)->resume_from, "1-1-auto");
	assert_int_equal(try_of(sv, 2)->damaged.n, 2);
	assert_string_equal(try_of(sv, 2)->damaged.v[0], "1-3-auto");
	assert_string_equal(try_of(sv, 2)->damaged.v[1], "1-2-auto");
	assert_non_null(strstr(try_of(sv, 2)->damage, "1-3-auto"));
	assert_string_equal(lab_state(sv)->checkpoint, "1-1-auto");
	lab_log(lab, job, 2, 0, "on");
	/* Another supervisor takes over here. */
	gpc_supervision_free(sv);
	sv = lab_supervise(lab->s, job);
	lab_step(sv);
	lab_advance(2 * MINUTE);
	lose(lab, sv);
	lab_run(lab, sv, job, 3);
	assert_string_equal(try_of(sv, 3)->resume_from, "1-1-auto");
	assert_int_equal(try_of(sv, 3)->damaged.n, 0);
	complete(lab, sv, job, 3);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* To begin anew would lose work without a word. */
TEST(none_whole_ends_the_job)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, SPEC);
	struct gpc_supervision *sv = saved(lab, job);
	struct gpc_error err;

	for (int i = 1; i <= 3; i++) {
		gpc_autostr *id = gpc_format("1-%d-auto", i);
		harm(lab, job, id);
	}
	lose(lab, sv);
	lab_finish(sv, MINUTE);
	assert_reason(sv, "checkpoint_damaged");
	assert_int_equal(lab_state(sv)->attempt, 1);
	assert_non_null(strstr(lab_state(sv)->detail, "1-3-auto"));
	assert_int_equal(lab_ledger(lab).made, 1);
	lab_check(lab, job, 1);
	/* Mended, it goes on: what it has is what it had. */
	gpc_key key;
	assert_ok(gpc_store_del(lab_inner(lab), gpc_key_checkpoint(key, job,
		"1-3-auto"), &err));
	lab_checkpoint(lab, job, 1, 3, "auto");
	assert_ok(gpc_request_resume(lab->s, job, NULL, NULL, &err));
	gpc_supervision_free(sv);
	sv = lab_supervise(lab->s, job);
	lab_run(lab, sv, job, 2);
	assert_string_equal(try_of(sv, 2)->resume_from, "1-3-auto");
	complete(lab, sv, job, 2);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* Somebody went back to 1-1: what came after it is no way on. */
TEST(only_what_led_to_it_counts)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, SPEC);
	struct gpc_supervision *sv = saved(lab, job);
	struct gpc_error err;

	lab_exit(lab, job, 1, 0, GPC_REASON_EXIT_CODE, 1, 0);
	lab_beat(lab, job, 1, 0, GPC_PHASE_DONE);
	lab_finish(sv, MINUTE);
	assert_ok(gpc_request_resume(lab->s, job, "1-1-auto", NULL, &err));
	gpc_supervision_free(sv);
	sv = lab_supervise(lab->s, job);
	lab_run(lab, sv, job, 2);
	save(lab, sv, job, 2, 1);
	harm(lab, job, "2-1-auto");
	lose(lab, sv);
	lab_run(lab, sv, job, 3);
	assert_string_equal(try_of(sv, 3)->resume_from, "1-1-auto");
	assert_int_equal(try_of(sv, 3)->damaged.n, 1);
	complete(lab, sv, job, 3);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* A store that does not answer says nothing about a checkpoint. */
TEST(no_answer_is_no_damage)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	gpc_autostr *job = lab_job(lab, SPEC);
	struct gpc_supervision *sv = saved(lab, job);
	gpc_key records;
	struct gpc_fault f = { .op = GPC_FAULT_GET };

	gpc_key_job_file(records, job, "checkpoints/");
	f.prefix = records;
	harm(lab, job, "1-3-auto");
	gpc_store_fault_add(lab->s->store, &f);
	lose(lab, sv);
	for (int i = 0; i < 5; i++) {
		lab_advance(5000);
		lab_step(sv);
		assert_int_equal(lab_state(sv)->attempt, 1);
		assert_status(sv, "RECOVERING");
	}
	gpc_store_fault_reset(lab->s->store);
	lab_run(lab, sv, job, 2);
	assert_string_equal(try_of(sv, 2)->resume_from, "1-2-auto");
	complete(lab, sv, job, 2);
	gpc_supervision_free(sv);
	lab_free(lab);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_one_is_taken),
		cmocka_unit_test(damaged_ones_are_passed_over),
		cmocka_unit_test(none_whole_ends_the_job),
		cmocka_unit_test(only_what_led_to_it_counts),
		cmocka_unit_test(no_answer_is_no_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
