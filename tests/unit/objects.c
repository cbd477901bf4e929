/* Objects of buckets under any key, looked for and read, over the stand-in of the three
 * services. */
#include "objects_lab.h"

/* --- URLs ------------------------------------------------------------------------ */

TEST(urls_name_buckets_and_keys)
{
	static const struct { const char *url, *bucket, *key; } cases[] = {
		{"s3://bucket", "s3://bucket/", ""},
		{"s3://bucket/", "s3://bucket/", ""},
		{"s3://bucket/a/b", "s3://bucket/", "a/b"},
		{"s3://bucket//a//b/", "s3://bucket/", "/a//b/"},
		{"s3://bucket/../x", "s3://bucket/", "../x"},
		{"oss://bucket/what?", "oss://bucket/", "what?"},
		{"gs://bucket/a?b=c", "gs://bucket/", "a?b=c"},
		{"gs://bucket/a?region=x", "gs://bucket/", "a?region=x"},
		{"s3://bucket/a?b=c?region=x", "s3://bucket/", "a?b=c"},
		{"s3://bucket/a?region=x&profile=y", "s3://bucket/", "a"},
		{"s3://bucket?endpoint=http://127.0.0.1:1/x", "s3://bucket/", ""},
		{"s3://bucket/100%25 #1", "s3://bucket/", "100%25 #1"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autoptr(gpc_objects) *o = NULL;
		gpc_autostr *key = NULL, *name = NULL;

		assert_true(gpc_objects_is_url(cases[i].url));
		assert_ok(gpc_objects_open(cases[i].url, bed.net, NULL, NULL, &o,
			&key, &err));
		assert_string_equal(key, cases[i].key);
		name = gpc_objects_name(o, "");
		assert_string_equal(name, cases[i].bucket);
	}
}

TEST(bad_urls_are_refused)
{
	static const char *const cases[] = { "s3://", "s3:///key", "file:///x",
		"bucket/key", "s3://b/", "s3://bucket?what=x", "s3://bucket?x",
		"s3://bucket/k?region=", "http://bucket/k", "mem://x" };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct gpc_objects *o = NULL;
		char *key = NULL;

		if (gpc_objects_open(cases[i], bed.net, NULL, NULL, &o, &key,
			&err) != -GPC_ECONFIG)
			fail_msg("%s was taken", cases[i]);
	}
	assert_false(gpc_objects_is_url("file:///x"));
	assert_false(gpc_objects_is_url("a/b"));
}

/* --- keys ------------------------------------------------------------------------- */

static void round_trip(struct gpc_objects *o, const char *key)
{
	gpc_auto(outcome) struct outcome out = {0};
	gpc_auto(gpc_strv) struct gpc_strv found = {0};
	struct gpc_object_info info;
	gpc_autostr *kept = NULL;
	gpc_autostr *shown = gpc_str_printable(key, strlen(key));

	put(o, key, key);
	if (gpc_objects_head(o, key, &info, &kept, &err) != 0)
		fail_msg("\"%s\": %s", shown, err.msg);
	assert_int_equal(info.size, strlen(key));
	assert_ok(get_range(o, key, 0, -1, NULL, &out));
	assert_string_equal(gpc_buf_str(&out.body), key);
	assert_ok(gpc_objects_list(o, key, NULL, NULL, collect, &found, &err));
	if (found.n < 1 || !gpc_eq(found.v[0], key))
		fail_msg("\"%s\" is not listed", shown);
}

TEST(any_key_is_written_read_and_listed)
{
	char longest[1025];

	memset(longest, 'k', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (int kind = 0; kind < KINDS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_auto(gpc_strv) struct gpc_strv want = {0}, found = {0};

		for (size_t i = 0; i < COUNT(keys) + COUNT(more_keys); i++) {
			const char *key = i < COUNT(keys) ? keys[i] :
				more_keys[i - COUNT(keys)];

			if (!can_have(kind, key))
				continue;
			if (kind == OSS && (*key == '/' || *key == '\\'))
				continue;
			round_trip(o, key);
			gpc_strv_add(&want, key);
		}
		if (kind != OSS) {
			round_trip(o, longest);
			gpc_strv_add(&want, longest);
		}
		gpc_strv_sort(&want);
		assert_ok(gpc_objects_list(o, NULL, NULL, NULL, collect, &found,
			&err));
		assert_int_equal(found.n, want.n);
		for (size_t i = 0; i < want.n; i++)
			assert_string_equal(found.v[i], want.v[i]);
	}
}

TEST(keys_that_no_service_takes_are_refused_here)
{
	gpc_autoptr(gpc_objects) *o = open_kind(S3);
	struct gpc_object_info info;
	gpc_autostr *kept = NULL;
	char longer[1026];

	memset(longer, 'k', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_fails(gpc_objects_head(o, "", &info, &kept, &err), GPC_EPROTO);
	assert_fails(gpc_objects_head(o, longer, &info, &kept, &err), GPC_EPROTO);
	assert_has(err.msg, "1024");
	assert_fails(gpc_objects_head(o, "a\xff", &info, &kept, &err), GPC_EPROTO);
	assert_has(err.msg, "a\\xff");
}

/* --- lists ------------------------------------------------------------------------ */

TEST(lists_have_prefixes_and_common_prefixes)
{
	static const char *const names[] = { "a", "a b/1", "a b/2", "a/", "a/x",
		"a/y/z", "a0", "b//1", "b//2", "\xc3\xa9/1" };

	for (int kind = 0; kind < KINDS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);

		for (size_t i = 0; i < COUNT(names); i++)
			put(o, names[i], "x");
		LISTS(o, NULL, NULL, "/", "a|a b/|a/|a0|b/|\xc3\xa9/");
		LISTS(o, "a/", NULL, "/", "a/|a/x|a/y/");
		LISTS(o, "b/", NULL, "/", "b//");
		LISTS(o, "a", NULL, NULL, "a|a b/1|a b/2|a/|a/x|a/y/z|a0");
		LISTS(o, "a", "a/", NULL, "a/x|a/y/z|a0");
		LISTS(o, NULL, "a/", "/", "a0|b/|\xc3\xa9/");
		LISTS(o, "nothing", NULL, "/", "");
	}
}

static int count(void *arg, const char *key, const struct gpc_object_info *info)
{
	(void)key;
	(void)info;
	return ++*(int *)arg == 2500 ? GPC_LIST_NO_MEMORY : 0;
}

static int stop_soon(void *arg, const char *key, const struct gpc_object_info *info)
{
	(void)key;
	(void)info;
	return ++*(int *)arg == 3;
}

TEST(long_lists_come_in_pages)
{
	for (int kind = 0; kind < KINDS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_autostr *text = gpc_format("{\"service\": \"%s\", \"bucket\": "
			"\"bucket\", \"prefix\": \"p/\", \"count\": 2400, "
			"\"size\": 1}", services[kind]);
		int n = 0;

		bed_tell(&bed, "objects", text);
		put(o, "a", "x");
		put(o, "z/1", "x");
		assert_ok(gpc_objects_list(o, "p/", NULL, NULL, count, &n, &err));
		assert_int_equal(n, 2400);
		n = 0;
		assert_ok(gpc_objects_list(o, NULL, NULL, NULL, stop_soon, &n,
			&err));
		assert_int_equal(n, 3);
		LISTS(o, NULL, NULL, "/", "a|p/|z/");
		n = 2400;
		assert_fails(gpc_objects_list(o, NULL, NULL, NULL, count, &n,
			&err), GPC_EIO);
	}
}

static int stop_in_third(void *arg, const char *key, const struct gpc_object_info *info)
{
	(void)key;
	(void)info;
	return ++*(int *)arg == 2100;
}

static int stop_in_second(void *arg, const char *key, const struct gpc_object_info *info)
{
	(void)key;
	(void)info;
	return ++*(int *)arg == 1500;
}

/* From the second page on, while its objects are given: what has come of that is
 * dropped with the list, and asked for again where it failed. */
TEST(pages_are_asked_for_ahead)
{
	gpc_autoptr(gpc_objects) *o = open_kind(S3);
	int n = 0;

	bed_tell(&bed, "objects", "{\"service\": \"s3\", \"bucket\": \"bucket\", "
		"\"prefix\": \"p/\", \"count\": 4400, \"size\": 1}");
	for (int nth = 3; nth <= 5; nth++) {
		gpc_autostr *more = gpc_format("\"nth\": %d, \"do\": \"error\", "
			"\"status\": 403, \"code\": \"AccessDenied\"", nth);
		int all = -1000000;

		fault(S3, "ListObjectsV2", more);
		assert_ok(gpc_objects_list(o, "p/", NULL, NULL, count, &all, &err));
		assert_int_equal(all + 1000000, 4400);
		all_faults_used();
	}
	/* the first two have nobody who asks again */
	fault(S3, "ListObjectsV2", "\"nth\": 2, \"do\": \"error\", \"status\": 403, "
		"\"code\": \"AccessDenied\"");
	assert_fails(gpc_objects_list(o, "p/", NULL, NULL, count, &n, &err),
		GPC_EAUTH);
	/* Last, because what they drop may reach the server late, and would count as
	 * a request of the faults. */
	n = 0;
	assert_ok(gpc_objects_list(o, "p/", NULL, NULL, stop_in_second, &n, &err));
	assert_int_equal(n, 1500);
	n = 0;
	assert_ok(gpc_objects_list(o, "p/", NULL, NULL, stop_in_third, &n, &err));
	assert_int_equal(n, 2100);
}

/* --- what is known of an object ------------------------------------------------------ */

TEST(info_tells_size_version_class_and_sum)
{
	static const char *const classes[KINDS] = { "STANDARD_IA", "IA",
		"NEARLINE" };

	for (int kind = 0; kind < KINDS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		const struct gpc_object_options options = {
			.storage_class = classes[kind] };
		gpc_auto(outcome) struct outcome out = {0}, got = {0};
		struct gpc_object_info info;
		gpc_autostr *kept = NULL;

		assert_ok(put_with(o, "k", "123456789", &options, &out));
		assert_ok(gpc_objects_head(o, "k", &info, &kept, &err));
		assert_int_equal(info.size, 9);
		assert_true(info.modified_ms > 0);
		assert_non_null(info.version);
		assert_string_equal(info.storage_class, classes[kind]);
		assert_true(gpc_objects_sums(o));
		assert_true(info.has_sum);
		assert_true(info.sum == gpc_objects_sum(o, 0, "123456789", 9));
		assert_true(info.sum == out.result.sum);
		assert_true(info.sum == gpc_objects_sum_join(o,
			gpc_objects_sum(o, 0, "1234", 4),
			gpc_objects_sum(o, 0, "56789", 5), 5));
		assert_ok(get_range(o, "k", 2, 3, info.version, &got));
		assert_string_equal(gpc_buf_str(&got.body), "345");
		assert_int_equal(got.result.info.size, 9);
		assert_string_equal(got.version, info.version);
	}
}

TEST(unknown_classes_are_refused_with_those_that_are)
{
	const struct gpc_object_options options = { .storage_class = "FROZEN" };
	gpc_autoptr(gpc_objects) *o = open_kind(S3);
	gpc_auto(outcome) struct outcome out = {0};

	bed_tell(&bed, "faults", "{\"service\": \"s3\", \"operation\": "
		"\"PutObject\", \"do\": \"error\", \"status\": 400, \"code\": "
		"\"InvalidStorageClass\"}");
	assert_fails(put_with(o, "k", "x", &options, &out), GPC_EPROTO);
	assert_has(err.hint, "STANDARD_IA");
	assert_true(err.request_id[0] != '\0');
}

TEST(pins_hold)
{
	for (int kind = 0; kind < KINDS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_auto(outcome) struct outcome a = {0}, b = {0}, c = {0}, d = {0};

		put(o, "k", "first");
		assert_ok(get_range(o, "k", 0, -1, NULL, &a));
		put(o, "k", "other");
		assert_fails(get_range(o, "k", 0, 3, a.version, &b), GPC_ECONFLICT);
		assert_int_equal(b.body.len, 0);
		assert_fails(get_range(o, "k", 0, 0, a.version, &c), GPC_ECONFLICT);
		assert_ok(get_range(o, "k", 7, -1, NULL, &d));
		assert_int_equal(d.body.len, 0);
		assert_int_equal(d.result.info.size, 5);
		assert_int_equal(d.heads, 1);
	}
}

TEST(gets_go_on_after_a_break)
{
	enum { SIZE = 200000 };
	gpc_autostr *text = gpc_array(SIZE + 1, 1);

	for (int i = 0; i < SIZE; i++)
		text[i] = (char)('a' + i * 7 % 26);
	for (int kind = 0; kind < KINDS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_auto(outcome) struct outcome a = {0}, b = {0};
		gpc_autostr *cut = gpc_format("{\"service\": \"%s\", \"operation\": "
			"\"GetObject\", \"do\": \"truncate\", \"bytes\": 70000}",
			services[kind]);
		gpc_autostr *touch = gpc_format("{\"service\": \"%s\", "
			"\"operation\": \"GetObject\", \"do\": \"truncate\", "
			"\"bytes\": 100}", services[kind]);

		put(o, "k", text);
		bed_tell(&bed, "faults", cut);
		assert_ok(get_range(o, "k", 1000, 150000, NULL, &a));
		assert_int_equal(a.body.len, 150000);
		assert_memory_equal(a.body.data, text + 1000, 150000);
		bed_tell(&bed, "faults", touch);
		assert_ok(get_range(o, "k", 0, -1, NULL, &b));
		assert_string_equal(gpc_buf_str(&b.body), text);
	}
}

TEST(gets_end_when_the_object_changes)
{
	enum { SIZE = 200000 };
	gpc_autostr *text = gpc_array(SIZE + 1, 1);

	memset(text, 'a', SIZE);
	for (int kind = 0; kind < KINDS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_auto(outcome) struct outcome out = {0};

		put(o, "k", text);
		fault(kind, "GetObject", "\"do\": \"touch\", \"bytes\": 70000");
		assert_fails(get_range(o, "k", 0, -1, NULL, &out), GPC_ECONFLICT);
		assert_int_equal(out.heads, 1);
		all_faults_used();
	}
}

TEST(missing_buckets_are_not_missing_keys)
{
	for (int kind = 0; kind < KINDS; kind++) {
		const char *const servers[KINDS] = { bed.s3, bed.oss, bed.gcs };
		static const char *const schemes[KINDS] = { "s3", "oss", "gs" };
		gpc_autoptr(gpc_objects) *o = open_kind(kind), *none = NULL;
		gpc_autostr *url = gpc_format("%s://no-such-bucket?endpoint=%s",
			schemes[kind], servers[kind]), *key = NULL;
		struct gpc_object_info info;
		gpc_autostr *kept = NULL;

		assert_fails(gpc_objects_head(o, "k", &info, &kept, &err),
			GPC_ENOTFOUND);
		assert_ok(gpc_objects_open(url, bed.net, NULL, NULL, &none, &key,
			&err));
		assert_fails(gpc_objects_head(none, "k", &info, &kept, &err),
			GPC_ECONFIG);
		assert_has(err.msg, "no-such-bucket");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_name_buckets_and_keys),
		cmocka_unit_test(bad_urls_are_refused),
		OVER_SERVERS(any_key_is_written_read_and_listed),
		OVER_SERVERS(keys_that_no_service_takes_are_refused_here),
		OVER_SERVERS(lists_have_prefixes_and_common_prefixes),
		OVER_SERVERS(long_lists_come_in_pages),
		OVER_SERVERS(pages_are_asked_for_ahead),
		OVER_SERVERS(info_tells_size_version_class_and_sum),
		OVER_SERVERS(unknown_classes_are_refused_with_those_that_are),
		OVER_SERVERS(pins_hold),
		OVER_SERVERS(gets_go_on_after_a_break),
		OVER_SERVERS(gets_end_when_the_object_changes),
		OVER_SERVERS(missing_buckets_are_not_missing_keys),
	};

	return cmocka_run_group_tests(tests, start, end);
}
