/* Regions of AWS: those that a setting names, and those in which this machine bought,
 * remembered so that `release --all` looks there too when the store is out of reach. */
#pragma once
#include "base/err.h"
#include "base/str.h"

enum gpc_aws_memory { GPC_AWS_OF_MACHINES, GPC_AWS_OF_GROUPS };
/* text: names by comma; NULL: none. Appends each once. GPC_ECONFIG. */
int gpc_aws_regions_read(const char *text, struct gpc_strv *to,
	struct gpc_error *err) gpc_must_check;
/* Remembers that something is about to be bought there. */
int gpc_aws_regions_use(const char *state_dir, enum gpc_aws_memory what,
	const char *region, struct gpc_error *err) gpc_must_check;
/* Appends each that was remembered, once. */
int gpc_aws_regions_used(const char *state_dir, enum gpc_aws_memory what,
	struct gpc_strv *to, struct gpc_error *err) gpc_must_check;
