/* Settings of AWS's tools: the environment before the chosen profile, and for
 * endpoints the order of its own documentation. */
#include "creds/aws_parts.h"

#include <string.h>

#include "base/parse.h"
#include "net/endpoint_aws.h"

/* Settings that a variable can hold as well. */
static const struct { const char *name, *variable; } variables[] = {
	{"ca_bundle", "AWS_CA_BUNDLE"},
	{"ec2_metadata_service_endpoint", "AWS_EC2_METADATA_SERVICE_ENDPOINT"},
	{"ec2_metadata_service_endpoint_mode",
		"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"},
	{"ec2_metadata_v1_disabled", "AWS_EC2_METADATA_V1_DISABLED"},
	{"ignore_configured_endpoint_urls",
		"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"},
	{"metadata_service_num_attempts", "AWS_METADATA_SERVICE_NUM_ATTEMPTS"},
	{"metadata_service_timeout", "AWS_METADATA_SERVICE_TIMEOUT"},
	{"request_checksum_calculation", "AWS_REQUEST_CHECKSUM_CALCULATION"},
	{"response_checksum_validation", "AWS_RESPONSE_CHECKSUM_VALIDATION"},
	{"role_session_name", "AWS_ROLE_SESSION_NAME"},
	{"use_dualstack_endpoint", "AWS_USE_DUALSTACK_ENDPOINT"},
	{"use_fips_endpoint", "AWS_USE_FIPS_ENDPOINT"},
};

static bool is_true(const struct gpc_aws_profile *p, const char *name)
{
	gpc_autostr *value = gpc_aws_setting(p, NULL, name);
	struct gpc_error ignored;
	bool set = false;

	return value && gpc_parse_bool(value, name, &set, &ignored) == 0 && set;
}

static char *env_endpoint(const char *service)
{
	gpc_autostr *name = gpc_format("AWS_ENDPOINT_URL_%s", service);

	for (char *c = name; *c; c++) {
		if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - ('a' - 'A'));
		else if (*c == '-' || *c == ' ')
			*c = '_';
	}
	return gpc_strdup(gpc_creds_env(name));
}

static char *endpoint(const struct gpc_aws_profile *p, const char *service)
{
	char *url = service ? env_endpoint(service) : NULL;
	const struct gpc_ini_section *services;

	if (is_true(p, "ignore_configured_endpoint_urls")) {
		free(url);
		return NULL;
	}
	if (!url)
		url = gpc_strdup(gpc_creds_env("AWS_ENDPOINT_URL"));
	if (!url && service) {
		services = gpc_aws_files_section(p->files, "services",
			gpc_aws_profile_get(p, "services"));
		url = gpc_ini_sub(gpc_ini_get(services, service),
			"endpoint_url");
	}
	if (!url)
		url = gpc_strdup(gpc_aws_profile_get(p, "endpoint_url"));
	return url;
}

/* A value below "s3 =" and the like. */
static char *of_service(const struct gpc_aws_profile *p, const char *service,
	const char *name)
{
	char *value = gpc_ini_sub(gpc_ini_get(p->credentials, service), name);

	return value ? value : gpc_ini_sub(gpc_ini_get(p->config, service),
		name);
}

char *gpc_aws_setting(const struct gpc_aws_profile *p, const char *service,
	const char *name)
{
	if (strcmp(name, "endpoint_url") == 0)
		return endpoint(p, service);
	if (service)
		return of_service(p, service, name);
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *value = strcmp(variables[i].name, name) == 0 ?
			gpc_creds_env(variables[i].variable) : NULL;

		if (value)
			return gpc_strdup(value);
	}
	if (strcmp(name, "profile") == 0)
		return gpc_strdup(p->name);
	return gpc_strdup(gpc_aws_profile_get(p, name));
}

const char *gpc_aws_region(const struct gpc_aws_profile *p)
{
	const char *region = gpc_creds_env("AWS_REGION");

	if (!region)
		region = gpc_creds_env("AWS_DEFAULT_REGION");
	return region ? region : gpc_aws_profile_get(p, "region");
}

int gpc_aws_service_url(const struct gpc_aws_profile *p, const char *service,
	const char *region, char **ret_url, struct gpc_error *err)
{
	struct gpc_aws_place place = {
		.service = service, .region = region,
		.fips = is_true(p, "use_fips_endpoint"),
		.dualstack = is_true(p, "use_dualstack_endpoint"),
	};
	gpc_autostr *url = endpoint(p, service);
	gpc_autostr *usual = NULL;
	int r;

	if (url && (place.fips || place.dualstack))
		return gpc_fail(err, GPC_ECONFIG, "an endpoint URL is set for "
			"%s, and so is %s: both do not go together", service,
			place.fips ? "use_fips_endpoint" :
			"use_dualstack_endpoint");
	/* Also checks the region, which is signed for in any case. */
	r = gpc_aws_endpoint(&place, &usual, err);
	if (!r)
		*ret_url = url ? gpc_steal(&url) : gpc_steal(&usual);
	return r;
}
