/* What a snapshot must leave out because it is ours. A store in the project's
 * own folder, or a mount of a whole home, are honest wishes: what they mean is
 * everything else there. */
#include "core/own_folders.h"

#include <string.h>

#include "base/path.h"
#include "base/str.h"

#define FILE_SCHEME "file://"

char *gpc_own_folder_of_store(const struct gpc_session *s)
{
	char *path = NULL;

	if (!s->store || !gpc_starts_with(s->store->url, FILE_SCHEME) ||
		gpc_path_absolute(s->store->url + strlen(FILE_SCHEME), &path,
			NULL) < 0)
		return NULL;
	return path;
}

void gpc_own_folders_add(const struct gpc_session *s, struct gpc_strv *paths)
{
	const char *more[] = { s->place.state_dir, s->place.cache_dir };
	char *store = gpc_own_folder_of_store(s);

	if (store)
		gpc_strv_take(paths, store);
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
		char *path = NULL;

		if (more[i] && gpc_path_absolute(more[i], &path, NULL) == 0)
			gpc_strv_take(paths, path);
	}
}

int gpc_own_folders_check(const struct gpc_session *s, const char *path,
	struct gpc_error *err)
{
	gpc_autostr *store = gpc_own_folder_of_store(s);

	if (!store || !gpc_path_contains(store, path))
		return 0;
	gpc_fail(err, GPC_ECONFIG, "%s lies in the store itself", path);
	gpc_hint(err, "copy what the job needs to a folder of your own");
	return -GPC_ECONFIG;
}
