/* What the files of the Google chain share; not for other rooms.
 *
 * A credentials file is of one of several types; each type is one function that
 * fills the bearer token, its end and what is known of the identity. Files come
 * from anywhere, so that every address in one is checked before a secret goes
 * there: Google's own hosts by https, or this machine. */
#pragma once
#include <stdbool.h>

#include "base/map.h"
#include "creds/backend.h"
#include "creds/fetch.h"
#include "dep/json.h"

#define GPC_GCP_SCOPE "https://www.googleapis.com/auth/cloud-platform"
#define GPC_GCP_SKEW_MS INT64_C(60000)  /* that tokens put up with, at least */
#define GPC_GCP_LOGIN "run: gcloud auth application-default login"

struct gpc_gcp_file {
	const struct gpc_creds_look *look;
	const struct gpc_json *j;
	const char *shown;              /* "~/key.json": begins messages */
};
/* NULL where it is not set, or empty. */
const char *gpc_gcp_get(const struct gpc_gcp_file *f, const char *key);
/* The same; GPC_ECONFIG where it is missing. */
int gpc_gcp_need(const struct gpc_gcp_file *f, const char *key,
	const char **ret_value, struct gpc_error *err) gpc_must_check;

/* By the type of the file. scope: what the token is for. */
int gpc_gcp_from_file(const struct gpc_gcp_file *f, const char *scope,
	struct gpc_identity *i, struct gpc_error *err);
int gpc_gcp_from_account(const struct gpc_gcp_file *f, const char *scope,
	struct gpc_identity *i, struct gpc_error *err);
/* authorized_user, and external_account_authorized_user. */
int gpc_gcp_from_user(const struct gpc_gcp_file *f, struct gpc_identity *i,
	struct gpc_error *err);
int gpc_gcp_from_external(const struct gpc_gcp_file *f, const char *scope,
	struct gpc_identity *i, struct gpc_error *err);
int gpc_gcp_from_impersonated(const struct gpc_gcp_file *f, const char *scope,
	struct gpc_identity *i, struct gpc_error *err);
int gpc_gcp_from_metadata(const struct gpc_creds_look *look,
	struct gpc_creds_found *ret_f, struct gpc_error *err);
/* A text of the metadata service, "project/project-id"; *ret_text stays NULL where
 * there is none. Owned. */
int gpc_gcp_metadata(const struct gpc_creds_look *look, const char *path,
	char **ret_text, struct gpc_error *err);

/* A token of somebody else, as credential_source says: file, url, executable, AWS.
 * Owned, to be wiped. */
int gpc_gcp_subject(const struct gpc_gcp_file *f, char **ret_token,
	struct gpc_error *err);
/* The same for AWS: a signed request to its STS. */
int gpc_gcp_subject_aws(const struct gpc_gcp_file *f,
	const struct gpc_json *source, char **ret_token, struct gpc_error *err);

/* The member `key` of the file, else `otherwise`, when it is an address of Google's
 * or of this machine; borrowed. GPC_ECONFIG else. */
int gpc_gcp_url(const struct gpc_gcp_file *f, const char *key,
	const char *otherwise, const char **ret_url, struct gpc_error *err)
	gpc_must_check;
int gpc_gcp_check_url(const char *what, const char *url, struct gpc_error *err)
	gpc_must_check;
/* POSTs a form to a token endpoint; form is wiped. headers may be NULL. Fills bearer
 * and end of *i. login: what to do when a person must log in again; NULL: that is
 * not it. */
int gpc_gcp_token(const struct gpc_gcp_file *f, const char *url,
	struct gpc_pairs *headers, struct gpc_pairs *form, const char *login,
	struct gpc_identity *i, struct gpc_error *err);
/* Adds who the client is, as HTTP Basic has it; wipe it. */
void gpc_gcp_basic(const char *id, const char *secret,
	struct gpc_pairs *headers);
/* Exchanges i->bearer for a token of the service account that url names. */
int gpc_gcp_impersonate(const struct gpc_gcp_file *f, const char *url,
	const struct gpc_json *delegates, int64_t life_s, const char *scope,
	struct gpc_identity *i, struct gpc_error *err);

/* A property of gcloud's active configuration ("core", "project"); owned, NULL:
 * not set. */
char *gpc_gcp_property(const char *section, const char *key);
/* A path below gcloud's folder; owned. */
int gpc_gcp_path(const char *below, char **ret_path, struct gpc_error *err);
/* See gpc_creds_backend. */
int gpc_gcp_whoami(const struct gpc_creds_look *look, struct gpc_identity *i,
	struct gpc_error *err);
