/* Files and descriptors, with every error named and no half-made file. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

void gpc_close(int *fd);                     /* closes if >= 0; sets -1 */
#define gpc_autofd __attribute__((cleanup(gpc_close))) int
/* The same for what was written, before it gets its name: some file systems
 * tell only here that it did not fit. 0 or an errno. */
int gpc_close_written(int *fd);
/* The same for one that stays open. */
int gpc_flush_written(int fd);

/* All descriptors are opened O_CLOEXEC. */
int gpc_open(const char *path, int flags, unsigned mode, int *ret_fd,
	struct gpc_error *err) gpc_must_check;
int gpc_write_all(int fd, const void *data, size_t n, const char *name,
	struct gpc_error *err) gpc_must_check;
int gpc_pwrite_all(int fd, const void *data, size_t n, int64_t offset,
	const char *name, struct gpc_error *err) gpc_must_check;
/* Up to n bytes, fewer only at the end of the file. */
int gpc_read_full(int fd, void *data, size_t n, const char *name,
	size_t *ret_n, struct gpc_error *err) gpc_must_check;
/* Whole file, refused above max bytes. Appends to b. */
int gpc_read_file(const char *path, size_t max, struct gpc_buf *b,
	struct gpc_error *err) gpc_must_check;
int gpc_read_fd(int fd, size_t max, const char *name, struct gpc_buf *b,
	struct gpc_error *err) gpc_must_check;
/* Temporary file beside it, fsync, rename: the old or the new, never half. */
int gpc_write_file(const char *path, const void *data, size_t n, unsigned mode,
	struct gpc_error *err) gpc_must_check;
int gpc_fsync_dir(const char *path, struct gpc_error *err) gpc_must_check;
/* Exclusive advisory lock on a file that is created; released by closing or by
 * death. wait = false: GPC_ECONFLICT when another process holds it. */
int gpc_lock_file(const char *path, bool wait, int *ret_fd,
	struct gpc_error *err) gpc_must_check;
/* For a holder that wants to show that it is at work: renews the file's time,
 * and says whether path still names the file that it holds. */
bool gpc_lock_renew(int fd, const char *path);
/* Milliseconds since the lock was taken or renewed, by the wall clock; -1 when
 * there is no such file. */
int64_t gpc_lock_age_ms(const char *path);
int gpc_set_nonblock(int fd, struct gpc_error *err) gpc_must_check;
int gpc_pipe(int ret_fds[2], struct gpc_error *err) gpc_must_check;
/* Bytes that a read of the pipe would find now; 0 if that cannot be told. */
size_t gpc_pipe_filled(int fd);
/* Lets the kernel begin to write a file's bytes to disk, without waiting: a
 * later fsync finds little left to do. Only a hint. */
void gpc_start_writeback(int fd);
/* Closes every descriptor from this one up; async-signal-safe. */
void gpc_close_from(int fd);
