/* A pipeline that is cancelled may be killed without a word. What it started
 * must not live on for hours, so it lives only as long as its client tells. */
#include "record/tether.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/json.h"
#include "record/keys.h"

enum {
	TETHER_VERSION = 1, TETHER_MAX = 4096,
	PARTS = 8,                  /* signs of life within the time allowed */
	LOOK_MAX_MS = 15000, LOOK_MIN_MS = 250,
	ABSENT_MS = 15000,          /* looking for one that may come later */
	SLEPT_MS = 20000,
};

static int64_t pace_ms(int64_t within_ms)
{
	int64_t ms = within_ms / PARTS;

	return ms > LOOK_MAX_MS ? LOOK_MAX_MS : ms < LOOK_MIN_MS ? LOOK_MIN_MS
		: ms;
}

int gpc_tether_put(struct gpc_tether *t, struct gpc_store *s, const char *job,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = gpc_json_object();
	gpc_autostr *text = NULL;
	gpc_key key;
	int r;

	if (!t->id[0])
		gpc_rand_base32(t->id, sizeof(t->id) - 1);
	gpc_json_set_int(j, "v", TETHER_VERSION);
	gpc_json_set_str(j, "id", t->id);
	gpc_json_set_int(j, "n", t->n + 1);
	gpc_json_set_int(j, "within_ms", t->within_ms);
	text = gpc_json_print(j);
	r = gpc_store_put(s, gpc_key_job_file(key, job, "tether"), text,
		strlen(text), 0, err);
	if (r < 0)
		return gpc_wrap(err, r, "tether");
	t->n++;
	t->put_ms = gpc_boot_ms();
	return 0;
}

void gpc_tether_renew(struct gpc_tether *t, struct gpc_store *s,
	const char *job)
{
	if (!t->within_ms || (t->put_ms &&
		gpc_boot_ms() - t->put_ms < pace_ms(t->within_ms)))
		return;
	if (gpc_tether_put(t, s, job, NULL) < 0)
		return;         /* there is time for more than one try */
}

int gpc_tether_cut(struct gpc_store *s, const char *job, struct gpc_error *err)
{
	gpc_key key;
	int r = gpc_store_del(s, gpc_key_job_file(key, job, "tether"), err);

	return r == -GPC_ENOTFOUND ? 0 : r;
}

/* Nothing in *ret_j where it makes no sense: nobody renews that one. */
static int read_tether(struct gpc_store *s, const char *job,
	struct gpc_json **ret_j)
{
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = TETHER_MAX };
	gpc_key key;
	int r = gpc_store_get(s, gpc_key_job_file(key, job, "tether"),
		TETHER_MAX, &b, NULL);

	if (r == 0 && gpc_json_parse(b.data, b.len, ret_j, NULL) < 0)
		*ret_j = NULL;
	return r;
}

int64_t gpc_tether_within_ms(struct gpc_store *s, const char *job)
{
	gpc_autoptr(gpc_json) *j = NULL;

	return read_tether(s, job, &j) < 0 ? 0 :
		gpc_json_get_int(j, "within_ms", 0);
}

/* *ret_known: the store answered. */
static void look(struct gpc_tether_watch *w, struct gpc_store *s,
	const char *job, int64_t now_ms, bool *ret_known)
{
	gpc_autoptr(gpc_json) *j = NULL;
	const char *id;
	int64_t n;
	int r = read_tether(s, job, &j);

	*ret_known = r == 0 || r == -GPC_ENOTFOUND;
	if (r == -GPC_ENOTFOUND)
		w->within_ms = 0;
	if (!j)
		return;
	id = gpc_json_get_str(j, "id");
	n = gpc_json_get_int(j, "n", 0);
	w->within_ms = gpc_json_get_int(j, "within_ms", 0);
	if (!id || (gpc_eq(id, w->id) && n == w->n))
		return;
	snprintf(w->id, sizeof(w->id), "%s", id);
	w->n = n;
	w->changed_ms = now_ms;
}

bool gpc_tether_silent(struct gpc_tether_watch *w, struct gpc_store *s,
	const char *job, int64_t now_ms)
{
	int64_t pace = w->within_ms ? pace_ms(w->within_ms) : ABSENT_MS;
	int64_t apart = now_ms - w->read_ms;
	bool known = false;

	if (w->read_ms && apart < pace)
		return false;
	/* A machine that slept, and perhaps its client with it. */
	if (!w->read_ms || apart > w->within_ms / 2 + SLEPT_MS)
		w->changed_ms = now_ms;
	look(w, s, job, now_ms, &known);
	if (!known)
		w->changed_ms += apart;
	w->read_ms = now_ms;
	return w->within_ms > 0 && now_ms - w->changed_ms >= w->within_ms;
}
