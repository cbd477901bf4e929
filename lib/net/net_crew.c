/* Threads for what calls prepare: sums over large bodies, which would hold up all
 * other calls of an event loop. There are few, for all loops of a net; they begin with
 * the first call that needs them and end with the net. A task belongs to a worker from
 * gpc_net_crew_add until gpc_net_crew_done or gpc_net_crew_leave.
 */
#include <unistd.h>

#include "base/thread.h"
#include "net/net_parts.h"

/* Under the lock. */
static struct gpc_net_task *take_first(struct gpc_net_crew *c)
{
	struct gpc_net_task *t = c->first;

	c->first = t->work.next;
	if (!c->first)
		c->last = NULL;
	t->work.state = GPC_NET_WORK_RUNS;
	return t;
}

static void *work(void *arg)
{
	struct gpc_net_crew *c = arg;

	pthread_mutex_lock(&c->lock);
	while (!c->ends) {
		struct gpc_net_task *t;

		if (!c->first) {
			c->n_idle++;
			pthread_cond_wait(&c->more, &c->lock);
			c->n_idle--;
			continue;
		}
		t = take_first(c);
		pthread_mutex_unlock(&c->lock);
		t->work.r = t->call.prepare(t->call.arg, &t->work.stop,
			&t->work.err);
		pthread_mutex_lock(&c->lock);
		t->work.state = GPC_NET_WORK_DONE;
		pthread_cond_broadcast(&c->done);
		gpc_http_wake(t->loop->http);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* As many as cores: the event loop mostly waits. */
static int most_threads(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	return cores < 1 ? 1 : cores < GPC_NET_CREW ? (int)cores : GPC_NET_CREW;
}

/* Under the lock. */
static void start_thread(struct gpc_net_crew *c)
{
	if (gpc_thread_start(&c->threads[c->n], work, c) == 0)
		c->n++;
}

void gpc_net_crew_init(struct gpc_net_crew *c)
{
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->more, NULL);
	pthread_cond_init(&c->done, NULL);
}

void gpc_net_crew_end(struct gpc_net_crew *c)
{
	pthread_mutex_lock(&c->lock);
	c->ends = true;
	pthread_cond_broadcast(&c->more);
	pthread_mutex_unlock(&c->lock);
	for (int i = 0; i < c->n; i++)
		pthread_join(c->threads[i], NULL);
	pthread_cond_destroy(&c->more);
	pthread_cond_destroy(&c->done);
	pthread_mutex_destroy(&c->lock);
}

/* Where there is no thread to be had, it takes the loop's. */
void gpc_net_crew_add(struct gpc_net_task *t)
{
	struct gpc_net_crew *c = &t->loop->net->crew;
	bool taken;

	pthread_mutex_lock(&c->lock);
	if (c->n_idle == 0 && c->n < most_threads())
		start_thread(c);
	taken = c->n > 0;
	if (taken) {
		t->work.next = NULL;
		t->work.state = GPC_NET_WORK_WAITS;
		if (c->last)
			c->last->work.next = t;
		else
			c->first = t;
		c->last = t;
		pthread_cond_signal(&c->more);
	}
	pthread_mutex_unlock(&c->lock);
	if (!taken) {
		t->work.r = t->call.prepare(t->call.arg, &t->work.stop,
			&t->work.err);
		t->work.state = GPC_NET_WORK_DONE;
		gpc_http_wake(t->loop->http);
	}
}

bool gpc_net_crew_done(struct gpc_net_task *t)
{
	struct gpc_net_crew *c = &t->loop->net->crew;
	bool done;

	pthread_mutex_lock(&c->lock);
	done = t->work.state == GPC_NET_WORK_DONE;
	pthread_mutex_unlock(&c->lock);
	return done;
}

/* Under the lock. */
static void take_out(struct gpc_net_crew *c, struct gpc_net_task *t)
{
	struct gpc_net_task *before = NULL;

	for (struct gpc_net_task *x = c->first; x != t; x = x->work.next)
		before = x;
	if (before)
		before->work.next = t->work.next;
	else
		c->first = t->work.next;
	if (c->last == t)
		c->last = before;
	t->work.state = GPC_NET_WORK_DONE;
}

void gpc_net_crew_leave(struct gpc_net_task *t)
{
	struct gpc_net_crew *c = &t->loop->net->crew;

	pthread_mutex_lock(&c->lock);
	if (t->work.state == GPC_NET_WORK_WAITS)
		take_out(c, t);
	atomic_store(&t->work.stop, true);
	while (t->work.state == GPC_NET_WORK_RUNS)
		pthread_cond_wait(&c->done, &c->lock);
	pthread_mutex_unlock(&c->lock);
}
