/* The error codes of S3 (REST API 2006-03-01) and of servers that follow it. */
#include "store/s3_error.h"

#include "base/str.h"
#include "store/bucket_error.h"

#define HINT_TIME "set the clock of this machine"
#define HINT_KEYS "`gpucloud check aws` shows which keys are used, and from where"
#define HINT_GRANT "have the permission granted to who asks, or ask by other keys; " HINT_KEYS
#define HINT_LOGIN "log in again; " HINT_KEYS
#define HINT_REGION "the bucket is in another region: say which by ?region=, or which " \
	"endpoint by ?endpoint="

static const struct gpc_bucket_known known[] = {
	{"NoSuchKey", GPC_NET_FAILED, GPC_ENOTFOUND, NULL},
	{"NoSuchUpload", GPC_NET_FAILED, GPC_ENOTFOUND, NULL},
	{"NoSuchBucket", GPC_NET_FAILED, GPC_ECONFIG,
		"check the name, or make the bucket first (`gpucloud setup aws`)"},
	{"PreconditionFailed", GPC_NET_FAILED, GPC_ECONFLICT, NULL},
	{"ConditionalRequestConflict", GPC_NET_RETRY, GPC_ENET, NULL},
	{"OperationAborted", GPC_NET_RETRY, GPC_ENET, NULL},
	{"NotImplemented", GPC_NET_FAILED, GPC_EUNSUPPORTED, NULL},
	{"AccessDenied", GPC_NET_FAILED, GPC_EAUTH, HINT_GRANT},
	{"AllAccessDisabled", GPC_NET_FAILED, GPC_EAUTH, HINT_KEYS},
	{"AccountProblem", GPC_NET_FAILED, GPC_EAUTH, NULL},
	{"InvalidAccessKeyId", GPC_NET_FAILED, GPC_EAUTH, HINT_KEYS},
	{"SignatureDoesNotMatch", GPC_NET_FAILED, GPC_EAUTH,
		"the secret key does not belong to the key id; " HINT_KEYS},
	{"AuthorizationHeaderMalformed", GPC_NET_FAILED, GPC_ECONFIG, HINT_REGION},
	{"PermanentRedirect", GPC_NET_FAILED, GPC_ECONFIG, HINT_REGION},
	{"TemporaryRedirect", GPC_NET_FAILED, GPC_ECONFIG, HINT_REGION},
	{"IllegalLocationConstraintException", GPC_NET_FAILED, GPC_ECONFIG,
		HINT_REGION},
	{"ExpiredToken", GPC_NET_RENEW, GPC_EAUTH, HINT_LOGIN},
	{"TokenRefreshRequired", GPC_NET_RENEW, GPC_EAUTH, HINT_LOGIN},
	{"InvalidToken", GPC_NET_RENEW, GPC_EAUTH, HINT_LOGIN},
	{"RequestTimeTooSkewed", GPC_NET_SKEWED, GPC_EAUTH, HINT_TIME},
	{"RequestExpired", GPC_NET_SKEWED, GPC_EAUTH, HINT_TIME},
	{"InvalidObjectState", GPC_NET_FAILED, GPC_EUNSUPPORTED,
		"the object is archived: restore it (`aws s3api restore-object`), "
		"and wait until that is done"},
	{"SlowDown", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"ServiceUnavailable", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"RequestLimitExceeded", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"InternalError", GPC_NET_RETRY, GPC_ENET, NULL},
	{"RequestTimeout", GPC_NET_RETRY, GPC_ETIMEOUT, NULL},
	{"IncompleteBody", GPC_NET_RETRY, GPC_ENET, NULL},
	{"BadDigest", GPC_NET_RETRY, GPC_ENET, NULL},
	{"XAmzContentSHA256Mismatch", GPC_NET_RETRY, GPC_ENET, NULL},
	{"EntityTooLarge", GPC_NET_FAILED, GPC_EPROTO, NULL},
	{"KeyTooLongError", GPC_NET_FAILED, GPC_EPROTO, NULL},
	{"QuotaExceeded", GPC_NET_FAILED, GPC_EQUOTA, NULL},
};

static void find_region(const struct gpc_reply *reply,
	const struct gpc_xml *error, char **ret_region)
{
	const char *region = gpc_reply_header(reply, "x-amz-bucket-region");

	if (!region || !*region)
		region = gpc_xml_text(error, "Region");
	if (!*region)
		return;
	gpc_set_str(ret_region, region);
}

enum gpc_net_verdict gpc_s3_judge(const struct gpc_reply *reply,
	const char *what, const char *bucket, char **ret_region,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_xml) *error = gpc_bucket_xml_error(reply);
	const struct gpc_bucket_refusal how = {
		.known = known, .n_known = sizeof(known) / sizeof(*known),
		.code = gpc_xml_text(error, "Code"),
		.message = gpc_xml_text(error, "Message"),
		.what = what, .bucket = bucket, .hint_keys = HINT_KEYS,
		.has_form = true,
	};

	if (reply->status >= 200 && reply->status < 300 && !error &&
		!gpc_bucket_is_page(reply))
		return GPC_NET_DONE;
	find_region(reply, error, ret_region);
	return gpc_bucket_refuse(reply, &how, err);
}
