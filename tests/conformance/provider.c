/* What every provider promises (provider/provider.h), asked of each that is
 * registered: a new one is tested by being in the list.
 *
 * Providers of this machine run here as they are, in a scratch state folder;
 * this program is then also the "agent" that they start, a launcher that takes
 * its node over and waits to be ended. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "provider_cloud.h"
#include "provider_promises.h"
#include "base/proc.h"
#include "base/time.h"
#include "provider/node_file.h"

/* --- the promises ----------------------------------------------------------- */

static void says_what_it_is(struct lab *lab)
{
	assert_true(lab->p->ops->title[0] != '\0');
	assert_non_null(lab->p->ops->offers);
	assert_non_null(lab->p->ops->create);
	assert_non_null(lab->p->ops->list);
	assert_non_null(lab->p->ops->destroy);
}

static void opening_makes_no_node(struct lab *lab)
{
	assert_int_equal(count_running(lab->p), 0);
}

static void offers_are_whole(struct lab *lab)
{
	gpc_auto(gpc_offers) struct gpc_offers offers = {0};
	struct gpc_ask ask = { .num_nodes = 1 };
	struct gpc_error err;

	assert_ok(lab->p->ops->offers(lab->p, &ask, &offers, &err));
	assert_true(offers.n > 0);
	gpc_vec_each(o, &offers) {
		gpc_autoptr(gpc_json) *j = gpc_offer_write(o);
		gpc_auto(gpc_offer) struct gpc_offer back = {0};

		assert_string_equal(o->provider, lab->p->ops->name);
		assert_non_null(o->instance_type);
		assert_true(gpc_eq(o->market, "on-demand") ||
			gpc_eq(o->market, "spot") ||
			gpc_eq(o->market, "reserved"));
		assert_non_null(o->price_source);
		assert_true(o->price_ms > 0);
		assert_true(o->price.micros >= 0);
		if (!(lab->p->ops->caps & GPC_PROVIDER_FREE))
			assert_true(o->price.micros > 0 && o->price.currency[0]);
		/* An intent keeps it and reads it back. */
		assert_ok(gpc_offer_read(j, &back, &err));
		assert_string_equal(back.instance_type, o->instance_type);
		assert_int_equal(back.price.micros, o->price.micros);
	}
}

/* Asks that nobody can meet: every offer says why, in words for people. */
static void offers_say_why_not(struct lab *lab)
{
	static const struct {
		const char *what;
		struct gpc_ask ask;
		const char *gpu;
	} asks[] = {
		{ "cpus", { .cpus = 100000 }, NULL },
		{ "memory", { .memory_bytes = (uint64_t)1 << 50 }, NULL },
		{ "gpu", {0}, "Z9000-1TB" },
		{ "type", { .instance_type = (char *)"no-such.type" }, NULL },
		{ "region", { .region = (char *)"nowhere" }, NULL },
	};

	for (size_t i = 0; i < COUNT(asks); i++) {
		gpc_auto(gpc_offers) struct gpc_offers offers = {0};
		struct gpc_ask ask = asks[i].ask;
		struct gpc_error err;

		ask.num_nodes = 1;
		if (asks[i].gpu)
			*gpc_vec_push(&ask.gpus) = (struct gpc_gpu_ask){
				.name = (char *)asks[i].gpu, .count = 1 };
		assert_ok(lab->p->ops->offers(lab->p, &ask, &offers, &err));
		assert_true(offers.n > 0);
		gpc_vec_each(o, &offers) {
			if (!o->why_not || strlen(o->why_not) < 10)
				fail_msg("%s fits %s", o->instance_type,
					asks[i].what);
			assert_null(strchr(o->why_not, '\n'));
		}
		gpc_vec_free(&ask.gpus);
	}
}

static void offers_heed_spot(struct lab *lab)
{
	gpc_auto(gpc_offers) struct gpc_offers offers = {0};
	struct gpc_ask ask = { .num_nodes = 1, .spot = true };
	struct gpc_error err;
	size_t fitting = 0;

	if (!(lab->p->ops->caps & GPC_PROVIDER_SPOT))
		return;
	assert_ok(lab->p->ops->offers(lab->p, &ask, &offers, &err));
	gpc_vec_each(o, &offers) {
		if (o->why_not)
			continue;
		assert_string_equal(o->market, "spot");
		fitting++;
	}
	assert_true(fitting > 0);
}

static void create_makes_a_node(struct lab *lab)
{
	gpc_auto(gpc_instances) struct gpc_instances made = {0}, found = {0};
	const struct gpc_instance *i;
	struct gpc_error err;

	buy(lab->p, TOKEN_A, 1, &made);
	assert_string_equal(made.v[0].token, TOKEN_A);
	assert_true(made.v[0].created_ms > 0);
	assert_ok(lab->p->ops->list(lab->p, &found, &err));
	assert_int_equal(found.n, 1);
	i = find(&found, made.v[0].id);
	assert_non_null(i);
	assert_int_not_equal(i->state, GPC_INSTANCE_GONE);
	assert_string_equal(i->token, TOKEN_A);
	assert_string_equal(gpc_pairs_get(&i->tags, "gpucloud-store"),
		"store-one");
	assert_string_equal(gpc_pairs_get(&i->tags, "gpucloud-job"),
		"job-abcdef");
	assert_string_equal(gpc_pairs_get(&i->tags, "gpucloud-owner"),
		"0123456789abcdef");
}

static void a_token_buys_once(struct lab *lab)
{
	gpc_auto(gpc_instances) struct gpc_instances a = {0}, b = {0}, c = {0};

	buy(lab->p, TOKEN_A, 2, &a);
	buy(lab->p, TOKEN_A, 2, &b);
	assert_int_equal(count_running(lab->p), 2);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(a.v[i].id, b.v[i].id);
	buy(lab->p, TOKEN_B, 1, &c);
	assert_int_equal(count_running(lab->p), 3);
	assert_null(find(&a, c.v[0].id));
}

/* The same token from a process that has just started. */
static void a_token_buys_once_across_processes(struct lab *lab)
{
	gpc_auto(gpc_instances) struct gpc_instances a = {0}, b = {0};
	gpc_autoptr(gpc_provider) *again = NULL;
	struct gpc_error err;

	buy(lab->p, TOKEN_A, 3, &a);
	assert_ok(gpc_provider_open(lab->p->ops->name, &lab->ctx, &again,
		&err));
	buy(again, TOKEN_A, 3, &b);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(a.v[i].id, b.v[i].id);
	assert_int_equal(count_running(again), 3);
}

/* Several at once with one token, as after a network that answered late. */
static void a_token_buys_once_at_once(struct lab *lab)
{
	pid_t pids[4];
	int status;

	for (size_t i = 0; i < COUNT(pids); i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			gpc_auto(gpc_launch) struct gpc_launch l = {0};
			gpc_auto(gpc_instances) struct gpc_instances x = {0};

			launch_fill(&l, lab->p, TOKEN_A, 2);
			complete(&l, lab->p);
			_exit(lab->p->ops->create(lab->p, &l, &x, NULL) == 0 &&
				x.n == 2 ? 0 : 1);
		}
	}
	for (size_t i = 0; i < COUNT(pids); i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(count_running(lab->p), 2);
}

static void count_keeps_its_order(struct lab *lab)
{
	gpc_auto(gpc_instances) struct gpc_instances a = {0}, b = {0};

	buy(lab->p, TOKEN_A, 12, &a);
	buy(lab->p, TOKEN_A, 12, &b);
	for (size_t i = 0; i < 12; i++) {
		assert_string_equal(a.v[i].id, b.v[i].id);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(a.v[i].id, a.v[k].id);
	}
	assert_int_equal(count_running(lab->p), 12);
}

static void list_shows_only_ours(struct lab *lab)
{
	gpc_auto(gpc_instances) struct gpc_instances a = {0}, b = {0};

	buy(lab->p, TOKEN_A, 1, &a);
	buy(lab->other, TOKEN_B, 2, &b);
	assert_int_equal(count_running(lab->p), 1);
	assert_int_equal(count_running(lab->other), 2);
	assert_false(runs(lab->p, b.v[0].id));
	assert_false(runs(lab->other, a.v[0].id));
}

static void list_appends(struct lab *lab)
{
	gpc_auto(gpc_instances) struct gpc_instances a = {0}, x = {0};
	struct gpc_error err;

	buy(lab->p, TOKEN_A, 1, &a);
	assert_ok(lab->p->ops->list(lab->p, &x, &err));
	assert_ok(lab->p->ops->list(lab->p, &x, &err));
	assert_int_equal(x.n, 2);
}

static void destroy_ends_and_may_be_repeated(struct lab *lab)
{
	gpc_auto(gpc_instances) struct gpc_instances a = {0};
	struct gpc_error err;
	const char *ids[2];

	buy(lab->p, TOKEN_A, 3, &a);
	ids[0] = a.v[0].id;
	ids[1] = a.v[2].id;
	for (int i = 0; i < 3; i++)
		assert_ok(lab->p->ops->destroy(lab->p, ids, 2, &err));
	assert_true(ends(lab->p, ids[0]));
	assert_true(ends(lab->p, ids[1]));
	assert_true(runs(lab->p, a.v[1].id));
	assert_ok(lab->p->ops->destroy(lab->p, NULL, 0, &err));
}

static bool is_unpaid(struct gpc_provider *p, const char *id)
{
	gpc_auto(gpc_instances) struct gpc_instances x = {0};
	struct gpc_error err;
	const struct gpc_instance *i;

	assert_ok(p->ops->list(p, &x, &err));
	i = find(&x, id);
	return i && i->unpaid;
}

static bool is_running(struct gpc_provider *p, const char *id)
{
	gpc_auto(gpc_instances) struct gpc_instances x = {0};
	struct gpc_error err;
	const struct gpc_instance *i;

	assert_ok(p->ops->list(p, &x, &err));
	i = find(&x, id);
	return i && i->state == GPC_INSTANCE_RUNNING;
}

static void what_ran_is_paid(struct lab *lab)
{
	gpc_auto(gpc_instances) struct gpc_instances a = {0}, b = {0};
	struct gpc_error err;
	const char *id, *early;

	buy(lab->p, TOKEN_A, 1, &a);
	id = a.v[0].id;
	for (int i = 0; !is_running(lab->p, id) && i < 600; i++)
		gpc_sleep_ms(100);
	assert_true(is_running(lab->p, id));
	assert_false(is_unpaid(lab->p, id));
	assert_ok(lab->p->ops->destroy(lab->p, &id, 1, &err));
	assert_true(ends(lab->p, id));
	assert_false(is_unpaid(lab->p, id));
	if (!gpc_eq(lab->p->ops->name, "aws"))
		return;
	cloud_keep_pending();
	buy(lab->p, TOKEN_B, 1, &b);
	early = b.v[0].id;
	for (int i = 0; i < 2; i++)     /* the second says nothing new */
		assert_ok(lab->p->ops->destroy(lab->p, &early, 1, &err));
	assert_true(ends(lab->p, early));
	assert_true(is_unpaid(lab->p, early));
	assert_false(is_unpaid(lab->p, id));
}

static void destroy_of_an_absent_one_is_fine(struct lab *lab)
{
	const char *ids[] = { "no-such-node", TOKEN_B };
	struct gpc_error err;

	assert_ok(lab->p->ops->destroy(lab->p, ids, 2, &err));
}

static void anothers_node_is_not_touched(struct lab *lab)
{
	gpc_auto(gpc_instances) struct gpc_instances a = {0}, b = {0};
	struct gpc_error err;
	const char *ids[2];
	int r;

	buy(lab->other, TOKEN_B, 1, &b);
	buy(lab->p, TOKEN_A, 1, &a);
	ids[0] = b.v[0].id;
	ids[1] = a.v[0].id;
	r = lab->p->ops->destroy(lab->p, ids, 2, &err);
	assert_true(r < 0);
	assert_has(err.msg, "another store");
	assert_true(runs(lab->other, ids[0]));
	/* And what is ours went all the same. */
	assert_true(ends(lab->p, ids[1]));
}

static void bad_tokens_are_refused(struct lab *lab)
{
	static const char *const bad[] = {
		"", "../x", "a/b", "..", ".", ".hidden", "/etc",
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		gpc_auto(gpc_launch) struct gpc_launch l = {0};
		gpc_auto(gpc_instances) struct gpc_instances x = {0};
		struct gpc_error err;

		launch_fill(&l, lab->p, bad[i], 1);
		complete(&l, lab->p);
		assert_fails(lab->p->ops->create(lab->p, &l, &x, &err),
			GPC_ECONFIG);
		assert_int_equal(x.n, 0);
	}
	for (int count = -1; count < 1; count++) {
		gpc_auto(gpc_launch) struct gpc_launch l = {0};
		gpc_auto(gpc_instances) struct gpc_instances x = {0};
		struct gpc_error err;

		launch_fill(&l, lab->p, TOKEN_A, count);
		complete(&l, lab->p);
		assert_fails(lab->p->ops->create(lab->p, &l, &x, &err),
			GPC_ECONFIG);
	}
	assert_int_equal(count_running(lab->p), 0);
}

static void bad_ids_are_refused(struct lab *lab)
{
	static const char *const bad[] = { "../..", "a/../../b", "" };

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct gpc_error err;

		assert_true(lab->p->ops->destroy(lab->p, &bad[i], 1, &err) < 0);
	}
	assert_int_equal(access(lab->state_dir, F_OK), 0);
}

static void a_lifetime_is_kept(struct lab *lab)
{
	gpc_auto(gpc_instances) struct gpc_instances a = {0}, x = {0};
	gpc_auto(gpc_launch) struct gpc_launch l = {0};
	struct gpc_error err;

	launch_fill(&l, lab->p, TOKEN_A, 1);
	/* In whole seconds, as tags have it. */
	l.expires_ms = gpc_wall_ms() / 1000 * 1000 + 3600000;
	gpc_pairs_setf(&l.tags, "gpucloud-expires", "%lld",
		(long long)(l.expires_ms / 1000));
	complete(&l, lab->p);
	assert_ok(lab->p->ops->create(lab->p, &l, &a, &err));
	assert_int_equal(a.v[0].expires_ms, l.expires_ms);
	assert_ok(lab->p->ops->list(lab->p, &x, &err));
	assert_int_equal(x.v[0].expires_ms, l.expires_ms);
}

/* --- all promises over all providers ------------------------------------------ */

static const struct {
	const char *name;
	void (*test)(struct lab *lab);
} promises[] = {
#define P(name) { #name, name }
	P(says_what_it_is), P(opening_makes_no_node), P(offers_are_whole),
	P(offers_say_why_not), P(offers_heed_spot), P(create_makes_a_node),
	P(a_token_buys_once), P(a_token_buys_once_across_processes),
	P(a_token_buys_once_at_once), P(count_keeps_its_order),
	P(list_shows_only_ours), P(list_appends),
	P(destroy_ends_and_may_be_repeated), P(what_ran_is_paid),
	P(destroy_of_an_absent_one_is_fine), P(anothers_node_is_not_touched),
	P(bad_tokens_are_refused), P(bad_ids_are_refused),
	P(a_lifetime_is_kept), P(a_group_keeps_a_node),
	P(anothers_group_is_not_touched),
	P(ways_are_opened_once_and_end_with_their_nodes),
#undef P
};

struct one { const char *provider; size_t promise; };

static void run_one(void **state)
{
	const struct one *one = *state;
	struct lab *lab;

	if (gpc_eq(one->provider, "aws"))
		cloud_reset();
	lab = lab_new(one->provider);
	promises[one->promise].test(lab);
	lab_free(lab);
}

TEST(unknown_names_are_told_the_known_ones)
{
	struct gpc_provider_context ctx = {0};
	struct gpc_provider *p = NULL;
	struct gpc_error err;

	assert_fails(gpc_provider_open("locale", &ctx, &p, &err),
		GPC_ENOTFOUND);
	assert_has(err.hint, "did you mean local?");
	assert_fails(gpc_provider_open("xyzzy-cloud", &ctx, &p, &err),
		GPC_ENOTFOUND);
	assert_has(err.hint, "aws, fake, local");
	assert_null(p);
}

/* As a launcher: gpucloud agent --launch DIR --ready-fd 3. */
static int launch(const char *dir)
{
	gpc_auto(gpc_node_file) struct gpc_node_file n = {0};
	sigset_t set;
	int sig;

	if (gpc_node_file_read(dir, &n, NULL) < 0 || n.pid)
		return 1;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	n.pid = getpid();
	n.start = (int64_t)gpc_proc_start(getpid());
	if (gpc_node_file_write(dir, &n, NULL) < 0 || write(3, "R", 1) != 1)
		return 1;
	alarm(60);
	return sigwait(&set, &sig);
}

int main(int argc, char **argv)
{
	size_t n_providers = 0, n = 0;
	const char *const *names = gpc_provider_names(&n_providers);
	size_t max = n_providers * COUNT(promises) + 1;
	struct CMUnitTest *tests;
	struct one *ones;
	int r;

	if (argc > 3 && gpc_eq(argv[1], "agent"))
		return launch(argv[3]);
	tests = gpc_array(max, sizeof(*tests));
	ones = gpc_array(max, sizeof(*ones));
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(
		unknown_names_are_told_the_known_ones);
	for (size_t p = 0; p < n_providers; p++) {
		for (size_t i = 0; i < COUNT(promises); i++) {
			ones[n] = (struct one){ names[p], i };
			tests[n].name = gpc_format("%s: %s", names[p],
				promises[i].name);
			tests[n].test_func = run_one;
			tests[n].initial_state = &ones[n];
			n++;
		}
	}
	r = _cmocka_run_group_tests("provider", tests, n, NULL, NULL);
	cloud_end();
	for (size_t i = 1; i < n; i++)
		free((char *)tests[i].name);
	free(tests);
	free(ones);
	return r;
}
