/* Agents over a store that fails: two ranks that go on from a checkpoint, each of
 * whose operations fails in turn: refused, done with its answer lost, or done late.
 * One such fault passes, so nobody may notice: both end as they should, with their
 * logs to the byte, what the job made, and sound checkpoints alone. */
#include "agent_bed.h"
#include "core/verify.h"
#include "store/fault.h"

#define AT_A_TIME 6
#define FAULT "store-fault"

static const char *const spec =
	"num_nodes: 2\n"
	"setup: mkdir -p ck out\n"
	"run: |\n"
	"  if [ $GPUCLOUD_ATTEMPT = 1 ]; then\n"
	"    [ $GPUCLOUD_NODE_RANK = 1 ] || echo weights >ck/w\n"
	"    exit 7\n"
	"  fi\n"
	"  echo one by $GPUCLOUD_NODE_RANK\n"
	"  cat $GPUCLOUD_RESUME_FROM/w\n"
	"  echo more >>ck/more\n"
	"  echo result >out/$GPUCLOUD_NODE_RANK\n"
	"checkpoint: {path: ck, upload_every: 1h}\n"
	"artifacts: [{path: out}]\n";

struct one { enum gpc_fault_op op; enum gpc_fault_how how; unsigned nth; };

/* --- the agents' side --------------------------------------------------------- */

int __real_gpc_store_open(const char *url, unsigned flags,
	const struct gpc_log *log, struct gpc_store **ret_s,
	struct gpc_error *why);
int __wrap_gpc_store_open(const char *url, unsigned flags,
	const struct gpc_log *log, struct gpc_store **ret_s,
	struct gpc_error *why);

static struct gpc_fault armed;           /* in a launcher and its agent */
static struct gpc_store *inner;

int __wrap_gpc_store_open(const char *url, unsigned flags,
	const struct gpc_log *log, struct gpc_store **ret_s,
	struct gpc_error *why)
{
	int r = __real_gpc_store_open(url, flags, log, ret_s, why);

	if (r < 0 || !armed.nth)
		return r;
	inner = *ret_s;
	*ret_s = gpc_store_fault_new(inner);
	gpc_store_fault_add(*ret_s, &armed);
	armed.nth = 0;                   /* one opened after it has struck is sound */
	return 0;
}

static void arm(const char *node_dir)
{
	gpc_autostr *nodes = gpc_path_dir(node_dir), *dir = gpc_path_dir(nodes);
	gpc_autostr *file = gpc_path_join(dir, FAULT);
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	char *end;

	if (gpc_read_file(file, 64, &text, NULL) < 0)
		return;
	armed.op = (enum gpc_fault_op)strtol(gpc_buf_str(&text), &end, 10);
	armed.how = (enum gpc_fault_how)strtol(end, &end, 10);
	armed.nth = (unsigned)strtol(end, &end, 10);
	armed.late_ms = 700;
}

/* --- one job ------------------------------------------------------------------ */

static void wait_gone(struct bed *b)
{
	for (int rank = 0; rank < 2; rank++)
		bed_wait_gone(b, rank);
}

/* One attempt without a fault leaves the checkpoint; the next one has it. */
static void start(struct bed *b, const struct one *f)
{
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	gpc_autostr *file = gpc_path_join(b->dir, FAULT);
	gpc_autostr *text = gpc_format("%d %d %u", (int)f->op, (int)f->how,
		f->nth);

	wait_gone(b);
	assert_int_equal(bed_checkpoints(b, &ids), 1);
	assert_ok(gpc_write_file(file, text, strlen(text), 0600, &err));
	bed_append(b, GPC_EVENT_LOST, json_of("{'attempt': 1, 'rank': 0, "
		"'reason': 'node_lost'}"));
	bed_attempt(b, ids.v[0].id, 0, true);
}

static void check_checkpoints(struct bed *b, const char *what)
{
	gpc_auto(gpc_verdicts) struct gpc_verdicts x = {0};
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	struct gpc_session s = { .store = b->store };
	struct gpc_verify_options o = {0};

	/* A save whose commit was not answered is made again. */
	if (bed_checkpoints(b, &ids) < 2)
		fail_msg("%s: %zu checkpoints", what, ids.n);
	for (size_t i = 0; i < ids.n; i++)
		assert_ok(gpc_verify_checkpoint(&s, JOB, ids.v[i].id, &o, &x,
			&err));
	for (size_t i = 0; i < x.n; i++)
		if (!x.v[i].sound)
			fail_msg("%s: checkpoint %s is damaged", what, x.v[i].id);
}

static void check_rank(struct bed *b, int rank, const char *what)
{
	gpc_auto(gpc_buf) struct gpc_buf log = {0};
	gpc_auto(gpc_exit) struct gpc_exit x = {0};
	gpc_autostr *want = gpc_format("one by %d\nweights\n", rank);

	bed_exit(b, rank, &x);
	if (x.reason != GPC_REASON_COMPLETED)
		fail_msg("%s: rank %d: %s, %s", what, rank,
			gpc_reason_to_str(x.reason), x.detail);
	bed_stream(b, rank, "log/", &log);
	if (!gpc_eq(gpc_buf_str(&log), want))
		fail_msg("%s: rank %d: log \"%s\"", what, rank,
			gpc_buf_str(&log));
}

/* They are rank 0's. */
static void check_artifact(struct bed *b, const char *what)
{
	gpc_auto(gpc_buf) struct gpc_buf out = {0};

	if (gpc_store_get(b->store, "jobs/" JOB "/artifacts/out/0", 1 << 20,
		&out, &err) < 0 || !gpc_eq(gpc_buf_str(&out), "result\n"))
		fail_msg("%s: artifact \"%s\"", what, gpc_buf_str(&out));
}

static void finish(struct bed *b, const struct one *f)
{
	gpc_autostr *what = gpc_format("op %d how %d nth %u", (int)f->op,
		(int)f->how, f->nth);

	wait_gone(b);
	for (int rank = 0; rank < 2; rank++)
		check_rank(b, rank, what);
	check_artifact(b, what);
	check_checkpoints(b, what);
	bed_close(b);
}

static void play(const struct one *v, size_t n)
{
	struct bed beds[AT_A_TIME];

	for (size_t i = 0; i < n; i++)
		bed_start(&beds[i], spec);
	for (size_t i = 0; i < n; i++)
		start(&beds[i], &v[i]);
	for (size_t i = 0; i < n; i++)
		finish(&beds[i], &v[i]);
}

/* How many operations of each kind an agent makes here, about. */
static const unsigned counts[GPC_FAULT__COUNT] = {
	[GPC_FAULT_GET] = 24, [GPC_FAULT_PUT] = 16, [GPC_FAULT_HEAD] = 20,
	[GPC_FAULT_LIST] = 12, [GPC_FAULT_DEL] = 2, [GPC_FAULT_APPEND] = 8,
};

static bool makes_sense(enum gpc_fault_op op, enum gpc_fault_how how)
{
	return how == GPC_FAULT_BEFORE || op == GPC_FAULT_PUT ||
		(how == GPC_FAULT_AFTER && op == GPC_FAULT_APPEND);
}

TEST(each_operation_of_two_agents)
{
	unsigned step = (unsigned)(getenv("GPUCLOUD_TEST_LONG") ? 1 : stride(6) * 8);
	GPC_VEC(struct one) all = {0};

	for (int op = 0; op < GPC_FAULT__COUNT; op++)
		for (int how = 0; how <= GPC_FAULT_LATE; how++)
			for (unsigned nth = 1 + (unsigned)how; nth <= counts[op]
				&& makes_sense((enum gpc_fault_op)op,
				(enum gpc_fault_how)how); nth += step)
				*gpc_vec_push(&all) = (struct one){
					(enum gpc_fault_op)op,
					(enum gpc_fault_how)how, nth };
	for (size_t i = 0; i < all.n; i += AT_A_TIME)
		play(all.v + i, all.n - i < AT_A_TIME ? all.n - i : AT_A_TIME);
	gpc_vec_free(&all);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_operation_of_two_agents),
	};
	int status;

	if (argc == 6)
		arm(argv[3]);
	if (bed_main(argc, argv, &status))
		return status;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	free(self);
	return status;
}
