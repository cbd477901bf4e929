/* See census.h. A listing is in the order of keys, so all of one job comes in a
 * row; only the order of ids is not that of their folders ("a.1" lies before
 * "a"), so they are sorted at the end. */
#include "core/census.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define JOBS "jobs/"

void gpc_census_clear(struct gpc_census *c)
{
	gpc_vec_free(&c->jobs);
}

static int64_t event_number(const char *name)
{
	int64_t n = 0;

	if (!gpc_starts_with(name, "events/"))
		return 0;
	name += strlen("events/");
	for (int i = 0; i < 8; i++) {
		if (name[i] < '0' || name[i] > '9')
			return 0;
		n = n * 10 + (name[i] - '0');
	}
	return n;
}

static struct gpc_census_job *job_of(struct gpc_census *c, const char *id,
	size_t n)
{
	struct gpc_census_job *j = c->jobs.n ? &c->jobs.v[c->jobs.n - 1] : NULL;

	if (j && strlen(j->id) == n && memcmp(j->id, id, n) == 0)
		return j;
	j = gpc_vec_try_push(&c->jobs);
	if (!j)
		return NULL;
	memcpy(j->id, id, n);
	j->age_ms = INT64_MAX;
	return j;
}

static int count(void *arg, const struct gpc_object *o)
{
	const char *id = o->key + strlen(JOBS);
	const char *slash = strchr(id, '/');
	struct gpc_census_job *j;
	int64_t age = o->modified_ms ? o->now_ms - o->modified_ms : 0;
	int64_t event;

	if (!slash || slash == id || slash - id >= GPC_JOB_ID_SIZE)
		return 0;
	j = job_of(arg, id, (size_t)(slash - id));
	if (!j)
		return GPC_LIST_NO_MEMORY;
	j->objects++;
	j->bytes += o->size;
	j->has_job = j->has_job || gpc_eq(slash + 1, "job.json");
	event = event_number(slash + 1);
	if (event > j->newest_event)
		j->newest_event = event;
	if (age < j->age_ms)
		j->age_ms = age;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct gpc_census_job *x = a, *y = b;

	return strcmp(x->id, y->id);
}

int gpc_census_take(struct gpc_session *s, struct gpc_census *ret_c,
	struct gpc_error *err)
{
	gpc_auto(gpc_census) struct gpc_census c = {0};
	int r = gpc_store_list(s->store, JOBS, NULL, count, &c, err);

	if (r < 0)
		return gpc_wrap(err, r, "listing what jobs have left");
	if (c.jobs.n)
		qsort(c.jobs.v, c.jobs.n, sizeof(*c.jobs.v), by_id);
	*ret_c = c;
	c = (struct gpc_census){0};
	return 0;
}

const struct gpc_census_job *gpc_census_find(const struct gpc_census *c,
	const char *id)
{
	struct gpc_census_job key;

	if (strlen(id) >= sizeof(key.id) || !c->jobs.n)
		return NULL;
	memcpy(key.id, id, strlen(id) + 1);
	return bsearch(&key, c->jobs.v, c->jobs.n, sizeof(*c->jobs.v), by_id);
}
