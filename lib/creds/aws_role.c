/* Roles of profiles: keys of a source (another profile, or a place on this
 * machine) are exchanged for those of the role. Sources may be roles themselves;
 * a circle is an error that names its members. */
#include <string.h>

#include "base/parse.h"
#include "creds/ask.h"
#include "creds/aws_sts.h"
#include "creds/identity.h"

struct role {
	const struct gpc_aws_profile *profile;
	const char *arn, *external_id, *mfa, *session;  /* NULL: not set */
	char *where;                                    /* of role_arn */
	int64_t duration_s;                             /* 0: not set */
};

bool gpc_aws_has_role(const struct gpc_aws_profile *p)
{
	return gpc_aws_profile_get(p, "role_arn") &&
		!gpc_aws_profile_get(p, "web_identity_token_file");
}

bool gpc_aws_has_keys(const struct gpc_aws_profile *p)
{
	return gpc_aws_profile_get(p, "aws_access_key_id") != NULL;
}

static int read_role(const struct gpc_aws_profile *p, struct role *ret_role,
	struct gpc_error *err)
{
	const char *duration = gpc_aws_profile_get(p, "duration_seconds");
	gpc_autostr *where = gpc_aws_profile_where(p, "duration_seconds");

	*ret_role = (struct role){
		.profile = p,
		.arn = gpc_aws_profile_get(p, "role_arn"),
		.external_id = gpc_aws_profile_get(p, "external_id"),
		.mfa = gpc_aws_profile_get(p, "mfa_serial"),
		.session = gpc_aws_profile_get(p, "role_session_name"),
	};
	if (duration && gpc_parse_i64(duration, 900, 43200, "duration_seconds",
		&ret_role->duration_s, err) < 0)
		return gpc_fail(err, GPC_ECONFIG, "%s: duration_seconds is a "
			"number of seconds from 900 to 43200", where);
	ret_role->where = gpc_aws_profile_where(p, "role_arn");
	return 0;
}

/* --- sources --------------------------------------------------------------- */
static int from_place(struct gpc_aws_chain *c, const struct role *role,
	const char *place, struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	static const struct {
		const char *name;
		int (*find)(struct gpc_aws_chain *c,
			struct gpc_creds_found *ret_f, struct gpc_error *err);
	} places[] = {
		{"Environment", gpc_aws_from_env},
		{"Ec2InstanceMetadata", gpc_aws_from_metadata},
		{"EcsContainer", gpc_aws_from_container},
	};
	gpc_autostr *where = gpc_aws_profile_where(role->profile,
		"credential_source");
	gpc_autostr *shown = gpc_str_printable(place, strnlen(place, 60));
	int r;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (!gpc_eq_nocase(places[i].name, place))
			continue;
		r = places[i].find(c, ret_f, err);
		if (r || ret_f->identity.id)
			return r;
		return gpc_fail(err, GPC_EAUTH, "%s: credential_source is %s, "
			"but there are no credentials: %s", where,
			places[i].name, c->look->places->n ?
			c->look->places->v[c->look->places->n - 1] : "");
	}
	return gpc_fail(err, GPC_ECONFIG, "%s: credential_source \"%s\" is none "
		"of Environment, Ec2InstanceMetadata, EcsContainer", where,
		shown);
}

static int fail_circle(const struct gpc_aws_chain *c, const char *name,
	const char *where, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	for (size_t i = 0; i < c->n_visited; i++)
		gpc_buf_addf(&b, "%s -> ", c->visited[i]);
	return gpc_fail(err, GPC_ECONFIG, "%s: source_profile leads in a "
		"circle: %s%s", where, gpc_buf_str(&b), name);
}

/* Follows source_profile. One with keys of its own ends the row, also when it is
 * the profile itself. */
static int from_source(struct gpc_aws_chain *c, const struct role *role,
	const char *name, struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	gpc_autostr *where = gpc_aws_profile_where(role->profile,
		"source_profile");
	gpc_autostr *from = gpc_format("source_profile, %s", where);
	struct gpc_aws_profile source;
	bool seen = false;
	int r;

	if (!gpc_aws_profile_find(c->files, name, &source))
		return gpc_aws_no_profile(c->files, name, from, err);
	if (gpc_aws_has_role(&source) && !gpc_aws_has_keys(&source)) {
		for (size_t i = 0; i < c->n_visited; i++)
			seen |= strcmp(c->visited[i], name) == 0;
		if (seen)
			return fail_circle(c, name, where, err);
		return gpc_aws_from_role(c, &source, ret_f, err);
	}
	r = gpc_aws_from_profile(c, &source, false, ret_f, err);
	if (r || ret_f->identity.id)
		return r;
	r = gpc_fail(err, GPC_EAUTH, "%s: source_profile %s has no credentials",
		where, name);
	gpc_hint(err, "run: aws configure --profile %s", name);
	return r;
}

static int find_source(struct gpc_aws_chain *c, const struct role *role,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	const char *source = gpc_aws_profile_get(role->profile,
		"source_profile");
	const char *place = gpc_aws_profile_get(role->profile,
		"credential_source");

	if (source && place)
		return gpc_fail(err, GPC_ECONFIG, "%s: profile %s has both "
			"source_profile and credential_source: take one away",
			role->where, role->profile->name);
	if (!source && !place)
		return gpc_fail(err, GPC_ECONFIG, "%s: profile %s has role_arn, "
			"but neither source_profile nor credential_source",
			role->where, role->profile->name);
	return source ? from_source(c, role, source, ret_f, err) :
		from_place(c, role, place, ret_f, err);
}

/* --- the exchange ---------------------------------------------------------- */
/* Adds "name": "value" as Python's json prints it; false for what it would print
 * otherwise. */
static bool add_member(struct gpc_buf *b, const char *name, const char *value)
{
	for (const char *p = value; p && *p; p++)
		if (*p < ' ' || *p > '~' || *p == '"' || *p == '\\')
			return false;
	if (value)
		gpc_buf_addf(b, "%s\"%s\": \"%s\"", b->len > 1 ? ", " : "",
			name, value);
	return true;
}

static void open_cache(const struct role *role, struct gpc_aws_cache *cache)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	bool plain;

	gpc_buf_addc(&b, '{');
	if (role->duration_s)
		gpc_buf_addf(&b, "\"DurationSeconds\": %lld",
			(long long)role->duration_s);
	plain = add_member(&b, "ExternalId", role->external_id) &&
		add_member(&b, "RoleArn", role->arn) &&
		add_member(&b, "RoleSessionName", role->session) &&
		add_member(&b, "SerialNumber", role->mfa);
	gpc_buf_addc(&b, '}');
	gpc_aws_cache_open(plain ? gpc_buf_str(&b) : NULL, cache);
}

static int add_code(struct gpc_aws_chain *c, const struct role *role,
	struct gpc_pairs *form, struct gpc_error *err)
{
	gpc_autostr *question = gpc_format("MFA code for %s (profile %s)",
		role->mfa, role->profile->name);
	char *code = NULL;
	int r = gpc_creds_ask(c->look->settings, question, &code, err);

	if (r) {
		gpc_hint(err, "run at a terminal, or get keys first: aws "
			"configure export-credentials --profile %s",
			role->profile->name);
		return r;
	}
	gpc_pairs_add(form, "SerialNumber", role->mfa);
	gpc_pairs_add(form, "TokenCode", code);
	gpc_wipe_str(code);
	free(code);
	return 0;
}

static int assume(struct gpc_aws_chain *c, const struct role *role,
	const struct gpc_identity *by, struct gpc_identity *i,
	struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs form = {0};
	gpc_autostr *session = gpc_aws_session_name(role->session);
	const struct gpc_aws_sts how = {
		.chain = c, .by = by, .action = "AssumeRole",
		.role = role->arn, .where = role->where,
	};
	int r;

	gpc_pairs_add(&form, "RoleSessionName", session);
	if (role->duration_s)
		gpc_pairs_setf(&form, "DurationSeconds", "%lld",
			(long long)role->duration_s);
	if (role->external_id)
		gpc_pairs_add(&form, "ExternalId", role->external_id);
	r = role->mfa ? add_code(c, role, &form, err) : 0;
	return r ? r : gpc_aws_sts_call(&how, &form, i, err);
}

static int get_role(struct gpc_aws_chain *c, const struct role *role,
	struct gpc_identity *i, struct gpc_error *err)
{
	gpc_auto(gpc_creds_found) struct gpc_creds_found source = {0};
	gpc_auto(gpc_aws_cache) struct gpc_aws_cache cache = {0};
	int r;

	open_cache(role, &cache);
	if (!c->look->renew && gpc_aws_cache_get(&cache,
		gpc_net_now_ms(c->look->net), i))
		return 0;
	r = find_source(c, role, &source, err);
	if (!r)
		r = assume(c, role, &source.identity, i, err);
	if (!r)
		gpc_aws_cache_put(&cache, "assume-role", i);
	return r;
}

int gpc_aws_from_role(struct gpc_aws_chain *c, const struct gpc_aws_profile *p,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	struct role role;
	int r;

	if (!gpc_aws_has_role(p))
		return 0;
	if (c->n_visited == GPC_AWS_MAX_SOURCES)
		return gpc_fail(err, GPC_ECONFIG, "more than %d profiles name "
			"each other as source_profile", GPC_AWS_MAX_SOURCES);
	c->visited[c->n_visited++] = p->name;
	r = read_role(p, &role, err);
	if (r)
		return r;
	r = get_role(c, &role, &ret_f->identity, err);
	if (!r) {
		free(ret_f->identity.source);
		ret_f->identity.source = gpc_format("role %s of profile %s (%s)",
			role.arn, p->name, role.where);
	}
	free(role.where);
	return r;
}
