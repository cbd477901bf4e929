/* Services that are out of reach for a while: who is patient waits for those that have
 * answered before, and for no others; and it is known that it waits, and for whom. */
#include "net_one.h"

#include "base/time.h"

#define AWAY "503,503,500,503,503,"     /* more than max_tries of new_net */

static struct gpc_buf said;

static void hear(void *arg, enum gpc_level level, const char *line)
{
	(void)arg;
	(void)level;
	gpc_buf_addf(&said, "%s\n", line);
}

static const struct gpc_log aloud = { .level = GPC_INFO, .sink = hear };

static struct gpc_net *patient_net(int64_t ms)
{
	return new_net((struct gpc_net_settings){ .patience_ms = ms, .log = &aloud });
}

/* A GET of the path; returns its tries. */
static int get(struct gpc_net *net, const char *path, int max_tries,
	struct gpc_error *err, int *ret_r)
{
	struct one o;
	int tries;

	prepare(&o, "GET", path);
	o.call.max_tries = max_tries;
	go(net, &o);
	*err = o.err;
	*ret_r = o.r;
	tries = o.reply.tries;
	clear(&o);
	return tries;
}

TEST(an_outage_is_ridden_out)
{
	gpc_autoptr(gpc_net) *net = patient_net(300000);
	struct gpc_net_outage out;
	struct gpc_error err;
	int r;

	assert_int_equal(get(net, "/do/a1/200", 0, &err, &r), 1);
	assert_false(gpc_net_outage(net, &out));
	assert_int_equal(get(net, "/do/a2/" AWAY "200", 0, &err, &r), 6);
	assert_int_equal(r, 0);
	assert_false(gpc_net_outage(net, &out));
	/* Without patience it fails, and says that it may work later. */
	gpc_autoptr(gpc_net) *other = new_net((struct gpc_net_settings){0});
	assert_int_equal(get(other, "/do/a3/200", 0, &err, &r), 1);
	(void)get(other, "/do/a4/" AWAY "200", 0, &err, &r);
	assert_int_equal(r, -GPC_ENET);         /* that is the 500 */
	assert_has(err.msg, "3 tries");
	assert_true(err.passes);
}

/* It may be a wrong name; and who says how often means it. */
TEST(strangers_and_the_hurried_are_not_waited_for)
{
	gpc_autoptr(gpc_net) *net = patient_net(300000);
	struct gpc_error err;
	int r;

	(void)get(net, "/do/b1/" AWAY "200", 0, &err, &r);
	assert_int_equal(r, -GPC_ENET);
	assert_has(err.msg, "3 tries");
	assert_int_equal(get(net, "/do/b2/404", 0, &err, &r), 1);
	assert_int_equal(r, -GPC_ENOTFOUND);
	assert_false(err.passes);
	/* Now it has answered. */
	(void)get(net, "/do/b3/" AWAY "200", 2, &err, &r);
	assert_int_equal(r, -GPC_ERATE);
	assert_has(err.msg, "2 tries");
	assert_int_equal(get(net, "/do/b4/" AWAY "200", 0, &err, &r), 6);
	assert_int_equal(r, 0);
}

TEST(patience_has_an_end)
{
	gpc_autoptr(gpc_net) *net = patient_net(6000);
	struct gpc_net_outage out;
	struct gpc_error err;
	int64_t began;
	int r;

	gpc_buf_reset(&said);
	(void)get(net, "/do/c1/200", 0, &err, &r);
	began = gpc_boot_ms();
	(void)get(net, "/do/c2/close", 0, &err, &r);
	assert_int_equal(r, -GPC_ENET);
	assert_true(err.passes);
	assert_true(gpc_boot_ms() - began >= 6000);
	assert_has(gpc_buf_str(&said), "waiting for 127.0.0.1:");
	assert_true(gpc_net_outage(net, &out));
	assert_true(out.over && out.lasts_ms >= 6000);
	assert_has(out.host, "127.0.0.1:");
	assert_has(out.why, "closed without a reply");
	/* Others do not wait as long once more. */
	assert_int_equal(requests("c3"), 0);
	(void)get(net, "/do/c3/close", 0, &err, &r);
	assert_int_equal(r, -GPC_ENET);
	assert_int_equal(requests("c3"), 1);
	/* What comes resets it. */
	assert_int_equal(get(net, "/do/c4/200", 0, &err, &r), 1);
	assert_has(gpc_buf_str(&said), "answers again");
	assert_false(gpc_net_outage(net, &out));
	assert_int_equal(get(net, "/do/c5/close,200", 0, &err, &r), 2);
	assert_int_equal(r, 0);
}

/* What is refused for what it is, is no outage. */
TEST(refusals_are_not_waited_for)
{
	static const struct { const char *path; int code; } cases[] = {
		{"/do/d1/403", GPC_EAUTH}, {"/do/d2/409", GPC_ECONFLICT},
		{"/do/d3/501,501,501,200", GPC_EUNSUPPORTED},
		{"/do/d4/junk", GPC_EPROTO},
	};
	gpc_autoptr(gpc_net) *net = patient_net(300000);
	struct gpc_error err;
	int r;

	(void)get(net, "/do/d0/200", 0, &err, &r);
	for (size_t i = 0; i < COUNT(cases); i++) {
		(void)get(net, cases[i].path, 0, &err, &r);
		if (i != 2)     /* a status of its own to whoever has no judge */
			assert_int_equal(r, -cases[i].code);
	}
}

#define WITH_SERVER(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(an_outage_is_ridden_out),
		WITH_SERVER(strangers_and_the_hurried_are_not_waited_for),
		WITH_SERVER(patience_has_an_end),
		WITH_SERVER(refusals_are_not_waited_for),
	};
	int r = cmocka_run_group_tests(tests, set_up, tear_down);

	gpc_buf_clear(&said);
	return r;
}
