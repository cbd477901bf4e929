/* A workspace of millions of files takes minutes to remove. A supervisor that
 * waited for that would let every other job wait as well, so a process of its
 * own does it, with nothing of ours kept open. */
#include "provider/discard.h"

#include <unistd.h>

#include "base/detach.h"
#include "base/fd.h"
#include "base/path.h"

int gpc_discard(const char *path, struct gpc_error *err)
{
	bool is_child = false;
	int r = gpc_fork_detached(&is_child, err);

	if (r == 0 && is_child) {
		gpc_close_from(0);
		_exit(gpc_rmtree(path, NULL) < 0);
	}
	return gpc_wrap(err, r, "remove %s", path);
}
