/* See remains.h. Why nothing is taken from a writer that lives: whoever writes below
 * an attempt, checkpoints/ or artifacts/ is a node of that job; of a job that is over
 * all are gone, and the next one cannot be there before its `attempt` event. A
 * file that was listed before that event was seen to be absent has no writer, and
 * its name never comes back. Blobs lie below the attempt that wrote them. */
#include "core/remains.h"

#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "base/str.h"
#include "record/facts.h"
#include "record/keys.h"
#include "store/store.h"

#define JOBS "jobs/"
#define OLD_MS INT64_C(86400000)
#define ASK_RANKS_MAX 64        /* to list what there is costs less then */

/* --- temporary files --------------------------------------------------------- */
struct temps {
	struct gpc_strv keys;
	uint64_t bytes;
	int64_t min_ms;                 /* age */
};

static void temps_clear(struct temps *t)
{
	gpc_strv_clear(&t->keys);
}
GPC_CLEANUP_VALUE(temps);

static int note_temp(void *arg, const struct gpc_object *o)
{
	struct temps *t = arg;

	if (t->min_ms && o->now_ms - o->modified_ms < t->min_ms)
		return 0;
	if (!gpc_strv_try_add(&t->keys, o->key))
		return GPC_LIST_NO_MEMORY;
	t->bytes += o->size;
	return 0;
}

static int drop_all(struct gpc_session *s, const struct temps *t, bool dry,
	struct gpc_remains *x, struct gpc_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && !dry && i < t->keys.n; i++) {
		r = gpc_store_drop(s->store, t->keys.v[i], err);
		GPC_CRASH("remains.temp");
	}
	if (r < 0)
		return r;
	x->temps += t->keys.n;
	x->temp_bytes += t->bytes;
	return 0;
}

int gpc_remains_temps(struct gpc_session *s, struct gpc_journal *j, bool dry,
	bool *ret_current, struct gpc_remains *x, struct gpc_error *err)
{
	gpc_auto(temps) struct temps t = {0};
	gpc_key folder;
	int r;

	*ret_current = true;
	gpc_key_job_file(folder, j->job, "");
	r = gpc_store_unfinished(s->store, folder, note_temp, &t, err);
	if (r == 0 && t.keys.n > 0)
		r = gpc_journal_is_current(j, ret_current, err);
	if (r == 0 && *ret_current)
		r = drop_all(s, &t, dry, x, err);
	return gpc_wrap(err, r, "temporary files of job %s", j->job);
}

int gpc_remains_temps_of_removed(struct gpc_session *s, const char *job,
	struct gpc_error *err)
{
	gpc_auto(temps) struct temps t = {0};
	struct gpc_remains x = {0};
	gpc_key folder;
	int r;

	gpc_key_job_file(folder, job, "");
	r = gpc_store_unfinished(s->store, folder, note_temp, &t, err);
	return r < 0 ? r : drop_all(s, &t, false, &x, err);
}

/* --- of the whole store ------------------------------------------------------ */

/* Of the key "jobs/ID/…" the id; NULL: it is not one. Owned. */
static char *job_of(const char *key)
{
	const char *id = key + strlen(JOBS);
	size_t n = strcspn(id, "/");

	return id[n] && n < GPC_JOB_ID_SIZE ? gpc_strndup(id, n) : NULL;
}

static int temps_of_job(struct gpc_session *s, const char *job, bool dry,
	struct gpc_remains *x, struct gpc_error *err)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	bool current;

	gpc_journal_init(&j, s->store, job, "");
	/* Without a journal that can be read nobody knows who lives. */
	if (gpc_journal_refresh(&j, NULL, NULL) < 0 ||
		!gpc_job_state_is_over(&j.state))
		return 0;
	return gpc_remains_temps(s, &j, dry, &current, x, err);
}

static int temps_of_jobs(struct gpc_session *s, bool dry,
	struct gpc_remains *x, struct gpc_error *err)
{
	gpc_auto(temps) struct temps all = {0};
	gpc_auto(gpc_strv) struct gpc_strv jobs = {0};
	int r = gpc_store_unfinished(s->store, JOBS, note_temp, &all, err);

	for (size_t i = 0; i < all.keys.n; i++) {
		gpc_autostr *job = job_of(all.keys.v[i]);

		if (job && !gpc_strv_has(&jobs, job))
			gpc_strv_add(&jobs, job);
	}
	for (size_t i = 0; r == 0 && i < jobs.n; i++)
		r = temps_of_job(s, jobs.v[i], dry, x, err);
	return r;
}

int gpc_remains_temps_of_all(struct gpc_session *s, bool dry,
	struct gpc_remains *x, struct gpc_error *err)
{
	gpc_auto(temps) struct temps old = { .min_ms = OLD_MS };
	int r = temps_of_jobs(s, dry, x, err);

	if (r == 0)
		r = gpc_store_unfinished(s->store, "blobs/", note_temp, &old,
			err);
	return r < 0 ? r : drop_all(s, &old, dry, x, err);
}

/* --- blobs ------------------------------------------------------------------- */

/* Whether a node of the attempt was gone before its agent was through with its
 * work, which its last beat says, or failed at it, such as at a save. */
static int was_killed(struct gpc_session *s, const struct gpc_journal *j,
	const struct gpc_try *t, bool *ret_killed, struct gpc_error *err)
{
	int ranks = j->state.num_nodes;
	int r = 0;

	*ret_killed = t->reason == GPC_REASON_NODE_LOST ||
		t->reason == GPC_REASON_AGENT_FAILED || ranks > ASK_RANKS_MAX;
	for (int rank = 0; r == 0 && !*ret_killed && rank < ranks; rank++) {
		gpc_auto(gpc_beat) struct gpc_beat beat = {0};
		bool found = false;

		r = gpc_facts_beat(s->store, j->job, t->n, rank, &beat, &found,
			err);
		*ret_killed = r == 0 && (!found || beat.phase != GPC_PHASE_DONE);
	}
	return r;
}

static int sweep_attempt(struct gpc_session *s, struct gpc_journal *j,
	int attempt, struct gpc_remains *x, struct gpc_error *err)
{
	struct gpc_error why = {0};
	int r = gpc_prune_sweep(s->store, j->job, attempt, false, NULL,
		s->cancel, &x->swept, &why);

	if (r == -GPC_EPROTO || r == -GPC_ENOTFOUND) {
		gpc_log(s->log, GPC_VERBOSE, "%s: %s; its blobs stay", j->job,
			why.msg);
		return 0;
	}
	if (r < 0)
		*err = why;
	return r;
}

int gpc_remains_close(struct gpc_session *s, struct gpc_journal *j, bool saves,
	bool *ret_current, struct gpc_remains *x, struct gpc_error *err)
{
	int r = gpc_remains_temps(s, j, false, ret_current, x, err);

	GPC_CRASH("remains.temps");
	for (size_t i = 0; r == 0 && *ret_current && saves &&
		i < j->state.tries.n; i++) {
		const struct gpc_try *t = &j->state.tries.v[i];
		bool killed = false;

		r = was_killed(s, j, t, &killed, err);
		if (r == 0 && killed)
			r = sweep_attempt(s, j, t->n, x, err);
	}
	GPC_CRASH("remains.blobs");
	return r;
}
