/* Where buckets of S3 are: see store/bucket_address.h. Without an endpoint, AWS;
 * without a region, as the AWS tools choose; addressing path or virtual: without it
 * path for endpoints of one's own and for names that cannot be part of a host's,
 * else virtual. */
#pragma once
#include "creds/creds.h"
#include "store/bucket_address.h"

extern const struct gpc_bucket_form gpc_s3_form;

/* The URL of a key (any bytes; prefix included by the caller), or of the bucket
 * itself for NULL. GPC_ECONFIG for a region that is none. */
int gpc_s3_address_url(const struct gpc_bucket_address *a, const char *region,
	const char *key, struct gpc_url *ret_u, struct gpc_error *err)
	gpc_must_check;
/* Takes from environment and profile what the store's URL leaves open. GPC_ECONFIG. */
int gpc_s3_address_settle(struct gpc_bucket_address *a, struct gpc_creds *creds,
	struct gpc_error *err) gpc_must_check;
