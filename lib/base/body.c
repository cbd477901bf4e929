/* See body.h. */
#include "base/body.h"

#include <errno.h>
#include <unistd.h>

int gpc_body_read(const struct gpc_body *body, uint64_t at, void *to, size_t n,
	size_t *ret_n, struct gpc_error *err)
{
	uint64_t left = body->size - at;
	ssize_t got = 0;

	if (left < n)
		n = (size_t)left;
	while (n > 0) {
		got = pread(body->fd, to, n, (off_t)(body->offset + (int64_t)at));
		if (got >= 0 || errno != EINTR)
			break;
	}
	if (got < 0)
		return gpc_fail_sys(err, errno,
			"cannot read what is to be sent");
	if (got == 0 && n > 0)
		return gpc_fail(err, GPC_EPROTO, "what is to be sent has become "
			"shorter: %llu of %llu bytes are there",
			(unsigned long long)at, (unsigned long long)body->size);
	*ret_n = (size_t)got;
	return 0;
}
