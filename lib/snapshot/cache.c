/* A header, records in order of their keys, and a hash over them. Looking up and
 * writing are merges of two sorted streams, so 200,000 files cost one buffer.
 * The bytes are this machine's own; another byte order is a damaged cache.
 */
#include "snapshot/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/crash.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/time.h"

enum { MAX_RECORDS = 1000000, MAX_DAYS = 30, BATCH = 1024 };

struct header {
	char magic[8];
	uint32_t order, record;
	uint64_t n;
	uint8_t sum[GPC_SHA256_SIZE];
};
struct record {
	struct gpc_cache_key key;
	uint8_t sum[GPC_SHA256_SIZE];
	uint32_t size;
	uint16_t day;           /* of the last use, since 1970 */
	uint8_t kind, zero;
};

struct gpc_cache {
	char *path;
	int fd;                 /* -1: nothing is known */
	uint64_t n;
	uint64_t used[MAX_DAYS + 1];    /* records by age in days */
	uint16_t today;
	/* the stream */
	uint64_t next;
	size_t at, have;
	struct record batch[BATCH];
};

static const struct header blank = {
	.magic = "gpcache", .order = 0x01020304, .record = sizeof(struct record)};

static bool read_exactly(int fd, void *data, size_t n, off_t at)
{
	char *p = data;

	while (n > 0) {
		ssize_t got = pread(fd, p, n, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		p += got;
		at += got;
		n -= (size_t)got;
	}
	return true;
}

static void rewind_stream(struct gpc_cache *c)
{
	c->next = 0;
	c->at = c->have = 0;
}

/* The next record; NULL at the end. */
static const struct record *next_record(struct gpc_cache *c)
{
	if (c->fd < 0)
		return NULL;
	if (c->at == c->have) {
		uint64_t left = c->n - c->next;
		size_t n = left < BATCH ? (size_t)left : BATCH;
		off_t at = (off_t)(sizeof(struct header)
			+ c->next * sizeof(struct record));

		if (n == 0 || !read_exactly(c->fd, c->batch,
			n * sizeof(struct record), at))
			return NULL;
		c->next += n;
		c->at = 0;
		c->have = n;
	}
	return &c->batch[c->at++];
}

static unsigned age_of(const struct gpc_cache *c, const struct record *r)
{
	unsigned age = r->day > c->today ? 0 : c->today - r->day;

	return age > MAX_DAYS ? MAX_DAYS : age;
}

/* Whether the file is whole; counts its records by age on the way. */
static bool check(struct gpc_cache *c)
{
	gpc_autoptr(gpc_sha256) *hash = gpc_sha256_new();
	const struct record *r;
	struct header h;
	struct stat st;
	uint8_t sum[GPC_SHA256_SIZE];
	uint64_t n = 0;

	if (fstat(c->fd, &st) < 0 || !S_ISREG(st.st_mode)
		|| !read_exactly(c->fd, &h, sizeof(h), 0)
		|| memcmp(&h, &blank, offsetof(struct header, n)) != 0
		|| h.n > UINT32_MAX || (uint64_t)st.st_size
			!= sizeof(h) + h.n * sizeof(struct record))
		return false;
	c->n = h.n;
	rewind_stream(c);
	for (; (r = next_record(c)); n++) {
		c->used[age_of(c, r)]++;
		/* A batch at a time: at the end of each. */
		if (c->at == c->have)
			gpc_sha256_add(hash, c->batch,
				c->have * sizeof(struct record));
	}
	gpc_sha256_end(hash, sum);
	return n == h.n && memcmp(sum, h.sum, sizeof(sum)) == 0;
}

struct gpc_cache *gpc_cache_open(const char *path)
{
	struct gpc_cache *c = gpc_alloc(sizeof(*c));

	c->path = gpc_strdup(path);
	c->today = (uint16_t)(gpc_wall_ms() / (24 * 3600 * 1000));
	c->fd = -1;
	if (path)
		c->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (c->fd >= 0 && !check(c)) {
		gpc_close(&c->fd);
		memset(c->used, 0, sizeof(c->used));
		c->n = 0;
	}
	return c;
}

void gpc_cache_free(struct gpc_cache *c)
{
	if (!c)
		return;
	gpc_close(&c->fd);
	free(c->path);
	free(c);
}

static int compare_keys(const struct gpc_cache_key *a,
	const struct gpc_cache_key *b)
{
	return memcmp(a->b, b->b, sizeof(a->b));
}

static int by_key(const void *a, const void *b)
{
	return compare_keys(&((const struct gpc_cache_want *)a)->key,
		&((const struct gpc_cache_want *)b)->key);
}

void gpc_cache_sort(struct gpc_cache_want *w, size_t n)
{
	if (n > 0)
		qsort(w, n, sizeof(*w), by_key);
}

void gpc_cache_find(struct gpc_cache *c, const struct gpc_cache_want *w,
	size_t n, gpc_cache_found_fn *found, void *arg)
{
	const struct record *r;
	size_t i = 0;

	if (n == 0)
		return;
	rewind_stream(c);
	while (i < n && (r = next_record(c))) {
		struct gpc_cache_value value = {.size = r->size,
			.kind = r->kind};

		memcpy(value.sum, r->sum, sizeof(value.sum));
		while (i < n && compare_keys(&w[i].key, &r->key) < 0)
			i++;
		/* The same file can be wanted twice: hard links. */
		for (; i < n && compare_keys(&w[i].key, &r->key) == 0; i++)
			found(arg, w[i].id, &value);
	}
}

/* --- writing ----------------------------------------------------------- */
struct output {
	int fd;
	const char *path;
	struct gpc_sha256 *hash;
	uint64_t n;
	size_t have;
	struct record batch[BATCH];
};

static int flush(struct output *o, struct gpc_error *err)
{
	size_t size = o->have * sizeof(struct record);

	gpc_sha256_add(o->hash, o->batch, size);
	o->n += o->have;
	o->have = 0;
	return gpc_write_all(o->fd, o->batch, size, o->path, err);
}

static int put(struct output *o, const struct record *r, struct gpc_error *err)
{
	o->batch[o->have++] = *r;
	return o->have == BATCH ? flush(o, err) : 0;
}

/* The age up to which old records are kept beside n new ones. */
static unsigned keep_age(const struct gpc_cache *c, size_t n)
{
	uint64_t total = n;
	unsigned age = 0;

	while (age < MAX_DAYS && total + c->used[age] <= MAX_RECORDS)
		total += c->used[age++];
	return age;             /* records younger than this stay */
}

static bool make_record(const struct gpc_cache *c,
	const struct gpc_cache_want *w, gpc_cache_value_fn *value, void *arg,
	struct record *ret_r)
{
	struct gpc_cache_value v = {.size = 0};

	if (!value(arg, w->id, &v))
		return false;
	memset(ret_r, 0, sizeof(*ret_r));
	ret_r->key = w->key;
	memcpy(ret_r->sum, v.sum, sizeof(v.sum));
	ret_r->size = v.size;
	ret_r->kind = v.kind;
	ret_r->day = c->today;
	return true;
}

static int merge(struct gpc_cache *c, const struct gpc_cache_want *w, size_t n,
	gpc_cache_value_fn *value, void *arg, struct output *o,
	struct gpc_error *err)
{
	unsigned keep = keep_age(c, n);
	const struct record *old;
	struct record made;
	size_t i = 0;
	int r = 0;

	rewind_stream(c);
	old = next_record(c);
	while (r == 0 && (i < n || old)) {
		int order = i == n ? 1 : !old ? -1
			: compare_keys(&w[i].key, &old->key);

		if (order > 0) {
			if (age_of(c, old) < keep)
				r = put(o, old, err);
			old = next_record(c);
			continue;
		}
		if (order == 0)
			old = next_record(c);
		if (make_record(c, &w[i], value, arg, &made))
			r = put(o, &made, err);
		for (i++; i < n && compare_keys(&w[i].key, &w[i - 1].key) == 0;)
			i++;
	}
	return r < 0 ? r : flush(o, err);
}

int gpc_cache_write(struct gpc_cache *c, const struct gpc_cache_want *w,
	size_t n, gpc_cache_value_fn *value, void *arg, struct gpc_error *err)
{
	gpc_autostr *path = NULL, *dir = NULL;
	gpc_autoptr(gpc_sha256) *hash = gpc_sha256_new();
	gpc_autofd fd = -1;
	struct header h = blank;
	struct output *o;
	int r;

	if (!c->path)
		return 0;
	path = gpc_format("%s.new", c->path);
	dir = gpc_path_dir(c->path);
	r = gpc_mkdirs(dir, 0700, err);
	if (r == 0)
		r = gpc_lock_file(path, false, &fd, err);
	if (r == -GPC_ECONFLICT)
		return 0;
	if (r < 0)
		return r;
	if (ftruncate(fd, 0) < 0)
		return gpc_fail_sys(err, errno, "cannot empty %s", path);
	o = gpc_alloc(sizeof(*o));
	*o = (struct output){.fd = fd, .path = path, .hash = hash};
	r = gpc_write_all(fd, &h, sizeof(h), path, err);
	if (r == 0)
		r = merge(c, w, n, value, arg, o, err);
	h.n = o->n;
	free(o);
	gpc_sha256_end(hash, h.sum);
	if (r == 0)
		r = gpc_pwrite_all(fd, &h, sizeof(h), 0, path, err);
	GPC_CRASH("cache.written");
	if (r == 0 && rename(path, c->path) < 0)
		r = gpc_fail_sys(err, errno, "cannot rename %s", path);
	if (r < 0)
		unlink(path);
	return r;
}
