/* Opening a folder as a store, and what is wrong with a path that cannot be one.
 * Everything goes through one descriptor of it, so that a store that is deleted
 * under us is an error and not a new empty store.
 */
#include "store/file_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/str.h"
#include "store/file_watch.h"

/* No folder can be there, whoever asks: what was configured is wrong. */
static bool is_bad_path(int sys)
{
	return sys == ENOTDIR || sys == EEXIST || sys == ELOOP ||
		sys == ENAMETOOLONG || sys == EINVAL;
}

static int fail_path(const char *where, int sys, struct gpc_error *err)
{
	struct stat st;
	bool file = stat(where, &st) == 0 && !S_ISDIR(st.st_mode);
	char why[128];

	if (strerror_r(sys, why, sizeof(why)) != 0)
		why[0] = '\0';
	(void)gpc_fail(err, GPC_ECONFIG, "the store cannot be %s: %s", where,
		file ? "it is no folder" : sys == ENOTDIR || sys == EEXIST ?
		"what stands above it is no folder" : sys == ENOENT ?
		"no folder can be made there" : why);
	gpc_hint(err, "name a folder: --store, GPUCLOUD_STORE, or `gpucloud "
		"config set store PATH`");
	return -GPC_ECONFIG;
}

static int make(const struct gpc_store *s, const char *where,
	struct gpc_error *err)
{
	struct gpc_error why = {0};
	int r = gpc_mkdirs(where, 0700, &why);

	if (r == 0)
		return 0;
	/* A parent that takes no folders, such as /proc, says so by ENOENT. */
	if (r == -GPC_ECONFLICT || is_bad_path(why.sys) || why.sys == ENOENT)
		return fail_path(where, r == -GPC_ECONFLICT ? EEXIST : why.sys,
			err);
	if (gpc_file_is_forbidden(why.sys))
		gpc_hint(&why, "make the folder above it writable for this "
			"user, or choose another store");
	if (err)
		*err = why;
	return gpc_wrap(err, r, "store %s", s->url);
}

static int open_root(const char *where, int *ret_fd, struct gpc_error *err)
{
	int sys, r;

	*ret_fd = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd >= 0)
		return 0;
	sys = errno;
	if (is_bad_path(sys))
		return fail_path(where, sys, err);
	r = gpc_fail_sys(err, sys, "cannot open the store folder %s", where);
	if (sys == ENOENT)
		gpc_hint(err, "the first `gpucloud submit` makes it");
	if (gpc_file_is_forbidden(sys))
		gpc_hint(err, "check its permissions; " GPC_FILE_HOW_TO_SHARE);
	return r;
}

int gpc_file_open(struct gpc_store *s, const char *where, unsigned flags,
	struct gpc_error *err)
{
	struct gpc_file_state *f = s->state;
	struct stat st;
	int fd = -1, r = 0;

	if (flags & GPC_STORE_CREATE)
		r = make(s, where, err);
	if (r == 0)
		r = open_root(where, &fd, err);
	if (r < 0)
		return r;
	f->root = fd;
	if (fstat(fd, &st) == 0)
		f->share = gpc_file_share_of(st.st_mode);
	f->path = gpc_strdup(where);
	f->watch = gpc_file_watch_new();
	s->caps = GPC_STORE_IF_ABSENT | GPC_STORE_APPEND | GPC_STORE_LOCAL;
	return 0;
}
