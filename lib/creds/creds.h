/* Who we are at a cloud: each cloud's own chain of places where credentials come
 * from, in its own order, renewed before they end.
 *
 * Only asked when a request is about to be signed: commands that need no
 * credentials never look. A place that is set up but fails is an error, not a
 * reason to go on to the next (as the clouds' own tools have it), except where
 * the cloud's fact says otherwise. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/mem.h"
#include "net/net.h"

enum gpc_cloud { GPC_CLOUD_AWS, GPC_CLOUD_ALIBABA, GPC_CLOUD_GCP, GPC_CLOUD__COUNT };

struct gpc_identity {
	char *id, *secret, *token;      /* key pairs; token NULL: lasting */
	char *bearer;                   /* Google: an OAuth access token */
	int64_t expires_ms;             /* 0: does not end */
	char *source;                   /* for people: "profile dev in ~/.aws/config" */
	char *account;                  /* account or project id where known, or NULL */
	char *name;                     /* ARN or e-mail where the chain says it, or NULL */
	char *quota_project;            /* Google: goes into x-goog-user-project, or NULL */
	char *region;                   /* what the chain says beside it, or NULL */
};
void gpc_identity_clear(struct gpc_identity *i);        /* wipes secrets */
GPC_CLEANUP_VALUE(gpc_identity);
void gpc_identity_copy(struct gpc_identity *to, const struct gpc_identity *from);

struct gpc_creds_settings {
	enum gpc_cloud cloud;
	const char *profile;            /* named on the command line or in config;
	                                 * of Google: a credentials file; NULL:
	                                 * as the cloud's tools choose */
	bool no_prompt;                 /* an MFA code may not be asked for */
	/* Asks a person, such as for an MFA code; the answer is owned by whoever
	 * asked. NULL: at the terminal of this process, where it has one. */
	int (*ask)(void *arg, const char *question, char **ret_answer,
		struct gpc_error *err);
	void *ask_arg;
	const struct gpc_cancel *cancel;/* borrowed; may be NULL */
};
struct gpc_creds;                       /* opaque; safe from several threads */
/* net is borrowed; NULL is enough for settings. Does not look anywhere yet. */
struct gpc_creds *gpc_creds_new(const struct gpc_creds_settings *settings,
	struct gpc_net *net);
void gpc_creds_free(struct gpc_creds *c);
GPC_CLEANUP_POINTER(gpc_creds);
/* The identity now, from memory while it is good: renewed when renew is set (the
 * service said "expired") or its end is near. One thread renews, others wait.
 * GPC_EAUTH with the places that were looked at and the command to run. */
int gpc_creds_get(struct gpc_creds *c, bool renew, struct gpc_identity *ret_i,
	struct gpc_error *err) gpc_must_check;
/* The region by the cloud's own rules, or NULL; owned by the caller. Looked for
 * once. A metadata service is only asked when nothing else can be who we are. */
int gpc_creds_region(struct gpc_creds *c, char **ret_region,
	struct gpc_error *err) gpc_must_check;
/* A setting of the chosen profile (AWS: endpoint_url, s3.addressing_style, ca_bundle,
 * sso…), by "service" and name: environment first where the cloud has a variable
 * for it. NULL: not set. Owned by the caller. */
char *gpc_creds_setting(struct gpc_creds *c, const char *service,
	const char *name);
/* What the metadata service says of the machine that this is, such as AWS's
 * "/latest/meta-data/spot/instance-action"; owned. *ret_text stays NULL where it has
 * no such text, or its session has just ended: ask again. */
int gpc_creds_machine(struct gpc_creds *c, const char *path, char **ret_text,
	struct gpc_error *err) gpc_must_check;
/* Where a service is asked in a region, as the cloud's own tools choose it: a URL that
 * is set for it, else the region's own (AWS; service: as in AWS_ENDPOINT_URL_<NAME>,
 * lower case). GPC_ECONFIG for settings that do not go together. Owned. */
int gpc_creds_service_url(struct gpc_creds *c, const char *service,
	const char *region, char **ret_url, struct gpc_error *err)
	gpc_must_check;
/* Certificates that the cloud's own tools would check its servers by (PEM file;
 * AWS: AWS_CA_BUNDLE, ca_bundle). NULL: none of its own. Owned by the caller. */
char *gpc_creds_ca_file(struct gpc_creds *c);
/* What names it, for messages. */
#define GPC_CREDS_CA_FROM "AWS_CA_BUNDLE or ca_bundle of the profile"
/* True when the last look ended because no place of the chain is set up, which is
 * another thing than one that is set up and fails. */
bool gpc_creds_nowhere(const struct gpc_creds *c);
/* Asks the cloud itself who the credentials are: STS, or Google's tokeninfo.
 * ret_i gets the identity as from gpc_creds_get, with the name and account that
 * the cloud says. GPC_EAUTH when it refuses them. */
int gpc_creds_whoami(struct gpc_creds *c, struct gpc_identity *ret_i,
	struct gpc_error *err) gpc_must_check;
