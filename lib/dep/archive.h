/* Pax tar and zstd streams by libarchive, which is opened on first use.
 *
 * Bytes written depend on the content alone: entries carry no owner, time or
 * mode, names are bytes whatever the locale is, and there is one compressing
 * thread; equal bytes are promised for equal library versions. What is read
 * is hostile: only the one expected format is accepted, and the reader never
 * delivers more than it is asked for. Objects are not shared by threads.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

/* Takes compressed bytes in order; non-zero ends the archive with that error. */
typedef int gpc_archive_out_fn(void *arg, const void *data, size_t n,
	struct gpc_error *err);
/* Delivers the next compressed bytes, valid until the next call; *ret_n = 0 at
 * the end. */
typedef int gpc_archive_in_fn(void *arg, const void **ret_data, size_t *ret_n,
	struct gpc_error *err);

struct gpc_archive_writer;                         /* opaque */

/* .tar.zst: begin an entry, write exactly its size, and so on; then finish.
 * binary_names (pax hdrcharset=BINARY) is needed when a path holds more than
 * plain ASCII; without it GNU tar does not warn about an unknown keyword. */
int gpc_tar_writer_new(bool binary_names, gpc_archive_out_fn *out, void *arg,
	struct gpc_archive_writer **ret_w, struct gpc_error *err) gpc_must_check;
/* .tar.gz, for whoever has no zstd. */
int gpc_tar_gz_writer_new(gpc_archive_out_fn *out, void *arg,
	struct gpc_archive_writer **ret_w, struct gpc_error *err) gpc_must_check;
/* A single compressed stream: write, then finish. */
int gpc_zstd_writer_new(gpc_archive_out_fn *out, void *arg,
	struct gpc_archive_writer **ret_w, struct gpc_error *err) gpc_must_check;
/* A regular file of mode 0644, owner 0, time 0. path is bytes, not empty. */
int gpc_archive_begin(struct gpc_archive_writer *w, const char *path,
	uint64_t size, struct gpc_error *err) gpc_must_check;
/* The same of mode 0755. */
int gpc_archive_begin_program(struct gpc_archive_writer *w, const char *path,
	uint64_t size, struct gpc_error *err) gpc_must_check;
int gpc_archive_write(struct gpc_archive_writer *w, const void *data, size_t n,
	struct gpc_error *err) gpc_must_check;
/* Flushes everything to out. Nothing may be written afterwards. */
int gpc_archive_finish(struct gpc_archive_writer *w,
	struct gpc_error *err) gpc_must_check;
void gpc_archive_writer_free(struct gpc_archive_writer *w);
GPC_CLEANUP_POINTER(gpc_archive_writer);

struct gpc_archive_reader;                         /* opaque */

int gpc_tar_reader_new(gpc_archive_in_fn *in, void *arg,
	struct gpc_archive_reader **ret_r, struct gpc_error *err) gpc_must_check;
/* The same of a .tar.gz. */
int gpc_tar_gz_reader_new(gpc_archive_in_fn *in, void *arg,
	struct gpc_archive_reader **ret_r, struct gpc_error *err) gpc_must_check;
int gpc_zstd_reader_new(gpc_archive_in_fn *in, void *arg,
	struct gpc_archive_reader **ret_r, struct gpc_error *err) gpc_must_check;
/* The same of gzip, whose own checksum is not looked at. */
int gpc_gz_reader_new(gpc_archive_in_fn *in, void *arg,
	struct gpc_archive_reader **ret_r, struct gpc_error *err) gpc_must_check;
/* The next entry of a tar: its path, borrowed until the next call, and size.
 * *ret_path = NULL at the end. Anything but a regular file is GPC_EPROTO. */
int gpc_archive_next(struct gpc_archive_reader *r, const char **ret_path,
	uint64_t *ret_size, struct gpc_error *err) gpc_must_check;
/* Up to n bytes of the entry or stream; fewer only at its end. */
int gpc_archive_read(struct gpc_archive_reader *r, void *data, size_t n,
	size_t *ret_n, struct gpc_error *err) gpc_must_check;
void gpc_archive_reader_free(struct gpc_archive_reader *r);
GPC_CLEANUP_POINTER(gpc_archive_reader);
