/* See packed.h. An entry is: how many bytes of the key before stay, how many are
 * new, these, then size, change of time, and flags; numbers in base 128, the lowest
 * bits first. Written and read by this file alone, so nothing is checked. */
#include "transfer/packed.h"

#include <string.h>

enum { NUMBER_MAX = 10, NUMBERS = 5 };
#define KEYS_MAX ((size_t)1 << 20)

static size_t put_number(uint8_t *to, uint64_t n)
{
	size_t i = 0;

	for (; n >= 0x80; n >>= 7)
		to[i++] = (uint8_t)(n | 0x80);
	to[i++] = (uint8_t)n;
	return i;
}

static uint64_t get_number(struct gpc_packed_reader *r)
{
	const char *p = r->p->bytes.data;
	uint64_t n = 0;
	unsigned shift = 0;
	uint8_t c;

	do {
		c = (uint8_t)p[r->at++];
		n |= (uint64_t)(c & 0x7f) << shift;
		shift += 7;
	} while (c & 0x80);
	return n;
}

/* Small numbers of either sign are short: 0, -1, 1, -2 and so on. */
static uint64_t fold(int64_t n)
{
	return ((uint64_t)n << 1) ^ (n < 0 ? UINT64_MAX : 0);
}

static int64_t unfold(uint64_t n)
{
	return (int64_t)(n >> 1) ^ -(int64_t)(n & 1);
}

static size_t common(const struct gpc_buf *last, const char *key, size_t n)
{
	size_t i = 0;

	while (i < n && i < last->len && last->data[i] == key[i])
		i++;
	return i;
}

int gpc_packed_add(struct gpc_packed *p, const struct gpc_listed *l,
	struct gpc_error *err)
{
	size_t n = strlen(l->key), same = common(&p->last, l->key, n);
	uint8_t *to;

	p->bytes.max = PTRDIFF_MAX;
	p->last.max = KEYS_MAX;
	to = gpc_buf_try_reserve(&p->bytes, NUMBERS * NUMBER_MAX + n - same);
	if (!to)
		return gpc_fail_memory(err, "a list of files");
	p->bytes.len += put_number(to, same);
	p->bytes.len += put_number((uint8_t *)p->bytes.data + p->bytes.len,
		n - same);
	memcpy(p->bytes.data + p->bytes.len, l->key + same, n - same);
	p->bytes.len += n - same;
	to = (uint8_t *)p->bytes.data + p->bytes.len;
	to += put_number(to, l->size);
	to += put_number(to, fold((int64_t)((uint64_t)l->modified_ms -
		(uint64_t)p->modified_ms)));
	to += put_number(to, l->flags);
	p->bytes.len = (size_t)((char *)to - p->bytes.data);
	p->last.len = same;
	gpc_buf_add(&p->last, l->key + same, n - same);
	p->modified_ms = l->modified_ms;
	p->n++;
	return gpc_buf_check(&p->last, err);
}

void gpc_packed_clear(struct gpc_packed *p)
{
	gpc_buf_clear(&p->bytes);
	gpc_buf_clear(&p->last);
	p->modified_ms = 0;
	p->n = 0;
}

bool gpc_packed_next(struct gpc_packed_reader *r, struct gpc_listed *ret_l)
{
	size_t same, more;

	if (r->at >= r->p->bytes.len)
		return false;
	same = (size_t)get_number(r);
	more = (size_t)get_number(r);
	r->key.max = KEYS_MAX;
	r->key.len = same;
	gpc_buf_add(&r->key, r->p->bytes.data + r->at, more);
	r->at += more;
	ret_l->size = get_number(r);
	r->modified_ms = (int64_t)((uint64_t)r->modified_ms +
		(uint64_t)unfold(get_number(r)));
	ret_l->modified_ms = r->modified_ms;
	ret_l->flags = (unsigned)get_number(r);
	ret_l->key = gpc_buf_str(&r->key);
	return true;
}

void gpc_packed_reader_clear(struct gpc_packed_reader *r)
{
	gpc_buf_clear(&r->key);
	r->at = 0;
	r->modified_ms = 0;
}
