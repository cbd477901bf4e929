/* One store in two: records, over which writers race, in a store that keeps them
 * apart; data, which is large and has one writer each, in one that need not.
 * "s3://BUCKET/PREFIX?…&journal=URL" names both. */
#pragma once
#include "store/store.h"

bool gpc_store_is_split(const char *url);
int gpc_store_open_split(const char *url, unsigned flags,
	const struct gpc_log *log, struct gpc_store **ret_s,
	struct gpc_error *err) gpc_must_check;
