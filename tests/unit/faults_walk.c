/* See faults_walk.h. */
#include "faults_walk.h"

#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "core/submit.h"


/* --- trees -------------------------------------------------------------- */

void put_file(const char *dir, const char *name, size_t n)
{
	gpc_autostr *path = gpc_path_join(dir, name);
	gpc_autostr *data = gpc_alloc(n + 1);
	struct gpc_error err;

	for (size_t i = 0; i < n; i++)
		data[i] = (char)(i * 7 % 251);
	assert_ok(gpc_write_file(path, data, n, 0600, &err));
}

void make_small_tree(struct bench *b)
{
	gpc_autostr *sub = NULL;
	struct gpc_error err;

	b->tree = gpc_path_join(b->lab->dir, "tree");
	b->target = gpc_path_join(b->lab->dir, "target");
	sub = gpc_path_join(b->tree, "sub");
	assert_ok(gpc_mkdirs(sub, 0700, &err));
	put_file(b->tree, "a", 9);
	put_file(sub, "b", 4000);
}

void make_tree(struct bench *b)
{
	gpc_autostr *sub = NULL, *big = NULL;

	make_small_tree(b);
	sub = gpc_path_join(b->tree, "sub");
	put_file(sub, "b", 400000);
	/* Large enough to be cut into pieces, and nearly all of it a hole. */
	put_file(b->tree, "big", 5000);
	big = gpc_path_join(b->tree, "big");
	assert_int_equal(truncate(big, (off_t)9 << 20), 0);
}

void assert_same_file(const char *one, const char *two, const char *name)
{
	gpc_autostr *a = gpc_path_join(one, name), *b = gpc_path_join(two, name);
	gpc_auto(gpc_buf) struct gpc_buf x = {0}, y = {0};
	struct gpc_error err;

	assert_ok(gpc_read_file(a, (size_t)32 << 20, &x, &err));
	assert_ok(gpc_read_file(b, (size_t)32 << 20, &y, &err));
	assert_int_equal(x.len, y.len);
	assert_memory_equal(x.data, y.data, x.len);
}

void check_restored(struct bench *b)
{
	gpc_autostr *big = gpc_path_join(b->tree, "big");

	assert_same_file(b->tree, b->target, "a");
	assert_same_file(b->tree, b->target, "sub/b");
	if (access(big, F_OK) == 0)
		assert_same_file(b->tree, b->target, "big");
}

/* --- jobs -------------------------------------------------------------------- */

int run_submit(struct bench *b, struct gpc_error *err)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_tree) struct gpc_tree tree = {0};
	gpc_auto(gpc_mounts) struct gpc_mounts mounts = {0};
	struct gpc_submit_options options = {
		.once_key = b->once_key ? b->once_key : "k" };
	struct gpc_submit_result res = {0};
	int r;

	io_pause(true);
	lab_spec("", &spec);
	io_pause(false);
	gpc_set_str(&spec.workdir, b->tree);
	gpc_pairs_set(&spec.secrets, "TOKEN", "very-secret");
	r = gpc_submit_scan(b->lab->s, &spec, false, false, &tree, err);
	if (r == 0)
		r = gpc_submit(b->lab->s, &spec, &tree, &mounts, &options, &res,
			err);
	if (r == 0)
		memcpy(b->job, res.job, sizeof(b->job));
	return r;
}

static int count_key(void *arg, const struct gpc_object *o)
{
	(void)o;
	++*(int *)arg;
	return 0;
}

int count(struct bench *b, const char *prefix)
{
	struct gpc_error err;
	int n = 0;

	assert_ok(gpc_store_list(b->lab->s->store, prefix, NULL, count_key, &n,
		&err));
	return n;
}

/* --- in turn ----------------------------------------------------------------- */

static char left[512];

static int note_temp(const char *path, const struct stat *st, int type,
	struct FTW *at)
{
	(void)st;
	(void)type;
	if (gpc_starts_with(path + at->base, ".tmp-"))
		snprintf(left, sizeof(left), "%s", path);
	return left[0] != '\0';
}

static bool has_temps(struct bench *b)
{
	gpc_autostr *store = gpc_path_join(b->lab->dir, "store");

	left[0] = '\0';
	return nftw(store, note_temp, 32, FTW_PHYS) > 0;
}

static void judge(struct bench *b, const struct flow *f, enum io_fault fault,
	long nth, int r, struct gpc_error *err)
{
	const char *name = io_fault_names[fault], *call = io_struck();

	if (r < 0 && !call)
		fail_msg("without a fault: %s", err->msg);
	if (r < 0 && (!err->msg[0] || (int)err->code != -r))
		fail_msg("%s %ld (%s): %d without a word", name, nth, call, r);
	if (fault == IO_SHORT && r < 0)
		fail_msg("short %ld (%s) is no error: %s", nth, call, err->msg);
	if (fault != IO_REMOVE && has_temps(b))
		fail_msg("%s %ld (%s): left %s", name, nth, call, left);
	if (r < 0 && f->run(b, err) < 0)
		fail_msg("%s %ld (%s): once more: %s", name, nth, call, err->msg);
}

static void bench_clear(struct bench *b)
{
	gpc_buf_clear(&b->text);
	free(b->tree);
	free(b->target);
	lab_free(b->lab);
}

/* One fault; false when the flow has no such call any more. */
static bool one(const struct flow *f, enum io_fault fault, long nth,
	bool all_after)
{
	struct bench b = { .lab = lab_new(LAB_FILE | LAB_KNOWN) };
	struct gpc_error err = {0};
	const char *call;
	int before, r;

	if (f->set_up)
		f->set_up(&b);
	before = io_count_fds();
	io_arm(fault, nth, all_after);
	r = f->run(&b, &err);
	io_disarm();
	call = io_struck();
	if (io_count_fds() != before)
		fail_msg("%s %ld (%s): descriptors leak", io_fault_names[fault],
			nth, call);
	if (getenv("FAULTS_LOG"))
		print_message("%s %ld%s (%s): %d %s\n", io_fault_names[fault],
			nth, all_after ? "+" : "", call ? call : "-", r,
			r < 0 ? err.msg : "");
	judge(&b, f, fault, nth, r, &err);
	if (f->check)
		f->check(&b);
	bench_clear(&b);
	return call != NULL;
}

/* --- the store, in turn -------------------------------------------------------- */

/* One fault of the store; false when the flow has no such operation any more. */
static bool one_of_store(const struct flow *f, const struct gpc_fault *how,
	unsigned nth)
{
	struct bench b = { .lab = lab_new(LAB_FAULTY) };
	struct gpc_store *s = b.lab->s->store;
	struct gpc_fault fault = *how;
	struct gpc_error err = {0};
	bool struck;
	int r;

	if (f->set_up)
		f->set_up(&b);
	fault.nth = nth;
	gpc_store_fault_reset(s);
	gpc_store_fault_add(s, &fault);
	r = f->run(&b, &err);
	struck = gpc_store_fault_count(s, fault.op) >= nth;
	gpc_store_fault_reset(s);
	if (getenv("FAULTS_LOG"))
		print_message("op %d how %d late %d, %u: %d %s\n", fault.op,
			fault.how, fault.late_ms, nth, r, r < 0 ? err.msg : "");
	if (r < 0 && !struck)
		fail_msg("without a fault: %s", err.msg);
	if (r < 0 && (!err.msg[0] || (int)err.code != -r))
		fail_msg("op %d how %d, %u: %d without a word", fault.op,
			fault.how, nth, r);
	if (r < 0 && f->run(&b, &err) < 0)
		fail_msg("op %d how %d, %u: once more: %s", fault.op, fault.how,
			nth, err.msg);
	lab_advance(2 * MINUTE);       /* what is late lands */
	if (f->check)
		f->check(&b);
	bench_clear(&b);
	return struck;
}

/* A list that is short for a while is for those who look again: core_faults. */
static void store_in_turn(const struct flow *f)
{
	unsigned step = getenv("GPUCLOUD_TEST_LONG") ? 1 :
		f->step ? (unsigned)f->step : 5;

	io_forget();
	for (const struct gpc_fault *how = lab_store_faults; how->code; how++)
		for (unsigned nth = 1; how->how != GPC_FAULT_SHORT &&
			one_of_store(f, how, nth);)
			nth += (nth < 20 ? (step + 8) / 9 : step) *
				(unsigned)stride(9);
}

void in_turn(const struct flow *f)
{
	/* All of them take long; a walk with a stride meets each kind of call. */
	long step = getenv("GPUCLOUD_TEST_LONG") ? 1 : f->step ? f->step : 5;

	for (int fault = 0; fault < IO__COUNT; fault++) {
		for (long nth = 1; one(f, fault, nth, false);)
			nth += (nth < 20 ? (step + 8) / 9 : step) * stride(9);
		if (fault == IO_SHORT)
			continue;
		for (long nth = 1; one(f, fault, nth, true);)
			nth += (3 * step + nth / 4) * stride(5);
	}
	store_in_turn(f);
}

void use_memory(void)
{
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
}
