/* The error codes of S3 (REST API 2006-03-01) and of servers that follow it. The
 * code decides; the status only where there is none, as for HEAD. */
#include "store/s3_error.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "dep/xml.h"

#define HINT_TIME "set the clock of this machine"
#define HINT_KEYS "`gpucloud check aws` shows which keys are used, and from where"

static const struct known {
	const char *code;
	enum gpc_net_verdict verdict;
	enum gpc_code as;
	const char *hint;
} known[] = {
	{"NoSuchKey", GPC_NET_FAILED, GPC_ENOTFOUND, NULL},
	{"NoSuchUpload", GPC_NET_FAILED, GPC_ENOTFOUND, NULL},
	{"NoSuchBucket", GPC_NET_FAILED, GPC_ECONFIG,
		"check the name, or make the bucket first"},
	{"PreconditionFailed", GPC_NET_FAILED, GPC_ECONFLICT, NULL},
	{"ConditionalRequestConflict", GPC_NET_RETRY, GPC_ENET, NULL},
	{"OperationAborted", GPC_NET_RETRY, GPC_ENET, NULL},
	{"NotImplemented", GPC_NET_FAILED, GPC_EUNSUPPORTED, NULL},
	{"AccessDenied", GPC_NET_FAILED, GPC_EAUTH, HINT_KEYS},
	{"AllAccessDisabled", GPC_NET_FAILED, GPC_EAUTH, HINT_KEYS},
	{"AccountProblem", GPC_NET_FAILED, GPC_EAUTH, NULL},
	{"InvalidAccessKeyId", GPC_NET_FAILED, GPC_EAUTH, HINT_KEYS},
	{"SignatureDoesNotMatch", GPC_NET_FAILED, GPC_EAUTH,
		"the secret key does not belong to the key id; " HINT_KEYS},
	{"AuthorizationHeaderMalformed", GPC_NET_FAILED, GPC_EAUTH,
		"the bucket may be in another region: say which by ?region="},
	{"ExpiredToken", GPC_NET_RENEW, GPC_EAUTH, "log in again"},
	{"TokenRefreshRequired", GPC_NET_RENEW, GPC_EAUTH, "log in again"},
	{"InvalidToken", GPC_NET_RENEW, GPC_EAUTH, "log in again"},
	{"RequestTimeTooSkewed", GPC_NET_SKEWED, GPC_EAUTH, HINT_TIME},
	{"RequestExpired", GPC_NET_SKEWED, GPC_EAUTH, HINT_TIME},
	{"InvalidObjectState", GPC_NET_FAILED, GPC_EUNSUPPORTED,
		"the object is archived: restore it first"},
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

static const struct known by_status[] = {
	{"403", GPC_NET_FAILED, GPC_EAUTH, HINT_KEYS},
	{"404", GPC_NET_FAILED, GPC_ENOTFOUND, NULL},
	{"408", GPC_NET_RETRY, GPC_ETIMEOUT, NULL},
	{"409", GPC_NET_RETRY, GPC_ENET, NULL},
	{"412", GPC_NET_FAILED, GPC_ECONFLICT, NULL},
	{"416", GPC_NET_FAILED, GPC_EPROTO, NULL},
	{"429", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"500", GPC_NET_RETRY, GPC_ENET, NULL},
	{"501", GPC_NET_FAILED, GPC_EUNSUPPORTED, NULL},
	{"502", GPC_NET_RETRY, GPC_ENET, NULL},
	{"503", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"504", GPC_NET_RETRY, GPC_ETIMEOUT, NULL},
};
static const struct known unknown = {"", GPC_NET_FAILED, GPC_EPROTO, NULL};

static const struct known *find(const struct known *table, size_t n,
	const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (gpc_eq(table[i].code, word))
			return &table[i];
	return NULL;
}

static const struct known *classify(const char *code, int status)
{
	const struct known *k = find(known, sizeof(known) / sizeof(*known), code);
	char word[12];

	if (k)
		return k;
	snprintf(word, sizeof(word), "%d", status);
	k = find(by_status, sizeof(by_status) / sizeof(*by_status), word);
	return k ? k : &unknown;
}

/* The body's root, where that is an <Error>. */
static struct gpc_xml *error_of(const struct gpc_reply *reply)
{
	gpc_autoptr(gpc_xml) *root = NULL;

	if (!reply->body.len ||
	    gpc_xml_parse(gpc_buf_str(&reply->body), reply->body.len, &root,
		    NULL) < 0)
		return NULL;
	return gpc_eq(root->name, "Error") ? gpc_steal(&root) : NULL;
}

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

static void describe(const struct gpc_reply *reply, const char *what,
	const char *bucket, const char *code, const char *message,
	const struct known *k, struct gpc_error *err)
{
	gpc_autostr *shown = gpc_str_printable(message, strlen(message));
	gpc_autostr *word = gpc_str_printable(code, strlen(code));
	const char *id = gpc_reply_header(reply, "x-amz-request-id");

	gpc_fail(err, k->as, "%s in bucket %s: %.64s%s%.300s", what, bucket,
		*word ? word : "the server refuses it", *shown ? ": " : "",
		shown);
	if (!err)
		return;
	err->http = reply->status;
	if (id)
		snprintf(err->request_id, sizeof(err->request_id), "%s", id);
	if (k->hint)
		gpc_hint(err, "%s", k->hint);
}

enum gpc_net_verdict gpc_s3_judge(const struct gpc_reply *reply,
	const char *what, const char *bucket, char **ret_region,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_xml) *error = error_of(reply);
	bool good = reply->status >= 200 && reply->status < 300;
	const char *code = gpc_xml_text(error, "Code");
	const struct known *k;

	if (good && !error)
		return GPC_NET_DONE;
	find_region(reply, error, ret_region);
	/* an error that came with 200 is one of the server's own */
	k = classify(code, good ? 500 : reply->status);
	describe(reply, what, bucket, code, gpc_xml_text(error, "Message"), k,
		err);
	return k->verdict;
}
