/* A hashed map that keeps insertion order, and the small ordered list of
 * pairs. The map is open addressing over indices into its entries, at most
 * half full; nothing is ever removed from it, so no tombstones exist.
 */
#include "base/map.h"

#include <string.h>

#include "base/str.h"

/* The slot that holds key, or the empty one where it belongs. Slots hold an
 * entry's index + 1; 0 is empty. */
static size_t find_slot(const struct gpc_map *m, const char *key)
{
	size_t i = (size_t)gpc_hash64(key, strlen(key)) & (m->n_slots - 1);

	while (m->slots[i] != 0 &&
		strcmp(m->entries[m->slots[i] - 1].key, key) != 0)
		i = (i + 1) & (m->n_slots - 1);
	return i;
}

static bool rehash(struct gpc_map *m, bool soft)
{
	size_t n = m->n_slots ? m->n_slots * 2 : 16;
	size_t *slots = soft ? gpc_try_array(n, sizeof(*slots))
		: gpc_array(n, sizeof(*slots));

	if (!slots)
		return false;
	free(m->slots);
	m->slots = slots;
	m->n_slots = n;
	for (size_t i = 0; i < m->n; i++)
		m->slots[find_slot(m, m->entries[i].key)] = i + 1;
	return true;
}

static struct gpc_map_entry *find_entry(const struct gpc_map *m,
	const char *key)
{
	size_t at;

	if (m->n_slots == 0)
		return NULL;
	at = m->slots[find_slot(m, key)];
	return at ? &m->entries[at - 1] : NULL;
}

void *gpc_map_get(const struct gpc_map *m, const char *key)
{
	struct gpc_map_entry *e = find_entry(m, key);

	return e ? e->value : NULL;
}

bool gpc_map_has(const struct gpc_map *m, const char *key)
{
	return find_entry(m, key) != NULL;
}

static bool make_room(struct gpc_map *m, bool soft)
{
	size_t cap = m->cap ? m->cap * 2 : 8;
	void *grown;

	if (m->n == m->cap) {
		grown = soft ? gpc_try_grow(m->entries, cap, sizeof(*m->entries))
			: gpc_grow(m->entries, cap, sizeof(*m->entries));
		if (!grown)
			return false;
		m->entries = grown;
		m->cap = cap;
	}
	return m->n * 2 < m->n_slots || rehash(m, soft);
}

static bool set(struct gpc_map *m, const char *key, void *value, bool soft)
{
	struct gpc_map_entry *e = find_entry(m, key);
	size_t size = strlen(key) + 1;
	char *copy;

	if (e) {
		e->value = value;
		return true;
	}
	if (!make_room(m, soft))
		return false;
	copy = soft ? gpc_try_grow(NULL, size, 1) : gpc_grow(NULL, size, 1);
	if (!copy)
		return false;
	memcpy(copy, key, size);
	m->entries[m->n].key = copy;
	m->entries[m->n].value = value;
	m->slots[find_slot(m, key)] = m->n + 1;
	m->n++;
	return true;
}

void gpc_map_set(struct gpc_map *m, const char *key, void *value)
{
	(void)set(m, key, value, false);
}

bool gpc_map_try_set(struct gpc_map *m, const char *key, void *value)
{
	return set(m, key, value, true);
}

void gpc_map_clear(struct gpc_map *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		free(m->entries[i].key);
	free(m->entries);
	free(m->slots);
	*m = (struct gpc_map){0};
}

static struct gpc_pair *find_pair(const struct gpc_pairs *p, const char *key)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->v[i].key, key) == 0)
			return &p->v[i];
	return NULL;
}

const char *gpc_pairs_get(const struct gpc_pairs *p, const char *key)
{
	const struct gpc_pair *pair = find_pair(p, key);

	return pair ? pair->value : NULL;
}

bool gpc_pairs_has(const struct gpc_pairs *p, const char *key)
{
	return find_pair(p, key) != NULL;
}

static void add_pair(struct gpc_pairs *p, const char *key, char *owned)
{
	if (p->n == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 8;
		p->v = gpc_grow(p->v, p->cap, sizeof(*p->v));
	}
	p->v[p->n].key = gpc_strdup(key);
	p->v[p->n].value = owned;
	p->n++;
}

static void take_pair(struct gpc_pairs *p, const char *key, char *owned)
{
	struct gpc_pair *pair = find_pair(p, key);

	if (pair) {
		free(pair->value);
		pair->value = owned;
		return;
	}
	add_pair(p, key, owned);
}

void gpc_pairs_set(struct gpc_pairs *p, const char *key, const char *value)
{
	take_pair(p, key, gpc_strdup(value));
}

void gpc_pairs_add(struct gpc_pairs *p, const char *key, const char *value)
{
	add_pair(p, key, gpc_strdup(value));
}

void gpc_pairs_setf(struct gpc_pairs *p, const char *key, const char *fmt, ...)
{
	va_list ap;
	char *value;

	va_start(ap, fmt);
	value = gpc_vformat(fmt, ap);
	va_end(ap);
	take_pair(p, key, value);
}

void gpc_pairs_unset(struct gpc_pairs *p, const char *key)
{
	struct gpc_pair *pair = find_pair(p, key);
	size_t after;

	if (!pair)
		return;
	free(pair->key);
	free(pair->value);
	after = p->n - (size_t)(pair - p->v) - 1;
	memmove(pair, pair + 1, after * sizeof(*pair));
	p->n--;
}

void gpc_pairs_copy(struct gpc_pairs *to, const struct gpc_pairs *from)
{
	if (to == from)
		return;
	gpc_pairs_clear(to);
	for (size_t i = 0; i < from->n; i++)
		gpc_pairs_add(to, from->v[i].key, from->v[i].value);
}

void gpc_pairs_wipe(struct gpc_pairs *p)
{
	for (size_t i = 0; i < p->n; i++)
		gpc_wipe_str(p->v[i].value);
	gpc_pairs_clear(p);
}

void gpc_pairs_clear(struct gpc_pairs *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].key);
		free(p->v[i].value);
	}
	free(p->v);
	*p = (struct gpc_pairs){0};
}
