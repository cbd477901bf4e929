/* Job ids for completion, from the index's keys alone: nothing is read, so it
 * stays fast in a store with many jobs.
 */
#include <string.h>

#include "cmd/complete.h"
#include "store/store.h"

struct found { const char *prefix; struct gpc_strv *jobs; };

static void add(struct found *f, const char *id, size_t n)
{
	gpc_autostr *job = gpc_strndup(id, n);

	if (n && gpc_starts_with(job, f->prefix) && !gpc_strv_has(f->jobs, job))
		gpc_strv_add(f->jobs, job);
}

/* index/live/<unix s>-<job>.json */
static int on_live(void *arg, const struct gpc_object *o)
{
	const char *id = strchr(o->key, '-');
	size_t n = id ? strlen(id + 1) : 0;

	if (n > 5 && gpc_ends_with(id, ".json"))
		add(arg, id + 1, n - 5);
	return 0;
}

/* index/done/<yyyy-mm>/<job>.<attempt>~<state>~... */
static int on_done(void *arg, const struct gpc_object *o)
{
	const char *id = strrchr(o->key, '/') + 1;
	const char *end = strchr(id, '~');

	while (end && end > id && *end != '.')
		end--;
	if (end)
		add(arg, id, (size_t)(end - id));
	return 0;
}

int gpc_complete_jobs(const char *store_url, const char *prefix,
	struct gpc_strv *ret_jobs, struct gpc_error *err)
{
	gpc_autoptr(gpc_store) *store = NULL;
	struct found f = {prefix, ret_jobs};
	int r = gpc_store_open(store_url, 0, NULL, &store, err);

	if (!r)
		r = gpc_store_list(store, "index/live/", NULL, on_live, &f, err);
	if (!r)
		r = gpc_store_list(store, "index/done/", NULL, on_done, &f, err);
	return r;
}
