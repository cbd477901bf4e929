/* Reading a stream while it is written. The reader holds its place as an offset
 * and an object; it moves on to the next object only when that one begins where
 * this one ended, so it never skips a byte that is still to come. */
#include "record/stream.h"

#include <string.h>

#include "base/str.h"

struct gpc_stream_reader {
	struct gpc_store *store;
	char *folder;
	uint64_t offset;
	gpc_key key;            /* object that holds offset; "" = not found yet */
	uint64_t start, size;   /* of that object as last listed */
};

struct gpc_stream_reader *gpc_stream_reader_new(struct gpc_store *s,
	const char *folder, uint64_t offset)
{
	struct gpc_stream_reader *r = gpc_alloc(sizeof(*r));

	r->store = s;
	r->folder = gpc_strdup(folder);
	r->offset = offset;
	return r;
}

void gpc_stream_reader_free(struct gpc_stream_reader *r)
{
	if (!r)
		return;
	free(r->folder);
	free(r);
}

uint64_t gpc_stream_reader_offset(const struct gpc_stream_reader *r)
{
	return r->offset;
}

/* "<folder><16 hex>-<ms>" to its offset. */
static bool key_offset(const char *folder, const char *key,
	uint64_t *ret_offset)
{
	const char *name = key + strlen(folder);
	char hex[17] = "";
	uint8_t bytes[8];
	uint64_t n = 0;

	if (strnlen(name, 17) < 17 || name[16] != '-')
		return false;
	memcpy(hex, name, 16);
	if (!gpc_unhex(hex, bytes, 8))
		return false;
	for (int i = 0; i < 8; i++)
		n = n << 8 | bytes[i];
	*ret_offset = n;
	return true;
}

struct find {
	const char *folder;
	uint64_t offset;
	bool found;
	bool later;             /* something begins behind offset */
	struct gpc_object o;
	uint64_t start;
};

static int look(void *arg, const struct gpc_object *o)
{
	struct find *f = arg;
	uint64_t start;

	if (!key_offset(f->folder, o->key, &start))
		return 0;
	if (start > f->offset) {
		f->later = true;
		return 1;
	}
	f->found = true;
	f->o = *o;
	f->start = start;
	return 0;
}

/* Finds the object with the greatest start up to the offset, after the one at
 * hand. *ret_moved: it is another one. */
static int find_object(struct gpc_stream_reader *r, bool *ret_moved,
	struct gpc_error *err)
{
	struct find f = { .folder = r->folder, .offset = r->offset };
	int rc = gpc_store_list(r->store, r->folder, *r->key ? r->key : NULL,
		look, &f, err);

	*ret_moved = false;
	if (rc < 0)
		return rc;
	if (!f.found && !*r->key && f.later)
		return gpc_fail(err, GPC_EPROTO,
			"%s/%s: bytes from %llu on are missing", r->store->url,
			r->folder, (unsigned long long)r->offset);
	if (!f.found)
		return 0;
	memcpy(r->key, f.o.key, sizeof(r->key));
	r->start = f.start;
	r->size = f.o.size;
	*ret_moved = true;
	return 0;
}

struct take { struct gpc_buf *b; uint64_t n; };

static int take(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	struct take *t = arg;

	gpc_buf_add(t->b, data, n);
	t->n += n;
	return gpc_buf_check(t->b, err);
}

/* Where nothing is appended, an object is as long as it will ever be. */
static bool is_used_up(const struct gpc_stream_reader *r)
{
	return !(r->store->caps & GPC_STORE_APPEND) &&
		r->offset >= r->start + r->size;
}

int gpc_stream_read(struct gpc_stream_reader *r, size_t max, struct gpc_buf *b,
	struct gpc_error *err)
{
	bool moved = false;
	int rc = 0;

	if (!*r->key)
		rc = find_object(r, &moved, err);
	/* No object is that long: there are no bytes at such an offset. */
	while (rc == 0 && *r->key && max > 0 &&
		r->offset - r->start <= INT64_MAX) {
		struct take t = { b, 0 };

		if (!is_used_up(r))
			rc = gpc_store_get_range(r->store, r->key,
				(int64_t)(r->offset - r->start), (int64_t)max,
				take, &t, NULL, err);
		r->offset += t.n;
		max -= (size_t)t.n;
		if (rc < 0 || max == 0)
			break;
		rc = find_object(r, &moved, err);
		if (!moved)
			break;
	}
	return rc;
}

struct total { const char *folder; uint64_t n; };

static int add_up(void *arg, const struct gpc_object *o)
{
	struct total *t = arg;
	uint64_t start;

	if (key_offset(t->folder, o->key, &start) && start + o->size > t->n)
		t->n = start + o->size;
	return 0;
}

int gpc_stream_size(struct gpc_store *s, const char *folder,
	uint64_t *ret_size, struct gpc_error *err)
{
	struct total t = { .folder = folder };
	int r = gpc_store_list(s, folder, NULL, add_up, &t, err);

	if (r == 0)
		*ret_size = t.n;
	return r;
}
