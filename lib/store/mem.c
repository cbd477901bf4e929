/* mem://: objects in the memory of this process, for tests and examples. The
 * same name opened twice is the same store, as long as one of them is open;
 * mem:// without a name is private. It promises what file:// promises, except
 * to survive the process.
 *
 * That sharing needs the one static of the library: the list of open names. */
#include "store/store.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"

#define POLL_MS 5

struct mem_object {
	char *key;
	char *data;
	size_t n, cap;
	int64_t modified_ms;
};
struct mem_data {
	char *name;
	int users;
	pthread_mutex_t lock;
	uint64_t changes;
	GPC_VEC(struct mem_object) objects;     /* sorted by key */
	struct mem_data *next;
};
struct mem_state {
	struct mem_data *data;
	uint64_t seen;          /* changes at the last wait */
};

static struct {
	pthread_mutex_t lock;
	struct mem_data *first;
} names = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- open -------------------------------------------------------------- */

static int mem_open(struct gpc_store *s, const char *where, unsigned flags,
	struct gpc_error *err)
{
	struct mem_state *m = s->state;
	struct mem_data *d;

	(void)flags;
	(void)err;
	pthread_mutex_lock(&names.lock);
	for (d = names.first; d; d = d->next)
		if (*where && gpc_eq(d->name, where))
			break;
	if (!d) {
		d = gpc_alloc(sizeof(*d));
		d->name = gpc_strdup(where);
		pthread_mutex_init(&d->lock, NULL);
		d->next = names.first;
		names.first = d;
	}
	d->users++;
	pthread_mutex_unlock(&names.lock);
	m->data = d;
	s->caps = GPC_STORE_IF_ABSENT | GPC_STORE_APPEND | GPC_STORE_LOCAL;
	return 0;
}

static void object_clear(struct mem_object *o)
{
	free(o->key);
	free(o->data);
}

static void mem_close(struct gpc_store *s)
{
	struct mem_data *d = ((struct mem_state *)s->state)->data;
	struct mem_data **link = &names.first;
	bool last;

	pthread_mutex_lock(&names.lock);
	last = --d->users == 0;
	while (last && *link != d)
		link = &(*link)->next;
	if (last)
		*link = d->next;
	pthread_mutex_unlock(&names.lock);
	if (!last)
		return;
	gpc_vec_each(o, &d->objects)
		object_clear(o);
	gpc_vec_free(&d->objects);
	pthread_mutex_destroy(&d->lock);
	free(d->name);
	free(d);
}

/* --- objects; all with the lock held ----------------------------------- */

static struct mem_data *lock(struct gpc_store *s)
{
	struct mem_data *d = ((struct mem_state *)s->state)->data;

	pthread_mutex_lock(&d->lock);
	return d;
}

static void unlock(struct mem_data *d)
{
	pthread_mutex_unlock(&d->lock);
}

/* First object whose key is not less than this one. */
static size_t lower(const struct mem_data *d, const char *key)
{
	size_t a = 0, b = d->objects.n;

	while (a < b) {
		size_t m = a + (b - a) / 2;

		if (strcmp(d->objects.v[m].key, key) < 0)
			a = m + 1;
		else
			b = m;
	}
	return a;
}

static struct mem_object *find(const struct mem_data *d, const char *key)
{
	size_t i = lower(d, key);

	if (i < d->objects.n && strcmp(d->objects.v[i].key, key) == 0)
		return &d->objects.v[i];
	return NULL;
}

/* The object of this key, made empty if it is absent. */
static struct mem_object *touch(struct mem_data *d, const char *key)
{
	struct mem_object *o = find(d, key);
	size_t i;

	if (!o) {
		i = lower(d, key);
		(void)gpc_vec_push(&d->objects);
		o = &d->objects.v[i];
		memmove(o + 1, o, (d->objects.n - 1 - i) * sizeof(*o));
		memset(o, 0, sizeof(*o));
		o->key = gpc_strdup(key);
	}
	o->modified_ms = gpc_wall_ms();
	d->changes++;
	return o;
}

static void describe(const struct mem_object *o, struct gpc_object *ret_o)
{
	memset(ret_o, 0, sizeof(*ret_o));
	memcpy(ret_o->key, o->key, strlen(o->key) + 1);
	ret_o->size = o->n;
	ret_o->modified_ms = o->modified_ms;
	ret_o->now_ms = gpc_wall_ms();
}

static int fail_absent(const char *key, struct gpc_error *err)
{
	return gpc_fail(err, GPC_ENOTFOUND, "%s does not exist", key);
}

/* --- operations -------------------------------------------------------- */

static int mem_get(struct gpc_store *s, const char *key, int64_t offset,
	int64_t length, gpc_sink_fn *sink, void *arg, struct gpc_object *ret_o,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = SIZE_MAX };
	struct mem_data *d = lock(s);
	const struct mem_object *o = find(d, key);

	if (!o) {
		unlock(d);
		return fail_absent(key, err);
	}
	describe(o, ret_o);
	if ((uint64_t)offset < o->n) {
		size_t n = o->n - (size_t)offset;

		if (length >= 0 && (uint64_t)length < n)
			n = (size_t)length;
		gpc_buf_add(&b, o->data + offset, n);
	}
	unlock(d);
	return b.len ? sink(arg, b.data, b.len, err) : 0;
}

static int read_body(const struct gpc_body *body, struct gpc_buf *b,
	struct gpc_error *err)
{
	if (body->data) {
		gpc_buf_add(b, body->data, (size_t)body->size);
		return gpc_buf_check(b, err);
	}
	while (b->len < body->size) {
		size_t left = (size_t)(body->size - b->len);
		size_t want = left < 65536 ? left : 65536;
		void *to = gpc_buf_try_reserve(b, want);
		ssize_t n;

		if (!to)
			return gpc_buf_check(b, err);
		n = pread(body->fd, to, want,
			(off_t)(body->offset + (int64_t)b->len));
		if (n <= 0)
			return gpc_fail(err, GPC_EPROTO,
				"what is put ended early");
		b->len += (size_t)n;
	}
	return 0;
}

static int mem_put(struct gpc_store *s, const char *key,
	const struct gpc_body *body, unsigned flags, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = SIZE_MAX };
	struct mem_data *d;
	struct mem_object *o;
	int r = read_body(body, &b, err);

	if (r < 0)
		return r;
	d = lock(s);
	if ((flags & GPC_PUT_IF_ABSENT) && find(d, key)) {
		unlock(d);
		return gpc_fail(err, GPC_ECONFLICT, "%s exists already", key);
	}
	o = touch(d, key);
	free(o->data);
	o->n = b.len;
	o->cap = b.cap;
	o->data = b.data;
	b = (struct gpc_buf){0};
	unlock(d);
	return 0;
}

static int mem_head(struct gpc_store *s, const char *key,
	struct gpc_object *ret_o, struct gpc_error *err)
{
	struct mem_data *d = lock(s);
	const struct mem_object *o = find(d, key);

	if (o)
		describe(o, ret_o);
	unlock(d);
	return o ? 0 : fail_absent(key, err);
}

/* One key at a time, so that fn may use the store. */
static int mem_list(struct gpc_store *s, const char *prefix, const char *after,
	gpc_list_fn *fn, void *arg, struct gpc_error *err)
{
	struct gpc_object o = {0};
	const char *from = after && strcmp(after, prefix) > 0 ? after : prefix;
	bool more = true;

	(void)err;
	while (more) {
		struct mem_data *d = lock(s);
		size_t i = lower(d, from);

		while (i < d->objects.n && ((after &&
			strcmp(d->objects.v[i].key, after) <= 0) ||
			strcmp(d->objects.v[i].key, o.key) <= 0))
			i++;
		more = i < d->objects.n &&
			gpc_starts_with(d->objects.v[i].key, prefix);
		if (more)
			describe(&d->objects.v[i], &o);
		unlock(d);
		from = o.key;
		if (more && fn(arg, &o) != 0)
			return 0;
	}
	return 0;
}

static int mem_del(struct gpc_store *s, const char *key, struct gpc_error *err)
{
	struct mem_data *d = lock(s);
	struct mem_object *o = find(d, key);

	(void)err;
	if (o) {
		object_clear(o);
		gpc_vec_remove(&d->objects, (size_t)(o - d->objects.v));
		d->changes++;
	}
	unlock(d);
	return 0;
}

static int mem_append(struct gpc_store *s, const char *key, uint64_t offset,
	const void *data, size_t n, bool sync, struct gpc_error *err)
{
	struct mem_data *d = lock(s);
	struct mem_object *o = find(d, key);
	size_t have = o ? o->n : 0;

	(void)sync;
	if (have != offset || (!o && offset)) {
		unlock(d);
		if (!o)
			return fail_absent(key, err);
		return gpc_fail(err, GPC_ECONFLICT, "%s has %zu bytes, an "
			"append at %llu does not fit", key, have,
			(unsigned long long)offset);
	}
	o = touch(d, key);
	if (o->n + n > o->cap) {
		o->cap = (o->n + n) * 2;
		o->data = gpc_grow(o->data, o->cap, 1);
	}
	if (n)
		memcpy(o->data + o->n, data, n);
	o->n += n;
	unlock(d);
	return 0;
}

static void mem_wait(struct gpc_store *s, const char *prefix, int timeout_ms)
{
	struct mem_state *m = s->state;
	int64_t end = gpc_boot_ms() + timeout_ms;

	(void)prefix;
	for (;;) {
		struct mem_data *d = lock(s);
		bool changed = d->changes != m->seen;

		m->seen = d->changes;
		unlock(d);
		if (changed || gpc_boot_ms() >= end)
			return;
		gpc_sleep_ms(POLL_MS);
	}
}

const struct gpc_store_ops gpc_store_mem = {
	.scheme = "mem",
	.state_size = sizeof(struct mem_state),
	.open = mem_open,
	.close = mem_close,
	.get = mem_get,
	.put = mem_put,
	.head = mem_head,
	.list = mem_list,
	.del = mem_del,
	.append = mem_append,
	.wait = mem_wait,
};
