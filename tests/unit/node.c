/* Launches, offers and the facts of agents survive writing and reading, with
 * members that this version does not know. */
#include "test.h"

#include "base/str.h"
#include "model/node.h"

static struct gpc_error err;

static struct gpc_json *json(const char *text)
{
	struct gpc_json *j = NULL;

	assert_ok(gpc_json_parse(text, strlen(text), &j, &err));
	return j;
}

static void assert_json(struct gpc_json *j, const char *want)
{
	gpc_autostr *have = gpc_json_print(j);
	gpc_autoptr(gpc_json) *w = json(want);
	gpc_autostr *text = gpc_json_print(w);

	gpc_json_free(j);
	assert_string_equal(have, text);
}

#define LAUNCH "{\"v\":1,\"token\":\"t\",\"job\":\"j-abc234\",\"attempt\":2," \
	"\"count\":3,\"provider\":\"local\",\"tags\":{\"gpucloud-job\":" \
	"\"j-abc234\"},\"expires_ms\":99,\"cpus_at_least\":true," \
	"\"memory_bytes\":1073741824,\"gpus\":1,\"later\":[1],\"cpus\":0.5," \
	"\"offer\":{\"provider\":\"local\",\"market\":\"on-demand\",\"price\":" \
	"{\"amount\":\"0.125\",\"currency\":\"USD\"},\"x\":null,\"cpus\":1.5}}"

TEST(launch)
{
	gpc_auto(gpc_launch) struct gpc_launch l = {0};
	gpc_autoptr(gpc_json) *j = json(LAUNCH);

	assert_ok(gpc_launch_read(j, &l, &err));
	assert_int_equal(l.count, 3);
	assert_true(l.cpus == 0.5 && l.offer.cpus == 1.5);
	assert_int_equal(l.offer.price.micros, 125000);
	assert_string_equal(gpc_pairs_get(&l.tags, "gpucloud-job"), "j-abc234");
	assert_json(gpc_launch_write(&l), LAUNCH);
}

TEST(launch_bad)
{
	static const struct { const char *text; enum gpc_code code; } t[] = {
		{"{}", GPC_EPROTO}, {"[]", GPC_EPROTO},
		{"{\"v\":1,\"token\":\"t\",\"job\":\"j\",\"attempt\":1,"
		"\"count\":1,\"provider\":\"p\",\"offer\":{}}", GPC_EPROTO},
		{"{\"v\":7,\"token\":\"t\",\"job\":\"j\",\"attempt\":1,"
		"\"count\":1,\"provider\":\"p\"}", GPC_EUNSUPPORTED},
	};

	for (size_t i = 0; i < COUNT(t); i++) {
		struct gpc_launch l = {0};
		gpc_autoptr(gpc_json) *j = json(t[i].text);

		assert_fails(gpc_launch_read(j, &l, &err), t[i].code);
		assert_null(l.token);
	}
}

TEST(free_offer)
{
	static const char text[] = "{\"provider\":\"local\",\"price\":{"
		"\"amount\":\"0.00\",\"currency\":\"USD\"},\"cpus\":2}";
	gpc_auto(gpc_offer) struct gpc_offer o = {0};
	gpc_autoptr(gpc_json) *j = json(text);

	assert_ok(gpc_offer_read(j, &o, &err));
	/* Free is a price, not the lack of one. */
	assert_string_equal(o.price.currency, "USD");
	assert_json(gpc_offer_write(&o), text);
}

TEST(beat)
{
	static const char text[] = "{\"v\":1,\"n\":7,\"boot\":\"b\",\"instance\""
		":\"i\",\"phase\":\"run\",\"gpus\":2,\"pid\":9,"
		"\"run_started_ms\":5,\"note\":\"ok\",\"later\":true}";
	gpc_auto(gpc_beat) struct gpc_beat x = {0};

	assert_ok(gpc_beat_parse(text, strlen(text), &x, &err));
	assert_int_equal(x.phase, GPC_PHASE_RUN);
	assert_json(gpc_beat_write(&x), text);
	/* Nodes without GPUs say so. */
	x.gpus = 0;
	gpc_autoptr(gpc_json) *none = gpc_beat_write(&x);
	assert_int_equal(gpc_json_get_int(none, "gpus", -1), 0);
	gpc_beat_clear(&x);
	assert_fails(gpc_beat_parse("{\"v\":2,\"n\":7,\"phase\":\"run\"}", 27,
		&x, &err), GPC_EUNSUPPORTED);
	assert_fails(gpc_beat_parse("{\"v\":1,\"n\":7,\"phase\":\"fly\"}", 27,
		&x, &err), GPC_EPROTO);
}

TEST(exit_record)
{
	static const char text[] = "{\"v\":1,\"phase\":\"setup\",\"code\":0,"
		"\"signal\":9,\"reason\":\"out_of_memory\",\"rank\":0,\"at_ms\":"
		"4,\"detail\":\"used 3 GiB\"}";
	gpc_auto(gpc_exit) struct gpc_exit x = {0};

	assert_ok(gpc_exit_parse(text, strlen(text), &x, &err));
	assert_int_equal(x.reason, GPC_REASON_OUT_OF_MEMORY);
	assert_json(gpc_exit_write(&x), text);
}

TEST(peers)
{
	static const char text[] = "{\"v\":1,\"master_port\":29500,\"nodes\":["
		"{\"rank\":0,\"address\":\"127.0.0.1\"},{\"rank\":1,"
		"\"address\":\"127.0.0.2\",\"instance\":\"i\"}]}";
	gpc_auto(gpc_peers) struct gpc_peers x = {0};

	assert_ok(gpc_peers_parse(text, strlen(text), &x, &err));
	assert_int_equal(x.nodes.n, 2);
	assert_string_equal(x.nodes.v[1].address, "127.0.0.2");
	assert_json(gpc_peers_write(&x), text);
}

TEST(clears)
{
	struct gpc_ask ask = { .instance_type = gpc_strdup("x"),
		.region = gpc_strdup("r"), .zone = gpc_strdup("z") };
	struct gpc_instances list = {0};
	struct gpc_offers offers = {0};
	struct gpc_instance *i = gpc_vec_push(&list);

	gpc_vec_push(&ask.gpus)->name = gpc_strdup("A100");
	gpc_vec_push(&offers)->provider = gpc_strdup("p");
	i->id = gpc_strdup("i");
	gpc_pairs_set(&i->tags, "a", "b");
	gpc_ask_clear(&ask);
	gpc_instances_clear(&list);
	gpc_offers_clear(&offers);
	assert_int_equal(ask.gpus.n + list.n + offers.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launch), cmocka_unit_test(launch_bad),
		cmocka_unit_test(free_offer), cmocka_unit_test(beat),
		cmocka_unit_test(exit_record), cmocka_unit_test(peers),
		cmocka_unit_test(clears),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
