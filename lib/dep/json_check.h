/* RFC 8259, to the letter: what json.c demands before it builds a tree. */
#pragma once
#include <stddef.h>

#include "base/err.h"

/* One JSON value and nothing else: valid UTF-8, at most GPC_JSON_MAX_DEPTH
 * levels and GPC_JSON_MAX_VALUES values, no \u0000, no lone surrogate. Errors
 * name line and column. */
int gpc_json_check(const char *text, size_t n, struct gpc_error *err)
	gpc_must_check;
