/* Where the objects of a store in a bucket are, as its URL says:
 *
 *   SCHEME://BUCKET[/PREFIX][?NAME=VALUE&...]
 *     endpoint    URL of the server; none: the cloud's own
 *     region      where the bucket is; none: as the cloud's tools choose
 *     addressing  path: the bucket is in the URL's path; virtual: in its host;
 *                 domain: the host is that of the bucket alone
 *     profile     of the cloud's configuration file
 *
 * Which of these a service knows, its form says. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/url.h"

enum gpc_bucket_style {
	GPC_BUCKET_AUTO, GPC_BUCKET_PATH, GPC_BUCKET_VIRTUAL, GPC_BUCKET_DOMAIN,
};

struct gpc_bucket_form {
	const char *scheme;             /* "s3" */
	const char *const *options;     /* that it knows, ended by NULL */
	const char *const *styles;      /* words of addressing, by their enum; NULL */
	const char *endpoint_like;      /* an example of one */
	bool bare_hosts;                /* an endpoint may lack its https:// */
};

struct gpc_bucket_address {
	char *bucket;
	char *prefix;                   /* "" or ends in "/" */
	char *region, *profile;         /* NULL: not said */
	bool custom;                    /* an endpoint of one's own */
	struct gpc_url endpoint;        /* when custom; its path ends in no "/" */
	enum gpc_bucket_style style;
};

/* where: the URL without "SCHEME://". GPC_ECONFIG. */
int gpc_bucket_address_parse(const struct gpc_bucket_form *form,
	const char *where, struct gpc_bucket_address *ret_a,
	struct gpc_error *err) gpc_must_check;
/* Sets the endpoint, also from elsewhere than the URL (environment, profile):
 * `from` says where. GPC_ECONFIG. */
int gpc_bucket_address_endpoint(struct gpc_bucket_address *a,
	const struct gpc_bucket_form *form, const char *url, const char *from,
	struct gpc_error *err) gpc_must_check;
void gpc_bucket_address_clear(struct gpc_bucket_address *a);
GPC_CLEANUP_VALUE(gpc_bucket_address);
/* Makes of a server's URL that of a key (any bytes; prefix included by the caller),
 * or of the bucket itself for NULL. style is not GPC_BUCKET_AUTO. */
void gpc_bucket_address_place(const struct gpc_bucket_address *a,
	enum gpc_bucket_style style, const char *key, struct gpc_url *u);
