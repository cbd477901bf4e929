/* A request to be signed, as JSON says it (tests/vectors/sigv4/README): for the
 * vectors, and for what other programs sign beside us. */
#pragma once
#include "dep/json.h"
#include "net/sign.h"

/* how: "sigv4", "acs3", "oss4" or "gcs", in headers or in the URL. pem is the key of
 * gcs. r is owned by the caller; its body is borrowed from j. */
int sign_case(const char *how, const struct gpc_json *j, const char *pem,
	bool in_url, struct gpc_request *r, struct gpc_error *err)
	gpc_must_check;
/* The signature that r got, or "". Borrowed. */
const char *sign_case_signature(const struct gpc_request *r);
/* A token instead: iss, sub, aud, scope, kid. */
int sign_case_jwt(const struct gpc_json *j, const char *pem, char **ret_token,
	struct gpc_error *err) gpc_must_check;
