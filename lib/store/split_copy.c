/* See split_copy.h. A copy is made by a plain put, which may be repeated. The journal
 * decides; a copy is never asked there, lags behind when somebody dies in between, and
 * is made up for by whoever appends next and by the supervisor (gpc_store_follow), in
 * order, so that its reader meets no gap. */
#include "store/split_copy.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"

#define MAX ((size_t)16 << 20)          /* as journals have events */

const char *gpc_split_past_job(const char *key)
{
	const char *p = gpc_starts_with(key, "jobs/") ?
		strchr(key + strlen("jobs/"), '/') : NULL;

	return p ? p + 1 : NULL;
}

/* The number behind the last "/" of an event's key, or 0. */
static int64_t event_number(const char *key)
{
	const char *p = gpc_split_past_job(key);
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

bool gpc_split_is_copied(const char *key)
{
	const char *p = gpc_split_past_job(key);

	return event_number(key) > 0 || (p && gpc_eq(p, "job.json"));
}

/* As the journal has it. */
static int copy(const struct gpc_split_copy *c, const char *key,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int r = gpc_store_get(c->from, key, MAX, &b, err);

	return r < 0 ? r : gpc_store_put(c->to, key, gpc_buf_str(&b), b.len, 0,
		err);
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
static int find_copied(const struct gpc_split_copy *c, const char *key,
	int64_t *n, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf at = {0};
	int r = -GPC_ENOTFOUND;

	for (; *n > 0; --*n) {
		event_key(&at, key, *n);
		r = gpc_store_head(c->to, gpc_buf_str(&at), NULL, err);
		if (r != -GPC_ENOTFOUND)
			return r;
	}
	return 0;
}

static int copy_job(const struct gpc_split_copy *c, const char *key,
	struct gpc_error *err)
{
	gpc_autostr *job = gpc_format("%.*sjob.json",
		(int)(strstr(key, "/events/") + 1 - key), key);
	int r = copy(c, job, err);

	return r == -GPC_ENOTFOUND ? 0 : r;     /* a journal before its job */
}

/* n: whose copy may be there. */
static int follow_from(const struct gpc_split_copy *c, const char *key,
	int64_t n, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf at = {0};
	int64_t last = event_number(key);
	int r = find_copied(c, key, &n, err);

	if (r == 0 && n == 0)
		r = copy_job(c, key, err);
	while (r == 0 && n < last) {
		event_key(&at, key, ++n);
		r = copy(c, gpc_buf_str(&at), err);
		/* Of a job that is being removed. */
		if (r == -GPC_ENOTFOUND)
			return 0;
	}
	return r;
}

int gpc_split_follow(const struct gpc_split_copy *c, const char *key,
	struct gpc_error *err)
{
	int64_t n = event_number(key);

	return n ? follow_from(c, key, n, err) : 0;
}

void gpc_split_try_follow(const struct gpc_split_copy *c, const char *key)
{
	int64_t n = event_number(key);
	struct gpc_error why = {0};

	/* Its own is not looked for: it has just won. */
	if (n && follow_from(c, key, n - 1, &why) < 0)
		gpc_log(c->log, GPC_VERBOSE, "%s has no copy yet: %s", key,
			why.msg);
}
