/* See blob.h. A blob's name is the hash of its bytes: a put of present bytes
 * changes nothing, so being wrong about presence costs time, never data.
 */
#include "snapshot/blob.h"

#include <string.h>

#include "base/crash.h"
#include "base/str.h"
#include "snapshot/snapshot.h"

#define YOUNG_MS ((int64_t)10 * 60 * 1000)

void gpc_blob_key(const char *prefix, const char *sha256, char ret_key[520])
{
	size_t n = strlen(prefix);

	if (n > 450)
		n = 450;        /* such a key is refused by every store */
	memcpy(ret_key, prefix, n);
	memcpy(ret_key + n, sha256, 2);
	ret_key[n + 2] = '/';
	memcpy(ret_key + n + 3, sha256, 65);
}

static int noted(bool room, struct gpc_error *err)
{
	return room ? 0 : gpc_fail_memory(err, "the names of blobs");
}

static int mark(struct gpc_sender *s, const char *hex, struct gpc_error *err)
{
	bool room;

	pthread_mutex_lock(&s->lock);
	room = gpc_map_try_set(&s->have, hex, s);
	pthread_mutex_unlock(&s->lock);
	return noted(room, err);
}

static int sync_later(struct gpc_sender *s, const char *hex,
	struct gpc_error *err)
{
	bool room;

	pthread_mutex_lock(&s->lock);
	room = gpc_strv_try_add(&s->unsynced, hex);
	pthread_mutex_unlock(&s->lock);
	return noted(room, err);
}

static int note_old(struct gpc_sender *s, const char *hex,
	struct gpc_error *err)
{
	bool room;

	pthread_mutex_lock(&s->lock);
	room = gpc_map_try_set(&s->old, hex, s);
	pthread_mutex_unlock(&s->lock);
	return noted(room, err);
}

static int note_renewed(struct gpc_sender *s, const char *hex,
	struct gpc_error *err)
{
	bool room = true;

	pthread_mutex_lock(&s->lock);
	if (gpc_map_has(&s->old, hex))
		room = gpc_strv_try_add(&s->renewed, hex);
	pthread_mutex_unlock(&s->lock);
	return noted(room, err);
}

static int check_renewed(struct gpc_sender *s, struct gpc_error *err)
{
	for (size_t i = 0; i < s->renewed.n; i++) {
		struct gpc_error why = {0};
		char key[520];
		int r;

		gpc_blob_key(s->prefix, s->renewed.v[i], key);
		r = gpc_store_head(s->store, key, NULL, &why);
		if (r == -GPC_ENOTFOUND)
			return gpc_fail(err, GPC_ECONFLICT, "blob %s was swept "
				"at the moment in which it was put again", key);
		if (r < 0 && err)
			*err = why;
		if (r < 0)
			return r;
	}
	return 0;
}

static int mark_base(void *arg, const char *hex, uint64_t size,
	struct gpc_error *err)
{
	(void)size;
	return mark(arg, hex, err);
}

/* A base that is lost or damaged is no base: everything is put again. */
static int read_base(struct gpc_sender *s, const struct gpc_json *base,
	struct gpc_error *err)
{
	struct gpc_error why = {0};
	int r = gpc_snapshot_blobs(s->store, base, s->prefix, mark_base, s,
		&why);

	if (r == -GPC_ENOTFOUND || r == -GPC_EPROTO) {
		gpc_log(s->store->log, GPC_VERBOSE,
			"the snapshot before is not used: %s", why.msg);
		gpc_map_clear(&s->have);
		return 0;
	}
	if (r < 0 && err)
		*err = why;
	return r;
}

int gpc_sender_open(struct gpc_sender *s, struct gpc_store *store,
	const char *prefix, const struct gpc_json *base, struct gpc_error *err)
{
	int r = 0;

	memset(s, 0, sizeof(*s));
	s->store = store;
	s->prefix = prefix;
	s->ask = gpc_eq(prefix, GPC_BLOBS_COMMON);
	pthread_mutex_init(&s->lock, NULL);
	if (base && !s->ask)
		r = read_base(s, base, err);
	if (r < 0)
		gpc_sender_close(s);
	return r;
}

void gpc_sender_close(struct gpc_sender *s)
{
	gpc_map_clear(&s->have);
	gpc_strv_clear(&s->unsynced);
	gpc_map_clear(&s->old);
	gpc_strv_clear(&s->renewed);
	pthread_mutex_destroy(&s->lock);
}

int gpc_sender_has(struct gpc_sender *s, const uint8_t sum[GPC_SHA256_SIZE],
	uint64_t size, bool *ret_has, struct gpc_error *err)
{
	char hex[GPC_SHA256_HEX], key[520];
	struct gpc_object o = {0};
	struct gpc_error why = {0};
	int r;

	gpc_hex(sum, GPC_SHA256_SIZE, hex);
	pthread_mutex_lock(&s->lock);
	*ret_has = gpc_map_has(&s->have, hex);
	pthread_mutex_unlock(&s->lock);
	if (*ret_has || !s->ask)
		return 0;
	gpc_blob_key(s->prefix, hex, key);
	r = gpc_store_head(s->store, key, &o, &why);
	if (r == -GPC_ENOTFOUND)
		return 0;
	if (r < 0) {
		if (err)
			*err = why;
		return gpc_wrap(err, r, "blob %s", key);
	}
	*ret_has = o.size == size && o.modified_ms > 0
		&& o.now_ms - o.modified_ms < GPC_BLOB_FRESH_MS;
	r = *ret_has ? mark(s, hex, err) : note_old(s, hex, err);
	/* Whoever put it just now may not have come to its sync. */
	if (r == 0 && *ret_has && o.now_ms - o.modified_ms < YOUNG_MS)
		r = sync_later(s, hex, err);
	return r;
}

int gpc_sender_put(struct gpc_sender *s, const uint8_t sum[GPC_SHA256_SIZE],
	const struct gpc_body *body, struct gpc_error *err)
{
	char hex[GPC_SHA256_HEX], key[520];
	bool has;
	int r = gpc_sender_has(s, sum, body->size, &has, err);

	if (r < 0 || has)
		return r;
	gpc_hex(sum, GPC_SHA256_SIZE, hex);
	gpc_blob_key(s->prefix, hex, key);
	r = gpc_store_put_body(s->store, key, body, GPC_PUT_UNSYNCED, err);
	GPC_CRASH("snapshot.blob_put");
	if (r < 0)
		return gpc_wrap(err, r, "save blob %s", key);
	r = mark(s, hex, err);
	if (r == 0)
		r = note_renewed(s, hex, err);
	if (r == 0)
		r = sync_later(s, hex, err);
	atomic_fetch_add(&s->sent_blobs, 1);
	atomic_fetch_add(&s->sent_bytes, body->size);
	return r;
}

int gpc_sender_sync(struct gpc_sender *s, struct gpc_error *err)
{
	int r = check_renewed(s, err);

	for (size_t i = 0; r == 0 && i < s->unsynced.n; i++) {
		char key[520];

		gpc_blob_key(s->prefix, s->unsynced.v[i], key);
		r = gpc_store_sync(s->store, key, err);
		GPC_CRASH("snapshot.blob_synced");
	}
	if (r == 0)
		gpc_strv_clear(&s->unsynced);
	return gpc_wrap(err, r, "save blobs");
}

int gpc_blob_get(struct gpc_store *store, const char *prefix,
	const uint8_t sum[GPC_SHA256_SIZE], uint64_t size,
	struct gpc_spool *spool, struct gpc_error *err)
{
	char hex[GPC_SHA256_HEX], key[520];
	uint8_t got[GPC_SHA256_SIZE];
	int r;

	gpc_hex(sum, GPC_SHA256_SIZE, hex);
	gpc_blob_key(prefix, hex, key);
	gpc_spool_reset(spool, size);
	r = gpc_store_get_range(store, key, 0, -1, gpc_spool_add, spool, NULL,
		err);
	if (r == -GPC_ENOTFOUND)
		return gpc_fail(err, GPC_ENOTFOUND, "blob %s is missing", key);
	if (r < 0)
		return gpc_wrap(err, r, "blob %s", key);
	gpc_spool_end(spool, got);
	if (spool->size != size || memcmp(got, sum, sizeof(got)) != 0) {
		r = gpc_fail(err, GPC_EPROTO,
			"blob %s is damaged: its bytes do not match its name",
			key);
		gpc_hint(err, "the store has lost or changed bytes: delete that "
			"object, then save (submit) the same files again");
		return r;
	}
	gpc_spool_rewind(spool);
	return 0;
}
