/* Blocks in a list; only the newest has room. A string larger than a block gets
 * one of its own. Nothing is ever moved.
 */
#include "snapshot/arena.h"

#include <string.h>

enum { BLOCK = 256 << 10 };

struct block {
	struct block *next;
	char bytes[];
};
struct gpc_arena {
	struct block *blocks;
	char *at;
	size_t left;
};

struct gpc_arena *gpc_arena_new(void)
{
	return gpc_alloc(sizeof(struct gpc_arena));
}

static char *add_block(struct gpc_arena *a, size_t size)
{
	/* Not zeroed: pages that are never written stay unused. */
	struct block *b = gpc_try_grow(NULL, sizeof(*b) + size, 1);

	if (!b)
		return NULL;
	b->next = a->blocks;
	a->blocks = b;
	return b->bytes;
}

char *gpc_arena_copy(struct gpc_arena *a, const char *s, size_t n)
{
	char *p;

	if (n + 1 > BLOCK / 4) {
		p = add_block(a, n + 1);
		if (!p)
			return NULL;
	} else {
		if (n + 1 > a->left) {
			p = add_block(a, BLOCK);
			if (!p)
				return NULL;
			a->at = p;
			a->left = BLOCK;
		}
		p = a->at;
		a->at += n + 1;
		a->left -= n + 1;
	}
	memcpy(p, s, n);
	p[n] = '\0';
	return p;
}

void gpc_arena_free(struct gpc_arena *a)
{
	if (!a)
		return;
	while (a->blocks) {
		struct block *next = a->blocks->next;

		free(a->blocks);
		a->blocks = next;
	}
	free(a);
}
