/* How the files of the model set an extra key; not for other rooms. */
#pragma once
#include "model/config.h"

/* Checks the items and keeps copies, unless a later origin has set the key. */
int gpc_config_put_more(struct gpc_config *c, const char *name,
	const struct gpc_config_extra *extra, enum gpc_config_origin origin,
	const struct gpc_strv *items, const char *where, struct gpc_error *err)
	gpc_must_check;
