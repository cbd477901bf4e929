/* See pool.h. Signals stay with the calling thread, whose handler sets the
 * cancel token that the tasks look at.
 */
#include "snapshot/pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/cond.h"
#include "base/thread.h"

enum { MAX_THREADS = 32, QUEUE = 64, TICK_MS = 100 };

struct worker { struct gpc_pool *pool; unsigned number; pthread_t thread; };

struct gpc_pool {
	struct gpc_pool_options o;
	pthread_mutex_t lock;
	pthread_cond_t work;        /* a task is queued, or the end has come */
	pthread_cond_t room;        /* a task has ended */
	void *queue[QUEUE];
	unsigned head, n, depth, running;
	bool closed;
	int r;                      /* the first failure, and its error */
	struct gpc_error err;
	unsigned n_workers;
	struct worker workers[MAX_THREADS];
};

unsigned gpc_pool_threads(unsigned asked)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	/* More than cores: some always wait for the store or its disk. */
	long n = asked ? (long)asked : cores + 4;

	if (!asked && n > 12)
		n = 12;
	return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (unsigned)n;
}

/* The next task; NULL at the end. */
static void *take(struct gpc_pool *p)
{
	void *task = NULL;

	pthread_mutex_lock(&p->lock);
	while (p->n == 0 && !p->closed)
		pthread_cond_wait(&p->work, &p->lock);
	if (p->n > 0) {
		task = p->queue[p->head];
		p->head = (p->head + 1) % QUEUE;
		p->n--;
		p->running++;
	}
	pthread_mutex_unlock(&p->lock);
	return task;
}

static void drop_queue(struct gpc_pool *p)
{
	for (; p->n > 0; p->n--) {
		if (p->o.drop)
			p->o.drop(p->queue[p->head]);
		p->head = (p->head + 1) % QUEUE;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct gpc_pool *p = w->pool;
	void *task;

	while ((task = take(p))) {
		struct gpc_error err = {0};
		int r = p->o.run(p->o.arg, w->number, task, &err);

		pthread_mutex_lock(&p->lock);
		p->running--;
		if (r < 0 && p->r == 0) {
			p->r = r;
			p->err = err;
			drop_queue(p);
		}
		pthread_cond_signal(&p->room);
		pthread_mutex_unlock(&p->lock);
	}
	return NULL;
}

static void start_workers(struct gpc_pool *p)
{
	for (unsigned i = 0; i < p->o.threads; i++) {
		struct worker *w = &p->workers[i];

		w->pool = p;
		w->number = i;
		if (gpc_thread_start(&w->thread, work, w) != 0)
			break;          /* fewer will do */
		p->n_workers++;
	}
}

int gpc_pool_open(const struct gpc_pool_options *o, struct gpc_pool **ret_p,
	struct gpc_error *err)
{
	struct gpc_pool *p = gpc_alloc(sizeof(*p));

	p->o = *o;
	p->depth = 2 * o->threads < QUEUE ? 2 * o->threads : QUEUE;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->room, NULL);
	start_workers(p);
	if (p->n_workers == 0) {
		gpc_pool_free(p);
		return gpc_fail(err, GPC_EIO, "cannot start a thread");
	}
	*ret_p = p;
	return 0;
}

/* Waits for a task to end, at most a tick. Called with the lock held. */
static void wait_room(struct gpc_pool *p)
{
	if (gpc_cond_wait_ms(&p->room, &p->lock, TICK_MS) || !p->o.tick)
		return;
	pthread_mutex_unlock(&p->lock);
	p->o.tick(p->o.arg);
	pthread_mutex_lock(&p->lock);
}

static int result(const struct gpc_pool *p, struct gpc_error *err)
{
	if (p->r < 0 && err)
		*err = p->err;
	return p->r;
}

int gpc_pool_add(struct gpc_pool *p, void *task, struct gpc_error *err)
{
	int r;

	pthread_mutex_lock(&p->lock);
	while (p->n >= p->depth && p->r == 0)
		wait_room(p);
	if (p->r == 0) {
		p->queue[(p->head + p->n) % QUEUE] = task;
		p->n++;
		pthread_cond_signal(&p->work);
	} else if (p->o.drop) {
		p->o.drop(task);
	}
	r = result(p, err);
	pthread_mutex_unlock(&p->lock);
	return r;
}

int gpc_pool_finish(struct gpc_pool *p, struct gpc_error *err)
{
	int r;

	pthread_mutex_lock(&p->lock);
	while (p->n > 0 || p->running > 0)
		wait_room(p);
	r = result(p, err);
	pthread_mutex_unlock(&p->lock);
	return r;
}

void gpc_pool_free(struct gpc_pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	drop_queue(p);
	p->closed = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->n_workers; i++)
		pthread_join(p->workers[i].thread, NULL);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->room);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
