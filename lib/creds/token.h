/* Tokens in files: read anew for each use, because others renew them. */
#pragma once
#include "base/err.h"

#define GPC_TOKEN_MAX_BYTES 20000

/* The file's text without white space around it; owned, to be wiped. Fails with
 * GPC_EAUTH where there is none, GPC_ECONFIG when it holds something else than
 * one printable word. what: "AWS_WEB_IDENTITY_TOKEN_FILE", for messages. */
int gpc_token_read(const char *what, const char *path, char **ret_token,
	struct gpc_error *err) gpc_must_check;
/* The same check for a text; what: as above. */
int gpc_token_check(const char *what, const char *token, struct gpc_error *err)
	gpc_must_check;
void gpc_token_free(char *token);               /* wipes it */
static inline void gpc_token_autop(char **token) { gpc_token_free(*token); }
#define gpc_autotoken __attribute__((cleanup(gpc_token_autop))) char
