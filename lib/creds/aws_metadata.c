/* The metadata service of EC2 (IMDS), version 2 with its session token, version 1
 * where that is not to be had. Most machines are not on EC2: that nothing answers
 * within a second, once, is no error and is remembered for this process. */
#include <string.h>

#include "base/parse.h"
#include "creds/aws_parts.h"
#include "creds/metadata.h"
#include "creds/token.h"
#include "net/endpoint_aws.h"

#define ROLES "/latest/meta-data/iam/security-credentials/"
#define TOKEN_HEADER "x-aws-ec2-metadata-token"
#define DISABLED "AWS_EC2_METADATA_DISABLED"

struct imds {
	struct gpc_metadata service;
	bool no_v1;
	bool asked_in_vain;             /* for a token: it timed out */
};

static double number(const struct gpc_aws_profile *p, const char *name,
	double otherwise, double max)
{
	gpc_autostr *text = gpc_aws_setting(p, NULL, name);
	struct gpc_error ignored;
	double x = otherwise;

	return text && gpc_parse_double(text, 0.1, max, name, &x, &ignored) < 0 ?
		otherwise : x;
}

static bool is_set(const struct gpc_aws_profile *p, const char *name)
{
	gpc_autostr *text = gpc_aws_setting(p, NULL, name);

	return gpc_eq_nocase(text, "true");
}

static void open_imds(const struct gpc_creds_look *look,
	const struct gpc_aws_profile *p, struct imds *ret_m)
{
	gpc_autostr *base = gpc_aws_setting(p, NULL,
		"ec2_metadata_service_endpoint");
	gpc_autostr *mode = gpc_aws_setting(p, NULL,
		"ec2_metadata_service_endpoint_mode");
	size_t n;

	if (!base)
		base = gpc_strdup(gpc_eq_nocase(mode, "ipv6") ?
			"http://[fd00:ec2::254]" : "http://169.254.169.254");
	n = strlen(base);
	while (n > 0 && base[n - 1] == '/')
		base[--n] = '\0';
	*ret_m = (struct imds){
		.service = {
			.look = look, .base = gpc_steal(&base),
			.token_header = TOKEN_HEADER,
			.timeout_ms = (int)(1000 * number(p,
				"metadata_service_timeout", 1, 60)),
			.tries = (int)number(p,
				"metadata_service_num_attempts", 1, 10),
		},
		.no_v1 = is_set(p, "ec2_metadata_v1_disabled"),
	};
	if (ret_m->service.tries < 1)
		ret_m->service.tries = 1;
}

/* Gets the session token. *ret_there: whether to go on. */
static int open_session(struct imds *m, bool *ret_there, struct gpc_error *err)
{
	struct gpc_error why = {0};
	bool answered = false;
	int r = gpc_metadata_open(&m->service, &answered, &why);
	int http = why.http;

	*ret_there = answered && !r;
	if (!answered && r == -GPC_ENET && !http)
		return gpc_metadata_say_absent(&m->service);
	if (answered || (!http && r != -GPC_ETIMEOUT)) {
		if (r && err)
			*err = why;
		return r;
	}
	if (http == 400)
		return gpc_fail(err, GPC_EAUTH, "instance metadata refuses the "
			"request for a token (status 400)");
	m->asked_in_vain = !http;
	*ret_there = !m->no_v1;
	if (m->no_v1 && http)
		gpc_creds_saw(m->service.look, "instance metadata gives no token "
			"(status %d), and version 1 is disabled", http);
	else if (m->no_v1)
		return gpc_metadata_say_absent(&m->service);
	return 0;
}

/* What a failure after the session was opened means; 0: noted, none here. */
static int explain(struct imds *m, int r, struct gpc_error *why,
	struct gpc_error *err)
{
	bool session = m->service.headers.n > 0;

	if (!session && gpc_metadata_is_absent(r, why))
		return gpc_metadata_say_absent(&m->service);
	if (why->http == 404) {
		gpc_creds_saw(m->service.look, "instance metadata: this instance has no "
			"role");
		return 0;
	}
	if (why->http == 401 && m->asked_in_vain) {
		gpc_creds_saw(m->service.look, "instance metadata wants a token, which "
			"does not arrive: in a container the hop limit must be "
			"2");
		return 0;
	}
	if (why->http == 401 || why->http == 403) {
		gpc_creds_saw(m->service.look, "instance metadata is refused (status "
			"%d)", why->http);
		return 0;
	}
	if (err)
		*err = *why;
	return r;
}

/* The name of the role, first line of the list; owned. NULL: none here. */
static int find_role(struct imds *m, char **ret_role, struct gpc_error *err)
{
	struct gpc_error why = {0};
	struct gpc_reply reply = {0};
	struct gpc_str rest, line;
	int r = gpc_metadata_ask(&m->service, "GET", ROLES, &reply, &why);
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789_+=,.@-";
	size_t n = 0;

	if (r) {
		gpc_fetch_forget(&reply);
		return explain(m, r, &why, err);
	}
	rest = gpc_str_of(reply.body.data);
	if (gpc_str_split(&rest, '\n', &line)) {
		line = gpc_str_trim(line);
		while (n < line.len && strchr(allowed, line.ptr[n]))
			n++;
		if (n == line.len && n > 0 && n <= 128)
			*ret_role = gpc_strndup(line.ptr, n);
	}
	gpc_fetch_forget(&reply);
	if (!*ret_role)
		gpc_creds_saw(m->service.look, "instance metadata names no role");
	return 0;
}

/* A reply that is fine by its status may still hold nothing but a complaint. */
static bool is_complaint(struct imds *m, const struct gpc_reply *reply,
	const char *role)
{
	static const char *const code[] = {"Code", NULL};
	static const char *const message[] = {"Message", NULL};
	gpc_autostr *c = gpc_fetch_said(reply, code);
	gpc_autostr *said = gpc_fetch_said(reply, message);

	if (!c || strcmp(c, "Success") == 0)
		return false;
	gpc_creds_saw(m->service.look, "instance metadata has no keys of the role %s: "
		"%s%s%s", role, c, said ? ": " : "", said ? said : "");
	return true;
}

static int get_keys(struct imds *m, const char *role,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	static const struct gpc_identity_names names = {
		.id = "AccessKeyId", .secret = "SecretAccessKey",
		.token = "Token", .expires_at = "Expiration",
		.account = "AccountId",
	};
	gpc_autostr *path = gpc_format(ROLES "%s", role);
	struct gpc_error why = {0};
	struct gpc_reply reply = {0};
	int r = gpc_metadata_ask(&m->service, "GET", path, &reply, &why);

	if (r) {
		gpc_fetch_forget(&reply);
		return explain(m, r, &why, err);
	}
	if (!is_complaint(m, &reply, role)) {
		r = gpc_wrap(err, gpc_identity_parse(reply.body.data,
			reply.body.len, &names, gpc_net_now_ms(m->service.look->net),
			&ret_f->identity, err), "instance metadata, role %s",
			role);
		if (!r) {
			gpc_fetch_mend_clock(m->service.look->net, &reply,
				&ret_f->identity);
			free(ret_f->identity.source);
			ret_f->identity.source = gpc_format("instance metadata, "
				"role %s", role);
			ret_f->keeps = true;
		}
	}
	gpc_fetch_forget(&reply);
	return r;
}

int gpc_aws_from_metadata(struct gpc_aws_chain *c,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	gpc_autostr *role = NULL;
	bool there = false;
	struct imds m;
	int r;

	if (gpc_metadata_is_disabled(c->look, DISABLED))
		return 0;
	open_imds(c->look, c->profile, &m);
	r = open_session(&m, &there, err);
	if (!r && there)
		r = find_role(&m, &role, err);
	if (!r && role)
		r = get_keys(&m, role, ret_f, err);
	gpc_metadata_clear(&m.service);
	return r;
}

static void take_region(const struct gpc_reply *reply, char **ret_region)
{
	struct gpc_str text = gpc_str_trim(gpc_str_of(reply->body.data));
	gpc_autostr *region = gpc_strndup(text.ptr, text.len);

	if (gpc_aws_region_valid(region))
		*ret_region = gpc_steal(&region);
}

int gpc_aws_metadata_region(const struct gpc_creds_look *look,
	const struct gpc_aws_profile *p, char **ret_region,
	struct gpc_error *err)
{
	struct gpc_error why = {0};
	struct gpc_reply reply = {0};
	bool there = false;
	struct imds m;
	int r;

	if (gpc_metadata_is_disabled(look, DISABLED))
		return 0;
	open_imds(look, p, &m);
	r = open_session(&m, &there, err);
	if (!r && there) {
		r = gpc_metadata_ask(&m.service, "GET",
			"/latest/meta-data/placement/region", &reply,
			&why);
		if (r)
			r = explain(&m, r, &why, err);
		else
			take_region(&reply, ret_region);
		gpc_fetch_forget(&reply);
	}
	gpc_metadata_clear(&m.service);
	return r;
}

static int begin_session(struct gpc_metadata *m, char **session,
	struct gpc_error *err)
{
	bool answered = false;
	int r;

	if (*session) {
		gpc_pairs_set(&m->headers, TOKEN_HEADER, *session);
		return 0;
	}
	r = gpc_metadata_open(m, &answered, err);
	if (!r)
		*session = gpc_strdup(gpc_pairs_get(&m->headers, TOKEN_HEADER));
	return r;
}

int gpc_aws_metadata_text(const struct gpc_creds_look *look,
	const struct gpc_aws_profile *p, char **session, const char *path,
	char **ret_text, struct gpc_error *err)
{
	struct gpc_reply reply = {0};
	struct gpc_error why = {0};
	struct imds m;
	int r;

	open_imds(look, p, &m);
	r = begin_session(&m.service, session, &why);
	if (!r) {
		r = gpc_metadata_ask(&m.service, "GET", path, &reply, &why);
		if (!r)
			*ret_text = gpc_strdup(reply.body.data);
		if (why.http == 401) {  /* it has ended: the next call begins one */
			gpc_token_free(*session);
			*session = NULL;
		}
		r = why.http == 401 || why.http == 404 ? 0 : r;
		gpc_fetch_forget(&reply);
	}
	gpc_metadata_clear(&m.service);
	if (r && err)
		*err = why;
	return r;
}
