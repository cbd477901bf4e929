/* Reading what may never come. Whoever waits for the writer of a pipe inside
 * open() or read() cannot be told to stop: a signal that arrives right before
 * the call is lost on it. So pipes are opened without waiting, and each read
 * comes after a poll that ends often enough to look at the token.
 */
#include "cmd/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

enum { LOOK_MS = 100, STEP = 65536 };

static int next_bytes(int fd, void *to, size_t n, const char *name,
	const struct gpc_cancel *cancel, size_t *ret_n, struct gpc_error *err)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t k;

		if (gpc_canceled(cancel))
			return gpc_fail(err, GPC_ECANCELED,
				"interrupted while waiting for %s", name);
		if (poll(&p, 1, LOOK_MS) <= 0)
			continue;
		k = read(fd, to, n);
		if (k >= 0) {
			*ret_n = (size_t)k;
			return 0;
		}
		if (errno != EINTR && errno != EAGAIN)
			return gpc_fail_sys(err, errno, "cannot read %s", name);
	}
}

static int read_stream(int fd, size_t max, const char *name,
	const struct gpc_cancel *cancel, struct gpc_buf *b,
	struct gpc_error *err)
{
	size_t total = 0, got = 0;

	do {
		char *to = gpc_buf_reserve(b, STEP);
		int r = to ? next_bytes(fd, to, STEP, name, cancel, &got, err) :
			gpc_wrap(err, gpc_buf_check(b, err), "%s", name);

		if (r < 0)
			return r;
		total += got;
		if (total > max)
			return gpc_fail(err, GPC_EPROTO, "%s is larger than %zu "
				"bytes, the most allowed here", name, max);
		b->len += got;
	} while (got > 0);
	gpc_buf_str(b);
	return 0;
}

int gpc_input_read(const char *word, size_t max,
	const struct gpc_cancel *cancel, struct gpc_buf *b,
	struct gpc_error *err)
{
	bool is_stdin = gpc_eq(word, "-");
	gpc_autofd own = -1;
	struct stat st;
	int fd = STDIN_FILENO;

	if (!*word) {
		(void)gpc_fail(err, GPC_EUSAGE, "the name of the file to read is "
			"empty");
		gpc_hint(err, "in a script: is its variable set?");
		return -GPC_EUSAGE;
	}
	if (!is_stdin) {
		int r = gpc_open(word, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0,
			&own, err);

		if (r < 0)
			return r;
		fd = own;
	}
	word = is_stdin ? "<stdin>" : word;
	if (fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return gpc_read_fd(fd, max, word, b, err);
	return read_stream(fd, max, word, cancel, b, err);
}
