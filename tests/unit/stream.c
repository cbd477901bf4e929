/* Streams carry exact bytes through growing objects and through puts, whatever
 * the store does meanwhile. */
#include <stdio.h>

#include "test.h"

#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "record/stream.h"
#include "store/fault.h"

#define FOLDER "jobs/j-abc234/1/0/log/"
#define MIB ((size_t)1 << 20)

static struct gpc_error err;

struct world { struct gpc_store *mem, *s; };

static int set_up(void **state)
{
	struct world *w = gpc_alloc(sizeof(*w));

	assert_ok(gpc_store_open("mem://", 0, NULL, &w->mem, &err));
	w->s = gpc_store_fault_new(w->mem);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	gpc_store_free(w->s);
	gpc_store_free(w->mem);
	free(w);
	return 0;
}

static void puts_only(struct world *w)
{
	w->s->caps &= ~(unsigned)GPC_STORE_APPEND;
}

static int count(void *arg, const struct gpc_object *o)
{
	(void)o;
	++*(int *)arg;
	return 0;
}

static int objects(struct world *w)
{
	int n = 0;

	assert_ok(gpc_store_list(w->mem, FOLDER, NULL, count, &n, &err));
	return n;
}

/* Everything in the stream, read in pieces of at most max bytes. */
static void read_all(struct gpc_stream_reader *r, size_t max, struct gpc_buf *b)
{
	size_t before;

	do {
		before = b->len;
		assert_ok(gpc_stream_read(r, max, b, &err));
		assert_true(b->len - before <= max);
	} while (b->len > before);
}

static void fill(struct gpc_buf *b, size_t n)
{
	uint64_t x = gpc_rand_below(1000000);

	for (size_t i = 0; i < n; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		gpc_buf_addc(b, (char)(x >> 56));
	}
}

/* --- growing objects --------------------------------------------------- */

static void appended_at_once(void **state)
{
	struct world *w = *state;
	gpc_autoptr(gpc_stream_writer) *sw =
		gpc_stream_writer_new(w->s, FOLDER, 10000);
	gpc_autoptr(gpc_stream_reader) *sr =
		gpc_stream_reader_new(w->mem, FOLDER, 0);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int64_t next;
	uint64_t size;

	assert_ok(gpc_stream_tick(sw, 100000, &next, &err));
	assert_true(next == INT64_MAX);
	assert_ok(gpc_stream_read(sr, 100, &b, &err));
	assert_int_equal(b.len, 0);
	assert_ok(gpc_stream_size(w->mem, FOLDER, &size, &err));
	assert_int_equal(size, 0);

	assert_ok(gpc_stream_write(sw, "one\n", 4, &err));
	assert_int_equal(gpc_stream_offset(sw), 4);
	assert_int_equal(gpc_stream_acked(sw), 0);
	assert_ok(gpc_stream_tick(sw, 100000, &next, &err));
	assert_ok(gpc_stream_read(sr, 100, &b, &err));
	assert_string_equal(gpc_buf_str(&b), "one\n");
	assert_ok(gpc_stream_write(sw, "two\n", 4, &err));
	/* Gathered for 50 ms. */
	assert_ok(gpc_stream_tick(sw, 100020, &next, &err));
	assert_int_equal(next, 100050);
	assert_ok(gpc_stream_read(sr, 100, &b, &err));
	assert_int_equal(b.len, 4);
	assert_ok(gpc_stream_tick(sw, 100050, &next, &err));
	assert_ok(gpc_stream_read(sr, 100, &b, &err));
	assert_string_equal(gpc_buf_str(&b), "one\ntwo\n");
	assert_int_equal(next, 101000);
	/* Durable each second. */
	assert_ok(gpc_stream_tick(sw, next, &next, &err));
	assert_int_equal(gpc_stream_acked(sw), 8);
	assert_true(next == INT64_MAX);
	assert_int_equal(objects(w), 1);
	assert_int_equal(gpc_stream_reader_offset(sr), 8);
}

static void new_object_at_4_mib(void **state)
{
	struct world *w = *state;
	gpc_autoptr(gpc_stream_writer) *sw =
		gpc_stream_writer_new(w->s, FOLDER, 10000);
	gpc_auto(gpc_buf) struct gpc_buf in = {0};
	static const size_t maxima[] = { 1000, 65536, 5 * MIB, 100 * MIB };
	uint64_t size;

	fill(&in, 9 * MIB + 17);
	for (size_t at = 0; at < in.len;) {
		size_t n = (size_t)gpc_rand_below(900000) + 1;

		n = n < in.len - at ? n : in.len - at;
		assert_ok(gpc_stream_write(sw, in.data + at, n, &err));
		at += n;
		if (gpc_rand_below(3) == 0)
			assert_ok(gpc_stream_flush(sw, &err));
	}
	assert_ok(gpc_stream_flush(sw, &err));
	assert_int_equal(gpc_stream_acked(sw), in.len);
	assert_int_equal(objects(w), 3);
	assert_ok(gpc_stream_size(w->mem, FOLDER, &size, &err));
	assert_int_equal(size, in.len);
	for (size_t i = 0; i < COUNT(maxima); i++) {
		uint64_t from = i ? gpc_rand_below(in.len) : 0;
		gpc_autoptr(gpc_stream_reader) *sr =
			gpc_stream_reader_new(w->mem, FOLDER, from);
		gpc_auto(gpc_buf) struct gpc_buf out = {0};

		read_all(sr, maxima[i], &out);
		assert_int_equal(out.len, in.len - from);
		assert_memory_equal(out.data, in.data + from, out.len);
	}
}

static void starts_at_any_offset(void **state)
{
	struct world *w = *state;
	gpc_autoptr(gpc_stream_writer) *sw =
		gpc_stream_writer_new(w->s, FOLDER, 0);
	gpc_auto(gpc_buf) struct gpc_buf in = {0};

	puts_only(w);
	gpc_stream_writer_free(gpc_steal(&sw));
	sw = gpc_stream_writer_new(w->s, FOLDER, 0);
	fill(&in, 40);
	for (size_t i = 0; i < in.len; i += 4) {
		assert_ok(gpc_stream_write(sw, in.data + i, 4, &err));
		assert_ok(gpc_stream_flush(sw, &err));
	}
	assert_int_equal(objects(w), 10);
	for (size_t from = 0; from <= in.len + 3; from++) {
		gpc_autoptr(gpc_stream_reader) *sr =
			gpc_stream_reader_new(w->mem, FOLDER, from);
		gpc_auto(gpc_buf) struct gpc_buf out = {0};
		size_t want = from < in.len ? in.len - from : 0;

		read_all(sr, 3, &out);
		assert_int_equal(out.len, want);
		if (want)
			assert_memory_equal(out.data, in.data + from, want);
	}
}

static void follow(void **state)
{
	struct world *w = *state;
	gpc_autoptr(gpc_stream_writer) *sw =
		gpc_stream_writer_new(w->s, FOLDER, 0);
	gpc_autoptr(gpc_stream_reader) *sr =
		gpc_stream_reader_new(w->mem, FOLDER, 0);
	gpc_auto(gpc_buf) struct gpc_buf in = {0}, out = {0};
	size_t sent = 0;
	int64_t now = 1000, next;

	fill(&in, 10 * MIB);
	while (out.len < in.len) {
		size_t n = (size_t)gpc_rand_below(400000);

		n = n < in.len - sent ? n : in.len - sent;
		assert_ok(gpc_stream_write(sw, in.data + sent, n, &err));
		sent += n;
		now += 60;
		assert_ok(gpc_stream_tick(sw, now, &next, &err));
		assert_ok(gpc_stream_read(sr, (size_t)gpc_rand_below(500000),
			&out, &err));
	}
	assert_memory_equal(in.data, out.data, in.len);
}

/* --- puts -------------------------------------------------------------- */

static void put_each_interval(void **state)
{
	struct world *w = *state;
	struct gpc_stream_writer *sw;
	gpc_auto(gpc_buf) struct gpc_buf big = {0};
	int64_t next;

	puts_only(w);
	sw = gpc_stream_writer_new(w->s, FOLDER, 10000);
	assert_ok(gpc_stream_write(sw, "a", 1, &err));
	assert_ok(gpc_stream_tick(sw, 50000, &next, &err));
	assert_int_equal(gpc_stream_acked(sw), 1);      /* the first at once */
	assert_ok(gpc_stream_write(sw, "b", 1, &err));
	assert_ok(gpc_stream_tick(sw, 50001, &next, &err));
	assert_int_equal(gpc_stream_acked(sw), 1);
	assert_int_equal(next, 60000);
	gpc_stream_set_interval(sw, 1000);              /* somebody watches */
	assert_ok(gpc_stream_tick(sw, 51000, &next, &err));
	assert_int_equal(gpc_stream_acked(sw), 2);
	/* 4 MiB do not wait. */
	fill(&big, 4 * MIB + 5);
	assert_ok(gpc_stream_write(sw, big.data, big.len, &err));
	assert_ok(gpc_stream_tick(sw, 51001, &next, &err));
	assert_int_equal(gpc_stream_acked(sw), 2 + 4 * MIB);
	assert_int_equal(objects(w), 3);
	assert_ok(gpc_stream_flush(sw, &err));
	assert_int_equal(gpc_stream_acked(sw), 7 + 4 * MIB);
	gpc_stream_writer_free(sw);
}

/* --- a store that fails ------------------------------------------------ */

static void failing(struct world *w, bool append)
{
	gpc_autoptr(gpc_stream_writer) *sw = NULL;
	gpc_autoptr(gpc_stream_reader) *sr =
		gpc_stream_reader_new(w->mem, FOLDER, 0);
	gpc_auto(gpc_buf) struct gpc_buf in = {0}, out = {0};
	enum gpc_fault_op op = append ? GPC_FAULT_APPEND : GPC_FAULT_PUT;
	int64_t now = 1000, next;
	size_t at = 0;

	if (!append)
		puts_only(w);
	for (unsigned nth = 1; nth < 60; nth += 2) {
		struct gpc_fault f = { .op = op, .nth = nth,
			.how = nth % 4 == 1 ? GPC_FAULT_AFTER :
			GPC_FAULT_BEFORE };

		gpc_store_fault_add(w->s, &f);
	}
	sw = gpc_stream_writer_new(w->s, FOLDER, 0);
	fill(&in, 200000);
	while (at < in.len) {
		size_t n = 5000;

		assert_ok(gpc_stream_write(sw, in.data + at, n, &err));
		at += n;
		now += 100;
		if (gpc_stream_tick(sw, now, &next, &err) < 0)
			assert_int_equal(next, now + 1000);
		read_all(sr, MIB, &out);
		assert_true(gpc_stream_acked(sw) <= out.len);
		assert_true(out.len <= at);
		assert_memory_equal(in.data, out.data, out.len);
	}
	for (int i = 0; gpc_stream_flush(sw, &err) < 0; i++)
		assert_true(i < 100);
	read_all(sr, MIB, &out);
	assert_int_equal(out.len, in.len);
	assert_memory_equal(in.data, out.data, in.len);
	assert_int_equal(gpc_stream_acked(sw), in.len);
}

static void failing_appends(void **state)
{
	failing(*state, true);
}

static void failing_puts(void **state)
{
	failing(*state, false);
}

static void full(void **state)
{
	struct world *w = *state;
	gpc_autoptr(gpc_stream_writer) *sw =
		gpc_stream_writer_new(w->s, FOLDER, 0);
	struct gpc_fault f = { .op = GPC_FAULT_APPEND,
		.how = GPC_FAULT_BEFORE };
	gpc_autostr *data = gpc_array(MIB, 1);
	int64_t next;

	gpc_store_fault_add(w->s, &f);
	for (int i = 0; i < 64; i++)
		assert_ok(gpc_stream_write(sw, data, MIB, &err));
	assert_fails(gpc_stream_write(sw, data, 1, &err), GPC_ERATE);
	assert_fails(gpc_stream_tick(sw, 1000, &next, &err), GPC_ENET);
	assert_int_equal(gpc_stream_offset(sw), 64 * MIB);
	gpc_store_fault_reset(w->s);
	assert_ok(gpc_stream_flush(sw, &err));
	assert_int_equal(gpc_stream_acked(sw), 64 * MIB);
	assert_int_equal(objects(w), 16);
	assert_ok(gpc_stream_write(sw, data, 1, &err));
}

static void second_writer(void **state)
{
	struct world *w = *state;
	gpc_autoptr(gpc_stream_writer) *a =
		gpc_stream_writer_new(w->s, FOLDER, 0);
	gpc_autoptr(gpc_stream_writer) *b =
		gpc_stream_writer_new(w->s, FOLDER, 0);

	assert_ok(gpc_stream_flush(a, &err));
	assert_ok(gpc_stream_write(a, "a", 1, &err));
	assert_ok(gpc_stream_flush(a, &err));
	assert_ok(gpc_stream_write(b, "b", 1, &err));
	assert_fails(gpc_stream_flush(b, &err), GPC_ECONFLICT);
	assert_ok(gpc_stream_write(a, "a", 1, &err));
	assert_ok(gpc_stream_flush(a, &err));
	/* Bytes that somebody else wrote into our object are noticed. */
	assert_int_equal(gpc_stream_acked(a), 2);
}

static void gaps(void **state)
{
	struct world *w = *state;
	gpc_autoptr(gpc_stream_reader) *sr =
		gpc_stream_reader_new(w->mem, FOLDER, 0);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	assert_ok(gpc_store_put(w->mem, FOLDER "junk", "x", 1, 0, &err));
	assert_ok(gpc_store_put(w->mem, FOLDER "0000000000000009-1", "x", 1, 0,
		&err));
	assert_fails(gpc_stream_read(sr, 10, &b, &err), GPC_EPROTO);
	assert_ok(gpc_store_put(w->mem, FOLDER "0000000000000000-1",
		"012345678", 9, 0, &err));
	assert_ok(gpc_stream_read(sr, 100, &b, &err));
	assert_string_equal(gpc_buf_str(&b), "012345678x");
}

/* --- marks ------------------------------------------------------------- */

static void marks(void **state)
{
	static const char *const bad[] = { "", "1", "1 2", "1 2 3", "1 2 0",
		"a 2 1", "1 b 1", "1  2 1", "-1 2 1", "1 2 1 4",
		"99999999999999999999 2 1" };
	struct gpc_mark m = { 123456, 1700000000123, 2 }, back = {0};
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	(void)state;
	gpc_mark_format(&m, &b);
	assert_string_equal(gpc_buf_str(&b), "123456 1700000000123 2\n");
	assert_true(gpc_mark_parse(b.data, b.len, &back));
	assert_int_equal(back.offset, m.offset);
	assert_int_equal(back.wall_ms, m.wall_ms);
	assert_int_equal(back.source, m.source);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(gpc_mark_parse(bad[i], strlen(bad[i]), &back));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(appended_at_once), T(new_object_at_4_mib),
		T(starts_at_any_offset), T(follow), T(put_each_interval),
		T(failing_appends), T(failing_puts), T(full),
		T(second_writer), T(gaps), T(marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
