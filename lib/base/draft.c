/* See draft.h. */
#include "base/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/rand.h"

#define PREFIX ".gpucloud-"

void gpc_draft_name(char ret_name[GPC_DRAFT_NAME_SIZE])
{
	memcpy(ret_name, PREFIX, sizeof(PREFIX) - 1);
	gpc_rand_base32(ret_name + sizeof(PREFIX) - 1, 16);
}

int gpc_draft_open(struct gpc_draft *d, int dir, unsigned mode)
{
	d->dir = dir;
	d->temp[0] = '\0';
	d->fd = gpc_draft_unnamed(dir, mode);
	if (d->fd >= 0)
		return 0;
	gpc_draft_name(d->temp);
	do
		d->fd = openat(dir, d->temp, O_WRONLY | O_CREAT | O_EXCL |
			O_NOFOLLOW | O_CLOEXEC, (mode_t)mode);
	while (d->fd < 0 && errno == EINTR);
	return d->fd < 0 ? errno : 0;
}

/* A link cannot take the place of a file, so that needs a second name for an
 * instant. */
static int give_name(struct gpc_draft *d, const char *name)
{
	int sys;

	if (!d->temp[0]) {
		sys = gpc_draft_link(d->fd, d->dir, name);
		if (sys != EEXIST)
			return sys;
		gpc_draft_name(d->temp);
		sys = gpc_draft_link(d->fd, d->dir, d->temp);
		if (sys)
			return sys;
	}
	if (renameat(d->dir, d->temp, d->dir, name) < 0)
		return errno;
	d->temp[0] = '\0';
	return 0;
}

int gpc_draft_commit(struct gpc_draft *d, const char *name)
{
	int sys = gpc_flush_written(d->fd);

	if (!sys)
		sys = give_name(d, name);
	gpc_draft_drop(d);
	return sys;
}

void gpc_draft_drop(struct gpc_draft *d)
{
	if (d->fd >= 0 && d->temp[0])
		unlinkat(d->dir, d->temp, 0);
	gpc_close(&d->fd);
}
