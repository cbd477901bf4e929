/* What calls prepare before their first try: beside the others, once, and not beyond
 * their end. */
#include "net_one.h"

#include "base/time.h"

#define LONG_MS 60000                   /* nothing here takes that long */

/* A call whose preparation waits for leave. */
struct held {
	struct one o;
	atomic_bool leave, began, stopped;
	int prepared, code;
	bool was_prepared;              /* when it was signed */
	pthread_t thread;               /* that prepared it */
};

static int hold(void *arg, const atomic_bool *stop, struct gpc_error *err)
{
	struct held *h = arg;
	int64_t end = gpc_boot_ms() + LONG_MS;

	h->thread = pthread_self();
	atomic_store(&h->began, true);
	while (!atomic_load(&h->leave) && gpc_boot_ms() < end) {
		if (atomic_load(stop)) {
			atomic_store(&h->stopped, true);
			return gpc_fail(err, GPC_ECANCELED, "stopped");
		}
		gpc_sleep_ms(1);
	}
	h->prepared++;
	return h->code ? gpc_fail(err, (enum gpc_code)h->code, "no sum") : 0;
}

static int sign(void *arg, struct gpc_request *r, int64_t now_ms, bool renew,
	struct gpc_error *err)
{
	struct held *h = arg;

	(void)r;
	(void)now_ms;
	(void)renew;
	(void)err;
	h->o.signed_n++;
	h->was_prepared = h->prepared == 1;
	return 0;
}

static void begin(struct held *h, const char *path)
{
	memset(h, 0, sizeof(*h));
	prepare(&h->o, "GET", path);
	h->o.call.prepare = hold;
	h->o.call.sign = sign;
	h->o.call.arg = h;
}

static void on_done(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct held *h = arg;

	(void)reply;
	h->o.done++;
	h->o.r = r;
	if (r < 0)
		h->o.err = *err;
}

TEST(prepares_once_before_the_first_try)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct held h;

	begin(&h, "/do/once/503,503,200");
	atomic_store(&h.leave, true);
	go(net, &h.o);
	assert_int_equal(h.o.r, 0);
	assert_int_equal(h.prepared, 1);
	assert_true(h.was_prepared);
	assert_int_equal(h.o.signed_n, 3);
	assert_false(pthread_equal(h.thread, pthread_self()));
	clear(&h.o);
}

/* Its done gives the others leave. */
static void give_leave(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct held *h = arg;

	(void)reply;
	(void)err;
	assert_int_equal(r, 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(h[i].o.done, 0);
		atomic_store(&h[i].leave, true);
	}
}

TEST(others_go_on_meanwhile)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct gpc_net_loop *loop = gpc_net_loop_new(net);
	struct gpc_error err = {0};
	struct held h[20];
	struct one other;
	int running = -1;

	for (int i = 0; i < 20; i++) {
		begin(&h[i], "/echo");
		assert_ok(gpc_net_loop_start(loop, &h[i].o.call, on_done, &h[i],
			&err));
	}
	prepare(&other, "GET", "/echo");
	assert_ok(gpc_net_loop_run(loop, 20, &running, &err));
	assert_int_equal(running, 20);
	assert_ok(gpc_net_loop_start(loop, &other.call, give_leave, h, &err));
	assert_ok(gpc_net_loop_run(loop, -1, &running, &err));
	assert_int_equal(running, 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(h[i].o.done, 1);
		assert_int_equal(h[i].o.r, 0);
		assert_true(h[i].was_prepared);
		clear(&h[i].o);
	}
	clear(&other);
	gpc_net_loop_free(loop);
}

TEST(what_cannot_be_prepared_is_not_sent)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct held h;

	begin(&h, "/do/unprepared/200");
	atomic_store(&h.leave, true);
	h.code = GPC_EIO;
	go(net, &h.o);
	assert_int_equal(h.o.r, -GPC_EIO);
	assert_string_equal(h.o.err.msg, "no sum");
	assert_int_equal(h.o.signed_n, 0);
	assert_int_equal(requests("unprepared"), 0);
	clear(&h.o);
}

/* More than there are threads: some have not begun. */
TEST(ends_with_its_loop)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){0});
	struct gpc_net_loop *loop = gpc_net_loop_new(net);
	struct gpc_error err = {0};
	int running = -1, began = 0;
	struct held h[20];

	for (int i = 0; i < 20; i++) {
		begin(&h[i], "/echo");
		assert_ok(gpc_net_loop_start(loop, &h[i].o.call, on_done, &h[i],
			&err));
	}
	while (!atomic_load(&h[0].began))
		assert_ok(gpc_net_loop_run(loop, 10, &running, &err));
	gpc_net_loop_free(loop);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(h[i].o.done + h[i].prepared, 0);
		assert_int_equal(h[i].began, h[i].stopped);
		began += h[i].began;
		clear(&h[i].o);
	}
	assert_in_range(began, 1, GPC_NET_CREW);
	/* The threads are free for others. */
	begin(&h[0], "/echo");
	atomic_store(&h[0].leave, true);
	go(net, &h[0].o);
	assert_int_equal(h[0].o.r, 0);
	clear(&h[0].o);
}

static struct gpc_cancel cancel;

TEST(ends_when_it_is_cancelled)
{
	gpc_autoptr(gpc_net) *net = new_net((struct gpc_net_settings){
		.cancel = &cancel });
	struct gpc_net_loop *loop = gpc_net_loop_new(net);
	struct gpc_error err = {0};
	struct held h;
	int running = -1;

	begin(&h, "/echo");
	assert_ok(gpc_net_loop_start(loop, &h.o.call, on_done, &h, &err));
	while (!atomic_load(&h.began))
		assert_ok(gpc_net_loop_run(loop, 10, &running, &err));
	cancel.signal = SIGINT;
	assert_ok(gpc_net_loop_run(loop, -1, &running, &err));
	assert_int_equal(running, 0);
	assert_int_equal(h.o.done, 1);
	assert_int_equal(h.o.r, -GPC_ECANCELED);
	assert_true(h.stopped);
	cancel.signal = 0;
	clear(&h.o);
	gpc_net_loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prepares_once_before_the_first_try),
		cmocka_unit_test(others_go_on_meanwhile),
		cmocka_unit_test(what_cannot_be_prepared_is_not_sent),
		cmocka_unit_test(ends_with_its_loop),
		cmocka_unit_test(ends_when_it_is_cancelled),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
