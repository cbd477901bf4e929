/* What tests of uploads in parts share: one of three parts, step by step. */
#pragma once
#include "objects_lab.h"

/* More than what is summed up at once; the stand-in was told that this will do. */
#define PART (320 << 10)

static inline char *begin_upload(struct gpc_objects *o, const char *key,
	const struct gpc_object_options *options)
{
	struct gpc_net_loop *loop = gpc_net_loop_borrow(bed.net);
	gpc_auto(outcome) struct outcome out = {0};

	assert_ok(gpc_objects_begin(o, loop, key, options, done, &out, &err));
	assert_ok(finish(loop, &out));
	assert_non_null(out.text);
	return gpc_steal(&out.text);
}

static inline int end_upload(struct gpc_objects *o, const char *key, const char *upload,
	const struct gpc_object_part *parts, int n,
	const struct gpc_object_options *options)
{
	struct gpc_net_loop *loop = gpc_net_loop_borrow(bed.net);
	gpc_auto(outcome) struct outcome out = {0};

	assert_ok(gpc_objects_end(o, loop, key, upload, parts, n, options, done,
		&out, &err));
	return finish(loop, &out);
}

static inline int drop_upload(struct gpc_objects *o, const char *key, const char *upload)
{
	struct gpc_net_loop *loop = gpc_net_loop_borrow(bed.net);
	gpc_auto(outcome) struct outcome out = {0};

	assert_ok(gpc_objects_drop(o, loop, key, upload, done, &out, &err));
	return finish(loop, &out);
}

/* Three parts, the last one first, all at once. */
static inline void send_parts(struct gpc_objects *o, const char *key, const char *upload,
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

static inline void free_parts(struct gpc_object_part parts[3])
{
	for (int i = 0; i < 3; i++)
		free(parts[i].etag);
}

#define LARGE (2 * PART + 12345)

static inline char *large_data(void)
{
	char *data = gpc_array(LARGE, 1);
	uint32_t x = 1;

	for (size_t i = 0; i < LARGE; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = (char)(x >> 24);
	}
	return data;
}

static inline int uploads_left(int kind)
{
	gpc_autostr *what = gpc_format("objects?service=%s&sha256=0", services[kind]);
	gpc_autoptr(gpc_json) *j = bed_control(&bed, what, NULL);
	const struct gpc_json *u = gpc_json_first(gpc_json_get(j, "uploads"));
	int n = 0;

	for (; u; u = gpc_json_next(u))
		n++;
	return n;
}

static inline void is_there(struct gpc_objects *o, const char *key, const char *data)
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
