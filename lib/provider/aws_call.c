/* One way to ask: the keys of the chain, the endpoint as AWS's own tools choose it,
 * a signature for each try, and the words of the refusal in the error. */
#include "provider/aws_call.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "net/endpoint_aws.h"
#include "provider/aws_failure.h"

#define TOTAL_MS 60000
#define SAID_MAX 400
#define PAGES_MAX 1000
#define SKEW_MS 300000                  /* that AWS lets pass */
#define MAX_BYTES ((size_t)16 << 20)

/* The services of the query protocol, by their names in endpoint_aws.c. */
static const struct { const char *service, *version; } versions[] = {
	{"ec2", "2016-11-15"},
	{"auto_scaling", "2011-01-01"},
	{"iam", "2010-05-08"},
	{"cloudwatch", "2010-08-01"},
};

struct asking {
	struct gpc_aws *aws;
	const char *service, *region;
	const char *what;               /* "RunInstances in us-east-1" */
	const struct gpc_url *url;
	bool json;
};

int gpc_aws_sign(struct gpc_aws *aws, struct gpc_request *r,
	const struct gpc_sign_aws *how, bool renew, struct gpc_error *err)
{
	gpc_auto(gpc_identity) struct gpc_identity who = {0};
	struct gpc_sign_aws with = *how;
	int rc = gpc_creds_get(aws->creds, renew, &who, err);

	if (rc < 0)
		return rc;
	with.keys = (struct gpc_keys){ who.id, who.secret, who.token };
	return gpc_sign_aws(r, &with, err);
}

static int sign(void *arg, struct gpc_request *r, int64_t now_ms, bool renew,
	struct gpc_error *err)
{
	const struct asking *a = arg;

	return gpc_aws_sign(a->aws, r, &(struct gpc_sign_aws){
		.region = gpc_aws_signing_region(a->service, a->region),
		.service = gpc_aws_signing_name(a->service), .now_ms = now_ms,
	}, renew, err);
}

/* Owned, printable: what a service says is shown to people. */
static void told(const struct asking *a, const struct gpc_reply *reply,
	char **ret_code, char **ret_said, char **ret_id)
{
	const char *code, *said, *id = gpc_reply_header(reply, "x-amzn-requestid");
	gpc_autoptr(gpc_xml) *xml = NULL;
	gpc_autoptr(gpc_json) *json = NULL;
	const struct gpc_xml *error;
	struct gpc_error ignored;

	if (a->json) {
		if (gpc_json_parse(gpc_buf_str(&reply->body), reply->body.len,
			&json, &ignored) < 0)
			json = NULL;
		code = gpc_json_get_str(json, "__type");
		code = code && strchr(code, '#') ? strchr(code, '#') + 1 : code;
		said = gpc_json_get_str(json, "message");
		said = said ? said : gpc_json_get_str(json, "Message");
	} else {
		if (gpc_xml_parse(gpc_buf_str(&reply->body), reply->body.len,
			&xml, &ignored) < 0)
			xml = NULL;
		error = gpc_xml_get(xml, "Errors/Error");
		error = error ? error : gpc_xml_get(xml, "Error");
		code = gpc_xml_text(error, "Code");
		said = gpc_xml_text(error, "Message");
		id = *gpc_xml_text(xml, "RequestID") ?
			gpc_xml_text(xml, "RequestID") : id;
	}
	code = code ? code : "";
	said = said ? said : "";
	id = id ? id : "";
	*ret_code = gpc_str_printable(code, strcspn(code, ":"));
	*ret_said = gpc_str_printable(said, strnlen(said, SAID_MAX));
	*ret_id = gpc_str_printable(id, strnlen(id, 60));
}

/* Services of the query and JSON protocols call a wrong clock a wrong signature. */
static bool speaks_of_time(const char *code, const char *said)
{
	if (gpc_eq(code, "SignatureDoesNotMatch") ||
		gpc_eq(code, "InvalidSignatureException"))
		return strstr(said, "Signature expired") ||
			strstr(said, "not yet current");
	return gpc_eq(code, "RequestExpired") ||
		gpc_eq(code, "RequestInTheFuture") ||
		gpc_eq(code, "RequestTimeTooSkewed");
}

/* EC2 says the same of a session that has ended and of a clock that is wrong: it is
 * the clock if the service's own is another than the one that was signed by. */
static bool is_skewed(const struct asking *a, const struct gpc_reply *reply)
{
	int64_t off = reply->date_ms - gpc_net_host_now_ms(a->aws->net, a->url);

	return reply->date_ms && (off > SKEW_MS || off < -SKEW_MS);
}

static enum gpc_net_verdict judge(void *arg, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	const struct asking *a = arg;
	gpc_autostr *code = NULL, *said = NULL, *id = NULL;
	struct gpc_aws_failure f;

	if (reply->status >= 200 && reply->status < 300)
		return GPC_NET_DONE;
	told(a, reply, &code, &said, &id);
	f = gpc_aws_failure_of(code, said, reply->status);
	if (f.verdict == GPC_NET_DONE)
		return GPC_NET_DONE;
	gpc_fail(err, f.code, "%s: AWS answered %d%s%s%s%s", a->what,
		reply->status, *code ? " " : "", code, *said ? ": " : "", said);
	if (f.hint)
		gpc_hint(err, "%s", f.hint);
	if (err) {
		err->http = reply->status;
		snprintf(err->request_id, sizeof(err->request_id), "%s", id);
	}
	return speaks_of_time(code, said) && is_skewed(a, reply) ?
		GPC_NET_SKEWED : f.verdict;
}

static int send(struct asking *a, struct gpc_request *request, bool repeatable,
	struct gpc_reply *ret_reply, struct gpc_error *err)
{
	gpc_autostr *ca = gpc_creds_ca_file(a->aws->creds);
	const struct gpc_call call = {
		.ca_file = ca, .ca_from = GPC_CREDS_CA_FROM,
		.request = request, .repeatable = repeatable,
		.total_ms = TOTAL_MS, .max_body = MAX_BYTES,
		.sign = sign, .judge = judge, .arg = a,
	};
	gpc_autostr *url = NULL;
	int r = gpc_creds_service_url(a->aws->creds, a->service, a->region,
		&url, err);

	if (r == 0)
		r = gpc_url_parse(url, &request->url, err);
	a->url = &request->url;
	if (r == 0)
		r = gpc_net_call(a->aws->net, &call, ret_reply, err);
	return r < 0 && err && !err->http ? gpc_wrap(err, r, "%s", a->what) : r;
}

/* Sends it, unless the same was answered for another purchase just now. */
static int ask(struct asking *a, const char *action, const char *question,
	struct gpc_request *request, bool repeatable, struct gpc_reply *ret_reply,
	struct gpc_error *err)
{
	struct gpc_aws_answers *kept = &a->aws->answers;
	bool takes = gpc_aws_answers_take(action);
	const struct gpc_buf *answer = takes ?
		gpc_aws_answers_get(kept, a->what, question) : NULL;
	int r;

	if (answer) {
		gpc_buf_add(&ret_reply->body, answer->data, answer->len);
		return 0;
	}
	r = send(a, request, repeatable, ret_reply, err);
	if (r == 0 && takes)
		gpc_aws_answers_keep(kept, a->what, question,
			&ret_reply->body);
	return r;
}

static const char *version_of(const char *service)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		if (gpc_eq(versions[i].service, service))
			return versions[i].version;
	return "";
}

int gpc_aws_query(struct gpc_aws *aws, const char *service,
	const struct gpc_aws_call *call, struct gpc_xml **ret_xml,
	struct gpc_error *err)
{
	gpc_autostr *what = gpc_format("%s in %s", call->action, call->region);
	struct asking a = { .aws = aws, .service = service,
		.region = call->region, .what = what };
	gpc_auto(gpc_request) struct gpc_request request = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	gpc_auto(gpc_pairs) struct gpc_pairs form = {0};
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	int r;

	gpc_pairs_copy(&form, call->params);
	gpc_pairs_add(&form, "Action", call->action);
	gpc_pairs_add(&form, "Version", version_of(service));
	gpc_request_init(&request, "POST");
	gpc_request_form(&request, &form, &text);
	r = ask(&a, call->action, gpc_buf_str(&text), &request, call->repeatable,
		&reply, err);
	if (r == 0)
		r = gpc_wrap(err, gpc_xml_parse(gpc_buf_str(&reply.body),
			reply.body.len, ret_xml, err), "%s", what);
	return r;
}

int gpc_aws_ec2(struct gpc_aws *aws, const struct gpc_aws_call *call,
	struct gpc_xml **ret_xml, struct gpc_error *err)
{
	return gpc_aws_query(aws, "ec2", call, ret_xml, err);
}

/* 403 is of somebody who is known and may not. */
bool gpc_aws_is_stranger(int r, const struct gpc_error *err)
{
	return r == -GPC_EAUTH && err->http == 401;
}

int gpc_aws_ec2_pages(struct gpc_aws *aws, const char *region,
	const char *action, struct gpc_pairs *params, gpc_aws_page_fn *read,
	void *arg, struct gpc_error *err)
{
	const struct gpc_aws_call call = { .region = region, .action = action,
		.params = params, .repeatable = true };

	for (int n = 0; n < PAGES_MAX; n++) {
		gpc_autoptr(gpc_xml) *page = NULL;
		int r = gpc_aws_ec2(aws, &call, &page, err);

		if (r < 0)
			return r;
		r = read(arg, page, err);
		if (r < 0)
			return gpc_wrap(err, r, "%s in %s", action, region);
		if (!*gpc_xml_text(page, "nextToken"))
			return 0;
		gpc_pairs_set(params, "NextToken", gpc_xml_text(page, "nextToken"));
	}
	return gpc_fail(err, GPC_EPROTO, "%s in %s has no end", action, region);
}

int gpc_aws_json(struct gpc_aws *aws, const char *service, const char *region,
	const char *target, const struct gpc_json *params,
	struct gpc_json **ret_json, struct gpc_error *err)
{
	gpc_autostr *what = gpc_format("%s in %s", target, region);
	gpc_autostr *text = gpc_json_print(params);
	struct asking a = { .aws = aws, .service = service, .region = region,
		.what = what, .json = true };
	gpc_auto(gpc_request) struct gpc_request request = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	int r;

	gpc_request_init(&request, "POST");
	gpc_pairs_add(&request.headers, "content-type",
		"application/x-amz-json-1.1");
	gpc_pairs_add(&request.headers, "x-amz-target", target);
	request.body = (struct gpc_body){ .data = text, .size = strlen(text) };
	r = ask(&a, target, text, &request, true, &reply, err);
	if (r == 0)
		r = gpc_wrap(err, gpc_json_parse(gpc_buf_str(&reply.body),
			reply.body.len, ret_json, err), "%s", what);
	return r;
}
