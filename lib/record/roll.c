/* See roll.h. As with index/done the key is the data: whoever looks, lists. */
#include "record/roll.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/parse.h"

#define VALUE_MAX 192           /* of a key's part, as it may be escaped */

static const char *const words[GPC_ROLL__COUNT] = {
	[GPC_ROLL_HERE] = "here", [GPC_ROLL_READY] = "ready",
	[GPC_ROLL_RUN] = "run", [GPC_ROLL_END] = "end",
	[GPC_ROLL_EXIT] = "exit", [GPC_ROLL_DONE] = "done",
};

void gpc_roll_clear(struct gpc_roll *r)
{
	for (int i = 0; i < r->num_nodes; i++)
		free(r->values[i]);
	free(r->values);
	*r = (struct gpc_roll){0};
}

/* --- ends: MS~REASON, or MS~stopped ------------------------------------------ */

#define STOPPED "stopped"

char *gpc_roll_end(int64_t at_ms, enum gpc_reason reason, bool stopped)
{
	return gpc_format("%lld~%s", (long long)at_ms, stopped ? STOPPED :
		gpc_reason_to_str(reason));
}

/* What follows the time, or NULL. */
static const char *read_time(const char *value, int64_t *ret_at_ms)
{
	const char *word = strchr(value, '~');
	gpc_autostr *ms = word ? gpc_strndup(value, (size_t)(word - value)) : NULL;

	return word && gpc_parse_i64(ms, 0, INT64_MAX, "time", ret_at_ms,
		NULL) == 0 ? word + 1 : NULL;
}

/* False for what is no failure of this rank's own. */
static bool read_failure(const char *value, int64_t *ret_at_ms,
	enum gpc_reason *ret_reason)
{
	const char *word = read_time(value, ret_at_ms);

	if (!word)
		return false;
	for (int i = 1; i < GPC_REASON__COUNT; i++) {
		if (!gpc_eq(gpc_reason_names[i], word))
			continue;
		*ret_reason = (enum gpc_reason)i;
		return i != GPC_REASON_COMPLETED;
	}
	return false;
}

int gpc_roll_first_failed(const struct gpc_roll *r, int64_t *ret_at_ms,
	enum gpc_reason *ret_reason)
{
	int first = -1;

	for (int i = 0; i < r->num_nodes; i++) {
		enum gpc_reason reason;
		int64_t ms;

		if (!r->values[i] || !read_failure(r->values[i], &ms, &reason) ||
			(first >= 0 && ms >= *ret_at_ms))
			continue;
		first = i;
		*ret_at_ms = ms;
		*ret_reason = reason;
	}
	return first;
}

int gpc_roll_last_ended(const struct gpc_roll *r)
{
	int64_t last_ms = -1, ms;
	int last = -1;

	for (int i = 0; i < r->num_nodes; i++) {
		if (!r->values[i] || !read_time(r->values[i], &ms) ||
			ms <= last_ms)
			continue;
		last = i;
		last_ms = ms;
	}
	return last;
}

/* --- one rank ----------------------------------------------------------------- */

int gpc_roll_put(struct gpc_store *s, const char *job, int attempt, int rank,
	enum gpc_roll_word word, const char *value, struct gpc_error *err)
{
	gpc_autostr *safe = value ? gpc_key_escape(value) : NULL;
	gpc_autostr *name = gpc_format("roll/%s/%05d%s%.*s", words[word], rank,
		safe ? "~" : "", VALUE_MAX, safe ? safe : "");
	gpc_key key;

	return gpc_store_put(s, gpc_key_attempt(key, job, attempt, name), "", 0,
		GPC_PUT_HINT, err);
}

/* --- lists ------------------------------------------------------------------ */

/* What follows the digits, or NULL. */
static const char *take_rank(const char *name, int num_nodes, int *ret_rank)
{
	size_t n = strspn(name, "0123456789");
	gpc_autostr *digits = gpc_strndup(name, n);
	int64_t rank;

	if (gpc_parse_i64(digits, 0, num_nodes - 1, "rank", &rank, NULL) < 0)
		return NULL;
	*ret_rank = (int)rank;
	return name + n;
}

struct call { size_t prefix; struct gpc_roll r; };

static int take(void *arg, const struct gpc_object *o)
{
	struct call *c = arg;
	enum gpc_reason reason;
	int64_t ms;
	int rank = 0;
	const char *rest = take_rank(o->key + c->prefix, c->r.num_nodes, &rank);
	char *value;

	if (!rest || (*rest != '~' && *rest))
		return 0;
	value = gpc_key_unescape(*rest ? rest + 1 : rest);
	if (!value)
		return 0;
	if (!c->r.values[rank]) {
		c->r.n++;
	} else if (!read_failure(value, &ms, &reason)) {
		free(value);            /* an end that became a failure stays one */
		return 0;
	}
	free(c->r.values[rank]);
	c->r.values[rank] = value;
	return 0;
}

int gpc_roll_call(struct gpc_store *s, const char *job, int attempt,
	int num_nodes, enum gpc_roll_word word, struct gpc_roll *r,
	struct gpc_error *err)
{
	gpc_autostr *name = gpc_format("roll/%s/", words[word]);
	struct call c = { .r = { .num_nodes = num_nodes } };
	gpc_key prefix;
	int rc;

	gpc_key_attempt(prefix, job, attempt, name);
	c.prefix = strlen(prefix);
	c.r.values = gpc_array((size_t)num_nodes, sizeof(*c.r.values));
	rc = gpc_store_list(s, prefix, NULL, take, &c, err);
	if (rc < 0) {
		gpc_roll_clear(&c.r);
		return gpc_wrap(err, rc, "%s", prefix);
	}
	gpc_roll_clear(r);
	*r = c.r;
	return 0;
}

struct beats { size_t prefix; int num_nodes; int64_t *ms; };

static int take_beat(void *arg, const struct gpc_object *o)
{
	const struct beats *b = arg;
	int rank = 0;
	const char *rest = take_rank(o->key + b->prefix, b->num_nodes, &rank);

	if (rest && !*rest)
		b->ms[rank] = o->modified_ms > 0 ? o->modified_ms : 1;
	return 0;
}

int gpc_roll_beats(struct gpc_store *s, const char *job, int attempt,
	int num_nodes, int64_t *ms, struct gpc_error *err)
{
	struct beats b = { .num_nodes = num_nodes, .ms = ms };
	gpc_key prefix;
	int r;

	gpc_key_attempt(prefix, job, attempt, "beats/");
	b.prefix = strlen(prefix);
	memset(ms, 0, (size_t)num_nodes * sizeof(*ms));
	r = gpc_store_list(s, prefix, NULL, take_beat, &b, err);
	return gpc_wrap(err, r, "%s", prefix);
}
