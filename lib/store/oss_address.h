/* Where buckets of Alibaba Cloud's OSS are: see store/bucket_address.h. Without an
 * endpoint oss-REGION.aliyuncs.com, without a region that of the endpoint's name, else
 * as the cloud's tools choose. Addressing: virtual, as the service wants it, but path
 * where the endpoint is an IP address; domain for a bucket that has a name of its
 * own, which new accounts need for buckets in mainland China. An endpoint may be
 * named without https://. The internal network is used only where it is asked for:
 * endpoint=oss-cn-hangzhou-internal.aliyuncs.com. */
#pragma once
#include "store/bucket_address.h"

extern const struct gpc_bucket_form gpc_oss_form;

/* The URL of a key (any bytes; prefix included by the caller), or of the bucket
 * itself for NULL. GPC_ECONFIG for a region that is none. */
int gpc_oss_address_url(const struct gpc_bucket_address *a, const char *region,
	const char *key, struct gpc_url *ret_u, struct gpc_error *err)
	gpc_must_check;
/* The region that a host of the service is in ("oss-cn-hangzhou-internal.aliyuncs.com"
 * gives "cn-hangzhou"); owned, NULL: it names none. */
char *gpc_oss_region_of(const char *host);
