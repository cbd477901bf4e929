/* Google's Application Default Credentials, in the order of its own libraries:
 *
 *   1  the file that GOOGLE_APPLICATION_CREDENTIALS names
 *   2  what `gcloud auth application-default login` leaves
 *   3  the metadata server
 *
 * A profile that is named by hand is a credentials file and goes before these. A
 * file that cannot be used ends the search. */
#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "creds/gcp_parts.h"

#define MAX_BYTES ((size_t)1 << 20)
#define VARIABLE "GOOGLE_APPLICATION_CREDENTIALS"

/* --- files ----------------------------------------------------------------- */
static const struct { const char *type, *title; } types[] = {
	{"service_account", "service account"},
	{"authorized_user", "login of gcloud"},
	{"external_account_authorized_user", "login of gcloud"},
	{"external_account", "workload identity"},
	{"impersonated_service_account", "impersonation"},
};

static const char *title_of(const char *type)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (gpc_eq(types[i].type, type))
			return types[i].title;
	return NULL;
}

int gpc_gcp_from_file(const struct gpc_gcp_file *f, const char *scope,
	struct gpc_identity *i, struct gpc_error *err)
{
	const char *type = gpc_gcp_get(f, "type");
	gpc_autostr *shown = NULL;
	int r;

	if (gpc_eq(type, "service_account"))
		return gpc_gcp_from_account(f, scope, i, err);
	if (gpc_eq(type, "authorized_user") ||
		gpc_eq(type, "external_account_authorized_user"))
		return gpc_gcp_from_user(f, i, err);
	if (gpc_eq(type, "external_account"))
		return gpc_gcp_from_external(f, scope, i, err);
	if (gpc_eq(type, "impersonated_service_account"))
		return gpc_gcp_from_impersonated(f, scope, i, err);
	if (!type) {
		r = gpc_fail(err, GPC_ECONFIG, "%s has no \"type\": this is "
			"no credentials file of Google's", f->shown);
		gpc_hint(err, GPC_GCP_LOGIN);
		return r;
	}
	shown = gpc_str_printable(type, strnlen(type, 60));
	r = gpc_fail(err, GPC_EUNSUPPORTED, "%s has the type \"%s\", which "
		"gpucloud does not support", f->shown, shown);
	gpc_hint(err, GPC_GCP_LOGIN);
	return r;
}

/* *ret_j stays NULL where there is no such file. */
static int load(const char *path, struct gpc_json **ret_j, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *shown = gpc_creds_show_path(path);
	struct gpc_error why = {0};
	int r = gpc_read_file(path, MAX_BYTES, &b, &why);

	if (r == -GPC_ENOTFOUND)
		return 0;
	if (r)
		return gpc_fail(err, GPC_ECONFIG, "%s", why.msg);
	r = gpc_json_parse(gpc_buf_str(&b), b.len, ret_j, &why);
	gpc_wipe(b.data, b.cap);
	/* What the parser says may show a part of the text. */
	if (!r && gpc_json_is_object(*ret_j))
		return 0;
	return gpc_fail(err, GPC_ECONFIG, "%s is no JSON object", shown);
}

static int use_file(const struct gpc_creds_look *look, const char *path,
	const struct gpc_json *j, const char *by, struct gpc_identity *i,
	struct gpc_error *err)
{
	gpc_autostr *shown = gpc_creds_show_path(path);
	const struct gpc_gcp_file f = {.look = look, .j = j, .shown = shown};
	const char *type = gpc_gcp_get(&f, "type");
	int r = gpc_gcp_from_file(&f, GPC_GCP_SCOPE, i, err);

	if (r)
		return r;
	if (!i->account)
		gpc_set_str(&i->account, gpc_gcp_get(&f, "project_id"));
	gpc_set_str(&i->quota_project, gpc_gcp_get(&f, "quota_project_id"));
	free(i->source);
	i->source = gpc_format("%s in %s%s%s%s", title_of(type), shown,
		by ? " (" : "", by ? by : "", by ? ")" : "");
	return 0;
}

/* A file that somebody names must be there. */
static int from_named(const struct gpc_creds_look *look, const char *name,
	const char *by, struct gpc_identity *i, struct gpc_error *err)
{
	gpc_autostr *path = gpc_creds_expand(name);
	gpc_autostr *shown = gpc_creds_show_path(path);
	gpc_autoptr(gpc_json) *j = NULL;
	int r = load(path, &j, err);

	if (!r && !j)
		r = gpc_fail(err, GPC_EAUTH, "there is no %s", shown);
	if (r)
		gpc_hint(err, "name a credentials file there, or leave that out and "
			"%s", GPC_GCP_LOGIN);
	if (r)
		return gpc_wrap(err, r, "%s", by);
	return use_file(look, path, j, by, i, err);
}

static int from_well_known(const struct gpc_creds_look *look,
	struct gpc_identity *i, struct gpc_error *err)
{
	gpc_autostr *path = NULL, *shown = NULL;
	gpc_autoptr(gpc_json) *j = NULL;
	int r = gpc_gcp_path("application_default_credentials.json", &path,
		err);

	if (!r)
		r = load(path, &j, err);
	if (r)
		return r;
	if (j)
		return use_file(look, path, j, NULL, i, err);
	shown = gpc_creds_show_path(path);
	gpc_creds_saw(look, "%s does not exist", shown);
	return 0;
}

/* --- project and region ---------------------------------------------------- */
/* The first of these that is set; borrowed. */
static const char *first_env(const char *const *names)
{
	for (; *names; names++)
		if (gpc_creds_env(*names))
			return gpc_creds_env(*names);
	return NULL;
}

static void add_projects(const struct gpc_creds_look *look, bool metadata,
	struct gpc_identity *i)
{
	static const char *const names[] = {
		"GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", NULL,
	};
	const char *set = first_env(names);
	const char *quota = gpc_creds_env("GOOGLE_CLOUD_QUOTA_PROJECT");
	struct gpc_error ignored;

	if (set)
		gpc_set_str(&i->account, set);
	if (!i->account)
		i->account = gpc_gcp_property("core", "project");
	if (!i->account && metadata && gpc_gcp_metadata(look,
		"project/project-id", &i->account, &ignored) < 0)
		i->account = NULL;
	if (quota)
		gpc_set_str(&i->quota_project, quota);
}

/* Where it costs no request; owned. */
static char *near_region(void)
{
	static const char *const names[] = {
		"GOOGLE_CLOUD_REGION", "CLOUDSDK_COMPUTE_REGION", NULL,
	};
	const char *set = first_env(names);

	return set ? gpc_strdup(set) : gpc_gcp_property("compute", "region");
}

static int find(const struct gpc_creds_look *look,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	const char *named = look->settings->profile;
	const char *set = gpc_creds_env(VARIABLE);
	struct gpc_identity *i = &ret_f->identity;
	bool metadata = false;
	int r = 0;

	if (named && *named) {
		r = from_named(look, named, "the profile", i, err);
	} else if (set) {
		r = from_named(look, set, VARIABLE, i, err);
	} else {
		gpc_creds_saw(look, VARIABLE " is not set");
		r = from_well_known(look, i, err);
		metadata = !r && !i->bearer;
	}
	if (metadata)
		r = gpc_gcp_from_metadata(look, ret_f, err);
	if (r || !i->bearer)
		return r;
	add_projects(look, metadata, i);
	i->region = near_region();
	return 0;
}

/* "projects/1/zones/us-central1-a" to "us-central1". */
static char *region_of_zone(const char *zone)
{
	const char *name = strrchr(zone, '/');
	const char *dash;

	name = name ? name + 1 : zone;
	dash = strrchr(name, '-');
	return dash && dash > name ? gpc_strndup(name, (size_t)(dash - name)) :
		NULL;
}

static int find_region(const struct gpc_creds_look *look, char **ret_region,
	struct gpc_error *err)
{
	gpc_autostr *zone = NULL, *path = NULL;
	gpc_autoptr(gpc_json) *j = NULL;
	int r = gpc_gcp_path("application_default_credentials.json", &path,
		err);

	*ret_region = near_region();
	if (r || *ret_region)
		return r;
	/* Who has credentials of another place does not wait for the machine's. */
	if (gpc_creds_env(VARIABLE) || (look->settings->profile &&
		*look->settings->profile) || load(path, &j, err) < 0 || j)
		return 0;
	r = gpc_gcp_metadata(look, "instance/zone", &zone, err);
	if (!r && zone)
		*ret_region = region_of_zone(zone);
	return r;
}

/* Endpoints of services: as gcloud has them, and the emulator of storage. */
static char *find_setting(const struct gpc_creds_look *look,
	const char *service, const char *name)
{
	const char *emulator = gpc_creds_env("STORAGE_EMULATOR_HOST");
	char *value;

	(void)look;
	if (!service)
		return gpc_gcp_property("core", name);
	if (strcmp(name, "endpoint_url") != 0)
		return gpc_gcp_property(service, name);
	value = gpc_gcp_property("api_endpoint_overrides", service);
	if (!value && strcmp(service, "storage") == 0 && emulator)
		value = strstr(emulator, "://") ? gpc_strdup(emulator) :
			gpc_format("http://%s", emulator);
	return value;
}

/* The chain knows the account where there is one; of a person's login only Google
 * knows whose it is. That it does not say is no failure: the token was given by
 * Google a moment ago. */
int gpc_gcp_whoami(const struct gpc_creds_look *look, struct gpc_identity *i,
	struct gpc_error *err)
{
	gpc_autostr *set = find_setting(look, "oauth2", "endpoint_url");
	gpc_autostr *url = gpc_format("%s/tokeninfo", set ? set :
		"https://oauth2.googleapis.com");
	gpc_auto(gpc_pairs) struct gpc_pairs headers = {0}, form = {0};
	gpc_auto(gpc_buf) struct gpc_buf body = {0};
	struct gpc_fetch f = {.what = "Google's tokeninfo", .method = "POST",
		.url = url, .headers = &headers};
	static const char *const email[] = {"email", NULL};
	struct gpc_reply reply = {0};
	struct gpc_error ignored;
	int r;

	if (i->name)
		return 0;
	r = gpc_gcp_check_url("the endpoint of oauth2", url, err);
	if (r)
		return r;
	gpc_pairs_add(&form, "access_token", i->bearer);
	gpc_pairs_set(&headers, "content-type",
		"application/x-www-form-urlencoded");
	gpc_url_query(&form, &body);
	f.body = gpc_buf_str(&body);
	if (gpc_fetch(look->net, &f, &reply, &ignored) == 0)
		i->name = gpc_fetch_said(&reply, email);
	gpc_pairs_wipe(&form);
	gpc_wipe(body.data, body.cap);
	gpc_fetch_forget(&reply);
	return 0;
}

const struct gpc_creds_backend gpc_creds_gcp = {
	.title = "Google Cloud",
	.hint = "run gcloud auth application-default login, or set "
		VARIABLE " to a credentials file",
	.find = find,
	.region = find_region,
	.setting = find_setting,
	.whoami = gpc_gcp_whoami,
	.try_s = 225,
	.must_s = 60,
};
