/* What an S3 server's reply means. */
#pragma once
#include "net/net.h"

/* Sets err for all but GPC_NET_DONE. `what` names the call for people ("reading
 * jobs/a/job.json"), `bucket` the bucket. Also finds errors that came with 200.
 * *ret_region (owned) is set where the reply names the region that the bucket is
 * in; it may be NULL before. */
enum gpc_net_verdict gpc_s3_judge(const struct gpc_reply *reply,
	const char *what, const char *bucket, char **ret_region,
	struct gpc_error *err);
