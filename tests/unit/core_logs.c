/* The reader of logs: every byte once and in order, with whose it is, however
 * it is asked and whatever fails on the way. */
#include "base/buf.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "core/logs.h"
#include "core_lab.h"
#include "record/keys.h"
#include "record/stream.h"

#define JOB "lab-abcdef"

/* A rank's writer, as agents do it: the mark first. */
struct pen { struct gpc_stream_writer *log, *marks; };

static struct pen pen_new(struct lab *lab, int attempt, int rank)
{
	struct gpc_store *s = lab_inner(lab);
	struct pen p;
	gpc_key key;

	p.log = gpc_stream_writer_new(s,
		gpc_key_rank(key, JOB, attempt, rank, "log/"), 1);
	p.marks = gpc_stream_writer_new(s,
		gpc_key_rank(key, JOB, attempt, rank, "marks/"), 1);
	return p;
}

static void pen_write(struct pen *p, int source, int64_t wall_ms,
	const void *data, size_t n)
{
	struct gpc_mark m = { gpc_stream_offset(p->log), wall_ms, source };
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err;

	gpc_mark_format(&m, &b);
	assert_ok(gpc_stream_write(p->marks, b.data, b.len, &err));
	assert_ok(gpc_stream_flush(p->marks, &err));
	assert_ok(gpc_stream_write(p->log, data, n, &err));
	assert_ok(gpc_stream_flush(p->log, &err));
}

static void pen_say(struct pen *p, int source, int64_t wall_ms,
	const char *text)
{
	pen_write(p, source, wall_ms, text, strlen(text));
}

static void pen_free(struct pen *p)
{
	gpc_stream_writer_free(p->log);
	gpc_stream_writer_free(p->marks);
}

/* What comes out: all, and by source. */
struct heard { struct gpc_buf all, by[3]; int calls; };

static int hear(void *arg, int rank, int source, const void *data, size_t n,
	struct gpc_error *err)
{
	struct heard *h = arg;

	(void)rank;
	(void)err;
	assert_in_range(source, 1, 2);
	gpc_buf_add(&h->all, data, n);
	gpc_buf_add(&h->by[source], data, n);
	h->calls++;
	return 0;
}

static void heard_clear(struct heard *h)
{
	gpc_buf_clear(&h->all);
	gpc_buf_clear(&h->by[1]);
	gpc_buf_clear(&h->by[2]);
	h->calls = 0;
}

static void pump(struct gpc_log_reader *r, int attempt, int nodes, bool at_end,
	struct heard *h)
{
	struct gpc_error err;
	bool any;

	assert_ok(gpc_log_pump(r, attempt, nodes, at_end, hear, h, &any, &err));
}

#define EVERYTHING .rank = -1, .tail = -1

static void read_all(struct lab *lab, struct gpc_log_options o, int attempt,
	int nodes, struct heard *h)
{
	gpc_autoptr(gpc_log_reader) *r = gpc_log_reader_new(lab->s, JOB, &o);

	pump(r, attempt, nodes, true, h);
}

#define assert_heard(h, text) \
	assert_string_equal(gpc_buf_str(&(h).all), text)

static void expect(struct lab *lab, struct gpc_log_options o, const char *want)
{
	struct heard h = {0};

	read_all(lab, o, 1, 1, &h);
	assert_heard(h, want);
	heard_clear(&h);
}

/* --- marks ------------------------------------------------------------------------ */

TEST(stdout_and_stderr_are_told_apart)
{
	struct lab *lab = lab_new(0);
	struct pen p = pen_new(lab, 1, 0);
	struct heard h = {0};

	pen_say(&p, 1, 1000, "one\ntw");
	pen_say(&p, 2, 1001, "oops\n");
	pen_say(&p, 1, 1002, "o\n");
	pen_say(&p, 2, 1003, "no end");
	read_all(lab, (struct gpc_log_options){ EVERYTHING }, 1, 1, &h);
	assert_heard(h, "one\ntwoops\no\nno end");
	assert_string_equal(h.by[1].data, "one\ntwo\n");
	assert_string_equal(h.by[2].data, "oops\nno end");
	heard_clear(&h);
	expect(lab, (struct gpc_log_options){ EVERYTHING, .only_stderr = true },
		"oops\nno end");
	expect(lab, (struct gpc_log_options){ EVERYTHING, .only_stdout = true },
		"one\ntwo\n");
	pen_free(&p);
	lab_free(lab);
}

TEST(a_log_without_marks_is_stdout)
{
	struct lab *lab = lab_new(0);
	struct heard h = {0};

	lab_log(lab, JOB, 1, 0, "text\n");
	read_all(lab, (struct gpc_log_options){ EVERYTHING }, 1, 1, &h);
	assert_string_equal(h.by[1].data, "text\n");
	heard_clear(&h);
	lab_free(lab);
}

TEST(hostile_marks_do_no_harm)
{
	static const char *const marks[] = {
		"x\n\n1 2\n-1 5 1\n0 0 9\n99999999999999999999 1 1\n",
		"5 1 2\n3 1 1\n0 1 2\n", "0 1 2", "\n\n\n", "0 1 2\n0 1 1\n",
	};

	for (size_t i = 0; i < COUNT(marks); i++) {
		struct lab *lab = lab_new(0);
		struct heard h = {0};
		struct gpc_error err;
		gpc_key key;

		lab_log(lab, JOB, 1, 0, "0123456789\n");
		gpc_key_rank(key, JOB, 1, 0, "marks/0000000000000000-1");
		assert_ok(gpc_store_put(lab->s->store, key, marks[i],
			strlen(marks[i]), 0, &err));
		read_all(lab, (struct gpc_log_options){ EVERYTHING }, 1, 1, &h);
		assert_heard(h, "0123456789\n");
		heard_clear(&h);
		read_all(lab, (struct gpc_log_options){ EVERYTHING,
			.prefix = true, .timestamps = true }, 1, 1, &h);
		assert_has(h.all.data, "56789\n");
		heard_clear(&h);
		lab_free(lab);
	}
}

/* --- bytes ------------------------------------------------------------------------- */

TEST(any_bytes_arrive_as_they_are)
{
	struct lab *lab = lab_new(0);
	struct pen p = pen_new(lab, 1, 0);
	struct heard h = {0};
	gpc_auto(gpc_buf) struct gpc_buf want = {0};
	char block[5000];

	for (int i = 0; i < 700; i++) {
		size_t n = 1 + (size_t)gpc_rand_below(sizeof(block));

		gpc_rand(block, n);
		gpc_buf_add(&want, block, n);
		pen_write(&p, 1 + i % 2, 1000 + i, block, n);
	}
	read_all(lab, (struct gpc_log_options){ EVERYTHING }, 1, 1, &h);
	assert_int_equal(h.all.len, want.len);
	assert_memory_equal(h.all.data, want.data, want.len);
	heard_clear(&h);
	pen_free(&p);
	lab_free(lab);
}

TEST(a_line_of_ten_megabytes)
{
	struct lab *lab = lab_new(0);
	struct pen p = pen_new(lab, 1, 0);
	size_t n = 10 << 20;
	char *line = gpc_alloc(n);
	struct heard h = {0};

	memset(line, 'x', n);
	line[n - 1] = '\n';
	pen_write(&p, 1, 1000, line, n);
	read_all(lab, (struct gpc_log_options){ EVERYTHING }, 1, 1, &h);
	assert_int_equal(h.all.len, n);
	assert_memory_equal(h.all.data, line, n);
	heard_clear(&h);
	/* One prefix, not one a piece. */
	read_all(lab, (struct gpc_log_options){ EVERYTHING, .prefix = true }, 1,
		1, &h);
	assert_int_equal(h.all.len, n + 4);
	assert_memory_equal(h.all.data, "[0] ", 4);
	assert_memory_equal(h.all.data + 4, line, n);
	heard_clear(&h);
	read_all(lab, (struct gpc_log_options){ .rank = -1, .tail = 1 }, 1, 1,
		&h);
	assert_int_equal(h.all.len, n);
	heard_clear(&h);
	free(line);
	pen_free(&p);
	lab_free(lab);
}

/* --- lines ------------------------------------------------------------------------- */

TEST(tail_counts_lines)
{
	static const struct { const char *text; int64_t tail; const char *want; }
	cases[] = {
		{ "a\nb\nc\n", 0, "" }, { "a\nb\nc\n", 1, "c\n" },
		{ "a\nb\nc\n", 2, "b\nc\n" }, { "a\nb\nc\n", 3, "a\nb\nc\n" },
		{ "a\nb\nc\n", 9, "a\nb\nc\n" }, { "a\nb\nc", 1, "c" },
		{ "a\nb\nc", 2, "b\nc" }, { "\n\n\n", 2, "\n\n" },
		{ "abc", 1, "abc" }, { "", 5, "" }, { "a\n\n", 1, "\n" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct lab *lab = lab_new(0);
		struct pen p = pen_new(lab, 1, 0);

		if (cases[i].text[0])
			pen_say(&p, 1, 1000, cases[i].text);
		expect(lab, (struct gpc_log_options){ .rank = -1,
			.tail = cases[i].tail }, cases[i].want);
		pen_free(&p);
		lab_free(lab);
	}
}

/* Over the border of what is read at once, and over objects of 4 MiB. */
TEST(tail_of_a_long_log)
{
	struct lab *lab = lab_new(0);
	struct pen p = pen_new(lab, 1, 0);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct heard h = {0};
	const char *at;

	for (int i = 0; i < 500000; i++)
		gpc_buf_addf(&b, "line %d\n", i);
	pen_write(&p, 1, 1000, b.data, b.len);
	read_all(lab, (struct gpc_log_options){ .rank = -1, .tail = 400000 }, 1,
		1, &h);
	at = strstr(b.data, "\nline 100000\n") + 1;
	assert_int_equal(h.all.len, b.len - (size_t)(at - b.data));
	assert_memory_equal(h.all.data, at, h.all.len);
	heard_clear(&h);
	pen_free(&p);
	lab_free(lab);
}

TEST(since_starts_at_a_run)
{
	struct lab *lab = lab_new(0);
	struct pen p = pen_new(lab, 1, 0);

	pen_say(&p, 1, 1000, "old\n");
	pen_say(&p, 2, 2000, "newer\n");
	pen_say(&p, 1, 3000, "newest\n");
	expect(lab, (struct gpc_log_options){ EVERYTHING, .since_ms = 1 },
		"old\nnewer\nnewest\n");
	expect(lab, (struct gpc_log_options){ EVERYTHING, .since_ms = 1500 },
		"newer\nnewest\n");
	expect(lab, (struct gpc_log_options){ EVERYTHING, .since_ms = 3000 },
		"newest\n");
	expect(lab, (struct gpc_log_options){ EVERYTHING, .since_ms = 9000 },
		"");
	/* The later of the two wins. */
	expect(lab, (struct gpc_log_options){ .rank = -1, .tail = 1,
		.since_ms = 1500 }, "newest\n");
	pen_free(&p);
	lab_free(lab);
}

TEST(lines_bear_rank_and_time)
{
	struct lab *lab = lab_new(0);
	struct pen p = pen_new(lab, 1, 0);

	pen_say(&p, 1, 0, "a\nb");
	pen_say(&p, 2, 1000, "err\n");
	pen_say(&p, 1, 2000, "bb\n\nlast");
	expect(lab, (struct gpc_log_options){ EVERYTHING, .prefix = true },
		"[0] a\n[0] err\n[0] bbb\n[0] \n[0] last");
	expect(lab, (struct gpc_log_options){ EVERYTHING, .timestamps = true,
		.only_stderr = true }, "1970-01-01T00:00:01.000Z err\n");
	pen_free(&p);
	lab_free(lab);
}

/* --- following --------------------------------------------------------------------- */

TEST(half_lines_wait_in_line_mode_only)
{
	struct lab *lab = lab_new(0);
	struct pen p = pen_new(lab, 1, 0);
	struct gpc_log_options raw = { EVERYTHING };
	struct gpc_log_options lines = { EVERYTHING, .prefix = true };
	gpc_autoptr(gpc_log_reader) *a = gpc_log_reader_new(lab->s, JOB, &raw);
	gpc_autoptr(gpc_log_reader) *b = gpc_log_reader_new(lab->s, JOB, &lines);
	struct heard ha = {0}, hb = {0};

	pump(a, 1, 1, false, &ha);              /* nothing is there yet */
	pump(b, 1, 1, false, &hb);
	pen_say(&p, 1, 1000, "10%\r20%\r3");
	pump(a, 1, 1, false, &ha);
	pump(b, 1, 1, false, &hb);
	assert_heard(ha, "10%\r20%\r3");
	assert_heard(hb, "");
	pen_say(&p, 1, 1001, "0%\ndo");
	pump(a, 1, 1, false, &ha);
	pump(b, 1, 1, false, &hb);
	assert_heard(ha, "10%\r20%\r30%\ndo");
	assert_heard(hb, "[0] 10%\r20%\r30%\n");
	pump(b, 1, 1, true, &hb);
	assert_heard(hb, "[0] 10%\r20%\r30%\n[0] do");
	heard_clear(&ha);
	heard_clear(&hb);
	pen_free(&p);
	lab_free(lab);
}

TEST(attempts_and_ranks_are_picked_up)
{
	struct lab *lab = lab_new(0);
	struct gpc_log_options o = { EVERYTHING, .prefix = true };
	gpc_autoptr(gpc_log_reader) *r = gpc_log_reader_new(lab->s, JOB, &o);
	struct heard h = {0};

	for (int attempt = 1; attempt <= 2; attempt++) {
		for (int rank = 0; rank < 2; rank++) {
			struct pen p = pen_new(lab, attempt, rank);
			gpc_autostr *text = gpc_format("try %d\nhalf", attempt);

			pen_say(&p, 1, 1000, text);
			pen_free(&p);
		}
		pump(r, attempt, 2, false, &h);
	}
	/* The half lines of an attempt that is over come with the next one. */
	assert_heard(h, "[0] try 1\n[1] try 1\n[0] half[1] half"
		"[0] try 2\n[1] try 2\n");
	heard_clear(&h);
	read_all(lab, (struct gpc_log_options){ .rank = 1, .tail = -1,
		.attempt = 2 }, 2, 2, &h);
	assert_heard(h, "try 2\nhalf");
	heard_clear(&h);
	read_all(lab, (struct gpc_log_options){ EVERYTHING, .from_attempt = 2 },
		2, 2, &h);
	assert_heard(h, "try 2\nhalftry 2\nhalf");
	heard_clear(&h);
	lab_free(lab);
}

/* A store that fails at any read costs no byte and doubles none. */
TEST(a_failure_at_each_read)
{
	static const struct gpc_log_options options[] = {
		{ EVERYTHING }, { .rank = -1, .tail = 4 },
		{ EVERYTHING, .since_ms = 1000, .prefix = true },
	};
	static const char *const want[] = { "1\n2\n3\n4\n5", "2\n3\n4\n5",
		"[0] 1\n[0] 2\n[0] 3\n[0] 4\n[0] 5" };

	for (size_t o = 0; o < COUNT(options); o++) {
		for (unsigned nth = 1, failed = 1; failed; nth++) {
			struct lab *lab = lab_new(LAB_FAULTY);
			struct pen p = pen_new(lab, 1, 0);
			gpc_autoptr(gpc_log_reader) *r = gpc_log_reader_new(
				lab->s, JOB, &options[o]);
			struct heard h = {0};
			bool any;

			pen_say(&p, 1, 1000, "1\n2\n");
			pen_say(&p, 2, 2000, "3\n4\n5");
			gpc_store_fault_add(lab->s->store, &(struct gpc_fault){
				.op = nth % 2 ? GPC_FAULT_GET : GPC_FAULT_LIST,
				.nth = (nth + 1) / 2 });
			failed = 0;
			for (int i = 0; i < 5; i++)
				failed += gpc_log_pump(r, 1, 1, i > 2, hear,
					&h, &any, NULL) < 0;
			assert_heard(h, want[o]);
			heard_clear(&h);
			pen_free(&p);
			lab_free(lab);
			if (nth % 2)
				failed = 1;
		}
	}
}

static int refuse(void *arg, int rank, int source, const void *data, size_t n,
	struct gpc_error *err)
{
	(void)arg;
	(void)rank;
	(void)source;
	(void)data;
	(void)n;
	return gpc_fail(err, GPC_EIO, "the pipe is closed");
}

TEST(a_reader_that_has_enough_ends_it)
{
	struct lab *lab = lab_new(0);
	struct gpc_log_options o = { EVERYTHING };
	gpc_autoptr(gpc_log_reader) *r = gpc_log_reader_new(lab->s, JOB, &o);
	struct gpc_error err;
	bool any;

	lab_log(lab, JOB, 1, 0, "x\n");
	assert_fails(gpc_log_pump(r, 1, 1, true, refuse, NULL, &any, &err),
		GPC_EIO);
	lab_free(lab);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(stdout_and_stderr_are_told_apart),
		cmocka_unit_test(a_log_without_marks_is_stdout),
		cmocka_unit_test(hostile_marks_do_no_harm),
		cmocka_unit_test(any_bytes_arrive_as_they_are),
		cmocka_unit_test(a_line_of_ten_megabytes),
		cmocka_unit_test(tail_counts_lines),
		cmocka_unit_test(tail_of_a_long_log),
		cmocka_unit_test(since_starts_at_a_run),
		cmocka_unit_test(lines_bear_rank_and_time),
		cmocka_unit_test(half_lines_wait_in_line_mode_only),
		cmocka_unit_test(attempts_and_ranks_are_picked_up),
		cmocka_unit_test(a_failure_at_each_read),
		cmocka_unit_test(a_reader_that_has_enough_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
