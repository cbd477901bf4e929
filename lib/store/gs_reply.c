/* Replies of the JSON API (its reference, v1; errors as all Google APIs have them).
 * Numbers of 64 bits come as text, empty lists not at all, and front ends may answer
 * in other forms than JSON: then the status alone speaks. */
#include "store/gs_reply.h"

#include <string.h>

#include "base/encode.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/json.h"
#include "store/bucket_error.h"
#include "store/objects_task.h"

#define HINT_KEYS "`gpucloud check gcp` shows who asks, and from where that is known"
#define HINT_GRANT "have the permission granted to who asks, or ask as somebody else; " HINT_KEYS
#define HINT_LOGIN "log in again (gcloud auth application-default login); " HINT_KEYS
#define HINT_API "enable the Cloud Storage API for the project"
#define HINT_BILLING "the project's billing account is closed or missing"
#define HINT_PAYER "name a project that pays in GOOGLE_CLOUD_QUOTA_PROJECT"
#define HINT_KEPT "a retention policy or a hold of the bucket protects the object"
#define NO_BUCKET "bucketNotFound"      /* ours: Google says notFound for both */
#define BAD_SUM "checksumMismatch"      /* ours: Google says invalid */

static const struct gpc_bucket_known known[] = {
	{NO_BUCKET, GPC_NET_FAILED, GPC_ECONFIG,
		"check the name, or make the bucket first"},
	{BAD_SUM, GPC_NET_RETRY, GPC_ENET, NULL},
	/* of the XML API */
	{"NoSuchBucket", GPC_NET_FAILED, GPC_ECONFIG,
		"check the name, or make the bucket first"},
	{"NoSuchKey", GPC_NET_FAILED, GPC_ENOTFOUND, NULL},
	{"NoSuchUpload", GPC_NET_FAILED, GPC_ENOTFOUND, NULL},
	{"PreconditionFailed", GPC_NET_FAILED, GPC_ECONFLICT, NULL},
	{"NotImplemented", GPC_NET_FAILED, GPC_EUNSUPPORTED, NULL},
	{"BadDigest", GPC_NET_RETRY, GPC_ENET, NULL},
	{"InvalidDigest", GPC_NET_RETRY, GPC_ENET, NULL},
	/* of the JSON API */
	{"notFound", GPC_NET_FAILED, GPC_ENOTFOUND, NULL},
	{"conditionNotMet", GPC_NET_FAILED, GPC_ECONFLICT, NULL},
	{"rateLimitExceeded", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"userRateLimitExceeded", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"RATE_LIMIT_EXCEEDED", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"quotaExceeded", GPC_NET_FAILED, GPC_EQUOTA, NULL},
	{"authError", GPC_NET_RENEW, GPC_EAUTH, HINT_LOGIN},
	{"UNAUTHENTICATED", GPC_NET_RENEW, GPC_EAUTH, HINT_LOGIN},
	{"forbidden", GPC_NET_FAILED, GPC_EAUTH, HINT_GRANT},
	{"PERMISSION_DENIED", GPC_NET_FAILED, GPC_EAUTH, HINT_GRANT},
	{"accessNotConfigured", GPC_NET_FAILED, GPC_EAUTH, HINT_API},
	{"SERVICE_DISABLED", GPC_NET_FAILED, GPC_EAUTH, HINT_API},
	{"accountDisabled", GPC_NET_FAILED, GPC_EAUTH, HINT_BILLING},
	{"BILLING_DISABLED", GPC_NET_FAILED, GPC_EAUTH, HINT_BILLING},
	{"userProjectMissing", GPC_NET_FAILED, GPC_EAUTH, HINT_PAYER},
	{"USER_PROJECT_DENIED", GPC_NET_FAILED, GPC_EAUTH, HINT_PAYER},
	{"retentionPolicyNotMet", GPC_NET_FAILED, GPC_EUNSUPPORTED, HINT_KEPT},
	{"objectUnderActiveHold", GPC_NET_FAILED, GPC_EUNSUPPORTED, HINT_KEPT},
	{"backendError", GPC_NET_RETRY, GPC_ENET, NULL},
	{"internalError", GPC_NET_RETRY, GPC_ENET, NULL},
	{"uploadTooLarge", GPC_NET_FAILED, GPC_EPROTO, NULL},
	{"gone", GPC_NET_FAILED, GPC_ENOTFOUND, NULL},
};

static struct gpc_json *parse(const struct gpc_reply *reply)
{
	struct gpc_json *root = NULL;

	if (!reply->body.len || gpc_json_parse(gpc_buf_str(&reply->body),
		reply->body.len, &root, NULL) < 0)
		return NULL;
	return root;
}

/* The most exact word that an error has. */
static const char *reason_of(const struct gpc_json *error)
{
	const struct gpc_json *d = gpc_json_first(gpc_json_get(error, "details"));
	const char *reason;

	for (; d; d = gpc_json_next(d)) {
		reason = gpc_json_get_str(d, "reason");
		if (reason)
			return reason;
	}
	d = gpc_json_first(gpc_json_get(error, "errors"));
	reason = gpc_json_get_str(d, "reason");
	if (!reason)
		reason = gpc_json_get_str(error, "status");
	return reason ? reason : "";
}

/* Where a word of Google's stands for two things, one of ours. */
static const char *exact(const char *reason, const char *message,
	const struct gpc_reply *reply, bool of_bucket)
{
	if (reply->status == 404 &&
		(of_bucket || strstr(message, "bucket does not exist")))
		return NO_BUCKET;
	if (reply->status == 400 && strstr(message, "match") &&
		(strstr(message, "CRC32C") || strstr(message, "MD5")))
		return BAD_SUM;
	return reason;
}

enum gpc_net_verdict gpc_gs_judge(const struct gpc_reply *reply,
	const char *what, const char *bucket, bool of_bucket,
	struct gpc_error *err)
{
	bool good = (reply->status >= 200 && reply->status < 300) ||
		reply->status == 308;
	gpc_autoptr(gpc_xml) *xml = reply->status == 308 ? NULL :
		gpc_bucket_xml_error(reply);
	gpc_autoptr(gpc_json) *root = good || xml ? NULL : parse(reply);
	const struct gpc_json *error = gpc_json_get(root, "error");
	const char *message = gpc_json_get_str(error, "message");
	struct gpc_bucket_refusal how = {
		.known = known, .n_known = sizeof(known) / sizeof(*known),
		.what = what, .bucket = bucket, .hint_keys = HINT_KEYS,
	};
	bool page = gpc_bucket_is_page(reply);

	if (good && !xml && !page)
		return GPC_NET_DONE;
	if (xml) {
		how.code = gpc_xml_text(xml, "Code");
		how.message = gpc_xml_text(xml, "Message");
		return gpc_bucket_refuse(reply, &how, err);
	}
	how.has_form = root && !gpc_json_is_object(error);
	if (!root)      /* media are refused in plain words */
		message = gpc_buf_str(&reply->body);
	how.message = message && *message != '<' ? message : "";
	how.code = page || how.has_form ? "" : exact(reason_of(error),
		message ? message : "", reply, of_bucket);
	return gpc_bucket_refuse(reply, &how, err);
}

/* --- checksums ------------------------------------------------------------------- */

static bool read_sum(const char *text, size_t n, uint64_t *ret_sum)
{
	return gpc_bucket_read_sum(text, n, 4, ret_sum);
}

char *gpc_gs_sum_text(uint64_t sum)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	const unsigned char bytes[4] = { (unsigned char)(sum >> 24),
		(unsigned char)(sum >> 16), (unsigned char)(sum >> 8),
		(unsigned char)sum };

	gpc_base64(&b, bytes, sizeof(bytes));
	return gpc_strdup(gpc_buf_str(&b));
}

bool gpc_gs_told_sum(const struct gpc_reply *reply, uint64_t *ret_sum)
{
	gpc_autoptr(gpc_json) *root = NULL;
	const char *text;

	/* the header may come once for each checksum, or once for all */
	for (size_t i = 0; i < reply->headers.n; i++) {
		if (!gpc_eq(reply->headers.v[i].key, "x-goog-hash"))
			continue;
		text = strstr(reply->headers.v[i].value, "crc32c=");
		if (!text)
			continue;
		text += strlen("crc32c=");
		return read_sum(text, strcspn(text, ", "), ret_sum);
	}
	root = parse(reply);
	text = gpc_json_get_str(root, "crc32c");
	return text && read_sum(text, strlen(text), ret_sum);
}

/* --- objects ---------------------------------------------------------------------- */

/* NULL for an empty one. */
static const char *text_of(const struct gpc_json *j, const char *name)
{
	const char *text = gpc_json_get_str(j, name);

	return text && *text ? text : NULL;
}

static int read_object(const struct gpc_json *j, struct gpc_object_info *i,
	struct gpc_error *err)
{
	const char *sum = gpc_json_get_str(j, "crc32c");
	const char *size = gpc_json_get_str(j, "size");
	const char *updated = gpc_json_get_str(j, "updated");
	int64_t n;

	if (!size || gpc_parse_i64(size, 0, INT64_MAX, "size", &n, NULL) < 0)
		return gpc_fail(err, GPC_EPROTO, "the server does not say how "
			"large an object is");
	i->size = (uint64_t)n;
	if (!updated || gpc_parse_rfc3339(updated, &i->modified_ms, NULL) < 0)
		i->modified_ms = 0;
	i->version = text_of(j, "generation");
	i->storage_class = text_of(j, "storageClass");
	i->has_sum = sum && read_sum(sum, strlen(sum), &i->sum);
	return 0;
}

int gpc_gs_describe(const struct gpc_reply *reply, struct gpc_object_info *ret_i,
	char **keep, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *root = parse(reply);
	struct gpc_object_info i = { .now_ms = reply->date_ms };
	int r = read_object(root, &i, err);

	if (r < 0)
		return r;
	gpc_objects_keep(&i, keep);
	*ret_i = i;
	return 0;
}

int gpc_gs_held(const char *range, uint64_t *ret_n, struct gpc_error *err)
{
	int64_t last = -1;

	if (range && (!gpc_starts_with(range, "bytes=0-") ||
		gpc_parse_i64(range + strlen("bytes=0-"), 0, INT64_MAX - 1,
			"range", &last, NULL) < 0))
		return gpc_fail(err, GPC_EPROTO,
			"the server does not say how much of an upload it has");
	*ret_n = (uint64_t)(last + 1);
	return 0;
}

static int read_items(const struct gpc_json *root,
	const struct gpc_bucket_listing *l, struct gpc_bucket_page *p,
	struct gpc_error *err)
{
	const struct gpc_json *j = gpc_json_first(gpc_json_get(root, "items"));
	const struct gpc_json *x = gpc_json_first(gpc_json_get(root,
		"prefixes"));
	int r = 0;

	for (; x; x = gpc_json_next(x))
		if (gpc_json_str(x) && !gpc_strv_try_add(&p->prefixes,
			gpc_json_str(x)))
			return gpc_fail_memory(err, "the list of objects");
	for (; r == 0 && j && !p->stopped; j = gpc_json_next(j)) {
		const char *key = gpc_json_get_str(j, "name");
		struct gpc_object_info i = { .now_ms = l->now_ms };

		r = read_object(j, &i, err);
		if (r == 0 && !key)
			r = gpc_fail(err, GPC_EPROTO,
				"an object in a list has no name");
		if (r == 0)
			r = gpc_bucket_page_add(p, l, key, strlen(key), &i, err);
	}
	return r < 0 ? r : gpc_bucket_page_end(p, l, err);
}

/* An empty one has nothing but its kind; whatever else a server says is no list, and
 * must not look as if there were nothing. */
static bool is_list(const struct gpc_json *root)
{
	return gpc_eq(gpc_json_get_str(root, "kind"), "storage#objects") ||
		gpc_json_is_array(gpc_json_get(root, "items")) ||
		gpc_json_is_array(gpc_json_get(root, "prefixes"));
}

int gpc_gs_read_page(const char *json, size_t n,
	const struct gpc_bucket_listing *l, struct gpc_bucket_page *ret_p,
	struct gpc_error *err)
{
	gpc_auto(gpc_bucket_page) struct gpc_bucket_page p = {0};
	gpc_autoptr(gpc_json) *root = NULL;
	const char *token;
	int r = gpc_json_parse(json, n, &root, err);

	if (r < 0)
		return r;
	if (!gpc_json_is_object(root) || !is_list(root))
		return gpc_fail(err, GPC_EPROTO, "what came is no list of objects");
	token = gpc_json_get_str(root, "nextPageToken");
	p.more = token && *token;
	p.token = gpc_strdup(token);
	r = read_items(root, l, &p, err);
	if (r < 0)
		return r;
	*ret_p = p;
	memset(&p, 0, sizeof(p));
	return 0;
}
