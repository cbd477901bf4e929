/* The fault store: lost answers, puts that land late and short lists, each at a
 * chosen operation, so that a test can fail every step of a flow in turn. Late
 * puts run on threads of their own, and closing the store waits for them. */
#include "store/fault.h"

#include <pthread.h>
#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"

struct rule { struct gpc_fault f; unsigned seen; };
struct late_put {
	struct gpc_store *inner;
	char *key;
	struct gpc_buf body;
	unsigned flags;
	int ms;
	int64_t due_ms;         /* by the boot clock, without a thread; or 0 */
	pthread_t thread;
};
struct fault_state {
	struct gpc_store *inner;
	pthread_mutex_t lock;
	GPC_VEC(struct rule) rules;
	unsigned count[GPC_FAULT__COUNT];
	GPC_VEC(struct late_put *) late;
};

static struct fault_state *state_of(struct gpc_store *s)
{
	return s->state;
}

static int fault_open(struct gpc_store *s, const char *where, unsigned flags,
	struct gpc_error *err)
{
	(void)where;
	(void)flags;
	(void)err;
	pthread_mutex_init(&state_of(s)->lock, NULL);
	return 0;
}

static void land_now(struct late_put *l)
{
	/* Somebody else may have the key. */
	(void)!gpc_store_put(l->inner, l->key, l->body.data, l->body.len,
		l->flags, NULL);
}

static void late_free(struct late_put *l)
{
	free(l->key);
	gpc_buf_clear(&l->body);
	free(l);
}

/* Delayed puts whose time has come. */
static void land_due(struct fault_state *f, int64_t now_ms)
{
	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < f->late.n;) {
		struct late_put *l = f->late.v[i];

		if (!l->due_ms || l->due_ms > now_ms) {
			i++;
			continue;
		}
		gpc_vec_remove(&f->late, i);
		land_now(l);
		late_free(l);
	}
	pthread_mutex_unlock(&f->lock);
}

static void fault_close(struct gpc_store *s)
{
	struct fault_state *f = s->state;

	land_due(f, INT64_MAX);
	gpc_vec_each(l, &f->late) {
		pthread_join((*l)->thread, NULL);
		late_free(*l);
	}
	gpc_vec_free(&f->late);
	gpc_vec_free(&f->rules);
	pthread_mutex_destroy(&f->lock);
}

/* The fault of this operation; false: none. */
static bool hit(struct gpc_store *s, enum gpc_fault_op op, const char *key,
	struct gpc_fault *ret_f)
{
	struct fault_state *f = s->state;
	bool found = false;

	land_due(f, gpc_boot_ms());
	pthread_mutex_lock(&f->lock);
	f->count[op]++;
	gpc_vec_each(rule, &f->rules) {
		if (rule->f.op != op || (rule->f.prefix &&
			!gpc_starts_with(key, rule->f.prefix)))
			continue;
		rule->seen++;
		if (found || (rule->f.nth && rule->seen != rule->f.nth))
			continue;
		*ret_f = rule->f;
		found = true;
	}
	pthread_mutex_unlock(&f->lock);
	return found;
}

static int fail(const struct gpc_fault *f, const char *what, const char *key,
	struct gpc_error *err)
{
	return gpc_fail(err, f->code ? f->code : GPC_ENET,
		"%s %s: injected fault", what, key);
}

/* What happens before the operation: < 0 ends it. */
static int before(struct gpc_store *s, enum gpc_fault_op op, const char *what,
	const char *key, struct gpc_fault *ret_f, bool *ret_hit,
	struct gpc_error *err)
{
	*ret_hit = hit(s, op, key, ret_f);
	if (*ret_hit && ret_f->how == GPC_FAULT_CALL)
		ret_f->call(ret_f->arg);
	if (*ret_hit && ret_f->how == GPC_FAULT_BEFORE)
		return fail(ret_f, what, key, err);
	return 0;
}

static int after(int r, const struct gpc_fault *f, bool was_hit,
	const char *what, const char *key, struct gpc_error *err)
{
	if (was_hit && f->how == GPC_FAULT_AFTER)
		return fail(f, what, key, err);
	return r;
}

/* --- late puts --------------------------------------------------------- */

static void *land(void *arg)
{
	struct late_put *l = arg;

	gpc_sleep_ms(l->ms);
	land_now(l);
	return NULL;
}

static void send_late(struct gpc_store *s, const char *key,
	const struct gpc_body *body, unsigned flags, const struct gpc_fault *how)
{
	struct fault_state *f = s->state;
	struct late_put *l = gpc_alloc(sizeof(*l));

	l->inner = f->inner;
	l->key = gpc_strdup(key);
	if (body->data)
		gpc_buf_add(&l->body, body->data, (size_t)body->size);
	l->flags = flags;
	l->ms = how->late_ms;
	if (how->how == GPC_FAULT_DELAYED)
		l->due_ms = gpc_boot_ms() + how->late_ms;
	pthread_mutex_lock(&f->lock);
	if (body->data && (l->due_ms ||
		pthread_create(&l->thread, NULL, land, l) == 0)) {
		*gpc_vec_push(&f->late) = l;
		l = NULL;
	}
	pthread_mutex_unlock(&f->lock);
	if (l)
		late_free(l);
}

/* --- operations -------------------------------------------------------- */

static int fault_get(struct gpc_store *s, const char *key, int64_t offset,
	int64_t length, gpc_sink_fn *sink, void *arg, struct gpc_object *ret_o,
	struct gpc_error *err)
{
	struct gpc_store *in = state_of(s)->inner;
	struct gpc_fault f;
	bool was_hit;
	int r = before(s, GPC_FAULT_GET, "get", key, &f, &was_hit, err);

	if (r == 0)
		r = in->ops->get(in, key, offset, length, sink, arg, ret_o,
			err);
	return after(r, &f, was_hit, "get", key, err);
}

static int fault_put(struct gpc_store *s, const char *key,
	const struct gpc_body *body, unsigned flags, struct gpc_error *err)
{
	struct gpc_store *in = state_of(s)->inner;
	struct gpc_fault f;
	bool was_hit;
	int r = before(s, GPC_FAULT_PUT, "put", key, &f, &was_hit, err);

	if (r < 0)
		return r;
	if (was_hit && (f.how == GPC_FAULT_LATE || f.how == GPC_FAULT_DELAYED)) {
		send_late(s, key, body, flags, &f);
		return fail(&f, "put", key, err);
	}
	r = in->ops->put(in, key, body, flags, err);
	return after(r, &f, was_hit, "put", key, err);
}

static int fault_head(struct gpc_store *s, const char *key,
	struct gpc_object *ret_o, struct gpc_error *err)
{
	struct gpc_store *in = state_of(s)->inner;
	struct gpc_fault f;
	bool was_hit;
	int r = before(s, GPC_FAULT_HEAD, "head", key, &f, &was_hit, err);

	if (r == 0)
		r = in->ops->head(in, key, ret_o, err);
	return after(r, &f, was_hit, "head", key, err);
}

struct short_list { gpc_list_fn *fn; void *arg; unsigned left; };

static int count_down(void *arg, const struct gpc_object *o)
{
	struct short_list *l = arg;

	return l->left-- == 0 ? 1 : l->fn(l->arg, o);
}

static int fault_list(struct gpc_store *s, const char *prefix,
	const char *after_key, gpc_list_fn *fn, void *arg,
	struct gpc_error *err)
{
	struct gpc_store *in = state_of(s)->inner;
	struct gpc_fault f;
	bool was_hit;
	int r = before(s, GPC_FAULT_LIST, "list", prefix, &f, &was_hit, err);

	if (r < 0)
		return r;
	if (was_hit && f.how == GPC_FAULT_SHORT) {
		struct short_list l = { fn, arg, f.keep };

		return in->ops->list(in, prefix, after_key, count_down, &l,
			err);
	}
	r = in->ops->list(in, prefix, after_key, fn, arg, err);
	return after(r, &f, was_hit, "list", prefix, err);
}

static int fault_del(struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	struct gpc_store *in = state_of(s)->inner;
	struct gpc_fault f;
	bool was_hit;
	int r = before(s, GPC_FAULT_DEL, "delete", key, &f, &was_hit, err);

	if (r == 0)
		r = in->ops->del(in, key, err);
	return after(r, &f, was_hit, "delete", key, err);
}

static int fault_append(struct gpc_store *s, const char *key, uint64_t offset,
	const void *data, size_t n, bool sync, struct gpc_error *err)
{
	struct gpc_store *in = state_of(s)->inner;
	struct gpc_fault f;
	bool was_hit;
	int r = before(s, GPC_FAULT_APPEND, "append", key, &f, &was_hit, err);

	if (r == 0)
		r = gpc_store_append(in, key, offset, data, n, sync, err);
	return after(r, &f, was_hit, "append", key, err);
}

static void fault_wait(struct gpc_store *s, const char *prefix, int timeout_ms)
{
	gpc_store_wait(state_of(s)->inner, prefix, timeout_ms);
}

static int fault_sync(struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	struct fault_state *f = s->state;

	return gpc_store_sync(f->inner, key, err);
}

static int fault_unfinished(struct gpc_store *s, const char *prefix,
	gpc_list_fn *fn, void *arg, struct gpc_error *err)
{
	return gpc_store_unfinished(state_of(s)->inner, prefix, fn, arg, err);
}

static int fault_drop(struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	return gpc_store_drop(state_of(s)->inner, key, err);
}

static const struct gpc_store_ops fault_ops = {
	.scheme = "fault",
	.state_size = sizeof(struct fault_state),
	.open = fault_open,
	.close = fault_close,
	.get = fault_get,
	.put = fault_put,
	.head = fault_head,
	.list = fault_list,
	.del = fault_del,
	.append = fault_append,
	.sync = fault_sync,
	.unfinished = fault_unfinished,
	.drop = fault_drop,
	.wait = fault_wait,
};

/* --- the tests' side --------------------------------------------------- */

struct gpc_store *gpc_store_fault_new(struct gpc_store *inner)
{
	struct gpc_store *s = NULL;

	/* fault_open cannot fail. */
	if (gpc_store_open_ops(&fault_ops, inner->url, 0, inner->log, &s,
		NULL) < 0)
		return NULL;
	state_of(s)->inner = inner;
	s->caps = inner->caps;
	memcpy(s->id, inner->id, sizeof(s->id));
	return s;
}

void gpc_store_fault_add(struct gpc_store *s, const struct gpc_fault *f)
{
	struct fault_state *st = s->state;

	pthread_mutex_lock(&st->lock);
	gpc_vec_push(&st->rules)->f = *f;
	pthread_mutex_unlock(&st->lock);
}

void gpc_store_fault_reset(struct gpc_store *s)
{
	struct fault_state *st = s->state;

	pthread_mutex_lock(&st->lock);
	gpc_vec_free(&st->rules);
	memset(st->count, 0, sizeof(st->count));
	pthread_mutex_unlock(&st->lock);
}

unsigned gpc_store_fault_count(struct gpc_store *s, enum gpc_fault_op op)
{
	struct fault_state *st = s->state;
	unsigned n;

	pthread_mutex_lock(&st->lock);
	n = st->count[op];
	pthread_mutex_unlock(&st->lock);
	return n;
}
