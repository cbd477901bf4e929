/* Who may act on a job. Taking over is winning a `supervisor` event; the plain
 * record beside it only saves work: it shows that the holder lives. Safety
 * rests on the journal: whoever acts on a stale state loses its append. */
#include <stdio.h>
#include <string.h>

#include "base/crash.h"
#include "base/parse.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/time.h"
#include "core/supervision.h"
#include "record/keys.h"

#include <unistd.h>

#define RENEW_MS 15000
#define TAKING_MS 5000          /* the look that follows the stale time */
#define RENEW_FAR_MS 20000
#define RECORD_MAX ((size_t)16 << 10)

static int add(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	gpc_buf_add(arg, data, n);
	return gpc_buf_check(arg, err);
}

/* ret_o may be NULL. */
static int read_record(struct gpc_store *s, const char *job, char **ret_text,
	struct gpc_object *ret_o, struct gpc_error *err)
{
	struct gpc_buf b = {0};
	gpc_key key;
	int r;

	gpc_buf_init(&b, RECORD_MAX);
	gpc_key_job_file(key, job, "supervisor");
	r = gpc_store_get_range(s, key, 0, -1, add, &b, ret_o, err);
	if (r < 0) {
		gpc_buf_clear(&b);
		*ret_text = gpc_strdup("");
		return r == -GPC_ENOTFOUND ? 0 : r;
	}
	return gpc_buf_finish(&b, ret_text, err);
}

bool gpc_supervision_tell(struct gpc_supervision *sv, char **note, const char *text)
{
	if (gpc_eq(*note, text))
		return false;
	gpc_set_str(note, text);
	sv->renewed_ms = 0;
	return true;
}

static int put_record(struct gpc_supervision *sv, int64_t now_ms,
	struct gpc_error *err)
{
	const struct gpc_place *place = &sv->session->place;
	gpc_autoptr(gpc_json) *j = gpc_json_object();
	gpc_autostr *text = NULL;
	gpc_key key;
	int r;

	gpc_json_set_int(j, "v", 1);
	gpc_json_set_str(j, "id", sv->id);
	gpc_json_set_str(j, "user", place->owner.user);
	gpc_json_set_str(j, "host", place->owner.host);
	gpc_json_set_str(j, "boot", place->boot);
	if (sv->machine)
		gpc_json_set_str(j, "job", sv->machine);
	gpc_json_set_int(j, "pid", getpid());
	gpc_json_set_int(j, "start", (int64_t)gpc_proc_start(getpid()));
	gpc_json_set_int(j, "n", ++sv->renewals);
	gpc_json_set_int(j, "boot_ms", now_ms);
	gpc_json_set_str(j, "note", sv->note ? sv->note : sv->ports_note ?
		sv->ports_note : sv->node_note);
	sv->renewed_ms = now_ms;
	text = gpc_json_print(j);
	gpc_key_job_file(key, sv->job.id, "supervisor");
	r = gpc_store_put(sv->session->store, key, text, strlen(text), 0, err);
	GPC_CRASH("supervise.record_put");
	return r;
}

static bool is_of_boot(const struct gpc_json *record, const char *boot)
{
	return boot[0] && gpc_eq(gpc_json_get_str(record, "boot"), boot);
}

/* On this boot a process is there or it is not; elsewhere only time tells. */
static bool is_dead_here(const struct gpc_json *record, const char *boot)
{
	pid_t pid = (pid_t)gpc_json_get_int(record, "pid", 0);
	uint64_t start = (uint64_t)gpc_json_get_int(record, "start", 0);

	/* Without its start (it could not look) only time tells as well. */
	return is_of_boot(record, boot) && start != 0 &&
		!gpc_proc_alive(pid, start);
}

/* By our boot clock, when a record that is new to us was put: on this boot that
 * clock is everybody's, and the holder says; else it counts from now. */
static int64_t put_at(const struct gpc_json *record, const char *boot,
	int64_t now_ms)
{
	int64_t at = gpc_json_get_int(record, "boot_ms", 0);

	return is_of_boot(record, boot) && at > 0 && at < now_ms ? at : now_ms;
}

static int64_t store_age_ms(const struct gpc_object *o)
{
	return o->modified_ms && o->now_ms ? o->now_ms - o->modified_ms : 0;
}

/* What is the same as at the look before has not been renewed since then. */
static void see(struct gpc_supervision *sv, char *text,
	const struct gpc_json *record, int64_t now_ms)
{
	if (gpc_eq(sv->seen, text)) {
		free(text);
		return;
	}
	free(sv->seen);
	sv->seen = text;
	sv->seen_ms = put_at(record, sv->session->place.boot, now_ms);
}

/* Without a record there is no holder: it let the job go, or died before its
 * first one. One that cannot be read is its holder's until that is silent. */
static bool may_take(struct gpc_supervision *sv, char *text,
	const struct gpc_object *o, int64_t now_ms)
{
	gpc_autoptr(gpc_json) *record = NULL;
	int r = gpc_json_parse(text, strlen(text), &record, NULL);

	see(sv, text, r < 0 ? NULL : record, now_ms);
	/* The store's clocks are no proof, but worth waiting for one. */
	sv->silent = sv->seen[0] && (store_age_ms(o) >=
		GPC_SUPERVISOR_SILENT_MS || now_ms - sv->seen_ms >=
		GPC_SUPERVISOR_SILENT_MS);
	return !sv->journal.state.supervisor || !sv->seen[0] ||
		now_ms - sv->seen_ms >= GPC_SUPERVISOR_STALE_MS ||
		(r == 0 && is_dead_here(record, sv->session->place.boot));
}

bool gpc_supervision_awaits(const struct gpc_supervision *sv)
{
	const struct gpc_job_state *st = &sv->journal.state;

	return sv->silent && !gpc_eq(st->supervisor, sv->id) &&
		!gpc_job_state_is_over(st) && gpc_boot_ms() - sv->seen_ms <
		GPC_SUPERVISOR_STALE_MS + TAKING_MS;
}

static int take(struct gpc_supervision *sv, int64_t now_ms, bool *ret_holding,
	struct gpc_error *err)
{
	const struct gpc_place *place = &sv->session->place;
	struct gpc_json *data = gpc_json_object();
	int r;

	gpc_json_set_str(data, "supervisor", sv->id);
	gpc_json_set_str(data, "host", place->owner.host);
	gpc_json_set_str(data, "boot", place->boot);
	gpc_json_set_int(data, "pid", getpid());
	r = gpc_journal_append(&sv->journal, GPC_EVENT_SUPERVISOR, data, err);
	*ret_holding = r == 0;
	if (r == -GPC_ECONFLICT)
		return 0;
	return r == 0 ? put_record(sv, now_ms, err) : r;
}

int gpc_supervision_let_go(struct gpc_supervision *sv, struct gpc_error *err)
{
	gpc_key key;

	if (!gpc_eq(sv->journal.state.supervisor, sv->id))
		return 0;
	gpc_key_job_file(key, sv->job.id, "supervisor");
	return gpc_store_del(sv->session->store, key, err);
}

int gpc_supervision_hold(struct gpc_supervision *sv, int64_t now_ms,
	bool *ret_holding, struct gpc_error *err)
{
	struct gpc_object o = {0};
	char *text = NULL;
	int r;

	*ret_holding = gpc_eq(sv->journal.state.supervisor, sv->id);
	if (*ret_holding) {
		if (sv->renewed_ms && now_ms - sv->renewed_ms <
			(gpc_store_is_far(sv->session->store) ? RENEW_FAR_MS : RENEW_MS))
			return 0;
		return put_record(sv, now_ms, err);
	}
	r = read_record(sv->session->store, sv->job.id, &text, &o, err);
	if (r < 0) {
		free(text);
		return r;
	}
	if (!may_take(sv, text, &o, now_ms))
		return 0;
	return take(sv, now_ms, ret_holding, err);
}

void gpc_supervision_note(struct gpc_supervision *sv, const char *fmt, ...)
{
	gpc_autostr *text = NULL;
	va_list ap;

	sv->note_waits = false;
	if (fmt) {
		va_start(ap, fmt);
		text = gpc_vformat(fmt, ap);
		va_end(ap);
	}
	if (gpc_eq(sv->note, text))
		return;
	gpc_set_str(&sv->note, text);
	sv->renewed_ms = 0;     /* let readers see it with the next step */
	if (text)
		gpc_log(sv->session->log, GPC_INFO, "%s: %s", sv->job.id, text);
}

/* Of a process on this boot: for how long it has shown no sign of life, in its
 * jobs' records or in the lock that it renews; 0 = it is at work. */
static int64_t silent_here_ms(struct gpc_session *s, const struct gpc_json *rec)
{
	int64_t now = gpc_boot_ms();
	int64_t ms = now - put_at(rec, s->place.boot, now);

	return ms >= GPC_SUPERVISOR_SILENT_MS ? ms : gpc_supervisor_silent_ms(s);
}

static char *describe_here(struct gpc_session *s, const struct gpc_json *rec,
	long pid)
{
	char text[32], limit[32];
	int64_t ms = silent_here_ms(s, rec);

	if (ms == 0)
		return gpc_format("background process %ld on this machine", pid);
	return gpc_format("background process %ld on this machine, silent for "
		"%s: is it stopped? Another one may take over after %s", pid,
		gpc_format_duration(ms / 1000 * 1000, text, sizeof(text)),
		gpc_format_duration(GPC_SUPERVISOR_STALE_MS, limit,
		sizeof(limit)));
}

static char *describe_record(struct gpc_session *s, const struct gpc_json *rec)
{
	const char *host = gpc_json_get_str(rec, "host");
	const char *user = gpc_json_get_str(rec, "user");
	const char *machine = gpc_json_get_str(rec, "job");
	long pid = (long)gpc_json_get_int(rec, "pid", 0);

	if (is_dead_here(rec, s->place.boot))
		return gpc_format("nobody: process %ld on %s is gone; if the "
			"node is lost, the job waits", pid, host ? host : "?");
	if (is_of_boot(rec, s->place.boot))
		return describe_here(s, rec, pid);
	if (machine)
		return gpc_format("%s, on a machine of its own (process %ld on "
			"%s)", machine, pid, host ? host : "?");
	return gpc_format("process %ld of %s on %s", pid, user ? user : "?",
		host ? host : "?");
}

int gpc_supervisor_record(struct gpc_session *s, const char *job,
	char **ret_text, bool *ret_stale, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *rec = NULL;
	gpc_autostr *text = NULL;
	struct gpc_object o = {0};
	int r = read_record(s->store, job, &text, &o, err);

	if (r < 0)
		return r;
	if (ret_stale) {
		*ret_stale = !text[0] || gpc_json_parse(text, strlen(text),
			&rec, NULL) < 0;
		*ret_stale = *ret_stale || is_dead_here(rec, s->place.boot);
		/* By the store's own two clocks. */
		*ret_stale = *ret_stale || !o.modified_ms || !o.now_ms ||
			store_age_ms(&o) >= GPC_SUPERVISOR_STALE_MS;
	}
	*ret_text = gpc_steal(&text);
	return 0;
}

int64_t gpc_supervisor_silent_since(struct gpc_session *s, const char *job)
{
	gpc_autoptr(gpc_json) *rec = NULL;
	gpc_autostr *text = NULL;
	struct gpc_object o = {0};
	int64_t ms;

	if (read_record(s->store, job, &text, &o, NULL) < 0)
		return 0;
	if (!text[0])
		return -1;
	if (gpc_json_parse(text, strlen(text), &rec, NULL) == 0 &&
		is_dead_here(rec, s->place.boot))
		return -1;
	ms = is_of_boot(rec, s->place.boot) ? silent_here_ms(s, rec) :
		store_age_ms(&o);
	return ms >= GPC_SUPERVISOR_SILENT_MS ? gpc_wall_ms() - ms : 0;
}

/* NULL when there is none. */
static struct gpc_json *parse_record(const char *text)
{
	struct gpc_json *rec = NULL;

	if (!text || !*text || gpc_json_parse(text, strlen(text), &rec, NULL) < 0)
		return NULL;
	return rec;
}

char *gpc_supervisor_words(struct gpc_session *s, const char *record)
{
	gpc_autoptr(gpc_json) *rec = parse_record(record);

	return rec ? describe_record(s, rec) : gpc_strdup(
		"nobody yet: `gpucloud supervise` moves the job forward");
}

char *gpc_supervisor_describe(struct gpc_session *s, const char *job)
{
	gpc_autostr *text = NULL;

	if (read_record(s->store, job, &text, NULL, NULL) < 0)
		return gpc_supervisor_words(s, NULL);
	return gpc_supervisor_words(s, text);
}

struct gpc_json *gpc_supervisor_words_json(struct gpc_session *s,
	const char *record)
{
	gpc_autoptr(gpc_json) *rec = parse_record(record);
	gpc_autostr *text = gpc_supervisor_words(s, record);
	struct gpc_json *j = gpc_json_object();
	int64_t pid = gpc_json_get_int(rec, "pid", 0);
	bool here = is_of_boot(rec, s->place.boot);

	gpc_json_set(j, "alive", !rec || here ? gpc_json_bool(rec &&
		!is_dead_here(rec, s->place.boot)) : gpc_json_null());
	gpc_json_set(j, "pid", pid ? gpc_json_int(pid) : gpc_json_null());
	gpc_json_set(j, "user", gpc_json_string(gpc_json_get_str(rec, "user")));
	gpc_json_set(j, "host", gpc_json_string(gpc_json_get_str(rec, "host")));
	gpc_json_set(j, "job", gpc_json_string(gpc_json_get_str(rec, "job")));
	gpc_json_set_str(j, "text", text);
	return j;
}
