/* ~/.aliyun/config.json, the file of Alibaba Cloud's command line, and a profile
 * in it; not for other rooms. */
#pragma once
#include "creds/alibaba_parts.h"

struct gpc_alibaba_config {
	char *path, *shown;             /* shown: for people */
	struct gpc_json *j;             /* NULL: there is no such file */
};
/* ALIBABA_CLOUD_CONFIG_FILE, or where it usually is. ret_c must be zero. */
int gpc_alibaba_config_load(struct gpc_alibaba_config *ret_c,
	struct gpc_error *err) gpc_must_check;
void gpc_alibaba_config_clear(struct gpc_alibaba_config *c);
GPC_CLEANUP_VALUE(gpc_alibaba_config);
/* NULL: none; borrowed. */
const struct gpc_json *gpc_alibaba_config_find(
	const struct gpc_alibaba_config *c, const char *name);

struct gpc_alibaba_profile {
	const struct gpc_creds_look *look;
	struct gpc_alibaba_config *config;
	const struct gpc_json *j;       /* of config */
	const char *name;
	const char *where;              /* "profile dev in ~/.aliyun/config.json" */
};
/* NULL where it is not set, or empty. */
const char *gpc_alibaba_profile_get(const struct gpc_alibaba_profile *p,
	const char *key);
/* That a mode lacks this. Returns -GPC_ECONFIG. */
int gpc_alibaba_profile_lacks(const struct gpc_alibaba_profile *p,
	const char *key, struct gpc_error *err);

/* Modes by a login of a person; an ended one says which command to run. OAuth
 * renews it, and writes that into the file. Both fill keys and end of *i. */
int gpc_alibaba_from_sso(const struct gpc_alibaba_profile *p,
	struct gpc_identity *i, struct gpc_error *err);
int gpc_alibaba_from_oauth(const struct gpc_alibaba_profile *p,
	struct gpc_identity *i, struct gpc_error *err);
