/* Requests are decided from the newest state. When another writer was first,
 * the decision is made again from the state that resulted. */
#include "core/request.h"

#include <string.h>

#include "base/crash.h"
#include "base/str.h"
#include "base/time.h"
#include "core/prune.h"
#include "core/submit.h"
#include "core/supervise.h"
#include "core/view.h"
#include "model/job_signal.h"
#include "record/index.h"
#include "record/job.h"
#include "record/journal.h"
#include "record/keys.h"
#include "record/secrets.h"
#include "record/whole.h"

#define REQUEST_TRIES 100
#define CLOSING_MS 3000
#define CLOSING_LOOK_MS 20
#define LATE_MS 60000

static int open_journal(struct gpc_session *s, const char *job,
	struct gpc_journal *j, struct gpc_error *err)
{
	gpc_autostr *by = gpc_session_by(s, "client");
	int r;

	gpc_journal_init(j, s->store, job, by);
	r = gpc_journal_refresh(j, NULL, err);
	if (r != -GPC_ENOTFOUND)
		return r;
	r = gpc_submit_finish(s, job, err);
	return r < 0 ? r : gpc_journal_refresh(j, NULL, err);
}

/* 1: it is written. 0: somebody else was first, and j has the state that resulted. */
static int try_append(struct gpc_session *s, struct gpc_journal *j,
	enum gpc_event_type type, struct gpc_json *data, struct gpc_error *err)
{
	int r = gpc_journal_append(j, type, data, err);

	if (r == 0)
		gpc_supervisor_wake(s);
	return r == 0 ? 1 : r == -GPC_ECONFLICT ? 0 : r;
}

static int too_busy(const char *job, struct gpc_error *err)
{
	return gpc_fail(err, GPC_ECONFLICT,
		"job %s: its journal is too busy", job);
}

/* What its agents have said before anybody asked is its end, be it not in the
 * journal yet: a cancel would only give it another name. */
static bool has_ended_by_facts(struct gpc_session *s, const char *job)
{
	gpc_auto(gpc_view) struct gpc_view v = {0};

	return gpc_view_load(s, job, &v, NULL) == 0 && v.derived;
}

/* Asks a job that has ended, or one that has not, unless it was asked already.
 * *ret_ended: it has, as was last seen. */
static int append_cancel(struct gpc_session *s, struct gpc_journal *j,
	const char *job, bool now, bool of_ended, bool *ret_ended,
	struct gpc_error *err)
{
	int r = 0;

	for (int i = 0; r == 0 && i < REQUEST_TRIES; i++) {
		struct gpc_json *data;

		*ret_ended = gpc_job_status_is_end(j->state.status);
		if (*ret_ended != of_ended || gpc_job_state_is_over(&j->state) ||
			(j->state.cancel && (!now || j->state.cancel_now)))
			return 0;
		data = gpc_json_object();
		gpc_json_set_bool(data, "now", now);
		r = try_append(s, j, GPC_EVENT_CANCEL, data, err);
		if (r > 0)
			return 0;
	}
	return r < 0 ? r : too_busy(job, err);
}

int gpc_request_cancel(struct gpc_session *s, const char *job, bool now,
	bool *ret_ended, struct gpc_error *err)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	int r = open_journal(s, job, &j, err);

	if (r == 0 && !j.state.cancel && has_ended_by_facts(s, job)) {
		*ret_ended = true;
		gpc_supervisor_wake(s);
		return 0;
	}
	return r < 0 ? r : append_cancel(s, &j, job, now, false, ret_ended, err);
}

int gpc_request_leave(struct gpc_session *s, const char *job, bool now,
	struct gpc_error *err)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	bool ended;
	int r = open_journal(s, job, &j, err);

	return r < 0 ? r : append_cancel(s, &j, job, now, true, &ended, err);
}

static int has_ended(const struct gpc_job_state *st, const char *job,
	const char *what, struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_ECONFLICT, "job %s has ended (%s): there is "
		"nothing to %s", job, gpc_reason_to_str(st->reason), what);

	gpc_hint(err, "`gpucloud resume %s` starts it once more, `gpucloud status` "
		"shows what runs", job);
	return r;
}

/* An event that only an unfinished job takes. */
static int ask_live(struct gpc_session *s, const char *job,
	enum gpc_event_type type, struct gpc_json *data, const char *what,
	int64_t *ret_n, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *payload = data;
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	int r = open_journal(s, job, &j, err);

	for (int i = 0; r == 0 && i < REQUEST_TRIES; i++) {
		if (gpc_job_status_is_end(j.state.status))
			return has_ended(&j.state, job, what, err);
		r = try_append(s, &j, type, gpc_json_copy(payload), err);
		if (r > 0 && ret_n)
			*ret_n = j.state.n;
		if (r > 0)
			return 0;
	}
	return r < 0 ? r : too_busy(job, err);
}

int gpc_request_save(struct gpc_session *s, const char *job, const char *label,
	int64_t *ret_event, struct gpc_error *err)
{
	struct gpc_json *data = gpc_json_object();

	if (label)
		gpc_json_set_str(data, "label", label);
	return ask_live(s, job, GPC_EVENT_SAVE, data, "save", ret_event, err);
}

static int bad_signal(const char *name, struct gpc_error *err)
{
	const char *words[GPC_JOB_SIGNALS + 1] = { "interrupt" };
	const char *near;
	int r;

	for (size_t i = 0; i < GPC_JOB_SIGNALS; i++)
		words[i + 1] = gpc_job_signal_name(i);
	near = gpc_nearest(name, words, GPC_JOB_SIGNALS + 1);
	r = gpc_fail(err, GPC_EUSAGE, "unknown signal '%s'%s%s%s", name,
		near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	gpc_hint(err, "use a name such as TERM or USR1, or `interrupt` for "
		"a spot notice");
	return r;
}

int gpc_request_signal(struct gpc_session *s, const char *job, const char *name,
	int rank, struct gpc_error *err)
{
	struct gpc_json *data;
	const char *word = "interrupt";

	if (!gpc_eq_nocase(name, word) && !gpc_job_signal(name, &word))
		return bad_signal(name, err);
	data = gpc_json_object();
	gpc_json_set_str(data, "signal", word);
	if (rank >= 0)
		gpc_json_set_int(data, "rank", rank);
	return ask_live(s, job, GPC_EVENT_SIGNAL, data, "signal", NULL, err);
}

int gpc_request_ssh(struct gpc_session *s, const char *job, int rank,
	const char *key, bool opens, struct gpc_error *err)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	int r = open_journal(s, job, &j, err);

	for (int i = 0; r == 0 && i < REQUEST_TRIES; i++) {
		struct gpc_json *data;

		if (gpc_job_state_is_over(&j.state))
			return gpc_fail(err, GPC_ECONFLICT, "job %s has ended and "
				"has no node any more", job);
		data = gpc_json_object();
		gpc_json_set_int(data, "rank", rank);
		gpc_json_set_str(data, "key", key);
		gpc_json_set_bool(data, "opens", opens);
		r = try_append(s, &j, GPC_EVENT_SSH, data, err);
		if (r > 0)
			return 0;
	}
	return r < 0 ? r : too_busy(job, err);
}

void gpc_request_attention(struct gpc_session *s, const struct gpc_view *v)
{
	struct gpc_error why = {0};

	if (gpc_index_put_live(s->store, &v->job, &why) < 0)
		gpc_log(s->log, GPC_VERBOSE, "%s", why.msg);
}

/* --- resume --------------------------------------------------------------- */
static int collect_secrets(const struct gpc_job *job,
	const struct gpc_pairs *given, struct gpc_pairs *ret_values,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv missing = {0};
	int r;

	for (size_t i = 0; i < job->secrets.n; i++) {
		const char *name = job->secrets.v[i];
		const char *value = given ? gpc_pairs_get(given, name) : NULL;

		if (value)
			gpc_pairs_set(ret_values, name, value);
		else
			gpc_strv_add(&missing, name);
	}
	if (missing.n > 0) {
		gpc_autostr *names = gpc_strv_join(&missing, ", ");

		r = gpc_fail(err, GPC_EUSAGE, "job %s needs its secrets again: %s",
			job->id, names);
		gpc_hint(err, "give each with --secret NAME (from the "
			"environment) or --secret NAME=@FILE");
		return r;
	}
	return 0;
}

/* A machine that finds nothing whole to start from is paid for nothing. */
static int check_start(struct gpc_session *s, const struct gpc_journal *j,
	const char *checkpoint, struct gpc_error *err)
{
	const char *id = checkpoint ? checkpoint : j->state.checkpoint;
	int r = id ? gpc_whole_look(s->store, j->job, id, GPC_WHOLE_QUICK,
		s->cancel, err) : 0;

	return gpc_whole_blame(s->store, j->job, id, GPC_WHOLE_QUICK,
		GPC_WHOLE_RESUME, s->cancel, r, err);
}

/* A prune whose client died, or is slow, is finished here: what goes is fixed. */
static int check_resumable(struct gpc_session *s, struct gpc_journal *j,
	const char *checkpoint, struct gpc_error *err)
{
	struct gpc_swept swept = {0};
	int r = 0;

	if (!gpc_job_status_is_end(j->state.status)) {
		r = gpc_fail(err, GPC_ECONFLICT, "job %s has not ended: it is %s",
			j->job, gpc_job_status_to_str(j->state.status));
		gpc_hint(err, "`gpucloud wait %s` waits for its end, `gpucloud "
			"cancel %s` ends it", j->job, j->job);
		return r;
	}
	if (j->state.removing)
		return gpc_fail(err, GPC_ECONFLICT,
			"job %s is being removed by `gpucloud prune`", j->job);
	if (j->state.pruning)
		r = gpc_prune_finish(s, j, &swept, err);
	return r < 0 ? r : check_start(s, j, checkpoint, err);
}

/* A supervisor that is about to close the job moves its entry on the way, and
 * must not meet a resumed one: giving the last node back and closing take a
 * moment. Where they take longer nobody is at it. */
static int await_closing(struct gpc_session *s, const struct gpc_job *job,
	struct gpc_journal *j, struct gpc_error *err)
{
	int64_t end = gpc_boot_ms() + CLOSING_MS;
	bool done = false, live = true;
	int r = 0;

	while (r == 0 && gpc_job_status_is_end(j->state.status)) {
		if (gpc_job_state_is_over(&j->state))
			r = gpc_index_look(s->store, job, &j->state, &done,
				&live, err);
		if (r < 0 || done || !live || gpc_boot_ms() >= end ||
			gpc_canceled(s->cancel))
			break;
		gpc_sleep_ms(CLOSING_LOOK_MS);
		r = gpc_journal_refresh(j, NULL, err);
	}
	return r;
}

/* Had we been stopped for long before the event, a supervisor would have closed
 * the job once more, or somebody taken the secrets for left behind. */
static int put_again(struct gpc_session *s, const struct gpc_job *job,
	const struct gpc_pairs *secrets, const char *name, int64_t since_ms,
	struct gpc_error *err)
{
	int r = gpc_index_put_live(s->store, job, err);

	if (r == 0 && secrets->n && gpc_boot_ms() - since_ms >= LATE_MS)
		r = gpc_secrets_put(s->store, job->id, name, secrets, err);
	if (r == 0)
		gpc_supervisor_wake(s);
	return r;
}

/* With secrets that are named for the very next event: GPC_ECONFLICT when it has
 * become another's. They go again unless the event may be there. */
static int try_resume(struct gpc_session *s, const struct gpc_job *job,
	struct gpc_journal *j, const char *checkpoint,
	const struct gpc_pairs *secrets, struct gpc_error *err)
{
	struct gpc_json *data = gpc_json_object();
	int64_t since = gpc_boot_ms();
	char name[GPC_SECRETS_NAME_SIZE];
	gpc_key key;
	int r;

	gpc_secrets_name(j->state.n + 1, name);
	if (checkpoint)
		gpc_json_set_str(data, "checkpoint", checkpoint);
	if (secrets->n)
		gpc_json_set_str(data, "secrets", name);
	r = gpc_secrets_put(s->store, job->id, name, secrets, err);
	GPC_CRASH("resume.secrets_put");
	/* The index first: an entry of an ended job is moved back by the next
	 * supervisor, an unlisted live job would be seen by nobody. */
	if (r == 0)
		r = gpc_index_put_live(s->store, job, err);
	GPC_CRASH("resume.live_put");
	if (r == 0)
		r = gpc_journal_append(j, GPC_EVENT_RESUME, gpc_steal(&data), err);
	gpc_json_free(data);
	if (r == 0)
		return put_again(s, job, secrets, name, since, err);
	if (secrets->n && !j->unsettled && gpc_secrets_drop(s->store,
		gpc_key_secrets(key, job->id, name), NULL) < 0)
		gpc_log(s->log, GPC_WARN, "%s is left in the store", key);
	return r;
}

int gpc_request_resume(struct gpc_session *s, const char *id,
	const char *checkpoint, const struct gpc_pairs *secrets,
	struct gpc_error *err)
{
	gpc_auto(gpc_job) struct gpc_job job = {0};
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	gpc_auto(gpc_pairs) struct gpc_pairs values = {0};
	int r = gpc_wrap(err, gpc_job_get(s->store, id, &job, err), "job %s",
		id);

	if (r == 0)
		r = open_journal(s, id, &j, err);
	if (r == 0)
		r = await_closing(s, &job, &j, err);
	for (int i = 0; r == 0 && i < REQUEST_TRIES; i++) {
		r = check_resumable(s, &j, checkpoint, err);
		if (r == 0 && i == 0)
			r = collect_secrets(&job, secrets, &values, err);
		if (r < 0)
			return r;
		r = try_resume(s, &job, &j, checkpoint, &values, err);
		if (r != -GPC_ECONFLICT)
			return r;
		/* such as a node's release, which comes after the end */
		r = 0;
	}
	return r < 0 ? r : too_busy(id, err);
}
