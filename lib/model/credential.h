/* Files that look like credentials: by their path, and by their first bytes
 * where a path alone says too little. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define GPC_CREDENTIAL_READ ((size_t)16 << 10)   /* bytes that decide */

struct gpc_credential_rule;
/* The rule for a file of this path below root, which is only looked at for the
 * names of folders; NULL = it looks like nothing, and need not be opened.
 * Public keys and certificates look like nothing. */
const struct gpc_credential_rule *gpc_credential_rule_for(const char *root,
	const char *path, uint64_t size);
/* What the file is by its first bytes, "a private key"; NULL = nothing. */
const char *gpc_credential_look(const struct gpc_credential_rule *rule,
	const char *data, size_t n);
