/* The two files of AWS's tools, ~/.aws/config and ~/.aws/credentials, and the
 * profiles in them; not for other rooms. */
#pragma once
#include <stdbool.h>

#include "creds/backend.h"
#include "creds/ini.h"

struct gpc_aws_files {
	struct gpc_ini config, credentials;
	char *config_shown, *credentials_shown; /* their paths, for people */
};
/* AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE, or where they usually are.
 * Absent files are empty ones. ret_files must be zero. */
int gpc_aws_files_load(struct gpc_aws_files *ret_files, struct gpc_error *err)
	gpc_must_check;
void gpc_aws_files_clear(struct gpc_aws_files *files);
GPC_CLEANUP_VALUE(gpc_aws_files);

/* A profile: what both files say of it, the credentials file first. All of it is
 * borrowed from the files, but the name, which is the caller's. */
struct gpc_aws_profile {
	const char *name;
	const struct gpc_aws_files *files;
	const struct gpc_ini_section *config, *credentials;
};
/* False: in neither file. *ret_p is filled all the same. */
bool gpc_aws_profile_find(const struct gpc_aws_files *files, const char *name,
	struct gpc_aws_profile *ret_p);
/* NULL where it is not set, or empty. */
const char *gpc_aws_profile_get(const struct gpc_aws_profile *p,
	const char *key);
/* "~/.aws/config:12" of a key; of the profile, when the key is not set; owned. */
char *gpc_aws_profile_where(const struct gpc_aws_profile *p, const char *key);
/* [kind name] of the config file ("sso-session", "services"); NULL: none. */
const struct gpc_ini_section *gpc_aws_files_section(
	const struct gpc_aws_files *files, const char *kind, const char *name);
const char *gpc_aws_section_get(const struct gpc_ini_section *s,
	const char *key);
/* Names of all profiles; one that is in both files stands twice. */
void gpc_aws_files_profiles(const struct gpc_aws_files *files,
	struct gpc_strv *ret_names);

/* The profile by --profile, AWS_PROFILE, AWS_DEFAULT_PROFILE, "default". */
const char *gpc_aws_profile_name(const struct gpc_creds_settings *settings,
	const char **ret_from);
/* GPC_EAUTH that a profile exists in neither file, with the name it is near to.
 * from: "AWS_PROFILE", "profile dev (~/.aws/config:3)". */
int gpc_aws_no_profile(const struct gpc_aws_files *files, const char *name,
	const char *from, struct gpc_error *err);
