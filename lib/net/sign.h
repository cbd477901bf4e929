/* Signatures of the clouds, as pure functions of request, keys and time: no I/O
 * but the reading of a body that is hashed, no clock, no environment.
 *
 * Each adds to the request what its scheme sends. A request that is signed twice is
 * wrong: sign a copy. After an error the request is of no use. Secrets are only
 * read. GPC_EAUTH: no key; GPC_ECONFIG: a region or a key that cannot be; GPC_EUSAGE:
 * a time that is too long. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "net/request.h"

struct gpc_keys {                       /* all borrowed */
	const char *id, *secret;
	const char *token;              /* NULL: not temporary */
};

/* AWS Signature Version 4 */
struct gpc_sign_aws {
	struct gpc_keys keys;
	const char *region, *service;
	int64_t now_ms;
	bool s3;                        /* path as it is; x-amz-content-sha256 */
	bool raw_path;                  /* the first of these alone */
	bool unsigned_payload;          /* s3 over https: the body is not hashed */
};
int gpc_sign_aws(struct gpc_request *r, const struct gpc_sign_aws *how,
	struct gpc_error *err) gpc_must_check;
/* Into the query; 1 to 604800 seconds. Whoever uses the URL must send the headers
 * that r has, as they are; so for all clouds. */
int gpc_presign_aws(struct gpc_request *r, const struct gpc_sign_aws *how,
	int expires_s, struct gpc_error *err) gpc_must_check;

/* Alibaba Cloud ACS3-HMAC-SHA256. Action and version are headers of r already
 * (x-acs-action, x-acs-version). */
struct gpc_sign_acs {
	struct gpc_keys keys;
	int64_t now_ms;
	const char *nonce;              /* new for each try */
};
int gpc_sign_acs(struct gpc_request *r, const struct gpc_sign_acs *how,
	struct gpc_error *err) gpc_must_check;

/* OSS Signature Version 4. The resource that is signed names bucket and key also
 * where the host does. */
struct gpc_sign_oss {
	struct gpc_keys keys;
	const char *region;             /* "cn-hangzhou" */
	const char *bucket;             /* NULL: none */
	const char *key;                /* not encoded; NULL: none */
	int64_t now_ms;
};
int gpc_sign_oss(struct gpc_request *r, const struct gpc_sign_oss *how,
	struct gpc_error *err) gpc_must_check;
int gpc_presign_oss(struct gpc_request *r, const struct gpc_sign_oss *how,
	int expires_s, struct gpc_error *err) gpc_must_check;

/* Google service accounts: a JSON Web Token (RFC 7515, RS256). */
struct gpc_jwt {
	const char *key_pem;            /* PKCS #8 or PKCS #1 */
	const char *key_id;             /* header kid; NULL: none */
	const char *issuer, *subject, *audience, *scope;        /* NULL: none */
	int64_t now_ms;
	int lifetime_s;                 /* at most 3600 */
};
/* ret_jwt is owned by the caller. */
int gpc_sign_jwt(const struct gpc_jwt *how, char **ret_jwt,
	struct gpc_error *err) gpc_must_check;
/* Google Cloud Storage V4 signed URLs, GOOG4-RSA-SHA256. */
struct gpc_sign_gcs {
	const char *key_pem, *email;
	int64_t now_ms;
};
int gpc_presign_gcs(struct gpc_request *r, const struct gpc_sign_gcs *how,
	int expires_s, struct gpc_error *err) gpc_must_check;
