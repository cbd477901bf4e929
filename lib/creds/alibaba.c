/* The chain of Alibaba Cloud, in the order of its own tools:
 *
 *   1  keys in the environment            2  OIDC (Kubernetes, CI systems)
 *   3  ~/.aliyun/config.json              4  ~/.alibabacloud/credentials
 *   5  ACCESS_KEY_ID in the environment   6  instance metadata
 *   7  ALIBABA_CLOUD_CREDENTIALS_URI
 *
 * A profile that is named by hand goes before the environment. Whatever is set up
 * and fails ends the search; only metadata that does not answer does not. */
#include <string.h>

#include "base/str.h"
#include "creds/alibaba_parts.h"

void gpc_alibaba_choose(const struct gpc_creds_settings *settings,
	struct gpc_alibaba_choice *ret_choice)
{
	const char *name = gpc_alibaba_env("PROFILE");

	*ret_choice = (struct gpc_alibaba_choice){
		.name = name, .from = name ? "ALIBABA_CLOUD_PROFILE" : NULL,
	};
	if (settings->profile && *settings->profile)
		*ret_choice = (struct gpc_alibaba_choice){
			.name = settings->profile, .named = true,
			.from = "the command line or configuration",
		};
}

int gpc_alibaba_no_profile(const struct gpc_alibaba_choice *choice,
	struct gpc_error *err)
{
	gpc_autostr *shown = gpc_str_printable(choice->name,
		strnlen(choice->name, 100));
	int r = gpc_fail(err, GPC_EAUTH, "there is no profile \"%s\" in the "
		"files of Alibaba Cloud's tools (named by %s)", shown,
		choice->from);

	gpc_hint(err, "list them: aliyun configure list");
	return r;
}

static int from_files(const struct gpc_creds_look *look,
	const struct gpc_alibaba_choice *choice, struct gpc_creds_found *ret_f,
	struct gpc_error *err)
{
	bool in_config = false, in_ini = false;
	int r = 0;

	if (gpc_creds_env_true("ALIBABA_CLOUD_CLI_PROFILE_DISABLED"))
		gpc_creds_saw(look, "ALIBABA_CLOUD_CLI_PROFILE_DISABLED is set");
	else
		r = gpc_alibaba_from_config(look, choice, &in_config, ret_f,
			err);
	if (!r && !ret_f->identity.id)
		r = gpc_alibaba_from_ini(look, choice, &in_ini, ret_f, err);
	if (!r && choice->from && !in_config && !in_ini)
		r = gpc_alibaba_no_profile(choice, err);
	return r;
}

static int from_uri(const struct gpc_creds_look *look,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	const char *url = gpc_creds_env("ALIBABA_CLOUD_CREDENTIALS_URI");

	if (url)
		return gpc_alibaba_from_uri(look, url,
			"ALIBABA_CLOUD_CREDENTIALS_URI", ret_f, err);
	gpc_creds_saw(look, "ALIBABA_CLOUD_CREDENTIALS_URI is not set");
	return 0;
}

/* The region beside the keys, where it costs no request. */
static char *region_of(const struct gpc_alibaba_choice *choice)
{
	const char *set = gpc_alibaba_env("REGION_ID");

	return set ? gpc_strdup(set) : gpc_alibaba_config_region(choice);
}

static int find(const struct gpc_creds_look *look,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	const struct gpc_identity *i = &ret_f->identity;
	struct gpc_alibaba_choice choice;
	int r = 0;

	gpc_alibaba_choose(look->settings, &choice);
	if (!choice.named)
		r = gpc_alibaba_from_env(look, ret_f, err);
	if (!r && !i->id && !choice.named)
		r = gpc_alibaba_from_oidc(look, ret_f, err);
	if (!r && !i->id)
		r = from_files(look, &choice, ret_f, err);
	if (!r && !i->id && !choice.named)
		r = gpc_alibaba_from_bare_env(ret_f, err);
	if (!r && !i->id)
		r = gpc_alibaba_from_metadata(look,
			gpc_creds_env("ALIBABA_CLOUD_ECS_METADATA"), false,
			ret_f, err);
	if (!r && !i->id)
		r = from_uri(look, ret_f, err);
	if (!r && i->id && !i->region)
		ret_f->identity.region = region_of(&choice);
	return r;
}

static int find_region(const struct gpc_creds_look *look, char **ret_region,
	struct gpc_error *err)
{
	struct gpc_alibaba_choice choice;

	gpc_alibaba_choose(look->settings, &choice);
	*ret_region = region_of(&choice);
	/* Who has keys of another place gets no region from the instance either,
	 * and does not wait for it. */
	if (*ret_region || (!choice.named && gpc_alibaba_has_env()))
		return 0;
	return gpc_alibaba_metadata_region(look, ret_region, err);
}

/* Endpoints of services: ALIBABA_CLOUD_OSS_ENDPOINT, and that of the OSS tools. */
static char *find_setting(const struct gpc_creds_look *look,
	const char *service, const char *name)
{
	gpc_autostr *variable = NULL;
	const char *value;

	(void)look;
	if (!service || strcmp(name, "endpoint_url") != 0)
		return NULL;
	variable = gpc_format("ALIBABA_CLOUD_%s_ENDPOINT", service);
	for (char *c = variable; *c; c++) {
		if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - ('a' - 'A'));
		else if (*c == '-')
			*c = '_';
	}
	value = gpc_creds_env(variable);
	if (!value && strcmp(service, "oss") == 0)
		value = gpc_creds_env("OSS_ENDPOINT");
	return gpc_strdup(value);
}

const struct gpc_creds_backend gpc_creds_alibaba = {
	.title = "Alibaba Cloud",
	.hint = "run aliyun configure, or set ALIBABA_CLOUD_ACCESS_KEY_ID and "
		"ALIBABA_CLOUD_ACCESS_KEY_SECRET",
	.find = find,
	.region = find_region,
	.setting = find_setting,
	.whoami = gpc_alibaba_whoami,
	.try_s = 180,
	.must_s = 60,
};
