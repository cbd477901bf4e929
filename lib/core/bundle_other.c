/* A node of another version would not understand what this one writes, and one of
 * another architecture would not start: both are seen here, not on a machine that is
 * paid for. The whole file is read, so that a damaged one is seen as well. */
#include "core/bundle_other.h"

#include <stdio.h>
#include <unistd.h>

#include "base/crc.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "core/bundle.h"
#include "dep/archive.h"

#define FILE_MAX ((size_t)256 << 20)
#define UNPACKED_MAX ((uint64_t)1 << 30)
#define SUFFIX ".tar.gz"

struct look {
	const char *name;             /* of the file, for people */
	struct gpc_str left;          /* what was not read yet */
	char about[128];              /* of GPC_BUNDLE_ABOUT */
	unsigned machine;             /* e_machine of the program */
	bool script, mixed;
	uint64_t unpacked;            /* so far, while its sum is counted */
};

static int feed(void *arg, const void **ret_data, size_t *ret_n,
	struct gpc_error *err)
{
	struct look *k = arg;

	(void)err;
	*ret_data = k->left.ptr;
	*ret_n = k->left.len;
	k->left.len = 0;
	return 0;
}

static void see_program(struct look *k, const char *path, unsigned machine)
{
	if (!gpc_starts_with(path, "bin/") && !gpc_starts_with(path, "lib/"))
		return;
	if (!k->machine)
		k->machine = machine;
	k->mixed |= machine != k->machine || !machine;
}

/* The beginning of an entry tells all. */
static int see_entry(struct look *k, struct gpc_archive_reader *a, const char *path,
	struct gpc_error *err)
{
	bool about = gpc_eq(path, GPC_BUNDLE_ABOUT);
	gpc_autostr *name = gpc_strdup(path);
	char block[128];
	size_t n = 0;
	int r = gpc_archive_read(a, block, sizeof(block), &n, err);

	if (r < 0)
		return r;
	if (about)
		snprintf(k->about, sizeof(k->about), "%.*s", (int)n, block);
	see_program(k, name, gpc_arch_machine(block, n));
	k->script |= gpc_eq(name, "gpucloud");
	return 0;
}

static uint32_t number_at(const char *at)
{
	uint32_t n = 0;

	for (int i = 3; i >= 0; i--)
		n = n << 8 | (unsigned char)at[i];
	return n;
}

/* By the two numbers at the end of a gzip file (RFC 1952): libarchive does not look at
 * them. */
static int check_sum(struct gpc_str bytes, struct gpc_error *err)
{
	gpc_autoptr(gpc_archive_reader) *a = NULL;
	struct look k = { .left = bytes };
	char block[1 << 14];
	size_t n = sizeof(block);
	uint32_t crc = 0;
	int r = gpc_gz_reader_new(feed, &k, &a, err);

	while (r == 0 && n == sizeof(block)) {
		r = gpc_archive_read(a, block, sizeof(block), &n, err);
		if (r < 0)
			break;
		crc = gpc_crc32(crc, block, n);
		k.unpacked += n;
		if (k.unpacked > UNPACKED_MAX)
			return gpc_fail(err, GPC_EPROTO, "it unpacks to more than "
				"a bundle has");
	}
	if (r == 0 && (bytes.len < 8 || crc != number_at(bytes.ptr + bytes.len - 8) ||
		(uint32_t)k.unpacked != number_at(bytes.ptr + bytes.len - 4)))
		r = gpc_fail(err, GPC_EPROTO, "it is damaged: its checksum is another");
	return r;
}

static int see_all(struct look *k, struct gpc_error *err)
{
	gpc_autoptr(gpc_archive_reader) *a = NULL;
	const char *path;
	uint64_t size;
	int r = gpc_tar_gz_reader_new(feed, k, &a, err);

	while (r == 0) {
		r = gpc_archive_next(a, &path, &size, err);
		if (r < 0 || !path)
			break;
		r = see_entry(k, a, path, err);
	}
	return r;
}

static int fail_made(struct gpc_error *err, const char *arch)
{
	gpc_hint(err, "make one of this gpucloud, " GPC_VERSION ": `sh "
		"examples/bundle.sh %s FILE`, or `gpucloud agent --bundle FILE` on "
		"such a machine", arch ? arch : "ARCH");
	return -GPC_ECONFIG;
}

/* "gpucloud VERSION ARCH\n" */
static int check_about(const struct look *k, enum gpc_arch *ret_arch,
	struct gpc_error *err)
{
	struct gpc_str rest = gpc_str_trim(gpc_str_of(k->about)), word, version, arch;
	gpc_autostr *name = NULL, *number = NULL;

	if (!gpc_str_split(&rest, ' ', &word) || !gpc_str_eq(word, "gpucloud") ||
		!gpc_str_split(&rest, ' ', &version) ||
		!gpc_str_split(&rest, ' ', &arch)) {
		gpc_fail(err, GPC_ECONFIG, "%s is a bundle of an older gpucloud, "
			"which does not say its version", k->name);
		return fail_made(err, NULL);
	}
	number = gpc_str_printable(version.ptr, version.len);
	name = gpc_str_printable(arch.ptr, arch.len);
	if (!gpc_eq(number, GPC_VERSION)) {
		gpc_fail(err, GPC_ECONFIG, "%s is a bundle of gpucloud %s, and this is "
			GPC_VERSION, k->name, number);
		return fail_made(err, name);
	}
	if (!gpc_arch_find(name, ret_arch))
		return gpc_fail(err, GPC_ECONFIG, "%s is a bundle for %s, which no "
			"machine that can be bought is", k->name, name);
	return 0;
}

static int check(const struct look *k, enum gpc_arch *ret_arch, struct gpc_error *err)
{
	enum gpc_arch is = GPC_ARCH_X86_64;
	int r;

	if (!k->machine || !k->script)
		return gpc_fail(err, GPC_ECONFIG, "%s is no bundle of gpucloud: it "
			"lacks %s", k->name, k->script ? "bin/gpucloud" : "gpucloud");
	r = check_about(k, ret_arch, err);
	if (r < 0)
		return r;
	if (k->mixed || !gpc_arch_of_machine(k->machine, &is) || is != *ret_arch)
		return gpc_fail(err, GPC_ECONFIG, "%s says that it is for %s, but %s",
			k->name, gpc_arch_names[*ret_arch], k->mixed ?
			"not all of its programs are" : "its program is not");
	return 0;
}

int gpc_bundle_inspect(const char *name, struct gpc_str bytes,
	enum gpc_arch *ret_arch, struct gpc_error *err)
{
	struct look k = { .name = name, .left = bytes };
	struct gpc_error why = {0};
	enum gpc_arch arch;
	int r = check_sum(bytes, &why);

	if (r == 0)
		r = see_all(&k, &why);
	if (r == -GPC_EUNSUPPORTED)     /* of this libarchive, not of the file */
		return gpc_fail(err, GPC_EUNSUPPORTED, "%s", why.msg);
	if (r < 0)
		return gpc_fail(err, GPC_ECONFIG, "%s is no whole bundle of gpucloud "
			"(.tar.gz): %s", name, why.msg);
	r = check(&k, &arch, err);
	if (r == 0)
		*ret_arch = arch;
	return r;
}

/* --- where it lies ----------------------------------------------------------- */

char *gpc_bundle_other_path(const char *data_dir, enum gpc_arch arch)
{
	return gpc_format("%s/bundles/" GPC_VERSION "-%s" SUFFIX, data_dir,
		gpc_arch_names[arch]);
}

int gpc_bundle_other_missing(enum gpc_arch arch, struct gpc_error *err)
{
	const char *name = gpc_arch_names[arch];

	gpc_fail(err, GPC_ECONFIG, "there is no bundle of this gpucloud, " GPC_VERSION
		", for %s here", name);
	gpc_hint(err, "make one by `sh examples/bundle.sh %s FILE`, or by `gpucloud "
		"agent --bundle FILE` on such a machine, and take it up by `gpucloud "
		"agent --add-bundle FILE`", name);
	return -GPC_ECONFIG;
}

int gpc_bundle_read(const char *path, struct gpc_buf *bytes,
	enum gpc_arch *ret_arch, struct gpc_error *err)
{
	int r;

	bytes->max = FILE_MAX;
	r = gpc_read_file(path, FILE_MAX, bytes, err);
	return r < 0 ? r : gpc_bundle_inspect(path, (struct gpc_str){ bytes->data,
		bytes->len }, ret_arch, err);
}

int gpc_bundle_take(const char *data_dir, const char *path,
	enum gpc_arch *ret_arch, char **ret_path, struct gpc_error *err)
{
	gpc_autostr *dir = gpc_path_join(data_dir, "bundles"), *to = NULL;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int r = gpc_bundle_read(path, &b, ret_arch, err);

	if (r == 0 && *ret_arch == gpc_arch_self())
		r = gpc_fail(err, GPC_ECONFIG, "%s is for %s, as is this gpucloud, "
			"which makes that one itself", path,
			gpc_arch_names[*ret_arch]);
	if (r == 0)
		r = gpc_mkdirs(dir, 0700, err);
	if (r < 0)
		return r;
	to = gpc_bundle_other_path(data_dir, *ret_arch);
	r = gpc_write_file(to, b.data, b.len, 0600, err);
	if (r == 0)
		*ret_path = gpc_steal(&to);
	return r;
}

/* --- whose there are ---------------------------------------------------------- */

unsigned gpc_bundle_archs_here(const char *data_dir)
{
	unsigned archs = GPC_ARCH_BIT(gpc_arch_self());

	for (int a = 0; a < GPC_ARCH__COUNT; a++) {
		gpc_autostr *path = gpc_bundle_other_path(data_dir, a);

		if (access(path, R_OK) == 0)
			archs |= GPC_ARCH_BIT(a);
	}
	return archs;
}

unsigned gpc_bundle_archs_of(const struct gpc_job *job)
{
	unsigned archs = job->bundle ? GPC_ARCH_BIT(gpc_arch_self()) : 0;

	for (int a = 0; a < GPC_ARCH__COUNT; a++)
		if (gpc_pairs_get(&job->bundles, gpc_arch_names[a]))
			archs |= GPC_ARCH_BIT(a);
	return archs;
}

const char *gpc_bundle_sum_of(const struct gpc_job *job, enum gpc_arch arch)
{
	const char *sum = gpc_pairs_get(&job->bundles, gpc_arch_names[arch]);

	return sum || job->bundles.n || arch != gpc_arch_self() ? sum : job->bundle;
}
