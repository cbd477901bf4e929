/* See watching.h. A reader that goes away just stops: its last word goes stale. */
#include "record/watching.h"

#include <string.h>

#include "base/buf.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/json.h"
#include "record/keys.h"

enum { RENEW_MS = 10000, FRESH_MS = 30000, LOOK_MS = 5000, WATCH_MAX = 4096 };

void gpc_watching_renew(struct gpc_watching *w, struct gpc_store *s,
	const char *job)
{
	int64_t now = gpc_boot_ms();
	gpc_autostr *rank = w->one ? gpc_format(",\"rank\":%d", w->rank) : NULL;
	gpc_autostr *text = NULL;
	gpc_key key;

	if (gpc_store_of_nodes(s)->caps & GPC_STORE_APPEND ||
		(w->put_ms && now - w->put_ms < RENEW_MS))
		return;
	if (!w->id[0])
		gpc_rand_base32(w->id, sizeof(w->id) - 1);
	w->put_ms = now;
	text = gpc_format("{\"v\":1,\"id\":\"%s\",\"n\":%lld%s}\n", w->id,
		(long long)++w->n, rank ? rank : "");
	if (gpc_store_put(s, gpc_key_job_file(key, job, "watch"), text,
		strlen(text), GPC_PUT_HINT, NULL) < 0)
		return;         /* the log comes later, that is all */
}

/* What cannot be understood is of somebody who reads all. */
static bool is_of(const struct gpc_buf *b, int rank)
{
	gpc_autoptr(gpc_json) *j = NULL;

	return gpc_json_parse(b->data, b->len, &j, NULL) < 0 ||
		gpc_json_get_int(j, "rank", rank) == rank;
}

bool gpc_watchers_fresh(struct gpc_watchers *w, struct gpc_store *s,
	const char *job, int rank, int64_t now_ms)
{
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = WATCH_MAX };
	gpc_key key;
	uint64_t print;

	if (s->caps & GPC_STORE_APPEND)
		return false;
	if (!w->read_ms || now_ms - w->read_ms >= LOOK_MS) {
		w->read_ms = now_ms;
		if (gpc_store_get(s, gpc_key_job_file(key, job, "watch"),
			WATCH_MAX, &b, NULL) == 0 && b.len) {
			print = gpc_hash64(b.data, b.len) | 1;
			if (print != w->print && is_of(&b, rank))
				w->changed_ms = now_ms;
			w->print = print;
		}
	}
	return w->changed_ms && now_ms - w->changed_ms < FRESH_MS;
}
