/* Identities as services and programs hand them out: JSON of a few names. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "creds/creds.h"
#include "dep/json.h"

/* Names of members; NULL: has no such. */
struct gpc_identity_names {
	const char *id, *secret, *token, *bearer;
	const char *expires_at;         /* a time as text, or in ms since 1970 */
	const char *expires_in;         /* seconds from now */
	const char *account;
	bool lasting;                   /* without a time, it does not end */
	bool no_token;                  /* may lack the token */
};
/* Adds what j holds to *i. GPC_EPROTO when something is missing or strange; the
 * message names members, never values. now_ms: what expires_in counts from. */
int gpc_identity_read(const struct gpc_json *j,
	const struct gpc_identity_names *names, int64_t now_ms,
	struct gpc_identity *i, struct gpc_error *err) gpc_must_check;
/* The same of a text, which is wiped. */
int gpc_identity_parse(char *text, size_t n,
	const struct gpc_identity_names *names, int64_t now_ms,
	struct gpc_identity *i, struct gpc_error *err) gpc_must_check;
/* A time as the clouds' tools write it: RFC 3339, also with "UTC" for Z. */
int gpc_identity_time(const char *text, int64_t *ret_ms, struct gpc_error *err)
	gpc_must_check;
/* The same to text, in whole seconds, which all of them read. Returns out. */
char *gpc_identity_time_text(int64_t ms, char out[GPC_RFC3339_SIZE]);
/* A key or token that can stand in a header: printable ASCII, not too long.
 * what: for the message. */
int gpc_identity_check(const char *what, const char *value,
	struct gpc_error *err) gpc_must_check;
/* Puts keys that stand somewhere as they are into *i, checked. token NULL: they
 * are lasting; token_name: what messages call it. GPC_ECONFIG with where they
 * stand. */
int gpc_identity_set_keys(struct gpc_identity *i, const char *id,
	const char *secret, const char *token, const char *token_name,
	const char *where, struct gpc_error *err) gpc_must_check;
