/* Alibaba Cloud's STS: a form out, JSON back. What it refuses is told with its own
 * code and words, which name the caller and the role, never keys. */
#include <string.h>

#include "base/rand.h"
#include "base/str.h"
#include "creds/alibaba_parts.h"
#include "creds/fetch.h"
#include "creds/identity.h"
#include "net/endpoint_aws.h"
#include "net/sign.h"

#define VERSION "2015-04-01"
#define TOTAL_MS 60000
#define SAID_MAX 240

struct call {
	const struct gpc_creds_look *look;
	const struct gpc_identity *by;  /* who signs; NULL: nobody */
	const char *action, *what;      /* what: begins messages */
	char *url;
};

/* --- the request ----------------------------------------------------------- */
static int sign(void *arg, struct gpc_request *r, int64_t now_ms, bool renew,
	struct gpc_error *err)
{
	const struct call *c = arg;
	const struct gpc_identity *by = c->by;
	uint8_t bytes[16];
	char nonce[2 * sizeof(bytes) + 1];
	const struct gpc_sign_acs how = {
		.keys = {by->id, by->secret, by->token}, .now_ms = now_ms,
		.nonce = nonce,
	};

	(void)renew;
	gpc_rand(bytes, sizeof(bytes));
	gpc_hex(bytes, sizeof(bytes), nonce);
	return gpc_sign_acs(r, &how, err);
}

/* What its codes mean; those that end in a dot stand for all that begin so. */
static const struct {
	const char *code;
	enum gpc_net_verdict verdict;
	enum gpc_code error;
	const char *hint;
} meanings[] = {
	{"InvalidTimeStamp.", GPC_NET_SKEWED, GPC_EAUTH,
		"set the clock of this machine"},
	{"Throttling", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"Throttling.", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"SignatureNonceUsed", GPC_NET_RETRY, GPC_ENET, NULL},
	{"ServiceUnavailable", GPC_NET_RETRY, GPC_ENET, NULL},
	{"InternalError", GPC_NET_RETRY, GPC_ENET, NULL},
	{"InvalidSecurityToken.Expired", GPC_NET_FAILED, GPC_EAUTH,
		"the credentials have expired: renew them"},
	{"InvalidAccessKeyId.", GPC_NET_FAILED, GPC_EAUTH,
		"the access key is not known to Alibaba Cloud: check it"},
	{"SignatureDoesNotMatch", GPC_NET_FAILED, GPC_EAUTH,
		"the secret does not belong to the access key: check it"},
	{"IncompleteSignature", GPC_NET_FAILED, GPC_EAUTH,
		"the secret does not belong to the access key: check it"},
	{"AuthenticationFail.OIDCToken.Expired", GPC_NET_FAILED, GPC_EAUTH,
		"the token has expired: have a new one written"},
	{"AuthenticationFail.OIDCToken.", GPC_NET_FAILED, GPC_EAUTH,
		"check audience and issuer of the token against the identity "
		"provider in RAM"},
	{"EntityNotExist.Role", GPC_NET_FAILED, GPC_EAUTH,
		"check the ARN of the role"},
	{"NoPermission", GPC_NET_FAILED, GPC_EAUTH, "the role must trust the "
		"caller, who must be allowed sts:AssumeRole"},
	{"InvalidParameter.", GPC_NET_FAILED, GPC_ECONFIG, NULL},
};

static enum gpc_net_verdict classify(const char *code, int status,
	enum gpc_code *ret_error, const char **ret_hint)
{
	*ret_hint = NULL;
	for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++) {
		if (gpc_ends_with(meanings[i].code, ".") ?
			!gpc_starts_with(code, meanings[i].code) :
			strcmp(code, meanings[i].code) != 0)
			continue;
		*ret_error = meanings[i].error;
		*ret_hint = meanings[i].hint;
		return meanings[i].verdict;
	}
	*ret_error = status == 429 ? GPC_ERATE : status >= 500 ? GPC_ENET :
		status >= 400 ? GPC_EAUTH : GPC_EPROTO;
	if (status < 400) {
		*ret_hint = "redirects are not followed: check "
			"ALIBABA_CLOUD_STS_ENDPOINT, and what stands between";
	} else if (!*code && (status == 501 || (status < 500 && status != 429))) {
		*ret_error = GPC_ECONFIG;
		*ret_hint = "that is no answer of STS: check "
			"ALIBABA_CLOUD_STS_ENDPOINT, and what stands between";
		return GPC_NET_FAILED;
	}
	return status == 429 ? GPC_NET_THROTTLED : status >= 500 ?
		GPC_NET_RETRY : GPC_NET_FAILED;
}

static enum gpc_net_verdict judge(void *arg, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	const struct call *c = arg;
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_autostr *code = NULL, *said = NULL;
	const char *text, *hint;
	enum gpc_code error;
	enum gpc_net_verdict verdict;
	struct gpc_error ignored;

	if (reply->status >= 200 && reply->status < 300)
		return GPC_NET_DONE;
	if (gpc_json_parse(gpc_buf_str(&reply->body), reply->body.len, &j,
		&ignored) < 0)
		j = NULL;
	text = gpc_json_get_str(j, "Code");
	code = gpc_str_printable(text ? text : "", text ? strnlen(text, 80) : 0);
	text = gpc_json_get_str(j, "Message");
	said = gpc_str_printable(text ? text : "",
		text ? strnlen(text, SAID_MAX) : 0);
	verdict = classify(code, reply->status, &error, &hint);
	gpc_fail(err, error, "%s: STS answered %d%s%s%s%s", c->what,
		reply->status, *code ? " " : "", code, *said ? ": " : "", said);
	if (hint)
		gpc_hint(err, "%s", hint);
	err->http = reply->status;
	text = gpc_json_get_str(j, "RequestId");
	if (text && strlen(text) < sizeof(err->request_id))
		memcpy(err->request_id, text, strlen(text) + 1);
	return verdict;
}

/* Where STS is: as set by hand, else by region, else the one for all. */
static int find_url(const char *region, bool vpc, char **ret_url,
	struct gpc_error *err)
{
	const char *set = gpc_creds_env("ALIBABA_CLOUD_STS_ENDPOINT");

	if (!region)
		region = gpc_creds_env("ALIBABA_CLOUD_STS_REGION");
	if (!vpc)
		vpc = gpc_creds_env_true("ALIBABA_CLOUD_VPC_ENDPOINT_ENABLED");
	if (region && !gpc_aws_region_valid(region))
		return gpc_fail(err, GPC_ECONFIG, "the region of STS is not the "
			"name of a region");
	if (set)
		*ret_url = strstr(set, "://") ? gpc_strdup(set) :
			gpc_format("https://%s", set);
	else if (region)
		*ret_url = gpc_format("https://%s.%s.aliyuncs.com/", vpc ?
			"sts-vpc" : "sts", region);
	else
		*ret_url = gpc_strdup("https://sts.aliyuncs.com/");
	return 0;
}

/* Unsigned calls say by their query what signed ones say in headers. */
static void set_action(const struct call *c, struct gpc_request *r)
{
	char time[GPC_RFC3339_SIZE];

	gpc_pairs_set(&r->headers, "accept", "application/json");
	if (c->by) {
		gpc_pairs_set(&r->headers, "x-acs-action", c->action);
		gpc_pairs_set(&r->headers, "x-acs-version", VERSION);
		return;
	}
	gpc_pairs_set(&r->url.query, "Action", c->action);
	gpc_pairs_set(&r->url.query, "Format", "JSON");
	gpc_pairs_set(&r->url.query, "Timestamp", gpc_identity_time_text(
		gpc_net_now_ms(c->look->net), time));
	gpc_pairs_set(&r->url.query, "Version", VERSION);
}

static int send(struct call *c, const struct gpc_pairs *form,
	struct gpc_reply *reply, struct gpc_json **ret_j, struct gpc_error *err)
{
	gpc_auto(gpc_request) struct gpc_request request = {0};
	struct gpc_buf text = {0};
	const struct gpc_call call = {
		.request = &request, .repeatable = true, .total_ms = TOTAL_MS,
		.dates_keys = true,
		.max_body = GPC_FETCH_MAX_BYTES, .sign = c->by ? sign : NULL,
		.judge = judge, .arg = c,
	};
	struct gpc_error ignored;
	int r;

	gpc_request_init(&request, "POST");
	r = gpc_url_parse(c->url, &request.url, err);
	if (!r) {
		set_action(c, &request);
		gpc_request_form(&request, form, &text);
		r = gpc_net_call(c->look->net, &call, reply, err);
	}
	if (r && err && !err->http)
		gpc_wrap(err, r, "%s", c->what);
	if (!r && gpc_json_parse(gpc_buf_str(&reply->body), reply->body.len,
		ret_j, &ignored) < 0)
		r = gpc_fail(err, GPC_EPROTO, "%s: the answer is no JSON",
			c->what);
	gpc_wipe(text.data, text.cap);
	gpc_buf_clear(&text);
	return r;
}

/* --- roles ----------------------------------------------------------------- */
/* The account in acs:ram::1234567890123456:assumed-role/…; owned. */
static char *account_of(const char *arn)
{
	struct gpc_str rest = gpc_str_of(arn), part = {0};

	for (int i = 0; i < 4; i++)
		if (!gpc_str_split(&rest, ':', &part))
			return NULL;
	return part.len ? gpc_strndup(part.ptr, part.len) : NULL;
}

static int exchange(const struct gpc_creds_look *look,
	const struct gpc_alibaba_role *role, struct call *c,
	struct gpc_pairs *form, struct gpc_identity *i, struct gpc_error *err)
{
	static const struct gpc_identity_names names = {
		.id = "AccessKeyId", .secret = "AccessKeySecret",
		.token = "SecurityToken", .expires_at = "Expiration",
	};
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_reply reply = {0};
	const char *arn;
	char word[9];
	int r = find_url(role->region, role->vpc, &c->url, err);

	gpc_pairs_add(form, "RoleArn", role->arn);
	if (role->session)
		gpc_pairs_add(form, "RoleSessionName", role->session);
	else
		gpc_pairs_setf(form, "RoleSessionName", "gpucloud-%s",
			gpc_rand_base32(word, 8));
	if (role->duration_s)
		gpc_pairs_setf(form, "DurationSeconds", "%lld",
			(long long)role->duration_s);
	if (role->policy)
		gpc_pairs_add(form, "Policy", role->policy);
	if (!r)
		r = send(c, form, &reply, &j, err);
	if (!r)
		r = gpc_wrap(err, gpc_identity_read(gpc_json_get(j,
			"Credentials"), &names, gpc_net_now_ms(look->net), i,
			err), "%s", c->what);
	if (!r)
		gpc_fetch_mend_clock(look->net, &reply, i);
	arn = gpc_json_get_str(gpc_json_get(j, "AssumedRoleUser"), "Arn");
	if (!r && arn) {
		free(i->account);
		i->account = account_of(arn);
		gpc_set_str(&i->name, arn);
	}
	gpc_pairs_wipe(form);
	gpc_fetch_forget(&reply);
	free(c->url);
	return r;
}

static int check_role(const struct gpc_alibaba_role *role, struct gpc_error *err)
{
	if (gpc_starts_with(role->arn, "acs:ram::"))
		return 0;
	return gpc_fail(err, GPC_ECONFIG, "%s: the role is no ARN "
		"(acs:ram::1234567890123456:role/name)", role->where);
}

int gpc_alibaba_assume(const struct gpc_creds_look *look,
	const struct gpc_alibaba_role *role, const struct gpc_identity *by,
	struct gpc_identity *i, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs form = {0};
	gpc_autostr *what = gpc_format("AssumeRole of %s (%s)", role->arn,
		role->where);
	struct call c = {.look = look, .by = by, .action = "AssumeRole",
		.what = what};
	int r = check_role(role, err);

	if (role->external_id)
		gpc_pairs_add(&form, "ExternalId", role->external_id);
	return r ? r : exchange(look, role, &c, &form, i, err);
}

int gpc_alibaba_assume_oidc(const struct gpc_creds_look *look,
	const struct gpc_alibaba_role *role, const char *token,
	struct gpc_identity *i, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs form = {0};
	gpc_autostr *what = gpc_format("AssumeRoleWithOIDC of %s (%s)",
		role->arn, role->where);
	struct call c = {.look = look, .action = "AssumeRoleWithOIDC",
		.what = what};
	int r = check_role(role, err);

	gpc_pairs_add(&form, "OIDCProviderArn", role->provider);
	gpc_pairs_add(&form, "OIDCToken", token);
	return r ? r : exchange(look, role, &c, &form, i, err);
}

int gpc_alibaba_whoami(const struct gpc_creds_look *look,
	struct gpc_identity *i, struct gpc_error *err)
{
	const struct gpc_pairs form = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	struct call c = {.look = look, .by = i, .action = "GetCallerIdentity",
		.what = "GetCallerIdentity"};
	struct gpc_reply reply = {0};
	const char *arn, *account;
	int r = find_url(NULL, false, &c.url, err);

	if (!r)
		r = send(&c, &form, &reply, &j, err);
	gpc_fetch_forget(&reply);
	free(c.url);
	if (r)
		return r;
	arn = gpc_json_get_str(j, "Arn");
	account = gpc_json_get_str(j, "AccountId");
	if (!arn || !account)
		return gpc_fail(err, GPC_EPROTO, "GetCallerIdentity: the answer "
			"names nobody");
	gpc_set_str(&i->name, arn);
	gpc_set_str(&i->account, account);
	return 0;
}
