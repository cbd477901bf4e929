/* Small requests of the chains: to metadata services, token services, portals. */
#pragma once
#include <stddef.h>

#include "creds/identity.h"
#include "net/net.h"

#define GPC_FETCH_MAX_BYTES ((size_t)256 << 10)

struct gpc_fetch {
	const char *what;               /* "instance metadata": begins messages */
	const char *method, *url;
	const struct gpc_pairs *headers;/* NULL: none */
	const char *body;               /* NULL: none */
	int timeout_ms;                 /* of one try; 0 = 10 s */
	int max_tries;                  /* 0 = 3 */
	/* Words of the member "error" that mean another time, also in a 4xx; ends
	 * in NULL. NULL: none. */
	const char *const *again;
	bool direct;                    /* never by a proxy: metadata */
	const char *ca_file, *ca_from;  /* see dep/http.h */
	bool hushed;                    /* URL and headers are somebody's own, and
	                                 * may be secret by any name */
};
/* Sends it; body and headers may hold secrets. Any reply below 200 or above 299 is
 * a failure with err->http set and *ret_reply filled as well: GPC_ENET or GPC_ERATE
 * where another time may help, GPC_EAUTH for what else a service refuses. No reply
 * is GPC_ENET or GPC_ETIMEOUT. ret_reply must be zero. */
int gpc_fetch(struct gpc_net *net, const struct gpc_fetch *f,
	struct gpc_reply *ret_reply, struct gpc_error *err) gpc_must_check;
/* The same, for a reply that is an identity; the body is wiped. */
int gpc_fetch_identity(struct gpc_net *net, const struct gpc_fetch *f,
	const struct gpc_identity_names *names, struct gpc_identity *i,
	struct gpc_error *err) gpc_must_check;
/* What a service says in a JSON reply that is a failure: the first of these
 * members that is a text ("a", "b", NULL), printable and cut; NULL: none. Owned. */
char *gpc_fetch_said(const struct gpc_reply *reply, const char *const *members);
/* Keys that a service has just made, but that have ended by our clock: then it is
 * our clock that is wrong, and the reply's Date counts from now on. */
void gpc_fetch_mend_clock(struct gpc_net *net, const struct gpc_reply *reply,
	const struct gpc_identity *i);
/* Wipes the body as well. */
void gpc_fetch_forget(struct gpc_reply *reply);
