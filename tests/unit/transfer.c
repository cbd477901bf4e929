/* Files and objects, moved over real connections: whatever size they have, and how
 * many they are, each arrives as it was, and nothing else does. */
#include "transfer_bed.h"

#include "transfer/width.h"

enum { SMALL = 70000, LARGE = 13 << 20 };

static const struct gpc_transfer_settings in_parts = { .part_size = 5 << 20 };

static void goes_up_and_down(uint64_t size, int64_t told)
{
	gpc_autostr *path = bed_file("file", size), *back = bed_path("back");
	struct bed_run up = {0}, down = {0};
	struct stat st;

	bed_begin(&up, in_parts);
	bed_up(&up, path, "a/file");
	bed_finish(&up, 0);
	assert_int_equal(up.done, 1);
	assert_int_equal(up.counts.files, 1);
	assert_int_equal(up.counts.bytes, size);
	assert_int_equal(up.counts.all_bytes, size);
	bed_assert_object("bucket", "a/file", path);
	bed_begin(&down, in_parts);
	bed_down(&down, "a/file", back, NULL, told);
	bed_finish(&down, 0);
	assert_int_equal(down.done, 1);
	assert_int_equal(down.counts.bytes, size);
	assert_int_equal(down.counts.all_bytes, size);
	bed_assert_same(path, back);
	assert_int_equal(stat(back, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_int_equal(bed_left("uploads"), 0);
	/* "file", "back" and the folder of the notes, which is empty */
	assert_int_equal(bed_names(".", false), 3);
	assert_int_equal(bed_names(".state", false), 0);
}

TEST(a_small_file_goes_up_and_down)
{
	umask(022);
	goes_up_and_down(SMALL, SMALL);
	assert_int_equal(bed_count("PutObject", 0), 1);
	assert_int_equal(bed_count("GetObject", 0), 1);
}

TEST(an_empty_file_goes_up_and_down)
{
	goes_up_and_down(0, 0);
}

TEST(a_file_beyond_memory_s_share_goes_up_and_down)
{
	goes_up_and_down(3 << 20, -1);
}

TEST(a_large_file_goes_in_parts_and_ranges)
{
	goes_up_and_down(LARGE, LARGE);
	assert_int_equal(bed_count("UploadPart", 0), 3);
	assert_int_equal(bed_count("CompleteMultipartUpload", 0), 1);
	assert_int_equal(bed_count("GetObject", 0), 3);
}

TEST(sizes_that_are_not_known_or_wrong_do_no_harm)
{
	gpc_autostr *path = bed_put("large", LARGE), *back = bed_path("back");
	static const int64_t told[] = {-1, 0, 100, LARGE - 1, LARGE + 1, 3 * LARGE};

	for (size_t i = 0; i < COUNT(told); i++) {
		struct bed_run run = {0};

		bed_begin(&run, in_parts);
		bed_down(&run, "large", back, NULL, told[i]);
		bed_across(&run, "large", "copy", told[i]);
		bed_finish(&run, 0);
		assert_int_equal(run.done, 2);
		assert_int_equal(run.counts.bytes, 2 * LARGE);
		bed_assert_same(path, back);
		bed_assert_object("other", "copy", path);
		assert_int_equal(unlink(back), 0);
	}
	assert_int_equal(bed_names(".", true), 1);
}

TEST(objects_go_from_bucket_to_bucket)
{
	static const uint64_t sizes[] = {0, SMALL, LARGE};

	for (size_t i = 0; i < COUNT(sizes); i++) {
		gpc_autostr *path = bed_put("from", sizes[i]);
		struct bed_run run = {0};

		bed_begin(&run, in_parts);
		bed_across(&run, "from", "to", (int64_t)sizes[i]);
		bed_finish(&run, 0);
		assert_int_equal(run.done, 1);
		assert_int_equal(run.counts.bytes, sizes[i]);
		bed_assert_object("other", "to", path);
	}
	assert_int_equal(bed_left("uploads"), 0);
}

TEST(every_service_is_served)
{
	static const char *const names[] = {"oss", "gcs"};

	for (size_t i = 0; i < COUNT(names); i++) {
		gpc_autostr *path = bed_file("file", LARGE), *back = bed_path("back");
		gpc_autostr *small = bed_file("small", SMALL);
		struct bed_run up = {0}, down = {0};

		service = names[i];
		bed_begin(&up, in_parts);
		bed_up(&up, path, "large");
		bed_up(&up, small, "small");
		bed_finish(&up, 0);
		assert_int_equal(up.done, 2);
		bed_begin(&down, in_parts);
		bed_down(&down, "large", back, NULL, LARGE);
		bed_across(&down, "large", "copy", LARGE);
		bed_across(&down, "small", "copy2", SMALL);
		bed_finish(&down, 0);
		if (down.failed)
			fail_msg("%s: %s", names[i], down.err.msg);
		assert_int_equal(down.done, 3);
		bed_assert_same(path, back);
		bed_assert_object("other", "copy", path);
		bed_assert_object("other", "copy2", small);
		assert_int_equal(unlink(back), 0);
		bed_tell(&server, "reset", "{}");
		bed_tell(&server, "buckets", "{\"service\": \"gcs\", \"name\": "
			"\"other\"}");
	}
}

/* More than may wait. */
TEST(many_files_go_at_once)
{
	enum { MANY = 700 };
	gpc_autostr *path = bed_file("file", 1000), *root = bed_path("many");
	struct bed_run up = {0}, down = {0};

	bed_begin(&up, (struct gpc_transfer_settings){0});
	gpc_transfer_expect(up.t, MANY, MANY * 1000);
	gpc_transfer_counts(up.t, &up.counts);
	assert_int_equal(up.counts.all_files, MANY);
	for (int i = 0; i < MANY; i++) {
		gpc_autostr *key = gpc_format("d%d/f%d", i % 10, i);

		bed_up(&up, path, key);
	}
	bed_finish(&up, 0);
	assert_int_equal(up.done, MANY);
	assert_int_equal(up.counts.all_files, MANY);
	assert_int_equal(up.counts.all_bytes, MANY * 1000);
	assert_int_equal(bed_left("objects"), MANY);
	bed_begin(&down, (struct gpc_transfer_settings){0});
	for (int i = 0; i < MANY; i++) {
		gpc_autostr *key = gpc_format("d%d/f%d", i % 10, i);

		bed_down(&down, key, root, key, 1000);
	}
	bed_finish(&down, 0);
	assert_int_equal(down.done, MANY);
	for (int i = 0; i < 10; i++) {
		gpc_autostr *name = gpc_format("many/d%d", i);

		assert_int_equal(bed_names(name, false), MANY / 10);
		assert_int_equal(bed_names(name, true), 0);
	}
}

TEST(one_at_a_time_is_enough)
{
	gpc_autostr *path = bed_file("file", LARGE), *back = bed_path("back");
	struct gpc_transfer_settings set = in_parts;
	struct bed_run up = {0}, down = {0};

	set.at_once = 1;
	bed_begin(&up, set);
	bed_up(&up, path, "one");
	bed_up(&up, path, "two");
	bed_finish(&up, 0);
	assert_int_equal(up.done, 2);
	assert_true(up.most_at_once <= 1);
	bed_begin(&down, set);
	bed_down(&down, "one", back, NULL, LARGE);
	bed_across(&down, "two", "three", LARGE);
	bed_finish(&down, 0);
	assert_int_equal(down.done, 2);
	assert_true(down.most_at_once <= 1);
	bed_assert_same(path, back);
	bed_assert_object("other", "three", path);
}

TEST(times_and_modes_are_as_asked)
{
	gpc_autostr *back = bed_path("back");
	struct bed_run run = {0};
	struct gpc_transfer_item item = { .to = { .path = back }, .size = 10,
		.modified_ms = 1234567890123, .mode = 0750 };
	struct stat st;

	free(bed_put("file", 10));
	bed_begin(&run, in_parts);
	item.from = (struct gpc_transfer_end){ .objects = run.bucket, .key = "file" };
	assert_ok(gpc_transfer_add(run.t, &item, &err));
	bed_finish(&run, 0);
	assert_int_equal(stat(back, &st), 0);
	assert_int_equal(st.st_mtim.tv_sec, 1234567890);
	assert_int_equal(st.st_mtim.tv_nsec, 123000000);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(bed_names(".", true), 1);
}

/* --- where downloads land ---------------------------------------------------- */

static int refused(const char *below)
{
	gpc_autostr *root = bed_path("root");
	struct bed_run run = {0};

	bed_begin(&run, in_parts);
	bed_down(&run, "file", root, below, 10);
	bed_finish(&run, 0);
	assert_int_equal(run.done + run.failed, 1);
	if (run.failed)
		assert_has(run.err.msg, "s3://bucket/file");
	return run.failed ? (int)run.err.code : 0;
}

TEST(no_key_leads_out_of_its_folder)
{
	static const char *const bad[] = {"../out", "a/../../out", "/etc/out", "a//b",
		"", ".", "..", "a/.", "./a", "a/", ".gpucloud-part-x",
		"a/.gpucloud-part-0123456789abcdef.notes"};
	gpc_autostr *path = bed_put("file", 10), *link = bed_path("root/link");
	gpc_autostr *target = bed_path("outside"), *file = bed_path("root/to");

	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(refused(bad[i]), GPC_EPROTO);
	assert_int_equal(refused("a/b/c"), 0);
	assert_int_equal(mkdir(target, 0755), 0);
	assert_int_equal(symlink(target, link), 0);
	assert_true(refused("link/file") > 0);
	assert_int_equal(bed_names("outside", false), 0);
	/* A link in the file's own place is replaced, not followed. */
	assert_int_equal(symlink(path, file), 0);
	assert_int_equal(truncate(path, 3), 0);
	assert_int_equal(refused("to"), 0);
	assert_true(readlink(file, (char[8]){0}, 8) < 0);
	assert_int_equal(bed_names("root", true), 0);
}

TEST(what_is_no_file_is_not_replaced)
{
	gpc_autostr *path = bed_put("file", 10), *fifo = bed_path("fifo");
	gpc_autostr *link = bed_path("link"), *copy = bed_path("copy");
	struct bed_run run = {0};
	struct stat st;

	assert_int_equal(mkfifo(fifo, 0644), 0);
	assert_int_equal(symlink(copy, link), 0);
	assert_int_equal(rename(path, copy), 0);
	assert_int_equal(truncate(copy, 5), 0);
	bed_begin(&run, in_parts);
	bed_down(&run, "file", fifo, NULL, 10);
	bed_down(&run, "file", folder, NULL, 10);
	bed_up(&run, fifo, "fifo");
	bed_up(&run, folder, "folder");
	bed_finish(&run, 0);
	assert_int_equal(run.failed, 4);
	memset(&run, 0, sizeof(run));
	/* What the user wrote is followed. */
	bed_begin(&run, in_parts);
	bed_down(&run, "file", link, NULL, 10);
	bed_finish(&run, 0);
	assert_int_equal(run.done, 1);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(copy, &st), 0);
	assert_int_equal(st.st_size, 10);
	assert_int_equal(bed_left("objects"), 1);
}

TEST(an_object_that_stands_for_a_folder_makes_it)
{
	gpc_autostr *root = bed_path("root");
	gpc_autostr *made = bed_path("root/folder");
	struct bed_run run = {0};
	struct stat st;

	free(bed_put("a/full/", 10));
	free(bed_put("a/folder/", 0));
	bed_begin(&run, in_parts);
	bed_down(&run, "a/folder/", root, "folder/", -1);
	bed_down(&run, "a/full/", root, "full/", -1);
	bed_finish(&run, 0);
	assert_int_equal(run.done, 1);
	assert_int_equal(run.failed, 1);
	assert_int_equal(stat(made, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(bed_names("root", false), 1);
}

/* --- how many at a time ------------------------------------------------------ */

/* Looks each second while every request moves `each` bytes in it, but all of them no
 * more than `most`. */
static void move(struct gpc_width *w, int seconds, uint64_t each, uint64_t most,
	int64_t *now, uint64_t *moved)
{
	for (int i = 0; i < seconds; i++) {
		uint64_t n = (uint64_t)w->now * each;

		*now += 1000;
		*moved += n < most ? n : most;
		gpc_width_look(w, *now, w->now, *moved, 0);
	}
}

TEST(width_grows_while_that_helps)
{
	struct gpc_width w;
	uint64_t moved = 0;
	int64_t now = 5;

	gpc_width_init(&w, 0, now);
	assert_int_equal(w.now, 8);
	move(&w, 20, 1000, UINT64_MAX, &now, &moved);
	assert_int_equal(w.now, GPC_WIDTH_MOST);
	gpc_width_init(&w, 20, now);
	move(&w, 20, 1000, UINT64_MAX, &now, &moved);
	assert_int_equal(w.now, 20);
	/* The link bears what 12 move. */
	gpc_width_init(&w, 0, now);
	for (int i = 0; i < 60; i++) {
		move(&w, 1, 1000, 12000, &now, &moved);
		assert_true(w.now >= 8 && w.now <= 27);
	}
}

TEST(width_halves_when_throttled)
{
	struct gpc_width w;
	uint64_t moved = 0;
	int64_t now = 5;

	gpc_width_init(&w, 0, now);
	move(&w, 20, 1000, UINT64_MAX, &now, &moved);
	gpc_width_look(&w, now += 1000, w.now, moved += 64000, 1);
	assert_int_equal(w.now, 32);
	for (int i = 2; i < 40; i++)
		gpc_width_look(&w, now += 5000, w.now, moved += 64000, (uint64_t)i);
	assert_int_equal(w.now, 1);
	move(&w, 60, 1000, UINT64_MAX, &now, &moved);
	assert_int_equal(w.now, GPC_WIDTH_MOST);
}

TEST(width_stays_while_it_is_not_used)
{
	struct gpc_width w;
	int64_t now = 5;

	gpc_width_init(&w, 0, now);
	for (uint64_t i = 1; i < 20; i++)
		gpc_width_look(&w, now += 1000, 3, i * i * 1000, 0);
	assert_int_equal(w.now, 8);
}

#define OVER(name) cmocka_unit_test_setup_teardown(name, bed_reset, bed_clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OVER(a_small_file_goes_up_and_down),
		OVER(an_empty_file_goes_up_and_down),
		OVER(a_file_beyond_memory_s_share_goes_up_and_down),
		OVER(a_large_file_goes_in_parts_and_ranges),
		OVER(sizes_that_are_not_known_or_wrong_do_no_harm),
		OVER(objects_go_from_bucket_to_bucket),
		OVER(every_service_is_served),
		OVER(many_files_go_at_once),
		OVER(one_at_a_time_is_enough),
		OVER(times_and_modes_are_as_asked),
		OVER(no_key_leads_out_of_its_folder),
		OVER(what_is_no_file_is_not_replaced),
		OVER(an_object_that_stands_for_a_folder_makes_it),
		cmocka_unit_test(width_grows_while_that_helps),
		cmocka_unit_test(width_halves_when_throttled),
		cmocka_unit_test(width_stays_while_it_is_not_used),
	};

	return cmocka_run_group_tests(tests, bed_open, bed_close);
}
