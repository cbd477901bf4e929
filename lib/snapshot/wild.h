/* Git's wildmatch, compiled: the glob language of ignore rules. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct gpc_wild_set { uint8_t bits[32]; };
struct gpc_wild_token { uint8_t kind, ch; uint16_t to; };
/* All zero is valid and matches the empty text. */
struct gpc_wild {
	GPC_VEC(struct gpc_wild_token) tokens;
	GPC_VEC(struct gpc_wild_set) sets;
	bool never;                 /* malformed: matches nothing, as in git */
	bool pathname;              /* only `**` passes a slash */
};
#define GPC_WILD_MAX 4096           /* bytes of a pattern */

/* pattern: n <= GPC_WILD_MAX bytes without NUL. *ret_w must be all zero. */
void gpc_wild_compile(const char *pattern, size_t n, bool pathname,
	struct gpc_wild *ret_w);
/* Time is at most tokens times n. */
bool gpc_wild_match(const struct gpc_wild *w, const char *text, size_t n);
void gpc_wild_clear(struct gpc_wild *w);
