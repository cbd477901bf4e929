/* Memory policy: small allocations abort when memory is gone (an agent that
 * dies is a lost node, and the next attempt goes on); whatever is sized by
 * the outside world has a cap checked before it reaches these functions, and
 * where it is large (objects, logs, packs, JSON) want of memory is an error.
 *
 * Words: init/clear = a value in place (all zero is valid; clear leaves it
 * reusable), new/free = heap, open/close = a resource of the OS or a remote.
 * Every destructor takes NULL.
 */
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/err.h"

void *gpc_alloc(size_t size);                    /* zeroed */
void *gpc_array(size_t n, size_t size);          /* zeroed, overflow-checked */
void *gpc_grow(void *p, size_t n, size_t size);  /* realloc, overflow-checked */
/* The same for what the outside world sizes: NULL when there is no memory, and
 * p stays as it was. */
void *gpc_try_grow(void *p, size_t n, size_t size);
void *gpc_try_array(size_t n, size_t size);      /* zeroed */
/* Says that there was none for `what`, such as "the names of 5 files". */
int gpc_fail_memory(struct gpc_error *err, const char *what);
char *gpc_strdup(const char *s);                 /* NULL stays NULL */
char *gpc_strndup(const char *s, size_t n);
char *gpc_format(const char *fmt, ...) gpc_printf(1, 2);
char *gpc_vformat(const char *fmt, va_list ap) gpc_printf(1, 0);
/* Zeros what held a secret; a compiler does not leave it out. p may be NULL when n
 * is 0. */
void gpc_wipe(void *p, size_t n);
/* The same for all of a string; NULL-safe. */
void gpc_wipe_str(char *s);
/* *slot = a copy of s; frees what was there. s may be NULL. */
void gpc_set_str(char **slot, const char *s);

/* Cleanup attributes: `gpc_auto(gpc_buf) struct gpc_buf b = {0};` clears b at
 * the end of its scope; `gpc_autoptr(gpc_json) *j = NULL;` frees it. Put one of
 * these lines beside each clear or free function. */
#define GPC_CLEANUP_VALUE(type) \
	static inline void type##_auto(struct type *p) { type##_clear(p); } \
	struct type
#define GPC_CLEANUP_POINTER(type) \
	static inline void type##_autop(struct type **p) { type##_free(*p); } \
	struct type
#define gpc_auto(type) __attribute__((cleanup(type##_auto)))
#define gpc_autoptr(type) \
	__attribute__((cleanup(type##_autop))) struct type

static inline void gpc_free_str(char **p) { free(*p); }
#define gpc_autostr __attribute__((cleanup(gpc_free_str))) char

/* Moves a pointer out of its variable, which becomes NULL. */
static inline void *gpc_steal_ptr(void *slot)
{
	void **p = slot;
	void *v = *p;

	*p = NULL;
	return v;
}
#define gpc_steal(p) ((__typeof__(*(p)))gpc_steal_ptr(p))
