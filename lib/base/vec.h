/* Typed growing arrays: GPC_VEC(struct gpc_node) is an anonymous struct type
 * {v, n, cap}; all zero is an empty vector. Elements are plain memory: clear
 * their contents before gpc_vec_free. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"

#define GPC_VEC(type) struct { type *v; size_t n, cap; }

/* A pointer to a new zeroed element at the end; valid until the next push. */
#define gpc_vec_push(vec) \
	(gpc_vec_make_room((void **)&(vec)->v, &(vec)->n, &(vec)->cap, \
		sizeof(*(vec)->v)), \
	 &(vec)->v[(vec)->n++])
/* The same for as many as the outside world has: NULL when there is no memory,
 * and the vector stays as it was. */
#define gpc_vec_try_push(vec) \
	(gpc_vec_try_make_room((void **)&(vec)->v, &(vec)->n, &(vec)->cap, \
		sizeof(*(vec)->v)) ? &(vec)->v[(vec)->n++] : NULL)
#define gpc_vec_remove(vec, i) \
	(memmove(&(vec)->v[i], &(vec)->v[(i) + 1], \
		((vec)->n - (i) - 1) * sizeof(*(vec)->v)), (vec)->n--)
#define gpc_vec_free(vec) \
	(free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0)
#define gpc_vec_each(it, vec) \
	for (__typeof__((vec)->v + 0) it = (vec)->v; \
	     it && it < (vec)->v + (vec)->n; it++)

/* Grows *v so that element n fits, and zeroes that element. */
void gpc_vec_make_room(void **v, size_t *n, size_t *cap, size_t size);
bool gpc_vec_try_make_room(void **v, size_t *n, size_t *cap, size_t size);
