/* Authorities whom a node of a cloud has to believe besides those of its image. */
#pragma once
#include <stdbool.h>

#include "model/node.h"

/* Whether this launch's store, or a bucket of its job, is a server of the user's own,
 * reached by TLS: then the certificates of ca_file are wanted there as well. */
bool gpc_authorities_needed(const struct gpc_launch *l);
/* The certificates of a PEM file and nothing else that is in it, such as a key; owned.
 * GPC_ECONFIG: it has none. */
int gpc_authorities_read(const char *path, char **ret_pem, struct gpc_error *err)
	gpc_must_check;
