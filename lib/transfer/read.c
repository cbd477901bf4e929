/* Objects as sources: in one get, or ranges of one version, whose checksums together
 * are that of the whole. That version and its checksum are asked for before: a range
 * does not tell the whole's. */
#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "transfer/move.h"

enum { STOPPED = 1 };                   /* what a callback of ours ends a get with */

static void learn(struct gpc_move *m, const struct gpc_object_info *info)
{
	struct gpc_move_source *s = &m->source;

	gpc_set_str(&s->version, info->version);
	s->has_sum = info->has_sum && gpc_objects_sums(m->item.from.objects);
	s->sum = info->sum;
	s->modified_ms = info->modified_ms;
	s->told_by[0] = '\0';
	s->seen = true;
}

static int fail_changed(struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_ECONFLICT, "the object was changed while it was "
		"read: another one is in its place");

	gpc_hint(err, "run the same again to get the new one");
	return r;
}

/* A version that is pinned is made sure of below; else size and time are all there is. */
static bool is_same(const struct gpc_move *m, const struct gpc_object_info *info)
{
	const struct gpc_move_source *s = &m->source;

	if (info->size != m->size)
		return false;
	return s->version || !s->modified_ms || !info->modified_ms ||
		s->modified_ms == info->modified_ms;
}

int gpc_move_look(struct gpc_move *m, struct gpc_error *err)
{
	gpc_autostr *keep = NULL;
	struct gpc_object_info info = {0};
	int r = gpc_objects_head(m->item.from.objects, m->item.from.key, &info,
		&keep, err);

	if (r < 0)
		return r;
	learn(m, &info);
	m->item.size = info.size > INT64_MAX ? INT64_MAX : (int64_t)info.size;
	return 0;
}

/* The list may be older than the object. */
static int see_first(struct gpc_ask *a, const struct gpc_object_info *info)
{
	struct gpc_move *m = a->m;

	learn(m, info);
	if (info->size == m->size)
		return 0;
	m->item.size = info->size > INT64_MAX ? INT64_MAX : (int64_t)info->size;
	m->again = true;
	return STOPPED;
}

static int see(void *arg, const struct gpc_object_info *info, struct gpc_error *err)
{
	struct gpc_ask *a = arg;

	if (!a->m->source.seen)
		return see_first(a, info);
	return is_same(a->m, info) ? 0 : fail_changed(err);
}

static bool is_whole(const struct gpc_move *m)
{
	return m->n == 1;
}

static int take(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	struct gpc_ask *a = arg;
	struct gpc_move *m = a->m;
	struct gpc_piece *p = &m->pieces[a->piece];
	int r;

	if (m->r < 0 || m->again)
		return STOPPED;
	if (n > gpc_move_piece_size(m, a->piece) - p->done)
		return gpc_fail(err, GPC_EPROTO, "more bytes come than the object "
			"has");
	r = m->way->take(a, data, n, err);
	if (r < 0)
		return r;
	/* A get of the whole is verified by who gets it. */
	if (m->source.has_sum && !is_whole(m))
		p->read_sum = gpc_objects_sum(m->item.from.objects, p->read_sum,
			data, n);
	p->done += n;
	a->got += n;
	return 0;
}

/* The first one tells of the whole. */
static void keep_request(struct gpc_move *m, const struct gpc_object_result *result)
{
	if (!m->source.told_by[0])
		memcpy(m->source.told_by, result->request_id,
			sizeof(m->source.told_by));
}

static int over(struct gpc_ask *a, const struct gpc_object_result *result,
	struct gpc_error *err)
{
	struct gpc_move *m = a->m;
	int i = a->piece;

	keep_request(m, result);
	if (m->again || m->r < 0)
		return 0;
	if (m->pieces[i].done != gpc_move_piece_size(m, i))
		return gpc_fail(err, GPC_EPROTO, "the server sends %" PRIu64
			" bytes of a range of %" PRIu64, m->pieces[i].done,
			gpc_move_piece_size(m, i));
	if (m->way->got)
		return m->way->got(a, err);
	gpc_move_piece_done(m, i);
	return 0;
}

/* It was looked at, or listed, before. */
static int fail_gone(struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_ENOTFOUND, "the object was there, and is no more: it was "
		"deleted meanwhile");

	gpc_hint(err, "run the same again to copy what is there now");
	return r;
}

/* A refusal of the pinned version says the same as one that came otherwise. */
static void ended(void *arg, int r, const struct gpc_object_result *result,
	const struct gpc_error *err)
{
	struct gpc_ask *a = arg;
	struct gpc_error own = {0};

	if (r == -GPC_ECONFLICT || r == -GPC_ENOTFOUND) {
		(void)(r == -GPC_ECONFLICT ? fail_changed(&own) : fail_gone(&own));
		own.http = err->http;
		memcpy(own.request_id, err->request_id, sizeof(own.request_id));
		err = &own;
	}
	gpc_ask_done(a, r > 0 ? 0 : r, result, err);
}

static int looked(struct gpc_ask *a, const struct gpc_object_result *result,
	struct gpc_error *err)
{
	struct gpc_move *m = a->m;

	(void)err;
	keep_request(m, result);
	m->alone = false;
	if (m->way == &gpc_move_down && !m->again)
		gpc_move_begin_notes(m);
	return 0;
}

/* No bytes are asked for: only what the object is. */
int gpc_move_look_first(struct gpc_move *m, struct gpc_error *err)
{
	struct gpc_ask *a = gpc_ask_new(m, -1);
	int r;

	m->alone = true;
	a->over = looked;
	a->get = (struct gpc_object_get){ .key = m->item.from.key, .sink = take,
		.head = see, .arg = a };
	r = gpc_objects_get(m->item.from.objects, m->t->loop, &a->get, ended, a, err);
	if (r < 0)
		gpc_ask_free(a);
	return r;
}

int gpc_move_get_into(struct gpc_ask *a, struct gpc_error *err)
{
	struct gpc_move *m = a->m;
	struct gpc_piece *p = &m->pieces[a->piece];
	uint64_t size = gpc_move_piece_size(m, a->piece);
	int r;

	a->get = (struct gpc_object_get){
		.key = m->item.from.key,
		.offset = gpc_move_piece_at(m, a->piece) + p->done,
		.length = is_whole(m) ? -1 : (int64_t)(size - p->done),
		.pin = m->source.version,
		.sink = take,
		.head = see,
		.arg = a,
	};
	a->over = over;
	r = gpc_objects_get(m->item.from.objects, m->t->loop, &a->get, ended, a, err);
	if (r < 0)
		gpc_ask_free(a);
	return r;
}

int gpc_move_get(struct gpc_move *m, int piece, struct gpc_error *err)
{
	return gpc_move_get_into(gpc_ask_new(m, piece), err);
}

int gpc_move_verify(const struct gpc_move *m, struct gpc_error *err)
{
	const struct gpc_objects *o = m->item.from.objects;
	uint64_t sum = 0;

	if (!m->source.has_sum || is_whole(m))
		return 0;
	for (int i = 0; i < m->n; i++)
		sum = gpc_objects_sum_join(o, sum, m->pieces[i].read_sum,
			gpc_move_piece_size(m, i));
	if (sum == m->source.sum)
		return 0;
	(void)gpc_fail(err, GPC_ENET, "the bytes that came do not have the checksum "
		"that the server tells");
	memcpy(err->request_id, m->source.told_by, sizeof(err->request_id));
	gpc_hint(err, "%s", GPC_OBJECT_DAMAGED);
	return -GPC_ENET;
}
