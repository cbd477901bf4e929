/* Profiles of Alibaba Cloud's command line: each has a mode, which says what its
 * other fields are. Modes are compared without case, as there. */
#include "creds/alibaba_config.h"

#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "creds/identity.h"
#include "creds/process.h"
#include "creds/token.h"

#define MAX_BYTES ((size_t)1 << 20)

struct walk {
	const char *visited[GPC_ALIBABA_MAX_SOURCES];
	size_t n;
};
static int from_named(const struct gpc_creds_look *look,
	struct gpc_alibaba_config *c, const char *name, struct walk *walk,
	struct gpc_creds_found *ret_f, struct gpc_error *err);

/* --- the file -------------------------------------------------------------- */
int gpc_alibaba_config_load(struct gpc_alibaba_config *ret_c,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *path = NULL;
	struct gpc_error why = {0};
	int r = gpc_creds_file("ALIBABA_CLOUD_CONFIG_FILE",
		".aliyun/config.json", &path, err);

	if (r)
		return r;
	gpc_alibaba_config_clear(ret_c);
	ret_c->path = gpc_steal(&path);
	ret_c->shown = gpc_creds_show_path(ret_c->path);
	r = gpc_read_file(ret_c->path, MAX_BYTES, &b, &why);
	if (r == -GPC_ENOTFOUND)
		return 0;
	if (r)
		return gpc_fail(err, GPC_ECONFIG, "%s", why.msg);
	r = gpc_json_parse(gpc_buf_str(&b), b.len, &ret_c->j, &why);
	gpc_wipe(b.data, b.cap);
	/* What the parser says may show a part of the text. */
	return r ? gpc_fail(err, GPC_ECONFIG, "%s is no JSON", ret_c->shown) : 0;
}

void gpc_alibaba_config_clear(struct gpc_alibaba_config *c)
{
	free(c->path);
	free(c->shown);
	gpc_json_free(c->j);
	*c = (struct gpc_alibaba_config){0};
}

const struct gpc_json *gpc_alibaba_config_find(
	const struct gpc_alibaba_config *c, const char *name)
{
	const struct gpc_json *list = gpc_json_get(c->j, "profiles");

	for (const struct gpc_json *p = gpc_json_first(list); p;
		p = gpc_json_next(p))
		if (gpc_eq(gpc_json_get_str(p, "name"), name))
			return p;
	return NULL;
}

const char *gpc_alibaba_profile_get(const struct gpc_alibaba_profile *p,
	const char *key)
{
	const char *value = gpc_json_get_str(p->j, key);

	return value && *value ? value : NULL;
}

int gpc_alibaba_profile_lacks(const struct gpc_alibaba_profile *p,
	const char *key, struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_ECONFIG, "%s has no %s", p->where, key);

	gpc_hint(err, "run: aliyun configure --profile %s", p->name);
	return r;
}

char *gpc_alibaba_config_region(const struct gpc_alibaba_choice *choice)
{
	gpc_auto(gpc_alibaba_config) struct gpc_alibaba_config c = {0};
	const char *name, *region;
	struct gpc_error ignored;

	if (gpc_creds_env_true("ALIBABA_CLOUD_CLI_PROFILE_DISABLED") ||
		gpc_alibaba_config_load(&c, &ignored) < 0)
		return NULL;
	name = choice->name ? choice->name : gpc_json_get_str(c.j, "current");
	region = gpc_json_get_str(gpc_alibaba_config_find(&c,
		name ? name : "default"), "region_id");
	return gpc_strdup(region && *region ? region : NULL);
}

/* --- modes ----------------------------------------------------------------- */
static int get_keys(struct gpc_alibaba_profile *p, bool token,
	struct gpc_identity *i, struct gpc_error *err)
{
	const char *id = gpc_alibaba_profile_get(p, "access_key_id");
	const char *secret = gpc_alibaba_profile_get(p, "access_key_secret");
	const char *sts = gpc_alibaba_profile_get(p, "sts_token");
	int64_t end_s = gpc_json_get_int(p->j, "sts_expiration", 0);

	if (!id)
		return gpc_alibaba_profile_lacks(p, "access_key_id", err);
	if (!secret)
		return gpc_alibaba_profile_lacks(p, "access_key_secret", err);
	if (token && !sts)
		return gpc_alibaba_profile_lacks(p, "sts_token", err);
	i->expires_ms = token && end_s > 0 ? end_s * 1000 : 0;
	return gpc_identity_set_keys(i, id, secret, token ? sts : NULL,
		GPC_ALIBABA_TOKEN, p->where, err);
}

static void read_role(const struct gpc_alibaba_profile *p,
	struct gpc_alibaba_role *ret_role)
{
	*ret_role = (struct gpc_alibaba_role){
		.arn = gpc_alibaba_profile_get(p, "ram_role_arn"),
		.session = gpc_alibaba_profile_get(p, "ram_session_name"),
		.external_id = gpc_alibaba_profile_get(p, "external_id"),
		.policy = gpc_alibaba_profile_get(p, "policy"),
		.provider = gpc_alibaba_profile_get(p, "oidc_provider_arn"),
		.duration_s = gpc_json_get_int(p->j, "expired_seconds", 0),
		.region = gpc_alibaba_profile_get(p, "sts_region"),
		.vpc = gpc_json_bool_or(gpc_json_get(p->j, "enable_vpc"),
			false),
		.where = p->where,
	};
}

static int assume(struct gpc_alibaba_profile *p, const struct gpc_identity *by,
	struct gpc_identity *i, struct gpc_error *err)
{
	struct gpc_alibaba_role role;

	read_role(p, &role);
	return role.arn ? gpc_alibaba_assume(p->look, &role, by, i, err) :
		gpc_alibaba_profile_lacks(p, "ram_role_arn", err);
}

static int mode_role(struct gpc_alibaba_profile *p, struct gpc_identity *i,
	struct gpc_error *err)
{
	gpc_auto(gpc_identity) struct gpc_identity by = {0};
	bool token = gpc_alibaba_profile_get(p, "sts_token");
	int r = get_keys(p, token, &by, err);

	return r ? r : assume(p, &by, i, err);
}

/* The role of the instance takes another one. */
static int mode_role_of_instance(struct gpc_alibaba_profile *p,
	struct gpc_identity *i, struct gpc_error *err)
{
	gpc_auto(gpc_creds_found) struct gpc_creds_found by = {0};
	int r = gpc_alibaba_from_metadata(p->look,
		gpc_alibaba_profile_get(p, "ram_role_name"), true, &by, err);

	return r ? gpc_wrap(err, r, "%s", p->where) :
		assume(p, &by.identity, i, err);
}

static int mode_oidc(struct gpc_alibaba_profile *p, struct gpc_identity *i,
	struct gpc_error *err)
{
	const char *file = gpc_alibaba_profile_get(p, "oidc_token_file");
	gpc_autostr *path = file ? gpc_creds_expand(file) : NULL;
	gpc_autotoken *token = NULL;
	struct gpc_alibaba_role role;
	int r;

	read_role(p, &role);
	if (!role.arn || !role.provider || !file)
		return gpc_alibaba_profile_lacks(p, !role.arn ? "ram_role_arn" :
			!role.provider ? "oidc_provider_arn" :
			"oidc_token_file", err);
	r = gpc_token_read(p->where, path, &token, err);
	return r ? r : gpc_alibaba_assume_oidc(p->look, &role, token, i, err);
}

static int mode_chain(struct gpc_alibaba_profile *p, struct walk *walk,
	struct gpc_identity *i, struct gpc_error *err)
{
	const char *source = gpc_alibaba_profile_get(p, "source_profile");
	gpc_auto(gpc_creds_found) struct gpc_creds_found by = {0};
	int r;

	if (!source)
		return gpc_alibaba_profile_lacks(p, "source_profile", err);
	r = from_named(p->look, p->config, source, walk, &by, err);
	if (r)
		return gpc_wrap(err, r, "source_profile of %s", p->where);
	return assume(p, &by.identity, i, err);
}

static bool may_run(const struct gpc_alibaba_profile *p, const char *mode,
	int *ret_r, struct gpc_error *err)
{
	if (!gpc_creds_env_true("ALIBABA_CLOUD_DISABLE_EXTERNAL_PROCESS"))
		return true;
	*ret_r = gpc_fail(err, GPC_EAUTH, "%s has the mode %s, and "
		"ALIBABA_CLOUD_DISABLE_EXTERNAL_PROCESS forbids it", p->where,
		mode);
	return false;
}

static int read_output(struct gpc_alibaba_profile *p, struct gpc_buf *out,
	struct gpc_identity *i, struct gpc_error *err)
{
	static const struct gpc_identity_names names = {
		.id = "access_key_id", .secret = "access_key_secret",
		.token = "sts_token", .expires_at = "expiration",
		.lasting = true, .no_token = true,
	};
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_error ignored;
	const char *mode;

	if (gpc_json_parse(gpc_buf_str(out), out->len, &j, &ignored) < 0)
		return gpc_fail(err, GPC_EAUTH, "it printed no JSON");
	mode = gpc_json_get_str(j, "mode");
	if (!gpc_eq_nocase(mode, "AK") && !gpc_eq_nocase(mode, "StsToken"))
		return gpc_fail(err, GPC_EAUTH, "it printed JSON whose mode is "
			"neither AK nor StsToken");
	return gpc_identity_read(j, &names, gpc_net_now_ms(p->look->net), i,
		err);
}

static int mode_external(struct gpc_alibaba_profile *p, struct gpc_identity *i,
	struct gpc_error *err)
{
	const char *command = gpc_alibaba_profile_get(p, "process_command");
	gpc_auto(gpc_strv) struct gpc_strv argv = {0};
	gpc_auto(gpc_buf) struct gpc_buf out = {0};
	const struct gpc_process process = {
		.argv = &argv, .cancel = p->look->settings->cancel,
		.may_ask = !p->look->settings->no_prompt,
	};
	int r = 0;

	if (!may_run(p, "External", &r, err))
		return r;
	if (!command)
		return gpc_alibaba_profile_lacks(p, "process_command", err);
	r = gpc_process_split(command, &argv, err);
	if (!r)
		r = gpc_process_run(&process, &out, err);
	if (!r)
		r = read_output(p, &out, i, err);
	gpc_wipe(out.data, out.cap);
	return gpc_wrap(err, r, "process_command of %s", p->where);
}

static int mode_uri(struct gpc_alibaba_profile *p,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	const char *url = gpc_alibaba_profile_get(p, "credentials_uri");
	int r = 0;

	if (!may_run(p, "CredentialsURI", &r, err))
		return r;
	if (!url)
		url = gpc_creds_env("ALIBABA_CLOUD_CREDENTIALS_URI");
	return url ? gpc_alibaba_from_uri(p->look, url, p->where, ret_f, err) :
		gpc_alibaba_profile_lacks(p, "credentials_uri", err);
}

static int refuse_mode(const struct gpc_alibaba_profile *p, const char *mode,
	struct gpc_error *err)
{
	gpc_autostr *shown = gpc_str_printable(mode, strnlen(mode, 40));
	gpc_autostr *name = gpc_shell_quote(p->name);
	int r = gpc_fail(err, GPC_EUNSUPPORTED, "%s has the mode %s, which "
		"gpucloud does not support", p->where, shown);

	gpc_hint(err, "run: aliyun configure --mode OAuth --profile %s; AK, "
		"StsToken, RamRoleArn, RamRoleArnWithRoleName, EcsRamRole, "
		"OIDC, ChainableRamRoleArn, External, CredentialsURI and "
		"CloudSSO do as well", name);
	return r;
}

static int by_mode(struct gpc_alibaba_profile *p, const char *mode,
	struct walk *walk, struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	struct gpc_identity *i = &ret_f->identity;

	if (gpc_eq_nocase(mode, "AK"))
		return get_keys(p, false, i, err);
	if (gpc_eq_nocase(mode, "StsToken"))
		return get_keys(p, true, i, err);
	if (gpc_eq_nocase(mode, "RamRoleArn"))
		return mode_role(p, i, err);
	if (gpc_eq_nocase(mode, "EcsRamRole"))
		return gpc_wrap(err, gpc_alibaba_from_metadata(p->look,
			gpc_alibaba_profile_get(p, "ram_role_name"), true,
			ret_f, err), "%s", p->where);
	if (gpc_eq_nocase(mode, "RamRoleArnWithRoleName"))
		return mode_role_of_instance(p, i, err);
	if (gpc_eq_nocase(mode, "OIDC"))
		return mode_oidc(p, i, err);
	if (gpc_eq_nocase(mode, "ChainableRamRoleArn"))
		return mode_chain(p, walk, i, err);
	if (gpc_eq_nocase(mode, "External"))
		return mode_external(p, i, err);
	if (gpc_eq_nocase(mode, "CredentialsURI"))
		return mode_uri(p, ret_f, err);
	if (gpc_eq_nocase(mode, "CloudSSO"))
		return gpc_alibaba_from_sso(p, i, err);
	if (gpc_eq_nocase(mode, "OAuth"))
		return gpc_alibaba_from_oauth(p, i, err);
	return refuse_mode(p, mode, err);
}

static int enter(struct walk *walk, const char *name, const char *where,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	bool seen = walk->n == GPC_ALIBABA_MAX_SOURCES;

	for (size_t i = 0; i < walk->n; i++) {
		seen |= strcmp(walk->visited[i], name) == 0;
		gpc_buf_addf(&b, "%s -> ", walk->visited[i]);
	}
	if (seen)
		return gpc_fail(err, GPC_ECONFIG, "%s: source_profile leads in "
			"a circle: %s%s", where, gpc_buf_str(&b), name);
	walk->visited[walk->n++] = name;
	return 0;
}

static int from_named(const struct gpc_creds_look *look,
	struct gpc_alibaba_config *c, const char *name, struct walk *walk,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	gpc_autostr *where = gpc_format("profile %s in %s", name, c->shown);
	struct gpc_alibaba_profile p = {
		.look = look, .config = c, .name = name, .where = where,
		.j = gpc_alibaba_config_find(c, name),
	};
	const char *mode = gpc_alibaba_profile_get(&p, "mode");
	int r;

	if (!p.j)
		return gpc_fail(err, GPC_EAUTH, "there is no profile %s in %s",
			name, c->shown);
	r = enter(walk, name, where, err);
	if (!r)
		r = by_mode(&p, mode ? mode : "AK", walk, ret_f, err);
	if (r)
		return r;
	free(ret_f->identity.source);
	ret_f->identity.source = gpc_steal(&where);
	return 0;
}

/* `aliyun configure` that was given up leaves a profile without anything. */
static bool is_blank(const struct gpc_json *j)
{
	const char *mode = gpc_json_get_str(j, "mode");
	const char *id = gpc_json_get_str(j, "access_key_id");

	return (!mode || !*mode || gpc_eq_nocase(mode, "AK")) && (!id || !*id);
}

int gpc_alibaba_from_config(const struct gpc_creds_look *look,
	const struct gpc_alibaba_choice *choice, bool *ret_exists,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	gpc_auto(gpc_alibaba_config) struct gpc_alibaba_config c = {0};
	const struct gpc_json *j;
	gpc_autostr *name = NULL;
	struct walk walk = {.n = 0};
	int r = gpc_alibaba_config_load(&c, err);

	if (r)
		return r;
	if (!c.j) {
		gpc_creds_saw(look, "%s does not exist", c.shown);
		return 0;
	}
	name = gpc_strdup(choice->name ? choice->name :
		gpc_json_get_str(c.j, "current"));
	if (!name || !*name)
		gpc_set_str(&name, "default");
	j = gpc_alibaba_config_find(&c, name);
	*ret_exists = j != NULL;
	if (j && !is_blank(j))
		return from_named(look, &c, name, &walk, ret_f, err);
	gpc_creds_saw(look, j ? "profile %s in %s names no credentials" :
		"there is no profile %s in %s", name, c.shown);
	return 0;
}
