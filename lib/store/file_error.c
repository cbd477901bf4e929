/* What a failed call on a folder's files means to whoever uses the store. */
#include "store/file_parts.h"

#include <errno.h>

bool gpc_file_is_forbidden(int sys)
{
	return sys == EACCES || sys == EPERM || sys == EROFS;
}

int gpc_file_fail_at(const struct gpc_store *s, const char *verb,
	const char *key, int sys, struct gpc_error *err)
{
	const char *path = ((struct gpc_file_state *)s->state)->path;

	if (gpc_file_is_forbidden(sys)) {
		struct gpc_error why;

		(void)gpc_fail_sys(&why, sys, "cannot %s %s/%s", verb, path,
			key);
		(void)gpc_fail(err, GPC_EAUTH, "%s", why.msg);
		gpc_hint(err, "make %s writable for this user, or choose "
			"another store", path);
		return -GPC_EAUTH;
	}
	if (sys == ENOTDIR || sys == EISDIR)
		return gpc_fail(err, GPC_EPROTO, "cannot %s %s/%s: a part of "
			"this key is an object, or the key is a folder", verb,
			path, key);
	(void)gpc_fail_sys(err, sys, "cannot %s %s/%s", verb, path, key);
	if (sys == ENOSPC || sys == EDQUOT)
		gpc_hint(err, "free space on the disk that holds %s", path);
	if (sys == EEXIST)
		return -GPC_ECONFLICT;
	if (sys == ENOENT)
		return -GPC_ENOTFOUND;
	return gpc_recode(err, GPC_EIO);
}
