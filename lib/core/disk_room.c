/* See disk_room.h. */
#include "core/disk_room.h"

#include <errno.h>
#include <sys/statvfs.h>

#include "base/path.h"
#include "base/str.h"

/* The folder is made with the first job; until then its parents tell. */
static int look(const char *dir, struct statvfs *ret_v)
{
	gpc_autostr *at = gpc_strdup(dir);

	while (statvfs(at, ret_v) < 0) {
		bool is_missing = errno == ENOENT;
		char *up = gpc_path_dir(at);
		bool is_top = gpc_eq(up, at);

		free(at);
		at = up;
		if (!is_missing || is_top)
			return -1;
	}
	return 0;
}

uint64_t gpc_disk_room(const struct gpc_session *s, const struct gpc_plan *plan)
{
	const struct gpc_offer *o = &plan->offers.v[0];
	uint64_t nodes = plan->num_nodes > 0 ? (uint64_t)plan->num_nodes : 1;
	struct statvfs v;

	if (!(gpc_provider_caps(o->provider) & GPC_PROVIDER_THIS_HOST) ||
		look(s->place.state_dir, &v) < 0 || v.f_blocks == 0)
		return 0;
	return (uint64_t)v.f_bavail * (v.f_frsize ? v.f_frsize : v.f_bsize) / nodes;
}
