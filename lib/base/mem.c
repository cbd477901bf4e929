/* Allocation that never returns NULL. Memory that is gone ends the process at
 * once with one line on stderr: the next attempt goes on from the journal,
 * which is safer than half of each module's untested recovery. Sizes cannot
 * wrap around here; what the outside world sizes is capped before.
 */
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void out_of_memory(void)
{
	static const char text[] = "gpucloud: out of memory\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		abort();
	abort();
}

static size_t product(size_t n, size_t size)
{
	if (size != 0 && n > PTRDIFF_MAX / size)
		out_of_memory();
	return n * size;
}

void *gpc_alloc(size_t size)
{
	return gpc_array(1, size);
}

void *gpc_array(size_t n, size_t size)
{
	size_t bytes = product(n, size);
	void *p = calloc(1, bytes ? bytes : 1);

	if (!p)
		out_of_memory();
	return p;
}

void *gpc_grow(void *p, size_t n, size_t size)
{
	size_t bytes = product(n, size);
	void *q = realloc(p, bytes ? bytes : 1);

	if (!q)
		out_of_memory();
	return q;
}

void *gpc_try_grow(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (size != 0 && n > PTRDIFF_MAX / size)
		return NULL;
	bytes = n * size;
	return realloc(p, bytes ? bytes : 1);
}

void *gpc_try_array(size_t n, size_t size)
{
	void *p = gpc_try_grow(NULL, n, size);

	if (p)
		memset(p, 0, n * size);
	return p;
}

int gpc_fail_memory(struct gpc_error *err, const char *what)
{
	int r = gpc_fail_sys(err, ENOMEM, "no memory for %s", what);

	gpc_hint(err, "free some memory, or raise its limit (ulimit -v, the "
		"control group), then repeat");
	return r;
}

char *gpc_strdup(const char *s)
{
	return s ? gpc_strndup(s, strlen(s)) : NULL;
}

char *gpc_strndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = gpc_grow(NULL, len + 1, 1);

	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *gpc_format(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = gpc_vformat(fmt, ap);
	va_end(ap);
	return s;
}

char *gpc_vformat(const char *fmt, va_list ap)
{
	va_list again;
	char *s;
	int n;

	assert(fmt);              /* and tells gcc's sanitizer build so */
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		out_of_memory();
	s = gpc_grow(NULL, (size_t)n + 1, 1);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	return s;
}

void gpc_wipe(void *p, size_t n)
{
	if (n == 0)
		return;
	memset(p, 0, n);
	/* For all that the compiler knows, the zeros are read here. */
	__asm__ volatile("" : : "r"(p) : "memory");
}

void gpc_wipe_str(char *s)
{
	if (s)
		gpc_wipe(s, strlen(s));
}

void gpc_set_str(char **slot, const char *s)
{
	char *old = *slot;

	/* s may be a part of the old text. */
	*slot = gpc_strdup(s);
	free(old);
}
