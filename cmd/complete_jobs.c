/* Job names and ids for completion, from the index alone: no job is read, so it
 * stays fast in a store with many jobs.
 */
#include "base/time.h"
#include "cmd/complete.h"
#include "record/index.h"
#include "store/store.h"

enum { DAYS = 30 };

int gpc_complete_jobs(const char *store_url, const char *prefix,
	struct gpc_strv *ret_jobs, struct gpc_error *err)
{
	gpc_autoptr(gpc_store) *store = NULL;
	gpc_auto(gpc_index) struct gpc_index index = {0};
	int64_t since_ms = gpc_wall_ms() - (int64_t)DAYS * 86400000;
	int r = gpc_store_open(store_url, 0, NULL, &store, err);

	if (!r)
		r = gpc_index_list(store, since_ms, &index, err);
	if (r)
		return r;
	for (size_t i = 0; i < index.n; i++) {
		const struct gpc_index_entry *e = &index.v[i];

		if (gpc_starts_with(e->name, prefix) &&
			!gpc_strv_has(ret_jobs, e->name))
			gpc_strv_add(ret_jobs, e->name);
		if (gpc_starts_with(e->job, prefix))
			gpc_strv_add(ret_jobs, e->job);
	}
	return 0;
}
