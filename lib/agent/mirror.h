/* Folders of file_mounts that a bucket gets back: what the job writes there is uploaded
 * behind its back (MOUNT_CACHED, and MOUNT that may be written). */
#pragma once
#include "agent/context.h"

/* What the folders hold now is what the buckets have: to be called once they are
 * filled, and before anybody writes there. A second call changes nothing. GPC_ECONFIG:
 * a path that cannot be. */
int gpc_mirrors_begin(struct gpc_agent *a, const struct gpc_cancel *cancel,
	struct gpc_error *err) gpc_must_check;
void gpc_mirrors_free(struct gpc_mirrors *x);
/* Takes what has ended, and starts the looks that are due. Call it in each round. */
void gpc_mirrors_tick(struct gpc_agent *a, int64_t now_ms);
/* The program is about to be killed: what it writes just then is half of a file. */
void gpc_mirrors_killing(struct gpc_agent *a);
/* After the program's end: uploads what is left, as long as that can help. True while
 * it still has to be waited for. Then the exit says what is missing in the buckets. */
bool gpc_mirrors_finish(struct gpc_agent *a, int64_t now_ms);
