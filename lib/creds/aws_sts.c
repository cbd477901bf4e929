/* STS speaks the query protocol: a form out, XML back. What it refuses is told
 * with its own code and words, which name the caller and the role, never keys. */
#include "creds/aws_sts.h"

#include <string.h>

#include "base/rand.h"
#include "creds/fetch.h"
#include "dep/xml.h"
#include "net/endpoint_aws.h"
#include "net/sign.h"

#define VERSION "2011-06-15"
#define TOTAL_MS 60000
#define MAX_BYTES ((size_t)256 << 10)
#define SAID_MAX 320
#define HINT_SECRET "the secret key does not belong to the access key: check it where " \
	"they come from"

struct call {
	const struct gpc_aws_sts *how;
	const char *region;             /* that it is signed for */
	char *label;                    /* begins messages */
};

static int sign(void *arg, struct gpc_request *r, int64_t now_ms, bool renew,
	struct gpc_error *err)
{
	const struct call *c = arg;
	const struct gpc_identity *by = c->how->by;
	const struct gpc_sign_aws how = {
		.keys = {by->id, by->secret, by->token},
		.region = c->region, .service = "sts", .now_ms = now_ms,
	};

	(void)renew;
	return gpc_sign_aws(r, &how, err);
}

/* What the codes of STS mean. */
static const struct {
	const char *code;
	enum gpc_net_verdict verdict;
	enum gpc_code error;
	const char *hint;
} meanings[] = {
	{"RequestTimeTooSkewed", GPC_NET_SKEWED, GPC_EAUTH,
		"set the clock of this machine"},
	{"RequestInTheFuture", GPC_NET_SKEWED, GPC_EAUTH,
		"set the clock of this machine"},
	{"RequestExpired", GPC_NET_SKEWED, GPC_EAUTH,
		"set the clock of this machine"},
	{"IDPCommunicationError", GPC_NET_RETRY, GPC_ENET, NULL},
	{"Throttling", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"ThrottlingException", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"ExpiredToken", GPC_NET_FAILED, GPC_EAUTH,
		"the source credentials have expired: renew them"},
	{"ExpiredTokenException", GPC_NET_FAILED, GPC_EAUTH,
		"the token has expired: have a new one written"},
	{"InvalidIdentityToken", GPC_NET_FAILED, GPC_EAUTH, "check audience and "
		"issuer of the token against the identity provider in IAM"},
	{"IDPRejectedClaim", GPC_NET_FAILED, GPC_EAUTH, "the identity provider does "
		"not stand by the token: have a new one written"},
	{"InvalidClientTokenId", GPC_NET_FAILED, GPC_EAUTH, "AWS does not know the "
		"access key: check it, and the session token that belongs to it"},
	{"SignatureDoesNotMatch", GPC_NET_FAILED, GPC_EAUTH, HINT_SECRET},
	{"IncompleteSignature", GPC_NET_FAILED, GPC_EAUTH, HINT_SECRET},
	{"AccessDenied", GPC_NET_FAILED, GPC_EAUTH, "the role must trust the caller, "
		"who must be allowed to assume it"},
	{"RegionDisabledException", GPC_NET_FAILED, GPC_EAUTH,
		"enable STS in that region, or set another region"},
	{"ValidationError", GPC_NET_FAILED, GPC_ECONFIG, NULL},
	{"MalformedInput", GPC_NET_FAILED, GPC_ECONFIG, NULL},
};

/* Where a wrong clock is the reason it has the code of a wrong secret. */
static const char *exact(const char *code, const char *message)
{
	return strcmp(code, "SignatureDoesNotMatch") == 0 &&
		(strstr(message, "Signature expired") ||
		strstr(message, "not yet current")) ? "RequestExpired" : code;
}

static enum gpc_net_verdict classify(const char *told, const char *message,
	int status, enum gpc_code *ret_error, const char **ret_hint)
{
	const char *code = exact(told, message);

	*ret_hint = NULL;
	for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++) {
		if (strcmp(meanings[i].code, code) != 0)
			continue;
		*ret_error = meanings[i].error;
		*ret_hint = meanings[i].hint;
		return meanings[i].verdict;
	}
	*ret_error = GPC_EAUTH;
	if (status < 400) {
		*ret_error = GPC_EPROTO;
		*ret_hint = "redirects are not followed: check "
			"AWS_ENDPOINT_URL_STS, and what stands between";
	} else if (!*code && (status == 501 || (status < 500 && status != 429))) {
		*ret_error = GPC_ECONFIG;
		*ret_hint = "that is no answer of STS: check AWS_ENDPOINT_URL_STS, "
			"and what stands between";
		return GPC_NET_FAILED;
	}
	if (status == 429 || status >= 500) {
		*ret_error = status == 429 ? GPC_ERATE : GPC_ENET;
		return status == 429 ? GPC_NET_THROTTLED : GPC_NET_RETRY;
	}
	return GPC_NET_FAILED;
}

static enum gpc_net_verdict judge(void *arg, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	const struct call *c = arg;
	gpc_autoptr(gpc_xml) *root = NULL;
	gpc_autostr *code = NULL, *said = NULL;
	const char *text, *hint;
	enum gpc_code error;
	enum gpc_net_verdict verdict;
	struct gpc_error ignored;

	if (reply->status >= 200 && reply->status < 300)
		return GPC_NET_DONE;
	if (gpc_xml_parse(gpc_buf_str(&reply->body), reply->body.len, &root,
		&ignored) < 0)
		root = NULL;
	text = gpc_xml_text(root, "Error/Code");
	code = gpc_str_printable(text, strnlen(text, 60));
	text = gpc_xml_text(root, "Error/Message");
	said = gpc_str_printable(text, strnlen(text, SAID_MAX));
	verdict = classify(code, said, reply->status, &error, &hint);
	gpc_fail(err, error, "%s: STS answered %d%s%s%s%s", c->label,
		reply->status, *code ? " " : "", code, *said ? ": " : "", said);
	if (hint)
		gpc_hint(err, "%s", hint);
	err->http = reply->status;
	text = gpc_xml_text(root, "RequestId");
	if (*text && strlen(text) < sizeof(err->request_id))
		memcpy(err->request_id, text, strlen(text) + 1);
	return verdict;
}

/* The account in arn:aws:sts::123456789012:assumed-role/…; owned. */
static char *account_of(const char *arn)
{
	struct gpc_str rest = gpc_str_of(arn), part = {0};

	for (int i = 0; i < 5; i++)
		if (!gpc_str_split(&rest, ':', &part))
			return NULL;
	return part.len == 12 ? gpc_strndup(part.ptr, part.len) : NULL;
}

static int take_text(const struct gpc_xml *keys, const char *name, char **slot,
	struct gpc_error *err)
{
	const char *text = gpc_xml_text(keys, name);
	int r;

	if (!*text)
		return gpc_fail(err, GPC_EPROTO, "%s is missing", name);
	r = gpc_identity_check(name, text, err);
	if (!r)
		*slot = gpc_strdup(text);
	return r;
}

static int read_keys(const struct gpc_xml *result, struct gpc_identity *i,
	struct gpc_error *err)
{
	const struct gpc_xml *keys = gpc_xml_get(result, "Credentials");
	int r;

	gpc_identity_clear(i);
	r = take_text(keys, "AccessKeyId", &i->id, err);
	if (!r)
		r = take_text(keys, "SecretAccessKey", &i->secret, err);
	if (!r)
		r = take_text(keys, "SessionToken", &i->token, err);
	if (!r)
		r = gpc_identity_time(gpc_xml_text(keys, "Expiration"),
			&i->expires_ms, err);
	if (!r)
		i->account = account_of(gpc_xml_text(result,
			"AssumedRoleUser/Arn"));
	for (const struct gpc_xml *x = keys ? keys->first : NULL; x; x = x->next)
		gpc_wipe_str(x->text);
	return r;
}

static int read_caller(const struct gpc_xml *result, struct gpc_identity *i,
	struct gpc_error *err)
{
	const char *arn = gpc_xml_text(result, "Arn");
	const char *account = gpc_xml_text(result, "Account");
	int r;

	if (!*arn)
		return gpc_fail(err, GPC_EPROTO, "Arn is missing");
	r = gpc_identity_check("Arn", arn, err);
	if (!r)
		r = gpc_identity_check("Account", account, err);
	if (r)
		return r;
	gpc_set_str(&i->name, arn);
	if (*account)
		gpc_set_str(&i->account, account);
	return 0;
}

static int read_reply(const struct gpc_aws_sts *how,
	const struct gpc_reply *reply, struct gpc_identity *i,
	struct gpc_error *err)
{
	gpc_autostr *path = gpc_format("%sResult", how->action);
	gpc_autoptr(gpc_xml) *root = NULL;
	const struct gpc_xml *result;
	struct gpc_error ignored;

	if (gpc_xml_parse(gpc_buf_str(&reply->body), reply->body.len, &root,
		&ignored) < 0)
		return gpc_fail(err, GPC_EPROTO, "the answer is no XML");
	result = gpc_xml_get(root, path);
	return how->role ? read_keys(result, i, err) :
		read_caller(result, i, err);
}

/* Where STS is for this role: the region that is set, else one of the role's
 * partition. */
static int find_place(const struct gpc_aws_sts *how, char **ret_url,
	const char **ret_region, struct gpc_error *err)
{
	const char *region = gpc_aws_region(how->chain->profile);
	const struct gpc_aws_partition *part = how->role ?
		gpc_aws_partition_of_arn(how->role) :
		gpc_aws_partition_of(region);

	if (!part)
		return gpc_fail(err, GPC_ECONFIG, "%s: role_arn is no ARN of a "
			"role (arn:aws:iam::123456789012:role/name)",
			how->where);
	*ret_region = region ? region : part->first;
	return gpc_aws_service_url(how->chain->profile, "sts", *ret_region,
		ret_url, err);
}

static int send(struct call *c, const char *url, const struct gpc_pairs *form,
	struct gpc_identity *i, struct gpc_error *err)
{
	struct gpc_net *net = c->how->chain->look->net;
	gpc_autostr *ca = gpc_aws_setting(c->how->chain->profile, NULL,
		"ca_bundle");
	gpc_auto(gpc_request) struct gpc_request request = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	struct gpc_buf text = {0};
	struct gpc_call call = {
		.request = &request, .repeatable = true, .total_ms = TOTAL_MS,
		.dates_keys = true,
		.max_body = MAX_BYTES, .sign = c->how->by ? sign : NULL,
		.judge = judge, .arg = c,
		.ca_file = ca, .ca_from = GPC_CREDS_CA_FROM,
	};
	int r;

	gpc_request_init(&request, "POST");
	r = gpc_url_parse(url, &request.url, err);
	if (!r) {
		gpc_request_form(&request, form, &text);
		r = gpc_net_call(net, &call, &reply, err);
	}
	if (!r)
		r = gpc_wrap(err, read_reply(c->how, &reply, i, err), "%s",
			c->label);
	else if (err && !err->http)
		gpc_wrap(err, r, "%s", c->label);
	if (!r && c->how->role)
		gpc_fetch_mend_clock(net, &reply, i);
	gpc_wipe(text.data, text.cap);
	gpc_wipe(reply.body.data, reply.body.cap);
	gpc_buf_clear(&text);
	return r;
}

int gpc_aws_sts_call(const struct gpc_aws_sts *how, struct gpc_pairs *form,
	struct gpc_identity *i, struct gpc_error *err)
{
	struct call c = {.how = how};
	gpc_autostr *url = NULL;
	int r = find_place(how, &url, &c.region, err);

	gpc_pairs_add(form, "Action", how->action);
	gpc_pairs_add(form, "Version", VERSION);
	if (how->role)
		gpc_pairs_add(form, "RoleArn", how->role);
	c.label = how->role ? gpc_format("%s of %s (%s)", how->action,
		how->role, how->where) :
		gpc_format("%s (%s)", how->action, how->where);
	if (!r)
		r = send(&c, url, form, i, err);
	free(c.label);
	gpc_pairs_wipe(form);
	return r;
}

char *gpc_aws_session_name(const char *set)
{
	char word[9];

	return set && *set ? gpc_strdup(set) :
		gpc_format("gpucloud-%s", gpc_rand_base32(word, 8));
}
