/* See ssh.h.
 *
 * Nothing in a node's user data lets anybody in: the node's agent learns of our key by
 * an event of the job's journal, and tells the host key that it made in a fact of its
 * rank. Who can write there is trusted anyway, since it is what the node runs. */
#include "core/ssh.h"

#include <string.h>

#include "base/cidr.h"
#include "base/fd.h"
#include "base/pace.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "core/request.h"
#include "core/ssh_config.h"
#include "core/supervise.h"
#include "core/view.h"
#include "model/ssh.h"
#include "provider/provider.h"
#include "provider/ssh_key.h"
#include "record/index.h"
#include "record/keys.h"
#include "record/watching.h"

enum { FACT_MAX = 65536, NEAR_MS = 50, FAR_MS = 1000,
	ANSWER_MS = 120000 };          /* from the request to what the agent says */

/* --- our key --------------------------------------------------------------- */

static char *own_place(const struct gpc_session *s, const char *name)
{
	gpc_autostr *dir = gpc_path_join(s->place.state_dir, "ssh");

	return gpc_path_join(dir, name);
}

/* Made once; two commands at a time make one. */
static int own_key(const struct gpc_session *s, char **ret_path,
	char **ret_public, struct gpc_error *err)
{
	gpc_autostr *path = own_place(s, "id_ed25519"), *dir = gpc_path_dir(path);
	gpc_autostr *lock = own_place(s, "lock");
	gpc_autofd held = -1;
	int r = gpc_mkdirs(dir, 0700, err);

	if (r == 0)
		r = gpc_lock_file(lock, true, &held, err);
	if (r == 0)
		r = gpc_ssh_key_read(path, ret_public, err);
	if (r == -GPC_ENOTFOUND || r == -GPC_EPROTO)
		r = gpc_ssh_key_make(path, ret_public, err);
	if (r == -GPC_ENOTFOUND)
		gpc_hint(err, "install OpenSSH's client (openssh-client)");
	if (r == 0)
		*ret_path = gpc_steal(&path);
	return r;
}

/* --- the pinned host key ---------------------------------------------------- */

/* "# INSTANCE", then the line that ssh reads. Another node is another host; the same
 * one has the same key for ever. */
static int pin(const struct gpc_session *s, const char *alias,
	const struct gpc_ssh_fact *f, char **ret_path, struct gpc_error *err)
{
	gpc_autostr *name = gpc_format("known-%s", alias);
	gpc_autostr *path = own_place(s, name);
	gpc_autostr *of = gpc_format("# %s\n", f->instance);
	gpc_autostr *text = gpc_format("%s%s %s\n", of, alias, f->host_key);
	gpc_auto(gpc_buf) struct gpc_buf there = {0};
	int r = gpc_read_file(path, FACT_MAX, &there, err);

	if (strchr(f->instance, '\n'))
		return gpc_fail(err, GPC_EPROTO, "ssh.json: no such node");
	if (r == 0 && gpc_starts_with(gpc_buf_str(&there), of) &&
		!gpc_eq(gpc_buf_str(&there), text)) {
		r = gpc_fail(err, GPC_ECONFLICT, "node %s shows another host key "
			"than before", f->instance);
		gpc_hint(err, "somebody may stand between; if you know why, "
			"remove %.150s", path);
		return r;
	}
	if (r == 0 || r == -GPC_ENOTFOUND)
		r = gpc_write_file(path, text, strlen(text), 0600, err);
	if (r == 0)
		*ret_path = gpc_steal(&path);
	return r;
}

/* --- the node's answer ------------------------------------------------------ */

struct asking {
	struct gpc_session *s;
	const char *job, *public_key;
	int rank;
	struct gpc_view v;
	const struct gpc_node *node;  /* of v; NULL = there is none now */
	char *asked;                  /* the node that the request was for */
	int64_t asked_ms;             /* boot clock */
	bool told;                    /* that we wait */
	struct gpc_ssh_fact fact;
};

static void asking_clear(struct asking *x)
{
	gpc_view_clear(&x->v);
	gpc_ssh_fact_clear(&x->fact);
	free(x->asked);
}
GPC_CLEANUP_VALUE(asking);

static int look_at_job(struct asking *x, struct gpc_error *err)
{
	gpc_auto(gpc_view) struct gpc_view v = {0};
	int r = gpc_view_load(x->s, x->job, &v, err);

	if (r < 0)
		return r;
	gpc_view_clear(&x->v);
	x->v = v;
	v = (struct gpc_view){0};
	x->node = NULL;
	if (x->rank >= x->v.state.num_nodes && x->v.state.num_nodes)
		return gpc_fail(err, GPC_EUSAGE, "--rank %d: the highest rank of "
			"%s is %d", x->rank, x->job, x->v.state.num_nodes - 1);
	gpc_vec_each(n, &x->v.state.nodes)
		if (n->attempt == x->v.state.attempt && n->rank == x->rank &&
			n->status != GPC_NODE_RELEASED)
			x->node = n;
	if (x->node || !gpc_job_status_is_end(x->v.state.status))
		return 0;
	r = gpc_fail(err, GPC_ECONFLICT, "job %s has ended (%s) and has no node "
		"any more", x->job, gpc_reason_to_str(x->v.state.reason));
	gpc_hint(err, "limits.keep_on_failure keeps the nodes of a job that fails "
		"for a while");
	return r;
}

/* *ret_answered: the node in question lets our key in, or says why it cannot. */
static int look_for_fact(struct asking *x, bool *ret_answered,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_auto(gpc_ssh_fact) struct gpc_ssh_fact f = {0};
	gpc_key key;
	int r;

	gpc_key_rank(key, x->job, x->v.state.attempt, x->rank, "ssh.json");
	r = gpc_store_get(x->s->store, key, FACT_MAX, &b, err);
	*ret_answered = false;
	if (r == -GPC_ENOTFOUND)
		return 0;
	if (r == 0)
		r = gpc_ssh_fact_parse(b.data, b.len, &f, err);
	if (r < 0)
		return gpc_wrap(err, r, "%s", key);
	if (!gpc_eq(f.instance, x->node->id) ||
		!gpc_strv_has(&f.keys, x->public_key))
		return 0;
	*ret_answered = true;
	if (f.error && !x->asked) {     /* perhaps not any more */
		*ret_answered = false;
		return 0;
	}
	if (f.error) {
		gpc_autostr *said = gpc_str_printable(f.error,
			strnlen(f.error, 300));

		return gpc_fail(err, GPC_EUNSUPPORTED, "node %s of job %s: %s",
			x->node->id, x->job, said);
	}
	x->fact = f;
	f = (struct gpc_ssh_fact){0};
	return 0;
}

static int ask_node(struct asking *x, bool opens, struct gpc_error *err)
{
	int r;

	if (gpc_eq(x->asked, x->node->id))
		return 0;
	r = gpc_request_ssh(x->s, x->job, x->rank, x->public_key, opens, err);
	if (r < 0)
		return r;
	gpc_set_str(&x->asked, x->node->id);
	x->asked_ms = gpc_boot_ms();
	return 0;
}

static void tell_once(struct asking *x)
{
	if (x->told)
		return;
	x->told = true;
	if (x->node)
		gpc_log(x->s->log, GPC_INFO, "asking node %s of %s to let you in",
			x->node->id, x->job);
	else
		gpc_log(x->s->log, GPC_INFO, "%s has no node yet: waiting for one",
			x->job);
}

static bool is_here(const struct gpc_node *n)
{
	return gpc_provider_caps(n->provider) & GPC_PROVIDER_THIS_HOST;
}

/* Whether a way to it can be made; the provider costs nothing to open. */
static int check_provider(struct asking *x, struct gpc_error *err)
{
	struct gpc_provider_context ctx;
	gpc_autoptr(gpc_provider) *p = NULL;
	int r;

	if (is_here(x->node))
		return 0;
	r = gpc_session_provider(x->s, x->node->provider, &ctx, &p, err);
	if (r == 0 && !p->ops->open_way)
		r = gpc_fail(err, GPC_EUNSUPPORTED, "nodes of %s cannot be reached "
			"by ssh yet", x->node->provider);
	return r;
}

/* One look; *ret_done: x->fact is there. */
static int step(struct asking *x, bool *ret_done, struct gpc_error *err)
{
	int r = look_at_job(x, err);

	if (r == 0 && x->node)
		r = look_for_fact(x, ret_done, err);
	if (r < 0 || *ret_done)
		return r;
	tell_once(x);
	if (!x->node)
		return 0;
	r = check_provider(x, err);
	if (r == 0)
		r = ask_node(x, !is_here(x->node), err);
	if (r == 0 && x->node->status >= GPC_NODE_READY &&
		gpc_boot_ms() - x->asked_ms >= ANSWER_MS) {
		r = gpc_fail(err, GPC_ETIMEOUT, "node %s of job %s does not answer",
			x->node->id, x->job);
		gpc_hint(err, "`gpucloud status %s` tells how it is", x->job);
	}
	return r;
}

static int await_node(struct asking *x, struct gpc_error *err)
{
	bool far = gpc_store_is_far(x->s->store), done = false;
	struct gpc_pace pace = { NEAR_MS, far ? FAR_MS : NEAR_MS, 0 };
	struct gpc_watching watching = {0};
	int r = 0;

	for (;;) {
		if (x->asked)           /* agents look more often then */
			gpc_watching_renew(&watching, x->s->store, x->job);
		r = step(x, &done, err);
		if (r < 0 || done)
			return r;
		if (gpc_canceled(x->s->cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
		gpc_sleep_ms(gpc_pace_next(&pace, false));
	}
}

/* --- the way ---------------------------------------------------------------- */

/* Through what guards it at its provider, for those who are meant alone. */
static int open_way(struct asking *x, const struct gpc_ssh_ask *ask,
	char **ret_address, struct gpc_error *err)
{
	struct gpc_provider_context ctx;
	gpc_autoptr(gpc_provider) *p = NULL;
	gpc_autostr *caller = NULL;
	struct gpc_port_range port = { x->fact.port, x->fact.port };
	const struct gpc_port_ranges ports = { &port, 1, 1 };
	gpc_auto(gpc_strv) struct gpc_strv allowed = {0};
	char from[GPC_CIDR_SIZE];
	int r = gpc_session_provider(x->s, x->node->provider, &ctx, &p, err);

	if (r == 0 && ask->from)
		r = gpc_cidr_parse(ask->from, from, err);
	else if (r == 0)
		r = p->ops->caller(p, &caller, err);
	if (r < 0)
		return r;
	gpc_log(x->s->log, GPC_INFO, "letting %s reach port %d of node %s",
		caller ? caller : from, x->fact.port, x->node->id);
	gpc_strv_add(&allowed, caller ? caller : from);
	return p->ops->open_way(p, x->node->id, &(struct gpc_way){
		.from = &allowed, .ports = &ports }, ret_address, err);
}

static int find_address(struct asking *x, const struct gpc_ssh_ask *ask,
	char **ret_address, struct gpc_error *err)
{
	if (!is_here(x->node))
		return open_way(x, ask, ret_address, err);
	if (!gpc_eq(x->fact.boot, x->s->place.boot))
		return gpc_fail(err, GPC_EUNSUPPORTED, "job %s runs on another "
			"machine, as its provider %s there: log in to that one",
			x->job, x->node->provider);
	*ret_address = gpc_strdup(x->fact.address);
	return 0;
}

static char *alias_of(const char *job, int rank)
{
	return rank ? gpc_format("gpucloud-%s-rank%d", job, rank) :
		gpc_format("gpucloud-%s", job);
}

int gpc_ssh_open(struct gpc_session *s, const char *job,
	const struct gpc_ssh_ask *ask, struct gpc_ssh_way *ret_way,
	struct gpc_error *err)
{
	gpc_autostr *key = NULL, *public_key = NULL, *known = NULL;
	gpc_autostr *address = NULL, *config = NULL;
	gpc_autostr *alias = alias_of(job, ask->rank);
	gpc_auto(asking) struct asking x = { .s = s, .job = job,
		.rank = ask->rank };
	int r = gpc_ssh_config_path(&config, err);

	if (r == 0)
		r = own_key(s, &key, &public_key, err);
	x.public_key = public_key;
	if (r == 0)
		r = await_node(&x, err);
	if (r == 0)
		r = find_address(&x, ask, &address, err);
	if (r == 0)
		r = pin(s, alias, &x.fact, &known, err);
	if (r == 0)
		r = gpc_ssh_config_put(config, &(struct gpc_ssh_entry){
			.store = s->store->id, .job = job, .alias = alias,
			.address = address, .port = x.fact.port,
			.user = x.fact.user, .key = key, .known = known }, err);
	if (r < 0)
		return r;
	ret_way->alias = gpc_steal(&alias);
	ret_way->config = gpc_steal(&config);
	return 0;
}

void gpc_ssh_way_clear(struct gpc_ssh_way *w)
{
	free(w->alias);
	free(w->config);
	*w = (struct gpc_ssh_way){0};
}

/* --- when it is over -------------------------------------------------------- */

static int forget(struct gpc_session *s, const char *path, const char *job,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv aliases = {0};
	int r = gpc_ssh_config_drop(path, s->store->id, job, &aliases, err);

	for (size_t i = 0; r == 0 && i < aliases.n; i++) {
		gpc_autostr *name = gpc_format("known-%s", aliases.v[i]);
		gpc_autostr *known = own_place(s, name);

		if (gpc_ssh_word_valid(aliases.v[i]))
			r = gpc_rmtree(known, err);
	}
	return r;
}

void gpc_ssh_forget(struct gpc_session *s, const char *job)
{
	gpc_autostr *path = NULL;
	struct gpc_error why = {0};

	if (gpc_ssh_config_path(&path, &why) < 0 ||
		forget(s, path, job, &why) < 0)
		gpc_log(s->log, GPC_WARN, "the entry of %s for ssh stays: %s", job,
			why.msg);
}

static bool is_live(const struct gpc_index *live, const char *job)
{
	gpc_vec_each(x, live)
		if (gpc_eq(x->job, job))
			return true;
	return false;
}

void gpc_ssh_tidy(struct gpc_session *s)
{
	gpc_auto(gpc_strv) struct gpc_strv jobs = {0};
	gpc_auto(gpc_index) struct gpc_index live = {0};
	gpc_autostr *path = NULL;
	struct gpc_error why = {0};

	if (gpc_ssh_config_path(&path, &why) < 0 ||
		gpc_ssh_config_jobs(path, s->store->id, &jobs, &why) < 0 ||
		!jobs.n || gpc_index_list_live(s->store, &live, &why) < 0) {
		if (why.code)
			gpc_log(s->log, GPC_VERBOSE, "%s", why.msg);
		return;
	}
	for (size_t i = 0; i < jobs.n; i++)
		if (!is_live(&live, jobs.v[i]))
			gpc_ssh_forget(s, jobs.v[i]);
}
