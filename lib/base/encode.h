/* Text forms of bytes: Base64 (RFC 4648 section 4), its URL form without
 * padding (section 5), and percent-encoding (RFC 3986 section 2.1, upper-case
 * digits). Reading is strict: what has another form is refused. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

void gpc_base64(struct gpc_buf *to, const void *bytes, size_t n);
void gpc_base64url(struct gpc_buf *to, const void *bytes, size_t n);
/* Adds the bytes to `to`; also takes the URL alphabet and missing padding when
 * `url` is set. GPC_EPROTO. */
int gpc_unbase64(const char *text, size_t n, bool url, struct gpc_buf *to,
	struct gpc_error *err) gpc_must_check;

/* Every byte except A-Z a-z 0-9 - . _ ~ and those in `keep` ("" = none). */
void gpc_percent_encode(struct gpc_buf *to, const char *text, size_t n,
	const char *keep);
/* The bytes that percent-encoded text stands for; `plus` reads + as a space, as
 * forms do. A broken %XX is GPC_EPROTO; %00 too: our strings cannot hold it. */
int gpc_percent_decode(const char *text, size_t n, bool plus,
	struct gpc_buf *to, struct gpc_error *err) gpc_must_check;
