/* What the metadata services of instances have in common at AWS and at Alibaba
 * Cloud: a token by PUT, then GETs that bear it, by plain HTTP. Most machines are on
 * neither: that nothing answers within the time, once, is no error and is remembered
 * for this process. */
#pragma once
#include "creds/backend.h"
#include "creds/fetch.h"

struct gpc_metadata {
	const struct gpc_creds_look *look;
	char *base;                     /* without a slash at the end */
	const char *token_header;
	int timeout_ms, tries;
	struct gpc_pairs headers;       /* the token, once it is there */
};
void gpc_metadata_clear(struct gpc_metadata *m);        /* wipes the token */

/* By this variable, or because nothing answered before; noted. */
bool gpc_metadata_is_disabled(const struct gpc_creds_look *look,
	const char *variable);
/* Gets the token. *ret_answered: the service gave one, which may be no token. */
int gpc_metadata_open(struct gpc_metadata *m, bool *ret_answered,
	struct gpc_error *err) gpc_must_check;
/* ret_reply->body is a text, also after a failure; see gpc_fetch. */
int gpc_metadata_ask(struct gpc_metadata *m, const char *method,
	const char *path, struct gpc_reply *ret_reply, struct gpc_error *err)
	gpc_must_check;
/* Whether a failure means that nothing is there. */
bool gpc_metadata_is_absent(int r, const struct gpc_error *err);
/* Notes and remembers it; 0. */
int gpc_metadata_say_absent(struct gpc_metadata *m);
