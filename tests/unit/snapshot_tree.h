/* Shared by the tests of snapshots: trees, saving, restoring, comparing. Not
 * every program uses all of it. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/map.h"
#include "base/path.h"
#include "snapshot/snapshot.h"
#include "store/store.h"

#define MAYBE __attribute__((unused))

static char top[64];                /* scratch: in/ is the tree */
static struct gpc_store *store;

MAYBE static char *at(const char *path)
{
	return gpc_format("%s/%s", top, path);
}

MAYBE static int setup(void **state)
{
	gpc_autostr *in = NULL, *url = NULL, *tmp = NULL;

	(void)state;
	snprintf(top, sizeof(top), "/tmp/gpc-snapshot-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	in = at("in");
	tmp = at("tmp");
	url = gpc_format("file://%s/store", top);
	setenv("TMPDIR", tmp, 1);
	if (mkdir(in, 0755) < 0 || mkdir(tmp, 0755) < 0)
		return -1;
	return gpc_store_open(url, GPC_STORE_CREATE, NULL, &store, NULL);
}

MAYBE static int teardown(void **state)
{
	(void)state;
	gpc_store_free(store);
	store = NULL;
	return gpc_rmtree(top, NULL);
}

/* --- making trees -------------------------------------------------------- */
static uint64_t seed = 88172645463325252;

MAYBE static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed >> 11;
}

MAYBE static void put_bytes(const char *path, const void *data, size_t n,
	unsigned mode)
{
	gpc_autostr *full = at(path);
	gpc_autostr *parent = gpc_path_dir(full);
	gpc_autofd fd = -1;

	assert_int_equal(gpc_mkdirs(parent, 0755, NULL), 0);
	unlink(full);
	assert_int_equal(gpc_open(full, O_WRONLY | O_CREAT | O_TRUNC, mode, &fd,
		NULL), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(gpc_write_all(fd, data, n, full, NULL), 0);
}

MAYBE static void put(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text), 0644);
}

MAYBE static void put_random(const char *path, size_t n)
{
	gpc_autostr *data = gpc_alloc(n + 8);

	for (size_t i = 0; i < n; i += 8) {
		uint64_t x = next_random() * 0x9e3779b97f4a7c15;

		memcpy(data + i, &x, 8);
	}
	put_bytes(path, data, n, 0600);
}

MAYBE static void put_text(const char *path, size_t n)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	size_t block;

	while (b.len < n && b.len < 64 << 10)
		gpc_buf_addf(&b, "step %llu loss 0.%llu\n",
			(unsigned long long)next_random() % 1000,
			(unsigned long long)next_random() % 10000);
	block = b.len;
	while (b.len < n) {
		gpc_buf_addf(&b, "%llu\n", (unsigned long long)next_random());
		gpc_buf_reserve(&b, block);
		gpc_buf_add(&b, b.data, block);
	}
	put_bytes(path, b.data, n, 0644);
}

/* Under memcheck a byte costs thirty times as much: there `least` is what still
 * shows what is tested. */
MAYBE static size_t lean(size_t full, size_t least)
{
	return getenv("GPUCLOUD_TEST_VALGRIND") ? least : full;
}

/* Every kind of entry; large: also files of several pieces. */
MAYBE static void make_tree(bool large)
{
	gpc_autostr *link = at("in/d/link"), *dangling = at("in/dangling");
	gpc_autostr *loop = at("in/d/loop"), *empty = at("in/none");
	gpc_autostr *folder = at("in/closed");
	struct timespec times[2] = {{1, 0}, {1234567890, 123456789}};
	gpc_autostr *old = at("in/d/run.sh"), *ancient = at("in/d/ancient");
	struct timespec before[2] = {{1, 0}, {-1, 5}};

	put("in/a", "first\n");
	put("in/a-b", "");
	put("in/d/new\nline", "x");
	put("in/d/\xff\xfe", "bytes");
	put("in/d/\xc3\xa4 \"quoted\\\"", "text");
	put("in/d/ancient", "old");
	put("in/closed/inside", "1");
	put_bytes("in/d/run.sh", "#!/bin/sh\n", 10, 0755);
	put_text("in/text.csv", (8 << 20) + 777);
	put_random("in/d/random", 1 << 20);
	if (large) {
		put_random("in/weights", (17 << 20) + 1);
		put_random("in/exact", 16 << 20);
		put_text("in/long.csv", lean(40, 17) << 20);
		put_text("in/medium", (8 << 20) - 1);
	}
	assert_int_equal(symlink("../a", link), 0);
	assert_int_equal(symlink("..", loop), 0);
	assert_int_equal(symlink("/no/such/\xff", dangling), 0);
	assert_int_equal(mkdir(empty, 0700), 0);
	assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
	assert_int_equal(utimensat(AT_FDCWD, ancient, before, 0), 0);
	assert_int_equal(chmod(folder, 0555), 0);
}

/* --- saving and restoring ------------------------------------------------ */
MAYBE static void scan(const char *path, struct gpc_tree *t)
{
	const struct gpc_scan_options o = {.with_git = true};
	gpc_autostr *full = at(path);
	struct gpc_error err = {0};

	if (gpc_scan(full, &o, t, &err) < 0)
		fail_msg("%s", err.msg);
}

/* later_s: as if the scan had begun so much later; past 2 s what was just
 * written counts as unchanged. */
MAYBE static void save_with(struct gpc_save_options o, int later_s,
	struct gpc_save_result *r)
{
	gpc_auto(gpc_tree) struct gpc_tree t = {0};
	struct gpc_error err = {0};

	scan("in", &t);
	t.started_ns += later_s * (int64_t)1000000000;
	if (!o.prefix)
		o.prefix = "blobs/";
	gpc_save_result_clear(r);
	if (gpc_snapshot_save(store, &t, &o, true, r, &err) < 0)
		fail_msg("%s", err.msg);
}

MAYBE static int restore(const struct gpc_json *head, const char *to, bool overwrite,
	struct gpc_error *err)
{
	const struct gpc_restore_options o = {.overwrite = overwrite};
	gpc_autostr *full = at(to);

	return gpc_snapshot_restore(store, head, "blobs/", full, &o, err);
}

MAYBE static void must_restore(const struct gpc_json *head, const char *to,
	bool overwrite)
{
	struct gpc_error err = {0};

	if (restore(head, to, overwrite, &err) < 0)
		fail_msg("%s", err.msg);
}

MAYBE static void same_content(const char *a, const char *b)
{
	gpc_autofd x = open(a, O_RDONLY), y = open(b, O_RDONLY);
	static char p[1 << 20], q[1 << 20];
	size_t n = 1, m;

	assert_true(x >= 0 && y >= 0);
	while (n > 0) {
		assert_int_equal(gpc_read_full(x, p, sizeof(p), a, &n, NULL), 0);
		assert_int_equal(gpc_read_full(y, q, sizeof(q), b, &m, NULL), 0);
		assert_int_equal(n, m);
		assert_memory_equal(p, q, n);
	}
}

MAYBE static void same_trees(const char *a, const char *b)
{
	gpc_auto(gpc_tree) struct gpc_tree x = {0}, y = {0};

	scan(a, &x);
	scan(b, &y);
	assert_int_equal(x.entries.n, y.entries.n);
	for (size_t i = 0; i < x.entries.n; i++) {
		const struct gpc_entry *e = &x.entries.v[i];
		const struct gpc_entry *f = &y.entries.v[i];
		gpc_autostr *p = gpc_format("%s/%s", x.root, e->path);
		gpc_autostr *q = gpc_format("%s/%s", y.root, f->path);
		char s[256] = "", t[256] = "";

		assert_string_equal(e->path, f->path);
		assert_int_equal(e->kind, f->kind);
		assert_int_equal(e->mode, f->mode);
		assert_int_equal(e->size, f->size);
		assert_int_equal(e->mtime_ns, f->mtime_ns);
		if (e->kind == GPC_ENTRY_FILE)
			same_content(p, q);
		if (e->kind != GPC_ENTRY_LINK)
			continue;
		assert_true(readlink(p, s, sizeof(s) - 1) > 0);
		assert_true(readlink(q, t, sizeof(t) - 1) > 0);
		assert_string_equal(s, t);
	}
}

MAYBE static void no_temporary_files(const char *path)
{
	gpc_autostr *command = gpc_format("find %s/%s -name '.gpucloud-*' | "
		"grep -q .", top, path);

	assert_int_not_equal(system(command), 0);
}

MAYBE static int collect(void *arg, const char *sha256, uint64_t size,
	struct gpc_error *err)
{
	(void)err;
	assert_true(size > 0);
	assert_false(gpc_map_has(arg, sha256));
	gpc_map_set(arg, sha256, arg);
	return 0;
}

MAYBE static void blobs_of(const struct gpc_json *head, struct gpc_map *m)
{
	assert_int_equal(gpc_snapshot_blobs(store, head, "blobs/", collect, m,
		NULL), 0);
}

#define FRESH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
