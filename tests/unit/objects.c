/* Objects of buckets under any key, over the stand-in of the three services. */
#include "objects_bed.h"

#include "store/objects.h"

#include "base/cancel.h"
#include "base/crc.h"

static struct bed bed;

enum { S3, OSS, GS, KINDS };
static const char *const services[KINDS] = { "s3", "oss", "gcs" };

static char *url_of(int kind, const char *key)
{
	static const char *const schemes[KINDS] = { "s3", "oss", "gs" };
	const char *const servers[KINDS] = { bed.s3, bed.oss, bed.gcs };

	return gpc_format("%s://bucket/%s?endpoint=%s", schemes[kind], key,
		servers[kind]);
}

static struct gpc_objects *open_kind(int kind)
{
	gpc_autostr *url = url_of(kind, ""), *key = NULL;
	struct gpc_objects *o = NULL;

	assert_ok(gpc_objects_open(url, bed.net, NULL, NULL, &o, &key, &err));
	assert_string_equal(key, "");
	return o;
}

static int reset(void **state)
{
	(void)state;
	bed_tell(&bed, "reset", "{}");
	bed_tell(&bed, "settings", "{\"min_part\": 1024}");
	return 0;
}

/* --- faults --------------------------------------------------------------------- */

static void fault(int kind, const char *operation, const char *more)
{
	gpc_autostr *text = gpc_format("{\"service\": \"%s\", \"operation\": \"%s\", "
		"%s}", services[kind], operation, more);

	bed_tell(&bed, "faults", text);
}

static void all_faults_used(void)
{
	gpc_autoptr(gpc_json) *j = bed_control(&bed, "faults", NULL);
	const struct gpc_json *f = gpc_json_first(gpc_json_get(j, "faults"));

	for (; f; f = gpc_json_next(f))
		assert_true(gpc_json_get_int(f, "used", 0) > 0);
}

/* --- one operation, waited for ------------------------------------------------ */

struct outcome {
	int n, r;
	struct gpc_error err;
	struct gpc_object_result result;
	char *version, *text;
	struct gpc_buf body;
	int heads;
};

static void outcome_clear(struct outcome *o)
{
	free(o->version);
	free(o->text);
	gpc_buf_clear(&o->body);
	memset(o, 0, sizeof(*o));
}
GPC_CLEANUP_VALUE(outcome);

static void done(void *arg, int r, const struct gpc_object_result *result,
	const struct gpc_error *e)
{
	struct outcome *o = arg;

	o->n++;
	o->r = r;
	if (r < 0)
		o->err = *e;
	o->result = *result;
	gpc_set_str(&o->version, result->info.version);
	gpc_set_str(&o->text, result->text);
}

static int keep(void *arg, const void *data, size_t n, struct gpc_error *e)
{
	struct outcome *o = arg;

	(void)e;
	assert_int_equal(o->heads, 1);
	gpc_buf_add(&o->body, data, n);
	return 0;
}

static int see(void *arg, const struct gpc_object_info *info, struct gpc_error *e)
{
	struct outcome *o = arg;

	(void)e;
	(void)info;
	o->heads++;
	return 0;
}

static int finish(struct gpc_net_loop *loop, struct outcome *o)
{
	assert_ok(gpc_net_loop_run(loop, -1, NULL, &err));
	assert_int_equal(o->n, 1);
	if (o->r < 0)
		err = o->err;
	gpc_net_loop_return(bed.net, loop);
	return o->r;
}

static int put_with(struct gpc_objects *o, const char *key, const char *text,
	const struct gpc_object_options *options, struct outcome *out)
{
	struct gpc_net_loop *loop = gpc_net_loop_borrow(bed.net);
	const struct gpc_body body = { .data = text, .size = strlen(text) };

	assert_ok(gpc_objects_put(o, loop, key, &body, options, done, out, &err));
	return finish(loop, out);
}

static void put(struct gpc_objects *o, const char *key, const char *text)
{
	gpc_auto(outcome) struct outcome out = {0};

	assert_ok(put_with(o, key, text, NULL, &out));
}

static int get_range(struct gpc_objects *o, const char *key, uint64_t offset,
	int64_t length, const char *pin, struct outcome *out)
{
	struct gpc_net_loop *loop = gpc_net_loop_borrow(bed.net);
	const struct gpc_object_get get = { .key = key, .offset = offset,
		.length = length, .pin = pin, .sink = keep, .head = see,
		.arg = out };

	assert_ok(gpc_objects_get(o, loop, &get, done, out, &err));
	return finish(loop, out);
}

static int collect(void *arg, const char *key, const struct gpc_object_info *info)
{
	struct gpc_strv *v = arg;

	(void)info;
	gpc_strv_add(v, key);
	return 0;
}

/* "a|b|c/" */
static char *list(struct gpc_objects *o, const char *prefix, const char *after,
	const char *delimiter)
{
	gpc_auto(gpc_strv) struct gpc_strv v = {0};

	assert_ok(gpc_objects_list(o, prefix, after, delimiter, collect, &v, &err));
	return gpc_strv_join(&v, "|");
}

#define LISTS(o, prefix, after, delimiter, want) \
	do { \
		gpc_autostr *found_ = list(o, prefix, after, delimiter); \
		assert_string_equal(found_, want); \
	} while (0)

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

static const char *const keys[] = {
	"a b", "a+b", "a%b", "a%2Fb", "a//b", "a/", "a/../b", "a/./b", "..x",
	"?", "a?b=c&d", "#", "a#b", "a;b", "a\\b", "\"", "'", "<a>&amp;", "*", "~",
	"=", ",", ":", "@", "$", "[]{}|^`", "\xc3\xa9t\xc3\xa9",
	"\xe6\x97\xa5\xe6\x9c\xac/\xf0\x9f\x98\x80", "tab\there", "bell\a", "\x01",
	"esc\x1b[2J", "del\x7f", " lead", "trail ", ".hidden", "-x", "%", "%zz",
	"%00", "+", " ", "a/ /b", "\xef\xbf\xbe",
};

static bool can_have(int kind, const char *key)
{
	/* its rules: no line ends, and not only dots */
	return kind != GS || (!strpbrk(key, "\r\n") && !gpc_eq(key, ".") &&
		!gpc_eq(key, ".."));
}

static const char *const more_keys[] = { "/lead", "//", "/", "..", ".", "../x",
	"./x", "a/..", "line\nend", "cr\rlf\n" };

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

/* --- puts --------------------------------------------------------------------------- */

TEST(puts_if_absent_have_one_winner)
{
	const struct gpc_object_options options = { .if_absent = true };

	for (int kind = 0; kind < KINDS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_auto(outcome) struct outcome a = {0}, b = {0}, c = {0};
		gpc_autostr *lost = gpc_format("{\"service\": \"%s\", "
			"\"operation\": \"PutObject\", \"do\": \"reset\", "
			"\"effect\": true}", services[kind]);

		assert_ok(put_with(o, "k", "one", &options, &a));
		assert_fails(put_with(o, "k", "two", &options, &b), GPC_ECONFLICT);
		bed_tell(&bed, "faults", lost);
		assert_ok(put_with(o, "l", "one", &options, &c));
	}
}

/* --- uploads in parts ------------------------------------------------------------------ */

#define PART (256 << 10)         /* the stand-in was told that this will do */

static char *begin_upload(struct gpc_objects *o, const char *key,
	const struct gpc_object_options *options)
{
	struct gpc_net_loop *loop = gpc_net_loop_borrow(bed.net);
	gpc_auto(outcome) struct outcome out = {0};

	assert_ok(gpc_objects_begin(o, loop, key, options, done, &out, &err));
	assert_ok(finish(loop, &out));
	assert_non_null(out.text);
	return gpc_steal(&out.text);
}

static int end_upload(struct gpc_objects *o, const char *key, const char *upload,
	const struct gpc_object_part *parts, int n,
	const struct gpc_object_options *options)
{
	struct gpc_net_loop *loop = gpc_net_loop_borrow(bed.net);
	gpc_auto(outcome) struct outcome out = {0};

	assert_ok(gpc_objects_end(o, loop, key, upload, parts, n, options, done,
		&out, &err));
	return finish(loop, &out);
}

static int drop_upload(struct gpc_objects *o, const char *key, const char *upload)
{
	struct gpc_net_loop *loop = gpc_net_loop_borrow(bed.net);
	gpc_auto(outcome) struct outcome out = {0};

	assert_ok(gpc_objects_drop(o, loop, key, upload, done, &out, &err));
	return finish(loop, &out);
}

/* Three parts, the last one first, all at once. */
static void send_parts(struct gpc_objects *o, const char *key, const char *upload,
	const char *data, size_t size, struct gpc_object_part parts[3])
{
	struct gpc_net_loop *loop = gpc_net_loop_borrow(bed.net);
	struct outcome out[3] = {0};

	for (int i = 2; i >= 0; i--) {
		size_t at = (size_t)i * PART;
		const struct gpc_body body = { .data = data + at,
			.size = i < 2 ? PART : size - at };

		parts[i].size = body.size;
		assert_ok(gpc_objects_part(o, loop, key, upload, i + 1, &body, done,
			&out[i], &err));
	}
	assert_ok(gpc_net_loop_run(loop, -1, NULL, &err));
	gpc_net_loop_return(bed.net, loop);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(out[i].n, 1);
		if (out[i].r < 0)
			fail_msg("part %d: %s", i + 1, out[i].err.msg);
		parts[i].etag = gpc_steal(&out[i].text);
		parts[i].sum = out[i].result.sum;
		assert_true(parts[i].sum == gpc_objects_sum(o, 0,
			data + (size_t)i * PART, parts[i].size));
		outcome_clear(&out[i]);
	}
}

static void free_parts(struct gpc_object_part parts[3])
{
	for (int i = 0; i < 3; i++)
		free(parts[i].etag);
}

#define LARGE (2 * PART + 12345)

static char *large_data(void)
{
	char *data = gpc_array(LARGE, 1);
	uint32_t x = 1;

	for (size_t i = 0; i < LARGE; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = (char)(x >> 24);
	}
	return data;
}

static int uploads_left(int kind)
{
	gpc_autostr *what = gpc_format("objects?service=%s&sha256=0", services[kind]);
	gpc_autoptr(gpc_json) *j = bed_control(&bed, what, NULL);
	const struct gpc_json *u = gpc_json_first(gpc_json_get(j, "uploads"));
	int n = 0;

	for (; u; u = gpc_json_next(u))
		n++;
	return n;
}

static void is_there(struct gpc_objects *o, const char *key, const char *data)
{
	struct gpc_object_info info;
	gpc_autostr *kept = NULL;
	gpc_auto(outcome) struct outcome out = {0};

	assert_ok(gpc_objects_head(o, key, &info, &kept, &err));
	assert_int_equal(info.size, LARGE);
	assert_true(info.has_sum);
	assert_true(info.sum == gpc_objects_sum(o, 0, data, LARGE));
	assert_ok(get_range(o, key, 0, -1, NULL, &out));
	assert_int_equal(out.body.len, LARGE);
	assert_memory_equal(out.body.data, data, LARGE);
}

TEST(parts_come_in_any_order)
{
	static const char *const classes[KINDS] = { "STANDARD_IA", "IA",
		"NEARLINE" };
	/* XML cannot say the first; the second is all that it can */
	static const char *const nasty[] = { "\x01\x1b /../a+b%", "<&>\"'" };
	gpc_autostr *data = large_data();

	for (int kind = 0; kind < KINDS; kind++)
		for (size_t i = 0; i < COUNT(nasty); i++) {
			gpc_autoptr(gpc_objects) *o = open_kind(kind);
			const struct gpc_object_options options = {
				.storage_class = classes[kind] };
			gpc_autostr *upload = begin_upload(o, nasty[i], &options);
			struct gpc_object_part parts[3] = {0};
			struct gpc_object_info info;
			gpc_autostr *kept = NULL;

			send_parts(o, nasty[i], upload, data, LARGE, parts);
			assert_ok(end_upload(o, nasty[i], upload, parts, 3, NULL));
			is_there(o, nasty[i], data);
			assert_ok(gpc_objects_head(o, nasty[i], &info, &kept, &err));
			assert_string_equal(info.storage_class, classes[kind]);
			assert_int_equal(uploads_left(kind), 0);
			free_parts(parts);
		}
}

TEST(lost_answers_of_uploads_are_settled)
{
	static const char *const lost[] = {
		"\"do\": \"reset\", \"effect\": true",
		"\"do\": \"reset\"",
		"\"do\": \"error\", \"status\": 500, \"effect\": true",
	};
	static const char *const operations[] = { "CreateMultipartUpload",
		"UploadPart", "CompleteMultipartUpload" };
	gpc_autostr *data = large_data();

	for (int kind = 0; kind < KINDS; kind++)
		for (size_t i = 0; i < COUNT(lost); i++)
			for (size_t k = 0; k < COUNT(operations); k++) {
				gpc_autoptr(gpc_objects) *o = open_kind(kind);
				struct gpc_object_part parts[3] = {0};
				gpc_autostr *upload = NULL;

				fault(kind, operations[k], lost[i]);
				upload = begin_upload(o, "k", NULL);
				send_parts(o, "k", upload, data, LARGE, parts);
				assert_ok(end_upload(o, "k", upload, parts, 3, NULL));
				is_there(o, "k", data);
				assert_int_equal(uploads_left(kind), 0);
				all_faults_used();
				free_parts(parts);
				reset(NULL);
			}
}

TEST(uploads_of_others_are_left_alone)
{
	gpc_autostr *data = large_data();

	for (int kind = 0; kind < KINDS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_autostr *theirs = begin_upload(o, "k", NULL), *ours = NULL;
		gpc_autostr *longer = begin_upload(o, "kk", NULL);
		struct gpc_object_part parts[3] = {0};

		send_parts(o, "k", theirs, data, LARGE, parts);
		fault(kind, "CreateMultipartUpload", "\"do\": \"reset\", "
			"\"effect\": true");
		ours = begin_upload(o, "k", NULL);
		assert_int_equal(uploads_left(kind), 3);
		assert_ok(end_upload(o, "k", theirs, parts, 3, NULL));
		assert_ok(drop_upload(o, "k", ours));
		assert_ok(drop_upload(o, "k", ours));
		assert_ok(drop_upload(o, "kk", longer));
		assert_int_equal(uploads_left(kind), 0);
		free_parts(parts);
	}
}

TEST(uploads_if_absent_have_one_winner)
{
	const struct gpc_object_options options = { .if_absent = true };
	gpc_autostr *data = large_data();

	for (int kind = 0; kind < GS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_autostr *a = begin_upload(o, "k", &options);
		gpc_autostr *b = begin_upload(o, "k", &options);
		struct gpc_object_part parts[3] = {0}, others[3] = {0};

		send_parts(o, "k", a, data, LARGE, parts);
		data[1]++;
		send_parts(o, "k", b, data, LARGE, others);
		data[1]--;
		fault(kind, "CompleteMultipartUpload", "\"do\": \"reset\", "
			"\"effect\": true");
		assert_ok(end_upload(o, "k", a, parts, 3, &options));
		assert_fails(end_upload(o, "k", b, others, 3, &options),
			GPC_ECONFLICT);
		assert_ok(drop_upload(o, "k", b));
		is_there(o, "k", data);
		free_parts(parts);
		free_parts(others);
	}
}

TEST(uploads_to_cloud_storage_refuse_if_absent)
{
	const struct gpc_object_options options = { .if_absent = true };
	gpc_autoptr(gpc_objects) *o = open_kind(GS);
	struct gpc_net_loop *loop = gpc_net_loop_borrow(bed.net);
	gpc_auto(outcome) struct outcome out = {0};

	assert_fails(gpc_objects_begin(o, loop, "k", &options, done, &out, &err),
		GPC_EUNSUPPORTED);
	gpc_net_loop_return(bed.net, loop);
	fault(GS, "CreateMultipartUpload", "\"do\": \"error\", \"status\": 501");
	loop = gpc_net_loop_borrow(bed.net);
	assert_ok(gpc_objects_begin(o, loop, "k", NULL, done, &out, &err));
	assert_fails(finish(loop, &out), GPC_EUNSUPPORTED);
	assert_has(err.msg, "XML API");
}

/* --- deletes ---------------------------------------------------------------------------- */

static void refuse(void *arg, const char *key, const struct gpc_error *e)
{
	struct gpc_strv *v = arg;

	assert_true(e->code != 0);
	gpc_strv_add(v, key);
}

static int requests(int kind, const char *operation)
{
	gpc_autoptr(gpc_json) *j = bed_control(&bed, "requests", NULL);
	const struct gpc_json *r = gpc_json_first(gpc_json_get(j, "requests"));
	int n = 0;

	for (; r; r = gpc_json_next(r))
		n += gpc_eq(gpc_json_get_str(r, "service"), services[kind]) &&
			gpc_eq(gpc_json_get_str(r, "operation"), operation);
	return n;
}

TEST(any_key_is_deleted)
{
	for (int kind = 0; kind < KINDS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_auto(gpc_strv) struct gpc_strv doomed = {0};

		for (size_t i = 0; i < COUNT(keys) + COUNT(more_keys); i++) {
			const char *key = i < COUNT(keys) ? keys[i] :
				more_keys[i - COUNT(keys)];

			if (!can_have(kind, key) || (kind == OSS &&
				(*key == '/' || *key == '\\')))
				continue;
			put(o, key, "x");
			gpc_strv_add(&doomed, key);
		}
		put(o, "stays", "x");
		gpc_strv_add(&doomed, "was never there");
		assert_ok(gpc_objects_delete(o, &doomed, NULL, NULL, &err));
		LISTS(o, NULL, NULL, NULL, "stays");
		assert_ok(gpc_objects_delete(o, &doomed, NULL, NULL, &err));
	}
}

static void fill_bucket(int kind, struct gpc_objects *o, struct gpc_strv *keys_of)
{
	gpc_autostr *text = gpc_format("{\"service\": \"%s\", \"bucket\": "
		"\"bucket\", \"prefix\": \"p/\", \"count\": 2500, "
		"\"size\": 1}", services[kind]);

	bed_tell(&bed, "objects", text);
	assert_ok(gpc_objects_list(o, "p/", NULL, NULL, collect, keys_of, &err));
	assert_int_equal(keys_of->n, 2500);
}

TEST(many_are_deleted_but_for_one)
{
	for (int kind = 0; kind < KINDS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_auto(gpc_strv) struct gpc_strv doomed = {0}, left = {0};
		gpc_autostr *more = NULL;

		bed_tell(&bed, "reset", "{}");
		fill_bucket(kind, o, &doomed);
		more = gpc_format("\"do\": \"error\", \"status\": 403, \"code\": "
			"\"AccessDenied\", \"count\": 0, \"prefix\": \"%s\"",
			doomed.v[1234]);
		fault(kind, "DeleteObject", more);
		if (kind != GS) {
			gpc_autostr *of_batch = gpc_format("\"do\": \"keys\", "
				"\"keys\": \"%s\", \"code\": \"AccessDenied\", "
				"\"count\": 0", doomed.v[1234]);

			fault(kind, "DeleteObjects", of_batch);
		}
		assert_fails(gpc_objects_delete(o, &doomed, refuse, &left, &err),
			GPC_EAUTH);
		assert_int_equal(left.n, 1);
		assert_string_equal(left.v[0], doomed.v[1234]);
		LISTS(o, NULL, NULL, NULL, doomed.v[1234]);
		all_faults_used();
		if (kind != GS)
			assert_int_equal(requests(kind, "DeleteObjects"), 3);
	}
}

TEST(servers_without_batches_get_single_deletes)
{
	for (int kind = 0; kind < GS; kind++) {
		gpc_autoptr(gpc_objects) *o = open_kind(kind);
		gpc_auto(gpc_strv) struct gpc_strv doomed = {0};

		for (int i = 0; i < 40; i++) {
			gpc_strv_addf(&doomed, "k%d", i);
			put(o, doomed.v[i], "x");
		}
		fault(kind, "DeleteObjects", "\"do\": \"error\", \"status\": 501, "
			"\"code\": \"NotImplemented\", \"count\": 0");
		assert_ok(gpc_objects_delete(o, &doomed, NULL, NULL, &err));
		LISTS(o, NULL, NULL, NULL, "");
		assert_int_equal(requests(kind, "DeleteObject"), 40);
	}
}

static int start(void **state)
{
	(void)state;
	bed_start(&bed);
	return 0;
}

static int end(void **state)
{
	(void)state;
	bed_end(&bed);
	return 0;
}

#define OVER_SERVERS(name) cmocka_unit_test_setup(name, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_name_buckets_and_keys),
		cmocka_unit_test(bad_urls_are_refused),
		OVER_SERVERS(any_key_is_written_read_and_listed),
		OVER_SERVERS(keys_that_no_service_takes_are_refused_here),
		OVER_SERVERS(lists_have_prefixes_and_common_prefixes),
		OVER_SERVERS(long_lists_come_in_pages),
		OVER_SERVERS(info_tells_size_version_class_and_sum),
		OVER_SERVERS(unknown_classes_are_refused_with_those_that_are),
		OVER_SERVERS(pins_hold),
		OVER_SERVERS(gets_go_on_after_a_break),
		OVER_SERVERS(gets_end_when_the_object_changes),
		OVER_SERVERS(missing_buckets_are_not_missing_keys),
		OVER_SERVERS(puts_if_absent_have_one_winner),
		OVER_SERVERS(parts_come_in_any_order),
		OVER_SERVERS(lost_answers_of_uploads_are_settled),
		OVER_SERVERS(uploads_of_others_are_left_alone),
		OVER_SERVERS(uploads_if_absent_have_one_winner),
		OVER_SERVERS(uploads_to_cloud_storage_refuse_if_absent),
		OVER_SERVERS(any_key_is_deleted),
		OVER_SERVERS(many_are_deleted_but_for_one),
		OVER_SERVERS(servers_without_batches_get_single_deletes),
	};

	return cmocka_run_group_tests(tests, start, end);
}
