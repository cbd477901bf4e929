/* The journal: one object an event, numbered without gaps, created if-absent.
 *
 * Whoever creates number n decided from the state after n - 1, so two writers
 * never both act on one state. A lost answer is settled by repeating the very
 * same bytes under the very same number: either they land, or what is there
 * tells by its id whose put won. Since each event carries the folded state, a
 * reader needs the newest one only; the head hint says where to begin to look,
 * and being wrong it costs time, never truth. */
#include "record/journal.h"

#include <errno.h>
#include <string.h>

#include "base/crash.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "record/keys.h"
#include "record/state.h"

#define EVENT_MAX ((size_t)16 << 20)
#define HEAD_MAX 256
#define HINT_AFTER 8            /* events read in a row before the hint is asked */
#define HINT_FAR 8              /* events between two hints where puts cost */
#define SETTLE_MS 60000
#define BACKOFF_MIN_MS 50
#define BACKOFF_MAX_MS 5000
#define ID_LENGTH 20

void gpc_journal_init(struct gpc_journal *j, struct gpc_store *s,
	const char *job, const char *by)
{
	*j = (struct gpc_journal){ .store = s, .settle_ms = SETTLE_MS };
	j->job = gpc_strdup(job);
	j->by = gpc_strdup(by);
}

void gpc_journal_clear(struct gpc_journal *j)
{
	free(j->job);
	free(j->by);
	gpc_job_state_clear(&j->state);
	*j = (struct gpc_journal){0};
}

/* --- reading ----------------------------------------------------------- */

static int get_event(struct gpc_store *s, const char *job, int64_t n,
	struct gpc_event *ret_e, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = EVENT_MAX + 1 };
	gpc_auto(gpc_event) struct gpc_event e = {0};
	gpc_key key;
	int r = gpc_store_get(s, gpc_key_event(key, job, n), EVENT_MAX, &b,
		err);

	if (r < 0)
		return r;
	r = gpc_event_parse(gpc_buf_str(&b), b.len, &e, err);
	if (r < 0)
		r = gpc_wrap(err, r, "%s/%s", s->url, key);
	else if (e.n != n)
		r = gpc_fail(err, GPC_EPROTO, "%s/%s: $.n: expected %lld, "
			"found %lld", s->url, key, (long long)n,
			(long long)e.n);
	if (r == -GPC_EPROTO)
		gpc_hint(err, "this object is damaged: put it back from a copy; "
			"`gpucloud release %s` ends the job's nodes without it",
			job);
	if (r < 0)
		return r;
	*ret_e = e;
	e = (struct gpc_event){0};
	return 0;
}

/* The hint, or 0: absent, broken or nonsense are all the same. */
static int64_t read_hint(struct gpc_journal *j)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autoptr(gpc_json) *hint = NULL;
	gpc_key key;
	int64_t n;

	if (gpc_store_get(j->store, gpc_key_job_file(key, j->job, "head"),
		HEAD_MAX, &b, NULL) < 0 ||
		gpc_json_parse(gpc_buf_str(&b), b.len, &hint, NULL) < 0)
		return 0;
	n = gpc_json_get_int(hint, "n", 0);
	return n > 0 && n <= 99999999 ? n : 0;
}

static void write_hint(struct gpc_journal *j)
{
	gpc_autostr *text = gpc_format("{\"v\":1,\"n\":%lld}\n",
		(long long)j->state.n);
	struct gpc_error why;
	gpc_key key;

	if (gpc_store_is_far(j->store) && j->state.n % HINT_FAR)
		return;
	if (gpc_store_put(j->store, gpc_key_job_file(key, j->job, "head"), text,
		strlen(text), GPC_PUT_HINT, &why) < 0)
		gpc_log(j->store->log, GPC_VERBOSE, "%s", why.msg);
}

struct newest { const char *prefix; int64_t n; };

static int note_number(void *arg, const struct gpc_object *o)
{
	struct newest *x = arg;
	const char *p = o->key + strlen(x->prefix);
	int64_t n = 0;

	for (int i = 0; i < 8; i++) {
		if (p[i] < '0' || p[i] > '9')
			return 0;
		n = n * 10 + (p[i] - '0');
	}
	if (gpc_eq(p + 8, ".json"))
		x->n = n;
	return 0;
}

static int list_newest(struct gpc_journal *j, int64_t *ret_n,
	struct gpc_error *err)
{
	gpc_key prefix;
	struct newest x = {0};
	int r;

	x.prefix = gpc_key_job_file(prefix, j->job, "events/");
	r = gpc_store_list(j->store, prefix, NULL, note_number, &x, err);
	if (r == 0)
		*ret_n = x.n;
	return r;
}

static void take_state(struct gpc_journal *j, struct gpc_event *e)
{
	gpc_job_state_clear(&j->state);
	j->state = e->state;
	e->state = (struct gpc_job_state){0};
}

static void say_read_only(struct gpc_journal *j, const struct gpc_error *why)
{
	if (!j->read_only)
		gpc_log(j->store->log, GPC_WARN, "job %s: %s; reading only",
			j->job, why->msg);
	j->read_only = true;
}

/* Takes event n. 1: taken; 0: there is none, or it is of a newer gpucloud. */
static int take_event(struct gpc_journal *j, int64_t n, struct gpc_error *err)
{
	gpc_auto(gpc_event) struct gpc_event e = {0};
	struct gpc_error why;
	int r = get_event(j->store, j->job, n, &e, &why);

	if (r == -GPC_ENOTFOUND)
		return 0;
	if (r == -GPC_EUNSUPPORTED) {
		say_read_only(j, &why);
		return 0;
	}
	if (r < 0) {
		if (err)
			*err = why;
		return r;
	}
	take_state(j, &e);
	return 1;
}

/* A hint without any event is no job that begins, but one that lost them. */
static int absent(struct gpc_journal *j, struct gpc_error *err)
{
	int64_t n = read_hint(j);
	int r;

	if (j->read_only)
		return gpc_fail(err, GPC_EUNSUPPORTED,
			"job %s was written by a newer gpucloud", j->job);
	if (n > 0) {
		r = gpc_fail(err, GPC_EPROTO, "%s/jobs/%s/events/ has no event "
			"any more, of %lld", j->store->url, j->job,
			(long long)n);
		gpc_hint(err, "put them back from a copy; `gpucloud release %s` "
			"ends the job's nodes without them", j->job);
		return r;
	}
	return gpc_fail(err, GPC_ENOTFOUND, "job %s has no journal in %s",
		j->job, j->store->url);
}

/* First look: near the end, by the hint, else by the list. Steps back over
 * events that a newer gpucloud wrote. Where each request takes a while and costs,
 * the list alone is asked, which shows the end itself: *ret_newest. */
static int find_start(struct gpc_journal *j, bool *ret_newest,
	struct gpc_error *err)
{
	int64_t n = gpc_store_is_far(j->store) ? 0 : read_hint(j);
	int r = n ? take_event(j, n, err) : 0;

	if (r != 0)
		return r;
	r = list_newest(j, &n, err);
	if (r < 0)
		return r;
	*ret_newest = gpc_store_is_far(j->store) && n > 0;
	if (n == 0)
		n = 1;                  /* a list may lag behind */
	for (r = 0; r == 0 && n > 0; n--) {
		r = take_event(j, n, err);
		if (r == 0 && !j->read_only)
			break;
	}
	if (r != 0)
		return r;
	return absent(j, err);
}

int gpc_journal_refresh(struct gpc_journal *j, bool *ret_changed,
	struct gpc_error *err)
{
	int64_t before = j->state.n;
	bool newest = false;
	int in_a_row = 0;
	int r = 1;

	if (before == 0) {
		r = find_start(j, &newest, err);
		if (r < 0)
			return r;
	}
	/* Having met a newer writer once, the state stays where it is. */
	while (r == 1 && !j->read_only && !newest) {
		int64_t hint = ++in_a_row % HINT_AFTER ? 0 : read_hint(j);

		r = 0;
		if (hint > j->state.n + 1)
			r = take_event(j, hint, err);
		if (r == 0)
			r = take_event(j, j->state.n + 1, err);
		if (r < 0)
			return r;
	}
	j->unsettled = false;
	if (ret_changed)
		*ret_changed = j->state.n != before;
	return 0;
}

int gpc_journal_is_current(struct gpc_journal *j, bool *ret_current,
	struct gpc_error *err)
{
	gpc_key key;
	int r = gpc_store_head(j->store,
		gpc_key_event(key, j->job, j->state.n + 1), NULL, err);

	if (r < 0 && r != -GPC_ENOTFOUND)
		return r;
	*ret_current = r == -GPC_ENOTFOUND;
	return 0;
}

int gpc_journal_read(struct gpc_store *s, const char *job, int64_t after,
	gpc_event_fn *fn, void *arg, struct gpc_error *err)
{
	for (int64_t n = (after < 0 ? 0 : after) + 1;; n++) {
		gpc_auto(gpc_event) struct gpc_event e = {0};
		struct gpc_error why;
		int r = get_event(s, job, n, &e, &why);

		if (r == -GPC_ENOTFOUND)
			return 0;
		if (r == -GPC_EUNSUPPORTED) {
			gpc_log(s->log, GPC_WARN, "job %s: %s; passed over",
				job, why.msg);
			continue;
		}
		if (r < 0) {
			if (err)
				*err = why;
			return r;
		}
		if (fn(arg, &e) != 0)
			return 0;
	}
}

/* --- appending --------------------------------------------------------- */

/* A full disk is clear: nothing was recorded, and waiting does not help. */
static bool is_unclear(int r, const struct gpc_error *why)
{
	if (why->sys == ENOSPC || why->sys == EDQUOT)
		return false;
	return r == -GPC_EIO || r == -GPC_ENET || r == -GPC_ETIMEOUT ||
		r == -GPC_ERATE;
}

/* Whose event is at this key? Looks at the id alone, which every version has.
 * A broken one is not ours: our bytes are whole. */
static int whose(struct gpc_journal *j, const char *key, const char *id,
	bool *ret_ours, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = EVENT_MAX + 1 };
	gpc_autoptr(gpc_json) *event = NULL;
	int r = gpc_store_get(j->store, key, EVENT_MAX, &b, err);

	if (r < 0)
		return r;
	r = gpc_json_parse(gpc_buf_str(&b), b.len, &event, err);
	if (r < 0 && r != -GPC_EPROTO)
		return r;               /* no memory: ask again */
	*ret_ours = r == 0 && gpc_eq(gpc_json_get_str(event, "id"), id);
	return 0;
}

/* One try: 1 = ours is there, 0 = another's is, < 0 = unclear or refused. */
static int try_put(struct gpc_journal *j, const char *key, const char *id,
	const char *text, struct gpc_error *err)
{
	bool ours = false;
	int r = gpc_store_put(j->store, key, text, strlen(text),
		GPC_PUT_IF_ABSENT, err);

	if (r == 0)
		return 1;
	if (r != -GPC_ECONFLICT)
		return r;
	r = whose(j, key, id, &ours, err);
	if (r == -GPC_ENOTFOUND)
		return -GPC_EIO;        /* there and not there: ask again */
	return r < 0 ? r : ours;
}

/* Repeats the same bytes under the same number until it is clear who won. */
static int settle(struct gpc_journal *j, const struct gpc_event *e,
	const char *text, struct gpc_error *err)
{
	int64_t end = gpc_boot_ms() + j->settle_ms;
	int64_t pause = BACKOFF_MIN_MS;
	bool ever_unclear = false;
	gpc_key key;

	gpc_key_event(key, j->job, e->n);
	for (;;) {
		struct gpc_error why = {0};
		int r = try_put(j, key, e->id, text, &why);
		bool unclear = r < 0 && is_unclear(r, &why);
		int64_t left = end - gpc_boot_ms();

		if (r >= 0)
			return r;
		ever_unclear = ever_unclear || unclear;
		if (!unclear || left <= 0) {
			j->unsettled = ever_unclear;
			if (err)
				*err = why;
			return gpc_wrap(err, r, "job %s: recording `%s`",
				j->job, gpc_event_type_names[e->type]);
		}
		if (why.retry_after_ms > pause)
			pause = why.retry_after_ms;
		gpc_sleep_ms(pause < left ? pause : left);
		pause = pause * 2 < BACKOFF_MAX_MS ? pause * 2 : BACKOFF_MAX_MS;
	}
}

static int lost_race(struct gpc_journal *j, const struct gpc_event *e,
	struct gpc_error *err)
{
	int r = gpc_journal_refresh(j, NULL, err);

	if (r < 0)
		return r;
	return gpc_fail(err, GPC_ECONFLICT, "job %s: somebody else recorded "
		"event %lld first", j->job, (long long)e->n);
}

/* After an unclear end our event may have landed, or another's. */
static int catch_up(struct gpc_journal *j, struct gpc_error *err)
{
	bool changed = false;
	int r = gpc_journal_refresh(j, &changed, err);

	if (r == -GPC_ENOTFOUND && !j->read_only) {
		j->unsettled = false;
		return 0;
	}
	if (r < 0)
		return r;
	if (!changed)
		return 0;
	return gpc_fail(err, GPC_ECONFLICT,
		"job %s: its journal went on meanwhile", j->job);
}

static int prepare(struct gpc_journal *j, struct gpc_event *e,
	struct gpc_error *err)
{
	char id[ID_LENGTH + 1];

	e->v = GPC_EVENT_VERSION;
	e->n = j->state.n + 1;
	e->id = gpc_strdup(gpc_rand_base32(id, ID_LENGTH));
	e->at_ms = gpc_wall_ms();
	e->by = gpc_strdup(j->by);
	gpc_job_state_copy(&e->state, &j->state);
	return gpc_state_apply(&e->state, e, err);
}

/* A point for each kind of event that something writes. */
static void crash_after(enum gpc_event_type type)
{
	switch (type) {
	case GPC_EVENT_SUBMITTED: GPC_CRASH("event.submitted"); break;
	case GPC_EVENT_ATTEMPT: GPC_CRASH("event.attempt"); break;
	case GPC_EVENT_INTENT: GPC_CRASH("event.intent"); break;
	case GPC_EVENT_VOID: GPC_CRASH("event.void"); break;
	case GPC_EVENT_CREATED: GPC_CRASH("event.created"); break;
	case GPC_EVENT_READY: GPC_CRASH("event.ready"); break;
	case GPC_EVENT_PHASE: GPC_CRASH("event.phase"); break;
	case GPC_EVENT_LOST: GPC_CRASH("event.lost"); break;
	case GPC_EVENT_RELEASED: GPC_CRASH("event.released"); break;
	case GPC_EVENT_SUPERVISOR: GPC_CRASH("event.supervisor"); break;
	case GPC_EVENT_CHECKPOINT: GPC_CRASH("event.checkpoint"); break;
	case GPC_EVENT_CANCEL: GPC_CRASH("event.cancel"); break;
	case GPC_EVENT_SAVE: GPC_CRASH("event.save"); break;
	case GPC_EVENT_SIGNAL: GPC_CRASH("event.signal"); break;
	case GPC_EVENT_RESUME: GPC_CRASH("event.resume"); break;
	case GPC_EVENT_ENDED: GPC_CRASH("event.ended"); break;
	default: break;
	}
}

/* What can be read here are copies. */
static int not_kept_here(const struct gpc_journal *j, struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_ECONFIG, "job %s: %s does not keep writers "
		"apart, so nothing is recorded there", j->job, j->store->url);

	gpc_hint(err, "say where its journal is: add journal=URL to the store's");
	return r;
}

int gpc_journal_append(struct gpc_journal *j, enum gpc_event_type type,
	struct gpc_json *data, struct gpc_error *err)
{
	gpc_auto(gpc_event) struct gpc_event e = { .type = type };
	gpc_autoptr(gpc_json) *tree = NULL;
	gpc_autostr *text = NULL;
	int r = 0;

	e.data = data ? data : gpc_json_object();
	if (j->unsettled)
		r = catch_up(j, err);
	if (r < 0)
		return r;
	if (j->read_only)
		return absent(j, err);
	if (!(j->store->caps & GPC_STORE_IF_ABSENT))
		return not_kept_here(j, err);
	r = prepare(j, &e, err);
	if (r < 0)
		return gpc_wrap(err, r, "job %s", j->job);
	tree = gpc_event_write(&e);
	r = gpc_json_try_print(tree, EVENT_MAX, &text, err);
	if (r < 0)
		return gpc_wrap(err, r, "job %s: an event", j->job);
	r = settle(j, &e, text, err);
	if (r < 0)
		return r;
	j->unsettled = false;
	if (r == 0)
		return lost_race(j, &e, err);
	crash_after(type);
	take_state(j, &e);
	write_hint(j);
	GPC_CRASH("journal.hint_put");
	return 0;
}

/* --- verifying --------------------------------------------------------- */

struct replay {
	const char *job;
	struct gpc_job_state state;
	struct gpc_error *err;
	int r;
};

static char *print_state(const struct gpc_job_state *st)
{
	gpc_autoptr(gpc_json) *j = gpc_job_state_write(st);

	return gpc_json_print(j);
}

static int replay_event(void *arg, const struct gpc_event *e)
{
	struct replay *x = arg;
	gpc_autostr *mine = NULL, *theirs = NULL;
	gpc_key key;

	gpc_key_event(key, x->job, e->n);
	x->r = gpc_state_apply(&x->state, e, x->err);
	if (x->r < 0) {
		x->r = gpc_wrap(x->err, x->r, "%s", key);
		return 1;
	}
	mine = print_state(&x->state);
	theirs = print_state(&e->state);
	if (strcmp(mine, theirs) == 0)
		return 0;
	x->r = gpc_fail(x->err, GPC_EPROTO, "%s: its folded state is not what "
		"the events before it give", key);
	return 1;
}

int gpc_journal_verify(struct gpc_store *s, const char *job,
	struct gpc_error *err)
{
	struct replay x = { .job = job, .err = err };
	int r = gpc_journal_read(s, job, 0, replay_event, &x, err);

	if (r == 0)
		r = x.r;
	if (r == 0 && x.state.n == 0)
		r = gpc_fail(err, GPC_ENOTFOUND, "job %s has no journal in %s",
			job, s->url);
	gpc_job_state_clear(&x.state);
	return r;
}
