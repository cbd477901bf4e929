/* The chain of AWS, in the order of its own command line:
 *
 *   1  keys in the environment            2  a role of the profile
 *   3  web identity                       4  SSO
 *   5  keys in the credentials file       6  a login session (not supported)
 *   7  credential_process                 8  keys in the config file
 *   9  the container's endpoint          10  instance metadata
 *
 * A profile that is named by hand goes before the environment. Whatever is set up
 * and fails ends the search; only metadata that does not answer does not. */
#include <string.h>

#include "creds/aws_parts.h"

/* What `aws login` leaves: its renewal is bound to a key that we do not use. */
static int refuse_login(const struct gpc_aws_profile *p, struct gpc_error *err)
{
	gpc_autostr *where = gpc_aws_profile_where(p, "login_session");
	int r;

	if (!gpc_aws_profile_get(p, "login_session"))
		return 0;
	r = gpc_fail(err, GPC_EAUTH, "%s: profile %s has a login_session (aws "
		"login), which gpucloud does not support", where, p->name);
	gpc_hint(err, "run: eval \"$(aws configure export-credentials --format "
		"env --profile %s)\"", p->name);
	return r;
}

int gpc_aws_from_profile(struct gpc_aws_chain *c,
	const struct gpc_aws_profile *p, bool with_env,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	const struct gpc_identity *i = &ret_f->identity;
	int r = gpc_aws_from_web(c, p, with_env, ret_f, err);

	if (!r && !i->id)
		r = gpc_aws_from_sso(c, p, ret_f, err);
	if (!r && !i->id)
		r = gpc_aws_from_keys(c, p, p->credentials,
			c->files->credentials_shown, ret_f, err);
	if (!r && !i->id)
		r = refuse_login(p, err);
	if (!r && !i->id)
		r = gpc_aws_from_process(c, p, ret_f, err);
	if (!r && !i->id)
		r = gpc_aws_from_keys(c, p, p->config, c->files->config_shown,
			ret_f, err);
	return r;
}

/* A profile gave nothing: why, file by file. */
static void say_files(const struct gpc_aws_chain *c)
{
	const struct gpc_aws_profile *p = c->profile;
	const struct {
		const struct gpc_ini *ini;
		const struct gpc_ini_section *section;
		const char *shown;
	} files[] = {
		{&c->files->credentials, p->credentials,
			c->files->credentials_shown},
		{&c->files->config, p->config, c->files->config_shown},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		if (!files[i].ini->path)
			gpc_creds_saw(c->look, "%s does not exist",
				files[i].shown);
		else if (!files[i].section)
			gpc_creds_saw(c->look, "%s has no profile %s",
				files[i].shown, p->name);
		else
			gpc_creds_saw(c->look, "profile %s in %s names no "
				"credentials", p->name, files[i].shown);
	}
}

/* Where a profile is missing that somebody named, keys of the environment still
 * count, unless it was named by hand. */
static int search(struct gpc_aws_chain *c, const char *from, bool exists,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	const struct gpc_identity *i = &ret_f->identity;
	int r = 0;

	if (!c->named)
		r = gpc_aws_from_env(c, ret_f, err);
	if (!r && !i->id && from && !exists)
		return gpc_aws_no_profile(c->files, c->profile->name, from,
			err);
	if (!r && !i->id)
		r = gpc_aws_from_role(c, c->profile, ret_f, err);
	if (!r && !i->id)
		r = gpc_aws_from_profile(c, c->profile, !c->named, ret_f, err);
	if (!r && !i->id) {
		say_files(c);
		r = gpc_aws_from_container(c, ret_f, err);
	}
	if (!r && !i->id)
		r = gpc_aws_from_metadata(c, ret_f, err);
	return r;
}

/* The two files and the chosen profile in them. */
static int open_profile(const struct gpc_creds_look *look,
	struct gpc_aws_files *ret_files, struct gpc_aws_profile *ret_p,
	const char **ret_from, bool *ret_exists, struct gpc_error *err)
{
	const char *name = gpc_aws_profile_name(look->settings, ret_from);
	int r = gpc_aws_files_load(ret_files, err);

	if (!r)
		*ret_exists = gpc_aws_profile_find(ret_files, name, ret_p);
	return r;
}

static int find(const struct gpc_creds_look *look,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	gpc_auto(gpc_aws_files) struct gpc_aws_files files = {0};
	struct gpc_aws_profile profile;
	struct gpc_aws_chain chain = {
		.look = look, .files = &files, .profile = &profile,
		.named = look->settings->profile && *look->settings->profile,
	};
	const char *from, *region;
	bool exists = false;
	int r = open_profile(look, &files, &profile, &from, &exists, err);

	if (!r)
		r = search(&chain, from, exists, ret_f, err);
	region = r ? NULL : gpc_aws_region(&profile);
	if (region && ret_f->identity.id)
		gpc_set_str(&ret_f->identity.region, region);
	return r;
}

/* Whether our keys may be those of the instance that we run on. Those who have
 * others get no region from there either, and do not wait for it. */
static bool may_be_instance(const struct gpc_creds_look *look,
	const struct gpc_aws_profile *p)
{
	static const char *const keys[] = {
		"aws_access_key_id", "credential_process", "role_arn",
		"sso_account_id", "web_identity_token_file",
	};
	bool named = look->settings->profile && *look->settings->profile;

	if (gpc_eq_nocase(gpc_aws_profile_get(p, "credential_source"),
		"Ec2InstanceMetadata"))
		return true;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (gpc_aws_profile_get(p, keys[i]))
			return false;
	return named || (!gpc_creds_env("AWS_ACCESS_KEY_ID") &&
		!gpc_creds_env("AWS_WEB_IDENTITY_TOKEN_FILE"));
}

static int find_region(const struct gpc_creds_look *look, char **ret_region,
	struct gpc_error *err)
{
	gpc_auto(gpc_aws_files) struct gpc_aws_files files = {0};
	struct gpc_aws_profile profile;
	const char *from, *region;
	bool exists = false;
	int r = open_profile(look, &files, &profile, &from, &exists, err);

	if (r)
		return r;
	region = gpc_aws_region(&profile);
	if (region) {
		*ret_region = gpc_strdup(region);
		return 0;
	}
	if (from && !exists && !gpc_creds_env("AWS_ACCESS_KEY_ID"))
		return gpc_aws_no_profile(&files, profile.name, from, err);
	if (!may_be_instance(look, &profile))
		return 0;
	return gpc_aws_metadata_region(look, &profile, ret_region, err);
}

static char *find_setting(const struct gpc_creds_look *look,
	const char *service, const char *name)
{
	gpc_auto(gpc_aws_files) struct gpc_aws_files files = {0};
	struct gpc_aws_profile profile;
	struct gpc_error ignored;
	const char *from;
	bool exists;

	if (open_profile(look, &files, &profile, &from, &exists, &ignored) < 0)
		return NULL;
	return gpc_aws_setting(&profile, service, name);
}

static int find_machine(const struct gpc_creds_look *look, char **session,
	const char *path, char **ret_text, struct gpc_error *err)
{
	gpc_auto(gpc_aws_files) struct gpc_aws_files files = {0};
	struct gpc_aws_profile profile;
	const char *from;
	bool exists;
	int r = open_profile(look, &files, &profile, &from, &exists, err);

	return r ? r : gpc_aws_metadata_text(look, &profile, session, path,
		ret_text, err);
}

static int find_service_url(const struct gpc_creds_look *look,
	const char *service, const char *region, char **ret_url,
	struct gpc_error *err)
{
	gpc_auto(gpc_aws_files) struct gpc_aws_files files = {0};
	struct gpc_aws_profile profile;
	const char *from;
	bool exists;
	int r = open_profile(look, &files, &profile, &from, &exists, err);

	return r < 0 ? r : gpc_aws_service_url(&profile, service, region,
		ret_url, err);
}

const struct gpc_creds_backend gpc_creds_aws = {
	.title = "AWS",
	.hint = "run aws configure or aws sso login, or set AWS_ACCESS_KEY_ID "
		"and AWS_SECRET_ACCESS_KEY",
	.find = find,
	.region = find_region,
	.setting = find_setting,
	.service_url = find_service_url,
	.whoami = gpc_aws_whoami,
	.machine = find_machine,
};
