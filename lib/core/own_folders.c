/* What a snapshot must leave out because it is ours. A store in the project's
 * own folder, or a mount of a whole home, are honest wishes: what they mean is
 * everything else there. */
#include "core/own_folders.h"

#include "base/path.h"
#include "base/str.h"

void gpc_own_folders_add(const struct gpc_session *s, struct gpc_strv *paths)
{
	const char *more[] = { s->place.state_dir, s->place.cache_dir };

	if (s->store)
		gpc_store_folders(s->store, paths);
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
		char *path = NULL;

		if (more[i] && gpc_path_absolute(more[i], &path, NULL) == 0)
			gpc_strv_take(paths, path);
	}
}

int gpc_own_folders_check(const struct gpc_session *s, const char *path,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv folders = {0};

	if (s->store)
		gpc_store_folders(s->store, &folders);
	for (size_t i = 0; i < folders.n; i++) {
		if (!gpc_path_contains(folders.v[i], path))
			continue;
		gpc_fail(err, GPC_ECONFIG, "%s lies in the store itself", path);
		gpc_hint(err, "copy what the job needs to a folder of your own");
		return -GPC_ECONFIG;
	}
	return 0;
}
