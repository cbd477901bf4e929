/* The metadata service of ECS, in its hardened mode with a token, in the normal one
 * where that is not to be had. Most machines are not on ECS: that nothing answers
 * within a second, once, is no error and is remembered for this process. */
#include <string.h>

#include "creds/alibaba_parts.h"
#include "creds/metadata.h"
#include "net/endpoint_aws.h"

#define ROLES "/latest/meta-data/ram/security-credentials/"
#define TOKEN_HEADER "x-aliyun-ecs-metadata-token"
#define DISABLED "ALIBABA_CLOUD_ECS_METADATA_DISABLED"
#define TIMEOUT_MS 1000
#define MAX_ROLE 64

/* Gets the token of the hardened mode. *ret_there: whether to go on. */
static int open_service(const struct gpc_creds_look *look,
	struct gpc_metadata *m, bool *ret_there, struct gpc_error *err)
{
	bool hardened = gpc_creds_env_true("ALIBABA_CLOUD_IMDSV1_DISABLED");
	const char *set =
		gpc_creds_env("ALIBABA_CLOUD_ECS_METADATA_SERVICE_ENDPOINT");
	struct gpc_error why = {0};
	bool answered = false;
	int r;

	*m = (struct gpc_metadata){.look = look,
		.base = gpc_strdup(set ? set : "http://100.100.100.200"),
		.token_header = TOKEN_HEADER, .timeout_ms = TIMEOUT_MS,
		.tries = 1};
	r = gpc_metadata_open(m, &answered, &why);
	if (!answered && gpc_metadata_is_absent(r, &why))
		return gpc_metadata_say_absent(m);
	if (answered || !why.http) {
		*ret_there = !r;
		if (r && err)
			*err = why;
		return r;
	}
	*ret_there = !hardened;
	if (hardened)
		gpc_creds_saw(look, "instance metadata gives no token (status "
			"%d), and the normal mode is disabled", why.http);
	return 0;
}

/* What a failure means; 0: noted, none here. */
static int explain(struct gpc_metadata *m, int r, const struct gpc_error *why,
	struct gpc_error *err)
{
	if (gpc_metadata_is_absent(r, why))
		return gpc_metadata_say_absent(m);
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

static int find_role(struct gpc_metadata *m, const char *set, char **ret_role,
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
	r = gpc_metadata_ask(m, "GET", ROLES, &reply, &why);
	if (r)
		r = explain(m, r, &why, err);
	else if (!(*ret_role = role_of(reply.body.data)))
		gpc_creds_saw(m->look, "instance metadata names no role");
	gpc_fetch_forget(&reply);
	return r;
}

static int get_keys(struct gpc_metadata *m, const char *role,
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
	int r = gpc_metadata_ask(m, "GET", path, &reply, &why);

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
	struct gpc_metadata m = {0};
	bool there = false;
	int r = 0;

	if (!gpc_metadata_is_disabled(look, DISABLED)) {
		r = open_service(look, &m, &there, err);
		if (!r && there)
			r = find_role(&m, role, &found, err);
		if (!r && found)
			r = get_keys(&m, found, ret_f, err);
		gpc_metadata_clear(&m);
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
	struct gpc_metadata m = {0};
	bool there = false;
	int r;

	if (gpc_metadata_is_disabled(look, DISABLED))
		return 0;
	r = open_service(look, &m, &there, err);
	if (!r && there) {
		r = gpc_metadata_ask(&m, "GET", "/latest/meta-data/region-id", &reply, &why);
		if (r)
			r = explain(&m, r, &why, err);
		else if (gpc_aws_region_valid(reply.body.data))
			*ret_region = gpc_strdup(reply.body.data);
	}
	gpc_fetch_forget(&reply);
	gpc_metadata_clear(&m);
	return r;
}
