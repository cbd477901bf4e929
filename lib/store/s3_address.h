/* Where the objects of an s3:// store are.
 *
 *   s3://BUCKET[/PREFIX][?NAME=VALUE&...]
 *     endpoint    URL of an S3-compatible server; none: AWS
 *     region      where the bucket is; none: as the AWS tools choose
 *     addressing  path or virtual; none: path for endpoints of one's own and
 *                 for names that cannot be part of a host's, else virtual
 *     profile     of ~/.aws/config
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/url.h"

struct gpc_s3_address {
	char *bucket;
	char *prefix;                   /* "" or ends in "/" */
	char *region, *profile;         /* NULL: not said */
	bool custom;                    /* an endpoint of one's own */
	struct gpc_url endpoint;        /* when custom; its path ends in no "/" */
	enum { GPC_S3_AUTO, GPC_S3_PATH, GPC_S3_VIRTUAL } addressing;
};

/* where: the URL without "s3://". GPC_ECONFIG. */
int gpc_s3_address_parse(const char *where, struct gpc_s3_address *ret_a,
	struct gpc_error *err) gpc_must_check;
/* Sets the endpoint from elsewhere (environment, profile). GPC_ECONFIG. */
int gpc_s3_address_endpoint(struct gpc_s3_address *a, const char *url,
	const char *from, struct gpc_error *err) gpc_must_check;
void gpc_s3_address_clear(struct gpc_s3_address *a);
GPC_CLEANUP_VALUE(gpc_s3_address);
/* The URL of a key (any bytes; prefix included by the caller), or of the bucket
 * itself for NULL. GPC_ECONFIG for a region that is none. */
int gpc_s3_address_url(const struct gpc_s3_address *a, const char *region,
	const char *key, struct gpc_url *ret_u, struct gpc_error *err)
	gpc_must_check;
