/* dep/archive: bytes are the same in any locale and from any piece size, are
 * read back by us and by tar and zstd, and hostile input ends in an error. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fd.h"
#include "dep/archive.h"

struct source { const struct gpc_buf *b; size_t at, piece; };

static int to_buf(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	(void)err;
	gpc_buf_add(arg, data, n);
	return 0;
}

static int refuse(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	(void)arg;
	(void)data;
	(void)n;
	return gpc_fail(err, GPC_EIO, "the disk is full");
}

static int from_buf(void *arg, const void **ret_data, size_t *ret_n,
	struct gpc_error *err)
{
	struct source *s = arg;
	size_t n = s->b->len - s->at;

	(void)err;
	n = n > s->piece ? s->piece : n;
	*ret_data = s->b->data + s->at;
	*ret_n = n;
	s->at += n;
	return 0;
}

static const struct { const char *path, *data; } entries[] = {
	{"a", "first\n"},
	{"dir/empty", ""},
	{"dir/line\nfeed", "x"},
	{"dir/\xff\xfe" "broken", "not UTF-8"},
	{"dir/\xc3\xa4\xc3\xb6", "umlauts"},
	{"long/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/"
	 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "long"},
};
enum { N_ASCII = 3, N_ENTRIES = sizeof(entries) / sizeof(entries[0]) };

static void make_tar(struct gpc_buf *b, bool binary, size_t n_entries)
{
	gpc_autoptr(gpc_archive_writer) *w = NULL;
	struct gpc_error err = {0};

	assert_int_equal(gpc_tar_writer_new(binary, to_buf, b, &w,
		&err), 0);
	for (size_t i = 0; i < n_entries; i++) {
		size_t n = strlen(entries[i].data);

		assert_int_equal(gpc_archive_begin(w, entries[i].path, n, &err), 0);
		assert_int_equal(gpc_archive_write(w, entries[i].data, n, &err), 0);
	}
	assert_int_equal(gpc_archive_finish(w, &err), 0);
}

static void test_tar_round_trip(void **state)
{
	static const size_t pieces[] = {1, 7, 4096, SIZE_MAX};
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	(void)state;
	make_tar(&b, true, N_ENTRIES);
	for (size_t p = 0; p < 4; p++) {
		struct source s = {&b, 0, pieces[p]};
		gpc_autoptr(gpc_archive_reader) *r = NULL;
		struct gpc_error err = {0};
		const char *path;
		uint64_t size;

		assert_int_equal(gpc_tar_reader_new(from_buf, &s, &r, &err), 0);
		for (size_t i = 0; i < N_ENTRIES; i++) {
			char data[64];
			size_t n;

			assert_int_equal(gpc_archive_next(r, &path, &size, &err), 0);
			assert_non_null(path);
			assert_string_equal(path, entries[i].path);
			assert_int_equal(size, strlen(entries[i].data));
			assert_int_equal(gpc_archive_read(r, data, sizeof(data),
				&n, &err), 0);
			assert_int_equal(n, size);
			assert_memory_equal(data, entries[i].data, n);
		}
		assert_int_equal(gpc_archive_next(r, &path, &size, &err), 0);
		assert_null(path);
	}
}

static void test_locale_changes_nothing(void **state)
{
	(void)state;
	for (int binary = 0; binary < 2; binary++) {
		size_t n = binary ? N_ENTRIES : N_ASCII;
		gpc_auto(gpc_buf) struct gpc_buf c = {0}, utf8 = {0};

		assert_non_null(setlocale(LC_ALL, "C"));
		make_tar(&c, binary, n);
		if (!setlocale(LC_ALL, "C.UTF-8"))
			skip();
		make_tar(&utf8, binary, n);
		setlocale(LC_ALL, "C");
		assert_int_equal(c.len, utf8.len);
		assert_memory_equal(c.data, utf8.data, c.len);
	}
}

static void run_shell(const char *command)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void check_with_tools(bool binary, size_t n, const char *checks)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	char dir[] = "/tmp/gpc-archive-XXXXXX";
	gpc_autostr *file = NULL, *command = NULL;

	make_tar(&b, binary, n);
	assert_non_null(mkdtemp(dir));
	file = gpc_format("%s/t.tar.zst", dir);
	assert_int_equal(gpc_write_file(file, b.data, b.len, 0600, NULL), 0);
	command = gpc_format("cd %s && zstd -q -t t.tar.zst && "
		"tar --zstd -xf t.tar.zst 2>err && test \"$(cat a)\" = first && "
		"test -f dir/empty && test -f 'dir/line\nfeed' && "
		"test \"$(stat -c '%%a %%Y' a)\" = '644 0' && %s; r=$?; "
		"rm -rf %s; exit $r", dir, checks, dir);
	run_shell(command);
}

static void test_common_tools_read_it(void **state)
{
	(void)state;
	if (access("/usr/bin/zstd", X_OK) != 0)
		skip();
	check_with_tools(false, N_ASCII, "test ! -s err");
	check_with_tools(true, N_ENTRIES,
		"test \"$(find dir -type f | tr -cd / | wc -c)\" = 4");
}

static void fill_random(struct gpc_buf *b, size_t n, uint64_t x)
{
	for (size_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		gpc_buf_addc(b, (char)x);
	}
}

static void compress(const struct gpc_buf *from, size_t piece,
	struct gpc_buf *to)
{
	gpc_autoptr(gpc_archive_writer) *w = NULL;

	assert_int_equal(gpc_zstd_writer_new(to_buf, to, &w, NULL), 0);
	for (size_t i = 0; i < from->len; i += piece)
		assert_int_equal(gpc_archive_write(w, from->data + i,
			from->len - i < piece ? from->len - i : piece, NULL), 0);
	assert_int_equal(gpc_archive_finish(w, NULL), 0);
}

static int decompress(const struct gpc_buf *from, struct gpc_buf *to,
	struct gpc_error *err)
{
	struct source s = {from, 0, 4096};
	gpc_autoptr(gpc_archive_reader) *r = NULL;
	int result = gpc_zstd_reader_new(from_buf, &s, &r, err);
	size_t n = 1;

	while (result == 0 && n > 0) {
		result = gpc_archive_read(r, gpc_buf_reserve(to, 1 << 16),
			1 << 16, &n, err);
		if (result == 0)
			to->len += n;
	}
	return result;
}

/* Twice compressed is unpacked once: filters are not guessed. */
static void test_stream_round_trip(void **state)
{
	gpc_auto(gpc_buf) struct gpc_buf raw = {0}, one = {0}, two = {0};
	gpc_auto(gpc_buf) struct gpc_buf back = {0}, other = {0};

	(void)state;
	fill_random(&raw, 300000, 1);
	for (int i = 0; i < 50000; i++)
		gpc_buf_addf(&raw, "line %d\n", i);
	compress(&raw, 1 << 20, &one);
	assert_true(one.len < raw.len);
	compress(&one, 1000, &two);
	assert_int_equal(decompress(&two, &back, NULL), 0);
	assert_int_equal(back.len, one.len);
	assert_memory_equal(back.data, one.data, one.len);
	assert_int_equal(decompress(&one, &other, NULL), 0);
	assert_int_equal(other.len, raw.len);
	assert_memory_equal(other.data, raw.data, raw.len);
}

static void test_hostile_input(void **state)
{
	gpc_auto(gpc_buf) struct gpc_buf raw = {0}, good = {0}, out = {0};
	struct gpc_error err = {0};

	(void)state;
	fill_random(&raw, 200000, 2);
	assert_true(decompress(&raw, &out, &err) < 0);
	assert_int_equal(err.code, GPC_EPROTO);
	compress(&raw, 4096, &good);
	good.len /= 2;
	gpc_buf_reset(&out);
	assert_true(decompress(&good, &out, &err) < 0);
	good.len = 0;
	assert_true(decompress(&good, &out, &err) < 0);
	for (size_t cut = 1; cut < 40; cut++) {
		gpc_auto(gpc_buf) struct gpc_buf tar = {0};
		gpc_autoptr(gpc_archive_reader) *r = NULL;
		struct source s = {&tar, 0, 100};
		const char *path = "";
		uint64_t size;
		int result;

		make_tar(&tar, true, N_ENTRIES);
		tar.data[tar.len * cut / 40] ^= 0x55;
		tar.len -= cut % 7;
		result = gpc_tar_reader_new(from_buf, &s, &r, &err);
		while (result == 0 && path)
			result = gpc_archive_next(r, &path, &size, &err);
	}
}

static void test_out_error_is_kept(void **state)
{
	gpc_autoptr(gpc_archive_writer) *w = NULL;
	gpc_auto(gpc_buf) struct gpc_buf raw = {0};
	struct gpc_error err = {0};
	int r;

	(void)state;
	fill_random(&raw, 1 << 20, 3);
	assert_int_equal(gpc_zstd_writer_new(refuse, NULL, &w, &err), 0);
	r = gpc_archive_write(w, raw.data, raw.len, &err);
	if (r == 0)
		r = gpc_archive_finish(w, &err);
	assert_int_equal(r, -GPC_EIO);
	assert_string_equal(err.msg, "the disk is full");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tar_round_trip),
		cmocka_unit_test(test_locale_changes_nothing),
		cmocka_unit_test(test_common_tools_read_it),
		cmocka_unit_test(test_stream_round_trip),
		cmocka_unit_test(test_hostile_input),
		cmocka_unit_test(test_out_error_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
