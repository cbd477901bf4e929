/* Hosts and paths of S3 (facts: Amazon S3 REST API, 2006-03-01). A name with dots
 * does not match the wildcard of AWS's certificate, so over https it goes into the
 * path; servers of one's own often have no wildcard name at all, so for them
 * everything does unless they are said to. */
#include "store/s3_address.h"

#include <string.h>

#include "base/str.h"
#include "net/endpoint_aws.h"

static const char *const options[] = { "endpoint", "region", "addressing",
	"profile", NULL };
static const char *const styles[] = { "path", "virtual", NULL };

const struct gpc_bucket_form gpc_s3_form = {
	.scheme = "s3",
	.options = options,
	.styles = styles,
	.endpoint_like = "https://s3.example.com:9000",
};

/* Whether a bucket's name can stand before a host's (an RFC 1123 label). */
static bool is_host_label(const char *name)
{
	size_t n = strlen(name);

	if (n > 63 || name[0] == '-' || name[n - 1] == '-')
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static enum gpc_bucket_style style_of(const struct gpc_bucket_address *a)
{
	if (a->style != GPC_BUCKET_AUTO)
		return a->style;
	return a->custom || !is_host_label(a->bucket) ? GPC_BUCKET_PATH :
		GPC_BUCKET_VIRTUAL;
}

static int aws_endpoint(const char *region, struct gpc_url *u,
	struct gpc_error *err)
{
	const struct gpc_aws_place place = { .service = "s3", .region = region };
	gpc_autostr *url = NULL;
	int r = gpc_aws_endpoint(&place, &url, err);

	return r < 0 ? r : gpc_url_parse(url, u, err);
}

int gpc_s3_address_url(const struct gpc_bucket_address *a, const char *region,
	const char *key, struct gpc_url *ret_u, struct gpc_error *err)
{
	struct gpc_url u = {0};
	int r = 0;

	if (a->custom)
		gpc_url_copy(&u, &a->endpoint);
	else
		r = aws_endpoint(region, &u, err);
	if (r < 0)
		return r;
	gpc_bucket_address_place(a, style_of(a), key, &u);
	*ret_u = u;
	return 0;
}

int gpc_s3_address_settle(struct gpc_bucket_address *a, struct gpc_creds *creds,
	struct gpc_error *err)
{
	gpc_autostr *url = NULL, *style = NULL;

	if (!a->custom)
		url = gpc_creds_setting(creds, "s3", "endpoint_url");
	if (url) {
		int r = gpc_bucket_address_endpoint(a, &gpc_s3_form, url,
			"the environment or profile", err);

		if (r < 0)
			return r;
	}
	if (a->style == GPC_BUCKET_AUTO)
		style = gpc_creds_setting(creds, "s3", "addressing_style");
	if (gpc_eq(style, "path"))
		a->style = GPC_BUCKET_PATH;
	else if (gpc_eq(style, "virtual"))
		a->style = GPC_BUCKET_VIRTUAL;
	return 0;
}
