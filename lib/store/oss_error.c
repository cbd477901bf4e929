/* The error codes of OSS (its API reference). A HEAD's error has no body: there it
 * comes in a header, in Base64. */
#include "store/oss_error.h"

#include <string.h>

#include "base/encode.h"
#include "base/str.h"
#include "store/bucket_error.h"
#include "store/oss_address.h"

#define HINT_TIME "set the clock of this machine"
#define HINT_KEYS "`gpucloud check alibaba` shows which keys are used, and from " \
	"where"
#define HINT_GRANT "have the permission granted to who asks, or ask by other keys; " HINT_KEYS
#define HINT_LOGIN "log in again; " HINT_KEYS
#define HINT_MONEY "pay what the account owes"
#define HINT_ENDPOINT "say which endpoint by ?endpoint=, or which region by ?region="
#define BAD_REGION "wrongRegion"        /* ours: OSS says InvalidArgument */

static const struct gpc_bucket_known known[] = {
	{BAD_REGION, GPC_NET_FAILED, GPC_ECONFIG, HINT_ENDPOINT},
	{"NoSuchKey", GPC_NET_FAILED, GPC_ENOTFOUND, NULL},
	{"NoSuchUpload", GPC_NET_FAILED, GPC_ENOTFOUND, NULL},
	{"NoSuchBucket", GPC_NET_FAILED, GPC_ECONFIG,
		"check the name, or make the bucket first"},
	{"InvalidBucketName", GPC_NET_FAILED, GPC_ECONFIG, NULL},
	{"FileAlreadyExists", GPC_NET_FAILED, GPC_ECONFLICT, NULL},
	{"ObjectAlreadyExists", GPC_NET_FAILED, GPC_ECONFLICT, NULL},
	{"PreconditionFailed", GPC_NET_FAILED, GPC_ECONFLICT, NULL},
	{"FileImmutable", GPC_NET_FAILED, GPC_EUNSUPPORTED,
		"a retention policy of the bucket protects the object"},
	{"AccessDenied", GPC_NET_FAILED, GPC_EAUTH, HINT_GRANT},
	{"InvalidAccessKeyId", GPC_NET_FAILED, GPC_EAUTH, HINT_KEYS},
	{"SignatureDoesNotMatch", GPC_NET_FAILED, GPC_EAUTH,
		"the secret does not belong to the key id; " HINT_KEYS},
	{"SecurityTokenExpired", GPC_NET_RENEW, GPC_EAUTH, HINT_LOGIN},
	{"InvalidSecurityToken", GPC_NET_RENEW, GPC_EAUTH, HINT_LOGIN},
	{"SecurityTokenNotSupported", GPC_NET_FAILED, GPC_EAUTH, HINT_KEYS},
	{"RequestTimeTooSkewed", GPC_NET_SKEWED, GPC_EAUTH, HINT_TIME},
	{"RequestExpired", GPC_NET_SKEWED, GPC_EAUTH, HINT_TIME},
	{"UserDisable", GPC_NET_FAILED, GPC_EAUTH, HINT_MONEY},
	{"SecondLevelDomainForbidden", GPC_NET_FAILED, GPC_ECONFIG,
		"the service wants the bucket in the host's name: leave out "
		"?addressing=path"},
	{"PublicEndpointForbidden", GPC_NET_FAILED, GPC_ECONFIG,
		"name the bucket's own domain by ?endpoint=https://DOMAIN&"
		"addressing=domain, or an internal endpoint"},
	{"InvalidObjectState", GPC_NET_FAILED, GPC_EUNSUPPORTED,
		"the object is archived: restore it (`ossutil restore`), "
		"and wait until that is done"},
	{"OperationNotSupported", GPC_NET_FAILED, GPC_EUNSUPPORTED, NULL},
	{"NotImplemented", GPC_NET_FAILED, GPC_EUNSUPPORTED, NULL},
	{"ServiceUnavailable", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"SlowDown", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"QpsLimitExceeded", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"DownloadTrafficRateLimitExceeded", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"UploadTrafficRateLimitExceeded", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"TotalQpsLimitExceeded", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"InternalError", GPC_NET_RETRY, GPC_ENET, NULL},
	{"RequestTimeout", GPC_NET_RETRY, GPC_ETIMEOUT, NULL},
	{"IncompleteBody", GPC_NET_RETRY, GPC_ENET, NULL},
	{"InvalidDigest", GPC_NET_RETRY, GPC_ENET, NULL},
	{"BadDigest", GPC_NET_RETRY, GPC_ENET, NULL},
	{"EntityTooLarge", GPC_NET_FAILED, GPC_EPROTO, NULL},
	{"InvalidObjectName", GPC_NET_FAILED, GPC_EPROTO, NULL},
	{"QuotaExceeded", GPC_NET_FAILED, GPC_EQUOTA, NULL},
};

static struct gpc_xml *error_in_header(const struct gpc_reply *reply)
{
	const char *text = gpc_reply_header(reply, "x-oss-err");
	gpc_auto(gpc_reply) struct gpc_reply told = {0};

	if (!text || gpc_unbase64(text, strlen(text), false, &told.body, NULL) <
		0)
		return NULL;
	return gpc_bucket_xml_error(&told);
}

enum gpc_net_verdict gpc_oss_judge(const struct gpc_reply *reply,
	const char *what, const char *bucket, char **ret_region,
	struct gpc_error *err)
{
	bool good = reply->status >= 200 && reply->status < 300;
	gpc_autoptr(gpc_xml) *error = gpc_bucket_xml_error(reply);
	struct gpc_bucket_refusal how = {
		.known = known, .n_known = sizeof(known) / sizeof(*known),
		.what = what, .bucket = bucket, .hint_keys = HINT_KEYS,
		.has_form = true,
	};
	enum gpc_net_verdict v;
	char *region;

	if (good && !error && !gpc_bucket_is_page(reply))
		return GPC_NET_DONE;
	if (!error)
		error = error_in_header(reply);
	how.code = gpc_xml_text(error, "Code");
	how.message = gpc_xml_text(error, "Message");
	how.action = gpc_xml_text(error, "AccessDeniedDetail/AuthAction");
	if (strstr(how.message, "signing region"))
		how.code = BAD_REGION;
	v = gpc_bucket_refuse(reply, &how, err);
	region = gpc_oss_region_of(gpc_xml_text(error, "Endpoint"));
	if (region) {
		gpc_hint(err, "%s", HINT_ENDPOINT);
		free(*ret_region);
		*ret_region = region;
	}
	return v;
}
