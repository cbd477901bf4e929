/* Hosts and paths of S3 (facts: Amazon S3 REST API, 2006-03-01). A name with dots
 * does not match the wildcard of AWS's certificate, so over https it goes into the
 * path; servers of one's own often have no wildcard name at all, so for them
 * everything does unless they are said to. */
#include "store/s3_address.h"

#include <string.h>

#include "base/encode.h"
#include "base/str.h"
#include "net/endpoint_aws.h"

#define BUCKET_MIN 3
#define BUCKET_MAX 255                  /* old buckets; 63 since 2018 */

static int fail_option(const char *name, const char *value, const char *want,
	struct gpc_error *err)
{
	gpc_autostr *shown = gpc_str_printable(value ? value : "",
		value ? strlen(value) : 0);

	return gpc_fail(err, GPC_ECONFIG, "s3://...?%s=%.100s: expected %s",
		name, shown, want);
}

int gpc_s3_address_endpoint(struct gpc_s3_address *a, const char *url,
	const char *from, struct gpc_error *err)
{
	size_t n;
	int r = gpc_url_parse(url, &a->endpoint, err);

	if (r < 0) {
		r = gpc_fail(err, GPC_ECONFIG,
			"the S3 endpoint of %s is not a URL", from);
		gpc_hint(err, "it looks like https://s3.example.com:9000");
		return r;
	}
	n = strlen(a->endpoint.path);
	while (n && a->endpoint.path[n - 1] == '/')
		a->endpoint.path[--n] = '\0';
	gpc_pairs_clear(&a->endpoint.query);
	a->custom = true;
	return 0;
}

static int set_option(struct gpc_s3_address *a, const char *name,
	const char *value, struct gpc_error *err)
{
	if (!value || !*value)
		return fail_option(name, value, "a value", err);
	if (gpc_eq(name, "endpoint"))
		return gpc_s3_address_endpoint(a, value, "the store's URL", err);
	if (gpc_eq(name, "region")) {
		gpc_set_str(&a->region, value);
	} else if (gpc_eq(name, "profile")) {
		gpc_set_str(&a->profile, value);
	} else if (gpc_eq(name, "addressing")) {
		if (!gpc_eq(value, "path") && !gpc_eq(value, "virtual"))
			return fail_option(name, value, "path or virtual", err);
		a->addressing = gpc_eq(value, "path") ? GPC_S3_PATH :
			GPC_S3_VIRTUAL;
	} else {
		int r = fail_option(name, value, "another name", err);

		gpc_hint(err, "known: endpoint, region, addressing, profile");
		return r;
	}
	return 0;
}

static int read_options(struct gpc_s3_address *a, const char *query,
	struct gpc_error *err)
{
	gpc_autostr *text = gpc_format("http://x/?%s", query);
	gpc_auto(gpc_url) struct gpc_url u = {0};
	int r = gpc_url_parse(text, &u, err);

	if (r < 0)
		return gpc_fail(err, GPC_ECONFIG,
			"s3://...?%.200s is not a list of name=value", query);
	for (size_t i = 0; r == 0 && i < u.query.n; i++)
		r = set_option(a, u.query.v[i].key, u.query.v[i].value, err);
	return r;
}

static bool bucket_ok(const char *name)
{
	size_t n = strlen(name);

	if (n < BUCKET_MIN || n > BUCKET_MAX || name[0] == '.')
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") == n;
}

static int check_bucket(const char *name, struct gpc_error *err)
{
	gpc_autostr *shown = NULL;
	int r;

	if (bucket_ok(name))
		return 0;
	shown = gpc_str_printable(name, strlen(name));
	r = gpc_fail(err, GPC_ECONFIG, "\"%.100s\" is not the name of a bucket",
		shown);
	gpc_hint(err, "a store is s3://BUCKET/PREFIX");
	return r;
}

int gpc_s3_address_parse(const char *where, struct gpc_s3_address *ret_a,
	struct gpc_error *err)
{
	gpc_auto(gpc_s3_address) struct gpc_s3_address a = {0};
	const char *query = strchr(where, '?');
	gpc_autostr *path = query ? gpc_strndup(where, (size_t)(query - where)) :
		gpc_strdup(where);
	char *slash = strchr(path, '/');
	size_t n;
	int r;

	if (slash)
		*slash++ = '\0';
	while (slash && *slash == '/')
		slash++;
	r = check_bucket(path, err);
	if (r < 0)
		return r;
	a.bucket = gpc_strdup(path);
	n = slash ? strlen(slash) : 0;
	while (n && slash[n - 1] == '/')
		slash[--n] = '\0';
	a.prefix = n ? gpc_format("%s/", slash) : gpc_strdup("");
	if (query) {
		r = read_options(&a, query + 1, err);
		if (r < 0)
			return r;
	}
	*ret_a = a;
	memset(&a, 0, sizeof(a));
	return 0;
}

void gpc_s3_address_clear(struct gpc_s3_address *a)
{
	free(a->bucket);
	free(a->prefix);
	free(a->region);
	free(a->profile);
	gpc_url_clear(&a->endpoint);
	memset(a, 0, sizeof(*a));
}

/* Whether a bucket's name can stand before a host's (RFC 1123 labels). */
static bool is_host_label(const char *name, bool https)
{
	size_t n = strlen(name);

	if (n > 63 || name[0] == '-' || name[n - 1] == '-')
		return false;
	if (https && strchr(name, '.'))
		return false;
	return !strstr(name, "..") && !strstr(name, ".-") &&
		!strstr(name, "-.") &&
		strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == n;
}

static bool in_path(const struct gpc_s3_address *a)
{
	bool https = !a->custom || gpc_eq(a->endpoint.scheme, "https");

	if (a->addressing != GPC_S3_AUTO)
		return a->addressing == GPC_S3_PATH;
	return a->custom || !is_host_label(a->bucket, https);
}

static int aws_endpoint(const char *region, struct gpc_url *u,
	struct gpc_error *err)
{
	const struct gpc_aws_place place = { .service = "s3", .region = region };
	gpc_autostr *url = NULL;
	int r = gpc_aws_endpoint(&place, &url, err);

	return r < 0 ? r : gpc_url_parse(url, u, err);
}

int gpc_s3_address_url(const struct gpc_s3_address *a, const char *region,
	const char *key, struct gpc_url *ret_u, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf path = {0};
	struct gpc_url u = {0};
	int r = 0;

	if (a->custom)
		gpc_url_copy(&u, &a->endpoint);
	else
		r = aws_endpoint(region, &u, err);
	if (r < 0)
		return r;
	if (!gpc_eq(u.path, "/"))
		gpc_buf_adds(&path, u.path);
	if (in_path(a)) {
		gpc_buf_addc(&path, '/');
		gpc_percent_encode(&path, a->bucket, strlen(a->bucket), "");
	} else {
		char *host = gpc_format("%s.%s", a->bucket, u.host);

		free(u.host);
		u.host = host;
	}
	if (key || !in_path(a))
		gpc_buf_addc(&path, '/');
	if (key)
		gpc_percent_encode(&path, key, strlen(key), "/");
	gpc_set_str(&u.path, gpc_buf_str(&path));
	*ret_u = u;
	return 0;
}
