/* A job is resumed while its end is still being closed, or by a client that sleeps or
 * is killed: what the journal names is there, and nothing else stays. */
#include "core/leftovers.h"
#include "core/request.h"
#include "core/supervision.h"
#include "core_lab.h"
#include "record/job.h"
#include "record/journal.h"
#include "record/keys.h"
#include "record/secrets.h"
#include "store_keys.h"

struct closer {
	struct lab *lab;
	struct gpc_session *s;  /* the supervisor's */
	struct gpc_supervision *sv;
	const char *job;
	gpc_key named;          /* what the journal names once the job is resumed */
};

/* The node goes at last: what the ended job had is dropped. */
static void close_meanwhile(void *arg)
{
	struct closer *c = arg;
	gpc_key key;
	struct gpc_error err;

	lab_script(c->lab, "{\"faults\":[{\"op\":\"list\",\"fault\":\"die\"}]}");
	for (int i = 0; i < 100 && !c->sv->secrets_gone; i++) {
		lab_step(c->sv);
		lab_advance(1000);
	}
	assert_true(c->sv->secrets_gone);
	assert_fails(gpc_store_head(c->lab->inner, gpc_key_secrets(key, c->job,
		NULL), NULL, &err), GPC_ENOTFOUND);
}

/* All that is there when the client dies right after its event. */
static void look_after_event(void *arg)
{
	struct closer *c = arg;
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	gpc_auto(gpc_pairs) struct gpc_pairs kept = {0};
	struct gpc_error err;

	gpc_journal_init(&j, c->lab->inner, c->job, "");
	assert_ok(gpc_journal_refresh(&j, NULL, &err));
	assert_int_equal(j.state.status, GPC_JOB_PENDING);
	assert_non_null(j.state.secrets);
	assert_ok(gpc_secrets_get(c->lab->inner, c->job, j.state.secrets, &kept,
		&err));
	assert_string_equal(gpc_pairs_get(&kept, "TOKEN"), "new");
	gpc_key_secrets(c->named, c->job, j.state.secrets);
}

/* A job with a secret that has ended while its node is still there. */
static char *draining_job(struct lab *lab, struct closer *c)
{
	char *id = lab_job(lab, "");
	gpc_auto(gpc_job) struct gpc_job job = {0};
	gpc_auto(gpc_pairs) struct gpc_pairs secrets = {0};
	gpc_autoptr(gpc_json) *tree = NULL;
	gpc_autostr *text = NULL;
	struct gpc_error err;
	gpc_key key;

	assert_ok(gpc_job_get(lab->inner, id, &job, &err));
	gpc_strv_add(&job.secrets, "TOKEN");
	tree = gpc_job_write(&job);
	text = gpc_json_print(tree);
	assert_ok(gpc_store_put(lab->inner, gpc_key_job(key, id), text,
		strlen(text), 0, &err));
	gpc_pairs_set(&secrets, "TOKEN", "old");
	assert_ok(gpc_secrets_put(lab->inner, id, NULL, &secrets, &err));
	c->s = lab_session(lab);
	c->sv = lab_supervise(c->s, id);
	lab_run(lab, c->sv, id, 1);
	lab_exit(lab, id, 1, 0, GPC_REASON_COMPLETED, 0, 0);
	for (int i = 0; i < 100 && !lab_events(lab, id, "ended"); i++) {
		lab_step(c->sv);
		lab_advance(1000);
	}
	assert_int_equal(lab_events(lab, id, "released"), 0);
	return id;
}

/* Its node takes longer than a resume waits for it, and the closing comes between
 * the resume's secrets and its event. */
TEST(a_closing_spares_the_secrets_of_a_resume)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	struct closer c = { .lab = lab };
	gpc_autostr *job = draining_job(lab, &c);
	gpc_auto(gpc_pairs) struct gpc_pairs secrets = {0};
	struct gpc_fault f = { .op = GPC_FAULT_PUT, .how = GPC_FAULT_CALL,
		.prefix = "index/live/", .nth = 1, .call = close_meanwhile,
		.arg = &c };
	struct gpc_error err;

	c.job = job;
	gpc_pairs_set(&secrets, "TOKEN", "new");
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &f);
	f.nth = 3;              /* the first event has lost against the release */
	f.call = look_after_event;
	gpc_store_fault_add(lab->s->store, &f);
	assert_ok(gpc_request_resume(lab->s, job, NULL, &secrets, &err));
	assert_int_equal(lab_events(lab, job, "resume"), 1);
	assert_ok(gpc_journal_verify(lab->inner, job, &err));
	/* Those that were named for the event that was lost are gone. */
	assert_int_equal(count_keys(lab->inner, "secrets/", NULL), 1);
	assert_ok(gpc_store_head(lab->inner, c.named, NULL, &err));
	/* The next end takes them. */
	gpc_supervision_free(c.sv);
	c.sv = lab_supervise(c.s, job);
	lab_script(lab, "{}");
	lab_run(lab, c.sv, job, 2);
	lab_exit(lab, job, 2, 0, GPC_REASON_COMPLETED, 0, 0);
	close_meanwhile(&c);
	assert_int_equal(count_keys(lab->inner, "secrets/", NULL), 0);
	gpc_supervision_free(c.sv);
	gpc_session_free(c.s);
	lab_free(lab);
}

static void wait_long(void *arg)
{
	struct closer *c = arg;
	struct gpc_error err;

	lab_advance(4 * 60 * MINUTE);
	assert_ok(gpc_leftovers_sweep(c->sv->session, &err));
	assert_int_equal(count_keys(c->lab->inner, "secrets/", NULL), 0);
}

/* A client that sleeps between its secrets and its event for longer than such keys
 * may lie about. */
TEST(a_resume_that_slept_puts_its_secrets_again)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	struct closer c = { .lab = lab };
	gpc_autostr *job = draining_job(lab, &c);
	gpc_auto(gpc_pairs) struct gpc_pairs secrets = {0};
	struct gpc_error err;

	c.job = job;
	close_meanwhile(&c);
	gpc_pairs_set(&secrets, "TOKEN", "new");
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &(struct gpc_fault){
		.op = GPC_FAULT_PUT, .how = GPC_FAULT_CALL, .nth = 1,
		.prefix = "index/live/", .call = wait_long, .arg = &c });
	assert_ok(gpc_request_resume(lab->s, job, NULL, &secrets, &err));
	look_after_event(&c);
	gpc_supervision_free(c.sv);
	gpc_session_free(c.s);
	lab_free(lab);
}

/* What a client leaves that is killed before its event: not there for ever, and
 * dropped by the next end at the latest. */
TEST(secrets_that_no_event_names_go)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	struct closer c = { .lab = lab };
	gpc_autostr *job = draining_job(lab, &c);
	gpc_auto(gpc_pairs) struct gpc_pairs secrets = {0};
	struct gpc_error err;

	c.job = job;
	gpc_pairs_set(&secrets, "TOKEN", "dead");
	/* of an event that another has become; of one that is to come */
	assert_ok(gpc_secrets_put(lab->inner, job, "00000002-aaaaaaaa", &secrets,
		&err));
	assert_ok(gpc_secrets_put(lab->inner, job, "00000099-aaaaaaaa", &secrets,
		&err));
	close_meanwhile(&c);
	assert_int_equal(count_keys(lab->inner, "secrets/", NULL), 1);
	assert_ok(gpc_leftovers_sweep(c.sv->session, &err));
	assert_int_equal(count_keys(lab->inner, "secrets/", NULL), 1);
	lab_advance(4 * 60 * MINUTE);
	lab_step(c.sv);
	assert_ok(gpc_leftovers_sweep(c.sv->session, &err));
	assert_int_equal(count_keys(lab->inner, "secrets/", NULL), 0);
	assert_fails(gpc_secrets_get(lab->inner, job, "../x", &secrets, &err),
		GPC_EPROTO);
	gpc_supervision_free(c.sv);
	gpc_session_free(c.s);
	lab_free(lab);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_closing_spares_the_secrets_of_a_resume),
		cmocka_unit_test(a_resume_that_slept_puts_its_secrets_again),
		cmocka_unit_test(secrets_that_no_event_names_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
