/* Restoring snapshots: what is damaged or hostile ends in an error, and nothing
 * outside the target is touched. */
#include "snapshot_tree.h"

#include "dep/archive.h"
#include "dep/crypto.h"

/* --- what goes wrong while restoring -------------------------------------- */
static void test_damaged_blobs(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0};
	gpc_auto(gpc_map) struct gpc_map blobs = {0};

	(void)state;
	make_tree(false);
	save_with((struct gpc_save_options){0}, 0, &r);
	blobs_of(r.head, &blobs);
	for (size_t i = 0; i < blobs.n; i++) {
		gpc_auto(gpc_buf) struct gpc_buf b = {.max = 32 << 20};
		struct gpc_error err = {0};
		gpc_autostr *out = gpc_format("out%zu", i);
		char key[520];

		gpc_blob_key("blobs/", blobs.entries[i].key, key);
		assert_int_equal(gpc_store_get(store, key, 32 << 20, &b, NULL), 0);
		b.data[b.len / 2] ^= 1;
		assert_int_equal(gpc_store_put(store, key, b.data, b.len, 0,
			NULL), 0);
		assert_int_equal(restore(r.head, out, false, &err), -GPC_EPROTO);
		assert_non_null(strstr(err.msg, blobs.entries[i].key));
		no_temporary_files(out);
		b.data[b.len / 2] ^= 1;
		assert_int_equal(gpc_store_put(store, key, b.data,
			i % 2 ? b.len : b.len - 1, 0, NULL), 0);
		if (i % 2 == 0)
			assert_true(restore(r.head, out, false, &err) < 0);
		assert_int_equal(gpc_store_put(store, key, b.data, b.len, 0,
			NULL), 0);
		/* The rest comes once the store is whole again. */
		must_restore(r.head, out, false);
		if (i == 0)
			same_trees("in", out);
	}
}

static void test_existing_files(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0};
	gpc_autostr *outside = at("outside"), *link = at("out/d");
	gpc_autostr *aside = at("out/aside"), *victim = at("outside/f");
	gpc_autostr *file = at("out/a");
	struct gpc_error err = {0};

	(void)state;
	put("in/a", "new");
	put("in/d/f", "new");
	put("in/aside", "new");
	put("out/a", "mine");
	put("outside/f", "mine");
	assert_int_equal(symlink(outside, link), 0);
	assert_int_equal(symlink(victim, aside), 0);
	save_with((struct gpc_save_options){0}, 0, &r);
	/* A link where a folder belongs is not followed. */
	assert_true(restore(r.head, "out", false, &err) < 0);
	assert_non_null(strstr(err.msg, "d"));
	for (int i = 0; i < 2; i++) {
		gpc_auto(gpc_buf) struct gpc_buf b = {0}, c = {0};

		assert_int_equal(gpc_read_file(victim, 100, &b, NULL), 0);
		assert_string_equal(b.data, "mine");
		assert_int_equal(gpc_read_file(file, 100, &c, NULL), 0);
		assert_string_equal(c.data, i ? "new" : "mine");
		if (i == 0)
			must_restore(r.head, "out", true);
	}
	{
		gpc_autostr *command = gpc_format("touch -r %s/in %s/out", top, top);

		assert_int_equal(system(command), 0);
	}
	same_trees("in", "out");
}

/* --- hostile lists -------------------------------------------------------- */
static int to_buf(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	(void)err;
	gpc_buf_add(arg, data, n);
	return 0;
}

static void put_blob(const struct gpc_buf *b, char ret_hex[65])
{
	char key[520];

	gpc_sha256_hex(b->data, b->len, ret_hex);
	gpc_blob_key("blobs/", ret_hex, key);
	assert_int_equal(gpc_store_put(store, key, b->data, b->len, 0, NULL), 0);
}

/* A head over one list of the given text. */
static struct gpc_json *make_head(const char *text, int64_t bytes)
{
	gpc_autoptr(gpc_archive_writer) *w = NULL;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_json *head = gpc_json_object(), *lists = gpc_json_array();
	struct gpc_json *about = gpc_json_object();
	char hex[65];

	assert_int_equal(gpc_zstd_writer_new(to_buf, &b, &w, NULL), 0);
	assert_int_equal(gpc_archive_write(w, text, strlen(text), NULL), 0);
	assert_int_equal(gpc_archive_finish(w, NULL), 0);
	put_blob(&b, hex);
	gpc_json_set_int(head, "v", 1);
	gpc_json_set_int(head, "bytes", bytes);
	gpc_json_set_str(about, "sha256", hex);
	gpc_json_set_int(about, "size", (int64_t)b.len);
	gpc_json_add(lists, about);
	gpc_json_set(head, "lists", lists);
	return head;
}

/* A pack of one file; its name goes to ret_hex, its size is returned. */
static size_t make_pack(const char *path, const char *content, char ret_hex[65])
{
	gpc_autoptr(gpc_archive_writer) *w = NULL;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	assert_int_equal(gpc_tar_writer_new(true, to_buf, &b, &w, NULL), 0);
	assert_int_equal(gpc_archive_begin(w, path, strlen(content), NULL), 0);
	assert_int_equal(gpc_archive_write(w, content, strlen(content), NULL), 0);
	assert_int_equal(gpc_archive_finish(w, NULL), 0);
	put_blob(&b, ret_hex);
	return b.len;
}

/* PACK becomes the members h, k, ks of a real pack of "x" at path. */
static char *expand(const char *line, const char *path)
{
	const char *mark = strstr(line, "PACK");
	char hash[65], pack[65];
	size_t size;

	if (!mark)
		return gpc_strdup(line);
	size = make_pack(path, "x", pack);
	gpc_sha256_hex("x", 1, hash);
	return gpc_format("%.*s\"h\":\"%s\",\"k\":\"%s\",\"ks\":%zu%s",
		(int)(mark - line), line, hash, pack, size, mark + 4);
}

#define FILE_LINE(path) \
	"{\"p\":\"" path "\",\"t\":\"f\",\"m\":\"644\",\"s\":1,\"mt\":1,PACK}\n"
#define SHA "0123456789012345678901234567890123456789012345678901234567890123"

static const struct { const char *path, *lines; } hostile[] = {
	{"../evil", FILE_LINE("../evil")},
	{"/evil", FILE_LINE("/evil")},
	{"a/../../evil", FILE_LINE("a/../../evil")},
	{"a/./evil", FILE_LINE("a/./evil")},
	{"", FILE_LINE("")},
	{"a\\u0000b", FILE_LINE("a\\u0000b")},
	{"x", "{\"pb\":\"2e2e2f6576696c\",\"t\":\"f\",\"m\":\"644\",\"s\":1,PACK}\n"},
	{"x", "{\"pb\":\"6100\",\"t\":\"f\",\"m\":\"644\",\"s\":1,PACK}\n"},
	{"other", FILE_LINE("x")},
	{"x", FILE_LINE("x") FILE_LINE("x")},
	{"x", FILE_LINE("x") "{\"p\":\"w\",\"t\":\"d\",\"m\":\"755\"}\n"},
	{"x", "{\"p\":\"x\",\"t\":\"f\",\"m\":\"644\",\"s\":2,PACK}\n"},
	{"x", "{\"p\":\"x\",\"t\":\"f\",\"m\":\"9\",\"s\":1,PACK}\n"},
	{"x", "{\"p\":\"x\",\"t\":\"s\",\"m\":\"644\",\"s\":1,PACK}\n"},
	{"x", "{\"p\":\"x\",\"t\":\"f\",\"m\":\"644\",\"s\":-1,PACK}\n"},
	{"x", "{\"p\":\"x\",\"t\":\"f\",\"m\":\"644\",\"s\":1}\n"},
	{"x", "{\"p\":\"x\",\"t\":\"l\",\"m\":\"777\"}\n"},
	{"x", "{\"p\":\"x\",\"t\":\"f\",\"m\":\"644\",\"s\":9,\"c\":[2]}\n"},
	{"x", "{\"p\":\"x\",\"t\":\"f\",\"m\":\"644\",\"s\":9,\"c\":[0]}\n"},
	{"x", "{\"p\":\"x\",\"t\":\"f\",\"m\":\"644\",\"s\":9,\"c\":[-1]}\n"},
	{"x", "{\"p\":\"x\",\"t\":\"f\",\"m\":\"644\",\"s\":9,\"c\":"
	      "[\"zstd:" SHA ":999999999\"]}\n"},
	{"x", "{\"p\":\"x\",\"t\":\"f\",\"m\":\"644\",\"s\":9,\"c\":"
	      "[\"zip:" SHA ":9\"]}\n"},
	{"x", "{\"p\":\"x\",\"t\":\"f\",\"m\":\"644\",\"s\":9,\"c\":"
	      "[\"raw:" SHA ":9\"]}\n"},
	{"x", "{\"p\":\"x\",\"t\":\"f\",\"m\":\"644\",\"s\":9e15,\"c\":[536870911]}\n"},
	{"x", "not json\n"},
	{"x", "{\"p\":\"x\"}"},
	{"x", FILE_LINE("x") "{\"p\":\"y\",\"t\":\"d\",\"m\":\"755\"}"},
};

static void test_hostile_lists(void **state)
{
	gpc_autostr *evil = at("evil");

	(void)state;
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		gpc_autostr *text = expand(hostile[i].lines, hostile[i].path);
		gpc_autoptr(gpc_json) *head = make_head(text, 1 << 20);
		gpc_autostr *out = gpc_format("out%zu", i);
		struct gpc_error err = {0};

		if (restore(head, out, i % 2, &err) == 0)
			fail_msg("case %zu was restored: %s", i, text);
		assert_true(err.msg[0]);
		no_temporary_files(out);
		assert_int_not_equal(access(evil, F_OK), 0);
		assert_int_not_equal(access("/evil", F_OK), 0);
	}
}

/* A link, then a file below it: nothing may be written through the link. */
static void test_a_link_is_no_folder(void **state)
{
	gpc_autostr *outside = at("outside"), *evil = at("outside/evil");

	(void)state;
	assert_int_equal(mkdir(outside, 0755), 0);
	for (int overwrite = 0; overwrite < 2; overwrite++) {
		gpc_autostr *link = gpc_format("{\"p\":\"a\",\"t\":\"l\","
			"\"m\":\"777\",\"l\":\"%s\"}\n" FILE_LINE("a/evil"),
			outside);
		gpc_autostr *text = expand(link, "a/evil");
		gpc_autoptr(gpc_json) *head = make_head(text, 100);
		gpc_autostr *out = gpc_format("out%d", overwrite);
		struct gpc_error err = {0};

		/* Without overwrite the link finds a folder and is kept out. */
		(void)restore(head, out, overwrite, &err);
		assert_int_not_equal(access(evil, F_OK), 0);
	}
	{
		gpc_autostr *text = expand(FILE_LINE("a/evil"), "a/evil");
		gpc_autoptr(gpc_json) *head = make_head(text, 100);
		gpc_autostr *there = at("out9/a"), *folder = at("out9");
		struct gpc_error err = {0};

		assert_int_equal(mkdir(folder, 0755), 0);
		assert_int_equal(symlink(outside, there), 0);
		assert_true(restore(head, "out9", false, &err) < 0);
		must_restore(head, "out9", true);
		assert_int_not_equal(access(evil, F_OK), 0);
	}
}

/* What a list says of sizes is the most that is ever written. */
static void test_bombs(void **state)
{
	gpc_auto(gpc_buf) struct gpc_buf zeros = {0}, b = {0};
	gpc_autoptr(gpc_archive_writer) *w = NULL;
	gpc_autoptr(gpc_json) *head = NULL, *small = NULL, *newer = NULL;
	gpc_autostr *text = NULL, *honest = NULL;
	struct gpc_error err = {0};
	char hex[65];

	(void)state;
	assert_non_null(gpc_buf_reserve(&zeros, 1 << 20));
	memset(zeros.data, 0, 1 << 20);
	assert_int_equal(gpc_zstd_writer_new(to_buf, &b, &w, NULL), 0);
	for (size_t i = 0; i < lean(200, 40); i++)
		assert_int_equal(gpc_archive_write(w, zeros.data, 1 << 20, NULL),
			0);
	assert_int_equal(gpc_archive_finish(w, NULL), 0);
	put_blob(&b, hex);
	text = gpc_format("{\"p\":\"x\",\"t\":\"f\",\"m\":\"644\",\"s\":9,"
		"\"c\":[\"zstd:%s:%zu\"]}\n", hex, b.len);
	head = make_head(text, 1 << 20);
	assert_int_equal(restore(head, "out", false, &err), -GPC_EPROTO);
	honest = expand(FILE_LINE("x"), "x");
	small = make_head(honest, 0);
	assert_int_equal(restore(small, "out", false, &err), -GPC_EPROTO);
	assert_non_null(strstr(err.msg, "head says"));
	newer = make_head(honest, 1);
	must_restore(newer, "out", false);
	gpc_json_set_int(newer, "v", 2);
	assert_int_equal(restore(newer, "out", false, &err), -GPC_EUNSUPPORTED);
	gpc_json_unset(newer, "v");
	assert_int_equal(restore(newer, "out", false, &err), -GPC_EPROTO);
}

static void test_setuid_is_dropped(void **state)
{
	gpc_autostr *text = expand("{\"p\":\"x\",\"t\":\"f\",\"m\":\"6755\","
		"\"s\":1,\"mt\":-1,\"ns\":5,PACK}\n", "x");
	gpc_autoptr(gpc_json) *head = NULL;
	gpc_autostr *file = at("out/x");
	struct stat st;

	(void)state;
	head = make_head(text, 1);
	must_restore(head, "out", false);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(st.st_mtim.tv_sec, -1);
	assert_int_equal(st.st_mtim.tv_nsec, 5);
}

/* A GiB of holes with a little data: quick, and still sparse afterwards. */
static void test_sparse(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0};
	gpc_autostr *file = at("in/sparse"), *back = at("out/sparse");
	off_t size = (off_t)lean(1024, 64) << 20;
	gpc_autofd fd = -1;
	struct stat st;

	(void)state;
	put("in/sparse", "begin");
	fd = open(file, O_WRONLY);
	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(pwrite(fd, "middle", 6, size / 2 - 12345), 6);
	assert_int_equal(pwrite(fd, "end", 3, size - 3), 3);
	save_with((struct gpc_save_options){0}, 0, &r);
	assert_int_equal(r.n_bytes, size);
	assert_true(r.read_bytes <= (uint64_t)120 << 20);
	assert_true(r.sent_bytes < 1 << 20);
	must_restore(r.head, "out", false);
	assert_int_equal(stat(back, &st), 0);
	assert_true((uint64_t)st.st_blocks * 512 < (uint64_t)4 << 20);
	same_content(file, back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FRESH(test_damaged_blobs),
		FRESH(test_existing_files),
		FRESH(test_hostile_lists),
		FRESH(test_a_link_is_no_folder),
		FRESH(test_bombs),
		FRESH(test_setuid_is_dropped),
		FRESH(test_sparse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
