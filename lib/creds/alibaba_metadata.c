/* The metadata service of ECS, in its hardened mode with a token, in the normal one
 * where that is not to be had. Most machines are not on ECS: that nothing answers
 * within a second, once, is no error and is remembered for this process. */
#include <string.h>

#include "creds/alibaba_parts.h"
#include "creds/fetch.h"
#include "creds/token.h"
#include "net/endpoint_aws.h"

#define ROLES "/latest/meta-data/ram/security-credentials/"
#define TOKEN_HEADER "x-aliyun-ecs-metadata-token"
#define TIMEOUT_MS 1000
#define MAX_ROLE 64

struct service {
	const struct gpc_creds_look *look;
	const char *base;
	struct gpc_pairs headers;       /* the token, once it is there */
};

static void close_service(struct service *m)
{
	for (size_t i = 0; i < m->headers.n; i++)
		gpc_wipe_str(m->headers.v[i].value);
	gpc_pairs_clear(&m->headers);
}

static int ask(struct service *m, const char *method, const char *path,
	struct gpc_reply *ret_reply, struct gpc_error *err)
{
	gpc_autostr *url = gpc_format("%s%s", m->base, path);
	const struct gpc_fetch f = {
		.what = "instance metadata", .method = method, .url = url,
		.headers = &m->headers, .timeout_ms = TIMEOUT_MS,
		.max_tries = 1,
	};
	int r = gpc_fetch(m->look->net, &f, ret_reply, err);

	gpc_buf_str(&ret_reply->body);
	return r;
}

static bool is_absent(int r, const struct gpc_error *err)
{
	return (r == -GPC_ENET || r == -GPC_ETIMEOUT) && !err->http;
}

static int say_absent(struct service *m)
{
	atomic_store(m->look->no_metadata, true);
	gpc_creds_saw(m->look, "instance metadata at %s does not answer",
		m->base);
	return 0;
}

static bool is_disabled(const struct gpc_creds_look *look)
{
	if (gpc_creds_env_true("ALIBABA_CLOUD_ECS_METADATA_DISABLED")) {
		gpc_creds_saw(look, "ALIBABA_CLOUD_ECS_METADATA_DISABLED is "
			"set");
		return true;
	}
	if (!atomic_load(look->no_metadata) || look->renew)
		return false;
	gpc_creds_saw(look, "instance metadata does not answer");
	return true;
}

/* Gets the token of the hardened mode. *ret_there: whether to go on. */
static int open_service(const struct gpc_creds_look *look, struct service *m,
	bool *ret_there, struct gpc_error *err)
{
	bool hardened = gpc_creds_env_true("ALIBABA_CLOUD_IMDSV1_DISABLED");
	const char *set =
		gpc_creds_env("ALIBABA_CLOUD_ECS_METADATA_SERVICE_ENDPOINT");
	struct gpc_reply reply = {0};
	struct gpc_error why = {0};
	int r;

	*m = (struct service){.look = look,
		.base = set ? set : "http://100.100.100.200"};
	gpc_pairs_set(&m->headers, TOKEN_HEADER "-ttl-seconds", "21600");
	r = ask(m, "PUT", "/latest/api/token", &reply, &why);
	gpc_pairs_unset(&m->headers, TOKEN_HEADER "-ttl-seconds");
	if (!r) {
		r = gpc_token_check("the token of instance metadata",
			reply.body.data, err);
		if (!r)
			gpc_pairs_set(&m->headers, TOKEN_HEADER,
				reply.body.data);
		*ret_there = !r;
	} else if (is_absent(r, &why)) {
		r = say_absent(m);
	} else if (!why.http) {
		if (err)
			*err = why;
	} else {
		*ret_there = !hardened;
		if (hardened)
			gpc_creds_saw(look, "instance metadata gives no token "
				"(status %d), and the normal mode is disabled",
				why.http);
		r = 0;
	}
	gpc_fetch_forget(&reply);
	return r;
}

/* What a failure means; 0: noted, none here. */
static int explain(struct service *m, int r, const struct gpc_error *why,
	struct gpc_error *err)
{
	if (is_absent(r, why))
		return say_absent(m);
	if (why->http == 404)
		gpc_creds_saw(m->look, "instance metadata: this instance has no "
			"such role");
	else if (why->http == 401 || why->http == 403)
		gpc_creds_saw(m->look, "instance metadata is refused (status "
			"%d)", why->http);
	else if (err)
		*err = *why;
	return why->http == 404 || why->http == 401 || why->http == 403 ? 0 : r;
}

/* A name that can stand in a path; owned, NULL: it cannot. */
static char *role_of(const char *text)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789_.@-";
	struct gpc_str s = gpc_str_trim(gpc_str_of(text));
	size_t n = 0;

	while (n < s.len && strchr(allowed, s.ptr[n]))
		n++;
	return n == s.len && n > 0 && n <= MAX_ROLE ?
		gpc_strndup(s.ptr, n) : NULL;
}

static int find_role(struct service *m, const char *set, char **ret_role,
	struct gpc_error *err)
{
	struct gpc_reply reply = {0};
	struct gpc_error why = {0};
	int r;

	if (set) {
		*ret_role = role_of(set);
		return *ret_role ? 0 : gpc_fail(err, GPC_ECONFIG, "the name of "
			"the instance's role is no name of a role");
	}
	r = ask(m, "GET", ROLES, &reply, &why);
	if (r)
		r = explain(m, r, &why, err);
	else if (!(*ret_role = role_of(reply.body.data)))
		gpc_creds_saw(m->look, "instance metadata names no role");
	gpc_fetch_forget(&reply);
	return r;
}

static int get_keys(struct service *m, const char *role,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	static const struct gpc_identity_names names = {
		.id = "AccessKeyId", .secret = "AccessKeySecret",
		.token = "SecurityToken", .expires_at = "Expiration",
	};
	static const char *const code[] = {"Code", NULL};
	gpc_autostr *path = gpc_format(ROLES "%s", role);
	gpc_autostr *said = NULL;
	struct gpc_reply reply = {0};
	struct gpc_error why = {0};
	int r = ask(m, "GET", path, &reply, &why);

	said = r ? NULL : gpc_fetch_said(&reply, code);
	if (r) {
		r = explain(m, r, &why, err);
	} else if (said && strcmp(said, "Success") != 0) {
		gpc_creds_saw(m->look, "instance metadata has no keys of the "
			"role %s: %s", role, said);
	} else {
		r = gpc_wrap(err, gpc_identity_parse(reply.body.data,
			reply.body.len, &names, gpc_net_now_ms(m->look->net),
			&ret_f->identity, err), "instance metadata, role %s",
			role);
		if (!r)
			gpc_fetch_mend_clock(m->look->net, &reply,
				&ret_f->identity);
		free(ret_f->identity.source);
		ret_f->identity.source = gpc_format("instance metadata, role "
			"%s", role);
		ret_f->keeps = r == 0;
	}
	gpc_fetch_forget(&reply);
	return r;
}

int gpc_alibaba_from_metadata(const struct gpc_creds_look *look,
	const char *role, bool must, struct gpc_creds_found *ret_f,
	struct gpc_error *err)
{
	const struct gpc_strv *places = look->places;
	gpc_autostr *found = NULL;
	struct service m = {0};
	bool there = false;
	int r = 0;

	if (!is_disabled(look)) {
		r = open_service(look, &m, &there, err);
		if (!r && there)
			r = find_role(&m, role, &found, err);
		if (!r && found)
			r = get_keys(&m, found, ret_f, err);
		close_service(&m);
	}
	if (!r && must && !ret_f->identity.id)
		r = gpc_fail(err, GPC_EAUTH, "%s", places->n ?
			places->v[places->n - 1] : "no instance metadata");
	return r;
}

int gpc_alibaba_metadata_region(const struct gpc_creds_look *look,
	char **ret_region, struct gpc_error *err)
{
	struct gpc_reply reply = {0};
	struct gpc_error why = {0};
	struct service m = {0};
	bool there = false;
	int r;

	if (is_disabled(look))
		return 0;
	r = open_service(look, &m, &there, err);
	if (!r && there) {
		r = ask(&m, "GET", "/latest/meta-data/region-id", &reply, &why);
		if (r)
			r = explain(&m, r, &why, err);
		else if (gpc_aws_region_valid(reply.body.data))
			*ret_region = gpc_strdup(reply.body.data);
	}
	gpc_fetch_forget(&reply);
	close_service(&m);
	return r;
}
