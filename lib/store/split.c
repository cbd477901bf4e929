/* See split.h. What nodes read and write is data: blobs, checkpoints, artifacts, all
 * below an attempt, secrets, and the signs of life of readers and clients. All else is
 * a record. So a node needs the data's store alone, and that is what it is given
 * (gpc_store_of_nodes); the journal's races happen where the journal lives. A list
 * that may hold both is merged in the order of keys: the records of it are kept in
 * memory, the data streams by.
 *
 * Nodes read the journal where the data is, from copies (split_copy.c), which are
 * never looked at here. */
#include "store/split.h"

#include <string.h>

#include "base/buf.h"
#include "base/encode.h"
#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"
#include "store/split_copy.h"
#include "store/words.h"

#define WORD "journal="

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

static bool is_data(const char *key)
{
	const char *p = gpc_split_past_job(key);

	if (gpc_starts_with(key, "blobs/") || gpc_starts_with(key, "secrets/"))
		return true;
	return p && (past_number(p) || gpc_starts_with(p, "checkpoints/") ||
		gpc_starts_with(p, "artifacts/") || gpc_eq(p, "watch") ||
		gpc_eq(p, "tether"));
}

/* Whether a prefix can only be of records. */
static bool is_records(const char *prefix)
{
	static const char *const all[] = {
		"index/", "once/", "probe/", "shared/",
	};
	const char *p = gpc_split_past_job(prefix);

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (gpc_starts_with(prefix, all[i]))
			return true;
	return p && (gpc_starts_with(p, "events/") ||
		gpc_starts_with(p, "queue/"));
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

/* Both as they are to be used now. */
static struct gpc_split_copy copying(struct gpc_store *s)
{
	return (struct gpc_split_copy) { .from = route(s, false),
		.to = route(s, true), .log = s->log };
}

static struct gpc_store *split_of_nodes(struct gpc_store *s)
{
	return route(s, true);
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
	const struct gpc_split_copy c = copying(s);
	int r = gpc_store_put_body(home(s, key), key, body, flags, err);

	if (r == 0)
		gpc_split_try_follow(&c, key);
	return r;
}

static int split_follow(struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	const struct gpc_split_copy c = copying(s);

	return gpc_split_follow(&c, key, err);
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
	int r = gpc_split_is_copied(key) ? gpc_store_del(route(s, true), key, err) : 0;

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

		if (is_data(key) || gpc_split_is_copied(key))
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

/* Where the data is far nobody tells of changes there. */
static void split_wait(struct gpc_store *s, const char *prefix, int timeout_ms)
{
	struct gpc_store *data = route(s, true);
	int half = gpc_store_is_far(data) ? 0 : timeout_ms / 2;
	int64_t end = gpc_boot_ms() + half;

	gpc_store_wait(data, prefix, half);
	if (gpc_boot_ms() >= end)
		gpc_store_wait(route(s, false), prefix, timeout_ms - half);
}

static int split_address(struct gpc_store *s, const char *key, char **ret_url,
	char **ret_region, struct gpc_error *err)
{
	return gpc_store_address(route(s, true), key, ret_url, ret_region, err);
}

/* The records decide what there is. */
static bool split_is_gone(struct gpc_store *s)
{
	struct gpc_store *journal = route(s, false);

	return journal->ops->is_gone && journal->ops->is_gone(journal);
}

static void split_folders(struct gpc_store *s, struct gpc_strv *paths)
{
	gpc_store_folders(of(s)->data, paths);
	gpc_store_folders(of(s)->journal, paths);
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

/* What was to be a copy lies where copies are, under the name of a record. */
static int split_drop(struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	int r = gpc_store_drop(route(s, true), key, err);

	return r < 0 ? r : gpc_store_drop(route(s, false), key, err);
}

/* --- opening ------------------------------------------------------------------ */

bool gpc_store_is_split(const char *url)
{
	size_t n;

	return gpc_store_word(url, WORD, &n) != NULL;
}

static int split_open(struct gpc_store *s, const char *where, unsigned flags,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_store) *data = NULL, *journal = NULL;
	gpc_auto(gpc_buf) struct gpc_buf journal_url = {0};
	gpc_autostr *rest = NULL;
	size_t n = 0;
	const char *value = gpc_store_word(where, WORD, &n);
	int r;

	if (!value || !n)
		return gpc_fail(err, GPC_ECONFIG,
			"store %s: journal= names no store", where);
	r = gpc_percent_decode(value, n, false, &journal_url, err);
	if (r < 0)
		return gpc_wrap(err, r, "store %s: journal=", where);
	/* A supervisor works in another folder than who started it. */
	if (!strstr(gpc_buf_str(&journal_url), "://") &&
		gpc_buf_str(&journal_url)[0] != '/')
		return gpc_fail(err, GPC_ECONFIG, "store %s: the path of a "
			"folder behind journal= begins with a slash", where);
	rest = gpc_store_without_word(where, WORD);
	r = gpc_store_open(gpc_buf_str(&journal_url), flags, s->log, &journal, err);
	if (r == 0)
		r = gpc_store_open(rest, flags, s->log, &data, err);
	if (r < 0)
		return r;
	data->data_only = true;
	/* Whoever asks again and again asks both. */
	s->caps = (journal->caps & (unsigned)GPC_STORE_IF_ABSENT) |
		(journal->caps & data->caps & (unsigned)GPC_STORE_LOCAL);
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
	.of_nodes = split_of_nodes,
	.address = split_address,
	.folders = split_folders,
	.is_gone = split_is_gone,
	.wait = split_wait,
};

int gpc_store_open_split(const char *url, unsigned flags,
	const struct gpc_log *log, struct gpc_store **ret_s,
	struct gpc_error *err)
{
	return gpc_store_open_ops(&split_ops, url, flags, log, ret_s, err);
}
