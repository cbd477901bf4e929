/* How the git files of this room run the system's git; not for other rooms. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/cancel.h"
#include "base/err.h"
#include "base/str.h"

struct gpc_git_call {
	const char *dir;              /* where it runs; nothing above it is asked */
	const char *git_dir;          /* the bare repository; NULL = none */
	const char *index, *tree;     /* for a checkout; else NULL */
	const char *url;              /* whom a token is for; NULL = no network */
	const char *token, *ssh_key;  /* may be NULL */
	bool ask;                     /* git may ask at the terminal */
	const struct gpc_cancel *cancel;
};
/* Runs `git ARG...` (NULL at the end) and appends its stdout, up to out->max
 * bytes, to out (NULL = dropped). Failures are sorted by what git said:
 * GPC_EAUTH, GPC_ENET, GPC_ENOTFOUND (no such ref), GPC_ECONFIG (no such
 * repository, or no git), GPC_ECANCELED, else GPC_EIO, with sys ENOSPC for a
 * full disk. What messages repeat of git's
 * words holds neither the token nor a password of an address. */
int gpc_git_run(const struct gpc_git_call *call, const char *const *args,
	struct gpc_buf *out, struct gpc_error *err) gpc_must_check;
