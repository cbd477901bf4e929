/* Words of jobs, their tables, job.json, and names that people type. */
#include "test.h"

#include "base/str.h"
#include "model/job.h"

static struct gpc_error err;

TEST(names)
{
	static const struct { const char *text, *want; } t[] = {
		{"train", "train"}, {"Train", "train"}, {"my job", "my-job"},
		{"my_job.py", "my-job-py"}, {"3d-net", "job-3d-net"},
		{"42", "job-42"}, {"", "job"}, {NULL, "job"}, {"---", "job"},
		{"-x-", "x"}, {"Grüße", "gr--e"}, {"日本語", "job"},
		{"日本 run", "run"}, {"a/b", "a-b"}, {"x\ty\n", "x-y"},
		{"\xff\xfe", "job"}, {"a\x01z", "a-z"},
		{"abcdefghijklmnopqrstuvwxyz0123456789abcdefgh",
			"abcdefghijklmnopqrstuvwxyz0123456789abcd"},
		{"0123456789012345678901234567890123456789",
			"job-012345678901234567890123456789012345"},
		{"abcdefghijklmnopqrstuvwxyz0123456789abc-x",
			"abcdefghijklmnopqrstuvwxyz0123456789abc"},
	};
	char name[GPC_JOB_NAME_MAX + 1], again[GPC_JOB_NAME_MAX + 1];

	for (size_t i = 0; i < COUNT(t); i++) {
		gpc_job_name_clean(t[i].text, name);
		assert_string_equal(name, t[i].want);
		gpc_job_name_clean(name, again);
		assert_string_equal(again, name);
	}
}

TEST(tables)
{
	int n = 0;

	while (gpc_job_status_names[n])
		n++;
	assert_int_equal(n, GPC_JOB__COUNT);
	for (n = 0; gpc_node_status_names[n]; n++)
		;
	assert_int_equal(n, GPC_NODE__COUNT);
	for (n = 0; gpc_reason_names[n]; n++) {
		gpc_autostr *a = gpc_reason_advice((enum gpc_reason)n, "j-1",
			false);
		gpc_autostr *b = gpc_reason_advice((enum gpc_reason)n, "j-1",
			true);

		assert_int_equal(a[0] != 0, n != 0);
		assert_int_equal(b[0] != 0, n != 0);
		assert_null(strpbrk(a, "@[]{}"));
		assert_null(strstr(a, "checkpoint pull"));
		assert_null(strstr(a, "newest checkpoint"));
		assert_null(strpbrk(b, "@[]{}"));
	}
	assert_int_equal(n, GPC_REASON__COUNT);
	assert_string_equal(gpc_reason_to_str(GPC_REASON_AGENT_FAILED),
		"agent_failed");
	assert_string_equal(gpc_job_status_to_str(GPC_JOB_CANCELLED),
		"CANCELLED");
	assert_string_equal(gpc_job_status_to_str((enum gpc_job_status)77),
		"?");
	assert_false(gpc_job_status_is_end(GPC_JOB_RECOVERING));
	assert_true(gpc_job_status_is_end(GPC_JOB_FAILED));
}

TEST(advice_is_about_the_job)
{
	static const struct {
		enum gpc_reason reason;
		bool has_checkpoint;
		const char *want;
	} cases[] = {
		{GPC_REASON_CANCELLED, true, "`gpucloud resume train-1` goes on "
			"from its newest checkpoint"},
		{GPC_REASON_CANCELLED, false, "`gpucloud resume train-1` starts "
			"it once more, from the beginning"},
		{GPC_REASON_COST_LIMIT, true, "submit it again with a higher "
			"limits.cost; `gpucloud checkpoint pull train-1` fetches "
			"what it saved"},
		{GPC_REASON_COST_LIMIT, false, "submit it again with a higher "
			"limits.cost"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autostr *got = gpc_reason_advice(cases[i].reason, "train-1",
			cases[i].has_checkpoint);

		assert_string_equal(got, cases[i].want);
	}
}

TEST(reasons)
{
	static const struct {
		enum gpc_reason reason;
		int code, signal, exit;
		enum gpc_retry retry;
		enum gpc_job_status status;
	} t[] = {
		{GPC_REASON_COMPLETED, 0, 0, 0, GPC_RETRY_NEVER,
			GPC_JOB_SUCCEEDED},
		{GPC_REASON_EXIT_CODE, 3, 0, 3, GPC_RETRY_IF_ASKED,
			GPC_JOB_FAILED},
		{GPC_REASON_EXIT_CODE, 0, 9, 137, GPC_RETRY_IF_ASKED,
			GPC_JOB_FAILED},
		{GPC_REASON_EXIT_CODE, 0, 0, 1, GPC_RETRY_IF_ASKED,
			GPC_JOB_FAILED},
		{GPC_REASON_EXIT_CODE, 256, 0, 1, GPC_RETRY_IF_ASKED,
			GPC_JOB_FAILED},
		{GPC_REASON_SETUP_FAILED, 127, 0, 127, GPC_RETRY_IF_ASKED,
			GPC_JOB_FAILED},
		{GPC_REASON_OUT_OF_MEMORY, 1, 0, 137, GPC_RETRY_IF_ASKED,
			GPC_JOB_FAILED},
		{GPC_REASON_TIME_LIMIT, 0, 15, 124, GPC_RETRY_NEVER,
			GPC_JOB_FAILED},
		{GPC_REASON_COST_LIMIT, 0, 0, 124, GPC_RETRY_NEVER,
			GPC_JOB_FAILED},
		{GPC_REASON_DEADLINE, 0, 0, 124, GPC_RETRY_NEVER,
			GPC_JOB_FAILED},
		{GPC_REASON_LIFETIME, 0, 0, 124, GPC_RETRY_RECOVER,
			GPC_JOB_FAILED},
		{GPC_REASON_CANCELLED, 0, 15, 125, GPC_RETRY_NEVER,
			GPC_JOB_CANCELLED},
		{GPC_REASON_NODE_LOST, 0, 0, 125, GPC_RETRY_RECOVER,
			GPC_JOB_FAILED},
		{GPC_REASON_SPOT_INTERRUPTED, 0, 0, 125, GPC_RETRY_RECOVER,
			GPC_JOB_FAILED},
		{GPC_REASON_NO_PROGRESS, 2, 0, 125, GPC_RETRY_NEVER,
			GPC_JOB_FAILED},
	};

	for (size_t i = 0; i < COUNT(t); i++) {
		assert_int_equal(gpc_reason_exit(t[i].reason, t[i].code,
			t[i].signal), t[i].exit);
		assert_int_equal(gpc_reason_retry(t[i].reason), t[i].retry);
		assert_int_equal(gpc_reason_status(t[i].reason), t[i].status);
	}
}

#define JOB "{\"v\":1,\"id\":\"train-abc234\",\"name\":\"train\",\"kind\":" \
	"\"job\",\"created_ms\":5,\"owner\":{\"hash\":\"0123456789abcdef\"}," \
	"\"spec\":{\"run\":\"x\"},\"secrets\":[\"TOKEN\"],\"later\":{\"a\":1}}"

TEST(record)
{
	gpc_auto(gpc_job) struct gpc_job job = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_autostr *text = NULL;

	assert_ok(gpc_job_parse(JOB, strlen(JOB), &job, &err));
	assert_string_equal(job.name, "train");
	assert_string_equal(job.secrets.v[0], "TOKEN");
	assert_null(job.workspace);
	j = gpc_job_write(&job);
	text = gpc_json_print(j);
	assert_string_equal(text, JOB);         /* "later" is kept */
}

TEST(bad_records)
{
	static const struct { const char *text; enum gpc_code code; } t[] = {
		{"", GPC_EPROTO}, {"[]", GPC_EPROTO}, {"{}", GPC_EPROTO},
		{"{\"v\":1,\"id\":\"\",\"name\":\"x\",\"kind\":\"job\","
		"\"created_ms\":5,\"owner\":{\"hash\":\"0\"},\"spec\":{}}",
			GPC_EPROTO},
		{"{\"v\":1,\"id\":\"x\",\"name\":\"x\",\"kind\":\"job\","
		"\"created_ms\":5,\"owner\":{},\"spec\":{}}", GPC_EPROTO},
		{"{\"v\":2,\"id\":\"x\",\"name\":\"x\",\"kind\":\"job\","
		"\"created_ms\":5,\"owner\":{\"hash\":\"0\"},\"spec\":{}}",
			GPC_EUNSUPPORTED},
	};

	for (size_t i = 0; i < COUNT(t); i++) {
		struct gpc_job job = {0};

		assert_fails(gpc_job_parse(t[i].text, strlen(t[i].text), &job,
			&err), t[i].code);
		assert_null(job.id);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names), cmocka_unit_test(tables),
		cmocka_unit_test(advice_is_about_the_job),
		cmocka_unit_test(reasons), cmocka_unit_test(record),
		cmocka_unit_test(bad_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
