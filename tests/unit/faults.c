/* Each system call of the core's flows fails in turn: with EIO, without room,
 * without descriptors, or by doing half; and each allocation that the outside
 * world sizes. The flow must end in success or in a clean error, leak nothing,
 * and leave what a second try without faults makes whole. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "core/logs.h"
#include "core/plan.h"
#include "core/reconcile.h"
#include "core/release.h"
#include "core/submit.h"
#include "core_lab.h"
#include "faults_io.h"
#include "record/checkpoint.h"
#include "record/keys.h"
#include "snapshot/snapshot.h"

struct bench {
	struct lab *lab;
	char *tree, *target;          /* a folder with files; where to restore */
	char job[GPC_JOB_ID_SIZE];
	struct gpc_json *head;
	struct gpc_buf text;          /* of the log */
};
struct flow {
	void (*set_up)(struct bench *b);
	int (*run)(struct bench *b, struct gpc_error *err);
	void (*check)(struct bench *b);       /* after a run that succeeded */
};

/* --- trees -------------------------------------------------------------- */

static void put_file(const char *dir, const char *name, size_t n)
{
	gpc_autostr *path = gpc_path_join(dir, name);
	gpc_autostr *data = gpc_alloc(n + 1);
	struct gpc_error err;

	for (size_t i = 0; i < n; i++)
		data[i] = (char)(i * 7 % 251);
	assert_ok(gpc_write_file(path, data, n, 0600, &err));
}

static void make_tree(struct bench *b)
{
	gpc_autostr *sub = NULL, *big = NULL;
	struct gpc_error err;

	b->tree = gpc_path_join(b->lab->dir, "tree");
	b->target = gpc_path_join(b->lab->dir, "target");
	sub = gpc_path_join(b->tree, "sub");
	assert_ok(gpc_mkdirs(sub, 0700, &err));
	put_file(b->tree, "a", 9);
	put_file(sub, "b", 400000);
	/* Large enough to be cut into pieces, and nearly all of it a hole. */
	put_file(b->tree, "big", 5000);
	big = gpc_path_join(b->tree, "big");
	assert_int_equal(truncate(big, (off_t)9 << 20), 0);
}

static void assert_same_file(const char *one, const char *two, const char *name)
{
	gpc_autostr *a = gpc_path_join(one, name), *b = gpc_path_join(two, name);
	gpc_auto(gpc_buf) struct gpc_buf x = {0}, y = {0};
	struct gpc_error err;

	assert_ok(gpc_read_file(a, (size_t)32 << 20, &x, &err));
	assert_ok(gpc_read_file(b, (size_t)32 << 20, &y, &err));
	assert_int_equal(x.len, y.len);
	assert_memory_equal(x.data, y.data, x.len);
}

static void check_restored(struct bench *b)
{
	assert_same_file(b->tree, b->target, "a");
	assert_same_file(b->tree, b->target, "sub/b");
	assert_same_file(b->tree, b->target, "big");
}

/* --- flows ----------------------------------------------------------------- */

static int run_plan(struct bench *b, struct gpc_error *err)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_plan) struct gpc_plan plan = {0};

	io_pause(true);
	lab_spec("", &spec);
	io_pause(false);
	return gpc_plan_make(b->lab->s, &spec, (struct gpc_money){0}, 0, &plan,
		err);
}

static int run_submit(struct bench *b, struct gpc_error *err)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_tree) struct gpc_tree tree = {0};
	gpc_auto(gpc_mounts) struct gpc_mounts mounts = {0};
	struct gpc_submit_options options = { .once_key = "k" };
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

static int count(struct bench *b, const char *prefix)
{
	struct gpc_error err;
	int n = 0;

	assert_ok(gpc_store_list(b->lab->s->store, prefix, NULL, count_key, &n,
		&err));
	return n;
}

static void check_submit(struct bench *b)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	gpc_auto(gpc_job) struct gpc_job job = {0};
	gpc_autoptr(gpc_json) *head = NULL;
	struct gpc_store *s = b->lab->s->store;
	struct gpc_error err;
	gpc_key key;

	assert_int_equal(count(b, "index/live/"), 1);
	assert_int_equal(count(b, "secrets/"), 1);
	/* The first event may be left to whoever needs it. */
	assert_ok(gpc_submit_finish(b->lab->s, b->job, &err));
	assert_int_equal(lab_events(b->lab, b->job, "submitted"), 1);
	assert_ok(gpc_store_get(s, gpc_key_job(key, b->job), 1 << 20, &text,
		&err));
	assert_ok(gpc_job_parse(text.data, text.len, &job, &err));
	assert_ok(gpc_snapshot_get_head(s, "blobs/", job.workspace, &head, &err));
	assert_ok(gpc_snapshot_restore(s, head, "blobs/", b->target, NULL, &err));
	check_restored(b);
}

#define JOB "lab-abcdef"
#define BLOBS "jobs/" JOB "/1/blobs/"

static int run_save(struct bench *b, struct gpc_error *err)
{
	gpc_auto(gpc_tree) struct gpc_tree tree = {0};
	gpc_auto(gpc_save_result) struct gpc_save_result saved = {0};
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = { .v = 1,
		.attempt = 1, .n = 1 };
	gpc_autostr *cache = gpc_path_join(b->lab->dir, "known");
	struct gpc_scan_options scan = {0};
	struct gpc_save_options o = { .prefix = BLOBS, .cache_path = cache };
	struct gpc_checkpoint_part *part = gpc_vec_push(&c.parts);
	int r = gpc_scan(b->tree, &scan, &tree, err);

	if (r == 0)
		r = gpc_snapshot_save(b->lab->s->store, &tree, &o, false, &saved,
			err);
	if (r < 0)
		return r;
	c.id = gpc_strdup("1-1-user");
	c.label = gpc_strdup("user");
	part->head = gpc_json_copy(saved.head);
	return gpc_checkpoint_put(b->lab->s->store, JOB, &c, err);
}

static int run_restore(struct bench *b, struct gpc_error *err)
{
	struct gpc_restore_options o = { .overwrite = true };
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = {0};
	int r = gpc_checkpoint_get(b->lab->s->store, JOB, "1-1-user", &c, err);

	return r < 0 ? r : gpc_snapshot_restore(b->lab->s->store,
		c.parts.v[0].head, BLOBS, b->target, &o, err);
}

static void check_save(struct bench *b)
{
	struct gpc_error err;

	assert_ok(run_restore(b, &err));
	check_restored(b);
}

static void set_up_restore(struct bench *b)
{
	struct gpc_error err;

	make_tree(b);
	assert_ok(run_save(b, &err));
}

/* --- logs ---------------------------------------------------------------- */

static void set_up_logs(struct bench *b)
{
	gpc_autostr *job = lab_job(b->lab, "");

	memcpy(b->job, job, strlen(job) + 1);
	lab_log(b->lab, b->job, 1, 0, "one\ntwo\nthree\n");
}

static int hear(void *arg, int rank, int source, const void *data, size_t n,
	struct gpc_error *err)
{
	(void)rank;
	(void)source;
	(void)err;
	gpc_buf_add(arg, data, n);
	return 0;
}

/* The same reader goes on after an error, and says nothing twice. */
static int run_logs(struct bench *b, struct gpc_error *err)
{
	struct gpc_log_options o = { .rank = -1, .tail = -1 };
	gpc_autoptr(gpc_log_reader) *reader = gpc_log_reader_new(b->lab->s,
		b->job, &o);
	bool any;
	int r = 0;

	gpc_buf_reset(&b->text);
	for (int i = 0; i < 3; i++) {
		r = gpc_log_pump(reader, 1, 1, true, hear, &b->text, &any, err);
		if (r == 0 && !any)
			break;
	}
	return r;
}

static void check_logs(struct bench *b)
{
	assert_string_equal(gpc_buf_str(&b->text), "one\ntwo\nthree\n");
}

/* --- a supervisor's life -------------------------------------------------- */

static void set_up_job(struct bench *b)
{
	gpc_autostr *job = lab_job(b->lab, "");

	memcpy(b->job, job, strlen(job) + 1);
}

static void play(struct bench *b, const struct gpc_job_state *st)
{
	if (st->status == GPC_JOB_STARTING || st->status == GPC_JOB_SETUP)
		lab_beat(b->lab, b->job, st->attempt, 0, GPC_PHASE_RUN);
	if (st->status == GPC_JOB_RUNNING) {
		lab_exit(b->lab, b->job, st->attempt, 0, GPC_REASON_COMPLETED, 0,
			0);
		lab_beat(b->lab, b->job, st->attempt, 0, GPC_PHASE_DONE);
	}
}

/* A step that fails is made again, as a supervisor does. */
static int run_supervise(struct bench *b, struct gpc_error *err)
{
	struct gpc_supervision *sv = NULL;
	bool done = false, sound = true;
	int r = gpc_supervision_new(b->lab->s, b->job, &sv, err);

	for (int i = 0; r == 0 && !done && i < 900; i++) {
		int64_t wake;
		struct gpc_error why = {0};
		int step = gpc_supervision_step(sv, &done, &wake, &why);

		if (step < 0 && !why.msg[0])
			sound = false;
		if (step < 0)
			*err = why;
		if (step == 0) {
			io_pause(true);
			play(b, gpc_supervision_state(sv));
			io_pause(false);
		}
		lab_advance(1000);
	}
	assert_true(sound);
	gpc_supervision_free(sv);
	return r == 0 && !done ? -(int)err->code : r;
}

static void check_supervise(struct bench *b)
{
	struct gpc_error err;
	int n;

	/* What was bought while nothing could be recorded is an orphan. */
	assert_ok(gpc_reconcile(b->lab->s, &n, &err));
	lab_check(b->lab, b->job, 1);
	assert_int_equal(lab_events(b->lab, b->job, "ended"), 1);
	assert_in_range(lab_events(b->lab, b->job, "created"), 1, 2);
	assert_int_equal(count(b, "index/live/"), 0);
	assert_int_equal(count(b, "index/done/"), 1);
}

/* --- release by tags ------------------------------------------------------- */

static void set_up_release(struct bench *b)
{
	struct gpc_supervision *sv;

	set_up_job(b);
	sv = lab_supervise(b->lab->s, b->job);
	lab_step(sv);
	gpc_supervision_free(sv);
	assert_int_equal(lab_running(b->lab), 1);
}

static int run_release(struct bench *b, struct gpc_error *err)
{
	struct gpc_held_list l = {0};
	int r = gpc_held_find(b->lab->s, &l, err);

	gpc_vec_each(h, &l)
		if (r == 0)
			r = gpc_held_release(b->lab->s, h, MINUTE, err);
	gpc_held_clear(&l);
	return r;
}

static void check_release(struct bench *b)
{
	assert_int_equal(lab_running(b->lab), 0);
}

/* --- in turn ----------------------------------------------------------------- */

static const char *no_temps(struct bench *b, char found[512])
{
	gpc_autostr *text = gpc_format("find '%s/store' -name '.tmp-*' | head -n 1",
		b->lab->dir);
	FILE *f = popen(text, "r");

	found[0] = '\0';
	if (f && !fgets(found, 512, f))
		found[0] = '\0';
	if (f)
		pclose(f);
	return found;
}

/* One fault; false when the flow has no such call any more. */
static bool one(const struct flow *f, enum io_fault fault, long nth,
	bool all_after)
{
	struct bench b = { .lab = lab_new(LAB_FILE) };
	struct gpc_error err = {0};
	char found[512];
	int before, r;
	bool struck;

	f->set_up(&b);
	before = io_count_fds();
	io_arm(fault, nth, all_after);
	r = f->run(&b, &err);
	struck = io_disarm();
	if (io_count_fds() != before)
		fail_msg("%s %ld: descriptors leak", io_fault_names[fault], nth);
	if (r < 0 && (!err.msg[0] || (int)err.code != -r))
		fail_msg("%s %ld: %d without a word", io_fault_names[fault], nth,
			r);
	if (r < 0 && !struck)
		fail_msg("without a fault: %s", err.msg);
	if (fault == IO_SHORT && r < 0)
		fail_msg("short %ld is no error: %s", nth, err.msg);
	if (no_temps(&b, found)[0])
		fail_msg("%s %ld: left %s", io_fault_names[fault], nth, found);
	if (r < 0 && f->run(&b, &err) < 0)
		fail_msg("%s %ld: once more: %s", io_fault_names[fault], nth,
			err.msg);
	if (f->check)
		f->check(&b);
	gpc_json_free(b.head);
	gpc_buf_clear(&b.text);
	free(b.tree);
	free(b.target);
	lab_free(b.lab);
	return struck;
}

static void in_turn(const struct flow *f)
{
	/* All of them take long; a walk with a stride meets each kind of call. */
	long step = getenv("GPUCLOUD_TEST_LONG") ? 1 : 5;

	for (int fault = 0; fault < IO__COUNT; fault++) {
		for (long nth = 1 + fault; one(f, fault, nth, false);)
			nth += (nth < 20 ? 1 : step) * stride(9);
		if (fault == IO_SHORT)
			continue;
		for (long nth = 1; one(f, fault, nth, true);)
			nth += (3 * step + nth / 4) * stride(5);
	}
}

static void nothing(struct bench *b)
{
	(void)b;
}

TEST(a_plan) { in_turn(&(struct flow){ nothing, run_plan, NULL }); }
TEST(a_submit) { in_turn(&(struct flow){ make_tree, run_submit, check_submit }); }
TEST(a_save) { in_turn(&(struct flow){ make_tree, run_save, check_save }); }
TEST(a_restore)
{
	in_turn(&(struct flow){ set_up_restore, run_restore, check_restored });
}
TEST(a_log) { in_turn(&(struct flow){ set_up_logs, run_logs, check_logs }); }
TEST(a_release)
{
	in_turn(&(struct flow){ set_up_release, run_release, check_release });
}
TEST(a_supervisors_life)
{
	in_turn(&(struct flow){ set_up_job, run_supervise, check_supervise });
}

int main(void)
{
	/* Thousands of stores: none of them needs to survive a power cut. */
	const char *memory = "/dev/shm";
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plan),
		cmocka_unit_test(a_submit),
		cmocka_unit_test(a_save),
		cmocka_unit_test(a_restore),
		cmocka_unit_test(a_log),
		cmocka_unit_test(a_release),
		cmocka_unit_test(a_supervisors_life),
	};

	if (access(memory, W_OK) == 0)
		setenv("TMPDIR", memory, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
