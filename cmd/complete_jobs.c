/* What the store knows, for completion. Jobs come from the index alone: none is
 * read, so it stays fast in a store with many. The store is opened for nothing
 * else, and nothing is written, started or said.
 */
#include <string.h>

#include "base/time.h"
#include "cmd/complete.h"
#include "cmd/config_load.h"
#include "cmd/phrase.h"
#include "core/session.h"
#include "record/checkpoint.h"
#include "record/index.h"
#include "record/journal.h"
#include "store/store.h"

#define RECENT_MS ((int64_t)30 * 86400000)
enum { MOST_JOBS = 500 };            /* more than anybody reads */

struct place {
	struct gpc_config config;
	struct gpc_store *store;
	char *ca_file, *owner_hash;
};

static int place_open(struct place *p, const char *store_option,
	struct gpc_error *err)
{
	gpc_autostr *url = NULL;
	int r = gpc_config_load(&p->config, store_option, NULL, err);

	if (!r)
		r = gpc_config_store_url(&p->config, &url, err);
	if (!r)
		r = gpc_config_ca_file(&p->config, &p->ca_file, err);
	if (!r)
		r = gpc_store_open(url, 0, NULL, &p->store, err);
	if (r)
		return r;
	p->store->ca_file = p->ca_file;
	p->owner_hash = gpc_session_owner_hash(gpc_config_str(&p->config,
		GPC_CONFIG_OWNER));
	return 0;
}

static void place_close(struct place *p)
{
	gpc_config_clear(&p->config);
	gpc_store_free(p->store);
	free(p->ca_file);
	free(p->owner_hash);
}

/* --- jobs ------------------------------------------------------------------ */
static bool fits_kind(const struct gpc_index_entry *e, enum gpc_complete kind,
	const char *owner_hash)
{
	switch (kind) {
	case GPC_COMPLETE_LIVE_JOB:
		return e->live && gpc_eq(e->owner_hash, owner_hash);
	case GPC_COMPLETE_ENDED_JOB:
		return !e->live && gpc_eq(e->owner_hash, owner_hash);
	default:
		return true;
	}
}

static void offer_id(struct gpc_completion *k, const struct gpc_index_entry *e)
{
	gpc_autostr *age = gpc_phrase_age(e->live ? e->start_ms : e->end_ms);
	gpc_autostr *about = gpc_format("%s, %s%s", e->live ? "unfinished" :
		gpc_job_status_to_str(e->status), e->live ? "submitted " : "", age);

	gpc_complete_offer(k, e->job, about);
}

/* A name stands for its newest job; where a command ends jobs, one that several
 * bear would be refused. */
static void offer_names(struct gpc_completion *k, const struct gpc_index *all,
	enum gpc_complete kind, const char *owner_hash)
{
	gpc_auto(gpc_strv) struct gpc_strv once = {0}, twice = {0};

	gpc_vec_each(e, all) {
		if (!fits_kind(e, kind, owner_hash))
			continue;
		gpc_strv_add(gpc_strv_has(&once, e->name) ? &twice : &once,
			e->name);
	}
	for (size_t i = 0; i < once.n && i < MOST_JOBS; i++) {
		if (kind == GPC_COMPLETE_LIVE_JOB &&
			gpc_strv_has(&twice, once.v[i]))
			continue;
		gpc_complete_offer(k, once.v[i], "the newest of this name");
	}
}

static void offer_jobs(struct gpc_completion *k, struct place *p,
	enum gpc_complete kind)
{
	gpc_auto(gpc_index) struct gpc_index all = {0};
	int64_t since = kind == GPC_COMPLETE_LIVE_JOB ? INT64_MAX :
		gpc_wall_ms() - RECENT_MS;
	struct gpc_error ignored;
	size_t n = 0;

	if (gpc_index_list(p->store, since, &all, &ignored))
		return;
	offer_names(k, &all, kind, p->owner_hash);
	gpc_vec_each(e, &all) {
		if (n >= MOST_JOBS || !fits_kind(e, kind, p->owner_hash) ||
			!gpc_starts_with(e->job, k->prefix))
			continue;
		offer_id(k, e);
		n++;
	}
}

/* --- of one job ------------------------------------------------------------- */
static bool find_job(const struct gpc_completion *k, const struct place *p,
	char ret_job[GPC_JOB_ID_SIZE])
{
	gpc_auto(gpc_index) struct gpc_index found = {0};
	const char *inside = getenv("GPUCLOUD_JOB_ID");
	const char *word = k->job ? k->job : inside && *inside ? inside : "@";
	struct gpc_error ignored;
	bool several;

	if (gpc_index_find(p->store, word, p->owner_hash, &found, &several,
		&ignored) || !found.n)
		return false;
	memcpy(ret_job, found.v[0].job, GPC_JOB_ID_SIZE);
	return true;
}

static void offer_checkpoints(struct gpc_completion *k, const struct place *p,
	const char *job)
{
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	struct gpc_error ignored;

	if (gpc_checkpoint_list(p->store, job, &ids, &ignored))
		return;
	for (size_t i = ids.n; i-- > 0;) {
		gpc_autostr *about = gpc_format("%ssaved by attempt %d",
			i + 1 == ids.n ? "newest, " : "", ids.v[i].attempt);

		gpc_complete_offer(k, ids.v[i].id, about);
	}
}

static const char *end_of_try(const struct gpc_job_state *st, int attempt)
{
	gpc_vec_each(t, &st->tries) {
		if (t->n == attempt && t->reason != GPC_REASON_NONE)
			return gpc_reason_to_str(t->reason);
	}
	return attempt == st->attempt ? gpc_job_status_to_str(st->status) : NULL;
}

static void offer_numbers(struct gpc_completion *k, const struct place *p,
	const char *job, enum gpc_complete kind)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_error ignored;
	bool ranks = kind == GPC_COMPLETE_RANK;
	int first = ranks ? 0 : 1, end;

	gpc_journal_init(&j, p->store, job, "");
	if (gpc_journal_refresh(&j, NULL, &ignored))
		return;
	end = ranks ? j.state.num_nodes : j.state.attempt + 1;
	for (int i = first; i < end; i++) {
		gpc_autostr *text = gpc_format("%d", i);

		gpc_complete_offer(k, text, ranks ? NULL :
			end_of_try(&j.state, i));
	}
}

void gpc_complete_store(struct gpc_completion *k, enum gpc_complete kind)
{
	struct place p = {0};
	char job[GPC_JOB_ID_SIZE];
	struct gpc_error ignored;
	bool of_job = kind == GPC_COMPLETE_CHECKPOINT ||
		kind == GPC_COMPLETE_JOB_OR_CHECKPOINT ||
		kind == GPC_COMPLETE_ATTEMPT || kind == GPC_COMPLETE_RANK;

	if (place_open(&p, k->c->global.store, &ignored)) {
		place_close(&p);
		return;
	}
	if (!of_job || kind == GPC_COMPLETE_JOB_OR_CHECKPOINT)
		offer_jobs(k, &p, kind);
	if (of_job && find_job(k, &p, job)) {
		if (kind == GPC_COMPLETE_ATTEMPT || kind == GPC_COMPLETE_RANK)
			offer_numbers(k, &p, job, kind);
		else
			offer_checkpoints(k, &p, job);
	}
	place_close(&p);
}
