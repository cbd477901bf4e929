/* The provider local: one folder a token whatever crashes, one launcher a node,
 * liveness, and an end that leaves nothing. The launcher is this program itself
 * in another role, so that no agent is needed here.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "provider/gpu_match.h"
#include "provider/node_file.h"
#include "provider/procs.h"
#include "provider/provider.h"

static struct gpc_error err;
static char *self;

#define STORE "s0000000000000000000000000000000"
/* Of this run alone: what bears a node's id is killed, wherever it came from. */
static char token[32], second[40];

/* --- this program as a launcher ------------------------------------------- */

static void start_escaped(const char *id)
{
	char mark[256], c;
	char *env[] = { mark, NULL };
	int fds[2];

	snprintf(mark, sizeof(mark), GPC_NODE_ENV "=%s", id);
	if (pipe2(fds, O_CLOEXEC) < 0)
		_exit(1);
	if (fork() == 0) {
		setsid();
		execle("/bin/sleep", "sleep", "1000", (char *)NULL, env);
		_exit(1);
	}
	close(fds[1]);
	/* Its environment is the new one when exec has closed the pipe. */
	while (read(fds[0], &c, 1) < 0 && errno == EINTR)
		;
	close(fds[0]);
}

/* Takes the node over, starts a process that escapes, and waits to be ended. */
static int act_as_launcher(const char *dir, int ready)
{
	gpc_autostr *lock = gpc_path_join(dir, GPC_NODE_LOCK);
	gpc_autostr *count = gpc_path_join(dir, "starts");
	struct gpc_node_file n = {0};
	int fd = -1, starts;

	if (gpc_lock_file(lock, false, &fd, &err) < 0
		|| gpc_node_file_read(dir, &n, &err) < 0 || n.pid != 0)
		return 1;
	starts = open(count, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (write(starts, "x", 1) != 1)
		return 1;
	close(starts);
	free(gpc_steal(&count));        /* nothing is freed after pause */
	n.pid = getpid();
	n.start = (int64_t)gpc_proc_start(getpid());
	if (gpc_node_file_write(dir, &n, &err) < 0)
		return 1;
	start_escaped(n.id);
	if (write(ready, "R", 1) != 1)
		return 1;
	close(ready);
	gpc_node_file_clear(&n);
	for (;;)
		pause();
}

/* --- fixtures -------------------------------------------------------------- */

struct bed {
	char *dir;
	struct gpc_provider_context ctx;
	struct gpc_provider *p;
};

static void setup_bed(struct bed *b)
{
	b->dir = scratch();
	b->ctx = (struct gpc_provider_context){ .store_id = STORE,
		.state_dir = b->dir, .self_path = self };
	assert_ok(gpc_provider_open("local", &b->ctx, &b->p, &err));
}

static void drop_bed(struct bed *b)
{
	struct gpc_instances all = {0};

	assert_ok(b->p->ops->list(b->p, &all, &err));
	for (size_t i = 0; i < all.n; i++) {
		const char *id = all.v[i].id;

		assert_ok(b->p->ops->destroy(b->p, &id, 1, &err));
	}
	gpc_instances_clear(&all);
	gpc_provider_free(b->p);
	assert_ok(gpc_rmtree(b->dir, &err));
	free(b->dir);
}

static struct gpc_launch launch(int count)
{
	struct gpc_launch l = { .v = 1, .attempt = 1, .count = count };

	l.token = gpc_strdup(token);
	l.job = gpc_strdup("train-abc234");
	l.store_url = gpc_strdup("file:///nowhere");
	gpc_pairs_set(&l.tags, "gpucloud-store", STORE);
	gpc_pairs_set(&l.tags, "gpucloud-job", "train-abc234");
	return l;
}

static size_t marked(const char *id)
{
	gpc_autostr *mark = gpc_format(GPC_NODE_ENV "=%s", id);
	struct gpc_procs p = {0};
	size_t n = 0;

	gpc_procs_list(&p);
	for (size_t i = 0; i < p.n; i++) {
		struct gpc_buf b = {0};
		gpc_autostr *path = gpc_format("/proc/%d/environ",
			(int)p.v[i].pid);

		if (!p.v[i].zombie && gpc_read_file(path, 1 << 20, &b, NULL) == 0
			&& b.len && strstr(b.data, mark))
			n++;
		gpc_buf_clear(&b);
	}
	gpc_procs_clear(&p);
	return n;
}

static enum gpc_instance_state state_of(struct bed *b, const char *id)
{
	struct gpc_instances all = {0};
	enum gpc_instance_state s = GPC_INSTANCE_GONE;

	assert_ok(b->p->ops->list(b->p, &all, &err));
	for (size_t i = 0; i < all.n; i++)
		if (gpc_eq(all.v[i].id, id))
			s = all.v[i].state;
	gpc_instances_clear(&all);
	return s;
}

static size_t starts_of(struct bed *b, const char *id)
{
	gpc_autostr *path = gpc_format("%s/nodes/%s/starts", b->dir, id);
	struct stat st;

	return stat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

/* --- tests ------------------------------------------------------------------ */

TEST(registry_knows_its_words)
{
	struct gpc_provider_context ctx = {0};
	struct gpc_provider *p = NULL;
	size_t n;
	const char *const *names = gpc_provider_names(&n);
	bool found = false;

	for (size_t i = 0; i < n; i++)
		found = found || gpc_eq(names[i], "local");
	assert_true(found);
	assert_fails(gpc_provider_open("locla", &ctx, &p, &err), GPC_ENOTFOUND);
	assert_has(err.hint, "local");
}

TEST(offers_say_why_not)
{
	struct bed b;
	struct gpc_offers o = {0};
	struct gpc_ask ask = { .cpus = 1, .spot = true };
	struct gpc_gpu_ask *g;

	setup_bed(&b);
	assert_ok(b.p->ops->offers(b.p, &ask, &o, &err));
	assert_int_equal(o.n, 1);
	assert_null(o.v[0].why_not);
	assert_string_equal(o.v[0].instance_type, "local");
	assert_string_equal(o.v[0].market, "spot");
	assert_true(o.v[0].cpus >= 1 && o.v[0].memory_bytes > 1 << 20);
	gpc_offers_clear(&o);

	ask.cpus = 100000;
	assert_ok(b.p->ops->offers(b.p, &ask, &o, &err));
	assert_has(o.v[0].why_not, "asks for 100000 CPUs; this machine has");
	gpc_offers_clear(&o);

	ask.cpus = 0;
	g = gpc_vec_push(&ask.gpus);
	g->name = gpc_strdup("QX9999");
	g->count = 1.5;
	assert_ok(b.p->ops->offers(b.p, &ask, &o, &err));
	assert_has(o.v[0].why_not, "asks for 2 GPUs QX9999; this machine has");
	gpc_offers_clear(&o);
	gpc_ask_clear(&ask);
	drop_bed(&b);
}

TEST(the_same_token_is_the_same_nodes)
{
	struct bed b;
	struct gpc_launch l = launch(2);
	struct gpc_instances x = {0}, y = {0};

	setup_bed(&b);
	assert_ok(b.p->ops->create(b.p, &l, &x, &err));
	assert_int_equal(x.n, 2);
	assert_string_equal(x.v[0].id, token);
	assert_string_equal(x.v[1].id, second);
	assert_ok(b.p->ops->create(b.p, &l, &y, &err));
	assert_int_equal(y.n, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(x.v[i].id, y.v[i].id);
		assert_int_equal(y.v[i].state, GPC_INSTANCE_RUNNING);
		assert_int_equal(starts_of(&b, x.v[i].id), 1);
	}
	gpc_instances_clear(&x);
	gpc_instances_clear(&y);
	gpc_launch_clear(&l);
	drop_bed(&b);
}

/* A create that was cut off after the folder, or after node.json. */
TEST(a_cut_off_create_is_finished_by_the_next)
{
	struct bed b;
	struct gpc_launch l = launch(1);
	struct gpc_instances x = {0};
	gpc_autostr *dir = NULL;
	struct gpc_node_file n = {0};
	char boot[64];

	setup_bed(&b);
	dir = gpc_format("%s/nodes/%s", b.dir, token);
	assert_ok(gpc_mkdirs(dir, 0700, &err));
	assert_ok(b.p->ops->list(b.p, &x, &err));
	assert_int_equal(x.n, 0);
	assert_ok(b.p->ops->create(b.p, &l, &x, &err));
	assert_int_equal(x.v[0].state, GPC_INSTANCE_RUNNING);
	gpc_instances_clear(&x);
	assert_ok(b.p->ops->destroy(b.p, &(const char *){token}, 1, &err));

	n = (struct gpc_node_file){ .v = 1, .id = token,
		.token = token, .job = (char *)"train-abc234",
		.store_url = (char *)"file:///nowhere", .tags = l.tags,
		.boot = (char *)gpc_boot_id(boot),
		.created_ms = gpc_wall_ms(), .created_boot_ms = gpc_boot_ms() };
	assert_ok(gpc_mkdirs(dir, 0700, &err));
	assert_ok(gpc_node_file_write(dir, &n, &err));
	assert_int_equal(state_of(&b, token), GPC_INSTANCE_STARTING);
	assert_ok(b.p->ops->create(b.p, &l, &x, &err));
	assert_int_equal(x.v[0].state, GPC_INSTANCE_RUNNING);
	assert_int_equal(starts_of(&b, token), 1);
	gpc_instances_clear(&x);
	gpc_launch_clear(&l);
	drop_bed(&b);
}

TEST(eight_creators_start_one_launcher)
{
	struct bed b;
	struct gpc_launch l = launch(1);
	pid_t pids[8];

	setup_bed(&b);
	for (size_t i = 0; i < COUNT(pids); i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			struct gpc_instances x = {0};
			int r = b.p->ops->create(b.p, &l, &x, &err);

			_exit(r == 0 && x.n == 1 && gpc_eq(x.v[0].id, token)
				? 0 : 1);
		}
	}
	for (size_t i = 0; i < COUNT(pids); i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(starts_of(&b, token), 1);
	gpc_launch_clear(&l);
	drop_bed(&b);
}

/* Its launcher killed by SIGKILL: the node is gone, but a process that left its
 * session lives on until destroy finds it by its mark. */
TEST(destroy_finds_what_escaped)
{
	struct bed b;
	struct gpc_launch l = launch(1);
	struct gpc_instances x = {0};
	gpc_auto(gpc_node_file) struct gpc_node_file n = {0};
	gpc_autostr *dir = NULL;

	setup_bed(&b);
	dir = gpc_format("%s/nodes/%s", b.dir, token);
	assert_ok(b.p->ops->create(b.p, &l, &x, &err));
	assert_ok(gpc_node_file_read(dir, &n, &err));
	assert_true(gpc_node_file_alive(&n));
	assert_int_equal(kill(n.pid, SIGKILL), 0);
	while (gpc_node_file_alive(&n))
		gpc_sleep_ms(5);
	assert_int_equal(state_of(&b, token), GPC_INSTANCE_GONE);
	assert_int_equal(marked(token), 1);
	/* It is never started again, by no token. */
	gpc_instances_clear(&x);
	assert_ok(b.p->ops->create(b.p, &l, &x, &err));
	assert_int_equal(x.v[0].state, GPC_INSTANCE_GONE);
	assert_int_equal(starts_of(&b, token), 1);

	assert_ok(b.p->ops->destroy(b.p, &(const char *){token}, 1, &err));
	assert_int_equal(marked(token), 0);
	assert_int_equal(access(dir, F_OK), -1);
	assert_ok(b.p->ops->destroy(b.p, &(const char *){token}, 1, &err));
	gpc_instances_clear(&x);
	gpc_launch_clear(&l);
	drop_bed(&b);
}

TEST(another_store_is_left_alone)
{
	struct bed b;
	struct gpc_launch l = launch(1);
	struct gpc_instances x = {0};

	setup_bed(&b);
	assert_ok(b.p->ops->create(b.p, &l, &x, &err));
	gpc_instances_clear(&x);
	b.ctx.store_id = "another";
	assert_ok(b.p->ops->list(b.p, &x, &err));
	assert_int_equal(x.n, 0);
	assert_fails(b.p->ops->destroy(b.p, &(const char *){token}, 1, &err),
		GPC_ECONFLICT);
	b.ctx.store_id = STORE;
	assert_int_equal(state_of(&b, token), GPC_INSTANCE_RUNNING);
	gpc_launch_clear(&l);
	drop_bed(&b);
}

TEST(bad_names_go_nowhere)
{
	static const char *const bad[] = { "../x", "a/b", ".lock", "", ".." };
	struct bed b;

	setup_bed(&b);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_fails(b.p->ops->destroy(b.p, &bad[i], 1, &err),
			GPC_EUSAGE);
	drop_bed(&b);
}

TEST(a_binary_that_is_not_there_is_named)
{
	struct bed b;
	struct gpc_launch l = launch(1);
	struct gpc_instances x = {0};

	setup_bed(&b);
	b.ctx.self_path = "/nowhere/gpucloud";
	assert_fails(b.p->ops->create(b.p, &l, &x, &err), GPC_ENOTFOUND);
	assert_has(err.msg, "/nowhere/gpucloud");
	b.ctx.self_path = self;
	gpc_launch_clear(&l);
	drop_bed(&b);
}

TEST(gpu_names_meet)
{
	static const struct {
		const char *ask;
		int ask_gb;
		bool at_least;
		const char *vendor;
		const char *have;
		int have_gb;
		bool fits;
	} cases[] = {
		{ "A100-40GB", 0, false, NULL, "NVIDIA A100-SXM4-40GB", 40, true },
		{ "A100-80GB", 0, false, NULL, "NVIDIA A100-SXM4-40GB", 40, false },
		{ "A100-80GB", 0, false, NULL, "NVIDIA A100 80GB PCIe", 80, true },
		{ "H100-SXM", 0, false, NULL, "NVIDIA H100 80GB HBM3", 80, true },
		{ "H100-SXM", 0, false, NULL, "NVIDIA H100 PCIe", 80, false },
		{ "H200", 0, false, NULL, "NVIDIA H200", 141, true },
		{ "A10", 0, false, NULL, "NVIDIA A100-SXM4-40GB", 40, false },
		{ "A10G", 0, false, NULL, "NVIDIA A10G", 24, true },
		{ "L4", 0, false, NULL, "NVIDIA L40S", 48, false },
		{ "T4", 0, false, NULL, "Tesla T4", 16, true },
		{ "V100-16GB", 0, false, NULL, "Tesla V100-SXM2-16GB", 16, true },
		{ NULL, 80, true, NULL, "NVIDIA H200", 141, true },
		{ NULL, 80, true, NULL, "NVIDIA H100 PCIe", 80, true },
		{ NULL, 80, true, NULL, "Tesla T4", 16, false },
		{ NULL, 80, false, NULL, "NVIDIA H200", 141, false },
		{ "RTX4090", 0, false, NULL, "NVIDIA GeForce RTX 4090", 24, true },
		{ "RTX4090", 0, false, NULL, "NVIDIA GeForce RTX 3090", 24, false },
		{ "T4", 0, false, NULL, "NVIDIA T4G", 16, false },
		{ "FutureX-96GB", 0, false, NULL, "NVIDIA FutureX", 96, true },
		{ "FutureX-96GB", 0, false, NULL, "NVIDIA FutureX", 48, false },
		{ NULL, 80, true, "nvidia", "NVIDIA FutureX", 96, true },
		{ NULL, 80, true, "amd", "NVIDIA H200", 141, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct gpc_gpu_ask ask = { .name = (char *)cases[i].ask,
			.count = 1, .memory_gb = cases[i].ask_gb,
			.memory_at_least = cases[i].at_least,
			.vendor = (char *)cases[i].vendor };
		struct gpc_gpu_info info = { .memory_bytes =
			(uint64_t)cases[i].have_gb << 30 };

		snprintf(info.name, sizeof(info.name), "%s", cases[i].have);
		if (gpc_gpu_matches(&ask, &info) != cases[i].fits)
			fail_msg("case %zu: %s, %s", i, cases[i].ask
				? cases[i].ask : "by memory", cases[i].have);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registry_knows_its_words),
		cmocka_unit_test(offers_say_why_not),
		cmocka_unit_test(the_same_token_is_the_same_nodes),
		cmocka_unit_test(a_cut_off_create_is_finished_by_the_next),
		cmocka_unit_test(eight_creators_start_one_launcher),
		cmocka_unit_test(destroy_finds_what_escaped),
		cmocka_unit_test(another_store_is_left_alone),
		cmocka_unit_test(bad_names_go_nowhere),
		cmocka_unit_test(a_binary_that_is_not_there_is_named),
		cmocka_unit_test(gpu_names_meet),
	};
	int r;

	if (argc == 6 && strcmp(argv[1], "agent") == 0)
		return act_as_launcher(argv[3], 3);
	self = gpc_proc_self();
	gpc_rand_base32(token, 20);
	snprintf(second, sizeof(second), "%s-1", token);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	free(self);
	return r;
}
