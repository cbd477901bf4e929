/* Events as JSON: round trip, and what is newer told from what is broken. */
#include "test.h"

#include "base/str.h"
#include "model/event.h"

static struct gpc_error err;

#define STATE "\"state\":{\"v\":1,\"n\":3,\"status\":\"PROVISIONING\"," \
	"\"attempt\":1,\"num_nodes\":2,\"submitted_ms\":7,\"intents\":[{\"n\":" \
	"3,\"attempt\":1,\"token\":\"t\",\"request\":{\"count\":2}}],\"tries\":" \
	"[{\"n\":1,\"reason\":\"\"}],\"colour\":\"red\"}"
#define EVENT "{\"v\":1,\"n\":3,\"id\":\"abc\",\"type\":\"intent\",\"at_ms\":" \
	"9,\"by\":\"me\",\"data\":{\"attempt\":1}," STATE "}"

TEST(round_trip)
{
	gpc_auto(gpc_event) struct gpc_event e = {0}, back = {0};
	gpc_autoptr(gpc_json) *a = NULL, *b = NULL;
	gpc_autostr *x = NULL, *y = NULL;

	assert_ok(gpc_event_parse(EVENT, strlen(EVENT), &e, &err));
	assert_int_equal(e.type, GPC_EVENT_INTENT);
	assert_int_equal(e.state.intents.n, 1);
	assert_int_equal(e.state.intents.v[0].n, 3);
	assert_int_equal(e.state.num_nodes, 2);
	a = gpc_event_write(&e);
	x = gpc_json_print(a);
	assert_has(x, "\"colour\":\"red\"");    /* unknown members are kept */
	assert_ok(gpc_event_parse(x, strlen(x), &back, &err));
	b = gpc_event_write(&back);
	y = gpc_json_print(b);
	assert_string_equal(x, y);
}

TEST(no_payload)
{
	gpc_auto(gpc_event) struct gpc_event e = { .v = 1, .n = 1,
		.id = gpc_strdup("x"), .type = GPC_EVENT_SAVE, .at_ms = 1 };
	gpc_auto(gpc_event) struct gpc_event back = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_autostr *text = NULL;

	e.state.v = 1;
	e.state.n = 1;
	j = gpc_event_write(&e);
	text = gpc_json_print(j);
	assert_ok(gpc_event_parse(text, strlen(text), &back, &err));
	assert_true(gpc_json_is_object(back.data));
	assert_int_equal(back.type, GPC_EVENT_SAVE);
	assert_int_equal(back.state.status, GPC_JOB_PENDING);
}

TEST(types)
{
	int n = 0;

	while (gpc_event_type_names[n])
		n++;
	assert_int_equal(n, GPC_EVENT__COUNT);
	assert_string_equal(gpc_event_type_names[GPC_EVENT_ENDED], "ended");
}

TEST(bad)
{
	static const struct { const char *text; enum gpc_code code; } t[] = {
		{"", GPC_EPROTO}, {"3", GPC_EPROTO}, {"{}", GPC_EPROTO},
		{"{\"v\":0}", GPC_EPROTO}, {"{\"v\":\"1\"}", GPC_EPROTO},
		{"{\"v\":1,\"type\":\"save\"}", GPC_EPROTO},
		{"{\"v\":1,\"type\":5}", GPC_EPROTO},
		{"{\"v\":2}", GPC_EUNSUPPORTED},
		{"{\"v\":9999999999,\"type\":\"save\"}", GPC_EUNSUPPORTED},
		{"{\"v\":1,\"type\":\"\\u0000\"}", GPC_EPROTO},
		{"{\"v\":1,\"type\":\"warp\\u001b[31m\"}", GPC_EUNSUPPORTED},
		{"{\"v\":1,\"n\":4,\"id\":\"abc\",\"type\":\"intent\","
		"\"at_ms\":9," STATE "}", GPC_EPROTO},
		{"{\"v\":1,\"n\":3,\"id\":\"abc\",\"type\":\"intent\","
		"\"at_ms\":9,\"data\":[]," STATE "}", GPC_EPROTO},
	};

	for (size_t i = 0; i < COUNT(t); i++) {
		struct gpc_event e = {0};

		assert_fails(gpc_event_parse(t[i].text, strlen(t[i].text), &e,
			&err), t[i].code);
		assert_null(e.id);
		assert_null(strchr(err.msg, '\x1b'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip), cmocka_unit_test(no_payload),
		cmocka_unit_test(types), cmocka_unit_test(bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
