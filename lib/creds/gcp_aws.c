/* AWS keys as the token: a request to AWS's STS that is signed, but not sent. Google
 * sends it, and so learns whose keys they are, not the keys. */
#include <string.h>

#include "base/encode.h"
#include "base/str.h"
#include "creds/gcp_parts.h"
#include "creds/identity.h"
#include "creds/token.h"
#include "net/endpoint_aws.h"
#include "net/sign.h"

#define TOKEN_HEADER "x-aws-ec2-metadata-token"

struct source {
	const struct gpc_gcp_file *file;
	const struct gpc_json *j;
	struct gpc_pairs headers;       /* of metadata: its token */
	struct gpc_identity keys;
	char *region;
};

/* An address of metadata: no secret goes there, but keys come from it. */
static int check_local(const struct source *s, const char *key, const char *url,
	struct gpc_error *err)
{
	gpc_auto(gpc_url) struct gpc_url u = {0};
	int r = gpc_url_parse(url, &u, err);

	if (r)
		return gpc_wrap(err, r, "credential_source.%s of %s", key,
			s->file->shown);
	return gpc_url_is_local(&u) ? 0 : gpc_fail(err, GPC_ECONFIG,
		"credential_source.%s of %s is no address of AWS's metadata "
		"service", key, s->file->shown);
}

/* GET (or PUT) of an address of the file, with more behind it; owned. */
static int ask(struct source *s, const char *method, const char *key,
	const char *more, char **ret_text, struct gpc_error *err)
{
	const char *base = gpc_json_get_str(s->j, key);
	gpc_autostr *url = base ? gpc_format("%s%s", base, more) : NULL;
	const struct gpc_fetch f = {.what = "AWS's metadata service",
		.method = method, .url = url, .headers = &s->headers,
		.timeout_ms = 3000};
	struct gpc_reply reply = {0};
	struct gpc_str text;
	int r;

	if (!base)
		return gpc_fail(err, GPC_ECONFIG, "%s: credential_source has no "
			"%s, and the environment has no AWS keys and region",
			s->file->shown, key);
	r = check_local(s, key, url, err);
	if (!r)
		r = gpc_fetch(s->file->look->net, &f, &reply, err);
	if (!r) {
		text = gpc_str_trim((struct gpc_str){
			gpc_buf_str(&reply.body), reply.body.len});
		*ret_text = gpc_strndup(text.ptr, text.len);
	}
	gpc_fetch_forget(&reply);
	return r;
}

static int open_metadata(struct source *s, struct gpc_error *err)
{
	gpc_autotoken *token = NULL;
	int r;

	if (s->headers.n || !gpc_json_get_str(s->j, "imdsv2_session_token_url"))
		return 0;
	gpc_pairs_set(&s->headers, TOKEN_HEADER "-ttl-seconds", "300");
	r = ask(s, "PUT", "imdsv2_session_token_url", "", &token, err);
	gpc_pairs_clear(&s->headers);
	if (!r)
		r = gpc_token_check("the token of AWS's metadata service",
			token, err);
	if (!r)
		gpc_pairs_set(&s->headers, TOKEN_HEADER, token);
	return r;
}

static int find_region(struct source *s, struct gpc_error *err)
{
	const char *set = gpc_creds_env("AWS_REGION");
	int r;

	if (!set)
		set = gpc_creds_env("AWS_DEFAULT_REGION");
	if (set) {
		s->region = gpc_strdup(set);
	} else {
		r = open_metadata(s, err);
		if (!r)
			r = ask(s, "GET", "region_url", "", &s->region, err);
		if (r)
			return r;
		if (*s->region)         /* a zone: without its letter */
			s->region[strlen(s->region) - 1] = '\0';
	}
	return gpc_aws_region_valid(s->region) ? 0 : gpc_fail(err, GPC_ECONFIG,
		"%s: AWS's region is not the name of a region", s->file->shown);
}

static int find_keys(struct source *s, struct gpc_error *err)
{
	static const struct gpc_identity_names names = {
		.id = "AccessKeyId", .secret = "SecretAccessKey",
		.token = "Token",
	};
	const char *id = gpc_creds_env("AWS_ACCESS_KEY_ID");
	const char *secret = gpc_creds_env("AWS_SECRET_ACCESS_KEY");
	gpc_autostr *role = NULL, *path = NULL;
	gpc_autotoken *text = NULL;
	int r;

	if (id && secret) {
		gpc_set_str(&s->keys.id, id);
		gpc_set_str(&s->keys.secret, secret);
		gpc_set_str(&s->keys.token, gpc_creds_env("AWS_SESSION_TOKEN"));
		return 0;
	}
	r = open_metadata(s, err);
	if (!r)
		r = ask(s, "GET", "url", "", &role, err);
	if (!r)
		r = gpc_identity_check("the role's name", role, err);
	if (r)
		return r;
	path = gpc_format("/%s", role);
	r = ask(s, "GET", "url", path, &text, err);
	return r ? r : gpc_wrap(err, gpc_identity_parse(text, strlen(text),
		&names, 0, &s->keys, err), "AWS's metadata service");
}

/* --- the request ----------------------------------------------------------- */
/* The address with the region in it, when it is STS's. */
static int make_url(const struct source *s, char **ret_url,
	struct gpc_error *err)
{
	const char *form = gpc_json_get_str(s->j,
		"regional_cred_verification_url");
	const char *at = form ? strstr(form, "{region}") : NULL;
	gpc_auto(gpc_url) struct gpc_url u = {0};
	gpc_autostr *url = NULL;
	int r;

	if (!form)
		return gpc_fail(err, GPC_ECONFIG, "%s: credential_source has no "
			"regional_cred_verification_url", s->file->shown);
	url = at ? gpc_format("%.*s%s%s", (int)(at - form), form, s->region,
		at + strlen("{region}")) : gpc_strdup(form);
	r = gpc_url_parse(url, &u, err);
	if (!r && (strcmp(u.scheme, "https") != 0 ||
		!gpc_starts_with(u.host, "sts.") ||
		(!gpc_ends_with(u.host, ".amazonaws.com") &&
		!gpc_ends_with(u.host, ".amazonaws.com.cn"))))
		r = gpc_fail(err, GPC_ECONFIG, "this is not AWS's STS");
	if (r)
		return gpc_wrap(err, r, "%s: regional_cred_verification_url",
			s->file->shown);
	*ret_url = gpc_steal(&url);
	return 0;
}

static void add_header(struct gpc_json *list, const char *name,
	const char *value)
{
	struct gpc_json *h = gpc_json_object();

	gpc_json_set_str(h, "key", name);
	gpc_json_set_str(h, "value", value);
	gpc_json_add(list, h);
}

/* JSON of the request, percent-encoded. */
static char *wrap_request(const struct gpc_request *r, const char *url)
{
	gpc_autoptr(gpc_json) *j = gpc_json_object();
	struct gpc_json *headers = gpc_json_array();
	gpc_autostr *host = gpc_url_host(&r->url), *text = NULL;
	struct gpc_buf b = {0};
	char *encoded;

	add_header(headers, "host", host);
	for (size_t i = 0; i < r->headers.n; i++)
		add_header(headers, r->headers.v[i].key,
			r->headers.v[i].value);
	gpc_json_set(j, "headers", headers);
	gpc_json_set_str(j, "method", r->method);
	gpc_json_set_str(j, "url", url);
	text = gpc_json_print(j);
	gpc_percent_encode(&b, text, strlen(text), "");
	encoded = gpc_strdup(gpc_buf_str(&b));
	gpc_wipe(b.data, b.cap);
	gpc_buf_clear(&b);
	gpc_wipe_str(text);
	return encoded;
}

static int sign(const struct source *s, char **ret_token, struct gpc_error *err)
{
	const struct gpc_sign_aws how = {
		.keys = {s->keys.id, s->keys.secret, s->keys.token},
		.region = s->region, .service = "sts",
		.now_ms = gpc_net_now_ms(s->file->look->net),
	};
	gpc_auto(gpc_request) struct gpc_request request = {0};
	gpc_autostr *url = NULL;
	int r = make_url(s, &url, err);

	gpc_request_init(&request, "POST");
	if (!r)
		r = gpc_url_parse(url, &request.url, err);
	if (!r)
		r = gpc_sign_aws(&request, &how, err);
	if (r)
		return r;
	/* Not signed, as by Google's own clients. */
	gpc_pairs_set(&request.headers, "x-goog-cloud-target-resource",
		gpc_gcp_get(s->file, "audience"));
	*ret_token = wrap_request(&request, url);
	return 0;
}

int gpc_gcp_subject_aws(const struct gpc_gcp_file *f,
	const struct gpc_json *source, char **ret_token, struct gpc_error *err)
{
	struct source s = {.file = f, .j = source};
	int r = gpc_eq(gpc_json_get_str(source, "environment_id"), "aws1") ? 0 :
		gpc_fail(err, GPC_EUNSUPPORTED, "%s: the only environment_id "
			"that gpucloud knows is aws1", f->shown);

	if (r)
		gpc_hint(err, "make the file anew: gcloud iam "
			"workload-identity-pools create-cred-config --aws");
	if (!r)
		r = find_region(&s, err);
	if (!r)
		r = find_keys(&s, err);
	if (!r)
		r = sign(&s, ret_token, err);
	for (size_t i = 0; i < s.headers.n; i++)
		gpc_wipe_str(s.headers.v[i].value);
	gpc_pairs_clear(&s.headers);
	gpc_identity_clear(&s.keys);
	free(s.region);
	return r;
}
