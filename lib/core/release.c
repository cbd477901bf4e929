/* From tags alone: what providers show with this store's tag is compared with
 * what the journal still needs. The store may be down: then everything of this
 * store counts as what the tags say, and nothing is called an orphan. */
#include "core/release.h"

#include <string.h>

#include "base/crash.h"
#include "base/pace.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "core/request.h"
#include "core/supervise.h"
#include "core/view.h"
#include "provider/provider.h"
#include "record/index.h"
#include "record/journal.h"
#include "record/keys.h"

#define ENDED "its job has ended"
#define POLL_MS 100
#define NAMED_MOST 8            /* nodes, in an error */
#define FAR_POLL_MS 2000        /* a cloud counts calls */
#define FAR_LEAST_MS 300        /* where each look costs money */
#define FAR_MOST_MS 2000
#define INTENT_MS 600000
#define RELIST_ROUND 19         /* right before a supervisor is looked for */

void gpc_held_clear(struct gpc_held_list *l)
{
	gpc_vec_each(h, l) {
		free(h->provider);
		free(h->id);
		free(h->job);
		free(h->owner);
		free(h->why);
	}
	gpc_vec_free(l);
}

/* An unmounted folder has no jobs either, which says nothing about them. */
static bool store_is_there(struct gpc_session *s)
{
	return gpc_store_head(s->store, "store.json", NULL, NULL) == 0;
}

/* What a job's journal says, read once for all of its nodes. */
struct known {
	char *job;
	int r;                  /* of the reading */
	struct gpc_journal j;
};
struct all_known { GPC_VEC(struct known *) v; };

static void all_known_clear(struct all_known *all)
{
	gpc_vec_each(k, &all->v) {
		free((*k)->job);
		gpc_journal_clear(&(*k)->j);
		free(*k);
	}
	gpc_vec_free(&all->v);
}

/* Its journal too: a supervisor may have written on to what is gone. */
static const struct known *know(struct gpc_session *s, struct all_known *all,
	const char *job)
{
	struct known *k;
	gpc_key key;

	gpc_vec_each(x, &all->v)
		if (gpc_eq((*x)->job, job))
			return *x;
	k = gpc_alloc(sizeof(*k));
	*gpc_vec_push(&all->v) = k;
	k->job = gpc_strdup(job);
	gpc_journal_init(&k->j, s->store, job, "");
	k->r = gpc_store_head(s->store, gpc_key_job(key, job), NULL, NULL);
	if (k->r == 0)
		k->r = gpc_journal_refresh(&k->j, NULL, NULL);
	return k;
}

/* Why nothing needs this node, or NULL when a job does or it cannot be told. */
static char *orphan_reason(struct gpc_session *s, struct all_known *all,
	const char *provider, const struct gpc_instance *x, struct gpc_held *h)
{
	const char *job = h->job;
	const struct gpc_job_state *st;
	const struct known *k;

	if (!s->store)
		return NULL;
	if (!job)
		return gpc_strdup("it names no job");
	k = know(s, all, job);
	st = &k->j.state;
	if (k->r == -GPC_ENOTFOUND && store_is_there(s))
		return gpc_strdup("its job is not in this store");
	if (k->r < 0)
		return NULL;
	gpc_vec_each(n, &st->nodes) {
		if (!gpc_eq(n->provider, provider) || !gpc_eq(n->id, x->id))
			continue;
		h->rate = n->rate;
		if (n->status == GPC_NODE_RELEASED)
			return gpc_strdup("it was recorded as released");
		if (n->created_ms)
			h->created_ms = n->created_ms;
		h->draining = gpc_job_status_is_end(st->status);
		return h->draining ? gpc_strdup(ENDED) : NULL;
	}
	gpc_vec_each(i, &st->intents) {
		if (!gpc_eq(i->token, x->token))
			continue;
		/* A group, or a machine that it started and nobody named yet. */
		if (gpc_intent_is_group(i)) {
			h->draining = gpc_job_status_is_end(st->status);
			return h->draining ? gpc_strdup(ENDED) : NULL;
		}
		if (gpc_wall_ms() - i->at_ms < INTENT_MS)
			return NULL;
	}
	return gpc_strdup("no event of its job names it");
}

/* A way is needed as long as its job holds a node, or may get one. */
static char *way_reason(struct gpc_session *s, const char *job)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	int r;

	if (!s->store)
		return NULL;
	if (!job)
		return gpc_strdup("it names no job");
	gpc_journal_init(&j, s->store, job, "");
	r = gpc_journal_refresh(&j, NULL, NULL);
	if (r == -GPC_ENOTFOUND && store_is_there(s))
		return gpc_strdup("its job is not in this store");
	return r == 0 && gpc_job_state_is_over(&j.state) ? gpc_strdup(ENDED) : NULL;
}

static void add_held(struct gpc_session *s, struct all_known *all,
	const char *provider, const struct gpc_instance *x, bool way,
	struct gpc_held_list *l)
{
	struct gpc_held *h = gpc_vec_push(l);

	h->provider = gpc_strdup(provider);
	h->id = gpc_strdup(x->id);
	h->job = gpc_strdup(gpc_pairs_get(&x->tags, "gpucloud-job"));
	h->owner = gpc_strdup(gpc_pairs_get(&x->tags, "gpucloud-owner"));
	h->created_ms = x->created_ms;
	h->expires_ms = x->expires_ms;
	h->foreign = !gpc_eq(h->owner, s->place.owner.hash);
	h->way = way;
	h->why = way ? way_reason(s, h->job) :
		orphan_reason(s, all, provider, x, h);
	h->orphan = h->why != NULL;
}

/* An end that only the agents have written yet. */
static bool has_ended(struct gpc_session *s, const char *job)
{
	gpc_auto(gpc_view) struct gpc_view v = {0};

	return gpc_view_load(s, job, &v, NULL) == 0 &&
		gpc_job_status_is_end(v.state.status);
}

/* What was found for one node holds for the others of its job. */
struct looked { bool asked_end, ended, asked_silent; };

static bool looks_at(const struct gpc_session *s, const struct gpc_held *h)
{
	return s->store && h->job;
}

static void look(struct gpc_session *s, const struct gpc_held_list *l,
	struct looked *all, size_t i)
{
	struct gpc_held *h = &l->v[i];
	struct looked *me = &all[i];

	for (size_t k = 0; k < i; k++) {
		if (!looks_at(s, &l->v[k]) || !gpc_eq(l->v[k].job, h->job))
			continue;
		if (all[k].asked_end)
			*me = (struct looked){ .asked_end = true,
				.ended = all[k].ended,
				.asked_silent = me->asked_silent };
		if (!all[k].asked_silent)
			continue;
		me->asked_silent = true;
		h->silent_ms = l->v[k].silent_ms;
	}
	if (!h->orphan && !me->asked_end) {
		me->asked_end = true;
		me->ended = has_ended(s, h->job);
	}
	if (!h->orphan && me->ended) {
		h->orphan = h->draining = true;
		h->why = gpc_strdup(ENDED);
	}
	if (!h->draining) {
		h->silent_ms = 0;
	} else if (!me->asked_silent) {
		me->asked_silent = true;
		h->silent_ms = gpc_supervisor_silent_since(s, h->job);
	}
}

void gpc_held_look(struct gpc_session *s, struct gpc_held_list *l)
{
	struct looked *all = gpc_array(l->n + 1, sizeof(*all));

	for (size_t i = 0; i < l->n; i++)
		if (looks_at(s, &l->v[i]))
			look(s, l, all, i);
	free(all);
}

static int find_of_provider(struct gpc_session *s, struct all_known *all,
	const char *name, bool thorough, struct gpc_held_list *l,
	struct gpc_error *err)
{
	struct gpc_provider_context ctx;
	gpc_autoptr(gpc_provider) *p = NULL;
	gpc_auto(gpc_instances) struct gpc_instances found = {0}, ways = {0};
	int r = gpc_session_provider(s, name, &ctx, &p, err);

	ctx.thorough = thorough;
	if (r < 0)
		return gpc_wrap(err, r, "provider %s", name);
	r = p->ops->list(p, &found, err);
	gpc_vec_each(x, &found) {
		/* Clouds show for a while what is gone; this machine shows it
		 * as long as something of it is left. */
		if (x->state == GPC_INSTANCE_GONE &&
			!(p->ops->caps & GPC_PROVIDER_LISTS_AT_ONCE))
			continue;
		add_held(s, all, name, x, false, l);
	}
	if (r == 0 && p->ops->ways)
		r = p->ops->ways(p, &ways, err);
	gpc_vec_each(x, &ways)
		add_held(s, all, name, x, true, l);
	return gpc_wrap(err, r, "provider %s", name);
}

int gpc_held_find(struct gpc_session *s, bool thorough,
	struct gpc_held_list *ret_l, struct gpc_error *err)
{
	struct gpc_held_list l = {0};
	struct all_known all = {0};
	size_t n = 0;
	const char *const *names = gpc_provider_names(&n);
	struct gpc_error why = {0};
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		int q = find_of_provider(s, &all, names[i], thorough, &l, &why);

		if (q == 0 || r < 0)
			continue;
		r = q;
		if (err)
			*err = why;
	}
	all_known_clear(&all);
	*ret_l = l;
	return r;
}

static bool is_listed(const struct gpc_held_list *l, const struct gpc_node *n)
{
	gpc_vec_each(h, l) {
		if (gpc_eq(h->id, n->id) && gpc_eq(h->provider, n->provider))
			return true;
	}
	return false;
}

static void add_unrecorded(struct gpc_session *s, const char *job,
	const char *owner, const struct gpc_node *n, struct gpc_held_list *l)
{
	struct gpc_held *h = gpc_vec_push(l);

	h->provider = gpc_strdup(n->provider);
	h->id = gpc_strdup(n->id);
	h->job = gpc_strdup(job);
	h->owner = gpc_strdup(owner);
	h->created_ms = n->created_ms;
	h->expires_ms = n->expires_ms;
	h->rate = n->rate;
	h->foreign = !gpc_eq(owner, s->place.owner.hash);
	h->orphan = h->draining = true;
	h->why = gpc_strdup(ENDED ", and nobody recorded its release");
}

int gpc_held_add_ended(struct gpc_session *s, struct gpc_held_list *l,
	struct gpc_error *err)
{
	gpc_auto(gpc_index) struct gpc_index index = {0};
	int r = gpc_index_list_live(s->store, &index, err);

	gpc_vec_each(x, &index) {
		gpc_auto(gpc_view) struct gpc_view v = {0};

		if (r < 0 || !x->live || gpc_view_load(s, x->job, &v, NULL) < 0
			|| !gpc_job_status_is_end(v.state.status))
			continue;
		gpc_vec_each(n, &v.state.nodes) {
			if (n->status != GPC_NODE_RELEASED && !is_listed(l, n))
				add_unrecorded(s, x->job, x->owner_hash, n, l);
		}
	}
	return r;
}

/* --- releasing ------------------------------------------------------------------ */

/* Those of one provider and kind that are still to go. */
struct batch {
	struct gpc_provider *p;
	const struct gpc_held *const *h;
	size_t n;
	bool *of, *left;         /* of it; still there */
	bool way;
};

static size_t count_left(const struct batch *b, struct gpc_strv *ids)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (!b->of[i] || !b->left[i])
			continue;
		n++;
		if (ids)
			gpc_strv_add(ids, b->h[i]->id);
	}
	return n;
}

static int look_what_is_left(struct batch *b, struct gpc_error *err)
{
	gpc_auto(gpc_instances) struct gpc_instances found = {0};
	int r = b->way ? b->p->ops->ways(b->p, &found, err) :
		b->p->ops->list(b->p, &found, err);

	for (size_t i = 0; r == 0 && i < b->n; i++) {
		bool there = false;

		if (!b->of[i] || !b->left[i])
			continue;
		gpc_vec_each(x, &found)
			if (gpc_eq(x->id, b->h[i]->id))
				there = x->state != GPC_INSTANCE_GONE;
		b->left[i] = there;
	}
	return r;
}

static int release_batch(struct batch *b, const char *provider, int64_t until,
	struct gpc_error *err)
{
	int r = 0;

	while (r == 0) {
		gpc_auto(gpc_strv) struct gpc_strv ids = {0};
		size_t n = count_left(b, &ids);

		if (!n)
			return 0;
		r = b->p->ops->destroy(b->p, (const char *const *)ids.v, ids.n,
			err);
		GPC_CRASH("release.destroyed");
		if (r == 0)
			r = look_what_is_left(b, err);
		n = count_left(b, NULL);
		if (r < 0 || !n)
			return r;
		if (gpc_boot_ms() >= until)
			return gpc_fail(err, GPC_ETIMEOUT,
				"%s %s is still there%s", provider, ids.v[0],
				n > 1 ? ", and others" : "");
		gpc_sleep_ms(b->p->ops->caps & GPC_PROVIDER_THIS_HOST ? POLL_MS :
			FAR_POLL_MS);
	}
	return r;
}

int gpc_held_release_all(struct gpc_session *s, const struct gpc_held *const *h,
	size_t n, int64_t timeout_ms, bool *ret_left, struct gpc_error *err)
{
	bool *done = gpc_array(n + 1, sizeof(*done));
	bool *of = gpc_array(n + 1, sizeof(*of));
	int64_t until = gpc_boot_ms() + timeout_ms;
	int first = 0;

	for (size_t i = 0; i < n; i++)
		ret_left[i] = true;
	for (size_t i = 0; i < n; i++) {
		struct gpc_provider_context ctx;
		gpc_autoptr(gpc_provider) *p = NULL;
		struct batch b = { .h = h, .n = n, .of = of, .left = ret_left,
			.way = h[i]->way };
		struct gpc_error why = {0};
		int r;

		if (done[i])
			continue;
		for (size_t k = 0; k < n; k++) {
			of[k] = !done[k] && h[k]->way == b.way &&
				gpc_eq(h[k]->provider, h[i]->provider);
			done[k] = done[k] || of[k];
		}
		r = gpc_session_provider(s, h[i]->provider, &ctx, &p, &why);
		b.p = p;
		if (r == 0)
			r = release_batch(&b, h[i]->provider, until, &why);
		if (r < 0 && first == 0) {
			first = r;
			if (err)
				*err = why;
		}
	}
	free(done);
	free(of);
	return first;
}

int gpc_held_release(struct gpc_session *s, const struct gpc_held *h,
	int64_t timeout_ms, struct gpc_error *err)
{
	bool left;

	return gpc_held_release_all(s, &h, 1, timeout_ms, &left, err);
}

int gpc_held_tidy(struct gpc_session *s, size_t *ret_n, struct gpc_error *err)
{
	size_t n = 0;
	const char *const *names = gpc_provider_names(&n);
	int r = 0;

	*ret_n = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct gpc_provider_context ctx;
		gpc_autoptr(gpc_provider) *p = NULL;
		size_t ended = 0;

		r = gpc_session_provider(s, names[i], &ctx, &p, err);
		if (r == 0 && p->ops->tidy)
			r = p->ops->tidy(p, &ended, err);
		*ret_n += ended;
	}
	return r;
}

static char *unreleased(const struct gpc_view *v)
{
	gpc_auto(gpc_strv) struct gpc_strv ids = {0};
	size_t more = 0;

	gpc_vec_each(n, &v->state.nodes) {
		if (n->status == GPC_NODE_RELEASED)
			continue;
		if (ids.n >= NAMED_MOST)
			more++;
		else
			gpc_strv_addf(&ids, "%s %s", n->provider ? n->provider :
				"node", n->id);
	}
	if (more)
		gpc_strv_addf(&ids, "and %zu more", more);
	return gpc_strv_join(&ids, ", ");
}

/* hurry: NULL, or whether what nodes still save is given up, too. */
static int wait_released(struct gpc_session *s, const char *job,
	const bool *hurry, int64_t timeout_ms, struct gpc_error *err)
{
	struct gpc_pace pace = { FAR_LEAST_MS, FAR_MOST_MS, 0 };
	int64_t until = gpc_boot_ms() + timeout_ms;

	for (int round = 0;; round++) {
		gpc_auto(gpc_view) struct gpc_view v = {0};
		int r = round % 20 == 0 ? gpc_supervisor_ensure(s, err) : 0;

		if (r == 0)
			r = gpc_view_load(s, job, &v, err);
		if (r < 0 || gpc_view_is_over(&v))
			return r;
		if (hurry && gpc_job_status_is_end(v.state.status) && !v.derived)
			r = gpc_request_leave(s, job, *hurry, err);
		if (r < 0)
			return r;
		if (round == RELIST_ROUND)
			gpc_request_attention(s, &v);
		if (gpc_canceled(s->cancel))
			return gpc_fail(err, GPC_ECANCELED,
				"job %s is still being released", job);
		if (gpc_boot_ms() >= until) {
			gpc_autostr *left = unreleased(&v);

			r = gpc_fail(err, GPC_ETIMEOUT,
				"job %s: not released yet: %s", job,
				left[0] ? left : "a node that was asked for");
			gpc_hint(err, "`gpucloud release %s` waits again", job);
			return r;
		}
		gpc_sleep_ms(gpc_store_is_far(s->store) ?
			gpc_pace_next(&pace, false) : POLL_MS);
	}
}

int gpc_release_wait(struct gpc_session *s, const char *job,
	int64_t timeout_ms, struct gpc_error *err)
{
	return wait_released(s, job, NULL, timeout_ms, err);
}

int gpc_release_finish(struct gpc_session *s, const char *job, bool now,
	int64_t timeout_ms, struct gpc_error *err)
{
	return wait_released(s, job, &now, timeout_ms, err);
}
