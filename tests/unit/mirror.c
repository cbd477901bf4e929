/* A folder that a bucket gets back: what is taken for finished, in which order it goes,
 * what is deleted, and what failures do. */
#include "transfer_bed.h"

#include "agent/mirroring.h"
#include "provider/procs.h"
#include "transfer/source.h"

static struct gpc_mirror *mirror;

static int set_up(void **state)
{
	gpc_autostr *root = NULL, *url = NULL;

	bed_reset(state);
	root = bed_path("out");
	url = gpc_format("s3://bucket/runs?endpoint=%s", server.s3);
	assert_ok(gpc_mkdirs(root, 0755, &err));
	mirror = gpc_mirror_new("out", url, root, NULL);
	mirror->notes_dir = bed_path("notes");
	return 0;
}

static int tear_down(void **state)
{
	gpc_mirror_free(mirror);
	mirror = NULL;
	return bed_clean(state);
}

/* Below the folder, written `second` seconds after some moment. */
static void make(const char *name, const char *text, int second)
{
	gpc_autostr *path = gpc_format("%s/%s", mirror->root, name);
	gpc_autostr *dir = gpc_path_dir(path);
	const struct timespec times[2] = { { .tv_sec = 1700000000 + second },
		{ .tv_sec = 1700000000 + second } };

	assert_ok(gpc_mkdirs(dir, 0755, &err));
	assert_ok(gpc_write_file(path, text, strlen(text), 0644, &err));
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void drop(const char *name)
{
	gpc_autostr *path = gpc_path_join(mirror->root, name);

	assert_int_equal(unlink(path), 0);
}

static void take(void)
{
	assert_ok(gpc_mirror_take(mirror, NULL, &err));
}

static void go(void)
{
	assert_ok(gpc_mirror_round(mirror, NULL, &err));
}

static void go_last(void)
{
	mirror->last = true;
	go();
}

static void fails(enum gpc_code code)
{
	assert_fails(gpc_mirror_round(mirror, NULL, &err), code);
}

/* Keys that are there, in order, without "runs/". */
static char *there(void)
{
	gpc_autoptr(gpc_json) *j = bed_control(&server, "objects?sha256=0", NULL);
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};

	for (const struct gpc_json *o = gpc_json_first(gpc_json_get(j, "objects")); o;
		o = gpc_json_next(o)) {
		const char *key = gpc_json_get_str(o, "key");

		assert_true(gpc_starts_with(key, "runs/"));
		gpc_strv_add(&keys, key + strlen("runs/"));
	}
	gpc_strv_sort(&keys);
	return gpc_strv_join(&keys, " ");
}

static void assert_there(const char *want)
{
	gpc_autostr *got = there();

	assert_string_equal(got, want);
}

/* Keys of the puts that were answered well, in that order. */
static char *sent(int since)
{
	gpc_autostr *what = gpc_format("requests?since=%d", since);
	gpc_autoptr(gpc_json) *j = bed_control(&server, what, NULL);
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};

	for (const struct gpc_json *r = gpc_json_first(gpc_json_get(j, "requests")); r;
		r = gpc_json_next(r))
		if (gpc_eq(gpc_json_get_str(r, "operation"), "PutObject") &&
			gpc_json_get_int(r, "status", 0) == 200)
			gpc_strv_add(&keys, gpc_json_get_str(r, "key") +
				strlen("runs/"));
	return gpc_strv_join(&keys, " ");
}

static void assert_sent(int since, const char *want)
{
	gpc_autostr *got = sent(since);

	assert_string_equal(got, want);
}

/* How often the fault of this number was used. */
static int used(int i)
{
	gpc_autoptr(gpc_json) *j = bed_control(&server, "faults", NULL);
	const struct gpc_json *f = gpc_json_get(j, "faults");

	for (f = gpc_json_first(f ? f : j); f && i > 0; i--)
		f = gpc_json_next(f);
	return (int)gpc_json_get_int(f, "used", -1);
}

/* --- what is finished ------------------------------------------------------------ */

TEST(what_rests_for_two_looks_is_uploaded)
{
	take();
	make("a", "1", 0);
	go();
	assert_there("");
	assert_int_equal(mirror->waiting, 1);
	assert_int_equal(mirror->waiting_bytes, 1);
	make("a", "22", 1);
	make("deep/er/b", "3", 1);
	go();
	assert_there("");
	go();
	assert_there("a deep/er/b");
	assert_int_equal(mirror->waiting, 0);
	assert_int_equal(mirror->n_sent, 2);
	go();
	assert_int_equal(mirror->n_sent, 2);
	make("a", "33", 2);             /* of the same size */
	go();
	go();
	assert_int_equal(mirror->n_sent, 3);
}

TEST(the_last_look_takes_all)
{
	take();
	make("a", "1", 0);
	go_last();
	assert_there("a");
	go();
	assert_int_equal(mirror->n_sent, 1);
}

TEST(what_was_there_is_not_uploaded)
{
	make("a", "1", 0);
	take();
	go();
	go_last();
	assert_there("");
	make("a", "1", 1);              /* written anew */
	go();
	assert_there("a");
}

/* A process of ours that has a file open until the pipe is closed. */
static pid_t writer(const char *name, int *ret_end)
{
	gpc_autostr *path = gpc_path_join(mirror->root, name);
	int end[2], ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(end), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		int fd = open(path, O_WRONLY);

		close(end[1]);
		if (fd < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(read(end[0], &c, 1) != 0);
	}
	close(end[0]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	*ret_end = end[1];
	return pid;
}

TEST(what_is_open_for_writing_waits)
{
	int end, status;
	pid_t pid;

	take();
	make("log", "half", 0);
	make("b", "1", 1);
	pid = writer("log", &end);
	go();
	go();
	assert_there("b");
	assert_int_equal(mirror->waiting, 1);
	close(end);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	go();
	assert_there("b log");
}

TEST(what_was_torn_is_left_where_an_attempt_goes_on)
{
	take();
	make("torn", "ha", 0);
	make("whole", "1", 1);
	gpc_strv_addf(&mirror->torn, "%s/torn", mirror->root);
	mirror->leave_torn = true;
	go_last();
	assert_there("whole");
	mirror->leave_torn = false;
	go();
	assert_there("torn whole");
}

TEST(some_things_are_no_files_of_its)
{
	gpc_autostr *link = gpc_path_join(mirror->root, "link");
	gpc_autostr *pipe = gpc_path_join(mirror->root, "pipe");

	gpc_strv_addf(&mirror->except, "%s/other", mirror->root);
	take();
	make("other/of-another-mount", "1", 0);
	make("d/.gpucloud-part-0123456789abcdef", "1", 0);
	make("a", "1", 0);
	make("d/.git/x", "1", 0);
	assert_int_equal(symlink("a", link), 0);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	go_last();
	assert_there("a d/.git/x");
}

TEST(names_are_any_bytes)
{
	take();
	make("a b+%20#?&=", "1", 0);
	make("\xc3\xa4\n", "1", 0);
	go_last();
	assert_there("a b+%20#?&= \xc3\xa4\n");
	drop("a b+%20#?&=");
	drop("\xc3\xa4\n");
	go();
	assert_there("");
}

/* --- order ----------------------------------------------------------------------- */

TEST(the_oldest_goes_first)
{
	int since;

	take();
	make("a", "1", 5);
	make("c", "1", 3);
	make("d/b", "1", 4);
	make("e", "1", 3);
	since = bed_now();
	go_last();
	assert_sent(since, "c e d/b a");
}

/* As many at a time as were asked for, and no more. */
static void runs(int transfers, int server_s_limit, bool is_over)
{
	gpc_autostr *faults = gpc_format("[{\"operation\": \"PutObject\", \"do\": "
		"\"throttle\", \"at_once\": %d, \"status\": 503, \"code\": "
		"\"SlowDown\"}, {\"operation\": \"PutObject\", \"do\": \"delay\", "
		"\"seconds\": %s, \"count\": 3}]", server_s_limit,
		is_over ? "2" : "0.3");

	bed_fault(faults);
	mirror->transfers = transfers;
	take();
	for (char name[] = "a"; *name < 'g'; ++*name)
		make(name, "1", *name);
	go_last();
	assert_int_equal(used(0) > 0, is_over);
	assert_there("a b c d e f");
}

TEST(one_at_a_time)
{
	int since = bed_now();

	runs(1, 1, false);
	assert_sent(since, "a b c d e f");
}

TEST(several_at_a_time)
{
	runs(3, 2, true);
}

TEST(no_more_than_asked_for_at_a_time)
{
	runs(3, 3, false);
}

/* --- deletions ------------------------------------------------------------------- */

TEST(what_two_looks_miss_is_deleted_after_the_uploads)
{
	int since;

	take();
	make("a", "1", 0);
	make("b", "1", 0);
	go_last();
	mirror->last = false;
	go();
	drop("a");
	make("c", "1", 1);
	go();
	assert_there("a b");
	bed_fault("{\"operation\": \"PutObject\", \"do\": \"error\", \"status\": 403, "
		"\"code\": \"AccessDenied\"}");
	fails(GPC_EAUTH);
	assert_there("a b");
	since = bed_now();
	go();
	assert_there("b c");
	assert_sent(since, "c");
	assert_int_equal(mirror->n_deleted, 1);
	make("a", "2", 2);              /* it comes back */
	go_last();
	assert_there("a b c");
}

TEST(what_others_have_put_there_is_not_deleted)
{
	gpc_autostr *other = bed_file("other", 5);
	struct bed_run run = {0};

	take();
	make("a", "1", 0);
	make("b", "1", 0);
	go_last();
	bed_begin(&run, (struct gpc_transfer_settings){0});
	bed_up(&run, other, "runs/a");
	bed_up(&run, other, "runs/c");
	bed_finish(&run, 0);
	drop("a");
	drop("b");
	go();
	assert_there("a c");
	assert_int_equal(mirror->n_deleted, 1);
}

TEST(a_folder_that_is_gone_deletes_nothing)
{
	take();
	make("a", "1", 0);
	go_last();
	assert_ok(gpc_rmtree(mirror->root, &err));
	go();
	go();
	assert_there("a");
}

/* --- failures -------------------------------------------------------------------- */

TEST(one_that_is_refused_does_not_hold_up_the_others)
{
	take();
	make("a", "1", 0);
	make("b", "1", 1);
	make("c", "1", 2);
	bed_fault("{\"operation\": \"PutObject\", \"prefix\": \"runs/b\", \"count\": 0, "
		"\"do\": \"error\", \"status\": 403, \"code\": \"AccessDenied\"}");
	mirror->last = true;
	fails(GPC_EAUTH);
	assert_there("a c");
	assert_int_equal(mirror->n_stuck, 1);
	assert_string_equal(mirror->stuck.v[0], "b");
	assert_int_equal(mirror->waiting, 1);
	bed_no_faults();
	go();
	assert_there("a b c");
	assert_int_equal(mirror->n_stuck, 0);
	assert_int_equal(mirror->n_sent, 3);
}

TEST(nothing_overtakes_what_time_may_heal)
{
	take();
	make("a", "1", 0);
	make("b", "1", 1);
	make("c", "1", 2);
	bed_fault("{\"operation\": \"PutObject\", \"prefix\": \"runs/b\", \"count\": 0, "
		"\"do\": \"error\", \"status\": 500, \"code\": \"InternalError\"}");
	mirror->last = true;
	assert_true(gpc_mirror_round(mirror, NULL, &err) < 0);
	assert_true(gpc_agent_may_retry(&err));
	assert_there("a");
	assert_int_equal(mirror->waiting, 2);
	bed_no_faults();
	go();
	assert_there("a b c");
}

TEST(lost_answers_do_no_harm)
{
	take();
	make("a", "1", 0);
	make("b", "1", 1);
	bed_fault("[{\"operation\": \"PutObject\", \"do\": \"reset\", \"effect\": true}, "
		"{\"operation\": \"PutObject\", \"prefix\": \"runs/b\", \"do\": "
		"\"cut\", \"bytes\": 0}, {\"method\": \"DELETE\", \"do\": \"reset\", "
		"\"effect\": true}, {\"operation\": \"DeleteObjects\", \"do\": "
		"\"reset\", \"effect\": true}]");
	go_last();
	assert_there("a b");
	drop("a");
	go();
	assert_there("b");
}

/* A trial leaves nothing, and says what may not be. */
TEST(whether_a_bucket_may_be_written_is_tried)
{
	static const char *const schemes[] = {"s3", "oss", "gs"};
	const char *const at[] = {server.s3, server.oss, server.gcs};

	for (size_t i = 0; i < COUNT(schemes); i++) {
		gpc_autostr *url = gpc_format("%s://bucket/runs?endpoint=%s",
			schemes[i], at[i]);
		gpc_autostr *none = gpc_format("%s://no-such-bucket/runs?endpoint=%s",
			schemes[i], at[i]);
		const struct gpc_source source = { .url = url, .folder = true };
		const struct gpc_source nowhere = { .url = none, .folder = true };

		assert_ok(gpc_source_try_write(&source, &err));
		assert_int_equal(bed_left("uploads"), 0);
		assert_int_equal(bed_left("objects"), 0);
		assert_fails(gpc_source_try_write(&nowhere, &err), GPC_ECONFIG);
		bed_fault("{\"method\": \"POST\", \"prefix\": \"runs/\", \"do\": "
			"\"error\", \"status\": 403, \"code\": \"AccessDenied\"}");
		assert_fails(gpc_source_try_write(&source, &err), GPC_EAUTH);
		assert_has(err.msg, "cannot be written");
		bed_no_faults();
	}
}

/* The other services' deletions and times are their own. */
TEST(other_services_do_the_same)
{
	static const char *const schemes[] = {"oss", "gs"};

	for (size_t i = 0; i < COUNT(schemes); i++) {
		gpc_autostr *root = gpc_format("%s/out-%s", folder, schemes[i]);
		gpc_autostr *url = gpc_format("%s://bucket/runs/?endpoint=%s",
			schemes[i], i ? server.gcs : server.oss);

		assert_ok(gpc_mkdirs(root, 0755, &err));
		bed_tell(&server, "reset", "{}");
		gpc_mirror_free(mirror);
		mirror = gpc_mirror_new("out", url, root, NULL);
		take();
		make("a", "1", 0);
		make("b/c d", "1", 1);
		go_last();
		assert_there("a b/c d");
		drop("a");
		go();
		assert_there("b/c d");
	}
}

TEST(a_large_file_goes_in_parts)
{
	gpc_autostr *path = NULL;

	take();
	path = bed_file("out/large", 40 * MIB);
	bed_fault("{\"operation\": \"UploadPart\", \"nth\": 2, \"do\": \"reset\"}");
	go_last();
	bed_assert_object("bucket", "runs/large", path);
	assert_int_equal(bed_left("uploads"), 0);
}

/* What changed since the look is not the file that was found quiet. */
TEST(what_changes_before_its_turn_waits)
{
	gpc_auto(gpc_mirror_changes) struct gpc_mirror_changes c = {0};

	take();
	make("a", "1", 0);
	make("b", "1", 1);
	mirror->last = true;
	assert_ok(gpc_mirror_look(mirror, &c, NULL, &err));
	assert_int_equal(c.due.n, 2);
	make("a", "22", 5);
	drop("b");
	assert_ok(gpc_mirror_send(mirror, &c, NULL, &err));
	assert_there("");
	go();
	assert_there("a");
}

TEST(a_cancel_ends_it)
{
	const struct gpc_cancel cancel = { .signal = SIGTERM };

	take();
	make("a", "1", 0);
	mirror->last = true;
	assert_fails(gpc_mirror_round(mirror, &cancel, &err), GPC_ECANCELED);
	assert_there("");
}

#define OVER(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OVER(what_rests_for_two_looks_is_uploaded),
		OVER(the_last_look_takes_all),
		OVER(what_was_there_is_not_uploaded),
		OVER(what_is_open_for_writing_waits),
		OVER(what_was_torn_is_left_where_an_attempt_goes_on),
		OVER(some_things_are_no_files_of_its),
		OVER(names_are_any_bytes),
		OVER(the_oldest_goes_first),
		OVER(one_at_a_time),
		OVER(several_at_a_time),
		OVER(no_more_than_asked_for_at_a_time),
		OVER(what_two_looks_miss_is_deleted_after_the_uploads),
		OVER(what_others_have_put_there_is_not_deleted),
		OVER(a_folder_that_is_gone_deletes_nothing),
		OVER(one_that_is_refused_does_not_hold_up_the_others),
		OVER(nothing_overtakes_what_time_may_heal),
		OVER(lost_answers_do_no_harm),
		OVER(whether_a_bucket_may_be_written_is_tried),
		OVER(other_services_do_the_same),
		OVER(a_large_file_goes_in_parts),
		OVER(what_changes_before_its_turn_waits),
		OVER(a_cancel_ends_it),
	};

	return cmocka_run_group_tests(tests, bed_open, bed_close);
}
