/* Changing one value in the text of a configuration file. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct gpc_config_change {
	const char *profile;           /* within this profile, or NULL */
	const char *key;               /* "local.price_per_hour" */
	const struct gpc_strv *items;  /* what it is to be; NULL: not there */
	bool list;                     /* write a list, also of one */
};
/* Appends to ret_text the text with the change in it. Every other byte stays:
 * comments, order, quotes. The result has been read again and holds just that
 * change, or the answer is GPC_EUNSUPPORTED (a file for an editor) with
 * ret_text as it was. GPC_ENOTFOUND: nothing to remove. GPC_ECONFIG: not YAML.
 * name is what errors call the file. */
int gpc_config_edit(const char *text, size_t n, const char *name,
	const struct gpc_config_change *change, struct gpc_buf *ret_text,
	struct gpc_error *err) gpc_must_check;
