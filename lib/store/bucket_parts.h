/* Large bodies in parts. */
#pragma once
#include "store/bucket.h"

/* Several parts at a time; nothing stays behind when it fails. The puts_large of
 * services that have them. */
int gpc_bucket_put_parts(struct gpc_store *s, const char *key,
	const struct gpc_body *body, bool if_absent, struct gpc_error *err);
