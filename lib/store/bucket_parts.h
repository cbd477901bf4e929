/* Large bodies in parts. */
#pragma once
#include "store/bucket.h"

/* Several parts at a time; nothing stays behind when it fails. if_absent as
 * GPC_PUT_IF_ABSENT. */
int gpc_bucket_put_parts(struct gpc_store *s, const char *key,
	const struct gpc_body *body, bool if_absent, struct gpc_error *err)
	gpc_must_check;
