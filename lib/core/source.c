/* The providers of one job's nodes, looked up on first use, and what their lists show of
 * it (of all jobs together: vendor.h). Absence is decided here: a list that lags behind
 * a create must not make a node look gone, or a machine would be paid for that no
 * journal names. */
#include <string.h>

#include "base/crash.h"
#include "base/time.h"
#include "core/supervision.h"

#define UNSEEN_MS 300000        /* lists may lag behind creates that long */

void gpc_supervision_close_sources(struct gpc_supervision *sv)
{
	gpc_vec_each(s, &sv->sources) {
		gpc_vec_each(seen, &(*s)->seen)
			free(seen->id);
		gpc_vec_free(&(*s)->seen);
		free((*s)->name);
		free(*s);
	}
	gpc_vec_free(&sv->sources);
}

void gpc_source_spoil(struct gpc_source *s)
{
	s->after = s->vendor->lists;
}

/* Where a list would not have looked before, it has to be a later one. */
static void tell_known(const struct gpc_supervision *sv, struct gpc_source *s)
{
	if (!s->provider->ops->knows)
		return;
	gpc_vec_each(n, &sv->journal.state.nodes) {
		if (gpc_eq(n->provider, s->name))
			s->provider->ops->knows(s->provider, n->id);
	}
	gpc_vec_each(x, &sv->journal.state.intents) {
		const char *id = gpc_json_get_str(x->request, GPC_LAUNCH_GROUP);

		if (!id || !gpc_eq(gpc_json_get_str(x->request, "provider"),
			s->name))
			continue;
		s->provider->ops->knows(s->provider, id);
		gpc_source_spoil(s);
	}
}

int gpc_supervision_source(struct gpc_supervision *sv, const char *provider,
	struct gpc_source **ret_s, struct gpc_error *err)
{
	struct gpc_vendor *vendor = NULL;
	struct gpc_source *s;
	int r;

	gpc_vec_each(x, &sv->sources) {
		if (gpc_eq((*x)->name, provider)) {
			*ret_s = *x;
			return 0;
		}
	}
	r = gpc_session_vendor(sv->session, provider, &vendor, err);
	if (r < 0)
		return r;
	s = gpc_alloc(sizeof(*s));
	s->vendor = vendor;
	s->provider = vendor->provider;
	s->opened = vendor->lists;
	s->name = gpc_strdup(provider);
	tell_known(sv, s);
	*gpc_vec_push(&sv->sources) = s;
	*ret_s = s;
	return 0;
}

static struct gpc_seen *find_seen(const struct gpc_source *s, const char *id)
{
	gpc_vec_each(seen, &s->seen)
		if (gpc_eq(seen->id, id))
			return seen;
	return NULL;
}

static const struct gpc_instance *find_instance(const struct gpc_source *s,
	const char *id)
{
	const struct gpc_instance *found = NULL;

	gpc_vec_each(x, &s->vendor->instances)
		if (gpc_eq(x->id, id))
			found = x;
	return found;
}

static void note_seen(const struct gpc_supervision *sv, struct gpc_source *s)
{
	int64_t now = s->vendor->shown_ms;

	gpc_vec_each(x, &s->vendor->instances) {
		if (!gpc_eq(gpc_pairs_get(&x->tags, "gpucloud-job"),
			sv->job.id) || find_seen(s, x->id))
			continue;
		gpc_vec_push(&s->seen)->id = gpc_strdup(x->id);
	}
	gpc_vec_each(seen, &s->seen) {
		const struct gpc_instance *x = find_instance(s, seen->id);

		if (x && x->state <= GPC_INSTANCE_RUNNING)
			seen->running_ms = now;
		else if (!seen->ended_ms)
			seen->ended_ms = now;
	}
}

int gpc_supervision_list(struct gpc_supervision *sv, const char *provider,
	int64_t max_age_ms, struct gpc_source **ret_s, struct gpc_error *err)
{
	int r = gpc_supervision_source(sv, provider, ret_s, err);
	struct gpc_source *s = *ret_s;

	if (r == 0)
		r = gpc_vendor_list(s->vendor, max_age_ms, s->after, err);
	if (r == 0 && s->noted != s->vendor->lists) {
		s->noted = s->vendor->lists;
		note_seen(sv, s);
	}
	return r;
}

/* A list from before this job was taken over may be older than a node of it. */
static int list_for(struct gpc_supervision *sv, const struct gpc_node *n,
	int64_t max_age_ms, struct gpc_source **ret_s, struct gpc_error *err)
{
	int r = gpc_supervision_list(sv, n->provider, max_age_ms, ret_s, err);

	if (r < 0 || (*ret_s)->noted > (*ret_s)->opened ||
		find_instance(*ret_s, n->id))
		return r;
	gpc_source_spoil(*ret_s);
	return gpc_supervision_list(sv, n->provider, max_age_ms, ret_s, err);
}

int gpc_supervision_find(struct gpc_supervision *sv, const struct gpc_node *n,
	int64_t max_age_ms, struct gpc_sight *ret_sight, struct gpc_error *err)
{
	struct gpc_source *s = NULL;
	int r = list_for(sv, n, max_age_ms, &s, err);

	if (r < 0)
		return r;
	*ret_sight = (struct gpc_sight){0};
	ret_sight->instance = find_instance(s, n->id);
	if (ret_sight->instance)
		ret_sight->gone =
			ret_sight->instance->state == GPC_INSTANCE_GONE;
	else
		ret_sight->gone = find_seen(s, n->id) ||
			(s->provider->ops->caps & GPC_PROVIDER_LISTS_AT_ONCE) ||
			gpc_wall_ms() - n->created_ms > UNSEEN_MS;
	return 0;
}

const struct gpc_seen *gpc_supervision_seen(struct gpc_supervision *sv,
	const struct gpc_node *n)
{
	gpc_vec_each(s, &sv->sources)
		if (gpc_eq((*s)->name, n->provider))
			return find_seen(*s, n->id);
	return NULL;
}

int gpc_supervision_destroy_all(struct gpc_supervision *sv,
	const char *provider, const struct gpc_strv *ids, struct gpc_error *err)
{
	struct gpc_source *s = NULL;
	int r = gpc_supervision_source(sv, provider, &s, err);

	if (r == 0)
		r = s->provider->ops->destroy(s->provider,
			(const char *const *)ids->v, ids->n, err);
	GPC_CRASH("supervise.destroyed");
	if (s)
		gpc_source_spoil(s);
	return gpc_wrap(err, r, "release %s%s", ids->v[0], ids->n > 1 ?
		" and others" : "");
}

int gpc_supervision_destroy(struct gpc_supervision *sv,
	const struct gpc_node *n, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv ids = {0};

	gpc_strv_add(&ids, n->id);
	return gpc_supervision_destroy_all(sv, n->provider, &ids, err);
}
