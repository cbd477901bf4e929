/* Workload identity federation: a token of somebody else is exchanged at Google's
 * STS, and that, where the file says so, for one of a service account. */
#include <string.h>

#include "base/encode.h"
#include "base/str.h"
#include "creds/gcp_parts.h"
#include "creds/token.h"

#define ENDPOINT "https://sts.googleapis.com/v1/token"
#define POOLS "//iam.googleapis.com/locations/"
#define MIN_LIFE_S 600
#define MAX_LIFE_S 43200

/* The project that a person of a workforce pool uses up; as JSON that is encoded
 * once here and once more by the form. */
static int add_options(const struct gpc_gcp_file *f, const char *audience,
	struct gpc_pairs *form, struct gpc_error *err)
{
	const char *project = gpc_gcp_get(f, "workforce_pool_user_project");
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *text = NULL;

	if (!project)
		return 0;
	if (!gpc_starts_with(audience, POOLS) ||
		!strstr(audience, "/workforcePools/"))
		return gpc_fail(err, GPC_ECONFIG, "%s: "
			"workforce_pool_user_project is for workforce pools "
			"only", f->shown);
	if (gpc_gcp_get(f, "client_id"))
		return 0;       /* the client says whose project it is */
	j = gpc_json_object();
	gpc_json_set_str(j, "userProject", project);
	text = gpc_json_print(j);
	gpc_percent_encode(&b, text, strlen(text), "");
	gpc_pairs_add(form, "options", gpc_buf_str(&b));
	return 0;
}

static int make_form(const struct gpc_gcp_file *f, const char *scope,
	struct gpc_pairs *form, struct gpc_error *err)
{
	const char *audience = NULL, *type = NULL;
	gpc_autotoken *token = NULL;
	int r = gpc_gcp_need(f, "audience", &audience, err);

	if (!r)
		r = gpc_gcp_need(f, "subject_token_type", &type, err);
	if (!r)
		r = add_options(f, audience, form, err);
	if (!r)
		r = gpc_gcp_subject(f, &token, err);
	if (r)
		return r;
	gpc_pairs_add(form, "grant_type",
		"urn:ietf:params:oauth:grant-type:token-exchange");
	gpc_pairs_add(form, "audience", audience);
	gpc_pairs_add(form, "scope", scope);
	gpc_pairs_add(form, "requested_token_type",
		"urn:ietf:params:oauth:token-type:access_token");
	gpc_pairs_add(form, "subject_token", token);
	gpc_pairs_add(form, "subject_token_type", type);
	return 0;
}

static int exchange(const struct gpc_gcp_file *f, const char *url,
	const char *scope, struct gpc_identity *i, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs form = {0}, headers = {0};
	const char *id = gpc_gcp_get(f, "client_id");
	const char *secret = gpc_gcp_get(f, "client_secret");
	int r = make_form(f, scope, &form, err);

	if (id && secret)
		gpc_gcp_basic(id, secret, &headers);
	if (!r)
		r = gpc_gcp_token(f, url, &headers, &form, NULL, i, err);
	for (size_t k = 0; k < headers.n; k++)
		gpc_wipe_str(headers.v[k].value);
	if (r == -GPC_EAUTH && err && err->http && !err->hint[0])
		gpc_hint(err, "check audience, issuer and conditions of the "
			"workload identity provider against the token");
	return r;
}

static int read_life(const struct gpc_gcp_file *f, int64_t *ret_s,
	struct gpc_error *err)
{
	const struct gpc_json *j = gpc_json_get(f->j,
		"service_account_impersonation");
	int64_t life_s = gpc_json_get_int(j, "token_lifetime_seconds", 3600);

	if (life_s < MIN_LIFE_S || life_s > MAX_LIFE_S)
		return gpc_fail(err, GPC_ECONFIG, "%s: token_lifetime_seconds "
			"is a number from %d to %d", f->shown, MIN_LIFE_S,
			MAX_LIFE_S);
	*ret_s = life_s;
	return 0;
}

int gpc_gcp_from_external(const struct gpc_gcp_file *f, const char *scope,
	struct gpc_identity *i, struct gpc_error *err)
{
	const char *url = NULL, *account = NULL;
	int64_t life_s = 0;
	int r = gpc_gcp_url(f, "token_url", ENDPOINT, &url, err);

	if (!r)
		r = gpc_gcp_url(f, "service_account_impersonation_url", NULL,
			&account, err);
	if (!r)
		r = read_life(f, &life_s, err);
	if (!r)
		r = exchange(f, url, account ? GPC_GCP_SCOPE : scope, i, err);
	if (!r && account)
		r = gpc_gcp_impersonate(f, account, NULL, life_s, scope, i,
			err);
	return r;
}
