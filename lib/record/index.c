/* The index: which jobs there are, from keys alone where they are done.
 *
 * It is a help and not the truth, which is in the journals: an entry may be
 * left from a crash between two puts, so the live one wins, and of done ones
 * the highest attempt, then the newest end. Done keys are put before what they
 * replace is removed, so that a job is never in neither list. */
#include "record/index.h"

#include <stdio.h>
#include <string.h>

#include "base/crash.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "record/keys.h"

#define LIVE "index/live/"
#define DONE "index/done/"
#define VERSION 1
#define ENTRY_MAX 65536
#define MS_MAX ((int64_t)1 << 53)
#define MONTH_MS (INT64_C(31) * 24 * 3600 * 1000)  /* for clocks that are off */
#define ID_SUFFIX 7             /* "-" and 6 characters */

void gpc_index_clear(struct gpc_index *x)
{
	gpc_vec_free(x);
}

/* --- keys -------------------------------------------------------------- */

static void month_of(int64_t ms, char ret_month[16])
{
	char text[GPC_RFC3339_SIZE];

	gpc_format_rfc3339(ms, text);
	memcpy(ret_month, text, 7);
	ret_month[7] = '\0';
}

static void live_key(gpc_key out, const struct gpc_job *job)
{
	snprintf(out, GPC_KEY_SIZE, LIVE "%lld-%s.json",
		(long long)(job->created_ms / 1000), job->id);
}

static void done_key(gpc_key out, const struct gpc_job *job,
	const struct gpc_job_state *st)
{
	char month[16];

	month_of(st->ended_ms, month);
	snprintf(out, GPC_KEY_SIZE,
		DONE "%s/%s.%d~%s~%s~%lld%s~%lld~%lld~%s", month, job->id,
		st->attempt, gpc_job_status_to_str(st->status),
		gpc_reason_to_str(st->reason), (long long)st->spent.micros,
		st->spent.currency[0] ? st->spent.currency : "USD",
		(long long)(st->started_ms ?
		st->started_ms : st->submitted_ms), (long long)st->ended_ms,
		job->owner.hash);
}

/* The name in an id: "train-abc234" or "train-abc234.3". */
static void name_of(const char *id, char ret_name[GPC_JOB_NAME_MAX + 1])
{
	const char *dot = strchr(id, '.');
	size_t n = dot ? (size_t)(dot - id) : strlen(id);

	if (n > ID_SUFFIX && id[n - ID_SUFFIX] == '-')
		n -= ID_SUFFIX;
	if (n > GPC_JOB_NAME_MAX)
		n = GPC_JOB_NAME_MAX;
	memcpy(ret_name, id, n);
	ret_name[n] = '\0';
}

static bool copy_word(struct gpc_str s, char *out, size_t size)
{
	if (s.len == 0 || s.len >= size)
		return false;
	memcpy(out, s.ptr, s.len);
	out[s.len] = '\0';
	return true;
}

static bool read_number(struct gpc_str s, int64_t max, int64_t *ret_n)
{
	char text[24];

	return copy_word(s, text, sizeof(text)) &&
		gpc_parse_i64(text, 0, max, "index", ret_n, NULL) == 0;
}

static bool read_word(struct gpc_str s, const char *const *names, int *ret_i)
{
	for (int i = 0; names[i]; i++) {
		if (gpc_str_eq(s, names[i])) {
			*ret_i = i;
			return true;
		}
	}
	return false;
}

static bool read_money(struct gpc_str s, struct gpc_money *ret_m)
{
	size_t digits = 0;
	int64_t n;

	while (digits < s.len && s.ptr[digits] >= '0' && s.ptr[digits] <= '9')
		digits++;
	if (!read_number((struct gpc_str){ s.ptr, digits }, INT64_MAX, &n) ||
		s.len - digits >= sizeof(ret_m->currency))
		return false;
	memset(ret_m, 0, sizeof(*ret_m));
	ret_m->micros = n;
	memcpy(ret_m->currency, s.ptr + digits, s.len - digits);
	return true;
}

/* "<job>.<attempt>"; an id may hold dots itself. */
static bool read_job(struct gpc_str s, struct gpc_index_entry *x)
{
	size_t dot = s.len;
	int64_t n;

	while (dot > 0 && s.ptr[dot - 1] != '.')
		dot--;
	if (dot == 0 || !read_number((struct gpc_str){ s.ptr + dot,
		s.len - dot }, INT32_MAX, &n) ||
		!copy_word((struct gpc_str){ s.ptr, dot - 1 }, x->job,
			sizeof(x->job)))
		return false;
	x->attempt = (int)n;
	name_of(x->job, x->name);
	return true;
}

static bool parse_done(const char *key, struct gpc_index_entry *ret_x)
{
	struct gpc_index_entry x = {0};
	struct gpc_str rest = gpc_str_of(key + strlen(DONE));
	struct gpc_str part[7], month, extra;
	int status, reason;

	if (!gpc_str_split(&rest, '/', &month))
		return false;
	for (int i = 0; i < 7; i++)
		if (!gpc_str_split(&rest, '~', &part[i]))
			return false;
	if (gpc_str_split(&rest, '~', &extra) || !read_job(part[0], &x) ||
		!read_word(part[1], gpc_job_status_names, &status) ||
		!read_word(part[2], gpc_reason_names, &reason) ||
		!read_money(part[3], &x.spent) ||
		!read_number(part[4], MS_MAX, &x.start_ms) ||
		!read_number(part[5], MS_MAX, &x.end_ms) ||
		!copy_word(part[6], x.owner_hash, sizeof(x.owner_hash)))
		return false;
	x.status = (enum gpc_job_status)status;
	x.reason = (enum gpc_reason)reason;
	*ret_x = x;
	return true;
}

static bool parse_live(const char *key, struct gpc_index_entry *ret_x)
{
	struct gpc_index_entry x = { .live = true };
	struct gpc_str rest = gpc_str_of(key + strlen(LIVE));
	struct gpc_str part;
	int64_t seconds;

	if (!gpc_str_split(&rest, '-', &part) ||
		!read_number(part, MS_MAX / 1000, &seconds) ||
		rest.len <= 5 || !gpc_ends_with(key, ".json"))
		return false;
	rest.len -= 5;
	if (!copy_word(rest, x.job, sizeof(x.job)))
		return false;
	x.start_ms = seconds * 1000;
	name_of(x.job, x.name);
	*ret_x = x;
	return true;
}

/* --- writing ----------------------------------------------------------- */

int gpc_index_put_live(struct gpc_store *s, const struct gpc_job *job,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = gpc_json_object();
	gpc_autostr *text = NULL;
	gpc_key key;

	gpc_json_set_int(j, "v", VERSION);
	gpc_json_set_str(j, "job", job->id);
	gpc_json_set_str(j, "name", job->name);
	gpc_json_set_str(j, "owner", job->owner.hash);
	gpc_json_set_int(j, "created_ms", job->created_ms);
	if (job->group)
		gpc_json_set_str(j, "group", job->group);
	text = gpc_json_print(j);
	live_key(key, job);
	return gpc_store_put(s, key, text, strlen(text), 0, err);
}

struct old_keys { const char *job, *keep; struct gpc_strv keys; };

static int note_old(void *arg, const struct gpc_object *o)
{
	struct old_keys *x = arg;
	struct gpc_index_entry e;

	if (parse_done(o->key, &e) && gpc_eq(e.job, x->job) &&
		strcmp(o->key, x->keep) != 0)
		return gpc_strv_try_add(&x->keys, o->key) ? 0
			: GPC_LIST_NO_MEMORY;
	return 0;
}

static void next_month(char month[16])
{
	int y = (month[0] - '0') * 1000 + (month[1] - '0') * 100 +
		(month[2] - '0') * 10 + (month[3] - '0');
	int m = (month[5] - '0') * 10 + (month[6] - '0') + 1;

	if (m > 12) {
		m = 1;
		y++;
	}
	snprintf(month, 16, "%04u-%02u", (unsigned)y % 10000u,
		(unsigned)m % 100u);
}

/* Other done keys of this job, in every month that it may have ended in. */
static int find_old(struct gpc_store *s, const struct gpc_job *job,
	int64_t end_ms, struct old_keys *old, struct gpc_error *err)
{
	char month[16], last[16];
	int r;

	month_of(job->created_ms < end_ms ? job->created_ms : end_ms, month);
	month_of(end_ms, last);
	for (;;) {
		gpc_key prefix;

		snprintf(prefix, sizeof(prefix), DONE "%s/%s.", month, job->id);
		r = gpc_store_list(s, prefix, NULL, note_old, old, err);
		/* after 9999-12, where a wrong clock may end, comes 0000-01 */
		if (r < 0 || strcmp(month, last) >= 0)
			return r;
		next_month(month);
	}
}

int gpc_index_put_done(struct gpc_store *s, const struct gpc_job *job,
	const struct gpc_job_state *st, struct gpc_error *err)
{
	gpc_key done, live;
	struct old_keys old = { .job = job->id, .keep = done };
	int r;

	done_key(done, job, st);
	live_key(live, job);
	r = gpc_store_put(s, done, "", 0, 0, err);
	GPC_CRASH("index.done_put");
	if (r == 0)
		r = find_old(s, job, st->ended_ms, &old, err);
	for (size_t at = 0; r == 0 && at < old.keys.n;)
		r = gpc_store_del_next(s, &old.keys, &at, err);
	GPC_CRASH("index.old_deleted");
	if (r == 0)
		r = gpc_store_del(s, live, err);
	gpc_strv_clear(&old.keys);
	return r < 0 ? gpc_wrap(err, r, "index of job %s", job->id) : 0;
}

static int has(struct gpc_store *s, const char *key, bool *ret_has,
	struct gpc_error *err)
{
	int r = gpc_store_head(s, key, NULL, err);

	*ret_has = r == 0;
	return r == -GPC_ENOTFOUND ? 0 : r;
}

int gpc_index_look(struct gpc_store *s, const struct gpc_job *job,
	const struct gpc_job_state *st, bool *ret_done, bool *ret_live,
	struct gpc_error *err)
{
	gpc_key done, live;
	int r;

	done_key(done, job, st);
	live_key(live, job);
	r = has(s, done, ret_done, err);
	return r < 0 ? r : has(s, live, ret_live, err);
}

static int note_live_of(void *arg, const struct gpc_object *o)
{
	struct old_keys *x = arg;
	struct gpc_index_entry e;

	if (parse_live(o->key, &e) && gpc_eq(e.job, x->job))
		return gpc_strv_try_add(&x->keys, o->key) ? 0
			: GPC_LIST_NO_MEMORY;
	return 0;
}

int gpc_index_forget(struct gpc_store *s, const char *job, int64_t since_ms,
	struct gpc_error *err)
{
	struct gpc_job as = { .id = (char *)(uintptr_t)job,
		.created_ms = since_ms };
	struct old_keys old = { .job = job, .keep = "" };
	int r = gpc_store_list(s, LIVE, NULL, note_live_of, &old, err);

	if (r == 0 && since_ms > 0)
		r = find_old(s, &as, gpc_wall_ms() + MONTH_MS, &old, err);
	else if (r == 0)
		r = gpc_store_list(s, DONE, NULL, note_old, &old, err);
	for (size_t at = 0; r == 0 && at < old.keys.n;)
		r = gpc_store_del_next(s, &old.keys, &at, err);
	gpc_strv_clear(&old.keys);
	return gpc_wrap(err, r, "index of job %s", job);
}

/* --- listing ----------------------------------------------------------- */

struct listing { struct gpc_index index; struct gpc_strv keys; int64_t since; };

static int note_live(void *arg, const struct gpc_object *o)
{
	struct listing *l = arg;
	struct gpc_index_entry x, *slot;

	if (!parse_live(o->key, &x))
		return 0;
	slot = gpc_vec_try_push(&l->index);
	if (!slot || !gpc_strv_try_add(&l->keys, o->key))
		return GPC_LIST_NO_MEMORY;
	*slot = x;
	return 0;
}

static int note_done(void *arg, const struct gpc_object *o)
{
	struct listing *l = arg;
	struct gpc_index_entry x, *slot;

	if (!parse_done(o->key, &x) || x.end_ms < l->since)
		return 0;
	slot = gpc_vec_try_push(&l->index);
	if (!slot)
		return GPC_LIST_NO_MEMORY;
	*slot = x;
	return 0;
}

static void set_text(char *out, size_t size, const char *text)
{
	if (text && *text && strlen(text) < size)
		memcpy(out, text, strlen(text) + 1);
}

/* What a live entry's key does not say. *ret_gone: it was removed since it was
 * listed, so its done key is there by now. */
static int read_live(struct gpc_store *s, const char *key,
	struct gpc_index_entry *x, bool *ret_gone, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_error why;
	int r = gpc_store_get(s, key, ENTRY_MAX, &b, err);

	*ret_gone = r == -GPC_ENOTFOUND;
	if (r < 0)
		return *ret_gone ? 0 : r;
	r = gpc_json_parse(gpc_buf_str(&b), b.len, &j, &why);
	/* Its journal is the truth: a broken entry still names its job. One for
	 * which there is no memory is not broken, and would be nobody's. */
	if (r == -GPC_EPROTO)
		return 0;
	if (r < 0) {
		if (err)
			*err = why;
		return r;
	}
	set_text(x->name, sizeof(x->name), gpc_json_get_str(j, "name"));
	set_text(x->owner_hash, sizeof(x->owner_hash),
		gpc_json_get_str(j, "owner"));
	x->start_ms = gpc_json_get_int(j, "created_ms", x->start_ms);
	return 0;
}

static int list_live(struct gpc_store *s, struct listing *l,
	struct gpc_error *err)
{
	int r = gpc_store_list(s, LIVE, NULL, note_live, l, err);
	size_t kept = 0;

	for (size_t i = 0; r == 0 && i < l->keys.n; i++) {
		struct gpc_index_entry x = l->index.v[i];
		bool gone;

		r = read_live(s, l->keys.v[i], &x, &gone, err);
		if (!gone)
			l->index.v[kept++] = x;
	}
	l->index.n = kept;
	return r;
}

static int list_done(struct gpc_store *s, struct listing *l,
	struct gpc_error *err)
{
	char month[16];
	gpc_key after;

	month_of(l->since > 0 ? l->since : 0, month);
	snprintf(after, sizeof(after), DONE "%s", month);
	return gpc_store_list(s, DONE, after, note_done, l, err);
}

/* Same job together, the entry that counts first. */
static int by_job(const void *a, const void *b)
{
	const struct gpc_index_entry *x = a, *y = b;
	int c = strcmp(x->job, y->job);

	if (c)
		return c;
	if (x->live != y->live)
		return x->live ? -1 : 1;
	if (x->attempt != y->attempt)
		return x->attempt > y->attempt ? -1 : 1;
	if (x->end_ms != y->end_ms)
		return x->end_ms > y->end_ms ? -1 : 1;
	return x->spent.micros > y->spent.micros ? -1 :
		x->spent.micros < y->spent.micros;
}

static int by_start(const void *a, const void *b)
{
	const struct gpc_index_entry *x = a, *y = b;

	if (x->start_ms != y->start_ms)
		return x->start_ms > y->start_ms ? -1 : 1;
	return strcmp(x->job, y->job);
}

static void keep_best(struct gpc_index *x)
{
	size_t kept = 0;

	if (x->n == 0)
		return;
	qsort(x->v, x->n, sizeof(*x->v), by_job);
	for (size_t i = 0; i < x->n; i++)
		if (i == 0 || strcmp(x->v[i].job, x->v[kept - 1].job) != 0)
			x->v[kept++] = x->v[i];
	x->n = kept;
	qsort(x->v, x->n, sizeof(*x->v), by_start);
}

static int list_all(struct gpc_store *s, int64_t since_ms, bool done,
	struct gpc_index *ret_index, struct gpc_error *err)
{
	struct listing l = { .since = since_ms };
	int r = list_live(s, &l, err);

	if (r == 0 && done)
		r = list_done(s, &l, err);
	gpc_strv_clear(&l.keys);
	if (r < 0) {
		gpc_index_clear(&l.index);
		return gpc_wrap(err, r, "listing the jobs of %s", s->url);
	}
	keep_best(&l.index);
	*ret_index = l.index;
	return 0;
}

int gpc_index_list(struct gpc_store *s, int64_t since_ms,
	struct gpc_index *ret_index, struct gpc_error *err)
{
	return list_all(s, since_ms, true, ret_index, err);
}

int gpc_index_list_live(struct gpc_store *s, struct gpc_index *ret_index,
	struct gpc_error *err)
{
	return list_all(s, 0, false, ret_index, err);
}
