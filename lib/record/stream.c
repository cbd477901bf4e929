/* Streams: bytes in order, in objects named by their offset.
 *
 * The writer keeps everything that is not yet durable, so a failing store costs
 * time and never a byte. What is sent after an unclear answer is the same bytes
 * under the same key again; where objects grow, the size of the object says how
 * much of them arrived. */
#include "record/stream.h"

#include <stdio.h>
#include <string.h>

#include "base/crash.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"

#define OBJECT_MAX ((size_t)4 << 20)
#define PENDING_MAX ((size_t)64 << 20)
#define GATHER_MS 50
#define SYNC_MS 1000
#define RETRY_MS 1000

struct gpc_stream_writer {
	struct gpc_store *store;
	char *folder;
	int64_t interval_ms;
	bool append, checked;
	struct gpc_buf pending;         /* taken, not yet in the store */
	uint64_t sent;                  /* bytes in the store */
	uint64_t acked;
	gpc_key key;                    /* the object being written; "" = none */
	uint64_t start;                 /* its offset */
	size_t in_flight;               /* bytes of a put whose answer is unclear */
	bool unclear;                   /* append: the object's size is unknown */
	int64_t sent_ms, synced_ms;     /* last append or put, last sync */
};

struct gpc_stream_writer *gpc_stream_writer_new(struct gpc_store *s,
	const char *folder, int64_t interval_ms)
{
	struct gpc_stream_writer *w = gpc_alloc(sizeof(*w));

	w->store = s;
	w->folder = gpc_strdup(folder);
	w->interval_ms = interval_ms;
	w->append = (s->caps & GPC_STORE_APPEND) != 0;
	gpc_buf_init(&w->pending, PENDING_MAX + 1);
	return w;
}

void gpc_stream_writer_free(struct gpc_stream_writer *w)
{
	if (!w)
		return;
	gpc_buf_clear(&w->pending);
	free(w->folder);
	free(w);
}

void gpc_stream_trust_new(struct gpc_stream_writer *w)
{
	w->checked = true;
}

void gpc_stream_set_interval(struct gpc_stream_writer *w, int64_t interval_ms)
{
	w->interval_ms = interval_ms;
}

uint64_t gpc_stream_offset(const struct gpc_stream_writer *w)
{
	return w->sent + w->pending.len;
}

size_t gpc_stream_pending(const struct gpc_stream_writer *w)
{
	return w->pending.len;
}

uint64_t gpc_stream_acked(const struct gpc_stream_writer *w)
{
	return w->acked;
}

int gpc_stream_write(struct gpc_stream_writer *w, const void *data, size_t n,
	struct gpc_error *err)
{
	if (n > PENDING_MAX || w->pending.len > PENDING_MAX - n)
		return gpc_fail(err, GPC_ERATE, "%s%s takes no more until the "
			"store takes what waits", w->store->url, w->folder);
	return gpc_buf_try_add(&w->pending, data, n, err);
}

/* --- sending ----------------------------------------------------------- */

static int count_any(void *arg, const struct gpc_object *o)
{
	(void)o;
	*(bool *)arg = true;
	return 1;
}

/* One writer, one attempt: what is there already is somebody else's. */
static int check_new(struct gpc_stream_writer *w, struct gpc_error *err)
{
	bool any = false;
	int r;

	if (w->checked)
		return 0;
	r = gpc_store_list(w->store, w->folder, NULL, count_any, &any, err);
	if (r < 0)
		return r;
	if (any)
		return gpc_fail(err, GPC_ECONFLICT, "%s/%s has a writer already",
			w->store->url, w->folder);
	w->checked = true;
	return 0;
}

static void begin_object(struct gpc_stream_writer *w)
{
	w->start = w->sent;
	snprintf(w->key, sizeof(w->key), "%s%016llx-%lld", w->folder,
		(unsigned long long)w->start, (long long)gpc_wall_ms());
}

/* n bytes at the front of pending are in the store. */
static void advance(struct gpc_stream_writer *w, size_t n)
{
	w->sent += n;
	gpc_buf_drop(&w->pending, n);
}

/* After an unclear append: the object's size says what arrived. */
static int learn_size(struct gpc_stream_writer *w, struct gpc_error *err)
{
	struct gpc_object o = {0};
	uint64_t have;
	int r;

	if (!w->unclear)
		return 0;
	r = gpc_store_head(w->store, w->key, &o, err);
	if (r < 0 && r != -GPC_ENOTFOUND)
		return r;
	have = w->start + (r == 0 ? o.size : 0);
	if (have < w->sent || have - w->sent > w->pending.len)
		return gpc_fail(err, GPC_EPROTO,
			"%s/%s was changed by somebody else", w->store->url,
			w->key);
	advance(w, (size_t)(have - w->sent));
	w->unclear = false;
	return 0;
}

static int append_some(struct gpc_stream_writer *w, bool sync,
	struct gpc_error *err)
{
	size_t room, n;
	int r;

	if (!*w->key)
		begin_object(w);
	r = learn_size(w, err);
	if (r < 0)
		return r;
	room = OBJECT_MAX - (size_t)(w->sent - w->start);
	n = w->pending.len < room ? w->pending.len : room;
	/* A full object is made durable before the next one begins. */
	sync = sync || n == room;
	r = gpc_store_append(w->store, w->key, w->sent - w->start,
		w->pending.data, n, sync, err);
	if (r < 0) {
		w->unclear = true;
		return r;
	}
	advance(w, n);
	GPC_CRASH("stream.appended");
	if (sync)
		w->acked = w->sent;
	if (n == room)
		w->key[0] = '\0';
	return 0;
}

static int put_some(struct gpc_stream_writer *w, struct gpc_error *err)
{
	int r;

	/* A repeat sends the same bytes under the same key. */
	if (!w->in_flight) {
		begin_object(w);
		w->in_flight = w->pending.len < OBJECT_MAX ? w->pending.len :
			OBJECT_MAX;
	}
	r = gpc_store_put(w->store, w->key, w->pending.data, w->in_flight, 0,
		err);
	if (r < 0)
		return r;
	advance(w, w->in_flight);
	w->in_flight = 0;
	w->acked = w->sent;
	return 0;
}

/* Sends while at least `least` bytes wait. */
static int send(struct gpc_stream_writer *w, size_t least, bool sync,
	struct gpc_error *err)
{
	int r = check_new(w, err);

	while (r == 0 && w->pending.len >= least && w->pending.len > 0)
		r = w->append ? append_some(w, false, err) : put_some(w, err);
	if (r == 0 && w->append && sync && w->acked < w->sent)
		r = append_some(w, true, err);
	return r;
}

int gpc_stream_flush(struct gpc_stream_writer *w, struct gpc_error *err)
{
	if (!w->pending.len && w->acked == w->sent)
		return 0;
	return send(w, 1, true, err);
}

/* --- when -------------------------------------------------------------- */

static bool must_sync(const struct gpc_stream_writer *w, int64_t now_ms)
{
	return w->acked < gpc_stream_offset(w) &&
		now_ms - w->synced_ms >= SYNC_MS;
}

bool gpc_stream_is_due(const struct gpc_stream_writer *w, int64_t now_ms)
{
	if (!w->pending.len)
		return false;
	if (w->pending.len >= OBJECT_MAX)
		return true;
	if (w->append)
		return now_ms - w->sent_ms >= GATHER_MS || must_sync(w, now_ms);
	return !w->sent_ms || now_ms - w->sent_ms >= w->interval_ms;
}

int gpc_stream_send(struct gpc_stream_writer *w, int64_t now_ms,
	struct gpc_error *err)
{
	if (!w->pending.len)
		return 0;
	w->sent_ms = now_ms;
	return send(w, 1, false, err);
}

static int tick_append(struct gpc_stream_writer *w, int64_t now_ms,
	int64_t *ret_next_ms, struct gpc_error *err)
{
	bool sync = must_sync(w, now_ms);
	int r;

	if (sync || gpc_stream_is_due(w, now_ms)) {
		r = send(w, 1, sync, err);
		w->sent_ms = now_ms;
		if (r < 0)
			return r;
		if (sync)
			w->synced_ms = now_ms;
	}
	if (w->pending.len)
		*ret_next_ms = w->sent_ms + GATHER_MS;
	else if (w->acked < w->sent)
		*ret_next_ms = w->synced_ms + SYNC_MS;
	return 0;
}

static int tick_put(struct gpc_stream_writer *w, int64_t now_ms,
	int64_t *ret_next_ms, struct gpc_error *err)
{
	bool due = w->pending.len && (!w->sent_ms ||
		now_ms - w->sent_ms >= w->interval_ms);
	int r = 0;

	if (due || w->pending.len >= OBJECT_MAX) {
		r = send(w, due ? 1 : OBJECT_MAX, false, err);
		w->sent_ms = now_ms;
	}
	if (r == 0 && w->pending.len)
		*ret_next_ms = w->sent_ms + w->interval_ms;
	return r;
}

int gpc_stream_tick(struct gpc_stream_writer *w, int64_t now_ms,
	int64_t *ret_next_ms, struct gpc_error *err)
{
	int r;

	*ret_next_ms = INT64_MAX;
	r = w->append ? tick_append(w, now_ms, ret_next_ms, err) :
		tick_put(w, now_ms, ret_next_ms, err);
	if (r < 0)
		*ret_next_ms = now_ms + RETRY_MS;
	return r;
}

/* --- marks ------------------------------------------------------------- */

bool gpc_mark_parse(const char *line, size_t n, struct gpc_mark *ret_m)
{
	struct gpc_str rest = gpc_str_trim((struct gpc_str){ line, n });
	int64_t number[3];

	for (int i = 0; i < 3; i++) {
		struct gpc_str part;
		char text[24];

		if (!gpc_str_split(&rest, ' ', &part) || part.len == 0 ||
			part.len >= sizeof(text))
			return false;
		memcpy(text, part.ptr, part.len);
		text[part.len] = '\0';
		if (gpc_parse_i64(text, 0, INT64_MAX, "mark", &number[i],
			NULL) < 0)
			return false;
	}
	if (rest.len || (number[2] != 1 && number[2] != 2))
		return false;
	ret_m->offset = (uint64_t)number[0];
	ret_m->wall_ms = number[1];
	ret_m->source = (int)number[2];
	return true;
}

void gpc_mark_format(const struct gpc_mark *m, struct gpc_buf *b)
{
	gpc_buf_addf(b, "%llu %lld %d\n", (unsigned long long)m->offset,
		(long long)m->wall_ms, m->source);
}
