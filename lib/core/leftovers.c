/* A submit that dies leaves secrets and an index entry without a job. Both are
 * harmless to everybody but the owner of the secrets, and nobody else would ever
 * look at them again. */
#include "core/leftovers.h"

#include <string.h>

#include "base/crash.h"
#include "base/str.h"
#include "record/hooks.h"
#include "record/journal.h"
#include "record/keys.h"
#include "record/secrets.h"

#define SECRETS "secrets/"
#define LIVE "index/live/"
#define PROBE "probe/"
#define SECRET_MS INT64_C(10800000)
#define ENTRY_MS INT64_C(86400000)
#define PROBE_MS INT64_C(3600000)

struct old { struct gpc_strv keys; int64_t min_ms; };

static int note_old(void *arg, const struct gpc_object *o)
{
	struct old *x = arg;

	if (o->modified_ms && o->now_ms - o->modified_ms >= x->min_ms)
		return gpc_strv_try_add(&x->keys, o->key) ? 0
			: GPC_LIST_NO_MEMORY;
	return 0;
}

/* 1: there is a job.json, 0: there is none. */
static int has_job(struct gpc_session *s, const char *job,
	struct gpc_error *err)
{
	gpc_key key;
	int r = gpc_store_head(s->store, gpc_key_job(key, job), NULL, err);

	return r == -GPC_ENOTFOUND ? 0 : r < 0 ? r : 1;
}

/* Whether a node can still ask for these secrets, or a resume name them. */
static bool are_needed(struct gpc_session *s, const char *job, const char *name)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	int64_t n = INT64_MAX;

	gpc_journal_init(&j, s->store, job, "");
	if (gpc_journal_refresh(&j, NULL, NULL) < 0)
		return true;
	if (gpc_job_state_is_over(&j.state))
		return false;
	return gpc_eq(name, j.state.secrets) || (name &&
		(!gpc_secrets_name_parse(name, &n) || n > j.state.n));
}

static int sweep_secret(struct gpc_session *s, const char *key,
	struct gpc_error *err)
{
	const char *name;
	gpc_autostr *hook = gpc_hook_job(key);
	gpc_autostr *job = hook ? gpc_strdup(hook) : gpc_secrets_job(key, &name);
	int r = has_job(s, job, err);

	if (r < 0 || (r == 1 && (hook || are_needed(s, job, name))))
		return r < 0 ? r : 0;
	return gpc_secrets_drop(s->store, key, err);
}

/* "<unix s>-<job>.json" */
static int sweep_entry(struct gpc_session *s, const char *key,
	struct gpc_error *err)
{
	struct gpc_str rest = gpc_str_of(key + strlen(LIVE)), at;
	gpc_autostr *job = NULL;
	int r;

	if (!gpc_str_split(&rest, '-', &at) || rest.len <= 5 ||
		!gpc_ends_with(key, ".json"))
		return 0;
	job = gpc_strndup(rest.ptr, rest.len - 5);
	r = has_job(s, job, err);
	return r != 0 ? (r < 0 ? r : 0) : gpc_store_del(s->store, key, err);
}

/* What a race of writers left when a store was made. */
static int sweep_probe(struct gpc_session *s, const char *key,
	struct gpc_error *err)
{
	return gpc_store_del(s->store, key, err);
}

static int sweep(struct gpc_session *s, const char *prefix, int64_t min_ms,
	int (*one)(struct gpc_session *, const char *, struct gpc_error *),
	struct gpc_error *err)
{
	struct old x = { .min_ms = min_ms };
	int r = gpc_store_list(s->store, prefix, NULL, note_old, &x, err);

	for (size_t i = 0; r == 0 && i < x.keys.n; i++)
		r = one(s, x.keys.v[i], err);
	GPC_CRASH("sweep.swept");
	gpc_strv_clear(&x.keys);
	return r;
}

int gpc_leftovers_sweep(struct gpc_session *s, struct gpc_error *err)
{
	int r = sweep(s, SECRETS, SECRET_MS, sweep_secret, err);

	if (r == 0)
		r = sweep(s, LIVE, ENTRY_MS, sweep_entry, err);
	return r < 0 ? r : sweep(s, PROBE, PROBE_MS, sweep_probe, err);
}
