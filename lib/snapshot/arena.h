/* Many small strings that live and die together: 200,000 paths cost their bytes
 * and little else. */
#pragma once
#include <stddef.h>

#include "base/mem.h"

struct gpc_arena;                                  /* opaque */

struct gpc_arena *gpc_arena_new(void);
/* A copy of n bytes with a NUL behind it; lives as long as the arena. NULL when
 * there is no memory. */
char *gpc_arena_copy(struct gpc_arena *a, const char *s, size_t n);
void gpc_arena_free(struct gpc_arena *a);
GPC_CLEANUP_POINTER(gpc_arena);
