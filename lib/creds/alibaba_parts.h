/* What the files of the Alibaba Cloud chain share; not for other rooms.
 *
 * Each place of the chain is one function: 0 with found->identity.id NULL says that
 * it is not set up (and notes that), 0 with an id that it gave keys, and a failure
 * that it is set up and does not work, which ends the search: Alibaba's own tools
 * would go on and use somebody else's keys. */
#pragma once
#include <stdbool.h>

#include "base/map.h"
#include "creds/backend.h"
#include "dep/json.h"

#define GPC_ALIBABA_TOKEN "the security token"
#define GPC_ALIBABA_MAX_SOURCES 16      /* profiles that name each other */

/* The name of the profile, and who chose it. */
struct gpc_alibaba_choice {
	const char *name;               /* NULL: as the file says */
	const char *from;               /* "ALIBABA_CLOUD_PROFILE"; NULL: nobody */
	bool named;                     /* by hand: the environment does not count */
};

int gpc_alibaba_from_env(const struct gpc_creds_look *look,
	struct gpc_creds_found *ret_f, struct gpc_error *err);
bool gpc_alibaba_has_env(void);         /* such keys are set */
/* ALIBABA_CLOUD_ROLE_ARN by a token of Kubernetes or a CI system. */
int gpc_alibaba_from_oidc(const struct gpc_creds_look *look,
	struct gpc_creds_found *ret_f, struct gpc_error *err);
/* Names without a family (ACCESS_KEY_ID), which the command line takes where its
 * file has no keys; any program may use them for something else. */
int gpc_alibaba_from_bare_env(struct gpc_creds_found *ret_f,
	struct gpc_error *err);
/* ~/.aliyun/config.json. ret_exists: has the profile. */
int gpc_alibaba_from_config(const struct gpc_creds_look *look,
	const struct gpc_alibaba_choice *choice, bool *ret_exists,
	struct gpc_creds_found *ret_f, struct gpc_error *err);
/* ~/.alibabacloud/credentials. */
int gpc_alibaba_from_ini(const struct gpc_creds_look *look,
	const struct gpc_alibaba_choice *choice, bool *ret_exists,
	struct gpc_creds_found *ret_f, struct gpc_error *err);
/* The role of the instance. role NULL: the one that it has. must: that there is
 * none is a failure. */
int gpc_alibaba_from_metadata(const struct gpc_creds_look *look,
	const char *role, bool must, struct gpc_creds_found *ret_f,
	struct gpc_error *err);
/* A credentials URI; where: what names it. */
int gpc_alibaba_from_uri(const struct gpc_creds_look *look, const char *url,
	const char *where, struct gpc_creds_found *ret_f, struct gpc_error *err);

/* The first of ALIBABA_CLOUD_X, ALIBABACLOUD_X, ALICLOUD_X that is set. */
const char *gpc_alibaba_env(const char *name);
/* Region of the instance; *ret_region stays NULL where there is none. Owned. */
int gpc_alibaba_metadata_region(const struct gpc_creds_look *look,
	char **ret_region, struct gpc_error *err);
/* region_id of the profile in config.json; owned, NULL: not set. */
char *gpc_alibaba_config_region(const struct gpc_alibaba_choice *choice);
/* The choice by settings and environment. */
void gpc_alibaba_choose(const struct gpc_creds_settings *settings,
	struct gpc_alibaba_choice *ret_choice);
/* GPC_EAUTH with the command that lists profiles. */
int gpc_alibaba_no_profile(const struct gpc_alibaba_choice *choice,
	struct gpc_error *err);

/* --- roles ----------------------------------------------------------------- */
struct gpc_alibaba_role {
	const char *arn;                /* acs:ram::123:role/name */
	const char *session, *external_id, *policy;     /* NULL: not set */
	const char *provider;           /* OIDC: acs:ram::123:oidc-provider/name */
	int64_t duration_s;             /* 0: not set */
	const char *region;             /* whose STS; NULL: the central one */
	bool vpc;                       /* by the address inside a VPC */
	const char *where;              /* what asks for it, for messages */
};
/* AssumeRole, signed by *by. Fills keys, end and account of *i; not its source. */
int gpc_alibaba_assume(const struct gpc_creds_look *look,
	const struct gpc_alibaba_role *role, const struct gpc_identity *by,
	struct gpc_identity *i, struct gpc_error *err);
/* AssumeRoleWithOIDC: not signed, the token says who asks. */
int gpc_alibaba_assume_oidc(const struct gpc_creds_look *look,
	const struct gpc_alibaba_role *role, const char *token,
	struct gpc_identity *i, struct gpc_error *err);
/* See gpc_creds_backend. */
int gpc_alibaba_whoami(const struct gpc_creds_look *look,
	struct gpc_identity *i, struct gpc_error *err);
