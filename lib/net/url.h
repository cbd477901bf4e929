/* URLs taken apart and put together (RFC 3986). The path is kept as it goes over
 * the wire, because signatures depend on each of its bytes; the query is kept
 * decoded, in order. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/map.h"

#define GPC_URL_MAX_BYTES 16384

struct gpc_url {
	char *scheme;                   /* "http" or "https" */
	char *host;                     /* lower case; IPv6 without brackets */
	int port;                       /* always set */
	char *path;                     /* percent-encoded; begins with "/" */
	struct gpc_pairs query;         /* a name without "=" has no value */
};

/* Only http and https, no user or password, no fragment, no control bytes, no
 * space. GPC_EPROTO. */
int gpc_url_parse(const char *text, struct gpc_url *ret_u,
	struct gpc_error *err) gpc_must_check;
void gpc_url_clear(struct gpc_url *u);
GPC_CLEANUP_VALUE(gpc_url);
void gpc_url_copy(struct gpc_url *to, const struct gpc_url *from);
void gpc_url_format(const struct gpc_url *u, struct gpc_buf *to);
/* What the Host header says: the port only where it is not the scheme's own, IPv6
 * in brackets. Owned. */
char *gpc_url_host(const struct gpc_url *u);
/* name=value&..., both encoded; forms and queries. */
void gpc_url_query(const struct gpc_pairs *query, struct gpc_buf *to);
/* True for loopback, link-local and the metadata addresses of the clouds
 * (169.254.0.0/16, fe80::/10, fd00:ec2::/32, 100.100.100.200, metadata.google.internal):
 * never by a proxy. */
bool gpc_url_is_local(const struct gpc_url *u);
