/* The one file that knows libarchive. Why libarchive and not libzstd alone: its
 * pax writer keeps any name, and what it writes is read by every tar.
 *
 * Format and filter are set, never guessed: a chunk of a .zst file is itself
 * zstd, and a reader that detects filters would unpack it twice. A libarchive
 * built without zstd would run an external program; it is refused.
 */
#include "dep/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <string.h>
#include <sys/stat.h>

#include "dep/dl.h"

#define FUNCTIONS(X) \
	X(archive_error_string) \
	X(archive_entry_new) \
	X(archive_entry_clear) \
	X(archive_entry_free) \
	X(archive_entry_copy_pathname) \
	X(archive_entry_set_filetype) \
	X(archive_entry_set_perm) \
	X(archive_entry_set_size) \
	X(archive_entry_set_mtime) \
	X(archive_entry_pathname) \
	X(archive_entry_filetype) \
	X(archive_entry_hardlink) \
	X(archive_entry_size) \
	X(archive_entry_size_is_set) \
	X(archive_write_new) \
	X(archive_write_free) \
	X(archive_write_close) \
	X(archive_write_add_filter_gzip) \
	X(archive_write_add_filter_zstd) \
	X(archive_write_set_format_pax_restricted) \
	X(archive_write_set_format_raw) \
	X(archive_write_set_bytes_per_block) \
	X(archive_write_set_bytes_in_last_block) \
	X(archive_write_set_options) \
	X(archive_write_open) \
	X(archive_write_header) \
	X(archive_write_data) \
	X(archive_read_new) \
	X(archive_read_free) \
	X(archive_read_append_filter) \
	X(archive_read_set_format) \
	X(archive_read_open) \
	X(archive_read_set_options) \
	X(archive_read_next_header) \
	X(archive_read_data)

GPC_DL_TABLE(FUNCTIONS, GPC_DL_NONE);

static struct gpc_dl dl = GPC_DL_INIT("libarchive", "libarchive13",
	symbols, &lib, "libarchive.so.13", "libarchive.13.dylib");

/* Options of the formats; the values of "hdrcharset" and "compression-level"
 * are part of the promise that equal content gives equal blobs. */
#define ZSTD_OPTIONS "zstd:compression-level=3"
#define BINARY_OPTIONS "pax:hdrcharset=BINARY," ZSTD_OPTIONS
#define GZIP_OPTIONS "gzip:compression-level=9,gzip:!timestamp"

struct gpc_archive_writer {
	struct archive *a;
	struct archive_entry *entry;
	gpc_archive_out_fn *out;
	void *arg;
	int r;                  /* of a failed out */
	struct gpc_error err;
};

struct gpc_archive_reader {
	struct archive *a;
	gpc_archive_in_fn *in;
	void *arg;
	bool empty;             /* in never delivered a byte */
	uint64_t left;          /* of what the entry announced */
	int r;
	struct gpc_error err;
};

/* What the callback said, else what libarchive says. */
static int fail_archive(struct archive *a, int r, const struct gpc_error *why,
	enum gpc_code code, struct gpc_error *err)
{
	const char *text;

	if (r < 0) {
		if (err)
			*err = *why;
		return r;
	}
	text = a ? lib.archive_error_string(a) : NULL;
	return gpc_fail(err, code, "libarchive: %s",
		text ? text : "out of memory");
}

static int fail_write(struct gpc_archive_writer *w, struct gpc_error *err)
{
	return fail_archive(w->a, w->r, &w->err, GPC_EIO, err);
}

static int fail_read(struct gpc_archive_reader *r, struct gpc_error *err)
{
	return fail_archive(r->a, r->r, &r->err, GPC_EPROTO, err);
}

/* Never fails: libarchive leaks what it cannot close. Every caller looks at
 * w->r instead. */
static la_ssize_t on_write(struct archive *a, void *arg, const void *data,
	size_t n)
{
	struct gpc_archive_writer *w = arg;

	(void)a;
	if (w->r == 0)
		w->r = w->out(w->arg, data, n, &w->err);
	return (la_ssize_t)n;
}

static int no_filter(struct gpc_error *err)
{
	return gpc_fail(err, GPC_EUNSUPPORTED,
		"this libarchive was built without zstd or gzip");
}

/* Setters of libarchive. */
typedef int setter(struct archive *a);

static int open_writer(struct gpc_archive_writer *w, setter *filter,
	setter *format, const char *options, struct gpc_error *err)
{
	if (!w->a)
		return fail_write(w, err);
	if (filter(w->a) != ARCHIVE_OK)
		return no_filter(err);
	/* No blocks: nothing is padded at the end. */
	if (format(w->a) != ARCHIVE_OK
		|| lib.archive_write_set_options(w->a, options) != ARCHIVE_OK
		|| lib.archive_write_set_bytes_per_block(w->a, 0) != ARCHIVE_OK
		|| lib.archive_write_set_bytes_in_last_block(w->a, 1)
			!= ARCHIVE_OK
		|| lib.archive_write_open(w->a, w, NULL, on_write, NULL)
			!= ARCHIVE_OK)
		return fail_write(w, err);
	w->entry = lib.archive_entry_new();
	return w->entry ? 0 : fail_write(w, err);
}

static struct gpc_archive_writer *new_writer(gpc_archive_out_fn *out, void *arg)
{
	struct gpc_archive_writer *w = gpc_alloc(sizeof(*w));

	w->out = out;
	w->arg = arg;
	w->a = lib.archive_write_new();
	return w;
}

static int new_tar(setter *filter, const char *options,
	gpc_archive_out_fn *out, void *arg, struct gpc_archive_writer **ret_w,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_archive_writer) *w = new_writer(out, arg);
	int r = open_writer(w, filter,
		lib.archive_write_set_format_pax_restricted, options, err);

	if (r == 0)
		*ret_w = gpc_steal(&w);
	return r;
}

int gpc_tar_writer_new(bool binary_names, gpc_archive_out_fn *out, void *arg,
	struct gpc_archive_writer **ret_w, struct gpc_error *err)
{
	int r = gpc_dl_open(&dl, err);

	return r < 0 ? r : new_tar(lib.archive_write_add_filter_zstd,
		binary_names ? BINARY_OPTIONS : ZSTD_OPTIONS, out, arg, ret_w,
		err);
}

int gpc_tar_gz_writer_new(gpc_archive_out_fn *out, void *arg,
	struct gpc_archive_writer **ret_w, struct gpc_error *err)
{
	int r = gpc_dl_open(&dl, err);

	return r < 0 ? r : new_tar(lib.archive_write_add_filter_gzip,
		GZIP_OPTIONS, out, arg, ret_w, err);
}

int gpc_zstd_writer_new(gpc_archive_out_fn *out, void *arg,
	struct gpc_archive_writer **ret_w, struct gpc_error *err)
{
	gpc_autoptr(gpc_archive_writer) *w = NULL;
	int r = gpc_dl_open(&dl, err);

	if (r < 0)
		return r;
	w = new_writer(out, arg);
	r = open_writer(w, lib.archive_write_add_filter_zstd,
		lib.archive_write_set_format_raw, ZSTD_OPTIONS, err);
	if (r < 0)
		return r;
	lib.archive_entry_set_filetype(w->entry, AE_IFREG);
	if (lib.archive_write_header(w->a, w->entry) != ARCHIVE_OK)
		return fail_write(w, err);
	*ret_w = gpc_steal(&w);
	return 0;
}

static int begin(struct gpc_archive_writer *w, const char *path, uint64_t size,
	unsigned mode, struct gpc_error *err)
{
	lib.archive_entry_clear(w->entry);
	lib.archive_entry_copy_pathname(w->entry, path);
	lib.archive_entry_set_filetype(w->entry, AE_IFREG);
	lib.archive_entry_set_perm(w->entry, mode);
	lib.archive_entry_set_mtime(w->entry, 0, 0);
	lib.archive_entry_set_size(w->entry, (la_int64_t)size);
	if (lib.archive_write_header(w->a, w->entry) != ARCHIVE_OK || w->r < 0)
		return fail_write(w, err);
	return 0;
}

int gpc_archive_begin(struct gpc_archive_writer *w, const char *path,
	uint64_t size, struct gpc_error *err)
{
	return begin(w, path, size, 0644, err);
}

int gpc_archive_begin_program(struct gpc_archive_writer *w, const char *path,
	uint64_t size, struct gpc_error *err)
{
	return begin(w, path, size, 0755, err);
}

int gpc_archive_write(struct gpc_archive_writer *w, const void *data, size_t n,
	struct gpc_error *err)
{
	const char *p = data;

	while (n > 0) {
		la_ssize_t done = lib.archive_write_data(w->a, p, n);

		if (done < 0 || w->r < 0)
			return fail_write(w, err);
		if (done == 0)
			return gpc_fail(err, GPC_EIO,
				"more bytes than the archive's entry holds");
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

int gpc_archive_finish(struct gpc_archive_writer *w, struct gpc_error *err)
{
	if (lib.archive_write_close(w->a) != ARCHIVE_OK || w->r < 0)
		return fail_write(w, err);
	return 0;
}

void gpc_archive_writer_free(struct gpc_archive_writer *w)
{
	if (!w)
		return;
	lib.archive_entry_free(w->entry);
	/* Freeing flushes; nobody wants the bytes of an unfinished archive. */
	if (w->r == 0)
		w->r = -GPC_ECANCELED;
	lib.archive_write_free(w->a);
	free(w);
}

static la_ssize_t on_read(struct archive *a, void *arg, const void **ret_data)
{
	struct gpc_archive_reader *r = arg;
	size_t n = 0;

	(void)a;
	if (r->r == 0)
		r->r = r->in(r->arg, ret_data, &n, &r->err);
	r->empty = r->empty && n == 0;
	return r->r < 0 ? -1 : (la_ssize_t)n;
}

static int open_reader(struct gpc_archive_reader *r, int filter, int format,
	struct gpc_error *err)
{
	if (!r->a)
		return fail_read(r, err);
	if (lib.archive_read_append_filter(r->a, filter) != ARCHIVE_OK)
		return no_filter(err);
	/* Files named ._x are files, also where the system has other ideas. */
	if (lib.archive_read_set_format(r->a, format) != ARCHIVE_OK
		|| (format == ARCHIVE_FORMAT_TAR && lib.archive_read_set_options(
			r->a, "tar:!mac-ext") != ARCHIVE_OK)
		|| lib.archive_read_open(r->a, r, NULL, on_read, NULL)
			!= ARCHIVE_OK)
		return fail_read(r, err);
	return 0;
}

static int new_reader(gpc_archive_in_fn *in, void *arg, int filter, int format,
	struct gpc_archive_reader **ret_r, struct gpc_error *err)
{
	gpc_autoptr(gpc_archive_reader) *r = NULL;
	int result = gpc_dl_open(&dl, err);

	if (result < 0)
		return result;
	r = gpc_alloc(sizeof(*r));
	r->in = in;
	r->arg = arg;
	r->empty = true;
	r->a = lib.archive_read_new();
	result = open_reader(r, filter, format, err);
	if (result == 0)
		*ret_r = gpc_steal(&r);
	return result;
}

int gpc_tar_reader_new(gpc_archive_in_fn *in, void *arg,
	struct gpc_archive_reader **ret_r, struct gpc_error *err)
{
	return new_reader(in, arg, ARCHIVE_FILTER_ZSTD, ARCHIVE_FORMAT_TAR, ret_r,
		err);
}

int gpc_tar_gz_reader_new(gpc_archive_in_fn *in, void *arg,
	struct gpc_archive_reader **ret_r, struct gpc_error *err)
{
	return new_reader(in, arg, ARCHIVE_FILTER_GZIP, ARCHIVE_FORMAT_TAR, ret_r,
		err);
}

static int new_stream(gpc_archive_in_fn *in, void *arg, int filter,
	struct gpc_archive_reader **ret_r, struct gpc_error *err)
{
	gpc_autoptr(gpc_archive_reader) *r = NULL;
	struct archive_entry *entry;
	int result = new_reader(in, arg, filter, ARCHIVE_FORMAT_RAW, &r, err);

	if (result < 0)
		return result;
	if (lib.archive_read_next_header(r->a, &entry) != ARCHIVE_OK)
		return fail_read(r, err);
	r->left = UINT64_MAX;
	*ret_r = gpc_steal(&r);
	return 0;
}

int gpc_zstd_reader_new(gpc_archive_in_fn *in, void *arg,
	struct gpc_archive_reader **ret_r, struct gpc_error *err)
{
	return new_stream(in, arg, ARCHIVE_FILTER_ZSTD, ret_r, err);
}

int gpc_gz_reader_new(gpc_archive_in_fn *in, void *arg,
	struct gpc_archive_reader **ret_r, struct gpc_error *err)
{
	return new_stream(in, arg, ARCHIVE_FILTER_GZIP, ret_r, err);
}

int gpc_archive_next(struct gpc_archive_reader *r, const char **ret_path,
	uint64_t *ret_size, struct gpc_error *err)
{
	struct archive_entry *entry;
	int result = lib.archive_read_next_header(r->a, &entry);
	const char *path;

	if (result == ARCHIVE_EOF) {
		*ret_path = NULL;
		*ret_size = 0;
		return 0;
	}
	if (result != ARCHIVE_OK)
		return fail_read(r, err);
	path = lib.archive_entry_pathname(entry);
	if (!path || lib.archive_entry_filetype(entry) != AE_IFREG
		|| lib.archive_entry_hardlink(entry)
		|| !lib.archive_entry_size_is_set(entry)
		|| lib.archive_entry_size(entry) < 0)
		return gpc_fail(err, GPC_EPROTO,
			"the archive holds an entry that is not a plain file");
	*ret_path = path;
	*ret_size = r->left = (uint64_t)lib.archive_entry_size(entry);
	return 0;
}

int gpc_archive_read(struct gpc_archive_reader *r, void *data, size_t n,
	size_t *ret_n, struct gpc_error *err)
{
	char *p = data;
	size_t done = 0;

	while (done < n) {
		la_ssize_t got = lib.archive_read_data(r->a, p + done, n - done);

		if (got < 0)
			return fail_read(r, err);
		if (got == 0)
			break;
		done += (size_t)got;
	}
	if (r->empty)
		return gpc_fail(err, GPC_EPROTO, "the compressed stream is empty");
	/* An entry that claims to be sparse may hold more than its size. */
	if (done > r->left)
		return gpc_fail(err, GPC_EPROTO,
			"the archive holds an entry that is not a plain file");
	r->left -= done;
	*ret_n = done;
	return 0;
}

void gpc_archive_reader_free(struct gpc_archive_reader *r)
{
	if (!r)
		return;
	lib.archive_read_free(r->a);
	free(r);
}
