/* The bundle in the cache: made once, known by what was noted of it, made again when it
 * is not what it was; those of older builds go. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "core/bundle.h"
#include "core/bundle_cache.h"
#include "core_lab.h"

static struct gpc_error err;
static int made;

int __wrap_gpc_bundle_write(const char *self_path, const char *out_path,
	struct gpc_bundle_facts *ret_facts, struct gpc_error *e);

/* The same bytes each time, as a program's bundle has. */
int __wrap_gpc_bundle_write(const char *self_path, const char *out_path,
	struct gpc_bundle_facts *ret_facts, struct gpc_error *e)
{
	static const char text[] = "what would be the bundle of this program";

	assert_string_equal(self_path, "/proc/self/exe");
	*ret_facts = (struct gpc_bundle_facts){ .files = 1,
		.packed_bytes = sizeof(text) - 1 };
	gpc_sha256_hex(text, sizeof(text) - 1, ret_facts->sha256);
	made++;
	return gpc_write_file(out_path, text, sizeof(text) - 1, 0644, e);
}

static void put(const char *path, const char *text)
{
	assert_ok(gpc_write_file(path, text, strlen(text), 0600, &err));
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* A byte in its middle, with the times as they were. */
static void spoil(const char *path)
{
	struct stat st;
	gpc_autofd fd = -1;

	assert_ok(gpc_open(path, O_RDWR, 0, &fd, &err));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(pwrite(fd, "spoilt", 6, st.st_size / 2), 6);
	assert_int_equal(futimens(fd, (struct timespec[]){ st.st_atim,
		st.st_mtim }), 0);
}

TEST(a_bundle_is_made_once_and_known_by_its_note)
{
	struct lab *lab = lab_new(0);
	gpc_auto(gpc_bundle_cached) struct gpc_bundle_cached b = { .fd = -1 },
		again = { .fd = -1 }, changed = { .fd = -1 };
	gpc_autostr *dir = gpc_path_join(lab->dir, "cache/bundles"), *note = NULL;
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	char *old[5];
	struct stat one, two;

	gpc_set_str(&lab->s->place.cache_dir, dir);
	*strrchr(lab->s->place.cache_dir, '/') = '\0';
	gpc_set_str(&lab->s->place.self_path, "/proc/self/exe");
	assert_ok(gpc_mkdirs(dir, 0700, &err));
	for (int i = 0; i < 5; i++) {
		old[i] = gpc_format("%s/%016d.tar.gz", dir, i);
		gpc_autostr *beside = gpc_format("%s.sum", old[i]);

		put(old[i], "old");
		put(beside, "old");
		assert_int_equal(utimensat(AT_FDCWD, old[i], (struct timespec[]){
			{ .tv_sec = 1000 + i }, { .tv_sec = 1000 + i } }, 0), 0);
	}
	assert_ok(gpc_bundle_cached_open(lab->s, &b, &err));
	assert_ok(gpc_bundle_cached_check(&b, &err));
	assert_int_equal(made, 1);
	for (int i = 0; i < 5; i++) {
		gpc_autostr *beside = gpc_format("%s.sum", old[i]);

		assert_int_equal(is_there(old[i]), i >= 3);
		assert_int_equal(is_there(beside), i >= 3);
		free(old[i]);
	}
	note = gpc_format("%s.sum", b.path);
	assert_ok(gpc_read_file(note, 1024, &text, &err));

	/* It is the note that counts, as long as the file is the same. */
	text.data[0] = text.data[0] == 'a' ? 'b' : 'a';
	assert_ok(gpc_write_file(note, text.data, text.len, 0600, &err));
	assert_ok(gpc_bundle_cached_open(lab->s, &again, &err));
	assert_memory_not_equal(again.sum, b.sum, sizeof(b.sum));
	assert_int_equal(fstat(b.fd, &one) + fstat(again.fd, &two), 0);
	assert_int_equal(one.st_ino, two.st_ino);
	assert_int_equal(made, 1);
	/* What does not have its sum goes nowhere, and is made anew. */
	assert_fails(gpc_bundle_cached_check(&again, &err), GPC_EPROTO);
	assert_false(is_there(b.path));

	assert_ok(gpc_bundle_cached_open(lab->s, &changed, &err));
	assert_memory_equal(changed.sum, b.sum, sizeof(b.sum));
	spoil(changed.path);
	gpc_bundle_cached_clear(&again);
	again.fd = -1;
	assert_ok(gpc_bundle_cached_open(lab->s, &again, &err));
	assert_memory_equal(again.sum, b.sum, sizeof(b.sum)); /* it was made anew */
	assert_ok(gpc_bundle_cached_check(&again, &err));
	assert_int_equal(made, 3);
	assert_ok(gpc_bundle_cached_check(&b, &err));   /* open before all that */
	lab_free(lab);
}

/* Whatever else stands there, it costs the time to make the bundle, no more. */
TEST(a_note_is_any_bytes)
{
	static const char *const notes[] = {"", "x", "zz", "\n\n\n",
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0000000000000000000000000000000000000000000000000000000000000000 1 2 3.4\n",
	};
	struct lab *lab = lab_new(0);
	gpc_auto(gpc_bundle_cached) struct gpc_bundle_cached b = { .fd = -1 };
	gpc_autostr *note = NULL;

	gpc_set_str(&lab->s->place.cache_dir, lab->dir);
	gpc_set_str(&lab->s->place.self_path, "/proc/self/exe");
	assert_ok(gpc_bundle_cached_open(lab->s, &b, &err));
	note = gpc_format("%s.sum", b.path);
	for (size_t i = 0; i < COUNT(notes); i++) {
		gpc_auto(gpc_bundle_cached) struct gpc_bundle_cached x = { .fd = -1 };

		put(note, notes[i]);
		assert_ok(gpc_bundle_cached_open(lab->s, &x, &err));
		assert_memory_equal(x.sum, b.sum, sizeof(b.sum));
	}
	lab_free(lab);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bundle_is_made_once_and_known_by_its_note),
		cmocka_unit_test(a_note_is_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
