/* A file that is sent, read where libcurl is: by position, so that sending it
 * again begins where it should whoever else uses the descriptor. */
#include <errno.h>
#include <unistd.h>

#include "dep/http_parts.h"

int gpc_http_read_body(const struct gpc_body *body, uint64_t position, void *to,
	size_t *n, size_t size, struct gpc_error *err)
{
	uint64_t left = body->size - position;
	size_t want = *n * size;
	ssize_t got;

	want = left < want ? (size_t)left : want;
	*n = 0;
	if (want == 0)
		return 0;
	do {
		got = pread(body->fd, to, want,
			(off_t)(body->offset + (int64_t)position));
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return gpc_fail_sys(err, errno,
			"cannot read what is to be sent");
	if (got == 0)
		return gpc_fail(err, GPC_EPROTO, "what is to be sent has become "
			"shorter: %llu of %llu bytes are there",
			(unsigned long long)position,
			(unsigned long long)body->size);
	*n = (size_t)got;
	return 0;
}
