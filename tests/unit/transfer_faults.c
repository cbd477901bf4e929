/* Transfers that are cut short, disturbed or refused: what can go on goes on and moves
 * nothing twice, what cannot leaves nothing, and each says why. */
#include "transfer_bed.h"

#include <errno.h>
#include <sys/resource.h>

#include "transfer/move.h"

enum { LARGE = 16 << 20, PART = 5 << 20 };

static const struct gpc_transfer_settings in_parts = { .part_size = PART };
/* One request after the other, so that it is known which ones are through. */
static const struct gpc_transfer_settings one_by_one = { .part_size = PART,
	.at_once = 1 };

/* Neither temporaries nor notes: "source" (of bed_put) and `more` are all. */
static void nothing_stays(int more)
{
	assert_int_equal(bed_names(".", false), 2 + more);
	assert_int_equal(bed_names(".state", false), 0);
	assert_int_equal(bed_left("uploads"), 0);
}

/* --- cut short --------------------------------------------------------------- */

static void down_is_cut(const char *back, bool by_kill)
{
	struct bed_run run = { .cancel_at = by_kill ? 0 : 2 * PART };
	int status;

	bed_fault("{\"operation\": \"GetObject\", \"nth\": 4, \"do\": \"hang\", "
		"\"seconds\": 120}");
	if (!by_kill) {
		bed_begin(&run, one_by_one);
		bed_down(&run, "large", back, NULL, LARGE);
		bed_finish(&run, -GPC_ECANCELED);
		assert_int_equal(run.done + run.failed, 0);
		bed_no_faults();
		return;
	}
	run.cancel_at = UINT64_MAX;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		bed_begin(&run, one_by_one);
		bed_down(&run, "large", back, NULL, LARGE);
		_exit(gpc_transfer_finish(run.t, &err) == 0);
	}
	/* Three parts are through and the fourth hangs. */
	for (int i = 0; i < 1200 && bed_count("GetObject", 0) < 3; i++)
		gpc_sleep_ms(50);
	gpc_sleep_ms(300);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	bed_no_faults();
}

static void down_goes_on(bool by_kill)
{
	gpc_autostr *path = bed_put("large", LARGE), *back = bed_path("back");
	struct bed_run run = {0};
	int since;

	down_is_cut(back, by_kill);
	assert_int_equal(access(back, F_OK), -1);
	since = bed_now();
	bed_begin(&run, in_parts);
	bed_down(&run, "large", back, NULL, LARGE);
	bed_finish(&run, 0);
	assert_int_equal(run.done, 1);
	assert_true(run.counts.resumed >= 2 * PART);
	assert_int_equal(run.counts.bytes, LARGE);
	assert_int_equal(bed_sent(since) + run.counts.resumed, LARGE);
	bed_assert_same(path, back);
	nothing_stays(1);
}

TEST(a_download_goes_on_after_a_cancel)
{
	down_goes_on(false);
}

TEST(a_download_goes_on_after_a_kill)
{
	down_goes_on(true);
}

static struct gpc_cancel *to_cancel;

static void on_alarm(int number)
{
	to_cancel->signal = number;
}

/* Interrupted again, before it is known whether the object is still the same. */
TEST(a_second_cancel_loses_nothing)
{
	gpc_autostr *path = bed_put("large", LARGE), *back = bed_path("back");
	struct bed_run cut = {0}, run = {0};

	down_is_cut(back, false);
	bed_fault("{\"operation\": \"HeadObject\", \"do\": \"hang\", "
		"\"seconds\": 120}");
	bed_begin(&cut, in_parts);
	bed_down(&cut, "large", back, NULL, LARGE);
	to_cancel = &cut.cancel;
	signal(SIGALRM, on_alarm);
	alarm(1);
	bed_finish(&cut, -GPC_ECANCELED);
	assert_int_equal(cut.done + cut.failed, 0);
	bed_no_faults();
	bed_begin(&run, in_parts);
	bed_down(&run, "large", back, NULL, LARGE);
	bed_finish(&run, 0);
	assert_int_equal(run.done, 1);
	assert_true(run.counts.resumed >= 2 * PART);
	bed_assert_same(path, back);
	nothing_stays(1);
}

TEST(a_range_goes_on_in_its_middle)
{
	gpc_autostr *path = bed_put("large", LARGE), *back = bed_path("back");
	struct bed_run cut = { .cancel_at = PART + 1 }, run = {0};
	int since;

	bed_fault("{\"operation\": \"GetObject\", \"nth\": 2, \"do\": \"trickle\", "
		"\"rate\": 200000}");
	bed_begin(&cut, one_by_one);
	bed_down(&cut, "large", back, NULL, LARGE);
	bed_finish(&cut, -GPC_ECANCELED);
	bed_no_faults();
	since = bed_now();
	bed_begin(&run, in_parts);
	bed_down(&run, "large", back, NULL, LARGE);
	bed_finish(&run, 0);
	assert_int_equal(run.done, 1);
	assert_true(run.counts.resumed > PART && run.counts.resumed < 2 * PART);
	assert_int_equal(bed_sent(since) + run.counts.resumed, LARGE);
	bed_assert_same(path, back);
	nothing_stays(1);
}

TEST(a_download_begins_anew_for_a_new_object)
{
	gpc_autostr *back = bed_path("back");
	gpc_autostr *new = NULL;
	struct bed_run run = {0};

	free(bed_put("large", LARGE));
	down_is_cut(back, false);
	new = bed_put("large", LARGE - 1);
	bed_begin(&run, in_parts);
	bed_down(&run, "large", back, NULL, LARGE);
	bed_finish(&run, 0);
	assert_int_equal(run.done, 1);
	assert_int_equal(run.counts.resumed, 0);
	bed_assert_same(new, back);
	nothing_stays(1);
}

static void up_is_cut(const char *path)
{
	/* Only when the third is being sent are two through for sure. */
	struct bed_run run = { .cancel_at = 2 * PART + 1 };

	bed_fault("{\"operation\": \"UploadPart\", \"nth\": 3, \"do\": \"hang\", "
		"\"seconds\": 120}");
	bed_begin(&run, one_by_one);
	bed_up(&run, path, "large");
	bed_finish(&run, -GPC_ECANCELED);
	assert_int_equal(run.done + run.failed, 0);
	bed_no_faults();
	assert_int_equal(bed_left("uploads"), 1);
	assert_int_equal(bed_left("objects"), 0);
}

TEST(an_upload_goes_on_after_a_cancel)
{
	gpc_autostr *path = bed_file("source", LARGE);
	struct bed_run run = {0};
	int since;

	up_is_cut(path);
	since = bed_now();
	bed_begin(&run, in_parts);
	bed_up(&run, path, "large");
	bed_finish(&run, 0);
	assert_int_equal(run.done, 1);
	assert_int_equal(run.counts.resumed, 2 * PART);
	assert_int_equal(bed_count("UploadPart", since), 2);
	assert_int_equal(bed_count("CreateMultipartUpload", since), 0);
	bed_assert_object("bucket", "large", path);
	nothing_stays(0);
}

TEST(an_upload_begins_anew_for_a_changed_file)
{
	gpc_autostr *path = bed_file("source", LARGE), *same = NULL;
	struct bed_run run = {0};

	up_is_cut(path);
	same = bed_file("source", LARGE - 7);
	bed_begin(&run, in_parts);
	bed_up(&run, path, "large");
	bed_finish(&run, 0);
	assert_int_equal(run.done, 1);
	assert_int_equal(run.counts.resumed, 0);
	bed_assert_object("bucket", "large", path);
	/* The parts of the first try are gone too. */
	nothing_stays(0);
}

TEST(an_upload_that_the_service_forgot_begins_anew)
{
	gpc_autostr *path = bed_file("source", LARGE);
	struct bed_run run = {0};

	up_is_cut(path);
	bed_tell(&server, "reset", "{}");
	bed_tell(&server, "buckets", "{\"name\": \"other\"}");
	bed_begin(&run, in_parts);
	bed_up(&run, path, "large");
	bed_finish(&run, 0);
	assert_int_equal(run.done, 1);
	assert_int_equal(run.counts.resumed, 0);
	assert_int_equal(run.counts.bytes, LARGE);
	bed_assert_object("bucket", "large", path);
	nothing_stays(0);
}

TEST(a_copy_goes_on_after_a_cancel)
{
	gpc_autostr *path = bed_put("large", LARGE);
	struct bed_run cut = { .cancel_at = 2 * PART + 1 }, run = {0};
	int since;

	bed_fault("{\"operation\": \"UploadPart\", \"bucket\": \"other\", \"nth\": 3, "
		"\"do\": \"hang\", \"seconds\": 120}");
	bed_begin(&cut, one_by_one);
	bed_across(&cut, "large", "copy", LARGE);
	bed_finish(&cut, -GPC_ECANCELED);
	bed_no_faults();
	since = bed_now();
	bed_begin(&run, in_parts);
	bed_across(&run, "large", "copy", LARGE);
	bed_finish(&run, 0);
	assert_int_equal(run.done, 1);
	assert_int_equal(run.counts.resumed, 2 * PART);
	assert_int_equal(bed_count("UploadPart", since), 2);
	bed_assert_object("other", "copy", path);
	nothing_stays(0);
}

/* Without a place for notes nothing can go on: what is there is removed. */
TEST(what_cannot_go_on_is_removed)
{
	gpc_autostr *path = bed_file("source", LARGE), *taken = bed_path(".state");
	struct bed_run run = { .cancel_at = 2 * PART };

	/* No folder can be made there. */
	assert_int_equal(close(open(taken, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
	bed_fault("{\"operation\": \"UploadPart\", \"nth\": 3, \"do\": \"hang\", "
		"\"seconds\": 120}");
	bed_begin(&run, one_by_one);
	bed_up(&run, path, "large");
	bed_finish(&run, -GPC_ECANCELED);
	assert_int_equal(bed_left("uploads"), 0);
	assert_int_equal(bed_left("objects"), 0);
	assert_int_equal(bed_names(".", false), 2);
}

/* --- disturbed --------------------------------------------------------------- */

TEST(an_object_that_changes_meanwhile_is_an_error)
{
	gpc_autostr *back = bed_path("back");
	struct bed_run run = {0};

	free(bed_put("large", LARGE));
	bed_fault("{\"operation\": \"GetObject\", \"nth\": 3, \"do\": \"touch\"}");
	bed_begin(&run, one_by_one);
	bed_down(&run, "large", back, NULL, LARGE);
	bed_finish(&run, 0);
	assert_int_equal(run.failed, 1);
	assert_int_equal(run.counts.failed, 1);
	assert_int_equal(run.counts.bytes, 0);
	assert_int_equal(run.err.code, GPC_ECONFLICT);
	assert_has(run.err.msg, "s3://bucket/large");
	assert_has(run.err.msg, "changed");
	assert_true(run.err.hint[0] && run.err.request_id[0]);
	nothing_stays(0);
}

TEST(an_object_that_changes_while_it_is_copied_is_an_error)
{
	struct bed_run run = {0};

	free(bed_put("large", LARGE));
	bed_fault("{\"operation\": \"GetObject\", \"nth\": 3, \"do\": \"touch\"}");
	bed_begin(&run, one_by_one);
	bed_across(&run, "large", "copy", LARGE);
	bed_finish(&run, 0);
	assert_int_equal(run.failed, 1);
	assert_int_equal(run.err.code, GPC_ECONFLICT);
	assert_int_equal(bed_left("objects"), 1);
	nothing_stays(0);
}

TEST(bodies_that_break_off_go_on)
{
	gpc_autostr *path = bed_put("large", LARGE), *back = bed_path("back");
	struct bed_run run = {0};

	bed_fault("[{\"operation\": \"GetObject\", \"nth\": 2, \"count\": 2, "
		"\"do\": \"truncate\", \"bytes\": 3000000}, {\"operation\": "
		"\"UploadPart\", \"nth\": 2, \"do\": \"cut\", \"bytes\": 1000000}]");
	bed_begin(&run, in_parts);
	bed_down(&run, "large", back, NULL, LARGE);
	bed_across(&run, "large", "copy", LARGE);
	bed_finish(&run, 0);
	assert_int_equal(run.done, 2);
	bed_assert_same(path, back);
	bed_assert_object("other", "copy", path);
	nothing_stays(1);
}

/* Any part may be the second to be asked for: the byte lies in the shortest, too. */
TEST(bytes_that_were_changed_on_the_way_are_refused)
{
	gpc_autostr *back = bed_path("back");
	struct bed_run run = {0};

	free(bed_put("large", LARGE));
	bed_fault("{\"operation\": \"GetObject\", \"nth\": 2, \"count\": 1, "
		"\"do\": \"corrupt\", \"at\": 1000000}");
	bed_begin(&run, in_parts);
	bed_down(&run, "large", back, NULL, LARGE);
	bed_finish(&run, 0);
	assert_int_equal(run.failed, 1);
	assert_has(run.err.msg, "checksum");
	nothing_stays(0);
}

TEST(throttling_is_waited_out)
{
	gpc_autostr *path = bed_file("source", LARGE), *back = bed_path("back");
	struct bed_run up = {0}, down = {0};

	bed_fault("[{\"operation\": \"UploadPart\", \"count\": 3, \"do\": \"error\", "
		"\"status\": 503, \"code\": \"SlowDown\"}, {\"operation\": "
		"\"GetObject\", \"count\": 3, \"do\": \"error\", \"status\": 503, "
		"\"code\": \"SlowDown\"}]");
	bed_begin(&up, in_parts);
	bed_up(&up, path, "large");
	bed_finish(&up, 0);
	assert_int_equal(up.done, 1);
	bed_begin(&down, in_parts);
	bed_down(&down, "large", back, NULL, LARGE);
	bed_finish(&down, 0);
	assert_int_equal(down.done, 1);
	bed_assert_same(path, back);
	nothing_stays(1);
}

/* --- refused ----------------------------------------------------------------- */

TEST(an_upload_that_is_refused_leaves_nothing)
{
	static const char *const operations[] = {"CreateMultipartUpload", "UploadPart",
		"CompleteMultipartUpload", "PutObject"};
	gpc_autostr *path = bed_file("source", LARGE), *small = bed_file("small", 9);

	for (size_t i = 0; i < COUNT(operations); i++) {
		gpc_autostr *fault = gpc_format("{\"operation\": \"%s\", \"nth\": 1, "
			"\"do\": \"error\", \"status\": 403, \"code\": "
			"\"AccessDenied\"}", operations[i]);
		struct bed_run run = {0};

		bed_fault(fault);
		bed_begin(&run, in_parts);
		bed_up(&run, i < 3 ? path : small, "key");
		bed_finish(&run, 0);
		assert_int_equal(run.failed, 1);
		assert_int_equal(run.err.code, GPC_EAUTH);
		assert_has(run.err.msg, i < 3 ? path : small);
		assert_true(run.err.request_id[0]);
		assert_int_equal(run.counts.bytes, 0);
		assert_int_equal(bed_left("objects"), 0);
		nothing_stays(1);
	}
}

TEST(one_that_fails_does_not_end_the_others)
{
	gpc_autostr *path = bed_file("source", 100), *none = bed_path("none");
	struct bed_run run = {0};

	bed_begin(&run, in_parts);
	bed_up(&run, path, "one");
	bed_up(&run, none, "none");
	bed_up(&run, path, "two");
	bed_finish(&run, 0);
	assert_int_equal(run.done, 2);
	assert_int_equal(run.failed, 1);
	assert_int_equal(run.err.code, GPC_ENOTFOUND);
	assert_int_equal(run.counts.all_files, 3);
	assert_int_equal(bed_left("objects"), 2);
}

/* Nobody asks a service without credentials: the second would fail likewise. */
TEST(without_credentials_nothing_more_is_begun)
{
	gpc_autostr *path = bed_file("source", 100);
	gpc_autostr *id = gpc_strdup(getenv("AWS_ACCESS_KEY_ID"));
	struct bed_run run = {0};

	unsetenv("AWS_ACCESS_KEY_ID");
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	bed_begin(&run, one_by_one);
	bed_up(&run, path, "one");
	bed_up(&run, path, "two");
	bed_finish(&run, -GPC_EAUTH);
	setenv("AWS_ACCESS_KEY_ID", id, 1);
	assert_int_equal(err.code, GPC_EAUTH);
	assert_has(err.msg, "no credentials");
	assert_int_equal(run.failed, 1);
	assert_int_equal(run.done, 0);
}

/* Whoever gives up half-way leaves what goes on, as who is interrupted. */
TEST(a_transfer_that_is_given_up_is_cut)
{
	gpc_autostr *path = bed_file("source", LARGE), *small = bed_file("small", 10);
	struct bed_run run = {0}, again = {0};
	gpc_autostr *back = bed_path("back");

	bed_fault("[{\"operation\": \"UploadPart\", \"nth\": 3, \"do\": \"hang\", "
		"\"seconds\": 120}, {\"operation\": \"GetObject\", \"do\": \"hang\","
		" \"seconds\": 120}]");
	bed_begin(&run, in_parts);
	bed_up(&run, path, "large");
	bed_down(&run, "small", back, NULL, 10);
	/* More than may wait: adding moves the first ones. */
	for (int i = 0; i < 600; i++)
		bed_up(&run, small, "small");
	gpc_transfer_cut(run.t);
	gpc_objects_free(run.bucket);
	gpc_objects_free(run.other);
	gpc_transfer_free(run.t);
	bed_no_faults();
	assert_true(run.done >= 88 && run.done < 600);
	/* The small download is gone, the upload is there or was dropped. */
	assert_int_equal(bed_names(".", true), 1);
	bed_begin(&again, in_parts);
	bed_up(&again, path, "large");
	bed_finish(&again, 0);
	assert_int_equal(again.done, 1);
	bed_assert_object("bucket", "large", path);
	nothing_stays(1);
}

static const char *grown;

static void grow(struct bed_run *run)
{
	gpc_autofd fd = open(grown, O_WRONLY | O_APPEND | O_CLOEXEC);

	(void)run;
	assert_int_equal(write(fd, "x", 1), 1);
}

static void shrink(struct bed_run *run)
{
	(void)run;
	assert_int_equal(truncate(grown, 6 << 20), 0);
}

TEST(a_file_that_changes_meanwhile_is_an_error)
{
	static void (*const changes[])(struct bed_run *run) = {grow, shrink};

	for (size_t i = 0; i < COUNT(changes); i++) {
		gpc_autostr *old = bed_put("key", 1000), *kept = bed_path("kept");
		gpc_autostr *path = NULL;
		struct bed_run run = { .also = changes[i] };

		assert_int_equal(rename(old, kept), 0);
		path = bed_file("source", LARGE);
		grown = path;
		/* the first part that comes is awaited, the last is not sent yet */
		bed_fault("{\"operation\": \"UploadPart\", \"nth\": 1, "
			"\"do\": \"delay\", \"seconds\": 1.5}");
		bed_begin(&run, one_by_one);
		bed_up(&run, path, "key");
		bed_finish(&run, 0);
		assert_int_equal(run.failed, 1);
		assert_int_equal(run.err.code, GPC_ECONFLICT);
		assert_has(run.err.msg, "changed");
		/* What was there is there. */
		bed_assert_object("bucket", "key", kept);
		nothing_stays(1);
	}
}

TEST(a_file_in_one_request_goes_up_as_it_was_read)
{
	gpc_autostr *path = bed_file("source", 2 << 20);
	gpc_autostr *was = bed_file("was", 2 << 20);
	struct bed_run run = { .also = grow };

	grown = path;
	bed_fault("{\"operation\": \"PutObject\", \"do\": \"delay\", "
		"\"seconds\": 1.5}");
	bed_begin(&run, one_by_one);
	bed_up(&run, path, "key");
	bed_finish(&run, 0);
	assert_int_equal(run.done, 1);
	bed_assert_object("bucket", "key", was);
	nothing_stays(1);
}

TEST(a_full_disk_is_said_and_leaves_nothing)
{
	gpc_autostr *back = bed_path("back");
	struct rlimit old, small;
	struct bed_run run = {0}, huge = {0};

	free(bed_put("large", LARGE));
	/* What no disk has room for is not begun. */
	bed_begin(&huge, (struct gpc_transfer_settings){0});
	bed_down(&huge, "large", back, NULL, (int64_t)1 << 56);
	bed_finish(&huge, 0);
	assert_int_equal(huge.failed, 1);
	assert_int_equal(huge.err.code, GPC_EIO);
	assert_int_equal(huge.err.sys, ENOSPC);
	assert_has(huge.err.msg, "room for");
	assert_true(huge.err.hint[0]);
	nothing_stays(0);
	/* What turns out to be too much. */
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ .rlim_cur = 1 << 20, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	bed_begin(&run, in_parts);
	bed_down(&run, "large", back, NULL, LARGE);
	bed_finish(&run, 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(run.failed, 1);
	assert_int_equal(run.err.code, GPC_EIO);
	nothing_stays(0);
}

TEST(one_file_is_written_by_one_process)
{
	gpc_autostr *back = bed_path("back");
	struct gpc_place held = {0};
	struct gpc_place_top top = {0};
	struct bed_run run = {0};

	free(bed_put("large", LARGE));
	assert_ok(gpc_place_open(&held, &top, back, NULL, &err));
	bed_begin(&run, in_parts);
	bed_down(&run, "large", back, NULL, LARGE);
	bed_finish(&run, 0);
	assert_int_equal(run.failed, 1);
	assert_int_equal(run.err.code, GPC_ECONFLICT);
	gpc_place_drop(&held);
	gpc_place_top_clear(&top);
	nothing_stays(0);
}

/* --- bounds ------------------------------------------------------------------ */

static uint64_t most_held;

static void watch(struct bed_run *run)
{
	if (run->t->held > most_held)
		most_held = run->t->held;
}

TEST(memory_is_bounded)
{
	gpc_autostr *path = bed_put("large", LARGE);
	struct gpc_transfer_settings set = in_parts;
	struct bed_run run = { .also = watch }, small = {0};

	most_held = 0;
	set.memory = 2 * PART + 1;
	bed_fault("{\"operation\": \"UploadPart\", \"bucket\": \"other\", \"count\": 0, "
		"\"do\": \"delay\", \"seconds\": 0.5}");
	bed_begin(&run, set);
	for (int i = 0; i < 3; i++) {
		gpc_autostr *key = gpc_format("copy%d", i);

		bed_across(&run, "large", key, LARGE);
	}
	bed_finish(&run, 0);
	assert_int_equal(run.done, 3);
	assert_true(most_held > 0 && most_held <= set.memory);
	bed_assert_object("other", "copy2", path);
	set.memory = PART - 1;
	bed_begin(&small, set);
	bed_across(&small, "large", "no", LARGE);
	bed_finish(&small, 0);
	assert_int_equal(small.failed, 1);
	assert_int_equal(small.err.code, GPC_ECONFIG);
	assert_true(small.err.hint[0]);
}

/* --- notes ------------------------------------------------------------------- */

#define HEAD GPC_NOTES_FIRST "from a\n"
#define SUMS " 0000000000000001 00000000000000ff "

static int over(const struct gpc_piece *pieces, int n)
{
	int k = 0;

	for (int i = 0; i < n; i++)
		k += pieces[i].over;
	return k;
}

/* Parses notes of three pieces of 10, 10 and 5 bytes; returns how many are over. */
static int parse(const char *text, bool parts, char **upload, struct gpc_strv *strays,
	uint64_t *some)
{
	struct gpc_notes_shape s = { .identity = HEAD, .size = 25, .part_size = 10,
		.n = 3, .parts = parts };
	struct gpc_piece pieces[3] = {{0}};
	bool ok;
	int n;

	*upload = NULL;
	ok = gpc_notes_parse(text, strlen(text), &s, pieces, upload, strays);
	n = ok ? over(pieces, 3) : -1;
	*some = pieces[0].done + pieces[1].done + pieces[2].done;
	for (int i = 0; i < 3; i++)
		free(pieces[i].etag);
	return n;
}

TEST(notes_are_read_as_if_anybody_wrote_them)
{
	static const struct { const char *text; bool parts; int over; uint64_t some;
		const char *upload, *strays; } cases[] = {
		{HEAD "0 10" SUMS "-\n2 5" SUMS "-\n", false, 2, 15, NULL},
		{HEAD "0 4" SUMS "-\n0 9" SUMS "-\n", false, 0, 9, NULL},
		{HEAD "0 9" SUMS "-\n0 4" SUMS "-\n", false, 0, 9, NULL},
		{HEAD "0 10" SUMS "-\n1 10" SUMS "-", false, 1, 10, NULL},
		{HEAD "upload a%2Fb\n0 10" SUMS "%22e%22\n", true, 1, 10, "a/b"},
		/* A part that is not whole, or has no name. */
		{HEAD "upload u\n0 9" SUMS "e\n1 10" SUMS "e\n", true, 0, 0, "u"},
		{HEAD "upload u\n0 10" SUMS "-\n1 10" SUMS "e\n", true, 0, 0, "u"},
		{HEAD "upload u\nupload v\n1 10" SUMS "e\n", true, 0, 0, "u"},
		{HEAD "upload a%00b\n", true, 0, 0, NULL},
		{HEAD "upload a%0Ab\n", true, 0, 0, NULL},
		/* Nothing counts from the first bad line on. */
		{HEAD "0 10" SUMS "-\n3 5" SUMS "-\n1 10" SUMS "-\n", false, 1, 10, NULL},
		{HEAD "0 10" SUMS "-\n-1 5" SUMS "-\n", false, 1, 10, NULL},
		{HEAD "0 11" SUMS "-\n", false, 0, 0, NULL},
		{HEAD "2 6" SUMS "-\n", false, 0, 0, NULL},
		{HEAD "0 99999999999999999999" SUMS "-\n", false, 0, 0, NULL},
		{HEAD "99999999999999999999 1" SUMS "-\n", false, 0, 0, NULL},
		{HEAD "0 10 1 2 -\n", false, 0, 0, NULL},
		{HEAD "0 10" SUMS "\n", false, 0, 0, NULL},
		{HEAD "0 10\n", false, 0, 0, NULL},
		{HEAD "\n0 10" SUMS "-\n", false, 0, 0, NULL},
		{HEAD, false, 0, 0, NULL},
		/* Of another transfer only the upload counts. */
		{GPC_NOTES_FIRST "from b\nupload x\n0 10" SUMS "e\n", true, -1, 0, NULL,
			"x"},
		{GPC_NOTES_FIRST "from b\nupload x\nleft y\n", true, -1, 0, NULL, "y x"},
		/* What could not be dropped is named beside it, and alone. */
		{HEAD "upload u\nleft a%2Fb\nleft c\n0 10" SUMS "e\n", true, 1, 10, "u",
			"a/b c"},
		{HEAD "left a\n", true, 0, 0, NULL, "a"},
		{HEAD "upload u\nleft a%0Ab\n0 10" SUMS "e\n", true, 0, 0, "u"},
		{"other\nupload x\n", true, -1, 0, NULL},
		{"", false, -1, 0, NULL},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_strv) struct gpc_strv strays = {0};
		gpc_autostr *upload = NULL, *all = NULL;
		uint64_t some;
		int n = parse(cases[i].text, cases[i].parts, &upload, &strays, &some);

		all = gpc_strv_join(&strays, " ");
		if (n != cases[i].over || some != cases[i].some ||
			!gpc_eq(upload, cases[i].upload) ||
			!gpc_eq(all, cases[i].strays ? cases[i].strays : ""))
			fail_msg("%zu: %d over, %d bytes, upload %s, strays %s", i, n,
				(int)some, upload ? upload : "(none)", all);
	}
}

/* Bytes of true notes are turned in their turn: the download is right all the same, or
 * fails by its checksum, and nothing stays. */
TEST(damaged_notes_do_no_harm)
{
	gpc_autostr *path = bed_put("large", LARGE), *back = bed_path("back");
	gpc_autostr *notes = bed_part("back", ".notes");

	for (size_t i = 1; i < 130; i += 26) {
		gpc_auto(gpc_buf) struct gpc_buf text = {0};
		struct bed_run run = {0};

		down_is_cut(back, false);
		assert_ok(gpc_read_file(notes, 1 << 20, &text, &err));
		text.data[text.len - i] ^= 1;
		assert_ok(gpc_write_file(notes, text.data, text.len, 0600, &err));
		bed_no_faults();
		bed_begin(&run, in_parts);
		bed_down(&run, "large", back, NULL, LARGE);
		bed_finish(&run, 0);
		assert_int_equal(run.done + run.failed, 1);
		if (run.done)
			bed_assert_same(path, back);
		else
			assert_has(run.err.msg, "checksum");
		(void)unlink(back);
		nothing_stays(0);
	}
}

/* What somebody else put there is not believed, and not written to. */
TEST(temporaries_of_others_are_not_used)
{
	gpc_autostr *path = bed_put("large", LARGE), *back = bed_path("back");
	gpc_autostr *part = bed_part("back", ""), *notes = bed_part("back", ".notes");
	gpc_autostr *victim = bed_file("victim", 100), *twin = bed_path("twin");
	struct bed_run run = {0};
	struct stat st;

	for (int i = 0; i < 2; i++) {
		if (i == 0) {
			assert_int_equal(symlink(victim, part), 0);
			assert_int_equal(symlink(victim, notes), 0);
		} else {
			assert_int_equal(link(victim, part), 0);
			assert_int_equal(link(victim, twin), 0);
		}
		memset(&run, 0, sizeof(run));
		bed_begin(&run, in_parts);
		bed_down(&run, "large", back, NULL, LARGE);
		bed_finish(&run, 0);
		assert_int_equal(run.done, 1);
		bed_assert_same(path, back);
		assert_int_equal(stat(victim, &st), 0);
		assert_int_equal(st.st_size, 100);
		(void)unlink(notes);
	}
}

#define OVER(name) cmocka_unit_test_setup_teardown(name, bed_reset, bed_clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OVER(a_download_goes_on_after_a_cancel),
		OVER(a_download_goes_on_after_a_kill),
		OVER(a_second_cancel_loses_nothing),
		OVER(a_range_goes_on_in_its_middle),
		OVER(a_download_begins_anew_for_a_new_object),
		OVER(an_upload_goes_on_after_a_cancel),
		OVER(an_upload_begins_anew_for_a_changed_file),
		OVER(an_upload_that_the_service_forgot_begins_anew),
		OVER(a_copy_goes_on_after_a_cancel),
		OVER(what_cannot_go_on_is_removed),
		OVER(an_object_that_changes_meanwhile_is_an_error),
		OVER(an_object_that_changes_while_it_is_copied_is_an_error),
		OVER(bodies_that_break_off_go_on),
		OVER(bytes_that_were_changed_on_the_way_are_refused),
		OVER(throttling_is_waited_out),
		OVER(an_upload_that_is_refused_leaves_nothing),
		OVER(one_that_fails_does_not_end_the_others),
		OVER(without_credentials_nothing_more_is_begun),
		OVER(a_transfer_that_is_given_up_is_cut),
		OVER(a_file_that_changes_meanwhile_is_an_error),
		OVER(a_file_in_one_request_goes_up_as_it_was_read),
		OVER(a_full_disk_is_said_and_leaves_nothing),
		OVER(one_file_is_written_by_one_process),
		OVER(memory_is_bounded),
		cmocka_unit_test(notes_are_read_as_if_anybody_wrote_them),
		OVER(damaged_notes_do_no_harm),
		OVER(temporaries_of_others_are_not_used),
	};

	return cmocka_run_group_tests(tests, bed_open, bed_close);
}
