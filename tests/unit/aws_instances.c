/* What DescribeInstances says of the end of a machine. */
#include "test.h"

#include "base/str.h"
#include "base/time.h"
#include "dep/xml.h"
#include "provider/aws_instances.h"

static struct gpc_error err;

static const struct gpc_xml *item(const char *state, const char *reason,
	const char *code, struct gpc_xml **ret_all)
{
	gpc_autostr *text = gpc_format("<x><item><instanceId>i-0ab</instanceId>"
		"<launchTime>2026-11-30T20:00:00.000Z</launchTime>"
		"<instanceState><name>%s</name></instanceState>"
		"<reason>%s</reason><stateReason><code>%s</code></stateReason>"
		"</item></x>", state, reason, code);

	assert_ok(gpc_xml_parse(text, strlen(text), ret_all, &err));
	return gpc_xml_get(*ret_all, "item");
}

TEST(when_it_ended)
{
	static const struct { const char *state, *reason; int64_t after_ms; }
	rows[] = {
		{ "terminated", "User initiated (2026-11-30 21:45:20 GMT)",
			6320000 },
		{ "shutting-down", "User initiated (2026-11-30 20:00:00 GMT)", 0 },
		{ "terminated", "", -1 },
		{ "terminated", "Client.InstanceInitiatedShutdown", -1 },
		{ "terminated", "User initiated", -1 },
		{ "terminated", "User initiated (2026-11-30 21:45:20 CET)", -1 },
		{ "terminated", "User initiated (2026-11-30T21:45:20 GMT)", -1 },
		{ "terminated", "User initiated (2026-99-30 21:45:20 GMT)", -1 },
		{ "terminated", "(((((((((((((((((((((((((", -1 },
		{ "running", "User initiated (2026-11-30 21:45:20 GMT)", -1 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		gpc_autoptr(gpc_xml) *all = NULL;
		gpc_auto(gpc_instances) struct gpc_instances made = {0};
		const struct gpc_xml *x = item(rows[i].state, rows[i].reason, "",
			&all);

		assert_ok(gpc_aws_instance_read(x, "us-east-1", &made, &err));
		if (rows[i].after_ms < 0)
			assert_true(made.v[0].ended_ms == 0);
		else
			assert_true(made.v[0].ended_ms - made.v[0].created_ms ==
				rows[i].after_ms);
		assert_true(made.v[0].machine_free_ms == 0);
	}
}

TEST(the_markets_first_hour_is_free)
{
	gpc_autoptr(gpc_xml) *all = NULL, *other = NULL;
	gpc_auto(gpc_instances) struct gpc_instances made = {0};

	assert_ok(gpc_aws_instance_read(item("terminated", "",
		"Server.SpotInstanceTermination", &all), "us-east-1", &made,
		&err));
	assert_ok(gpc_aws_instance_read(item("terminated", "",
		"Client.UserInitiatedShutdown", &other), "us-east-1", &made,
		&err));
	assert_true(made.v[0].machine_free_ms == 3600000);
	assert_true(made.v[1].machine_free_ms == 0);
}

TEST(what_ended_before_it_ran_is_not_paid)
{
	gpc_autoptr(gpc_xml) *all = NULL, *other = NULL;
	gpc_auto(gpc_instances) struct gpc_instances made = {0};

	assert_ok(gpc_aws_instance_read(item("terminated", "",
		"Server.InsufficientInstanceCapacity", &all), "us-east-1", &made,
		&err));
	assert_ok(gpc_aws_instance_read(item("terminated", "",
		"Server.InternalError", &other), "us-east-1", &made, &err));
	assert_true(made.v[0].unpaid);
	assert_false(made.v[1].unpaid); /* nor of one whose host failed */
}

TEST(which_were_pending_when_they_were_ended)
{
	static const char text[] = "<x><instancesSet>"
		"<item><instanceId>i-0a</instanceId><currentState><name>"
		"shutting-down</name></currentState><previousState><name>pending"
		"</name></previousState></item>"
		"<item><instanceId>i-0b</instanceId><currentState><name>"
		"shutting-down</name></currentState><previousState><name>running"
		"</name></previousState></item>"
		"<item><instanceId>i-0c</instanceId></item></instancesSet></x>";
	gpc_autoptr(gpc_xml) *all = NULL;
	gpc_auto(gpc_strv) struct gpc_strv ids = {0};

	assert_ok(gpc_xml_parse(text, strlen(text), &all, &err));
	gpc_aws_instances_unstarted(all, "us-east-1", &ids);
	gpc_aws_instances_unstarted(all, "us-east-1", &ids);
	gpc_aws_instances_unstarted(NULL, "us-east-1", &ids);
	assert_int_equal(ids.n, 1);
	assert_string_equal(ids.v[0], "us-east-1/i-0a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(when_it_ended),
		cmocka_unit_test(the_markets_first_hour_is_free),
		cmocka_unit_test(what_ended_before_it_ran_is_not_paid),
		cmocka_unit_test(which_were_pending_when_they_were_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
