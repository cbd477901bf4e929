/* The event loop over many calls. A call is in one of three lists: it is prepared, it
 * waits for its time, or a try of it runs. When its last try is over it has left them
 * before its `done` is called, which may therefore start the next ones. */
#include "base/time.h"
#include "net/net_parts.h"

enum {
	CANCEL_MS = 100,                /* how often a cancel is looked for */
};

static void add_last(struct gpc_net_tasks *list, struct gpc_net_task *t)
{
	t->next = NULL;
	t->before = list->last;
	if (list->last)
		list->last->next = t;
	else
		list->first = t;
	list->last = t;
}

static void take_out(struct gpc_net_tasks *list, struct gpc_net_task *t)
{
	if (t->before)
		t->before->next = t->next;
	else
		list->first = t->next;
	if (t->next)
		t->next->before = t->before;
	else
		list->last = t->before;
}

struct gpc_net_loop *gpc_net_loop_new(struct gpc_net *net)
{
	struct gpc_net_loop *loop = gpc_alloc(sizeof(*loop));

	loop->net = net;
	pthread_mutex_init(&loop->lock, NULL);
	return loop;
}

static void free_task(struct gpc_net_task *t)
{
	gpc_net_try_clear(t);
	gpc_request_clear(&t->request);
	gpc_reply_clear(&t->reply);
	free(t);
}

/* The last first: those that no worker has begun. */
static struct gpc_net_task *take_unprepared(struct gpc_net_loop *loop)
{
	struct gpc_net_task *t = loop->preparing.last;

	if (t) {
		gpc_net_crew_leave(t);
		take_out(&loop->preparing, t);
	}
	return t;
}

void gpc_net_loop_free(struct gpc_net_loop *loop)
{
	struct gpc_net_task *t;

	if (!loop)
		return;
	while ((t = take_unprepared(loop)))
		free_task(t);
	while ((t = loop->running.first)) {
		take_out(&loop->running, t);
		free_task(t);
	}
	while ((t = loop->waiting.first)) {
		take_out(&loop->waiting, t);
		free_task(t);
	}
	gpc_http_free(loop->http);
	pthread_mutex_destroy(&loop->lock);
	free(loop);
}

static int fail_canceled(struct gpc_error *err)
{
	return gpc_fail(err, GPC_ECANCELED, "interrupted");
}

int gpc_net_loop_add(struct gpc_net_loop *loop, const struct gpc_call *call,
	struct gpc_reply *ret_reply, gpc_net_done_fn *done, void *done_arg,
	struct gpc_error *err)
{
	int total_ms = call->total_ms > 0 ? call->total_ms :
		GPC_NET_TOTAL_MS;
	struct gpc_net_task *t;

	if (gpc_canceled(loop->net->set.cancel))
		return fail_canceled(err);
	t = gpc_alloc(sizeof(*t));
	t->loop = loop;
	t->call = *call;
	t->done = done;
	t->done_arg = done_arg;
	t->ret_reply = ret_reply;
	t->deadline_ms = gpc_boot_ms() + total_ms;
	gpc_request_init(&t->request, NULL);
	add_last(&loop->waiting, t);
	return 0;
}

int gpc_net_loop_start(struct gpc_net_loop *loop, const struct gpc_call *call,
	gpc_net_done_fn *done, void *done_arg, struct gpc_error *err)
{
	return gpc_net_loop_add(loop, call, NULL, done, done_arg, err);
}

void gpc_net_wait(struct gpc_net_task *t, int64_t due_ms)
{
	take_out(&t->loop->running, t);
	t->due_ms = due_ms;
	add_last(&t->loop->waiting, t);
}

void gpc_net_finish(struct gpc_net_task *t, int r, struct gpc_error *err)
{
	gpc_net_done_fn *done = t->done;
	struct gpc_reply reply = t->reply;
	void *arg = t->done_arg;

	take_out(&t->loop->running, t);
	reply.tries = t->tries + t->resent;
	t->reply = (struct gpc_reply){0};
	if (t->ret_reply) {
		*t->ret_reply = reply;
		reply = (struct gpc_reply){0};
	}
	free_task(t);
	done(arg, r, &reply, err);
	gpc_reply_clear(&reply);
}

static int make_http(struct gpc_net_loop *loop, struct gpc_error *err)
{
	struct gpc_http_settings settings = {
		.ca_file = loop->net->ca_file,
		.user_agent = loop->net->user_agent,
	};
	struct gpc_http *http = NULL;
	int r;

	if (loop->http)
		return 0;
	r = gpc_http_new(&settings, &http, err);
	pthread_mutex_lock(&loop->lock);
	loop->http = http;
	pthread_mutex_unlock(&loop->lock);
	return r;
}

static struct gpc_net_task *find_due(struct gpc_net_loop *loop, int64_t now)
{
	for (struct gpc_net_task *t = loop->waiting.first; t; t = t->next)
		if (t->due_ms <= now)
			return t;
	return NULL;
}

static void start(struct gpc_net_task *t)
{
	struct gpc_net_loop *loop = t->loop;
	struct gpc_error err = {0};
	int r = make_http(loop, &err);

	take_out(&loop->waiting, t);
	if (r == 0 && t->call.prepare && t->work.state == GPC_NET_WORK_NONE) {
		add_last(&loop->preparing, t);
		gpc_net_crew_add(t);
		return;
	}
	add_last(&loop->running, t);
	if (r == 0)
		r = gpc_net_try(t, &err);
	if (r < 0)
		gpc_net_finish(t, r, &err);
}

static void start_due(struct gpc_net_loop *loop)
{
	struct gpc_net_task *t;

	while ((t = find_due(loop, gpc_boot_ms())))
		start(t);
}

static struct gpc_net_task *find_prepared(struct gpc_net_loop *loop)
{
	for (struct gpc_net_task *t = loop->preparing.first; t; t = t->next)
		if (gpc_net_crew_done(t))
			return t;
	return NULL;
}

/* What is prepared may start; due_ms is zero. */
static void take_prepared(struct gpc_net_loop *loop)
{
	struct gpc_net_task *t;

	while ((t = find_prepared(loop))) {
		struct gpc_error err = t->work.err;

		take_out(&loop->preparing, t);
		if (t->work.r == 0) {
			add_last(&loop->waiting, t);
		} else {
			add_last(&loop->running, t);
			gpc_net_finish(t, t->work.r, &err);
		}
	}
}

/* Calls that `done` starts meanwhile are refused. */
static void cancel_all(struct gpc_net_loop *loop)
{
	struct gpc_net_task *t;

	while ((t = take_unprepared(loop)))
		add_last(&loop->running, t);
	while ((t = loop->waiting.first)) {
		take_out(&loop->waiting, t);
		add_last(&loop->running, t);
	}
	while ((t = loop->running.first)) {
		struct gpc_error err = {0};
		gpc_autostr *name = gpc_net_name(t);
		int r = fail_canceled(&err);

		r = gpc_wrap(&err, r, "%s", name);
		gpc_net_try_clear(t);
		gpc_net_finish(t, r, &err);
	}
}

/* How long nothing needs to be looked at. */
static int next_wait(const struct gpc_net_loop *loop, int64_t now, int64_t end)
{
	int64_t wait = end - now;

	if (loop->net->set.cancel && wait > CANCEL_MS)
		wait = CANCEL_MS;
	for (const struct gpc_net_task *t = loop->waiting.first; t; t = t->next)
		if (t->due_ms - now < wait)
			wait = t->due_ms - now;
	if (wait > INT32_MAX)
		wait = INT32_MAX;
	return wait > 0 ? (int)wait : 0;
}

bool gpc_net_loop_is_idle(const struct gpc_net_loop *loop)
{
	return !loop->preparing.first && !loop->waiting.first &&
		!loop->running.first;
}

static int length(const struct gpc_net_tasks *list)
{
	int n = 0;

	for (const struct gpc_net_task *t = list->first; t; t = t->next)
		n++;
	return n;
}

int gpc_net_loop_run(struct gpc_net_loop *loop, int timeout_ms,
	int *ret_running, struct gpc_error *err)
{
	int64_t now = gpc_boot_ms();
	int64_t end = timeout_ms < 0 ? INT64_MAX : now + timeout_ms;
	int r = 0;

	do {
		if (gpc_canceled(loop->net->set.cancel))
			cancel_all(loop);
		take_prepared(loop);
		start_due(loop);
		if (gpc_net_loop_is_idle(loop))
			break;
		r = gpc_http_run(loop->http,
			next_wait(loop, gpc_boot_ms(), end), NULL, err);
		now = gpc_boot_ms();
	} while (r == 0 && now < end && !atomic_load(&loop->woken));
	atomic_store(&loop->woken, false);
	if (ret_running)
		*ret_running = length(&loop->preparing) +
			length(&loop->waiting) + length(&loop->running);
	return r;
}

uint64_t gpc_net_loop_sending(const struct gpc_net_loop *loop)
{
	uint64_t n = 0;

	for (const struct gpc_net_task *t = loop->running.first; t; t = t->next)
		n += t->transfer ? t->x.sent : 0;
	return n;
}

void gpc_net_loop_wake(struct gpc_net_loop *loop)
{
	atomic_store(&loop->woken, true);
	pthread_mutex_lock(&loop->lock);
	if (loop->http)
		gpc_http_wake(loop->http);
	pthread_mutex_unlock(&loop->lock);
}
