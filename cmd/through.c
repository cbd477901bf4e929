/* A job's output passes here by plain writes. stdio would keep what it could not
 * write and try again at exit, and then Ctrl-C would hang on a stopped pager.
 */
#include "cmd/through.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

/* Waits until a write will not block; in pieces, so that a signal that came just
 * before is seen. */
static int wait_ready(int fd, const struct gpc_cancel *cancel)
{
	struct pollfd ready = {.fd = fd, .events = POLLOUT};

	do {
		if (gpc_canceled(cancel))
			return -GPC_ECANCELED;
	} while (poll(&ready, 1, 50) <= 0);
	return 0;
}

/* A pipe that is ready takes PIPE_BUF bytes without blocking; a file never
 * blocks, and gets all at once. */
static size_t piece_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? SIZE_MAX : PIPE_BUF;
}

static int pass(int fd, const char *p, size_t n,
	const struct gpc_cancel *cancel, int *ret_sys)
{
	size_t piece = piece_of(fd);

	*ret_sys = 0;
	while (n) {
		int r = piece == SIZE_MAX ? 0 : wait_ready(fd, cancel);
		ssize_t w;

		if (r)
			return r;
		w = write(fd, p, n < piece ? n : piece);
		if (w >= 0) {
			p += w;
			n -= (size_t)w;
		} else if (errno != EINTR && errno != EAGAIN) {
			*ret_sys = errno;
			return -GPC_EIO;
		}
	}
	return 0;
}

int gpc_through_stdout(struct gpc_out *o, const void *data, size_t n,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	int sys;
	int r = gpc_out_finish(o, err);

	if (r)
		return r;
	r = pass(fileno(o->to), data, n, cancel, &sys);
	if (r == -GPC_ECANCELED)
		return gpc_fail(err, GPC_ECANCELED, "interrupted");
	if (!r)
		return 0;
	o->broken = o->broken || sys == EPIPE;
	return gpc_fail_sys(err, sys, "cannot write to stdout");
}

int gpc_through_stderr(const void *data, size_t n,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	int sys;

	if (pass(STDERR_FILENO, data, n, cancel, &sys) == -GPC_ECANCELED)
		return gpc_fail(err, GPC_ECANCELED, "interrupted");
	return 0;
}
