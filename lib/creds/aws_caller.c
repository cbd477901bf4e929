/* Who AWS says that the keys belong to: STS answers everybody, whatever they may
 * do otherwise. */
#include <string.h>

#include "creds/aws_parts.h"
#include "creds/fetch.h"
#include "dep/xml.h"
#include "net/sign.h"

#define REGION "us-east-1"
#define TOTAL_MS 60000
#define SAID_MAX 240

struct caller {
	const struct gpc_identity *by;
	const char *region;
};

static int sign(void *arg, struct gpc_request *r, int64_t now_ms, bool renew,
	struct gpc_error *err)
{
	const struct caller *c = arg;
	const struct gpc_identity *by = c->by;
	const struct gpc_sign_aws how = {
		.keys = {by->id, by->secret, by->token},
		.region = c->region, .service = "sts", .now_ms = now_ms,
	};

	(void)renew;
	return gpc_sign_aws(r, &how, err);
}

static enum gpc_net_verdict judge(void *arg, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_xml) *root = NULL;
	gpc_autostr *code = NULL, *said = NULL;
	const char *text;
	struct gpc_error ignored;
	int s = reply->status;

	(void)arg;
	if (s >= 200 && s < 300)
		return GPC_NET_DONE;
	if (gpc_xml_parse(gpc_buf_str(&reply->body), reply->body.len, &root,
		&ignored) < 0)
		return gpc_net_judge_status(reply, err);
	text = gpc_xml_text(root, "Error/Code");
	code = gpc_str_printable(text, strnlen(text, 60));
	text = gpc_xml_text(root, "Error/Message");
	said = gpc_str_printable(text, strnlen(text, SAID_MAX));
	gpc_fail(err, s == 429 ? GPC_ERATE : s >= 500 ? GPC_ENET : GPC_EAUTH,
		"GetCallerIdentity: STS answered %d %s: %s", s, code, said);
	err->http = s;
	text = gpc_xml_text(root, "RequestId");
	if (*text && strlen(text) < sizeof(err->request_id))
		memcpy(err->request_id, text, strlen(text) + 1);
	if (strstr(said, "Signature expired") ||
		strstr(said, "not yet current") ||
		strcmp(code, "RequestExpired") == 0)
		return GPC_NET_SKEWED;
	return s == 429 ? GPC_NET_THROTTLED : s >= 500 ? GPC_NET_RETRY :
		GPC_NET_FAILED;
}

static int read_reply(const struct gpc_reply *reply, struct gpc_identity *i,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_xml) *root = NULL;
	const struct gpc_xml *result;
	const char *arn, *account;
	struct gpc_error ignored;

	if (gpc_xml_parse(gpc_buf_str(&reply->body), reply->body.len, &root,
		&ignored) < 0)
		return gpc_fail(err, GPC_EPROTO, "GetCallerIdentity: the answer "
			"is no XML");
	result = gpc_xml_get(root, "GetCallerIdentityResult");
	arn = gpc_xml_text(result, "Arn");
	account = gpc_xml_text(result, "Account");
	if (!*arn || !*account)
		return gpc_fail(err, GPC_EPROTO, "GetCallerIdentity: the answer "
			"names nobody");
	gpc_set_str(&i->name, arn);
	gpc_set_str(&i->account, account);
	return 0;
}

static int send(struct gpc_net *net, struct caller *c, const char *url,
	struct gpc_identity *i, struct gpc_error *err)
{
	gpc_auto(gpc_request) struct gpc_request request = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	gpc_auto(gpc_pairs) struct gpc_pairs form = {0};
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	const struct gpc_call call = {
		.request = &request, .repeatable = true, .total_ms = TOTAL_MS,
		.max_body = GPC_FETCH_MAX_BYTES, .sign = sign, .judge = judge,
		.arg = c,
	};
	int r;

	gpc_request_init(&request, "POST");
	r = gpc_url_parse(url, &request.url, err);
	if (r)
		return r;
	gpc_pairs_add(&form, "Action", "GetCallerIdentity");
	gpc_pairs_add(&form, "Version", "2011-06-15");
	gpc_request_form(&request, &form, &text);
	r = gpc_net_call(net, &call, &reply, err);
	return r ? r : read_reply(&reply, i, err);
}

int gpc_aws_whoami(const struct gpc_creds_look *look, struct gpc_identity *i,
	struct gpc_error *err)
{
	gpc_auto(gpc_aws_files) struct gpc_aws_files files = {0};
	struct gpc_aws_profile profile;
	struct caller c = {.by = i};
	gpc_autostr *url = NULL;
	const char *from;
	int r = gpc_aws_files_load(&files, err);

	if (r)
		return r;
	gpc_aws_profile_find(&files, gpc_aws_profile_name(look->settings,
		&from), &profile);
	c.region = gpc_aws_region(&profile);
	if (!c.region)
		c.region = REGION;
	r = gpc_aws_service_url(&profile, "sts", c.region, &url, err);
	return r ? r : send(look->net, &c, url, i, err);
}
