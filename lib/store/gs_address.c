/* URLs of the JSON API (its reference, v1). A key is one segment of a path: its
 * slashes are encoded as well. */
#include "store/gs_address.h"

#include <string.h>

#include "base/encode.h"
#include "base/str.h"

#define HOME "https://storage.googleapis.com"
#define API "/storage/v1"

static const char *const options[] = { "endpoint", NULL };

const struct gpc_bucket_form gpc_gs_form = {
	.scheme = "gs",
	.options = options,
	.endpoint_like = HOME,
};

/* Without the API's own path. */
static size_t base_length(const char *base)
{
	return strlen(base) - (gpc_ends_with(base, API) ? strlen(API) : 0);
}

static void set_path(const struct gpc_bucket_address *a, const char *before,
	const char *key, struct gpc_url *u)
{
	gpc_auto(gpc_buf) struct gpc_buf path = {0};
	const char *base = a->custom ? a->endpoint.path : "";

	gpc_buf_add(&path, base, base_length(base));
	gpc_buf_addf(&path, "%s" API "/b/", before);
	gpc_percent_encode(&path, a->bucket, strlen(a->bucket), "");
	gpc_buf_adds(&path, "/o");
	if (key) {
		gpc_buf_addc(&path, '/');
		gpc_percent_encode(&path, key, strlen(key), "");
	}
	gpc_set_str(&u->path, gpc_buf_str(&path));
}

int gpc_gs_address_url(const struct gpc_bucket_address *a, const char *region,
	const char *key, struct gpc_url *ret_u, struct gpc_error *err)
{
	struct gpc_url u = {0};
	int r = 0;

	(void)region;
	if (a->custom)
		gpc_url_copy(&u, &a->endpoint);
	else
		r = gpc_url_parse(HOME, &u, err);
	if (r < 0)
		return r;
	set_path(a, "", key, &u);
	*ret_u = u;
	return 0;
}

void gpc_gs_upload_url(const struct gpc_bucket_address *a, const char *kind,
	const char *key, struct gpc_url *u)
{
	set_path(a, "/upload", NULL, u);
	gpc_pairs_set(&u->query, "uploadType", kind);
	gpc_pairs_set(&u->query, "name", key);
}

void gpc_gs_xml_url(const struct gpc_bucket_address *a, const char *key,
	struct gpc_url *u)
{
	gpc_auto(gpc_buf) struct gpc_buf path = {0};
	const char *base = a->custom ? a->endpoint.path : "";

	gpc_buf_add(&path, base, base_length(base));
	gpc_set_str(&u->path, path.len ? gpc_buf_str(&path) : "/");
	gpc_bucket_address_place(a, GPC_BUCKET_PATH, key, u);
}
