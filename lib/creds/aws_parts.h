/* What the files of the AWS chain share; not for other rooms.
 *
 * Each place of the chain is one function: 0 with found->identity.id NULL says that
 * it is not set up (and notes that), 0 with an id that it gave keys, and a failure
 * that it is set up and does not work, which ends the search. */
#pragma once
#include "creds/aws_files.h"
#include "creds/backend.h"

#define GPC_AWS_MAX_SOURCES 16          /* profiles that name each other */

struct gpc_aws_chain {
	const struct gpc_creds_look *look;
	const struct gpc_aws_files *files;
	const struct gpc_aws_profile *profile;  /* the chosen one */
	bool named;                     /* by hand: keys of the environment do not
	                                 * count */
	const char *visited[GPC_AWS_MAX_SOURCES];       /* by assuming roles */
	size_t n_visited;
};

int gpc_aws_from_env(struct gpc_aws_chain *c, struct gpc_creds_found *ret_f,
	struct gpc_error *err);
/* role_arn of a profile, with whom it names as the source. */
int gpc_aws_from_role(struct gpc_aws_chain *c, const struct gpc_aws_profile *p,
	struct gpc_creds_found *ret_f, struct gpc_error *err);
/* with_env: the variables count too, and the tokens of CI systems. */
int gpc_aws_from_web(struct gpc_aws_chain *c, const struct gpc_aws_profile *p,
	bool with_env, struct gpc_creds_found *ret_f, struct gpc_error *err);
int gpc_aws_from_sso(struct gpc_aws_chain *c, const struct gpc_aws_profile *p,
	struct gpc_creds_found *ret_f, struct gpc_error *err);
/* Keys in one of the files. section may be NULL. */
int gpc_aws_from_keys(struct gpc_aws_chain *c, const struct gpc_aws_profile *p,
	const struct gpc_ini_section *section, const char *file,
	struct gpc_creds_found *ret_f, struct gpc_error *err);
int gpc_aws_from_process(struct gpc_aws_chain *c,
	const struct gpc_aws_profile *p, struct gpc_creds_found *ret_f,
	struct gpc_error *err);
int gpc_aws_from_container(struct gpc_aws_chain *c,
	struct gpc_creds_found *ret_f, struct gpc_error *err);
int gpc_aws_from_metadata(struct gpc_aws_chain *c,
	struct gpc_creds_found *ret_f, struct gpc_error *err);
/* All that a profile itself can give, in the order of AWS's tools, but roles. */
int gpc_aws_from_profile(struct gpc_aws_chain *c,
	const struct gpc_aws_profile *p, bool with_env,
	struct gpc_creds_found *ret_f, struct gpc_error *err);

bool gpc_aws_has_keys(const struct gpc_aws_profile *p);
/* Has a role to be assumed with other keys. */
bool gpc_aws_has_role(const struct gpc_aws_profile *p);

/* Region by environment and profile, else NULL; borrowed. */
const char *gpc_aws_region(const struct gpc_aws_profile *p);
/* Of the instance; NULL: not on one. Owned. */
int gpc_aws_metadata_region(const struct gpc_creds_look *look,
	const struct gpc_aws_profile *p, char **ret_region,
	struct gpc_error *err);
/* A text of the metadata service, by version 2 alone; see struct gpc_creds_backend. */
int gpc_aws_metadata_text(const struct gpc_creds_look *look,
	const struct gpc_aws_profile *p, char **session, const char *path,
	char **ret_text, struct gpc_error *err);
/* The URL for a service: as configured, else the region's own. Owned. */
int gpc_aws_service_url(const struct gpc_aws_profile *p, const char *service,
	const char *region, char **ret_url, struct gpc_error *err);
/* See gpc_creds_setting. */
char *gpc_aws_setting(const struct gpc_aws_profile *p, const char *service,
	const char *name);

/* Keys that AWS's command line keeps on disk, in the same files and form: used by
 * both. Never an error: without it they are got anew. */
struct gpc_aws_cache { char *path; };           /* NULL: not kept */
/* By the text that AWS's tools hash. */
void gpc_aws_cache_open(const char *text, struct gpc_aws_cache *ret_c);
void gpc_aws_cache_clear(struct gpc_aws_cache *c);
GPC_CLEANUP_VALUE(gpc_aws_cache);
/* True with id, secret, token, end and account, when that end is not near. */
bool gpc_aws_cache_get(const struct gpc_aws_cache *c, int64_t now_ms,
	struct gpc_identity *i);
/* kind: "sso", "assume-role". */
void gpc_aws_cache_put(const struct gpc_aws_cache *c, const char *kind,
	const struct gpc_identity *i);
/* See gpc_creds_backend. */
int gpc_aws_whoami(const struct gpc_creds_look *look, struct gpc_identity *i,
	struct gpc_error *err);
