/* What replies of Cloud Storage's JSON API mean and hold. */
#pragma once
#include "net/net.h"
#include "store/bucket_list.h"

/* Sets err for all but GPC_NET_DONE. of_bucket: what is not found can only be the
 * bucket. 308 is a success: an upload goes on. */
enum gpc_net_verdict gpc_gs_judge(const struct gpc_reply *reply,
	const char *what, const char *bucket, bool of_bucket,
	struct gpc_error *err);
/* The CRC-32C of a whole object, from a header or from its description. */
bool gpc_gs_told_sum(const struct gpc_reply *reply, uint64_t *ret_sum);
/* "4waSgw==" of a sum, as the service writes it; owned. */
char *gpc_gs_sum_text(uint64_t sum);
/* An object's description; what ret_i points to is *keep. GPC_EPROTO. */
int gpc_gs_describe(const struct gpc_reply *reply, struct gpc_object_info *ret_i,
	char **keep, struct gpc_error *err) gpc_must_check;
/* How many bytes a session holds: "bytes=0-42" is 43, NULL none. GPC_EPROTO. */
int gpc_gs_held(const char *range, uint64_t *ret_n, struct gpc_error *err)
	gpc_must_check;
/* Gives each object of a page of a list to fn. GPC_EPROTO. */
int gpc_gs_read_page(const char *json, size_t n,
	const struct gpc_bucket_listing *l, struct gpc_bucket_page *ret_p,
	struct gpc_error *err) gpc_must_check;
