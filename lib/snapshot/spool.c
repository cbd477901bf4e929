/* See spool.h. One object is used for blob after blob; its file stays open. */
#include "snapshot/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/rand.h"
#include "base/str.h"

/* Every spool may have FREE bytes without asking. */
enum { WINDOW = 256 << 10, FREE = 256 << 10 };

void gpc_spool_init(struct gpc_spool *s, struct gpc_spool_budget *budget)
{
	memset(s, 0, sizeof(*s));
	s->hash = gpc_sha256_new();
	s->budget = budget;
	s->fd = -1;
}

static bool take(struct gpc_spool_budget *budget, size_t n)
{
	if (atomic_fetch_sub(&budget->left, (int64_t)n) >= (int64_t)n)
		return true;
	atomic_fetch_add(&budget->left, (int64_t)n);
	return false;
}

static void give_memory_back(struct gpc_spool *s)
{
	if (s->cap <= FREE)
		return;
	free(s->mem);
	atomic_fetch_add(&s->budget->left, (int64_t)(s->cap - FREE));
	s->mem = NULL;
	s->cap = 0;
}

/* Room for n more bytes in memory; false when they belong in the file. */
static bool grow(struct gpc_spool *s, size_t n)
{
	size_t cap = s->cap ? s->cap : FREE;
	void *grown;

	while (cap < s->size + n)
		cap *= 2;
	if (cap == s->cap)
		return true;
	if (cap > FREE
		&& !take(s->budget, cap - (s->cap > FREE ? s->cap : FREE)))
		return false;
	grown = cap > FREE ? gpc_try_grow(s->mem, cap, 1)
		: gpc_grow(s->mem, cap, 1);
	if (!grown) {
		atomic_fetch_add(&s->budget->left, (int64_t)(cap
			- (s->cap > FREE ? s->cap : FREE)));
		return false;
	}
	s->mem = grown;
	s->cap = cap;
	return true;
}

void gpc_spool_clear(struct gpc_spool *s)
{
	if (!s->hash)
		return;
	gpc_sha256_free(s->hash);
	give_memory_back(s);
	free(s->mem);
	gpc_close(&s->fd);
	free(s->folder);
	free(s->window);
	memset(s, 0, sizeof(*s));
}

void gpc_spool_reset(struct gpc_spool *s, uint64_t max)
{
	uint8_t sum[GPC_SHA256_SIZE];

	gpc_sha256_end(s->hash, sum);
	s->max = max;
	s->size = 0;
	s->at = 0;
	s->in_file = false;
}

static int fail_spool(const struct gpc_spool *s, int sys, struct gpc_error *err)
{
	int r = gpc_fail_sys(err, sys, "temporary file in %s", s->folder);

	gpc_hint(err, "set TMPDIR to a folder on a disk with more free space");
	return r;
}

/* Opens a file in $TMPDIR or /tmp and removes its name at once. */
static int open_file(struct gpc_spool *s, struct gpc_error *err)
{
	const char *folder = getenv("TMPDIR");
	char random[17];
	gpc_autostr *path = NULL;

	gpc_set_str(&s->folder, folder && folder[0] ? folder : "/tmp");
	gpc_rand_base32(random, sizeof(random) - 1);
	path = gpc_format("%s/.gpucloud-%s", s->folder, random);
	s->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (s->fd < 0)
		return fail_spool(s, errno, err);
	unlink(path);
	return 0;
}

static int write_file(struct gpc_spool *s, const char *data, size_t n,
	uint64_t at, struct gpc_error *err)
{
	while (n > 0) {
		ssize_t done = pwrite(s->fd, data, n, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return fail_spool(s, errno, err);
		data += done;
		at += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}

static int move_to_file(struct gpc_spool *s, struct gpc_error *err)
{
	int r = s->fd < 0 ? open_file(s, err) : 0;

	if (r == 0)
		r = write_file(s, s->mem, (size_t)s->size, 0, err);
	s->in_file = r == 0;
	return r;
}

int gpc_spool_add(void *spool, const void *data, size_t n,
	struct gpc_error *err)
{
	struct gpc_spool *s = spool;
	int r = 0;

	if (n == 0)
		return 0;
	if (s->max && n > s->max - s->size)
		return gpc_fail(err, GPC_EPROTO,
			"more than the %llu bytes that were announced",
			(unsigned long long)s->max);
	gpc_sha256_add(s->hash, data, n);
	if (!s->in_file && !grow(s, n))
		r = move_to_file(s, err);
	if (r < 0)
		return r;
	if (s->in_file)
		r = write_file(s, data, n, s->size, err);
	else
		memcpy(s->mem + s->size, data, n);
	s->size += n;
	return r;
}

void gpc_spool_end(struct gpc_spool *s, uint8_t ret_sum[GPC_SHA256_SIZE])
{
	gpc_sha256_end(s->hash, ret_sum);
}

struct gpc_body gpc_spool_body(const struct gpc_spool *s)
{
	struct gpc_body body = {.fd = s->fd, .size = s->size};

	if (!s->in_file)
		body.data = s->size ? s->mem : "";
	return body;
}

void gpc_spool_rewind(struct gpc_spool *s)
{
	s->at = 0;
}

int gpc_spool_read(void *spool, const void **ret_data, size_t *ret_n,
	struct gpc_error *err)
{
	struct gpc_spool *s = spool;
	uint64_t left = s->size - s->at;
	size_t n = left < WINDOW ? (size_t)left : WINDOW;

	if (!s->in_file) {
		*ret_data = s->mem ? s->mem + s->at : "";
		*ret_n = (size_t)left;
		s->at = s->size;
		return 0;
	}
	if (!s->window)
		s->window = gpc_grow(NULL, WINDOW, 1);
	for (size_t got = 0; got < n;) {
		ssize_t done = pread(s->fd, s->window + got, n - got,
			(off_t)(s->at + got));

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return fail_spool(s, done < 0 ? errno : EIO, err);
		got += (size_t)done;
	}
	s->at += n;
	*ret_data = s->window;
	*ret_n = n;
	return 0;
}
