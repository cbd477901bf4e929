/* Hosts of OSS (facts: its API reference and the endpoints' list, 2026). */
#include "store/oss_address.h"

#include <string.h>

#include "base/str.h"
#include "net/endpoint_aws.h"

#define DOMAIN ".aliyuncs.com"

static const char *const options[] = { "endpoint", "region", "addressing",
	"profile", NULL };
static const char *const styles[] = { "path", "virtual", "domain", NULL };

const struct gpc_bucket_form gpc_oss_form = {
	.scheme = "oss",
	.options = options,
	.styles = styles,
	.endpoint_like = "oss-cn-hangzhou-internal.aliyuncs.com",
	.bare_hosts = true,
};

char *gpc_oss_region_of(const char *host)
{
	size_t n = strlen(host);
	gpc_autostr *name = NULL;
	const char *label;
	char *end;

	if (!gpc_ends_with(host, DOMAIN))
		return NULL;
	name = gpc_strndup(host, n - strlen(DOMAIN));
	if (gpc_ends_with(name, ".oss"))        /* REGION.oss.aliyuncs.com */
		name[strlen(name) - strlen(".oss")] = '\0';
	label = strrchr(name, '.');
	label = label ? label + 1 : name;
	if (gpc_starts_with(label, "oss-"))
		label += strlen("oss-");
	else if (!gpc_ends_with(host, ".oss" DOMAIN))
		return NULL;
	end = strstr(label, "-internal");
	if (end)
		*end = '\0';
	return strchr(label, '-') && gpc_aws_region_valid(label) ? gpc_strdup(label) : NULL;
}

/* An address takes no name of a bucket before it. */
static bool is_address(const char *host)
{
	return strchr(host, ':') || gpc_eq(host, "localhost") ||
		strspn(host, "0123456789.") == strlen(host);
}

int gpc_oss_address_url(const struct gpc_bucket_address *a, const char *region,
	const char *key, struct gpc_url *ret_u, struct gpc_error *err)
{
	enum gpc_bucket_style style = a->style;
	gpc_autostr *text = NULL;
	struct gpc_url u = {0};
	int r = 0;

	if (a->custom) {
		gpc_url_copy(&u, &a->endpoint);
	} else if (!gpc_aws_region_valid(region)) {
		gpc_autostr *shown = gpc_str_printable(region, strlen(region));

		return gpc_fail(err, GPC_ECONFIG,
			"\"%.64s\" is not a region of Alibaba Cloud", shown);
	} else {
		text = gpc_format("https://oss-%s" DOMAIN, region);
		r = gpc_url_parse(text, &u, err);
	}
	if (r < 0)
		return r;
	if (style == GPC_BUCKET_AUTO)
		style = is_address(u.host) ? GPC_BUCKET_PATH :
			GPC_BUCKET_VIRTUAL;
	gpc_bucket_address_place(a, style, key, &u);
	*ret_u = u;
	return 0;
}
