/* System calls that fail on a node: in turn one in the launcher or the agent of
 * a job that runs, whose end must then be true, with nothing half-made in the
 * store and nothing left running; and each that the provider `local` makes. */
#include "agent_bed.h"
#include "core/verify.h"
#include "faults_io.h"

#define AT_A_TIME 16
/* Each process takes long to start there. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
#define LOG "one\ntwo\n"
#define ARTIFACT "jobs/" JOB "/artifacts/out/x"

static const char *const spec =
	"setup: mkdir -p ck out\n"
	"run: |\n"
	"  echo one\n"
	"  echo weights >ck/w\n"
	"  echo result >out/x\n"
	"  echo two\n"
	"checkpoint: {path: ck, upload_every: 1h}\n"
	"artifacts: [{path: out}]\n";

/* --- one agent ---------------------------------------------------------------- */

/* What the launcher of this bed is to fail; see main. */
static char *fault_file(const char *dir)
{
	return gpc_path_join(dir, "fault");
}

static void start(struct bed *b, enum io_fault fault, long nth)
{
	gpc_autostr *file = NULL;
	gpc_autostr *text = gpc_format("%d %ld", (int)fault, nth);
	struct gpc_json *data = gpc_json_object();

	bed_open(b);
	b->more_tries = 1;
	file = fault_file(b->dir);
	assert_ok(gpc_write_file(file, text, strlen(text), 0600, &err));
	bed_put_job(b, spec, NULL);
	gpc_json_set_int(data, "num_nodes", 1);
	bed_append(b, GPC_EVENT_SUBMITTED, data);
	bed_attempt(b, NULL, 0, true);
}

static bool get(struct bed *b, const char *key, struct gpc_buf *to)
{
	int r = gpc_store_get(b->store, key, 1 << 20, to, &err);

	if (r < 0 && r != -GPC_ENOTFOUND)
		fail_msg("%s", err.msg);
	return r == 0;
}

static void check_checkpoints(struct bed *b, const char *what)
{
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	gpc_auto(gpc_verdicts) struct gpc_verdicts x = {0};
	struct gpc_session s = { .store = b->store };
	struct gpc_verify_options o = {0};

	bed_checkpoints(b, &ids);
	for (size_t i = 0; i < ids.n; i++)
		assert_ok(gpc_verify_checkpoint(&s, JOB, ids.v[i].id, &o, &x,
			&err));
	for (size_t i = 0; i < x.n; i++)
		if (!x.v[i].sound)
			fail_msg("%s: checkpoint %s is damaged", what, x.v[i].id);
}

/* Its end is true: what it claims is there, and what is there is right. */
static void check_end(struct bed *b, const char *what)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0}, log = {0}, out = {0};
	gpc_auto(gpc_exit) struct gpc_exit x = {0};
	gpc_key key;
	bool whole;

	bed_stream(b, 0, "log/", &log);
	if (strncmp(gpc_buf_str(&log), LOG, log.len) != 0)
		fail_msg("%s: log \"%s\"", what, gpc_buf_str(&log));
	if (!get(b, gpc_key_rank(key, JOB, 1, 0, "exit.json"), &text))
		return;                 /* the supervisor will see that it died */
	assert_ok(gpc_exit_parse(text.data, text.len, &x, &err));
	whole = get(b, ARTIFACT, &out);
	if (whole && strcmp(gpc_buf_str(&out), "result\n") != 0)
		fail_msg("%s: artifact \"%s\"", what, gpc_buf_str(&out));
	if (x.reason == GPC_REASON_COMPLETED && log.len != strlen(LOG))
		fail_msg("%s: completed, but of the log there is \"%s\"", what,
			gpc_buf_str(&log));
	if (x.reason == GPC_REASON_COMPLETED && !whole && !x.detail)
		fail_msg("%s: completed without its artifact", what);
	if (x.reason != GPC_REASON_COMPLETED && (!x.detail || !*x.detail))
		fail_msg("%s: %s without a word", what,
			gpc_reason_to_str(x.reason));
	if (getenv("FAULTS_LOG"))
		print_message("%s: %s, %s\n", what, gpc_reason_to_str(x.reason),
			x.detail ? x.detail : "");
}

static void finish(struct bed *b, enum io_fault fault, long nth)
{
	gpc_auto(gpc_buf) struct gpc_buf call = {0};
	gpc_autostr *file = fault_file(b->dir);
	gpc_autostr *what = NULL;

	bed_wait_gone(b, 0);
	assert_ok(gpc_read_file(file, 256, &call, &err));
	what = gpc_format("%s %s", io_fault_names[fault], gpc_buf_str(&call));
	if (getenv("FAULTS_LOG"))
		print_message("%s %ld\n", what, nth);
	check_end(b, what);
	check_checkpoints(b, what);
	bed_close(b);
}

struct one { enum io_fault fault; long nth; };

static void agents(const struct one *v, size_t n)
{
	for (size_t i = 0; i < n; i += AT_A_TIME) {
		size_t m = n - i < AT_A_TIME ? n - i : AT_A_TIME;
		struct bed beds[AT_A_TIME];

		for (size_t k = 0; k < m; k++)
			start(&beds[k], v[i + k].fault, v[i + k].nth);
		for (size_t k = 0; k < m; k++)
			finish(&beds[k], v[i + k].fault, v[i + k].nth);
	}
}

/* How many calls of each kind an agent makes, about; beyond are the launcher's,
 * when it looks through all processes for what is left. */
static const long calls[IO__COUNT] = {
	[IO_EIO] = 700, [IO_ENOSPC] = 150, [IO_EMFILE] = 200, [IO_ENOMEM] = 150,
	[IO_SHORT] = 250, [IO_LOOK] = 200, [IO_REMOVE] = 40, [IO_CLOSE] = 300,
	[IO_START] = 20,
};

TEST(agents_calls)
{
	long cases = getenv("GPUCLOUD_TEST_LONG") ? 100 :
		stride(8) > 1 ? 1 : SANITIZED ? 4 : 10;
	GPC_VEC(struct one) all = {0};

	for (int fault = 0; fault < IO__COUNT; fault++) {
		long step = calls[fault] / cases + 1;

		for (long nth = 1 + fault; nth <= calls[fault]; nth += step)
			*gpc_vec_push(&all) = (struct one){ fault, nth };
	}
	agents(all.v, all.n);
	gpc_vec_free(&all);
}

/* Main of a launcher: the fault is its own and its agent's. */
static bool act_as_launcher(int argc, char **argv, int *ret_status)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	gpc_autostr *nodes = NULL, *dir = NULL, *file = NULL;
	int fault = 0;
	long nth = 0;

	if (argc != 6 || strcmp(argv[1], "agent") != 0)
		return false;
	nodes = gpc_path_dir(argv[3]);
	dir = gpc_path_dir(nodes);
	file = fault_file(dir);
	if (gpc_read_file(file, 64, &text, NULL) == 0) {
		char *end;

		fault = (int)strtol(gpc_buf_str(&text), &end, 10);
		nth = strtol(end, &end, 10);
	}
	/* One that struck before is not to strike again. */
	if (nth && !strchr(gpc_buf_str(&text), ',')) {
		io_arm((enum io_fault)fault, nth, false);
	}
	if (!bed_main(argc, argv, ret_status))
		return false;
	io_disarm();
	text.len = 0;
	gpc_buf_addf(&text, "%d %ld, %s", fault, nth,
		io_struck() ? io_struck() : "no such call");
	if (gpc_write_file(file, text.data, text.len, 0600, &err) < 0)
		fprintf(stderr, "%s\n", err.msg);
	return true;
}

/* --- the provider --------------------------------------------------------------- */

static int buy_and_release(struct bed *b, const char *token,
	struct gpc_error *why)
{
	gpc_auto(gpc_launch) struct gpc_launch l = { .v = 1, .attempt = 1,
		.count = 1 };
	gpc_auto(gpc_instances) struct gpc_instances made = {0}, all = {0};
	int r;

	l.token = gpc_strdup(token);
	l.job = gpc_strdup(JOB);
	l.provider = gpc_strdup("local");
	l.store_url = gpc_strdup(b->url);
	gpc_pairs_set(&l.tags, "gpucloud-store", b->store->id);
	r = b->p->ops->create(b->p, &l, &made, why);
	if (r == 0)
		r = b->p->ops->list(b->p, &all, why);
	/* Who lists it must not find it gone while it lives. */
	if (r == 0)
		assert_true(all.n == 1);
	if (r == 0 && all.v[0].state == GPC_INSTANCE_GONE)
		assert_int_equal(bed_marked(token), 0);
	if (r == 0)
		r = b->p->ops->destroy(b->p, &token, 1, why);
	return r;
}

static bool one_node(enum io_fault fault, long nth, bool all_after)
{
	gpc_autostr *what = gpc_format("%s %ld%s", io_fault_names[fault], nth,
		all_after ? "+" : "");
	struct gpc_error why = {0};
	char word[13], token[32];
	struct bed b;
	int before, r;

	bed_open(&b);
	snprintf(token, sizeof(token), "flt-%s", gpc_rand_base32(word, 12));
	before = io_count_fds();
	io_arm(fault, nth, all_after);
	r = buy_and_release(&b, token, &why);
	io_disarm();
	if (getenv("FAULTS_LOG"))
		print_message("%s (%s): %d %s\n", what,
			io_struck() ? io_struck() : "-", r, why.msg);
	if (io_count_fds() != before)
		fail_msg("%s (%s): descriptors leak", what, io_struck());
	if (r < 0 && !io_struck())
		fail_msg("without a fault: %s", why.msg);
	if (r < 0 && !why.msg[0])
		fail_msg("%s (%s): without a word", what, io_struck());
	if (r == 0 && bed_marked(token) != 0)
		fail_msg("%s (%s): released, but runs", what, io_struck());
	if (r < 0)
		assert_ok(buy_and_release(&b, token, &err));
	assert_int_equal(bed_marked(token), 0);
	bed_close(&b);
	return io_struck() != NULL;
}

TEST(a_local_node)
{
	for (int fault = 0; fault < IO__COUNT; fault++) {
		long most = getenv("GPUCLOUD_TEST_LONG") ? 2000 :
			SANITIZED ? 12 : 100;

		for (long nth = 1; nth < most && one_node(fault, nth, false);)
			nth += (1 + nth / (most < 2000 ? 2 : 20)) * stride(4);
		one_node(fault, 3, true);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agents_calls),
		cmocka_unit_test(a_local_node),
	};
	int status;

	if (act_as_launcher(argc, argv, &status))
		return status;
	self = gpc_proc_self();
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	status = cmocka_run_group_tests(tests, NULL, NULL);
	free(self);
	return status;
}
