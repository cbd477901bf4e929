/* Saving snapshots: trees go to a store and come back the same; equal content
 * gives equal blobs; what is unchanged is not read; what fails leaves nothing
 * behind. */
#include "snapshot_tree.h"

#include "store/fault.h"

static void test_round_trip(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0};
	gpc_autoptr(gpc_json) *head = NULL;
	struct gpc_error err = {0};

	(void)state;
	make_tree(true);
	save_with((struct gpc_save_options){.threads = 2}, 0, &r);
	assert_true(r.quiet);
	assert_int_equal(gpc_json_get_int(r.head, "files", 0), r.n_files);
	assert_int_equal(gpc_json_get_int(r.head, "bytes", 0), r.n_bytes);
	if (gpc_snapshot_get_head(store, "blobs/", r.head_blob, &head, &err) < 0)
		fail_msg("%s", err.msg);
	must_restore(head, "out/deep", false);
	same_trees("in", "out/deep");
	no_temporary_files("out");
	no_temporary_files("tmp");
	assert_int_equal(gpc_snapshot_get_head(store, "blobs/",
		"0000000000000000000000000000000000000000000000000000000000000000",
		&head, &err), -GPC_ENOTFOUND);
	assert_int_equal(gpc_snapshot_get_head(store, "blobs/", "../x", &head,
		&err), -GPC_EPROTO);
}

/* --- equal blobs --------------------------------------------------------- */
static size_t count_new(struct gpc_map *before, struct gpc_map *after)
{
	size_t n = 0;

	for (size_t i = 0; i < after->n; i++)
		n += !gpc_map_has(before, after->entries[i].key);
	return n;
}

static void test_threads_change_nothing(void **state)
{
	static const unsigned threads[] = {1, 8, 2};
	char first[65] = "";

	(void)state;
	make_tree(true);
	for (size_t i = 0; i < lean(3, 2); i++) {
		gpc_auto(gpc_save_result) struct gpc_save_result r = {0};

		save_with((struct gpc_save_options){.threads = threads[i]}, 0, &r);
		if (i == 0)
			memcpy(first, r.head_blob, sizeof(first));
		assert_string_equal(r.head_blob, first);
		assert_int_equal(i == 0, r.sent_blobs > 0);
	}
}

/* Parts of one text: to make each anew would take longer than to save them. */
static void make_sources(int n)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0};

	while (text.len < 256 << 10)
		gpc_buf_addf(&text, "step %llu loss 0.%llu\n",
			(unsigned long long)next_random() % 1000,
			(unsigned long long)next_random() % 10000);
	for (int i = 0; i < n; i++) {
		gpc_autostr *path = gpc_format("in/d%d/f%d.py", i % 37, i);
		size_t size = 2000 + next_random() % 30000;

		put_bytes(path, text.data + next_random() % (text.len - size),
			size, 0644);
	}
}

static void test_an_edit_changes_one_pack(void **state)
{
	gpc_auto(gpc_map) struct gpc_map before = {0}, after = {0}, third = {0};
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0};

	(void)state;
	make_sources((int)lean(4000, 2000));
	save_with((struct gpc_save_options){0}, 0, &r);
	blobs_of(r.head, &before);
	assert_true(before.n >= lean(5, 3));
	put("in/d7/f7.py", "edited\n");
	save_with((struct gpc_save_options){0}, 0, &r);
	blobs_of(r.head, &after);
	/* the pack and the list it is in; and the head, which is no member */
	assert_int_equal(count_new(&before, &after), 2);
	assert_int_equal(r.sent_blobs, 3);
	put("in/d7/new.py", "new\n");
	save_with((struct gpc_save_options){0}, 0, &r);
	blobs_of(r.head, &third);
	assert_true(count_new(&after, &third) <= 3);
}

static void test_times_change_lists_alone(void **state)
{
	gpc_auto(gpc_map) struct gpc_map before = {0}, after = {0};
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0};
	gpc_autostr *command = gpc_format("find %s/in -exec touch -d @7 {} +",
		top);

	(void)state;
	make_sources(300);
	save_with((struct gpc_save_options){0}, 0, &r);
	blobs_of(r.head, &before);
	assert_int_equal(system(command), 0);
	save_with((struct gpc_save_options){0}, 0, &r);
	blobs_of(r.head, &after);
	assert_int_equal(count_new(&before, &after), 1);
}

/* --- the cache ------------------------------------------------------------ */
static void test_unchanged_is_not_read(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0}, s = {0};
	gpc_autostr *cache = at("cache/known");
	const struct gpc_save_options o = {.cache_path = cache};

	(void)state;
	make_tree(true);
	save_with(o, 10, &r);
	assert_true(r.read_bytes >= r.n_bytes);
	save_with(o, 10, &s);
	assert_int_equal(s.read_bytes, 0);
	assert_int_equal(s.sent_blobs, 0);
	assert_string_equal(s.head_blob, r.head_blob);
	/* Changed less than two seconds before the scan: read again. */
	save_with(o, -600, &s);
	assert_true(s.read_bytes >= s.n_bytes);
	assert_string_equal(s.head_blob, r.head_blob);
	save_with(o, 10, &s);
	assert_int_equal(s.read_bytes, 0);
	/* A blob that is gone is made again, from its files alone. */
	{
		gpc_autostr *command = gpc_format("find %s/store/blobs -type f "
			"-size +3000k | head -1 | xargs rm", top);

		assert_int_equal(system(command), 0);
	}
	save_with(o, 10, &s);
	assert_int_equal(s.sent_blobs, 1);
	assert_true(s.read_bytes > 0 && s.read_bytes < s.n_bytes);
	must_restore(s.head, "out", false);
	same_trees("in", "out");
}

static void test_a_damaged_cache_is_none(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0};
	gpc_autostr *cache = at("cache/known");
	const struct gpc_save_options o = {.cache_path = cache};

	(void)state;
	make_sources(100);
	save_with(o, 10, &r);
	for (int i = 0; i < 4; i++) {
		gpc_auto(gpc_buf) struct gpc_buf b = {0};

		assert_int_equal(gpc_read_file(cache, 1 << 20, &b, NULL), 0);
		b.data[b.len * (size_t)i / 4 + 3] ^= 1;
		b.len -= i == 2;
		assert_int_equal(gpc_write_file(cache, b.data, b.len, 0600,
			NULL), 0);
		save_with(o, 10, &r);
		assert_true(r.read_bytes >= r.n_bytes);
		save_with(o, 10, &r);
		assert_int_equal(r.read_bytes, 0);
	}
	put("cache/known", "");
	save_with(o, 10, &r);
	assert_true(r.read_bytes > 0);
}

/* --- presence ------------------------------------------------------------- */
static void test_old_blobs_are_renewed(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0};
	gpc_autostr *command = gpc_format("find %s/store/blobs -type f -exec "
		"touch -d '-8 days' {} +", top);

	(void)state;
	make_sources(50);
	save_with((struct gpc_save_options){0}, 0, &r);
	assert_int_equal(r.sent_blobs, 3);
	save_with((struct gpc_save_options){0}, 0, &r);
	assert_int_equal(r.sent_blobs, 0);
	assert_int_equal(system(command), 0);
	save_with((struct gpc_save_options){0}, 0, &r);
	assert_int_equal(r.sent_blobs, 3);
}

static void test_checkpoints_skip_the_base_alone(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result a = {0}, b = {0};
	const char *prefix = "jobs/j/1/blobs/";
	gpc_autoptr(gpc_store) *counting = gpc_store_fault_new(store);
	gpc_auto(gpc_tree) struct gpc_tree t = {0};
	gpc_autostr *out = at("out");

	(void)state;
	put_random("in/model", 33 << 20);
	put("in/step", "1");
	save_with((struct gpc_save_options){.prefix = prefix}, 0, &a);
	assert_int_equal(a.sent_blobs, 6);
	put("in/step", "2");
	scan("in", &t);
	{
		const struct gpc_save_options o = {.prefix = prefix,
			.base = a.head};

		assert_int_equal(gpc_snapshot_save(counting, &t, &o, false, &b,
			NULL), 0);
	}
	assert_int_equal(b.sent_blobs, 2);
	assert_int_equal(gpc_store_fault_count(counting, GPC_FAULT_HEAD), 0);
	assert_int_equal(gpc_snapshot_restore(store, b.head, prefix, out, NULL,
		NULL), 0);
	same_trees("in", "out");
}

static void test_a_lost_base_is_none(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result a = {0}, b = {0};
	const char *prefix = "jobs/j/1/blobs/";
	gpc_autostr *command = gpc_format("rm -r %s/store/jobs/j/1", top);

	(void)state;
	put("in/step", "1");
	save_with((struct gpc_save_options){.prefix = prefix}, 0, &a);
	assert_int_equal(system(command), 0);
	save_with((struct gpc_save_options){.prefix = prefix, .base = a.head}, 0,
		&b);
	assert_int_equal(b.sent_blobs, 3);
}

static void count_calls(void *arg, uint64_t done, uint64_t total)
{
	uint64_t *last = arg;

	assert_true(done >= *last && done <= total);
	*last = done;
}

static void test_empty_and_progress(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0};
	uint64_t last = 0;

	(void)state;
	save_with((struct gpc_save_options){0}, 0, &r);
	assert_int_equal(r.sent_blobs, 1);
	must_restore(r.head, "out", false);
	same_trees("in", "out");
	make_sources(100);
	save_with((struct gpc_save_options){.progress = count_calls,
		.progress_arg = &last}, 0, &r);
	assert_int_equal(last, r.n_bytes);
}

/* --- what goes wrong while saving ----------------------------------------- */
static void grow(void *arg)
{
	gpc_autostr *path = at(arg);
	gpc_autofd fd = open(path, O_WRONLY | O_APPEND);

	assert_int_equal(write(fd, "more", 4), 4);
}

static void shrink(void *arg)
{
	gpc_autostr *path = at(arg);

	assert_int_equal(truncate(path, 10 << 20), 0);
}

static void vanish(void *arg)
{
	gpc_autostr *path = at(arg);

	unlink(path);
}

/* Something happens to the last file when the first blob is stored. */
static void save_disturbed(void (*what)(void *), const char *path,
	unsigned nth, struct gpc_save_result *r)
{
	gpc_autoptr(gpc_store) *faulty = gpc_store_fault_new(store);
	const struct gpc_fault f = {.op = GPC_FAULT_PUT, .how = GPC_FAULT_CALL,
		.nth = nth, .call = what, .arg = (void *)(uintptr_t)path};
	const struct gpc_save_options o = {.prefix = "blobs/", .threads = 1};
	gpc_auto(gpc_tree) struct gpc_tree t = {0};
	struct gpc_error err = {0};

	gpc_store_fault_add(faulty, &f);
	scan("in", &t);
	if (gpc_snapshot_save(faulty, &t, &o, true, r, &err) < 0)
		fail_msg("%s", err.msg);
	assert_false(r->quiet);
	assert_false(gpc_json_bool_or(gpc_json_get(r->head, "quiet"), true));
}

static void test_files_that_change(void **state)
{
	static const struct {
		const char *path;
		void (*what)(void *);
		unsigned nth;
	} cases[] = {
		{"in/z", grow, 1}, {"in/z", shrink, 1}, {"in/z", vanish, 1},
		{"in/z-last", grow, 1}, {"in/z-last", vanish, 1},
		{"in/z", grow, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		gpc_auto(gpc_save_result) struct gpc_save_result r = {0};
		gpc_autostr *out = gpc_format("out%zu", i);

		put("in/a", "x");
		put_text("in/z", lean(40, 17) << 20);
		put_text("in/z-last", 9 << 20);
		save_disturbed(cases[i].what, cases[i].path, cases[i].nth, &r);
		must_restore(r.head, out, false);
		if (cases[i].nth)
			same_trees("in", out);
		no_temporary_files("tmp");
	}
}

static void test_no_room_for_temporary_files(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0};
	const struct gpc_save_options o = {.prefix = "blobs/", .threads = 8};
	gpc_auto(gpc_tree) struct gpc_tree t = {0};
	struct gpc_error err = {0};

	(void)state;
	put_random("in/a", lean(64, 24) << 20);
	put_random("in/b", lean(64, 24) << 20);
	setenv("TMPDIR", "/nonexistent", 1);
	scan("in", &t);
	if (gpc_snapshot_save(store, &t, &o, true, &r, &err) == 0)
		return;         /* memory was enough, by the order of threads */
	assert_non_null(strstr(err.msg, "/nonexistent"));
	assert_non_null(strstr(err.hint, "TMPDIR"));
}

static void test_store_errors_and_cancel(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0};
	gpc_auto(gpc_tree) struct gpc_tree t = {0};
	struct gpc_cancel stop = {.signal = 15};
	struct gpc_save_options o = {.prefix = "blobs/", .cancel = &stop};
	struct gpc_error err = {0};

	(void)state;
	make_tree(false);
	scan("in", &t);
	assert_int_equal(gpc_snapshot_save(store, &t, &o, true, &r, &err),
		-GPC_ECANCELED);
	o.cancel = NULL;
	for (unsigned nth = 1;; nth++) {
		gpc_autoptr(gpc_store) *inner = NULL, *faulty = NULL;
		const struct gpc_fault f = {.op = GPC_FAULT_PUT,
			.how = GPC_FAULT_BEFORE, .nth = nth, .code = GPC_EIO};
		int result;

		assert_int_equal(gpc_store_open("mem://", GPC_STORE_CREATE, NULL,
			&inner, NULL), 0);
		faulty = gpc_store_fault_new(inner);
		gpc_store_fault_add(faulty, &f);
		result = gpc_snapshot_save(faulty, &t, &o, true, &r, &err);
		if (result == 0)
			break;
		assert_int_equal(result, -GPC_EIO);
		assert_non_null(strstr(err.msg, "blobs/"));
		assert_null(r.head);
	}
	no_temporary_files("tmp");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FRESH(test_round_trip),
		FRESH(test_threads_change_nothing),
		FRESH(test_an_edit_changes_one_pack),
		FRESH(test_times_change_lists_alone),
		FRESH(test_unchanged_is_not_read),
		FRESH(test_a_damaged_cache_is_none),
		FRESH(test_old_blobs_are_renewed),
		FRESH(test_checkpoints_skip_the_base_alone),
		FRESH(test_a_lost_base_is_none),
		FRESH(test_empty_and_progress),
		FRESH(test_files_that_change),
		FRESH(test_no_room_for_temporary_files),
		FRESH(test_store_errors_and_cancel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
