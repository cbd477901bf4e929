/* A hostile snapshot: the input describes folders, links, small and large files
 * by the names, kinds and sizes that an attacker would choose. Manifest, list
 * and packs are built from it with hashes that are right, so that restoring goes
 * as far as it can, into a folder that already holds links to the outside.
 *
 * Whatever it says, nothing outside the target changes, no file holds bytes that
 * its list did not promise, and nothing half-made stays.
 */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "dep/crypto.h"
#include "snapshot/entry.h"

enum { MAX_ENTRIES = 16, TAR_BLOCK = 512 };
enum { OVERWRITE = 1, UNSORTED = 2, LIE_ABOUT_SIZE = 4, RAW_LINE = 8,
	TWICE = 16, VERIFY = 32 };
/* of an entry */
enum { KIND = 3, LIE_HASH = 4, OTHER_NAME = 8, NEW_PACK = 16, ODD_TYPE = 32,
	LIE_SIZE = 64, ODD_PATH = 128 };
enum { FILE_KIND, DIR_KIND, LINK_KIND, BIG_KIND };

/* --- the scratch folder: o/ is outside, t/ is the target ----------------- */
static struct {
	char *top, *outside, *target;
	char *before;           /* what everything but t/ looks like */
	int cwd;
} place = {.cwd = -1};

static void clean_up(void)
{
	struct gpc_error err;

	if (gpc_rmtree(place.top, &err) < 0)
		fprintf(stderr, "%s\n", err.msg);
	free(place.top);
	free(place.outside);
	free(place.target);
	free(place.before);
	gpc_close(&place.cwd);
}

static char *at(const char *name)
{
	return gpc_path_join(place.top, name);
}

static void make_file(const char *name, const char *text)
{
	gpc_autostr *path = at(name);
	struct gpc_error err = {0};

	if (gpc_write_file(path, text, strlen(text), 0640, &err) < 0)
		fuzz_die("%s", err.msg);
}

static void make_dir(const char *name)
{
	gpc_autostr *path = at(name);

	fuzz_check(mkdir(path, 0750) == 0, "mkdir %s", path);
}

static void make_link(const char *name, const char *target)
{
	gpc_autostr *path = at(name);

	fuzz_check(symlink(target, path) == 0, "symlink %s", path);
}

static void hash_file(const char *path, char hex[65])
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err;

	if (gpc_read_file(path, 1 << 20, &b, &err) < 0)
		hex[0] = '\0';
	else
		gpc_sha256_hex(gpc_buf_str(&b), b.len, hex);
}

typedef void on_entry_fn(void *arg, const char *path, const struct stat *st);

static void walk(const char *path, on_entry_fn *fn, void *arg)
{
	struct stat st;
	DIR *d;

	if (lstat(path, &st) < 0)
		return;
	fn(arg, path, &st);
	if (!S_ISDIR(st.st_mode) || !(d = opendir(path)))
		return;
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	for (struct dirent *e; (e = readdir(d));)
		if (!gpc_eq(e->d_name, ".") && !gpc_eq(e->d_name, ".."))
			gpc_strv_add(&names, e->d_name);
	closedir(d);
	gpc_strv_sort(&names);
	for (size_t i = 0; i < names.n; i++) {
		gpc_autostr *below = gpc_path_join(path, names.v[i]);

		if (!gpc_eq(below, place.target))
			walk(below, fn, arg);
	}
}

static void describe(void *arg, const char *path, const struct stat *st)
{
	char hex[65] = "";
	char link[100] = "";

	if (S_ISREG(st->st_mode))
		hash_file(path, hex);
	if (S_ISLNK(st->st_mode) && readlink(path, link, sizeof(link) - 1) < 0)
		link[0] = '?';
	gpc_buf_addf(arg, "%s %o %lu %s %s", path, (unsigned)st->st_mode,
		(unsigned long)st->st_nlink, hex, link);
	if (!gpc_eq(path, place.top))   /* t/ comes and goes there */
		gpc_buf_addf(arg, " %lld.%09ld", (long long)st->st_mtim.tv_sec,
			st->st_mtim.tv_nsec);
	gpc_buf_addc(arg, '\n');
}

static char *outside(void)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	walk(place.top, describe, &b);
	return gpc_strdup(gpc_buf_str(&b));
}

static void set_up(void)
{
	const char *tmp = getenv("TMPDIR");

	place.top = gpc_format("%s/gpucloud-fuzz-XXXXXX", tmp ? tmp : "/tmp");
	fuzz_check(mkdtemp(place.top), "no scratch folder %s", place.top);
	place.outside = at("o");
	place.target = at("t");
	place.cwd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_dir("o");
	make_dir("o/sub");
	make_file("o/canary", "alive");
	make_file("o/sub/a", "alive too");
	make_link("o/link", "canary");
	make_dir("t");
	place.before = outside();
	atexit(clean_up);
}

/* What the target holds already, by the bits of how. */
static void fill_target(uint8_t how)
{
	make_dir("t");
	if (how & 1)
		make_link("t/a", "../o");
	if (how & 2) {
		gpc_autostr *canary = at("o/canary");

		make_link("t/b", canary);
	}
	if (how & 4) {
		make_dir("t/d");
		make_link("t/d/a", "../../o/sub");
	}
	if (how & 8)
		make_file("t/f", "mine");
	if (how & 16)
		make_link("t/x", ".");
	if (how & 32)
		make_link("t/up", "..");
	if (how & 64)
		make_link("t/new", "../o/new");
	if (how & 128)
		make_link("t/c", "b");
}

/* --- what the input describes -------------------------------------------- */
struct entry {
	uint8_t how;
	struct gpc_line line;
	struct gpc_str content;
	char *tar_name;
	char tar_type;
	int64_t tar_size;
};
struct snapshot {
	struct entry v[MAX_ENTRIES];
	size_t n;
	struct gpc_buf list;
	struct gpc_strv allowed;        /* hashes that a file may have */
	struct gpc_store *store;
	uint64_t lines, bytes;
};

static const char *part(struct fuzz_in *in)
{
	static const char *const parts[] = {"a", "b", "c", "d", "f", "x", "up",
		"new", "..", ".", "", "canary", "sub", "o", "t", ".gpucloud-a",
		"../o", "o/canary", "/", "@"};

	return parts[fuzz_below(in, COUNT(parts))];
}

static char *make_path(struct fuzz_in *in, bool odd)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	if (odd)
		return fuzz_text(in, 40);
	for (unsigned i = 1 + fuzz_below(in, 4); i > 0; i--) {
		const char *s = part(in);

		gpc_buf_adds(&b, gpc_eq(s, "@") ? place.outside : s);
		if (i > 1)
			gpc_buf_addc(&b, '/');
	}
	return gpc_strdup(gpc_buf_str(&b));
}

static void make_content(struct snapshot *x, struct fuzz_in *in,
	struct entry *e)
{
	char hex[65];

	e->content = fuzz_bytes(in, 60);
	e->line.size = e->content.len;
	gpc_sha256_hex(e->content.ptr, e->content.len, hex);
	gpc_unhex(hex, e->line.hash, sizeof(e->line.hash));
	if ((e->how & (LIE_HASH | KIND)) == (LIE_HASH | FILE_KIND))
		e->line.hash[0] ^= 1;
	else
		gpc_strv_add(&x->allowed, hex);
	if (e->how & LIE_SIZE)
		e->line.size = (uint64_t)fuzz_int(in);
}

static void make_tar_part(struct fuzz_in *in, struct entry *e)
{
	static const char types[] = "0012345679xgLKS\0V";

	e->tar_name = e->how & OTHER_NAME ? make_path(in, false)
		: gpc_strdup(e->line.path);
	e->tar_type = e->how & ODD_TYPE ? types[fuzz_below(in, 17)] : '0';
	e->tar_size = e->how & LIE_SIZE ? fuzz_int(in)
		: (int64_t)e->content.len;
}

static void make_big(struct snapshot *x, struct fuzz_in *in, struct entry *e)
{
	gpc_auto(gpc_buf) struct gpc_buf blob = {0};
	struct gpc_chunk *c;
	char hex[65];
	uint64_t holes = fuzz_below(in, 3);

	e->line.chunked = true;
	if (holes) {
		c = gpc_vec_push(&e->line.chunks);
		c->kind = GPC_CHUNK_HOLE;
		c->size = (uint32_t)holes;
		e->line.size += holes * GPC_CHUNK_BYTES;
	}
	c = gpc_vec_push(&e->line.chunks);
	c->kind = fuzz_byte(in) & 1 ? GPC_CHUNK_ZSTD : GPC_CHUNK_RAW;
	if (c->kind == GPC_CHUNK_ZSTD)
		fuzz_zstd(e->content.ptr, e->content.len, &blob);
	else
		gpc_buf_add(&blob, e->content.ptr, e->content.len);
	fuzz_put_blob(x->store, gpc_buf_str(&blob), blob.len, hex);
	gpc_unhex(hex, c->sum, sizeof(c->sum));
	c->size = (uint32_t)blob.len;
}

static void make_entry(struct snapshot *x, struct fuzz_in *in, struct entry *e)
{
	static const uint16_t modes[] = {0644, 0755, 0, 0777, 0500, 0200, 0111};
	unsigned kind;

	e->how = fuzz_byte(in);
	kind = e->how & KIND;
	e->line.path = make_path(in, e->how & ODD_PATH);
	e->line.mode = modes[fuzz_below(in, COUNT(modes))];
	e->line.mtime_ns = fuzz_byte(in) * 1000000000LL - 1;
	e->line.kind = kind == DIR_KIND ? GPC_ENTRY_DIR
		: kind == LINK_KIND ? GPC_ENTRY_LINK : GPC_ENTRY_FILE;
	if (kind == LINK_KIND)
		e->line.target = make_path(in, e->how & LIE_SIZE);
	if (e->line.kind != GPC_ENTRY_FILE)
		return;
	make_content(x, in, e);
	if (kind == BIG_KIND)
		make_big(x, in, e);
	else
		make_tar_part(in, e);
}

static int by_path(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return strcmp(x->line.path, y->line.path);
}

/* --- building it ----------------------------------------------------------- */
static void add_tar_header(struct gpc_buf *tar, const struct entry *e)
{
	char h[TAR_BLOCK] = {0};
	unsigned sum = 0;

	snprintf(h, 100, "%s", e->tar_name);
	memcpy(h + 100, "0000644", 8);
	memcpy(h + 108, "0000000", 8);
	memcpy(h + 116, "0000000", 8);
	snprintf(h + 124, 12, "%011llo", (unsigned long long)e->tar_size
		& 077777777777);
	memcpy(h + 136, "00000000000", 12);
	memset(h + 148, ' ', 8);
	h[156] = e->tar_type;
	snprintf(h + 157, 100, "%s", "../o/canary");
	memcpy(h + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof(h); i++)
		sum += (unsigned char)h[i];
	snprintf(h + 148, 8, "%06o", sum);
	gpc_buf_add(tar, h, sizeof(h));
}

static void add_member(struct gpc_buf *tar, const struct entry *e)
{
	static const char zeros[TAR_BLOCK];

	add_tar_header(tar, e);
	gpc_buf_add(tar, e->content.ptr, e->content.len);
	gpc_buf_add(tar, zeros, (TAR_BLOCK - e->content.len % TAR_BLOCK)
		% TAR_BLOCK);
}

static bool is_packed(const struct entry *e)
{
	return e->line.kind == GPC_ENTRY_FILE && !e->line.chunked;
}

/* Packs the small files from entry i on; all of them learn the pack's name. */
static void make_pack(struct snapshot *x, size_t i)
{
	gpc_auto(gpc_buf) struct gpc_buf tar = {0}, blob = {0};
	size_t end = i;
	char hex[65];

	for (; end < x->n; end++) {
		if (!is_packed(&x->v[end]))
			continue;
		if (end > i && x->v[end].how & NEW_PACK)
			break;
		add_member(&tar, &x->v[end]);
	}
	gpc_buf_add(&tar, (char[2 * TAR_BLOCK]){0}, 2 * TAR_BLOCK);
	fuzz_zstd(tar.data, tar.len, &blob);
	fuzz_put_blob(x->store, blob.data, blob.len, hex);
	for (; i < end; i++) {
		gpc_unhex(hex, x->v[i].line.pack, sizeof(x->v[i].line.pack));
		x->v[i].line.pack_size = (uint32_t)blob.len;
	}
}

static void make_list(struct snapshot *x)
{
	bool first = true;

	for (size_t i = 0; i < x->n; i++) {
		if (is_packed(&x->v[i])
			&& (first || x->v[i].how & NEW_PACK)) {
			make_pack(x, i);
			first = false;
		}
		gpc_line_format(&x->v[i].line, &x->list);
		x->bytes += x->v[i].line.size;
	}
	x->lines = x->n;
}

static struct gpc_json *make_head(struct snapshot *x, uint8_t flags)
{
	gpc_auto(gpc_buf) struct gpc_buf blob = {0};
	struct gpc_json *head = gpc_json_object(), *lists = gpc_json_array();
	struct gpc_json *about = gpc_json_object();
	char hex[65];

	fuzz_zstd(gpc_buf_str(&x->list), x->list.len, &blob);
	fuzz_put_blob(x->store, blob.data, blob.len, hex);
	gpc_json_set_str(about, "sha256", hex);
	gpc_json_set_int(about, "size", (int64_t)blob.len);
	gpc_json_set_int(about, "bytes", (int64_t)x->list.len);
	gpc_json_set_int(about, "lines", (int64_t)x->lines);
	gpc_json_add(lists, about);
	gpc_json_set_int(head, "v", 1);
	gpc_json_set(head, "lists", lists);
	if (!(flags & LIE_ABOUT_SIZE))
		gpc_json_set_int(head, "bytes", (int64_t)(x->bytes >> 1 > 1e15
			? 1 : x->bytes));
	return head;
}

/* --- restoring, and what came of it ---------------------------------------- */
/* ".gpucloud-" and 16 characters of base32, which no input is likely to ask
 * for. */
static bool is_temporary(const char *name)
{
	return gpc_starts_with(name, ".gpucloud-") && strlen(name) == 26
		&& strspn(name + 10, "abcdefghijklmnopqrstuvwxyz234567") == 16;
}

static void check_restored(void *arg, const char *path, const struct stat *st)
{
	const struct snapshot *x = arg;
	char hex[65];

	fuzz_check(!is_temporary(gpc_path_base(path)), "%s was left", path);
	fuzz_check((st->st_mode & 07000) == 0, "%s has mode %o", path,
		(unsigned)st->st_mode);
	if (!S_ISREG(st->st_mode) || st->st_size > 1000
		|| access(path, R_OK) < 0)
		return;
	hash_file(path, hex);
	fuzz_check(gpc_strv_has(&x->allowed, hex), "%s holds other bytes",
		path);
}

static void restore(const struct snapshot *x, const struct gpc_json *head,
	uint8_t flags)
{
	const struct gpc_restore_options o = {.threads = 1,
		.overwrite = flags & OVERWRITE};
	gpc_autostr *sub = at("o/sub");     /* for what is relative to it */
	struct gpc_error err = {0};
	int r;

	fuzz_check(chdir(sub) == 0, "chdir %s", sub);
	r = gpc_snapshot_restore(x->store, head, "blobs/", place.target, &o,
		&err);
	fuzz_check(fchdir(place.cwd) == 0, "cannot go back");
	fuzz_check(r == 0 || err.msg[0], "an error without a message");
	fuzz_same(gpc_strdup(place.before), outside(),
		"something outside the target changed");
	walk(place.target, check_restored, (void *)(uintptr_t)x);
}

static void on_damage(void *arg, const char *path, const char *blob,
	const char *what)
{
	(void)arg;
	(void)path;
	fuzz_check(what[0] && (!blob || gpc_is_hex(blob, 64)),
		"damage without a word");
}

static void verify(const struct snapshot *x, const struct gpc_json *head)
{
	const struct gpc_verify_options o = {.threads = 1};
	struct gpc_error err = {0};

	if (gpc_snapshot_verify(x->store, head, "blobs/", &o, on_damage, NULL,
		&err) < 0)
		fuzz_check(err.msg[0], "an error without a message");
}

static void snapshot_clear(struct snapshot *x)
{
	for (size_t i = 0; i < x->n; i++) {
		gpc_line_clear(&x->v[i].line);
		free(x->v[i].tar_name);
	}
	gpc_buf_clear(&x->list);
	gpc_strv_clear(&x->allowed);
	gpc_store_free(x->store);
}

static void empty_target(void)
{
	struct gpc_error err;

	fuzz_check(gpc_rmtree(place.target, &err) == 0, "%s", err.msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct snapshot x = {.store = fuzz_store()};
	struct fuzz_in in = {data, n};
	gpc_autoptr(gpc_json) *head = NULL;
	uint8_t flags = fuzz_byte(&in), filled = fuzz_byte(&in);
	struct gpc_str raw = {"", 0};
	char mine[65];

	if (!place.top)
		set_up();
	empty_target();
	fill_target(filled);
	gpc_strv_add(&x.allowed, gpc_sha256_hex("mine", 4, mine));
	if (flags & RAW_LINE)
		raw = fuzz_bytes(&in, 1000);
	while (in.n > 0 && x.n < MAX_ENTRIES)
		make_entry(&x, &in, &x.v[x.n++]);
	if (!(flags & UNSORTED))
		qsort(x.v, x.n, sizeof(x.v[0]), by_path);
	make_list(&x);
	if (raw.len) {
		gpc_buf_add(&x.list, raw.ptr, raw.len);
		gpc_buf_addc(&x.list, '\n');
		x.lines++;
	}
	head = make_head(&x, flags);
	restore(&x, head, flags);
	if (flags & TWICE)
		restore(&x, head, flags ^ OVERWRITE);
	if (flags & VERIFY)
		verify(&x, head);
	snapshot_clear(&x);
	return 0;
}
