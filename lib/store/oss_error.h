/* What a reply of OSS means. */
#pragma once
#include "net/net.h"

/* As gpc_s3_judge: sets err for all but GPC_NET_DONE, and *ret_region (owned) where
 * the reply names the endpoint that the bucket is at. */
enum gpc_net_verdict gpc_oss_judge(const struct gpc_reply *reply,
	const char *what, const char *bucket, char **ret_region,
	struct gpc_error *err);
