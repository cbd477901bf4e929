/* Growing byte buffer with a hard cap.
 *
 * Appends return nothing: passing the cap is sticky and reported once, by
 * gpc_buf_finish or gpc_buf_check. data is always NUL-terminated once anything
 * was added; an all-zero gpc_buf is valid and has the default cap.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

#define GPC_BUF_DEFAULT_MAX ((size_t)64 << 20)

struct gpc_buf {
	char *data;
	size_t len;
	size_t cap;
	size_t max;       /* bytes; 0 = GPC_BUF_DEFAULT_MAX */
	bool overflow;
	bool no_memory;   /* why it overflowed */
	bool soft;        /* want of memory is no end, but an overflow */
};

void gpc_buf_init(struct gpc_buf *b, size_t max_bytes);
void gpc_buf_clear(struct gpc_buf *b);   /* frees; keeps max */
void gpc_buf_reset(struct gpc_buf *b);   /* len = 0; keeps memory */
void gpc_buf_add(struct gpc_buf *b, const void *data, size_t n);
void gpc_buf_adds(struct gpc_buf *b, const char *s);
void gpc_buf_addc(struct gpc_buf *b, char c);
void gpc_buf_addf(struct gpc_buf *b, const char *fmt, ...) gpc_printf(2, 3);
/* Room for n more bytes at the end: returns where to write, NULL past the cap.
 * Follow it by b->len += what was written. */
void *gpc_buf_reserve(struct gpc_buf *b, size_t n);
/* The same for what comes from outside: also NULL when there is no memory, which
 * gpc_buf_check then says. */
void *gpc_buf_try_reserve(struct gpc_buf *b, size_t n);
/* Adds all or nothing, and says why not: past the cap, or no memory. Nothing
 * sticks: b may be used on. */
int gpc_buf_try_add(struct gpc_buf *b, const void *data, size_t n,
	struct gpc_error *err) gpc_must_check;
/* Drops n bytes at the front. */
void gpc_buf_drop(struct gpc_buf *b, size_t n);
const char *gpc_buf_str(const struct gpc_buf *b);   /* never NULL; borrowed */
int gpc_buf_check(const struct gpc_buf *b, struct gpc_error *err)
	gpc_must_check;
/* Moves the string out; b is empty afterwards, whatever the result. */
int gpc_buf_finish(struct gpc_buf *b, char **ret_s, struct gpc_error *err)
	gpc_must_check;
GPC_CLEANUP_VALUE(gpc_buf);
