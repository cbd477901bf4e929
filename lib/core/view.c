/* Journal plus facts, read-only. Nothing here starts or changes anything. */
#include "core/view.h"

#include <string.h>
#include <sys/statvfs.h>

#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "core/cost.h"
#include "core/kept.h"
#include "core/notify.h"
#include "core/ports.h"
#include "core/supervise.h"
#include "model/spec_notify.h"
#include "record/facts.h"
#include "record/job.h"
#include "record/journal.h"
#include "record/keys.h"
#include "record/recover.h"
#include "record/roll.h"
#include "record/tether.h"
#include "record/update.h"

#define FULL_BYTES 16384        /* less takes no event */

static int load_state(struct gpc_session *s, struct gpc_view *v,
	struct gpc_error *err)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	int r;

	gpc_journal_init(&j, s->store, v->job.id, "");
	r = gpc_journal_refresh(&j, NULL, err);
	if (r == -GPC_ENOTFOUND) {      /* its first event is still to come */
		v->state.status = GPC_JOB_PENDING;
		v->state.submitted_ms = v->job.created_ms;
		return 0;
	}
	if (r < 0)
		return gpc_wrap(err, r, "job %s", v->job.id);
	v->state = j.state;
	j.state = (struct gpc_job_state) {0};
	return 0;
}

static bool in_attempt(enum gpc_job_status s)
{
	return s >= GPC_JOB_STARTING && s <= GPC_JOB_STOPPING;
}

/* When it ran, of a job that nobody has watched so far. */
static void show_run(struct gpc_view *v, const struct gpc_exit *x)
{
	struct gpc_try *t = gpc_job_state_try(&v->state, v->state.attempt);

	if (t && !t->running_ms_at && x->run_started_ms >= t->started_ms &&
		x->run_started_ms < x->at_ms)
		t->running_ms_at = x->run_started_ms;
}

/* A full store may refuse the event that says it. */
static void show_cut(struct gpc_view *v, const struct gpc_exit *x)
{
	struct gpc_try *t = gpc_job_state_try(&v->state, v->state.attempt);

	if (t && x->log_cut)
		gpc_set_str(&t->log_cut, x->log_cut);
}

/* What a supervisor will write once it looks, when that is an end. */
static int derive_end(struct gpc_session *s, struct gpc_view *v,
	struct gpc_error *err)
{
	gpc_auto(gpc_exit) struct gpc_exit x = {0};
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	struct gpc_recovery_policy policy;
	bool found = false;
	int r;

	if (!in_attempt(v->state.status))
		return 0;
	r = gpc_facts_outcome(s->store, v->job.id, v->state.attempt,
		v->state.num_nodes, false, &x, &found, err);
	if (r < 0)
		return r;
	if (!found) {
		v->note = gpc_steal(&x.detail);  /* something is damaged */
		return 0;
	}
	r = gpc_spec_from_json(v->job.spec, v->job.id, &spec, NULL, err);
	if (r < 0)
		return r;
	gpc_recover_name_end(&v->state, &x);
	policy = gpc_recover_policy(&spec);
	if (gpc_recover_goes_on(&policy, &v->state, &x))
		return 0;
	v->derived = true;
	v->state.reason = v->state.cancel &&
		x.reason != GPC_REASON_COMPLETED ? GPC_REASON_CANCELLED :
		x.reason;
	v->state.status = gpc_reason_status(v->state.reason);
	v->state.code = x.code;
	v->state.signal = x.signal;
	v->state.rank = x.rank;
	v->state.ended_ms = x.at_ms;
	show_run(v, &x);
	show_cut(v, &x);
	if (x.detail)
		gpc_set_str(&v->note, x.detail);
	return 0;
}

static char *folder_note(const char *path)
{
	struct statvfs v;

	if (statvfs(path, &v) < 0 || v.f_blocks == 0)
		return NULL;
	if (v.f_flag & ST_RDONLY)
		return gpc_format("the store's disk is read-only: %s", path);
	if (v.f_bavail * v.f_frsize < FULL_BYTES)
		return gpc_format("the store's disk is full: %s", path);
	return NULL;
}

/* What keeps everybody from writing keeps them from saying so as well. */
static char *store_note(struct gpc_session *s)
{
	gpc_auto(gpc_strv) struct gpc_strv folders = {0};
	char *note = NULL;

	gpc_store_folders(s->store, &folders);
	for (size_t i = 0; !note && i < folders.n; i++)
		note = folder_note(folders.v[i]);
	return note;
}

static char *supervisor_note(const struct gpc_view *v)
{
	gpc_autoptr(gpc_json) *j = NULL;

	if (!v->supervisor || gpc_json_parse(v->supervisor,
		strlen(v->supervisor), &j, NULL) < 0)
		return NULL;
	return gpc_strdup(gpc_json_get_str(j, "note"));
}

static uint64_t count_of(const struct gpc_json *uploads, const char *name)
{
	int64_t n = gpc_json_get_int(uploads, name, 0);

	return n > 0 ? (uint64_t)n : 0;
}

/* What the nodes say: the note of the first rank that has one to tell, if there is none
 * yet, and what all have still to upload. Of a large gang rank 0 speaks for all. */
static void add_beats(struct gpc_session *s, struct gpc_view *v)
{
	int n = gpc_roll_is_kept(v->state.num_nodes) ? 1 : v->state.num_nodes;

	for (int rank = 0; rank < n; rank++) {
		gpc_auto(gpc_beat) struct gpc_beat beat = {0};
		const struct gpc_json *uploads;
		bool found = false;

		if (gpc_facts_beat(s->store, v->job.id, v->state.attempt, rank,
			&beat, &found, NULL) < 0 || !found)
			continue;
		if (!v->note)
			v->note = gpc_strdup(beat.note);
		uploads = gpc_json_get(beat.rest, "uploads");
		v->upload_files += count_of(uploads, "files");
		v->upload_bytes += count_of(uploads, "bytes");
	}
}

static int64_t running_ms(struct gpc_view *v, int64_t now)
{
	const struct gpc_job_state *st = &v->state;
	struct gpc_try *try = gpc_job_state_try(&v->state, st->attempt);
	int64_t end = st->ended_ms ? st->ended_ms : now;

	if (!try || !try->running_ms_at || try->ended_ms)
		return st->ran_ms;
	return st->ran_ms + (end > try->running_ms_at ?
		end - try->running_ms_at : 0);
}

static int load_job(struct gpc_session *s, const char *job, struct gpc_view *v,
	struct gpc_error *err)
{
	int r = gpc_job_get(s->store, job, &v->job, err);

	if (r == 0)
		gpc_keep_job(s, &v->job);
	return gpc_wrap(err, r, "job %s", job);
}

static int load_job_and_state(struct gpc_session *s, const char *job,
	struct gpc_view *v, struct gpc_error *err)
{
	bool kept = gpc_kept_job(s, job, &v->job);
	int r = kept ? 0 : load_job(s, job, v, err);

	if (r == 0)
		r = load_state(s, v, err);
	if (r < 0 || !kept || v->state.n > 0)
		return r;
	/* No event: it may have been removed meanwhile. */
	gpc_job_clear(&v->job);
	return load_job(s, job, v, err);
}

/* *ret_cared_for: what the nodes say is recorded at once, or is in the record, and
 * looking at each of them would cost money. */
static int load_supervisor(struct gpc_session *s, struct gpc_view *v,
	bool *ret_cared_for, struct gpc_error *err)
{
	bool far = gpc_store_is_far(s->store), stale = false;
	struct gpc_error why = {0};
	int r;

	if (gpc_view_is_over(v) || (!far &&
		gpc_job_status_is_end(v->state.status)))
		return 0;
	r = gpc_supervisor_record(s, v->job.id, &v->supervisor, &stale, &why);
	if (r < 0 && far && err)
		*err = why;
	*ret_cared_for = r == 0 && far && !stale;
	return far ? r : 0;
}

int gpc_view_load(struct gpc_session *s, const char *job, struct gpc_view *ret_v,
	struct gpc_error *err)
{
	gpc_auto(gpc_view) struct gpc_view v = {0};
	int64_t now = gpc_wall_ms();
	bool cared_for = false;
	int r = load_job_and_state(s, job, &v, err);

	if (r == 0)
		r = load_supervisor(s, &v, &cared_for, err);
	if (r == 0 && !cared_for)
		r = derive_end(s, &v, err);
	if (r < 0)
		return r;
	v.spent = gpc_cost_spent(&v.state, now);
	v.rate = gpc_cost_rate(&v.state);
	v.ran_ms = running_ms(&v, now);
	if (!v.note && gpc_job_status_is_end(v.state.status))
		v.note = gpc_strdup(v.state.detail);
	else if (!v.note)
		v.note = store_note(s);
	if (!v.note && !gpc_job_status_is_end(v.state.status))
		v.note = supervisor_note(&v);
	if (!cared_for && in_attempt(v.state.status))
		add_beats(s, &v);
	*ret_v = v;
	v = (struct gpc_view) {0};
	return 0;
}

void gpc_view_clear(struct gpc_view *v)
{
	gpc_job_clear(&v->job);
	gpc_job_state_clear(&v->state);
	free(v->note);
	free(v->supervisor);
	*v = (struct gpc_view) {0};
}

bool gpc_view_is_over(const struct gpc_view *v)
{
	return !v->derived && gpc_job_state_is_over(&v->state);
}

/* --- JOB ------------------------------------------------------------------- */
static int ambiguous(const char *word, const struct gpc_index *matches,
	bool all, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv ids = {0};
	gpc_autostr *text = NULL;
	int r;

	gpc_vec_each(x, matches) {
		if ((all || x->live) && ids.n < 8)
			gpc_strv_add(&ids, x->job);
	}
	text = gpc_strv_join(&ids, ", ");
	r = gpc_fail(err, GPC_ECONFLICT, "'%s' names several %sjobs: %s", word,
		all ? "" : "unfinished ", text);
	gpc_hint(err, "name one of them by its id");
	return r;
}

static int is_there(struct gpc_session *s, const char *job,
	struct gpc_error *err)
{
	gpc_key key;

	return gpc_store_head(s->store, gpc_key_job(key, job), NULL, err);
}

/* An entry without job.json is a submit that is under way, or that died. */
static int drop_no_jobs(struct gpc_session *s, struct gpc_index *matches,
	struct gpc_error *err)
{
	for (size_t i = matches->n; i-- > 0;) {
		int r;

		if (!matches->v[i].live)
			continue;
		r = is_there(s, matches->v[i].job, err);
		if (r < 0 && r != -GPC_ENOTFOUND)
			return r;
		if (r < 0)
			gpc_vec_remove(matches, i);
	}
	return 0;
}

static int list_mine(struct gpc_session *s, struct gpc_index *ret_mine,
	struct gpc_error *err)
{
	int r = gpc_index_list(s->store, 0, ret_mine, err);

	for (size_t i = ret_mine->n; r == 0 && i-- > 0;) {
		if (!gpc_eq(ret_mine->v[i].owner_hash, s->place.owner.hash))
			gpc_vec_remove(ret_mine, i);
	}
	return r;
}

static bool several_unfinished(const struct gpc_index *matches)
{
	size_t n = 0;

	gpc_vec_each(x, matches)
		n += x->live;
	return n > 1;
}

/* "NAME-" and 6 characters, as ids end; a name may look so as well. */
static bool looks_like_an_id(const char *word)
{
	size_t n = strlen(word);

	return n > 7 && n < GPC_JOB_ID_SIZE && word[n - 7] == '-' &&
		gpc_base32_span(word + n - 6) == 6 &&
		strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

/* Where each list costs money, an id is tried as one first. */
static bool is_far_id(struct gpc_session *s, const char *word)
{
	return word && gpc_store_is_far(s->store) && looks_like_an_id(word);
}

int gpc_job_find(struct gpc_session *s, const char *word, bool ending,
	char ret_job[GPC_JOB_ID_SIZE], struct gpc_error *err)
{
	gpc_auto(gpc_index) struct gpc_index matches = {0};
	bool several = false, by_prefix;
	int r;

	word = word ? word : "@";
	if (is_far_id(s, word) && is_there(s, word, NULL) == 0) {
		memcpy(ret_job, word, strlen(word) + 1);
		return 0;
	}
	r = gpc_eq(word, "@") ? list_mine(s, &matches, err) :
		gpc_index_find(s->store, word, s->place.owner.hash, &matches,
		&several, err);
	if (r == 0)
		r = drop_no_jobs(s, &matches, err);
	if (r < 0)
		return r;
	while (r == 0 && matches.n > 0 && !matches.v[0].live) {
		r = is_there(s, matches.v[0].job, err);
		if (r != -GPC_ENOTFOUND)
			break;
		gpc_vec_remove(&matches, 0);    /* deleted by hand */
		r = 0;
	}
	if (r < 0)
		return r;
	if (matches.n == 0 && gpc_eq(word, "@"))
		return gpc_fail(err, GPC_ENOTFOUND, "you have no job here");
	if (matches.n == 0)
		return gpc_fail(err, GPC_ENOTFOUND, "no job \"%s\"", word);
	by_prefix = !gpc_eq(word, "@") && !gpc_eq(matches.v[0].name, word) &&
		!gpc_eq(matches.v[0].job, word);
	if (by_prefix && matches.n > 1)
		return ambiguous(word, &matches, true, err);
	if (ending && several_unfinished(&matches) && !gpc_eq(word, "@"))
		return ambiguous(word, &matches, false, err);
	memcpy(ret_job, matches.v[0].job, GPC_JOB_ID_SIZE);
	return 0;
}

int gpc_view_find(struct gpc_session *s, const char *word,
	struct gpc_view *ret_v, struct gpc_error *err)
{
	char job[GPC_JOB_ID_SIZE];
	int r = -GPC_ENOTFOUND;

	if (is_far_id(s, word))
		r = gpc_view_load(s, word, ret_v, err);
	if (r != -GPC_ENOTFOUND)
		return r;
	r = gpc_job_find(s, word, false, job, err);
	return r < 0 ? r : gpc_view_load(s, job, ret_v, err);
}

/* --- JSON ------------------------------------------------------------------ */
static void set_time(struct gpc_json *j, const char *key, int64_t ms)
{
	char text[GPC_RFC3339_SIZE];

	if (ms > 0)
		gpc_json_set_str(j, key, gpc_format_rfc3339(ms, text));
}

static struct gpc_json *supervisor_json(struct gpc_session *s, const char *job)
{
	gpc_autostr *text = NULL;

	if (gpc_supervisor_record(s, job, &text, NULL, NULL) < 0)
		return gpc_supervisor_words_json(s, NULL);
	return gpc_supervisor_words_json(s, text);
}

static void set_money(struct gpc_json *j, const char *key, struct gpc_money m)
{
	struct gpc_json *o = gpc_json_object();
	char text[GPC_MONEY_SIZE];

	gpc_json_set_str(o, "amount", gpc_money_decimal(m, text));
	gpc_json_set_str(o, "currency", m.currency[0] ? m.currency : "USD");
	gpc_json_set(j, key, o);
}

static struct gpc_json *nodes_json(const struct gpc_job_state *st)
{
	struct gpc_json *all = gpc_json_array();

	gpc_vec_each(n, &st->nodes) {
		struct gpc_json *j = gpc_json_object();

		gpc_json_set_int(j, "rank", n->rank);
		gpc_json_set_int(j, "attempt", n->attempt);
		gpc_json_set_str(j, "state", gpc_node_status_names[n->status]);
		gpc_json_set_str(j, "provider", n->provider);
		gpc_json_set_str(j, "id", n->id);
		gpc_json_set_str(j, "offer", n->offer);
		set_money(j, "rate_per_hour", n->rate);
		set_time(j, "created", n->created_ms);
		set_time(j, "released", n->released_ms);
		set_time(j, "expires", n->expires_ms);
		gpc_json_add(all, j);
	}
	return all;
}

static struct gpc_json *attempts_json(const struct gpc_job_state *st)
{
	struct gpc_json *all = gpc_json_array();

	gpc_vec_each(t, &st->tries) {
		struct gpc_json *j = gpc_json_object();

		gpc_json_set_int(j, "attempt", t->n);
		gpc_json_set_str(j, "resumed_from", t->resume_from);
		gpc_json_set_str(j, "checkpoint", t->checkpoint);
		gpc_json_set(j, "passed_over", gpc_json_strings(&t->damaged));
		gpc_json_set_str(j, "damage", t->damage);
		set_time(j, "started", t->started_ms);
		set_time(j, "running", t->running_ms_at);
		set_time(j, "ended", t->ended_ms);
		if (t->reason)
			gpc_json_set_str(j, "reason", gpc_reason_to_str(t->reason));
		gpc_json_set_str(j, "boot", t->boot);
		gpc_json_set_str(j, "log_cut", t->log_cut);
		gpc_json_add(all, j);
	}
	return all;
}

/* What was asked for in vain, the newest last. */
static struct gpc_json *refused_json(const struct gpc_job_state *st)
{
	struct gpc_json *all = gpc_json_array();

	gpc_vec_each(x, &st->refused) {
		struct gpc_json *j = gpc_json_object();

		gpc_json_set_int(j, "attempt", x->attempt);
		gpc_json_set_str(j, "offer", x->offer);
		gpc_json_set_str(j, "why", x->why);
		gpc_json_set_int(j, "times", x->times);
		set_time(j, "last", x->at_ms);
		gpc_json_add(all, j);
	}
	return all;
}

static void set_end(struct gpc_json *j, const char *job,
	const struct gpc_job_state *st)
{
	gpc_autostr *advice = gpc_reason_advice(st->reason, job, st->checkpoint);

	if (!gpc_job_status_is_end(st->status))
		return;
	gpc_json_set_str(j, "reason", gpc_reason_to_str(st->reason));
	gpc_json_set_str(j, "advice", advice);
	gpc_json_set_int(j, "exit_code", st->code);
	if (st->signal)
		gpc_json_set_int(j, "signal", st->signal);
	gpc_json_set_int(j, "exit_status", gpc_reason_exit(st->reason, st->code,
		st->signal));
	set_time(j, "ended", st->ended_ms);
}

/* The limits that hold now; null for none. */
static struct gpc_json *limits_json(const struct gpc_view *v,
	const struct gpc_spec *spec)
{
	struct gpc_json *j = gpc_json_object();
	struct gpc_spec_limits l = gpc_update_limits(spec, &v->state);

	if (l.cost.currency[0])
		set_money(j, "cost", l.cost);
	else
		gpc_json_set(j, "cost", gpc_json_null());
	gpc_json_set(j, "time_ms", l.time_ms > 0 ? gpc_json_int(l.time_ms) :
		gpc_json_null());
	gpc_json_set_bool(j, "updated", v->state.cost_limit_n > 0 ||
		v->state.time_limit_n > 0);
	return j;
}

int64_t gpc_view_tether_ms(struct gpc_session *s, const struct gpc_view *v)
{
	return gpc_job_status_is_end(v->state.status) || gpc_store_is_far(s->store) ?
		0 : gpc_tether_within_ms(s->store, v->job.id);
}

/* What the spec says and updates have changed. */
static void set_current(struct gpc_json *j, struct gpc_session *s,
	const struct gpc_view *v)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_spec_notify) struct gpc_spec_notify notify = {0};
	gpc_autostr *failed = NULL;
	int64_t within_ms = gpc_view_tether_ms(s, v);

	if (gpc_spec_from_json(v->job.spec, v->job.id, &spec, NULL, NULL) < 0)
		gpc_spec_init(&spec);
	gpc_ports_json(&spec, &v->state, gpc_view_is_over(v), j);
	gpc_json_set(j, "limits", limits_json(v, &spec));
	if (within_ms)
		gpc_json_set_int(j, "tether_ms", within_ms);
	gpc_json_set_int(j, "priority", gpc_update_priority(&spec, &v->state));
	if (gpc_update_notify(&spec, &v->state, &notify, NULL) == 0 && notify.n)
		failed = gpc_notify_failure(s, v->job.id);
	gpc_json_set(j, "notify", gpc_notify_json(&notify));
	if (failed)
		gpc_json_set_str(j, "notify_failed", failed);
}

static struct gpc_json *uploads_json(const struct gpc_view *v)
{
	struct gpc_json *j = gpc_json_object();

	gpc_json_set_int(j, "files", (int64_t)v->upload_files);
	gpc_json_set_int(j, "bytes", (int64_t)v->upload_bytes);
	return j;
}

struct gpc_json *gpc_view_json(struct gpc_session *s, const struct gpc_view *v)
{
	const struct gpc_job_state *st = &v->state;
	gpc_autostr *owner = gpc_format("%s@%s", v->job.owner.user ?
		v->job.owner.user : "?", v->job.owner.host ?
		v->job.owner.host : "?");
	struct gpc_json *j = gpc_json_object();

	gpc_json_set_str(j, "job", v->job.id);
	gpc_json_set_str(j, "name", v->job.original_name ?
		v->job.original_name : v->job.name);
	gpc_json_set_str(j, "owner", owner);
	gpc_json_set_str(j, "state", gpc_job_status_to_str(st->status));
	set_end(j, v->job.id, st);
	gpc_json_set_int(j, "attempt", st->attempt);
	gpc_json_set_int(j, "num_nodes", st->num_nodes);
	set_time(j, "submitted", st->submitted_ms);
	gpc_json_set_int(j, "ran_ms", v->ran_ms);
	set_money(j, "cost", v->spent);
	set_money(j, "rate_per_hour", v->rate);
	set_current(j, s, v);
	gpc_json_set_str(j, "checkpoint", st->checkpoint);
	gpc_json_set_str(j, "workdir", v->job.workdir);
	if (v->job.git.url) {
		struct gpc_json *git = gpc_json_object();

		gpc_json_set_str(git, "url", v->job.git.url);
		gpc_json_set_str(git, "ref", v->job.git.ref);
		gpc_json_set_str(git, "commit", v->job.git.commit);
		gpc_json_set(j, "git", git);
	}
	gpc_json_set_str(j, "workspace", v->job.workspace);
	gpc_json_set_str(j, "note", v->note);
	if (v->upload_files)
		gpc_json_set(j, "uploads", uploads_json(v));
	if (!gpc_view_is_over(v))
		gpc_json_set(j, "supervisor", v->supervisor ?
			gpc_supervisor_words_json(s, v->supervisor) :
			supervisor_json(s, v->job.id));
	gpc_json_set(j, "attempts", attempts_json(st));
	if (st->refused.n)
		gpc_json_set(j, "refused", refused_json(st));
	gpc_json_set(j, "nodes", nodes_json(st));
	gpc_json_set(j, "spec", gpc_json_copy(v->job.spec));
	return j;
}
