/* The growing byte buffer. Nothing it is told to hold can pass its cap: the
 * add that would is dropped whole, the mark stays, and whoever finishes the
 * buffer learns of it. Growth doubles, so building n bytes costs O(n).
 */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static size_t limit_of(const struct gpc_buf *b)
{
	return b->max ? b->max : GPC_BUF_DEFAULT_MAX;
}

/* Makes room for n more bytes and a NUL. soft: want of memory is no end. */
static bool make_room(struct gpc_buf *b, size_t n, bool soft)
{
	size_t limit = limit_of(b);
	size_t need, cap;
	char *grown;

	if (b->overflow || b->len > limit || n > limit - b->len) {
		b->overflow = true;
		return false;
	}
	need = b->len + n + 1;
	if (need <= b->cap)
		return true;
	cap = b->cap ? b->cap : 64;
	while (cap < need && cap <= limit / 2)
		cap *= 2;
	if (cap < need)
		cap = limit < PTRDIFF_MAX ? limit + 1 : need;
	grown = soft || b->soft ? gpc_try_grow(b->data, cap, 1) :
		gpc_grow(b->data, cap, 1);
	if (!grown) {
		b->overflow = b->no_memory = true;
		return false;
	}
	b->data = grown;
	b->cap = cap;
	return true;
}

void gpc_buf_init(struct gpc_buf *b, size_t max_bytes)
{
	*b = (struct gpc_buf){.max = max_bytes};
}

void gpc_buf_clear(struct gpc_buf *b)
{
	if (!b)
		return;
	free(b->data);
	*b = (struct gpc_buf){.max = b->max};
}

void gpc_buf_reset(struct gpc_buf *b)
{
	b->len = 0;
	b->overflow = b->no_memory = false;
	if (b->data)
		b->data[0] = '\0';
}

void gpc_buf_add(struct gpc_buf *b, const void *data, size_t n)
{
	if (!make_room(b, n, false))
		return;
	if (n > 0)
		memcpy(b->data + b->len, data, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void gpc_buf_adds(struct gpc_buf *b, const char *s)
{
	gpc_buf_add(b, s, strlen(s));
}

void gpc_buf_addc(struct gpc_buf *b, char c)
{
	gpc_buf_add(b, &c, 1);
}

void gpc_buf_addf(struct gpc_buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->overflow = true;
		return;
	}
	if (!make_room(b, (size_t)n, false))
		return;
	va_start(ap, fmt);
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

static void *reserve(struct gpc_buf *b, size_t n, bool soft)
{
	if (!make_room(b, n, soft))
		return NULL;
	b->data[b->len] = '\0';
	return b->data + b->len;
}

void *gpc_buf_reserve(struct gpc_buf *b, size_t n)
{
	return reserve(b, n, false);
}

void *gpc_buf_try_reserve(struct gpc_buf *b, size_t n)
{
	return reserve(b, n, true);
}

int gpc_buf_try_add(struct gpc_buf *b, const void *data, size_t n,
	struct gpc_error *err)
{
	bool before = b->overflow;
	char *to = gpc_buf_try_reserve(b, n);
	int r;

	if (to) {
		if (n > 0)
			memcpy(to, data, n);
		b->len += n;
		b->data[b->len] = '\0';
		return 0;
	}
	r = gpc_buf_check(b, err);
	/* The caller knows, and what is there is whole. */
	b->overflow = before;
	b->no_memory = false;
	return r;
}

void gpc_buf_drop(struct gpc_buf *b, size_t n)
{
	if (n > b->len)
		n = b->len;
	if (n == 0)
		return;
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
	b->data[b->len] = '\0';
}

const char *gpc_buf_str(const struct gpc_buf *b)
{
	if (!b->data)
		return "";
	/* Bytes written behind gpc_buf_reserve have no NUL yet; the memory is
	 * ours although the struct is const. */
	b->data[b->len] = '\0';
	return b->data;
}

int gpc_buf_check(const struct gpc_buf *b, struct gpc_error *err)
{
	if (!b->overflow)
		return 0;
	if (b->no_memory)
		return gpc_fail_sys(err, ENOMEM, "memory for more than %zu bytes",
			b->cap);
	return gpc_fail(err, GPC_EPROTO, "more than %zu bytes, the most allowed here",
		limit_of(b));
}

int gpc_buf_finish(struct gpc_buf *b, char **ret_s, struct gpc_error *err)
{
	int r = gpc_buf_check(b, err);

	if (r == 0) {
		gpc_buf_str(b);
		*ret_s = b->data ? gpc_steal(&b->data) : gpc_strdup("");
	}
	gpc_buf_clear(b);
	return r;
}
