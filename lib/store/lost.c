/* See lost.h. */
#include "store/lost.h"

#include "base/str.h"

/* A far one has just been opened. */
static bool is_due(struct gpc_lost *l, const struct gpc_store *s, int64_t now_ms)
{
	bool due = l->due_ms && now_ms >= l->due_ms;

	if (!gpc_store_is_far(s))
		return true;
	if (due || !l->due_ms)
		l->due_ms = now_ms + GPC_LOST_FAR_MS;
	return due;
}

static int replaced(struct gpc_store *s, const char *id, struct gpc_error *err)
{
	atomic_store(&s->lost, true);
	return gpc_fail(err, GPC_ENOTFOUND, "the store %s was replaced: it is "
		"%s now, and was %s", s->url, id, s->id);
}

static int gone(struct gpc_lost *l, struct gpc_store *s, int64_t now_ms,
	struct gpc_error *err)
{
	if (!l->since_ms)
		l->since_ms = now_ms;
	if (now_ms - l->since_ms >= GPC_LOST_GONE_MS)
		atomic_store(&s->lost, true);
	l->due_ms = now_ms + 1;         /* no folder is a request */
	return gpc_fail(err, GPC_ENOTFOUND, "the store %s was deleted", s->url);
}

int gpc_lost_look(struct gpc_lost *l, struct gpc_store *s, int64_t now_ms,
	struct gpc_error *err)
{
	char id[sizeof(s->id)] = "";
	int r;

	if (!is_due(l, s, now_ms))
		return 0;
	r = gpc_store_read_id(s, id, NULL);
	if (r == 0 && !gpc_eq(id, s->id))
		return replaced(s, id, err);
	if (r == -GPC_ENOTFOUND && s->ops->is_gone && s->ops->is_gone(s))
		return gone(l, s, now_ms, err);
	l->since_ms = 0;
	return 0;
}
