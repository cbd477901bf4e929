/* A request as it goes over the wire, and its reply. Signing changes requests;
 * sending does not. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/body.h"
#include "base/buf.h"
#include "base/map.h"
#include "net/url.h"

struct gpc_request {
	const char *method;             /* borrowed, upper case */
	struct gpc_url url;
	struct gpc_pairs headers;       /* lower-case names; no host, no length */
	struct gpc_body body;           /* borrowed */
	char body_sha256[65];           /* of all of the body; "" = not computed yet */
};
void gpc_request_init(struct gpc_request *r, const char *method);
void gpc_request_clear(struct gpc_request *r);
GPC_CLEANUP_VALUE(gpc_request);
void gpc_request_copy(struct gpc_request *to, const struct gpc_request *from);
/* Computes body_sha256 where it is "". GPC_EIO when a file cannot be read,
 * GPC_EPROTO when it has become shorter. */
int gpc_request_hash(struct gpc_request *r, struct gpc_error *err)
	gpc_must_check;
/* The body is this form; sets content-type. text is owned by *keep. */
void gpc_request_form(struct gpc_request *r, const struct gpc_pairs *form,
	struct gpc_buf *keep);

struct gpc_reply {
	int status;
	struct gpc_pairs headers;       /* lower-case names */
	struct gpc_buf body;            /* what went to no sink */
	int64_t date_ms;                /* of the Date header; 0 = none */
	int tries;                      /* how often the request went out */
};
void gpc_reply_clear(struct gpc_reply *r);
GPC_CLEANUP_VALUE(gpc_reply);
const char *gpc_reply_header(const struct gpc_reply *r, const char *name);
/* A date of a header (RFC 9110 section 5.6.7) as wall milliseconds; 0: it is none. */
int64_t gpc_http_date_ms(const char *text);
