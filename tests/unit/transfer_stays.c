/* Transfers that fail for what passes, such as a service out of reach or credentials that
 * have ended, leave what the next try goes on with; those that fail for good leave
 * nothing; and an upload that could not be dropped is found again. */
#include "transfer_bed.h"

enum { LARGE = 16 << 20, PART = 5 << 20 };

/* One request after the other, so that it is known which ones are through. */
static const struct gpc_transfer_settings one_by_one = { .part_size = PART,
	.at_once = 1 };

#define REFUSED ", \"do\": \"error\", \"status\": 403, \"code\": \"AccessDenied\", " \
	"\"count\": 0"

#define EXPIRED "\"do\": \"error\", \"status\": 400, \"code\": \"ExpiredToken\""

static void run_up(struct bed_run *run, const char *path, int want)
{
	*run = (struct bed_run){0};
	bed_begin(run, one_by_one);
	bed_up(run, path, "large");
	bed_finish(run, want);
}

/* The third part meets this fault for ever; two are there. */
static void fails_up(const char *path, const char *fault, int want, int code)
{
	gpc_autostr *text = gpc_format("{\"operation\": \"UploadPart\", \"nth\": 3, "
		"\"count\": 0, %s}", fault);
	struct bed_run run;

	bed_fault(text);
	run_up(&run, path, want);
	bed_no_faults();
	assert_int_equal(run.failed, 1);
	assert_int_equal(run.err.code, code);
	assert_true(run.err.passes);
	assert_has(run.err.hint, "goes on where this one was");
	assert_int_equal(run.counts.bytes, 0);
	assert_int_equal(run.counts.kept, 2 * PART);
	assert_int_equal(bed_left("uploads"), 1);
	assert_int_equal(bed_names(".state", false), 1);
}

static void goes_on_up(const char *path)
{
	int since = bed_now();
	struct bed_run run;

	run_up(&run, path, 0);
	assert_int_equal(run.done, 1);
	assert_int_equal(run.counts.resumed, 2 * PART);
	assert_int_equal(bed_count("UploadPart", since), 2);
	assert_int_equal(bed_count("CreateMultipartUpload", since), 0);
	bed_assert_object("bucket", "large", path);
	assert_int_equal(bed_left("uploads"), 0);
	assert_int_equal(bed_names(".state", false), 0);
}

TEST(an_upload_goes_on_after_the_service_was_away)
{
	gpc_autostr *path = bed_file("source", LARGE);

	fails_up(path, "\"do\": \"reset\"", 0, GPC_ENET);
	goes_on_up(path);
}

/* No other would succeed: nothing more is begun. */
TEST(an_upload_goes_on_after_credentials_ended)
{
	gpc_autostr *path = bed_file("source", LARGE);

	fails_up(path, EXPIRED, -GPC_EAUTH, GPC_EAUTH);
	goes_on_up(path);
}

TEST(a_download_goes_on_after_the_service_was_away)
{
	gpc_autostr *path = bed_put("large", LARGE), *back = bed_path("back");
	struct bed_run away = {0}, run = {0};
	int since;

	/* the third breaks in its middle, and all after it at once */
	bed_fault("[{\"operation\": \"GetObject\", \"nth\": 3, \"do\": \"truncate\", "
		"\"bytes\": 1000000}, {\"operation\": \"GetObject\", \"nth\": 4, "
		"\"count\": 0, \"do\": \"reset\"}]");
	bed_begin(&away, one_by_one);
	bed_down(&away, "large", back, NULL, LARGE);
	bed_finish(&away, 0);
	bed_no_faults();
	assert_int_equal(away.failed, 1);
	assert_true(away.counts.kept > 2 * PART && away.counts.kept < 3 * PART);
	assert_int_equal(access(back, F_OK), -1);
	assert_int_equal(bed_names(".", true), 3);      /* .state, and its own two */
	since = bed_now();
	bed_begin(&run, one_by_one);
	bed_down(&run, "large", back, NULL, LARGE);
	bed_finish(&run, 0);
	assert_int_equal(run.done, 1);
	assert_int_equal(run.counts.resumed, away.counts.kept);
	assert_int_equal(bed_sent(since) + run.counts.resumed, LARGE);
	bed_assert_same(path, back);
	assert_int_equal(bed_names(".", true), 1);
}

/* Denied for good, but so is dropping it: the same again finds it. */
TEST(an_upload_that_could_not_be_dropped_is_gone_on_with)
{
	gpc_autostr *path = bed_file("source", LARGE);
	struct bed_run run;

	bed_fault("[{\"operation\": \"UploadPart\", \"nth\": 3" REFUSED "}, "
		"{\"operation\": \"AbortMultipartUpload\"" REFUSED "}]");
	run_up(&run, path, 0);
	bed_no_faults();
	assert_int_equal(run.failed, 1);
	assert_int_equal(run.err.code, GPC_EAUTH);
	assert_int_equal(bed_left("uploads"), 1);
	assert_int_equal(bed_names(".state", false), 1);
	goes_on_up(path);
}

/* It is not what is wanted any more, and stays known until it is gone. */
TEST(an_upload_that_could_not_be_dropped_is_dropped_later)
{
	gpc_autostr *path = bed_file("source", LARGE), *same = NULL;
	struct bed_run run;

	fails_up(path, EXPIRED, -GPC_EAUTH, GPC_EAUTH);
	same = bed_file("source", LARGE - 7);
	bed_fault("{\"operation\": \"AbortMultipartUpload\"" REFUSED "}");
	run_up(&run, path, 0);
	bed_no_faults();
	assert_int_equal(run.done, 1);
	assert_int_equal(run.counts.resumed, 0);
	bed_assert_object("bucket", "large", path);
	assert_int_equal(bed_left("uploads"), 1);
	assert_int_equal(bed_names(".state", false), 1);
	run_up(&run, path, 0);
	assert_int_equal(run.done, 1);
	assert_int_equal(bed_left("uploads"), 0);
	assert_int_equal(bed_names(".state", false), 0);
}

/* A second try that does not even reach the service takes nothing away. */
TEST(what_stays_survives_tries_in_vain)
{
	gpc_autostr *path = bed_put("large", LARGE), *back = bed_path("back");
	struct bed_run run;

	bed_fault("{\"operation\": \"GetObject\", \"nth\": 3, \"count\": 0, "
		"\"do\": \"reset\"}");
	for (int i = 0; i < 2; i++) {
		run = (struct bed_run){0};
		bed_begin(&run, one_by_one);
		bed_down(&run, "large", back, NULL, LARGE);
		bed_finish(&run, 0);
		assert_int_equal(run.failed, 1);
		assert_int_equal(bed_names(".", true), 3);
		bed_fault("{\"operation\": \"HeadObject\", \"count\": 0, "
			"\"do\": \"reset\"}");
	}
	bed_no_faults();
	run = (struct bed_run){0};
	bed_begin(&run, one_by_one);
	bed_down(&run, "large", back, NULL, LARGE);
	bed_finish(&run, 0);
	assert_int_equal(run.done, 1);
	assert_int_equal(run.counts.resumed, 2 * PART);
	bed_assert_same(path, back);
}

/* Once the patience is over nothing more is begun: it would wait in vain. */
TEST(the_end_of_patience_stops_all)
{
	gpc_autostr *path = bed_file("source", LARGE), *small = bed_file("small", 10);
	struct gpc_transfer_settings set = one_by_one;
	struct bed_run run = {0};

	set.patience_ms = 500;
	bed_fault("{\"operation\": \"UploadPart\", \"nth\": 3, \"count\": 0, "
		"\"do\": \"reset\"}");
	bed_begin(&run, set);
	bed_up(&run, path, "large");
	bed_up(&run, small, "small");
	bed_finish(&run, -GPC_ENET);
	assert_int_equal(run.failed, 1);
	assert_int_equal(run.done, 0);
	assert_true(err.passes);
	assert_int_equal(bed_left("objects"), 0);
	bed_no_faults();
	goes_on_up(path);
}

#define OVER(name) cmocka_unit_test_setup_teardown(name, bed_reset, bed_clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OVER(an_upload_goes_on_after_the_service_was_away),
		OVER(an_upload_goes_on_after_credentials_ended),
		OVER(a_download_goes_on_after_the_service_was_away),
		OVER(an_upload_that_could_not_be_dropped_is_gone_on_with),
		OVER(an_upload_that_could_not_be_dropped_is_dropped_later),
		OVER(what_stays_survives_tries_in_vain),
		OVER(the_end_of_patience_stops_all),
	};

	return cmocka_run_group_tests(tests, bed_open, bed_close);
}
