/* By IMDSv2 alone: our machines are launched so that nothing else answers. */
#include "provider/aws_notice.h"

#include <string.h>

#include "base/str.h"
#include "base/time.h"

#define BASE "http://169.254.169.254"
#define NOTICE "/latest/meta-data/spot/instance-action"
#define TTL_S "21600"
#define TOTAL_MS 4000
#define MAX_BYTES 4096

/* Nothing is wrong with a 404: no notice. A 401: the token has ended. */
static enum gpc_net_verdict judge(void *arg, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	(void)arg;
	if (reply->status == 404 || reply->status == 401)
		return GPC_NET_DONE;
	return gpc_net_judge_status(reply, err);
}

static int ask(struct gpc_aws *aws, const char *method, const char *path,
	const char *header, const char *value, struct gpc_reply *ret_reply,
	struct gpc_error *err)
{
	gpc_autostr *set = gpc_creds_setting(aws->creds, NULL,
		"ec2_metadata_service_endpoint");
	gpc_autostr *url = gpc_format("%s%s", set ? set : BASE, path);
	gpc_auto(gpc_request) struct gpc_request request = {0};
	const struct gpc_call call = { .request = &request, .repeatable = true,
		.max_tries = 1, .total_ms = TOTAL_MS, .max_body = MAX_BYTES,
		.judge = judge };
	int r;

	gpc_request_init(&request, method);
	gpc_pairs_add(&request.headers, header, value);
	r = gpc_url_parse(url, &request.url, err);
	return r < 0 ? r : gpc_net_call(aws->net, &call, ret_reply, err);
}

static int open_session(struct gpc_aws *aws, char **token, struct gpc_error *err)
{
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	int r = ask(aws, "PUT", "/latest/api/token",
		"x-aws-ec2-metadata-token-ttl-seconds", TTL_S, &reply, err);

	if (r == 0 && reply.status != 200)
		r = gpc_fail(err, GPC_EPROTO, "no token (status %d)",
			reply.status);
	if (r == 0)
		gpc_set_str(token, gpc_buf_str(&reply.body));
	return r;
}

/* {"action": "terminate", "time": "2026-01-01T00:00:00Z"} */
static int read_notice(const struct gpc_reply *reply, int64_t *ret_at_ms,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = NULL;
	const char *at;
	int r = gpc_json_parse(gpc_buf_str(&reply->body), reply->body.len, &j, err);

	if (r < 0)
		return r;
	at = gpc_json_get_str(j, "time");
	if (!at)
		return gpc_fail(err, GPC_EPROTO, "the notice names no time");
	return gpc_parse_rfc3339(at, ret_at_ms, err);
}

int gpc_aws_notice(struct gpc_aws *aws, char **token, int64_t *ret_at_ms,
	struct gpc_error *err)
{
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	int r = *token ? 0 : open_session(aws, token, err);

	*ret_at_ms = 0;
	if (r == 0)
		r = ask(aws, "GET", NOTICE, "x-aws-ec2-metadata-token", *token,
			&reply, err);
	if (r == 0 && reply.status == 401)
		gpc_set_str(token, NULL);       /* the next call gets one */
	else if (r == 0 && reply.status == 200)
		r = read_notice(&reply, ret_at_ms, err);
	return gpc_wrap(err, r, "the metadata service");
}
