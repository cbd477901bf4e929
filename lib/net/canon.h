/* What the requests that are signed have in common, whichever cloud signs: times,
 * the canonical forms of query and headers, and the chain of keys. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/request.h"
#include "net/sign.h"

#define GPC_CANON_HEX 65                /* of a SHA-256, with the NUL */
#define GPC_CANON_MAX_EXPIRES_S 604800  /* seven days, in all schemes */

/* "20150830T123600Z": its first eight characters are the day. */
#define GPC_CANON_TIME 17
void gpc_canon_time(int64_t ms, char ret_time[GPC_CANON_TIME]);

/* GPC_EAUTH where a key is missing or holds what would break a header. */
int gpc_canon_check_keys(const struct gpc_keys *keys, struct gpc_error *err)
	gpc_must_check;
/* GPC_ECONFIG where a word of the scope is missing or holds what would break it. */
int gpc_canon_check_word(const char *word, const char *what,
	struct gpc_error *err) gpc_must_check;
/* GPC_EUSAGE. */
int gpc_canon_check_expires(int expires_s, struct gpc_error *err)
	gpc_must_check;

/* name=value&..., percent-encoded, sorted by name, then value. bare: without "="
 * where there is no value. */
void gpc_canon_query(const struct gpc_pairs *query, bool bare,
	struct gpc_buf *to);

struct gpc_canon_rule {
	bool (*is_signed)(const char *name);    /* of headers other than host */
	bool host;
	bool no_port;                   /* of it */
	bool collapse;                  /* white space inside of values */
};
/* "name:value\n" of each header that is signed, sorted, those of one name joined
 * by a comma; and their names, joined by a semicolon. */
void gpc_canon_headers(const struct gpc_request *r,
	const struct gpc_canon_rule *rule, struct gpc_buf *lines,
	struct gpc_buf *names);

/* day/region/service/end names what a signature is good for. */
struct gpc_canon_scope {
	const char *algorithm, *time, *region, *service, *end;
};
void gpc_canon_scope(const struct gpc_canon_scope *s, struct gpc_buf *to);
/* The text that is signed: algorithm, time, scope and the hash of the canonical
 * request, line by line. */
void gpc_canon_to_sign(const struct gpc_canon_scope *s,
	const struct gpc_buf *canonical, struct gpc_buf *to);
/* Its HMAC by the key that follows from prefix and secret for this scope. */
void gpc_canon_mac(const struct gpc_canon_scope *s, const char *prefix,
	const char *secret, const struct gpc_buf *canonical,
	char ret_hex[GPC_CANON_HEX]);
