/* Checkpoint records: ids, commit once, order, and what is broken. */
#include "test.h"

#include "base/str.h"
#include "record/checkpoint.h"
#include "store/fault.h"

static struct gpc_error err;
#define JOB "j-abc234"

static int set_up(void **state)
{
	struct gpc_store *s = NULL;

	assert_ok(gpc_store_open("mem://", 0, NULL, &s, &err));
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	gpc_store_free(*state);
	return 0;
}

static void ids(void **state)
{
	static const char *const bad[] = { "", "1", "1-", "1-2", "1-2-", "0-1-a",
		"1-0-a", "01-1-a", "+1-1-a", "1-1-A", "1-1-a b", "1-1-a/b", "-1-1-a",
		"1-1-../x", "1--a", "99999999999-1-a", "1-1-1234567890123456789012345",
		"latest" };
	char label[25];
	int attempt, n;

	(void)state;
	assert_true(gpc_checkpoint_id_parse("12-3-auto", &attempt, &n, label));
	assert_int_equal(attempt, 12);
	assert_int_equal(n, 3);
	assert_string_equal(label, "auto");
	assert_true(gpc_checkpoint_id_parse("1-2-before-lr-drop", &attempt, &n,
		label));
	assert_string_equal(label, "before-lr-drop");
	assert_true(gpc_checkpoint_id_parse("1-1-123456789012345678901234",
		&attempt, &n, label));
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(gpc_checkpoint_id_parse(bad[i], &attempt, &n,
			label));
	assert_false(gpc_checkpoint_id_parse(NULL, &attempt, &n, label));
}

static struct gpc_checkpoint make(int attempt, int n, const char *label)
{
	struct gpc_checkpoint c = { .v = 1, .attempt = attempt, .n = n,
		.label = gpc_strdup(label), .at_ms = 5, .bytes = 7,
		.files = 1 };
	struct gpc_checkpoint_part *p = gpc_vec_push(&c.parts);

	c.id = gpc_format("%d-%d-%s", attempt, n, label);
	p->rank = 0;
	p->head = gpc_json_object();
	gpc_json_set_str(p->head, "lists", "x");
	return c;
}

static void put_one(struct gpc_store *s, int attempt, int n, const char *label)
{
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = make(attempt, n,
		label);

	assert_ok(gpc_checkpoint_put(s, JOB, &c, &err));
}

static void commit(void **state)
{
	struct gpc_store *s = *state;
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = make(1, 1, "auto");
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint back = {0};

	assert_ok(gpc_checkpoint_put(s, JOB, &c, &err));
	/* The same again, after a lost answer, is success; another is not. */
	assert_ok(gpc_checkpoint_put(s, JOB, &c, &err));
	c.bytes++;
	assert_fails(gpc_checkpoint_put(s, JOB, &c, &err), GPC_ECONFLICT);
	assert_ok(gpc_checkpoint_get(s, JOB, "1-1-auto", &back, &err));
	assert_int_equal(back.bytes, 7);
	assert_int_equal(back.parts.n, 1);
	assert_string_equal(gpc_json_get_str(back.parts.v[0].head, "lists"),
		"x");
	c.n = 2;
	assert_fails(gpc_checkpoint_put(s, JOB, &c, &err), GPC_EPROTO);
}

static void lost_answer(void **state)
{
	struct gpc_store *s = gpc_store_fault_new(*state);
	struct gpc_fault f = { .op = GPC_FAULT_PUT, .how = GPC_FAULT_AFTER,
		.nth = 1 };
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = make(1, 1, "auto");

	gpc_store_fault_add(s, &f);
	assert_fails(gpc_checkpoint_put(s, JOB, &c, &err), GPC_ENET);
	assert_ok(gpc_checkpoint_put(s, JOB, &c, &err));
	gpc_store_free(s);
}

static void order(void **state)
{
	static const char *const want[] = { "1-2-auto", "1-10-auto", "2-1-user",
		"2-9-auto", "10-1-final" };
	struct gpc_store *s = *state;
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids list = {0};

	assert_ok(gpc_checkpoint_list(s, JOB, &list, &err));
	assert_int_equal(list.n, 0);
	put_one(s, 10, 1, "final");
	put_one(s, 2, 9, "auto");
	put_one(s, 1, 10, "auto");
	put_one(s, 2, 1, "user");
	put_one(s, 1, 2, "auto");
	assert_ok(gpc_store_put(s, "jobs/" JOB "/checkpoints/junk.json", "", 0,
		0, &err));
	assert_ok(gpc_store_put(s, "jobs/" JOB "/checkpoints/1-1-a", "", 0, 0,
		&err));
	assert_ok(gpc_checkpoint_list(s, JOB, &list, &err));
	assert_int_equal(list.n, COUNT(want));
	for (size_t i = 0; i < list.n; i++)
		assert_string_equal(list.v[i].id, want[i]);
}

static void broken(void **state)
{
	static const struct { const char *text; enum gpc_code code; } t[] = {
		{"", GPC_EPROTO}, {"{}", GPC_EPROTO},
		{"{\"v\":2,\"id\":\"1-1-a\",\"attempt\":1,\"n\":1,\"label\":"
		"\"a\",\"at_ms\":1,\"parts\":[]}", GPC_EUNSUPPORTED},
		{"{\"v\":1,\"id\":\"1-2-a\",\"attempt\":1,\"n\":1,\"label\":"
		"\"a\",\"at_ms\":1,\"parts\":[]}", GPC_EPROTO},
	};
	struct gpc_store *s = *state;
	struct gpc_checkpoint c = {0};

	for (size_t i = 0; i < COUNT(t); i++) {
		assert_ok(gpc_store_put(s, "jobs/" JOB "/checkpoints/1-1-a.json",
			t[i].text, strlen(t[i].text), 0, &err));
		assert_fails(gpc_checkpoint_get(s, JOB, "1-1-a", &c, &err),
			t[i].code);
		assert_has(err.msg, "1-1-a.json");
	}
	assert_fails(gpc_checkpoint_get(s, JOB, "7-7-a", &c, &err),
		GPC_ENOTFOUND);
	assert_fails(gpc_checkpoint_get(s, JOB, "../../x", &c, &err),
		GPC_ENOTFOUND);
	assert_fails(gpc_checkpoint_get(s, JOB, NULL, &c, &err),
		GPC_ENOTFOUND);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(ids), T(commit), T(lost_answer), T(order), T(broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
