/* Bundles that were made elsewhere: what is taken up, what is refused and why, and that
 * one which lies there is looked at before it goes anywhere. */
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "core/bundle.h"
#include "core/bundle_cache.h"
#include "core/bundle_other.h"
#include "core_lab.h"
#include "dep/archive.h"

#define NOW GPC_TEST_VERSION

static struct gpc_error err;

static int take_out(void *arg, const void *data, size_t n, struct gpc_error *e)
{
	gpc_buf_add(arg, data, n);
	return gpc_buf_check(arg, e);
}

struct file { const char *path, *text; unsigned machine; };

/* The beginning of an ELF file of 64 bits for that machine. */
static void elf(unsigned machine, char ret[20])
{
	memset(ret, 0, 20);
	memcpy(ret, "\177ELF\2\1\1", 7);
	ret[16] = 3;
	ret[18] = (char)machine;
	ret[19] = (char)(machine >> 8);
}

static void pack(const struct file *files, struct gpc_buf *to)
{
	gpc_autoptr(gpc_archive_writer) *w = NULL;

	assert_ok(gpc_tar_gz_writer_new(take_out, to, &w, &err));
	for (const struct file *f = files; f->path; f++) {
		char head[20];
		const char *data = f->machine ? head : f->text;
		size_t n = f->machine ? sizeof(head) : strlen(f->text);

		elf(f->machine, head);
		assert_ok(gpc_archive_begin(w, f->path, n, &err));
		assert_ok(gpc_archive_write(w, data, n, &err));
	}
	assert_ok(gpc_archive_finish(w, &err));
}

#define X86 62
#define ARM 183
#define RISCV 243
#define SCRIPT {"gpucloud", "#!/bin/sh\n", 0}
#define ABOUT(text) {"etc/version", text, 0}
#define PROGRAM(machine) {"bin/gpucloud", NULL, machine}

TEST(only_whole_bundles_of_this_version_are_taken_up)
{
	static const struct { struct file files[6]; const char *says; } rows[] = {
		{{SCRIPT, ABOUT("gpucloud " NOW " arm64\n"), PROGRAM(ARM),
			{"lib/libc.so.6", NULL, ARM}}, NULL},
		{{ABOUT("gpucloud " NOW " x86_64\n"), PROGRAM(X86), SCRIPT}, NULL},
		{{ABOUT("gpucloud 0.0.9 arm64\n"), PROGRAM(ARM), SCRIPT},
			"a bundle of gpucloud 0.0.9, and this is " NOW},
		{{PROGRAM(ARM), SCRIPT}, "an older gpucloud"},
		{{ABOUT("who knows"), PROGRAM(ARM), SCRIPT}, "an older gpucloud"},
		{{ABOUT("gpucloud " NOW " arm64\n"), PROGRAM(X86), SCRIPT},
			"says that it is for arm64, but its program is not"},
		{{ABOUT("gpucloud " NOW " arm64\n"), PROGRAM(ARM),
			{"lib/libc.so.6", NULL, X86}, SCRIPT},
			"says that it is for arm64, but not all"},
		{{ABOUT("gpucloud " NOW " arm64\n"), {"bin/gpucloud", "#!/bin/sh", 0},
			SCRIPT}, "lacks bin/gpucloud"},
		{{ABOUT("gpucloud " NOW " riscv64\n"), PROGRAM(RISCV), SCRIPT},
			"for riscv64, which no machine"},
		{{ABOUT("gpucloud " NOW " arm64\n"), PROGRAM(ARM)}, "lacks gpucloud"},
		{{SCRIPT}, "lacks bin/gpucloud"},
		{{{NULL, NULL, 0}}, "lacks"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		gpc_auto(gpc_buf) struct gpc_buf b = { .max = 1 << 20 };
		enum gpc_arch arch = GPC_ARCH__COUNT;
		int r;

		pack(rows[i].files, &b);
		r = gpc_bundle_inspect("some.tar.gz", (struct gpc_str){ b.data,
			b.len }, &arch, &err);
		if (rows[i].says) {
			assert_int_equal(r, -GPC_ECONFIG);
			assert_has(err.msg, rows[i].says);
			assert_has(err.msg, "some.tar.gz");
			assert_int_equal(arch, GPC_ARCH__COUNT);
		} else {
			assert_ok(r);
			assert_int_equal(arch, i == 0 ? GPC_ARCH_ARM64 :
				GPC_ARCH_X86_64);
		}
	}
}

/* Wherever it is cut, and whichever byte of it is another one. */
TEST(a_damaged_bundle_is_none)
{
	static const struct file files[] = {SCRIPT,
		ABOUT("gpucloud " NOW " arm64\n"), PROGRAM(ARM), {NULL, NULL, 0}};
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = 1 << 20 };
	enum gpc_arch arch;

	pack(files, &b);
	for (size_t n = 0; n < b.len; n++)
		assert_fails(gpc_bundle_inspect("cut", (struct gpc_str){ b.data, n },
			&arch, &err), GPC_ECONFIG);
	for (size_t i = 10; i < b.len; i++) {   /* before that: when it was made */
		b.data[i] ^= (char)0xff;
		if (gpc_bundle_inspect("spoilt", (struct gpc_str){ b.data, b.len },
			&arch, &err) == 0)
			fail_msg("byte %zu is not missed", i);
		b.data[i] ^= (char)0xff;
	}
	assert_ok(gpc_bundle_inspect("whole", (struct gpc_str){ b.data, b.len },
		&arch, &err));
}

static const struct file other[] = {SCRIPT,
#ifdef __aarch64__
	ABOUT("gpucloud " NOW " x86_64\n"), PROGRAM(X86),
#else
	ABOUT("gpucloud " NOW " arm64\n"), PROGRAM(ARM),
#endif
	{NULL, NULL, 0}};
static const struct file own[] = {SCRIPT,
#ifdef __aarch64__
	ABOUT("gpucloud " NOW " arm64\n"), PROGRAM(ARM),
#else
	ABOUT("gpucloud " NOW " x86_64\n"), PROGRAM(X86),
#endif
	{NULL, NULL, 0}};

static void write_bundle(const char *path, const struct file *files)
{
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = 1 << 20 };

	pack(files, &b);
	assert_ok(gpc_write_file(path, b.data, b.len, 0600, &err));
}

TEST(one_that_was_taken_up_is_known_from_then_on)
{
	struct lab *lab = lab_new(0);
	const enum gpc_arch foreign = gpc_arch_self() == GPC_ARCH_ARM64 ?
		GPC_ARCH_X86_64 : GPC_ARCH_ARM64;
	const unsigned self = GPC_ARCH_BIT(gpc_arch_self());
	gpc_autostr *data = gpc_path_join(lab->dir, "data"), *lies = NULL;
	gpc_autostr *file = gpc_path_join(lab->dir, "one.tar.gz");
	gpc_auto(gpc_bundle_cached) struct gpc_bundle_cached b = { .fd = -1 },
		again = { .fd = -1 };
	enum gpc_arch arch = GPC_ARCH__COUNT;

	gpc_set_str(&lab->s->place.data_dir, data);
	assert_int_equal(gpc_bundle_archs_here(data), self);
	assert_fails(gpc_bundle_other_open(lab->s, foreign, &b, &err), GPC_ECONFIG);
	assert_has(err.msg, "there is no bundle of this gpucloud, " NOW ", for ");
	assert_has(err.hint, "examples/bundle.sh");
	assert_has(err.hint, "--add-bundle");

	write_bundle(file, own);
	assert_fails(gpc_bundle_take(data, file, &arch, &lies, &err), GPC_ECONFIG);
	assert_has(err.msg, "as is this gpucloud");
	write_bundle(file, other);
	assert_ok(gpc_bundle_take(data, file, &arch, &lies, &err));
	assert_int_equal(arch, foreign);
	assert_int_equal(gpc_bundle_archs_here(data), self | GPC_ARCH_BIT(foreign));
	assert_ok(gpc_bundle_other_open(lab->s, foreign, &b, &err));
	assert_ok(gpc_bundle_cached_check(&b, &err));
	assert_ok(gpc_bundle_other_open(lab->s, foreign, &again, &err)); /* by its note */
	assert_memory_equal(again.sum, b.sum, sizeof(b.sum));
	/* Put there by hand, it is looked at all the same. */
	write_bundle(lies, own);
	gpc_bundle_cached_clear(&again);
	again.fd = -1;
	assert_fails(gpc_bundle_other_open(lab->s, foreign, &again, &err), GPC_ECONFIG);
	lab_free(lab);
}

/* Jobs say whose bundles they have; older ones had that of their submitter alone. */
TEST(a_job_has_the_bundles_that_it_was_submitted_with)
{
	gpc_auto(gpc_job) struct gpc_job job = {0};

	assert_int_equal(gpc_bundle_archs_of(&job), 0);
	assert_null(gpc_bundle_sum_of(&job, gpc_arch_self()));
	gpc_set_str(&job.bundle, "aa");
	assert_int_equal(gpc_bundle_archs_of(&job), GPC_ARCH_BIT(gpc_arch_self()));
	assert_string_equal(gpc_bundle_sum_of(&job, gpc_arch_self()), "aa");
	gpc_set_str(&job.bundle, NULL);
	gpc_pairs_set(&job.bundles, "arm64", "bb");
	assert_int_equal(gpc_bundle_archs_of(&job), GPC_ARCH_BIT(GPC_ARCH_ARM64));
	assert_string_equal(gpc_bundle_sum_of(&job, GPC_ARCH_ARM64), "bb");
	assert_null(gpc_bundle_sum_of(&job, GPC_ARCH_X86_64));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_whole_bundles_of_this_version_are_taken_up),
		cmocka_unit_test(a_damaged_bundle_is_none),
		cmocka_unit_test(one_that_was_taken_up_is_known_from_then_on),
		cmocka_unit_test(a_job_has_the_bundles_that_it_was_submitted_with),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
