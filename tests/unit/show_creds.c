/* Shows who the chain of AWS says we are, as JSON; of secrets only a hash:
 *   show-creds [-p PROFILE] [-r] [-c] [-s SERVICE NAME]
 * -r renews once more, -c asks STS who that is, -s shows a setting instead. A
 * failure is {code, msg, hint, request_id}, and its exit status that of gpucloud. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "creds/creds.h"
#include "dep/crypto.h"
#include "dep/json.h"
#include "dep/xml.h"
#include "net/sign.h"

struct caller {
	struct gpc_creds *creds;
	struct gpc_identity identity;
	const char *region;
};

static int sign(void *arg, struct gpc_request *r, int64_t now_ms, bool renew,
	struct gpc_error *err)
{
	struct caller *c = arg;
	const struct gpc_identity *i = &c->identity;
	int result = gpc_creds_get(c->creds, renew, &c->identity, err);
	const struct gpc_sign_aws how = {
		.keys = {i->id, i->secret, i->token}, .region = c->region,
		.service = "sts", .now_ms = now_ms,
	};

	return result ? result : gpc_sign_aws(r, &how, err);
}

static enum gpc_net_verdict judge(void *arg, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	const char *body = gpc_buf_str(&reply->body);

	(void)arg;
	if (reply->status == 200)
		return GPC_NET_DONE;
	gpc_fail(err, GPC_EAUTH, "%d: %s", reply->status, body);
	if (strstr(body, "<Code>ExpiredToken"))
		return GPC_NET_RENEW;
	return strstr(body, "Signature expired") ? GPC_NET_SKEWED :
		GPC_NET_FAILED;
}

static int call(struct gpc_net *net, struct gpc_creds *creds,
	struct gpc_json *shown, struct gpc_error *err)
{
	gpc_auto(gpc_request) struct gpc_request request = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	gpc_auto(gpc_pairs) struct gpc_pairs form = {0};
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	gpc_autoptr(gpc_xml) *root = NULL;
	gpc_autostr *url = gpc_creds_setting(creds, "sts", "endpoint_url");
	gpc_autostr *region = NULL;
	struct caller c = {.creds = creds};
	const struct gpc_call how = {.request = &request, .repeatable = true,
		.sign = sign, .judge = judge, .arg = &c};
	int r = gpc_creds_region(creds, &region, err);

	c.region = region ? region : "us-east-1";
	gpc_request_init(&request, "POST");
	if (!r)
		r = gpc_url_parse(url ? url : "https://sts.amazonaws.com/",
			&request.url, err);
	gpc_pairs_set(&form, "Action", "GetCallerIdentity");
	gpc_pairs_set(&form, "Version", "2011-06-15");
	gpc_request_form(&request, &form, &text);
	if (!r)
		r = gpc_net_call(net, &how, &reply, err);
	if (!r)
		r = gpc_xml_parse(reply.body.data, reply.body.len, &root, err);
	if (!r)
		gpc_json_set_str(shown, "arn", gpc_xml_text(root,
			"GetCallerIdentityResult/Arn"));
	gpc_identity_clear(&c.identity);
	return r;
}

static void show_hash(struct gpc_json *shown, const char *name, const char *s)
{
	char hex[GPC_SHA256_HEX];

	if (s)
		gpc_json_set_str(shown, name, gpc_sha256_hex(s, strlen(s),
			hex));
}

static int show(struct gpc_net *net, struct gpc_creds *creds, bool renew,
	bool ask, struct gpc_json *shown, struct gpc_error *err)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	int r = gpc_creds_get(creds, renew, &i, err);

	if (r)
		return r;
	gpc_json_set_str(shown, "id", i.id);
	show_hash(shown, "secret_sha256", i.secret);
	show_hash(shown, "token_sha256", i.token);
	gpc_json_set_int(shown, "expires_ms", i.expires_ms);
	gpc_json_set_str(shown, "source", i.source);
	gpc_json_set_str(shown, "account", i.account);
	gpc_json_set_str(shown, "region", i.region);
	return ask ? call(net, creds, shown, err) : 0;
}

int main(int argc, char **argv)
{
	struct gpc_creds_settings settings = {.cloud = GPC_CLOUD_AWS};
	const struct gpc_net_settings how = {.max_tries = 2};
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_autoptr(gpc_creds) *creds = NULL;
	gpc_autoptr(gpc_json) *shown = gpc_json_object();
	gpc_autostr *text = NULL, *value = NULL;
	bool renew = false, ask = false, setting = false;
	struct gpc_error err = {0};
	int c, r = 0;

	while ((c = getopt(argc, argv, "p:rcs")) != -1) {
		if (c == 'p')
			settings.profile = optarg;
		renew |= c == 'r';
		ask |= c == 'c';
		setting |= c == 's';
	}
	settings.no_prompt = !isatty(0);
	creds = gpc_creds_new(&settings, net);
	if (setting && optind + 1 < argc) {
		value = gpc_creds_setting(creds, argv[optind][0] ?
			argv[optind] : NULL, argv[optind + 1]);
		gpc_json_set_str(shown, "value", value);
	} else {
		r = show(net, creds, renew, ask, shown, &err);
	}
	if (r) {
		gpc_json_set_str(shown, "code", gpc_code_to_str(err.code));
		gpc_json_set_str(shown, "msg", err.msg);
		gpc_json_set_str(shown, "hint", err.hint);
		gpc_json_set_str(shown, "request_id", err.request_id);
	}
	text = gpc_json_print(shown);
	puts(text);
	return r ? gpc_error_exit(&err) : 0;
}
