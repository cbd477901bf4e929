/* Telling an address: one POST of JSON, in a thread of its own, so that nobody
 * waits for a slow server. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

#define GPC_NOTICE_POST_MS 60000        /* over all tries, as a command has it */

struct gpc_notice_post;                 /* opaque */
struct gpc_notice_post_how {            /* all borrowed, copied */
	const char *url;                /* whole; a secret: no message has it */
	const char *body;
	/* The same for a repeat: who gets both knows that they are one. */
	const char *key;
	const char *ca_file;            /* or NULL */
};
/* GPC_EPROTO: it is no URL. Returns at once. */
int gpc_notice_post_start(const struct gpc_notice_post_how *how,
	struct gpc_notice_post **ret_post, struct gpc_error *err) gpc_must_check;
/* False when it has ended: *ret_why (owned) then says what went wrong, or is NULL
 * after a reply of 2xx. It is freed then. */
bool gpc_notice_post_runs(struct gpc_notice_post **post, char **ret_why);
/* Ends it within some tenths of a second. */
void gpc_notice_post_free(struct gpc_notice_post *post);
