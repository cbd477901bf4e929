/* Pruning checkpoints: what goes is decided in the journal, a crash anywhere
 * leaves only what the next run takes, and no head ever lacks a blob. */
#include "core/prune.h"
#include "core_jobs.h"
#include "record/checkpoint.h"
#include "record/journal.h"
#include "record/keys.h"
#include "record/prune.h"
#include "snapshot/snapshot.h"

static struct gpc_error err;

static void assert_heads(struct lab *lab, const char *job, const char *want)
{
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	gpc_auto(gpc_strv) struct gpc_strv words = {0};
	gpc_autostr *text = NULL;

	assert_ok(gpc_checkpoint_list(lab_inner(lab), job, &ids, &err));
	for (size_t i = 0; i < ids.n; i++)
		gpc_strv_add(&words, ids.v[i].id);
	text = gpc_strv_join(&words, " ");
	assert_string_equal(text, want);
}

static int prune(struct gpc_session *s, const char *job, int keep,
	enum gpc_prune_how *ret_how)
{
	struct gpc_prune_options o = { .keep = keep };
	gpc_auto(gpc_prune_result) struct gpc_prune_result x = {0};
	int r = gpc_prune_checkpoints(s, job, &o, &x, &err);

	*ret_how = x.how;
	return r;
}

static bool is_pruning(struct lab *lab, const char *job)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};

	gpc_journal_init(&j, lab_inner(lab), job, "");
	assert_ok(gpc_journal_refresh(&j, NULL, &err));
	return j.state.pruning;
}

TEST(the_newest_stay)
{
	struct lab *lab = lab_new(0);
	char job[GPC_JOB_ID_SIZE];
	enum gpc_prune_how how;
	struct gpc_prune_options dry = { .keep = 1, .dry_run = true };
	gpc_auto(gpc_prune_result) struct gpc_prune_result x = {0};

	lab_ended(lab, 5, job);
	assert_ok(gpc_prune_checkpoints(lab->s, job, &dry, &x, &err));
	assert_int_equal(x.how, GPC_PRUNE_WOULD);
	assert_int_equal(x.removed.n, 3);
	assert_true(x.swept.blobs > 0 && x.swept.bytes > 0);
	assert_heads(lab, job, "1-1-auto 1-2-auto 1-3-auto 1-4-auto 1-5-auto");
	/* Never fewer than two, whatever is asked. */
	assert_ok(prune(lab->s, job, 1, &how));
	assert_int_equal(how, GPC_PRUNE_DONE);
	assert_heads(lab, job, "1-4-auto 1-5-auto");
	assert_whole(lab, job, 1, true);
	assert_false(is_pruning(lab, job));
	assert_ok(prune(lab->s, job, 1, &how));
	assert_int_equal(how, GPC_PRUNE_NOTHING);
	assert_int_equal(lab_events(lab, job, "pruning"), 1);
	assert_ok(gpc_journal_verify(lab_inner(lab), job, &err));
	assert_ok(lab_resume(lab->s, job, NULL, &err));
	lab_free(lab);
}

TEST(a_pinned_one_stays)
{
	struct lab *lab = lab_new(0);
	char job[GPC_JOB_ID_SIZE];
	enum gpc_prune_how how;

	lab_ended(lab, 5, job);
	assert_fails(lab_resume(lab->s, job, "1-9-auto", &err), GPC_ENOTFOUND);
	assert_ok(lab_resume(lab->s, job, "1-1-auto", &err));
	lab_end(lab, job);
	assert_ok(prune(lab->s, job, 2, &how));
	assert_heads(lab, job, "1-1-auto 1-4-auto 1-5-auto");
	assert_whole(lab, job, 1, true);
	lab_free(lab);
}

/* What the last attempt began with stays too, when it has saved since. */
TEST(where_an_attempt_began_stays)
{
	struct lab *lab = lab_new(0);
	char job[GPC_JOB_ID_SIZE];
	enum gpc_prune_how how;

	lab_ended(lab, 3, job);
	assert_ok(lab_resume(lab->s, job, "1-1-auto", &err));
	lab_event(lab, job, GPC_EVENT_ATTEMPT,
		"{\"attempt\":2,\"resume_from\":\"1-1-auto\"}");
	for (int i = 1; i <= 3; i++)
		lab_save(lab, job, 2, i);
	lab_event(lab, job, GPC_EVENT_CHECKPOINT,
		"{\"attempt\":2,\"checkpoint\":\"2-3-auto\"}");
	lab_end(lab, job);
	assert_ok(prune(lab->s, job, 2, &how));
	assert_heads(lab, job, "1-1-auto 2-2-auto 2-3-auto");
	lab_free(lab);
}

/* What may still save, or bring a machine that does, keeps everything. */
TEST(only_what_is_over_is_swept)
{
	struct gpc_node node = { .status = GPC_NODE_RELEASED };
	struct gpc_intent intent = {0};
	struct gpc_job_state st = { .status = GPC_JOB_SUCCEEDED };

	st.nodes.v = &node;
	st.intents.v = &intent;
	assert_true(gpc_prune_may(&st));
	st.nodes.n = 1;
	assert_true(gpc_prune_may(&st));
	node.status = GPC_NODE_DRAINING;
	assert_false(gpc_prune_may(&st));
	st.nodes.n = 0;
	st.intents.n = 1;
	assert_false(gpc_prune_may(&st));
	st.intents.n = 0;
	st.status = GPC_JOB_RUNNING;
	assert_false(gpc_prune_may(&st));
}

/* A job that lives is only asked: its agent does it. */
TEST(a_live_job_is_asked)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *dir = lab_folder(lab, "work", "x");
	char job[GPC_JOB_ID_SIZE];
	struct gpc_prune_options o = { .keep = 2 };
	gpc_auto(gpc_prune_result) struct gpc_prune_result x = {0};
	gpc_auto(gpc_prune_fact) struct gpc_prune_fact f = { .v = 1 };
	bool served = true;

	assert_ok(lab_submit(lab->s, dir, NULL, job, &err));
	lab_attempt(lab, job, 1);
	for (int i = 1; i <= 3; i++)
		lab_save(lab, job, 1, i);
	assert_ok(gpc_prune_checkpoints(lab->s, job, &o, &x, &err));
	assert_int_equal(x.how, GPC_PRUNE_ASKED);
	assert_heads(lab, job, "1-1-auto 1-2-auto 1-3-auto");
	assert_ok(gpc_prune_served(lab->s, job, x.event, &served, &x, &err));
	assert_false(served);
	f.request = x.event;
	gpc_strv_add(&f.removed, "1-1-auto");
	f.bytes = 7;
	assert_ok(gpc_prune_fact_put(lab_inner(lab), job, 1, &f, &err));
	assert_ok(gpc_prune_served(lab->s, job, x.event, &served, &x, &err));
	assert_true(served);
	assert_int_equal(x.removed.n, 1);
	assert_int_equal(x.swept.bytes, 7);
	lab_free(lab);
}

TEST(nodes_that_may_save_are_waited_for)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *dir = lab_folder(lab, "work", "x");
	char job[GPC_JOB_ID_SIZE];
	enum gpc_prune_how how;

	assert_ok(lab_submit(lab->s, dir, NULL, job, &err));
	lab_attempt(lab, job, 1);
	lab_event(lab, job, GPC_EVENT_INTENT, "{\"attempt\":1,\"token\":\"t\","
		"\"request\":{\"count\":1}}");
	lab_event(lab, job, GPC_EVENT_CREATED, "{\"intent\":3,\"nodes\":[{\"rank\":0,"
		"\"id\":\"n\",\"provider\":\"fake\"}]}");
	for (int i = 1; i <= 3; i++)
		lab_save(lab, job, 1, i);
	lab_event(lab, job, GPC_EVENT_ENDED, "{\"reason\":\"cancelled\"}");
	assert_fails(prune(lab->s, job, 2, &how), GPC_ECONFLICT);
	lab_event(lab, job, GPC_EVENT_RELEASED,
		"{\"attempt\":1,\"rank\":0,\"id\":\"n\"}");
	assert_ok(prune(lab->s, job, 2, &how));
	assert_int_equal(how, GPC_PRUNE_DONE);
	lab_free(lab);
}

/* Cut short at its nth delete, listing or read; then whoever comes next, a
 * prune or a resume, ends it. */
static bool cut_short(enum gpc_fault_op op, unsigned nth, bool by_resume)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	struct gpc_fault f = { .op = op, .how = GPC_FAULT_BEFORE, .nth = nth,
		.code = GPC_EAUTH };
	char job[GPC_JOB_ID_SIZE];
	enum gpc_prune_how how;
	bool cut;

	lab_ended(lab, 4, job);
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &f);
	if (prune(lab->s, job, 2, &how) < 0)
		err.code = GPC_OK;
	cut = gpc_store_fault_count(lab->s->store, op) >= nth;
	gpc_store_fault_reset(lab->s->store);
	assert_whole(lab, job, 1, false);
	if (by_resume) {
		assert_ok(lab_resume(lab->s, job, NULL, &err));
	} else {
		assert_ok(prune(lab->s, job, 2, &how));
		assert_heads(lab, job, "1-3-auto 1-4-auto");
		assert_whole(lab, job, 1, true);
	}
	assert_false(is_pruning(lab, job));
	assert_ok(gpc_journal_verify(lab_inner(lab), job, &err));
	lab_free(lab);
	return cut;
}

TEST(a_prune_that_was_cut_short_is_finished)
{
	static const enum gpc_fault_op ops[] = { GPC_FAULT_DEL, GPC_FAULT_LIST,
		GPC_FAULT_GET, GPC_FAULT_PUT };

	for (size_t i = 0; i < COUNT(ops); i++) {
		bool deletes = ops[i] == GPC_FAULT_DEL;
		unsigned n = 1;

		/* Every delete both ways, the others in turn. */
		while (cut_short(ops[i], n, n % 2) &&
			(!deletes || cut_short(ops[i], n, n % 2 == 0)))
			n++;
		assert_true(n > 1);
	}
}

static void other_client(void *arg)
{
	struct meanwhile *m = arg;
	enum gpc_prune_how how;

	if (m->calls++)
		return;
	assert_ok(prune(m->s, m->job, 2, &how));
	if (!m->resume)
		return;
	assert_ok(lab_resume(m->s, m->job, NULL, &err));
	lab_attempt(m->lab, m->job, 2);
	for (int i = 1; i <= 3; i++)
		lab_save(m->lab, m->job, 2, i);
}

/* The first deleter is stopped before one of its deletes; another one does all
 * of it, and the job may even have run on before the first one wakes up. */
static void two_pruners(bool resumed, unsigned nth)
{
	struct lab *lab = lab_new(LAB_FAULTY);
	char job[GPC_JOB_ID_SIZE];
	struct meanwhile m = { .lab = lab, .job = job, .resume = resumed };
	struct gpc_fault f = { .op = GPC_FAULT_DEL, .how = GPC_FAULT_CALL,
		.nth = nth, .prefix = "jobs/", .call = other_client, .arg = &m };
	enum gpc_prune_how how;

	lab_ended(lab, 5, job);
	m.s = lab_session(lab);
	gpc_store_fault_reset(lab->s->store);
	gpc_store_fault_add(lab->s->store, &f);
	assert_ok(prune(lab->s, job, 2, &how));
	gpc_store_fault_reset(lab->s->store);
	assert_int_equal(m.calls, 1);
	assert_heads(lab, job, resumed ? "1-4-auto 1-5-auto 2-1-auto 2-2-auto "
		"2-3-auto" : "1-4-auto 1-5-auto");
	assert_whole(lab, job, 1, true);
	assert_whole(lab, job, 2, true);
	assert_false(is_pruning(lab, job));
	assert_ok(gpc_journal_verify(lab_inner(lab), job, &err));
	gpc_session_free(m.s);
	lab_free(lab);
}

TEST(two_pruners_agree)
{
	for (unsigned nth = 1; nth <= 5; nth++) {
		two_pruners(false, nth);
		two_pruners(true, nth);
	}
}

/* A head whose list is gone shows less than it needs: its attempt keeps all. */
TEST(damage_keeps_blobs)
{
	struct lab *lab = lab_new(0);
	char job[GPC_JOB_ID_SIZE];
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = {0};
	enum gpc_prune_how how;
	gpc_key prefix;
	char key[520];
	int before;

	lab_ended(lab, 4, job);
	gpc_key_attempt(prefix, job, 1, "blobs/");
	assert_ok(gpc_checkpoint_get(lab_inner(lab), job, "1-4-auto", &c, &err));
	gpc_blob_key(prefix, gpc_json_get_str(gpc_json_first(gpc_json_get(
		c.parts.v[0].head, "lists")), "sha256"), key);
	assert_ok(gpc_store_del(lab_inner(lab), key, &err));
	before = count_keys(lab_inner(lab), prefix, NULL);
	assert_ok(prune(lab->s, job, 2, &how));
	assert_heads(lab, job, "1-3-auto 1-4-auto");
	assert_int_equal(count_keys(lab_inner(lab), prefix, NULL), before);
	assert_ok(lab_resume(lab->s, job, "1-3-auto", &err));
	lab_free(lab);
}

/* Nobody has been told what a prune removed that was cut short. */
TEST(what_was_begun_is_told)
{
	struct lab *lab = lab_new(0);
	struct gpc_prune_options o = { .keep = 4 };
	gpc_auto(gpc_prune_result) struct gpc_prune_result x = {0};
	gpc_auto(gpc_strv) struct gpc_strv first = {0};
	char job[GPC_JOB_ID_SIZE];

	lab_ended(lab, 6, job);
	lab_event(lab, job, GPC_EVENT_PRUNING,
		"{\"drop\":[\"1-1-auto\",\"1-2-auto\"],\"keep\":5}");
	gpc_strv_add(&first, "1-1-auto");
	assert_ok(gpc_prune_heads(lab_inner(lab), job, &first, &err));
	assert_ok(gpc_prune_checkpoints(lab->s, job, &o, &x, &err));
	assert_int_equal(x.how, GPC_PRUNE_DONE);
	assert_int_equal(x.removed.n, 2);
	assert_string_equal(x.removed.v[0], "1-1-auto");
	assert_string_equal(x.removed.v[1], "1-2-auto");
	assert_true(x.swept.blobs > 0);
	assert_heads(lab, job, "1-3-auto 1-4-auto 1-5-auto 1-6-auto");
	gpc_prune_result_clear(&x);
	/* Begun again, and more to do than was begun. */
	lab_event(lab, job, GPC_EVENT_PRUNING,
		"{\"drop\":[\"1-3-auto\"],\"keep\":3}");
	o.keep = 2;
	assert_ok(gpc_prune_checkpoints(lab->s, job, &o, &x, &err));
	assert_int_equal(x.removed.n, 2);
	assert_string_equal(x.removed.v[0], "1-3-auto");
	assert_string_equal(x.removed.v[1], "1-4-auto");
	assert_heads(lab, job, "1-5-auto 1-6-auto");
	gpc_prune_result_clear(&x);
	assert_ok(gpc_prune_checkpoints(lab->s, job, &o, &x, &err));
	assert_int_equal(x.how, GPC_PRUNE_NOTHING);
	assert_int_equal(x.removed.n, 0);
	lab_free(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_stay),
		cmocka_unit_test(a_pinned_one_stays),
		cmocka_unit_test(where_an_attempt_began_stays),
		cmocka_unit_test(only_what_is_over_is_swept),
		cmocka_unit_test(a_live_job_is_asked),
		cmocka_unit_test(nodes_that_may_save_are_waited_for),
		cmocka_unit_test(a_prune_that_was_cut_short_is_finished),
		cmocka_unit_test(what_was_begun_is_told),
		cmocka_unit_test(two_pruners_agree),
		cmocka_unit_test(damage_keeps_blobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
