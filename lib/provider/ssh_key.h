/* Key pairs, made by the system's ssh-keygen: the user's, and one for each node. */
#pragma once
#include "base/err.h"

/* Where a program of OpenSSH is: on PATH, or where servers' programs lie. Owned; NULL
 * when there is none. */
char *gpc_ssh_program(const char *name);
/* A new pair at path and path.pub, both only for us; whatever was there is replaced.
 * *ret_public: "ssh-ed25519 AAAA…", owned. GPC_ENOTFOUND: there is no ssh-keygen. */
int gpc_ssh_key_make(const char *path, char **ret_public, struct gpc_error *err)
	gpc_must_check;
/* That of a pair which was made before; GPC_ENOTFOUND when a half of it is not there,
 * GPC_EPROTO when that is no key. */
int gpc_ssh_key_read(const char *path, char **ret_public, struct gpc_error *err)
	gpc_must_check;
