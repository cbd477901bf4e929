/* The registry of stores and the checks that every backend is spared: keys are
 * checked here, optional operations get their default here, and an error that
 * leaves here names the store. A backend sees only well-formed calls. */
#include "store/store.h"

#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "store/split.h"
#include "store/stores.inc"

#define X(name) extern const struct gpc_store_ops gpc_store_##name;
GPC_STORES
#undef X

#define X(name) &gpc_store_##name,
static const struct gpc_store_ops *const all_ops[] = { GPC_STORES };
#undef X
#define X(name) #name,
static const char *const all_schemes[] = { GPC_STORES };
#undef X
enum { N_STORES = sizeof(all_ops) / sizeof(all_ops[0]) };

#define KEY_MAX 512
#define PART_MAX 255

const char *const *gpc_store_schemes(size_t *ret_n)
{
	*ret_n = N_STORES;
	return all_schemes;
}

/* "s3:bucket": the scheme of a store, and no slashes. */
static const char *scheme_alone(const char *url)
{
	size_t n = strcspn(url, ":");
	struct gpc_str scheme = { url, n };

	for (size_t i = 0; i < N_STORES; i++)
		if (url[n] && !gpc_starts_with(url + n, "://") &&
			gpc_str_eq(scheme, all_schemes[i]))
			return all_schemes[i];
	return NULL;
}

bool gpc_store_lacks_slashes(const char *url)
{
	return scheme_alone(url);
}

const struct gpc_store_ops *gpc_store_find(const char *url)
{
	const char *colon = strstr(url, "://");
	struct gpc_str scheme = { url, colon ? (size_t)(colon - url) : 0 };

	for (size_t i = 0; colon && i < N_STORES; i++)
		if (gpc_str_eq(scheme, all_schemes[i]))
			return all_ops[i];
	return colon || scheme_alone(url) ? NULL : &gpc_store_file;
}

const char *const *gpc_store_identity(const char *url)
{
	const struct gpc_store_ops *ops = gpc_store_find(url);

	return ops ? ops->identity : NULL;
}

static bool part_ok(const char *part, size_t n)
{
	if (n == 0 || n > PART_MAX)
		return false;
	if (part[0] == '.' && (n == 1 || (n == 2 && part[1] == '.')))
		return false;
	return !(n >= 5 && memcmp(part, ".tmp-", 5) == 0);
}

/* A prefix may end inside a part, or be empty; a key may not. */
static bool path_ok(const char *key, bool prefix)
{
	const char *part = key;
	const char *p = key;

	for (; *p; p++) {
		if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
			return false;
		if (*p != '/')
			continue;
		if (!part_ok(part, (size_t)(p - part)))
			return false;
		part = p + 1;
	}
	if (p - key > KEY_MAX)
		return false;
	return prefix || part_ok(part, (size_t)(p - part));
}

bool gpc_store_key_ok(const char *key)
{
	return key && path_ok(key, false);
}

static int fail_lost(const struct gpc_store *s, struct gpc_error *err)
{
	return gpc_fail(err, GPC_ENOTFOUND, "the store %s is lost", s->url);
}

static int check_key(const struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	gpc_autostr *shown = NULL;

	if (atomic_load(&s->lost))
		return fail_lost(s, err);
	if (gpc_store_key_ok(key))
		return 0;
	shown = gpc_str_printable(key ? key : "", key ? strlen(key) : 0);
	return gpc_fail(err, GPC_EPROTO, "%s: \"%.100s\" is not a valid key",
		s->url, shown);
}

static int unknown_scheme(const char *url, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv known = {0};
	const char *alone = scheme_alone(url);
	gpc_autostr *words = NULL;
	size_t i;
	int r;

	if (alone) {
		r = gpc_fail(err, GPC_ECONFIG, "store %s: // is missing after %s:",
			url, alone);
		gpc_hint(err, "write %s://...; a folder of such a name is ./%s",
			alone, url);
		return r;
	}
	for (i = 0; i < N_STORES; i++)
		gpc_strv_addf(&known, "%s://", all_schemes[i]);
	words = gpc_strv_join(&known, ", ");
	r = gpc_fail(err, GPC_ECONFIG, "store %s: unknown scheme", url);
	gpc_hint(err, "known stores: %s, or a bare path of a folder", words);
	return r;
}

/* What stands before the first slash of a URL is a host, not a folder here. */
static int fail_host(const char *where, struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_ECONFIG, "store file://%s: the path of a "
		"file:// URL begins with a slash", where);

	gpc_hint(err, "write file:///PATH, or a bare path: --store %s", where);
	return r;
}

int gpc_store_open_ops(const struct gpc_store_ops *ops, const char *where,
	unsigned flags, const struct gpc_log *log, struct gpc_store **ret_s,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_store) *s = gpc_alloc(sizeof(*s));
	int r;

	s->log = log;
	s->url = gpc_format("%s://%s", ops->scheme, where);
	s->state = gpc_alloc(ops->state_size ? ops->state_size : 1);
	r = ops->open(s, where, flags, err);
	if (r < 0)
		return r;
	s->ops = ops;
	*ret_s = gpc_steal(&s);
	return 0;
}

int gpc_store_open(const char *url, unsigned flags, const struct gpc_log *log,
	struct gpc_store **ret_s, struct gpc_error *err)
{
	const struct gpc_store_ops *ops = gpc_store_find(url);
	const char *colon = strstr(url, "://");
	gpc_autostr *path = NULL;
	int r;

	if (!ops)
		return unknown_scheme(url, err);
	if (gpc_store_is_split(url))
		return gpc_store_open_split(url, flags, log, ret_s, err);
	if (colon)
		url = colon + 3;
	if (ops != &gpc_store_file)
		return gpc_store_open_ops(ops, url, flags, log, ret_s, err);
	if (!*url)
		return gpc_fail(err, GPC_ECONFIG, "store: the URL names no folder");
	if (colon && *url != '/')
		return fail_host(url, err);
	r = gpc_path_absolute(url, &path, err);
	if (r < 0)
		return gpc_wrap(err, r, "store %s", url);
	return gpc_store_open_ops(&gpc_store_file, path, flags, log, ret_s,
		err);
}

void gpc_store_free(struct gpc_store *s)
{
	if (!s)
		return;
	if (s->ops && s->ops->close)
		s->ops->close(s);
	free(s->state);
	free(s->url);
	free(s);
}

struct buf_sink { struct gpc_buf *b; size_t left; const char *key; };

static int sink_to_buf(void *arg, const void *data, size_t n,
	struct gpc_error *err)
{
	struct buf_sink *sink = arg;

	if (n > sink->left)
		return gpc_fail(err, GPC_EPROTO,
			"%s is larger than it may be", sink->key);
	sink->left -= n;
	return gpc_buf_try_add(sink->b, data, n, err);
}

int gpc_store_get(struct gpc_store *s, const char *key, size_t max_bytes,
	struct gpc_buf *b, struct gpc_error *err)
{
	struct buf_sink sink = { b, max_bytes, key };

	return gpc_store_get_range(s, key, 0, -1, sink_to_buf, &sink, NULL,
		err);
}

int gpc_store_get_range(struct gpc_store *s, const char *key, int64_t offset,
	int64_t length, gpc_sink_fn *sink, void *arg, struct gpc_object *ret_o,
	struct gpc_error *err)
{
	struct gpc_object o = {0};
	int r = check_key(s, key, err);

	if (r < 0)
		return r;
	r = s->ops->get(s, key, offset < 0 ? 0 : offset, length, sink, arg,
		&o, err);
	if (r == 0 && ret_o)
		*ret_o = o;
	return r;
}

int gpc_store_put(struct gpc_store *s, const char *key, const void *data,
	size_t n, unsigned flags, struct gpc_error *err)
{
	struct gpc_body body = { .data = data ? data : "", .fd = -1, .size = n };

	return gpc_store_put_body(s, key, &body, flags, err);
}

/* In place of what the service does not know. */
static int look_before(struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	struct gpc_error why = {0};
	int r = gpc_store_head(s, key, NULL, &why);

	if (r == 0)
		return gpc_fail(err, GPC_ECONFLICT, "%s/%s exists already",
			s->url, key);
	if (r == -GPC_ENOTFOUND)
		return 0;
	if (err)
		*err = why;
	return r;
}

int gpc_store_put_body(struct gpc_store *s, const char *key,
	const struct gpc_body *body, unsigned flags, struct gpc_error *err)
{
	int r = check_key(s, key, err);

	if (r == 0 && s->data_only && flags & GPC_PUT_IF_ABSENT) {
		flags &= ~(unsigned)GPC_PUT_IF_ABSENT;
		r = look_before(s, key, err);
	}
	return r < 0 ? r : s->ops->put(s, key, body, flags, err);
}

int gpc_store_head(struct gpc_store *s, const char *key,
	struct gpc_object *ret_o, struct gpc_error *err)
{
	struct gpc_object o = {0};
	int r = check_key(s, key, err);

	if (r == 0)
		r = s->ops->head(s, key, &o, err);
	if (r == 0 && ret_o)
		*ret_o = o;
	return r;
}

struct listing { gpc_list_fn *fn; void *arg; bool no_memory; };

static int list_one(void *arg, const struct gpc_object *o)
{
	struct listing *l = arg;
	int r = l->fn(l->arg, o);

	l->no_memory = r == GPC_LIST_NO_MEMORY;
	return r;
}

int gpc_store_list(struct gpc_store *s, const char *prefix, const char *after,
	gpc_list_fn *fn, void *arg, struct gpc_error *err)
{
	struct listing l = { .fn = fn, .arg = arg };
	int r;

	if (atomic_load(&s->lost))
		return fail_lost(s, err);
	if (!prefix)
		prefix = "";
	if (!path_ok(prefix, true))
		return gpc_fail(err, GPC_EPROTO,
			"%s: not a valid prefix of keys", s->url);
	if (after && !*after)
		after = NULL;
	r = s->ops->list(s, prefix, after, list_one, &l, err);
	if (r == 0 && l.no_memory)
		r = gpc_wrap(err, gpc_fail_memory(err, "the list of objects"),
			"%s/%s", s->url, prefix);
	return r;
}

int gpc_store_del(struct gpc_store *s, const char *key, struct gpc_error *err)
{
	int r = check_key(s, key, err);

	return r < 0 ? r : s->ops->del(s, key, err);
}

int gpc_store_del_next(struct gpc_store *s, const struct gpc_strv *keys, size_t *at,
	struct gpc_error *err)
{
	size_t left = keys->n - *at;
	const struct gpc_strv batch = { .v = keys->v + *at,
		.n = !s->ops->del_many ? 1 : left < GPC_STORE_BATCH ? left :
			GPC_STORE_BATCH };
	int r = 0;

	for (size_t i = 0; r == 0 && i < batch.n; i++)
		r = check_key(s, batch.v[i], err);
	if (r == 0)
		r = batch.n > 1 ? s->ops->del_many(s, &batch, err) :
			s->ops->del(s, batch.v[0], err);
	if (r == 0)
		*at += batch.n;
	return r;
}

int gpc_store_unfinished(struct gpc_store *s, const char *prefix,
	gpc_list_fn *fn, void *arg, struct gpc_error *err)
{
	struct listing l = { .fn = fn, .arg = arg };
	int r;

	if (!s->ops->unfinished)
		return 0;
	if (!path_ok(prefix, true))
		return gpc_fail(err, GPC_EPROTO,
			"%s: not a valid prefix of keys", s->url);
	r = s->ops->unfinished(s, prefix, list_one, &l, err);
	if (r == 0 && l.no_memory)
		r = gpc_wrap(err, gpc_fail_memory(err, "the list of temporary "
			"files"), "%s/%s", s->url, prefix);
	return r;
}

int gpc_store_drop(struct gpc_store *s, const char *key, struct gpc_error *err)
{
	const char *slash = strrchr(key, '/');
	const char *name = slash ? slash + 1 : key;
	gpc_autostr *folder = gpc_strndup(key, (size_t)(name - key));

	if (!gpc_starts_with(name, GPC_STORE_TEMP) || !path_ok(folder, true))
		return gpc_fail(err, GPC_EPROTO, "%s: not an unfinished object",
			s->url);
	return s->ops->drop ? s->ops->drop(s, key, err) : 0;
}

int gpc_store_sync(struct gpc_store *s, const char *key, struct gpc_error *err)
{
	int r = check_key(s, key, err);

	return r < 0 || !s->ops->sync ? r : s->ops->sync(s, key, err);
}

int gpc_store_follow(struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	int r = check_key(s, key, err);

	return r < 0 || !s->ops->follow ? r : s->ops->follow(s, key, err);
}

int gpc_store_append(struct gpc_store *s, const char *key, uint64_t offset,
	const void *data, size_t n, bool sync, struct gpc_error *err)
{
	int r = check_key(s, key, err);

	if (r < 0)
		return r;
	if (!s->ops->append)
		return gpc_fail(err, GPC_EUNSUPPORTED,
			"%s cannot append to objects", s->url);
	return s->ops->append(s, key, offset, data, n, sync, err);
}

struct gpc_store *gpc_store_of_nodes(struct gpc_store *s)
{
	return s->ops->of_nodes ? s->ops->of_nodes(s) : s;
}

void gpc_store_folders(struct gpc_store *s, struct gpc_strv *paths)
{
	if (s->ops->folders)
		s->ops->folders(s, paths);
}

int gpc_store_address(struct gpc_store *s, const char *key, char **ret_url,
	char **ret_region, struct gpc_error *err)
{
	int r;

	if (!gpc_store_key_ok(key))
		return gpc_fail(err, GPC_EPROTO, "bad key \"%s\"", key);
	if (s->ops->address)
		return s->ops->address(s, key, ret_url, ret_region, err);
	r = gpc_fail(err, GPC_EUNSUPPORTED, "%s is not reached from another machine",
		s->url);
	gpc_hint(err, "a job on a machine of a cloud needs a store in a bucket: "
		"--store s3://BUCKET/PREFIX");
	return r;
}

void gpc_store_wait(struct gpc_store *s, const char *prefix, int timeout_ms)
{
	if (timeout_ms <= 0)
		return;
	if (s->ops->wait && path_ok(prefix, true))
		s->ops->wait(s, prefix, timeout_ms);
	else
		gpc_sleep_ms(timeout_ms);
}
