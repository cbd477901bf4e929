/* From pipes to streams while the store fails: nothing is lost, nothing is
 * doubled, and a store that takes nothing blocks the writer instead of filling
 * the memory.
 */
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "test.h"

#include "agent/logs.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "record/keys.h"
#include "record/stream.h"
#include "store/fault.h"

static struct gpc_error err;

#define JOB "logs-abc234"

/* Bytes that tell their place. */
static unsigned char byte_at(size_t i)
{
	return (unsigned char)((i * 2654435761u) >> 13);
}

struct writer { int fd; size_t n; size_t step; };

static void *write_all(void *arg)
{
	struct writer *w = arg;
	gpc_autostr *chunk = gpc_alloc(w->step);

	for (size_t at = 0; at < w->n;) {
		size_t n = w->n - at < w->step ? w->n - at : w->step;
		ssize_t x;

		for (size_t i = 0; i < n; i++)
			chunk[i] = (char)byte_at(at + i);
		x = write(w->fd, chunk, n);
		if (x < 0)
			break;
		at += (size_t)x;
	}
	close(w->fd);
	return NULL;
}

struct rig {
	char *dir;
	struct gpc_store *inner, *store;
	struct gpc_logs *logs;
};

static void rig_open(struct rig *r)
{
	gpc_autostr *url = NULL;

	r->dir = scratch();
	url = gpc_format("file://%s/store", r->dir);
	assert_ok(gpc_store_open(url, GPC_STORE_CREATE, NULL, &r->inner, &err));
	r->store = gpc_store_fault_new(r->inner);
	assert_ok(gpc_logs_new(r->store, JOB, 1, 0, &r->logs, &err));
}

static void rig_close(struct rig *r)
{
	gpc_logs_free(r->logs);
	gpc_store_free(r->store);
	gpc_store_free(r->inner);
	assert_ok(gpc_rmtree(r->dir, &err));
	free(r->dir);
}

static pthread_t start_writer(struct rig *r, int source, struct writer *w)
{
	pthread_t t;

	w->fd = dup(gpc_logs_write_fd(r->logs, source));
	assert_int_equal(pthread_create(&t, NULL, write_all, w), 0);
	return t;
}

/* One round of the agent's loop. */
static void turn(struct rig *r)
{
	int64_t now = gpc_boot_ms();
	struct pollfd p[2] = {
		{ .fd = gpc_logs_poll_fd(r->logs, 0, now), .events = POLLIN },
		{ .fd = gpc_logs_poll_fd(r->logs, 1, now), .events = POLLIN },
	};

	poll(p, 2, 5);
	gpc_logs_pump(r->logs, gpc_boot_ms());
}

static void finish(struct rig *r)
{
	gpc_logs_close_writers(r->logs);
	for (int i = 0; i < 20000 && !gpc_logs_ended(r->logs); i++)
		turn(r);
	assert_true(gpc_logs_ended(r->logs));
	for (int i = 0; i < 60 && !gpc_logs_flush(r->logs, &err); i++)
		gpc_sleep_ms(5);
	assert_true(gpc_logs_flush(r->logs, &err));
}

static void read_stream(struct rig *r, const char *name, struct gpc_buf *to)
{
	gpc_key key;
	struct gpc_stream_reader *x = gpc_stream_reader_new(r->inner,
		gpc_key_rank(key, JOB, 1, 0, name), 0);
	size_t before;

	gpc_buf_init(to, (size_t)256 << 20);
	do {
		before = to->len;
		assert_ok(gpc_stream_read(x, 8 << 20, to, &err));
	} while (to->len > before);
	gpc_stream_reader_free(x);
}

/* Splits the log by its marks and compares each source with what it wrote. */
static void check_exact(struct rig *r, size_t n_out, size_t n_err)
{
	struct gpc_buf log = {0}, marks = {0};
	size_t want[2] = { n_out, n_err }, at[2] = { 0, 0 };
	struct gpc_str rest, line;
	struct gpc_mark m, last = {0};

	read_stream(r, "log/", &log);
	read_stream(r, "marks/", &marks);
	assert_int_equal(log.len, n_out + n_err);
	rest = gpc_str_of(gpc_buf_str(&marks));
	for (bool more = true; more;) {
		uint64_t end = log.len;

		more = gpc_str_split(&rest, '\n', &line) && line.len;
		if (more) {
			assert_true(gpc_mark_parse(line.ptr, line.len, &m));
			end = m.offset;
		}
		for (uint64_t i = last.offset; last.source && i < end; i++)
			if ((unsigned char)log.data[i]
				!= byte_at(at[last.source - 1]++))
				fail_msg("byte %d differs", (int)i);
		last = m;
	}
	assert_int_equal(at[0], want[0]);
	assert_int_equal(at[1], want[1]);
	gpc_buf_clear(&log);
	gpc_buf_clear(&marks);
}

TEST(two_sources_stay_apart)
{
	struct rig r;
	struct writer a = { .n = 3000017, .step = 1000 };
	struct writer b = { .n = 100003, .step = 77 };
	pthread_t t[2];

	rig_open(&r);
	t[0] = start_writer(&r, 0, &a);
	t[1] = start_writer(&r, 1, &b);
	finish(&r);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	check_exact(&r, a.n, b.n);
	rig_close(&r);
}

TEST(lost_answers_lose_and_double_nothing)
{
	static const enum gpc_fault_how hows[] = { GPC_FAULT_BEFORE,
		GPC_FAULT_AFTER };

	for (size_t i = 0; i < COUNT(hows); i++) {
		struct rig r;
		struct writer a = { .n = 9000011, .step = 4096 };
		struct gpc_fault f = { .op = GPC_FAULT_APPEND, .how = hows[i] };
		pthread_t t;

		rig_open(&r);
		for (f.nth = 2; f.nth < 40; f.nth += 3)
			gpc_store_fault_add(r.store, &f);
		t = start_writer(&r, 0, &a);
		finish(&r);
		pthread_join(t, NULL);
		check_exact(&r, a.n, 0);
		assert_int_equal(gpc_logs_failing_since(r.logs, NULL), 0);
		rig_close(&r);
	}
}

TEST(a_dead_store_blocks_the_writer)
{
	struct rig r;
	struct writer a = { .n = (size_t)80 << 20, .step = 1 << 20 };
	struct gpc_fault f = { .op = GPC_FAULT_APPEND,
		.how = GPC_FAULT_BEFORE, .code = GPC_EIO };
	struct gpc_error why;
	pthread_t t;
	bool blocked = false;

	rig_open(&r);
	gpc_store_fault_add(r.store, &f);
	t = start_writer(&r, 0, &a);
	for (int i = 0; i < 20000 && !blocked; i++) {
		turn(&r);
		/* -1 for good, not for the moment of a batch */
		blocked = gpc_logs_poll_fd(r.logs, 0, INT64_MAX) < 0;
	}
	assert_true(blocked);
	assert_true(gpc_logs_failing_since(r.logs, &why) > 0);
	assert_int_equal(why.code, GPC_EIO);
	gpc_store_fault_reset(r.store);
	finish(&r);
	pthread_join(t, NULL);
	check_exact(&r, a.n, 0);
	rig_close(&r);
}

TEST(what_is_missing_is_counted)
{
	struct rig r;
	struct gpc_fault f = { .op = GPC_FAULT_APPEND,
		.how = GPC_FAULT_BEFORE, .code = GPC_EIO };
	gpc_autostr *bytes = gpc_alloc(1000);
	int fd;

	rig_open(&r);
	gpc_store_fault_add(r.store, &f);
	fd = gpc_logs_write_fd(r.logs, 0);
	assert_int_equal(write(fd, bytes, 1000), 1000);
	assert_int_equal(gpc_logs_unread(r.logs), 1000);
	assert_int_equal(gpc_logs_missing(r.logs), 1000);
	gpc_logs_pump(r.logs, gpc_boot_ms());
	assert_int_equal(gpc_logs_unread(r.logs), 0);
	assert_int_equal(gpc_logs_missing(r.logs), 1000);
	/* the other one's pipe; and a store that takes all that was taken */
	assert_int_equal(write(gpc_logs_write_fd(r.logs, 1), bytes, 500), 500);
	assert_false(gpc_logs_flush(r.logs, &err));
	assert_int_equal(gpc_logs_missing(r.logs), 1500);
	gpc_store_fault_reset(r.store);
	assert_true(gpc_logs_flush(r.logs, &err));
	assert_int_equal(gpc_logs_missing(r.logs), 500);
	assert_int_equal(gpc_logs_unread(r.logs), 500);
	finish(&r);
	assert_int_equal(gpc_logs_missing(r.logs), 0);
	rig_close(&r);
}

/* A reader takes bytes of which it knows no mark for the last source's. The
 * clock stands still, so that only a full object goes out early. */
static void marks_come_before_their_bytes(void **state)
{
	enum { BLOCK = 64 << 10, N = 160 };
	gpc_autostr *block = gpc_alloc(BLOCK);
	int64_t now = gpc_boot_ms();
	struct rig r;

	(void)state;
	rig_open(&r);
	for (int i = 0; i < N; i++) {
		struct gpc_buf marks = {0};
		uint64_t size = 0, known = 0;
		gpc_key key;

		assert_int_equal(write(gpc_logs_write_fd(r.logs, i % 2), block,
			BLOCK), BLOCK);
		gpc_logs_pump(r.logs, now);
		assert_ok(gpc_stream_size(r.inner, gpc_key_rank(key, JOB, 1, 0,
			"log/"), &size, &err));
		read_stream(&r, "marks/", &marks);
		for (size_t k = 0; k < marks.len; k++)
			known += marks.data[k] == '\n' ? BLOCK : 0;
		assert_true(size <= known);
		gpc_buf_clear(&marks);
	}
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_sources_stay_apart),
		cmocka_unit_test(marks_come_before_their_bytes),
		cmocka_unit_test(lost_answers_lose_and_double_nothing),
		cmocka_unit_test(a_dead_store_blocks_the_writer),
		cmocka_unit_test(what_is_missing_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
