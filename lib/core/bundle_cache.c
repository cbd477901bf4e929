/* A bundle is known by the program's file as it was when it was made. It is some 24 MB,
 * which a submit need not read where a store has it: its sum stands in a file beside
 * it, with what the system told of the bundle then. */
#include "core/bundle_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/bundle.h"
#include "core/bundle_other.h"
#include "store/store.h"

#define KEPT 2                  /* of other builds, which may be in use as well */
#define SUFFIX ".tar.gz"

/* What tells a file from another one, and from itself after a change. */
static char *identity(const struct stat *st)
{
	return gpc_format("%llu %lld %lld.%09ld %lld.%09ld",
		(unsigned long long)st->st_ino, (long long)st->st_size,
		(long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
		(long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
}

/* --- where ------------------------------------------------------------------ */

static int find_path(struct gpc_session *s, char **ret_dir, char **ret_path,
	struct gpc_error *err)
{
	const char *self = s->place.self_path;
	gpc_autostr *dir = gpc_path_join(s->place.cache_dir, "bundles");
	gpc_autostr *known = NULL;
	char hex[GPC_SHA256_HEX];
	struct stat st;
	int r;

	if (!self || stat(self, &st) < 0)
		return gpc_fail_sys(err, self ? errno : ENOENT, "cannot look at "
			"this program's file %s", self ? self : "");
	known = gpc_format("%s %lld %lld %lld %lld", self, (long long)st.st_dev,
		(long long)st.st_ino, (long long)st.st_size,
		(long long)st.st_mtime);
	gpc_sha256_hex(known, strlen(known), hex);
	r = gpc_mkdirs(dir, 0700, err);
	if (r < 0)
		return r;
	*ret_path = gpc_format("%s/%.16s" SUFFIX, dir, hex);
	*ret_dir = gpc_steal(&dir);
	return 0;
}

/* --- the sum ----------------------------------------------------------------- */

static int hash(int fd, uint64_t size, uint8_t sum[GPC_SHA256_SIZE],
	struct gpc_error *err)
{
	const struct gpc_body body = { .fd = fd, .size = size };
	gpc_autoptr(gpc_sha256) *h = gpc_sha256_new();
	char block[1 << 16];
	size_t n = 0;

	for (uint64_t at = 0; at < size; at += n) {
		int r = gpc_body_read(&body, at, block, sizeof(block), &n, err);

		if (r < 0)
			return r;
		gpc_sha256_add(h, block, n);
	}
	gpc_sha256_end(h, sum);
	return 0;
}

static char *note_path(const char *path)
{
	return gpc_format("%s.sum", path);
}

/* A note that cannot be written costs the next submit the time to make a bundle. */
static void write_note(const char *path, const struct stat *st, const uint8_t *sum)
{
	gpc_autostr *note = note_path(path), *is = identity(st), *text = NULL;
	struct gpc_error ignored;
	char hex[GPC_SHA256_HEX];

	gpc_hex(sum, GPC_SHA256_SIZE, hex);
	text = gpc_format("%s %s\n", hex, is);
	(void)!gpc_write_file(note, text, strlen(text), 0600, &ignored);
}

static bool read_note(const char *path, const struct stat *st, uint8_t *ret_sum)
{
	gpc_autostr *note = note_path(path), *is = identity(st), *want = NULL;
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = 1024 };
	gpc_autostr *hex = NULL;

	if (gpc_read_file(note, 1024, &b, NULL) < 0 || b.len < GPC_SHA256_HEX)
		return false;
	want = gpc_format(" %s\n", is);
	hex = gpc_strndup(gpc_buf_str(&b), GPC_SHA256_HEX - 1);
	return gpc_eq(gpc_buf_str(&b) + GPC_SHA256_HEX - 1, want) &&
		gpc_unhex(hex, ret_sum, GPC_SHA256_SIZE);
}

/* --- others ------------------------------------------------------------------- */

struct other { char *path; int64_t made_s; };
struct others { struct other *v; size_t n, cap; };

static void find_others(const char *dir, const char *own, struct others *to)
{
	DIR *d = opendir(dir);

	for (struct dirent *e; d && (e = readdir(d));) {
		gpc_autostr *path = gpc_path_join(dir, e->d_name);
		struct other *o;
		struct stat st;

		if (!gpc_ends_with(path, SUFFIX) || gpc_eq(path, own) ||
			stat(path, &st) < 0)
			continue;
		o = gpc_vec_push(to);
		o->made_s = (int64_t)st.st_mtime;
		o->path = gpc_steal(&path);
	}
	if (d)
		closedir(d);
}

static int newest_first(const void *a, const void *b)
{
	const struct other *x = a, *y = b;

	return (x->made_s < y->made_s) - (x->made_s > y->made_s);
}

/* Each build would leave one here. Whoever reads one at this moment has it open. */
static void drop_others(const char *dir, const char *own)
{
	struct others all = {0};

	find_others(dir, own, &all);
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), newest_first);
	for (size_t i = 0; i < all.n; i++) {
		gpc_autostr *note = note_path(all.v[i].path);

		if (i >= KEPT) {
			unlink(all.v[i].path);
			unlink(note);
		}
		free(all.v[i].path);
	}
	gpc_vec_free(&all);
}

/* --- opening ------------------------------------------------------------------ */

static int open_file(struct gpc_bundle_cached *b, struct stat *ret_st,
	struct gpc_error *err)
{
	int r = gpc_open(b->path, O_RDONLY, 0, &b->fd, err);

	if (r == 0 && fstat(b->fd, ret_st) < 0)
		r = gpc_fail_sys(err, errno, "%s", b->path);
	if (r == 0)
		b->size = (uint64_t)ret_st->st_size;
	return r;
}

/* What is there without a note that fits is not what was made. */
static int make(struct gpc_session *s, struct gpc_bundle_cached *b,
	struct gpc_error *err)
{
	struct gpc_bundle_facts facts;
	struct stat st;
	int r;

	/* Seconds, in which nothing else would be said. */
	gpc_log(s->log, GPC_INFO, "packing gpucloud for the machines of jobs, once");
	r = gpc_bundle_write(s->place.self_path, b->path, &facts, err);
	gpc_close(&b->fd);
	if (r == 0)
		r = open_file(b, &st, err);
	if (r < 0)
		return r;
	gpc_unhex(facts.sha256, b->sum, GPC_SHA256_SIZE);
	write_note(b->path, &st, b->sum);
	return 0;
}

int gpc_bundle_cached_open(struct gpc_session *s, struct gpc_bundle_cached *ret_b,
	struct gpc_error *err)
{
	gpc_auto(gpc_bundle_cached) struct gpc_bundle_cached b = { .fd = -1 };
	gpc_autostr *dir = NULL;
	struct stat st;
	int r = find_path(s, &dir, &b.path, err);

	if (r < 0)
		return r;
	if (open_file(&b, &st, NULL) < 0 || !read_note(b.path, &st, b.sum)) {
		r = make(s, &b, err);
		if (r == 0)
			drop_others(dir, b.path);
	}
	if (r < 0)
		return r;
	*ret_b = b;
	b = (struct gpc_bundle_cached){ .fd = -1 };
	return 0;
}

/* Whoever put it there, it goes to machines that are paid for. */
static int look_at(struct gpc_bundle_cached *b, enum gpc_arch want,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf bytes = {0};
	enum gpc_arch arch;
	int r = gpc_bundle_read(b->path, &bytes, &arch, err);

	if (r == 0 && arch != want)
		r = gpc_fail(err, GPC_ECONFIG, "%s is for %s", b->path,
			gpc_arch_names[arch]);
	return r;
}

int gpc_bundle_other_open(struct gpc_session *s, enum gpc_arch arch,
	struct gpc_bundle_cached *ret_b, struct gpc_error *err)
{
	gpc_auto(gpc_bundle_cached) struct gpc_bundle_cached b = { .fd = -1,
		.path = gpc_bundle_other_path(s->place.data_dir, arch) };
	struct stat st;
	int r = open_file(&b, &st, err);

	if (r == -GPC_ENOTFOUND)
		return gpc_bundle_other_missing(arch, err);
	if (r == 0 && !read_note(b.path, &st, b.sum)) {
		r = look_at(&b, arch, err);
		if (r == 0)
			r = hash(b.fd, b.size, b.sum, err);
		if (r == 0)
			write_note(b.path, &st, b.sum);
	}
	if (r < 0)
		return r;
	*ret_b = b;
	b = (struct gpc_bundle_cached){ .fd = -1 };
	return 0;
}

int gpc_bundle_cached_check(struct gpc_bundle_cached *b, struct gpc_error *err)
{
	gpc_autostr *note = note_path(b->path);
	uint8_t sum[GPC_SHA256_SIZE];
	int r = hash(b->fd, b->size, sum, err);

	if (r < 0 || memcmp(sum, b->sum, sizeof(sum)) == 0)
		return r;
	unlink(b->path);
	unlink(note);
	return gpc_fail(err, GPC_EPROTO, "%s was damaged on the disk", b->path);
}

void gpc_bundle_cached_clear(struct gpc_bundle_cached *b)
{
	free(b->path);
	b->path = NULL;
	gpc_close(&b->fd);
}
