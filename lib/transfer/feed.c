/* See feed.h. Entries wait packed, in blocks: the producer fills the last one, the
 * reader takes the first away and reads it without a lock. */
#include "transfer/feed.h"

#include <pthread.h>

#include "base/cond.h"
#include "base/thread.h"
#include "base/time.h"
#include "transfer/packed.h"

enum { TICK_MS = 100 };
#define BLOCK ((size_t)32 << 10)
#define WAITING_MAX ((size_t)8 << 20)

struct block {
	struct block *next;
	struct gpc_packed list;
};

struct gpc_feed {
	gpc_feed_fn *fn;
	void *arg;
	const struct gpc_cancel *cancel;
	pthread_t thread;
	pthread_mutex_t lock;           /* of all below */
	pthread_cond_t changed;
	struct block *first, *last;
	size_t waiting;                 /* bytes in blocks */
	bool closed;                    /* the reader has gone */
	bool ended;
	int r;                          /* of the producer, and its error */
	struct gpc_error err;
	struct gpc_feed_counts counts;
	/* The reader's alone: */
	struct block *reading;
	struct gpc_packed_reader reader;
};

static void block_free(struct block *b)
{
	if (b)
		gpc_packed_clear(&b->list);
	free(b);
}

/* Until something changes, a tick at the longest: nobody wakes it for a signal.
 * Called with the lock held. */
static void wait_tick(struct gpc_feed *f)
{
	gpc_cond_wait_ms(&f->changed, &f->lock, TICK_MS);
}

/* --- producing --------------------------------------------------------------- */

static void *produce(void *arg)
{
	struct gpc_feed *f = arg;
	struct gpc_error err = {0};
	int r = f->fn(f->arg, f, &err);

	pthread_mutex_lock(&f->lock);
	f->r = r;
	f->err = err;
	f->ended = true;
	f->counts.complete = r == 0;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

static int add(struct gpc_feed *f, const struct gpc_listed *l,
	struct gpc_error *err)
{
	size_t before;
	int r;

	if (!f->last || f->last->list.bytes.len >= BLOCK) {
		struct block *b = gpc_alloc(sizeof(*b));

		*(f->last ? &f->last->next : &f->first) = b;
		f->last = b;
	}
	before = f->last->list.bytes.len;
	r = gpc_packed_add(&f->last->list, l, err);
	if (r)
		return r;
	f->waiting += f->last->list.bytes.len - before;
	if (!(l->flags & GPC_LISTED_NOTE)) {
		f->counts.files++;
		f->counts.bytes += l->size;
	}
	pthread_cond_broadcast(&f->changed);
	return 0;
}

int gpc_feed_put(struct gpc_feed *f, const struct gpc_listed *l,
	struct gpc_error *err)
{
	int r = 0;

	pthread_mutex_lock(&f->lock);
	while (f->waiting >= WAITING_MAX && !f->closed &&
		!gpc_canceled(f->cancel))
		wait_tick(f);
	if (f->closed || gpc_canceled(f->cancel))
		r = gpc_fail(err, GPC_ECANCELED, "interrupted");
	else
		r = add(f, l, err);
	pthread_mutex_unlock(&f->lock);
	return r;
}

/* --- reading ----------------------------------------------------------------- */

/* Takes the first block away. Called with the lock held. */
static bool take_block(struct gpc_feed *f)
{
	if (!f->first)
		return false;
	block_free(f->reading);
	gpc_packed_reader_clear(&f->reader);
	f->reading = f->first;
	f->first = f->first->next;
	if (!f->first)
		f->last = NULL;
	f->waiting -= f->reading->list.bytes.len;
	f->reader.p = &f->reading->list;
	pthread_cond_broadcast(&f->changed);
	return true;
}

static int wait_block(struct gpc_feed *f, int timeout_ms,
	enum gpc_feed_state *ret_state, struct gpc_error *err)
{
	int64_t began = gpc_boot_ms();
	int r = 0;

	pthread_mutex_lock(&f->lock);
	for (;;) {
		*ret_state = GPC_FEED_ONE;
		if (take_block(f))
			break;
		*ret_state = f->ended ? GPC_FEED_END : GPC_FEED_LATER;
		if (f->ended && f->r < 0) {
			r = f->r;
			if (err)
				*err = f->err;
		} else if (gpc_canceled(f->cancel) && !f->ended) {
			r = gpc_fail(err, GPC_ECANCELED, "interrupted");
		}
		if (f->ended || r < 0 || (timeout_ms >= 0 &&
			gpc_boot_ms() - began >= timeout_ms))
			break;
		wait_tick(f);
	}
	pthread_mutex_unlock(&f->lock);
	return r;
}

int gpc_feed_next(struct gpc_feed *f, int timeout_ms,
	enum gpc_feed_state *ret_state, struct gpc_listed *ret_l,
	struct gpc_error *err)
{
	enum gpc_feed_state state = GPC_FEED_ONE;
	int r = 0;

	while (!f->reading || !gpc_packed_next(&f->reader, ret_l)) {
		r = wait_block(f, timeout_ms, &state, err);
		if (r < 0 || state != GPC_FEED_ONE)
			break;
	}
	if (r == 0)
		*ret_state = state;
	return r;
}

void gpc_feed_counts(struct gpc_feed *f, struct gpc_feed_counts *ret_c)
{
	pthread_mutex_lock(&f->lock);
	*ret_c = f->counts;
	pthread_mutex_unlock(&f->lock);
}

/* --- life -------------------------------------------------------------------- */

static void release(struct gpc_feed *f)
{
	while (take_block(f))
		;
	block_free(f->reading);
	gpc_packed_reader_clear(&f->reader);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

int gpc_feed_start(gpc_feed_fn *fn, void *arg, const struct gpc_cancel *cancel,
	struct gpc_feed **ret_f, struct gpc_error *err)
{
	struct gpc_feed *f = gpc_alloc(sizeof(*f));
	int sys;

	f->fn = fn;
	f->arg = arg;
	f->cancel = cancel;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->changed, NULL);
	sys = gpc_thread_start(&f->thread, produce, f);
	if (sys) {
		release(f);
		return gpc_fail_sys(err, sys, "cannot start a thread");
	}
	*ret_f = f;
	return 0;
}

void gpc_feed_free(struct gpc_feed *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->closed = true;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	release(f);
}
