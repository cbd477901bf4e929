/* See split.h. Blobs, checkpoints, artifacts and streams are data; all else is a
 * record. So the journal's races, and what is put and read every few seconds, happen
 * where the journal lives. A list that may hold both is merged in the order of keys:
 * the records of it are kept in memory, the data streams by.
 *
 * Nodes that reach only the data's store read the journal there: each event that has
 * won, and job.json before the first, is copied to it by a plain put, which may be
 * repeated. The journal decides; a copy is never looked at here, lags behind when
 * somebody dies in between, and is made up for by whoever appends next and by the
 * supervisor (gpc_store_follow), in order, so that its reader meets no gap.
 *
 * Data is created by one writer alone, so that looking before a put is as good as
 * an if-absent that the service does not know. */
#include "store/split.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/encode.h"
#include "base/str.h"
#include "base/vec.h"

#define WORD "journal="
#define COPY_MAX ((size_t)16 << 20)         /* as journals have events */

struct split { struct gpc_store *data, *journal; };

static struct split *of(struct gpc_store *s)
{
	return s->state;
}

/* --- which ---------------------------------------------------------------- */

/* Behind "N/", or NULL. */
static const char *past_number(const char *p)
{
	size_t n = strspn(p, "0123456789");

	return n && p[n] == '/' ? p + n + 1 : NULL;
}

static const char *past_job(const char *key)
{
	const char *p = gpc_starts_with(key, "jobs/") ?
		strchr(key + strlen("jobs/"), '/') : NULL;

	return p ? p + 1 : NULL;
}

static bool is_data(const char *key)
{
	static const char *const streams[] = {
		"log/", "marks/", "metrics/", "agent/",
	};
	const char *p;

	if (gpc_starts_with(key, "blobs/"))
		return true;
	p = past_job(key);
	if (!p)
		return false;
	if (gpc_starts_with(p, "checkpoints/") || gpc_starts_with(p,
		"artifacts/"))
		return true;
	p = past_number(p);
	if (p && gpc_starts_with(p, "blobs/"))
		return true;
	p = p ? past_number(p) : NULL;
	for (size_t i = 0; p && i < sizeof(streams) / sizeof(*streams); i++)
		if (gpc_starts_with(p, streams[i]))
			return true;
	return false;
}

/* Whether a prefix can only be of records. */
static bool is_records(const char *prefix)
{
	static const char *const all[] = {
		"index/", "once/", "secrets/", "probe/", "shared/",
	};
	const char *p = past_job(prefix);

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (gpc_starts_with(prefix, all[i]))
			return true;
	return p && (gpc_starts_with(p, "events/") ||
		gpc_starts_with(p, "queue/"));
}

/* The number behind the last "/" of an event's key, or 0. */
static int64_t event_number(const char *key)
{
	const char *p = past_job(key);
	int64_t n = 0;

	if (!p || !gpc_starts_with(p, "events/"))
		return 0;
	p += strlen("events/");
	for (size_t i = 0; p[i] >= '0' && p[i] <= '9'; i++) {
		if (i == 12)
			return 0;
		n = n * 10 + (p[i] - '0');
		if (gpc_eq(p + i + 1, ".json"))
			return n;
	}
	return 0;
}

static bool is_copied(const char *key)
{
	const char *p = past_job(key);

	return event_number(key) > 0 || (p && gpc_eq(p, "job.json"));
}

/* This is set after the store was opened, before its first use. */
static struct gpc_store *route(struct gpc_store *s, bool data)
{
	struct gpc_store *to = data ? of(s)->data : of(s)->journal;

	if (to->cancel != s->cancel)
		to->cancel = s->cancel;
	if (to->ca_file != s->ca_file)
		to->ca_file = s->ca_file;
	return to;
}

static struct gpc_store *home(struct gpc_store *s, const char *key)
{
	return route(s, is_data(key));
}

/* --- copies ------------------------------------------------------------------- */

/* As the journal has it. */
static int copy(struct gpc_store *s, const char *key, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int r = gpc_store_get(route(s, false), key, COPY_MAX, &b, err);

	return r < 0 ? r : gpc_store_put(route(s, true), key, gpc_buf_str(&b),
		b.len, 0, err);
}

/* That of event n beside the one of another number. */
static void event_key(struct gpc_buf *b, const char *key, int64_t n)
{
	gpc_autostr *text = gpc_format("%.*s%08" PRId64 ".json",
		(int)(strrchr(key, '/') + 1 - key), key, n);

	gpc_buf_reset(b);
	gpc_buf_adds(b, text);
}

/* The newest event up to n that has its copy; 0 = none. */
static int find_copied(struct gpc_store *s, const char *key, int64_t *n,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf at = {0};
	int r = -GPC_ENOTFOUND;

	for (; *n > 0; --*n) {
		event_key(&at, key, *n);
		r = gpc_store_head(route(s, true), gpc_buf_str(&at), NULL, err);
		if (r != -GPC_ENOTFOUND)
			return r;
	}
	return 0;
}

static int copy_job(struct gpc_store *s, const char *key, struct gpc_error *err)
{
	gpc_autostr *job = gpc_format("%.*sjob.json",
		(int)(strstr(key, "/events/") + 1 - key), key);
	int r = copy(s, job, err);

	return r == -GPC_ENOTFOUND ? 0 : r;     /* a journal before its job */
}

/* n: whose copy may be there. */
static int follow_from(struct gpc_store *s, const char *key, int64_t n,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf at = {0};
	int64_t last = event_number(key);
	int r = find_copied(s, key, &n, err);

	if (r == 0 && n == 0)
		r = copy_job(s, key, err);
	while (r == 0 && n < last) {
		event_key(&at, key, ++n);
		r = copy(s, gpc_buf_str(&at), err);
		/* Of a job that is being removed. */
		if (r == -GPC_ENOTFOUND)
			return 0;
	}
	return r;
}

static int split_follow(struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	int64_t n = event_number(key);

	return n ? follow_from(s, key, n, err) : 0;
}

/* What is recorded is recorded, whatever becomes of the copy. */
static void try_follow(struct gpc_store *s, const char *key)
{
	int64_t n = event_number(key);
	struct gpc_error why = {0};

	/* Its own is not looked for: it has just won. */
	if (n && follow_from(s, key, n - 1, &why) < 0)
		gpc_log(s->log, GPC_VERBOSE, "%s has no copy yet: %s", key,
			why.msg);
}

/* --- operations ------------------------------------------------------------- */

static int split_get(struct gpc_store *s, const char *key, int64_t offset,
	int64_t length, gpc_sink_fn *sink, void *arg, struct gpc_object *ret_o,
	struct gpc_error *err)
{
	return gpc_store_get_range(home(s, key), key, offset, length, sink, arg,
		ret_o, err);
}

static int split_put(struct gpc_store *s, const char *key,
	const struct gpc_body *body, unsigned flags, struct gpc_error *err)
{
	struct gpc_store *to = home(s, key);
	int r;

	if (to == of(s)->data && flags & GPC_PUT_IF_ABSENT) {
		flags &= ~(unsigned)GPC_PUT_IF_ABSENT;
		r = gpc_store_head(to, key, NULL, err);
		if (r == 0)
			return gpc_fail(err, GPC_ECONFLICT, "%s/%s exists",
				to->url, key);
		if (r != -GPC_ENOTFOUND)
			return r;
	}
	r = gpc_store_put_body(to, key, body, flags, err);
	if (r == 0)
		try_follow(s, key);
	return r;
}

static int split_head(struct gpc_store *s, const char *key,
	struct gpc_object *ret_o, struct gpc_error *err)
{
	return gpc_store_head(home(s, key), key, ret_o, err);
}

static int split_del(struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	/* The copy first: what is left of the record says that it is to go. */
	int r = is_copied(key) ? gpc_store_del(route(s, true), key, err) : 0;

	return r < 0 ? r : gpc_store_del(home(s, key), key, err);
}

static int delete_all(struct gpc_store *s, const struct gpc_strv *keys,
	struct gpc_error *err)
{
	int r = 0;

	for (size_t at = 0; r == 0 && at < keys->n;)
		r = gpc_store_del_next(s, keys, &at, err);
	return r;
}

/* The keys of each store, and the copies first as above. */
static int split_del_many(struct gpc_store *s, const struct gpc_strv *keys,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv data = {0}, records = {0};
	int r;

	for (size_t i = 0; i < keys->n; i++) {
		const char *key = keys->v[i];

		if (is_data(key) || is_copied(key))
			gpc_strv_add(&data, key);
		if (!is_data(key))
			gpc_strv_add(&records, key);
	}
	r = delete_all(route(s, true), &data, err);
	return r < 0 ? r : delete_all(route(s, false), &records, err);
}

static int split_sync(struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	return gpc_store_sync(home(s, key), key, err);
}

static void split_wait(struct gpc_store *s, const char *prefix, int timeout_ms)
{
	gpc_store_wait(route(s, false), prefix, timeout_ms);
}

/* --- lists -------------------------------------------------------------------- */

struct merge {
	GPC_VEC(struct gpc_object) records;
	size_t at;
	gpc_list_fn *fn;
	void *arg;
	bool ended;
};

static int collect(void *arg, const struct gpc_object *o)
{
	struct merge *m = arg;

	*gpc_vec_push(&m->records) = *o;
	return 0;
}

/* key NULL: all that is left. */
static void give_records(struct merge *m, const char *key)
{
	while (!m->ended && m->at < m->records.n &&
		(!key || strcmp(m->records.v[m->at].key, key) < 0))
		m->ended = m->fn(m->arg, &m->records.v[m->at++]) != 0;
}

static int give_data(void *arg, const struct gpc_object *o)
{
	struct merge *m = arg;

	if (!is_data(o->key))           /* a copy */
		return 0;
	give_records(m, o->key);
	if (!m->ended)
		m->ended = m->fn(m->arg, o) != 0;
	return m->ended;
}

static int split_list(struct gpc_store *s, const char *prefix,
	const char *after, gpc_list_fn *fn, void *arg, struct gpc_error *err)
{
	struct merge m = { .fn = fn, .arg = arg };
	int r;

	if (is_data(prefix) || is_records(prefix))
		return gpc_store_list(home(s, prefix), prefix, after, fn, arg,
			err);
	r = gpc_store_list(route(s, false), prefix, after, collect, &m, err);
	if (r == 0)
		r = gpc_store_list(route(s, true), prefix, after, give_data, &m,
			err);
	if (r == 0)
		give_records(&m, NULL);
	gpc_vec_free(&m.records);
	return r;
}

/* In no order. */
static int split_unfinished(struct gpc_store *s, const char *prefix,
	gpc_list_fn *fn, void *arg, struct gpc_error *err)
{
	int r = gpc_store_unfinished(route(s, false), prefix, fn, arg, err);

	return r < 0 ? r : gpc_store_unfinished(route(s, true), prefix, fn, arg,
		err);
}

static int split_drop(struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	return gpc_store_drop(home(s, key), key, err);
}

/* --- opening ------------------------------------------------------------------ */

/* Where the word's value begins, and how long it is; NULL when it is not there. */
static const char *find_word(const char *url, size_t *ret_n)
{
	const char *p = strchr(url, '?');

	while (p) {
		p++;
		if (gpc_starts_with(p, WORD)) {
			p += strlen(WORD);
			*ret_n = strcspn(p, "&");
			return p;
		}
		p = strchr(p, '&');
	}
	return NULL;
}

bool gpc_store_is_split(const char *url)
{
	size_t n;

	return find_word(url, &n) != NULL;
}

/* The URL without the word. Owned. */
static char *data_url(const char *url, const char *value, size_t n)
{
	size_t head = (size_t)(value - url) - strlen(WORD) - 1;
	const char *rest = value[n] ? value + n + 1 : "";

	return *rest ? gpc_format("%.*s%c%s", (int)head, url, url[head], rest) :
		gpc_strndup(url, head);
}

static int split_open(struct gpc_store *s, const char *where, unsigned flags,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_store) *data = NULL, *journal = NULL;
	gpc_auto(gpc_buf) struct gpc_buf journal_url = {0};
	gpc_autostr *rest = NULL;
	size_t n = 0;
	const char *value = find_word(where, &n);
	int r;

	if (!value || !n)
		return gpc_fail(err, GPC_ECONFIG,
			"store %s: journal= names no store", where);
	r = gpc_percent_decode(value, n, false, &journal_url, err);
	if (r < 0)
		return gpc_wrap(err, r, "store %s: journal=", where);
	rest = data_url(where, value, n);
	r = gpc_store_open(gpc_buf_str(&journal_url), flags, s->log, &journal, err);
	if (r == 0)
		r = gpc_store_open(rest, flags, s->log, &data, err);
	if (r < 0)
		return r;
	/* As far as whoever asks again and again is concerned, it is where the
	 * journal is; streams are put as the data's store wants it. */
	s->caps = journal->caps &
		(unsigned)(GPC_STORE_IF_ABSENT | GPC_STORE_LOCAL);
	of(s)->data = gpc_steal(&data);
	of(s)->journal = gpc_steal(&journal);
	gpc_set_str(&s->url, where);
	return 0;
}

static void split_close(struct gpc_store *s)
{
	gpc_store_free(of(s)->data);
	gpc_store_free(of(s)->journal);
}

static const struct gpc_store_ops split_ops = {
	.scheme = "split",
	.state_size = sizeof(struct split),
	.open = split_open,
	.close = split_close,
	.get = split_get,
	.put = split_put,
	.head = split_head,
	.list = split_list,
	.del = split_del,
	.del_many = split_del_many,
	.sync = split_sync,
	.unfinished = split_unfinished,
	.drop = split_drop,
	.follow = split_follow,
	.wait = split_wait,
};

int gpc_store_open_split(const char *url, unsigned flags,
	const struct gpc_log *log, struct gpc_store **ret_s,
	struct gpc_error *err)
{
	return gpc_store_open_ops(&split_ops, url, flags, log, ret_s, err);
}
