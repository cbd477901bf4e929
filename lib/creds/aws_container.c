/* The credentials endpoint of a container (ECS, EKS Pod Identity, Greengrass). Plain
 * http only goes to this machine and to the addresses that are meant for it; the
 * token for it is read anew each time, and may not break out of its header. */
#include <string.h>

#include "base/fd.h"
#include "creds/aws_parts.h"
#include "creds/fetch.h"
#include "creds/token.h"

#define RELATIVE "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
#define FULL "AWS_CONTAINER_CREDENTIALS_FULL_URI"
#define TOKEN "AWS_CONTAINER_AUTHORIZATION_TOKEN"
#define TOKEN_FILE "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
#define HOST "http://169.254.170.2"
#define TIMEOUT_MS 2000
#define TRIES 3

static bool is_allowed(const struct gpc_url *u)
{
	static const char *const hosts[] = {
		"169.254.170.2", "169.254.170.23", "fd00:ec2::23", "localhost",
		"::1",
	};

	if (strcmp(u->scheme, "https") == 0)
		return true;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
		if (strcmp(u->host, hosts[i]) == 0)
			return true;
	/* Digits and dots only: 127.example.com is somebody's host. */
	return gpc_starts_with(u->host, "127.") &&
		strspn(u->host, "0123456789.") == strlen(u->host);
}

static int find_url(char **ret_url, const char **ret_variable,
	struct gpc_error *err)
{
	const char *relative = gpc_creds_env(RELATIVE);
	const char *full = gpc_creds_env(FULL);
	gpc_auto(gpc_url) struct gpc_url u = {0};
	int r;

	*ret_variable = relative ? RELATIVE : FULL;
	if (relative && relative[0] != '/')
		return gpc_fail(err, GPC_ECONFIG, RELATIVE " does not begin "
			"with /");
	*ret_url = relative ? gpc_format(HOST "%s", relative) :
		gpc_strdup(full);
	r = gpc_creds_parse_url(*ret_variable, *ret_url, &u, err);
	if (r)
		return r;
	if (is_allowed(&u))
		return 0;
	r = gpc_fail(err, GPC_ECONFIG, FULL " names the host %s by http: keys "
		"would travel in the clear", u.host);
	gpc_hint(err, "use https; http is for 127.0.0.0/8, ::1, localhost, "
		"169.254.170.2, 169.254.170.23 and fd00:ec2::23");
	return r;
}

/* "Bearer x" has a space; a line break would be a header. */
static int check_token(const char *variable, const char *text, size_t n,
	struct gpc_error *err)
{
	if (n == 0)
		return gpc_fail(err, GPC_EAUTH, "%s names an empty token",
			variable);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return gpc_fail(err, GPC_ECONFIG, "%s holds a line "
				"break or another control character", variable);
	return 0;
}

/* A line end at the end of the file is an editor's. */
static int read_token(const char *file, char **ret_token, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error why = {0};
	struct gpc_str text;
	int r = gpc_read_file(file, GPC_TOKEN_MAX_BYTES, &b, &why);

	if (r)
		return gpc_fail(err, GPC_EAUTH, TOKEN_FILE ": %s", why.msg);
	text = gpc_str_trim((struct gpc_str){gpc_buf_str(&b), b.len});
	r = check_token(TOKEN_FILE, text.ptr, text.len, err);
	if (!r)
		*ret_token = gpc_strndup(text.ptr, text.len);
	gpc_wipe(b.data, b.cap);
	return r;
}

static int add_token(struct gpc_pairs *headers, struct gpc_error *err)
{
	const char *file = gpc_creds_env(TOKEN_FILE);
	const char *text = gpc_creds_env(TOKEN);
	gpc_autotoken *token = NULL;
	int r;

	if (!file && !text)
		return 0;
	r = file ? read_token(file, &token, err) :
		check_token(TOKEN, text, strlen(text), err);
	if (!r)
		gpc_pairs_set(headers, "authorization", file ? token : text);
	return r;
}

static int ask(struct gpc_aws_chain *c, const char *url, const char *variable,
	const struct gpc_pairs *headers, struct gpc_identity *i,
	struct gpc_error *err)
{
	static const struct gpc_identity_names names = {
		.id = "AccessKeyId", .secret = "SecretAccessKey",
		.token = "Token", .expires_at = "Expiration",
		.account = "AccountId",
	};
	static const char *const said[] = {"message", "Message", "code", NULL};
	gpc_autostr *what = gpc_format("the container's credentials (%s)",
		variable);
	struct gpc_fetch f = {
		.what = what, .method = "GET", .url = url, .headers = headers,
		.timeout_ms = TIMEOUT_MS, .max_tries = TRIES, .hushed = true,
	};
	struct gpc_reply reply = {0};
	gpc_autostr *why = NULL;
	int r = gpc_fetch(c->look->net, &f, &reply, err);

	gpc_buf_str(&reply.body);
	why = r ? gpc_fetch_said(&reply, said) : NULL;
	if (why && err) {
		int http = err->http;

		r = gpc_fail(err, GPC_EAUTH, "%s: status %d: %s", what, http,
			why);
		err->http = http;
	} else if (!r) {
		r = gpc_wrap(err, gpc_identity_parse(reply.body.data,
			reply.body.len, &names, gpc_net_now_ms(c->look->net), i,
			err), "%s", what);
	}
	if (!r)
		gpc_fetch_mend_clock(c->look->net, &reply, i);
	gpc_fetch_forget(&reply);
	return r;
}

int gpc_aws_from_container(struct gpc_aws_chain *c,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs headers = {0};
	gpc_autostr *url = NULL;
	const char *variable;
	int r;

	if (!gpc_creds_env(RELATIVE) && !gpc_creds_env(FULL)) {
		gpc_creds_saw(c->look,
			"AWS_CONTAINER_CREDENTIALS_*_URI are not set");
		return 0;
	}
	r = find_url(&url, &variable, err);
	gpc_pairs_set(&headers, "accept", "application/json");
	if (!r)
		r = add_token(&headers, err);
	if (!r)
		r = ask(c, url, variable, &headers, &ret_f->identity, err);
	for (size_t i = 0; i < headers.n; i++)
		gpc_wipe_str(headers.v[i].value);
	if (r)
		return r;
	free(ret_f->identity.source);
	ret_f->identity.source = gpc_format("container (%s)", variable);
	return 0;
}
