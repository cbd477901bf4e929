/* See remove.h. The order is what makes a crash harmless:
 *
 *   1  `pruning {remove}` in its journal: from here on nothing resumes it, and
 *      whoever comes later may go on with the rest;
 *   2  the index: nobody is shown a job of which half is gone;
 *   3  its once key and secrets: a repeated submit makes a new job instead of
 *      finding one that goes;
 *   4  job.json: without it there is no job for any reader;
 *   5  everything else, and last the events, the newest at the very end: as
 *      long as anything is left, the journal says that it is to go;
 *   6  the index once more: a slow supervisor may have put its entry back.
 *
 * After 1 the job is whole and listed; after 2 it is whole and cannot be found;
 * then it is gone but for bytes that the next `prune` takes. Deleting the index
 * last would have shown it in lists while its folder is half gone. */
#include "core/remove.h"

#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "base/str.h"
#include "core/prune.h"
#include "core/remains.h"
#include "record/hooks.h"
#include "record/index.h"
#include "record/job.h"
#include "record/journal.h"
#include "record/keys.h"
#include "record/secrets.h"

#define TRIES 100
#define JOBS_LIST "the list of jobs"
#define CLAIM_MAX ((size_t)256)
/* Objects below jobs/ without job.json and journal: nobody is writing them. */
#define DEBRIS_MS ((int64_t)14 * 24 * 3600 * 1000)

void gpc_removals_clear(struct gpc_removals *x)
{
	gpc_vec_each(r, x)
		free(r->left);
	gpc_vec_free(x);
}

/* --- which ----------------------------------------------------------------- */

/* The store's clock, which dates of ends are compared with. */
static int store_now(struct gpc_session *s, int64_t *ret_ms,
	struct gpc_error *err)
{
	struct gpc_object o = {0};
	int r = gpc_store_head(s->store, "store.json", &o, err);

	*ret_ms = o.now_ms;
	return r;
}

/* NULL when it may be removed, else why not. Owned. */
static char *reason_to_stay(struct gpc_session *s,
	const struct gpc_remove_options *o, struct gpc_journal *j)
{
	const struct gpc_job_state *st = &j->state;
	struct gpc_object event = {0};
	gpc_key key;

	if (st->removing)
		return NULL;
	if (!gpc_job_status_is_end(st->status))
		return gpc_format("it is %s",
			gpc_job_status_to_str(st->status));
	if (!gpc_prune_may(st))
		return gpc_strdup("a node of it is not released yet");
	/* Its end may be dated by a clock that was off; this one is not. */
	if (gpc_store_head(s->store, gpc_key_event(key, j->job, st->n), &event,
		NULL) < 0 || !event.modified_ms)
		return gpc_strdup("its age cannot be told");
	if (event.now_ms - event.modified_ms < o->older_ms)
		return gpc_strdup("something happened to it since");
	return NULL;
}

static struct gpc_removal *add(struct gpc_removals *x, const char *job,
	const struct gpc_census_job *c)
{
	struct gpc_removal *r = gpc_vec_try_push(x);

	if (!r)
		return NULL;
	memcpy(r->job, job, strlen(job) + 1);
	r->objects = c ? c->objects : 0;
	r->bytes = c ? c->bytes : 0;
	return r;
}

static void judge(struct gpc_session *s, const struct gpc_remove_options *o,
	struct gpc_removal *x)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_error why = {0};
	int r;

	gpc_journal_init(&j, s->store, x->job, "");
	r = gpc_journal_refresh(&j, NULL, &why);
	if (r == 0 && !j.read_only)
		x->left = reason_to_stay(s, o, &j);
	else
		x->left = gpc_strdup(r < 0 ? why.msg :
			"a newer gpucloud wrote its journal");
}

static int from_index(struct gpc_session *s, const struct gpc_census *c,
	const struct gpc_remove_options *o, const struct gpc_index *index,
	struct gpc_removals *x, struct gpc_error *err)
{
	int64_t now = 0;
	int r = store_now(s, &now, err);

	for (size_t i = index->n; r == 0 && i-- > 0;) {
		const struct gpc_index_entry *e = &index->v[i];
		const struct gpc_census_job *job = gpc_census_find(c, e->job);
		struct gpc_removal *to;

		if (e->live || now - e->end_ms < o->older_ms || (!o->all_users &&
			!gpc_eq(e->owner_hash, s->place.owner.hash)))
			continue;
		to = add(x, e->job, job);
		if (!to)
			return gpc_fail_memory(err, JOBS_LIST);
		to->ended_ms = e->end_ms;
		/* An entry whose job is gone is what is left of it. */
		to->rest = !job || !job->has_job;
		if (job && (job->has_job || job->newest_event))
			judge(s, o, to);
	}
	return r;
}

/* Whether a journal without index entry says that its job is to go. */
static bool is_rest(struct gpc_session *s, const struct gpc_census_job *c)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};

	if (!c->newest_event)
		return !c->has_job && c->age_ms >= DEBRIS_MS;
	gpc_journal_init(&j, s->store, c->id, "");
	return gpc_journal_refresh(&j, NULL, NULL) == 0 && j.state.removing;
}

static int from_census(struct gpc_session *s, const struct gpc_census *c,
	const struct gpc_index *index, struct gpc_removals *x,
	struct gpc_error *err)
{
	gpc_auto(gpc_map) struct gpc_map listed = {0};

	gpc_vec_each(e, index)
		if (!gpc_map_try_set(&listed, e->job, &listed))
			return gpc_fail_memory(err, JOBS_LIST);
	gpc_vec_each(job, &c->jobs) {
		struct gpc_removal *to;

		if (gpc_map_has(&listed, job->id) || !is_rest(s, job))
			continue;
		to = add(x, job->id, job);
		if (!to)
			return gpc_fail_memory(err, JOBS_LIST);
		to->rest = true;
	}
	return 0;
}

int gpc_remove_find(struct gpc_session *s, const struct gpc_census *c,
	const struct gpc_remove_options *o, struct gpc_removals *ret_x,
	struct gpc_error *err)
{
	gpc_auto(gpc_removals) struct gpc_removals x = {0};
	gpc_auto(gpc_index) struct gpc_index index = {0};
	int r = gpc_index_list(s->store, 0, &index, err);

	if (r == 0)
		r = from_index(s, c, o, &index, &x, err);
	if (r == 0)
		r = from_census(s, c, &index, &x, err);
	if (r < 0)
		return r;
	*ret_x = x;
	x = (struct gpc_removals){0};
	return 0;
}

/* --- removing -------------------------------------------------------------- */

struct removing {
	struct gpc_session *s;
	const struct gpc_remove_options *o;
	struct gpc_removal *x;
	struct gpc_job job;           /* id NULL: there is no job.json any more */
};

static int load(struct removing *m, struct gpc_error *err)
{
	int r = gpc_job_get(m->s->store, m->x->job, &m->job, err);

	/* One that nobody can read goes by its journal alone, or it would stay for
	 * ever. */
	if (r == -GPC_ENOTFOUND || r == -GPC_EPROTO)
		return 0;
	if (r == 0 && !gpc_eq(m->job.kind, "job"))
		m->x->left = gpc_format("it is a %s", m->job.kind);
	return gpc_wrap(err, r, "job %s", m->x->job);
}

/* Step 1, or why not. A lost race is decided again from the new state. */
static int win(struct removing *m, struct gpc_error *err)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	gpc_autostr *by = gpc_session_by(m->s, "client");
	gpc_key key;
	int r;

	gpc_journal_init(&j, m->s->store, m->x->job, by);
	r = gpc_journal_refresh(&j, NULL, err);
	/* Its last event may be gone already, by an earlier run or just now by
	 * another one. */
	if (r == -GPC_ENOTFOUND && (!m->job.id || gpc_store_head(m->s->store,
		gpc_key_job(key, m->x->job), NULL, NULL) == -GPC_ENOTFOUND))
		return 0;
	for (int i = 0; r == 0 && i < TRIES && !j.state.removing; i++) {
		struct gpc_json *data;

		m->x->left = reason_to_stay(m->s, m->o, &j);
		if (m->x->left)
			return 0;
		data = gpc_json_object();
		gpc_json_set_bool(data, "remove", true);
		r = gpc_journal_append(&j, GPC_EVENT_PRUNING, data, err);
		GPC_CRASH("remove.decided");
		if (r == -GPC_ECONFLICT)
			r = 0;
	}
	return r;
}

/* The once key, if it still names this job. */
static int forget_once(struct removing *m, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_str rest, id;
	gpc_key key;
	int r;

	if (!m->job.once_key)
		return 0;
	gpc_key_once(key, m->job.owner.hash, m->job.once_key);
	r = gpc_store_get(m->s->store, key, CLAIM_MAX, &b, err);
	if (r < 0)
		return r == -GPC_ENOTFOUND ? 0 : r;
	rest = gpc_str_trim((struct gpc_str){ b.data, b.len });
	if (!gpc_str_split(&rest, ' ', &id) || !gpc_str_eq(id, m->x->job))
		return 0;
	r = gpc_store_del(m->s->store, key, err);
	GPC_CRASH("remove.once");
	return r;
}

struct below { size_t skip; bool events; struct gpc_strv keys; };

static int note_key(void *arg, const struct gpc_object *o)
{
	struct below *x = arg;

	if (gpc_starts_with(o->key + x->skip, "events/") == x->events)
		return gpc_strv_try_add(&x->keys, o->key) ? 0
			: GPC_LIST_NO_MEMORY;
	return 0;
}

static int go_on(const struct removing *m, struct gpc_error *err)
{
	return gpc_canceled(m->s->cancel) ? gpc_fail(err, GPC_ECANCELED,
		"interrupted; the next `gpucloud prune` goes on with %s",
		m->x->job) : 0;
}

static int delete_keys(const struct removing *m, const struct gpc_strv *keys,
	bool events, struct gpc_error *err)
{
	int r = 0;

	for (size_t at = 0; r == 0 && at < keys->n;) {
		r = gpc_store_del_next(m->s->store, keys, &at, err);
		if (events)
			GPC_CRASH("remove.event");
		else
			GPC_CRASH("remove.object");
		if (r == 0)
			r = go_on(m, err);
	}
	return r;
}

/* The newest event says that all of it is to go: it goes last, by itself. */
static int delete_below(struct removing *m, bool events, struct gpc_error *err)
{
	struct below x = { .events = events };
	struct gpc_strv rest = {0};     /* a view */
	gpc_key prefix;
	int r;

	gpc_key_job_file(prefix, m->x->job, "");
	x.skip = strlen(prefix);
	if (events)
		gpc_key_job_file(prefix, m->x->job, "events/");
	r = gpc_store_list(m->s->store, prefix, NULL, note_key, &x, err);
	rest = (struct gpc_strv){ .v = x.keys.v, .n = x.keys.n };
	if (events && rest.n > 1) {
		rest.n--;
		if (r == 0)
			r = delete_keys(m, &rest, true, err);
		rest = (struct gpc_strv){ .v = x.keys.v + rest.n, .n = 1 };
	}
	if (r == 0)
		r = delete_keys(m, &rest, events, err);
	gpc_strv_clear(&x.keys);
	return r;
}

static int delete_all(struct removing *m, struct gpc_error *err)
{
	struct gpc_store *s = m->s->store;
	const char *job = m->x->job;
	int64_t since = m->job.id ? m->job.created_ms : 0;
	gpc_key key;
	int r = gpc_index_forget(s, job, since, err);

	GPC_CRASH("remove.index");
	if (r == 0)
		r = forget_once(m, err);
	if (r == 0)
		r = gpc_secrets_drop_all(s, job, INT64_MAX, err);
	if (r == 0)
		r = gpc_hooks_drop(s, job, err);
	if (r == 0)
		r = gpc_store_del(s, gpc_key_job(key, job), err);
	GPC_CRASH("remove.job");
	if (r == 0)
		r = gpc_remains_temps_of_removed(m->s, job, err);
	if (r == 0)
		r = delete_below(m, false, err);
	if (r == 0)
		r = delete_below(m, true, err);
	if (r == 0)
		r = gpc_index_forget(s, job, since, err);
	return r;
}

int gpc_remove_job(struct gpc_session *s, const struct gpc_remove_options *o,
	struct gpc_removal *x, struct gpc_error *err)
{
	struct removing m = { .s = s, .o = o, .x = x };
	int r = x->left ? 0 : load(&m, err);

	if (r == 0 && !x->left)
		r = win(&m, err);
	if (r == 0 && !x->left) {
		r = delete_all(&m, err);
		x->done = r == 0;
	}
	gpc_job_clear(&m.job);
	return gpc_wrap(err, r, "remove %s", x->job);
}
