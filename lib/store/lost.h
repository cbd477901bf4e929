/* Whether a store that is in use is lost for ever. Only what no time mends counts:
 * a service that does not answer, a bucket that is not found, a folder that cannot be
 * read or was moved away, all come back or are still there.
 *
 * It is lost when its store.json has another id, or when its folder was deleted: it
 * stands no more where it was, nor does what was opened have a store.json, and that
 * for GPC_LOST_GONE_MS without a break. */
#pragma once
#include <stdint.h>

#include "store/store.h"

#define GPC_LOST_GONE_MS 15000
#define GPC_LOST_FAR_MS 300000       /* between looks where each is a request */

/* Zero is valid. All times by the boot clock. */
struct gpc_lost {
	int64_t due_ms;               /* next look at a far store; 0 = none yet */
	int64_t since_ms;             /* since when it seems to be deleted; 0 = no */
};
/* Looks whether it is, unless that is a request and not due. 0: there is no sign of it.
 * GPC_ENOTFOUND: it seems so, err says how, and what its lists say counts no more;
 * s->lost is set once it is certain, and then nothing is read or written there any
 * more. s->id must be known. */
int gpc_lost_look(struct gpc_lost *l, struct gpc_store *s, int64_t now_ms,
	struct gpc_error *err) gpc_must_check;
