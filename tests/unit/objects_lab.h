/* What tests of objects share: buckets of the three kinds, operations that are waited
 * for, faults, and keys of all bytes. */
#pragma once
#include "objects_bed.h"

#include "store/objects.h"

static struct bed bed;


enum { S3, OSS, GS, KINDS };
static const char *const services[KINDS] = { "s3", "oss", "gcs" };

static inline char *url_of(int kind, const char *key)
{
	static const char *const schemes[KINDS] = { "s3", "oss", "gs" };
	const char *const servers[KINDS] = { bed.s3, bed.oss, bed.gcs };

	return gpc_format("%s://bucket/%s?endpoint=%s", schemes[kind], key,
		servers[kind]);
}

static inline struct gpc_objects *open_kind(int kind)
{
	gpc_autostr *url = url_of(kind, ""), *key = NULL;
	struct gpc_objects *o = NULL;

	assert_ok(gpc_objects_open(url, bed.net, NULL, NULL, &o, &key, &err));
	assert_string_equal(key, "");
	return o;
}

static inline int reset(void **state)
{
	(void)state;
	bed_tell(&bed, "reset", "{}");
	bed_tell(&bed, "settings", "{\"min_part\": 1024}");
	return 0;
}

/* --- faults --------------------------------------------------------------------- */

static inline void fault(int kind, const char *operation, const char *more)
{
	gpc_autostr *text = gpc_format("{\"service\": \"%s\", \"operation\": \"%s\", "
		"%s}", services[kind], operation, more);

	bed_tell(&bed, "faults", text);
}

static inline void all_faults_used(void)
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

static inline void outcome_clear(struct outcome *o)
{
	free(o->version);
	free(o->text);
	gpc_buf_clear(&o->body);
	memset(o, 0, sizeof(*o));
}
GPC_CLEANUP_VALUE(outcome);

static inline void done(void *arg, int r, const struct gpc_object_result *result,
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

static inline int keep(void *arg, const void *data, size_t n, struct gpc_error *e)
{
	struct outcome *o = arg;

	(void)e;
	assert_int_equal(o->heads, 1);
	gpc_buf_add(&o->body, data, n);
	return 0;
}

static inline int see(void *arg, const struct gpc_object_info *info, struct gpc_error *e)
{
	struct outcome *o = arg;

	(void)e;
	(void)info;
	o->heads++;
	return 0;
}

static inline int finish(struct gpc_net_loop *loop, struct outcome *o)
{
	assert_ok(gpc_net_loop_run(loop, -1, NULL, &err));
	assert_int_equal(o->n, 1);
	if (o->r < 0)
		err = o->err;
	gpc_net_loop_return(bed.net, loop);
	return o->r;
}

static inline int put_with(struct gpc_objects *o, const char *key, const char *text,
	const struct gpc_object_options *options, struct outcome *out)
{
	struct gpc_net_loop *loop = gpc_net_loop_borrow(bed.net);
	const struct gpc_body body = { .data = text, .size = strlen(text) };

	assert_ok(gpc_objects_put(o, loop, key, &body, options, done, out, &err));
	return finish(loop, out);
}

static inline void put(struct gpc_objects *o, const char *key, const char *text)
{
	gpc_auto(outcome) struct outcome out = {0};

	assert_ok(put_with(o, key, text, NULL, &out));
}

static inline int get_range(struct gpc_objects *o, const char *key, uint64_t offset,
	int64_t length, const char *pin, struct outcome *out)
{
	struct gpc_net_loop *loop = gpc_net_loop_borrow(bed.net);
	const struct gpc_object_get get = { .key = key, .offset = offset,
		.length = length, .pin = pin, .sink = keep, .head = see,
		.arg = out };

	assert_ok(gpc_objects_get(o, loop, &get, done, out, &err));
	return finish(loop, out);
}

static inline int collect(void *arg, const char *key, const struct gpc_object_info *info)
{
	struct gpc_strv *v = arg;

	(void)info;
	gpc_strv_add(v, key);
	return 0;
}

/* "a|b|c/" */
static inline char *list(struct gpc_objects *o, const char *prefix, const char *after,
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

/* --- keys ------------------------------------------------------------------------- */

__attribute__((unused)) static const char *const keys[] = {
	"a b", "a+b", "a%b", "a%2Fb", "a//b", "a/", "a/../b", "a/./b", "..x",
	"?", "a?b=c&d", "#", "a#b", "a;b", "a\\b", "\"", "'", "<a>&amp;", "*", "~",
	"=", ",", ":", "@", "$", "[]{}|^`", "\xc3\xa9t\xc3\xa9",
	"\xe6\x97\xa5\xe6\x9c\xac/\xf0\x9f\x98\x80", "tab\there", "bell\a", "\x01",
	"esc\x1b[2J", "del\x7f", " lead", "trail ", ".hidden", "-x", "%", "%zz",
	"%00", "+", " ", "a/ /b", "\xef\xbf\xbe",
};

static inline bool can_have(int kind, const char *key)
{
	/* its rules: no line ends, and not only dots */
	return kind != GS || (!strpbrk(key, "\r\n") && !gpc_eq(key, ".") &&
		!gpc_eq(key, ".."));
}

__attribute__((unused)) static const char *const more_keys[] = { "/lead", "//", "/", "..", ".", "../x",
	"./x", "a/..", "line\nend", "cr\rlf\n" };

static inline int start(void **state)
{
	(void)state;
	bed_start(&bed);
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	bed_end(&bed);
	return 0;
}

#define OVER_SERVERS(name) cmocka_unit_test_setup(name, reset)
