/* Large bodies in parts. */
#pragma once
#include "store/s3_client.h"

#define GPC_S3_PART_MIN ((uint64_t)5 << 20)     /* but the last */

/* Bodies above this go in parts. */
#define GPC_S3_ONE_PUT ((uint64_t)32 << 20)

/* Several parts at a time; nothing stays behind when it fails. if_absent as
 * GPC_PUT_IF_ABSENT. */
int gpc_s3_upload(struct gpc_s3 *s3, const char *key,
	const struct gpc_body *body, bool if_absent, struct gpc_error *err)
	gpc_must_check;
