/* What a failed call on a folder's files means to whoever uses the store. */
#include "store/file_parts.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

bool gpc_file_is_forbidden(int sys)
{
	return sys == EACCES || sys == EPERM || sys == EROFS;
}

/* Whose the folder is that keeps us out: the store's, or that of its secrets. */
static bool is_anothers(const struct gpc_file_state *f, const char *key)
{
	struct stat st;

	return ((gpc_file_is_secret(key) &&
		fstatat(f->root, "secrets", &st, 0) == 0) ||
		fstat(f->root, &st) == 0) && st.st_uid != geteuid();
}

static void hint_forbidden(const struct gpc_file_state *f, const char *key,
	struct gpc_error *err)
{
	if (f->share && gpc_file_is_secret(key))
		gpc_hint(err, "a secret is for the user who put it; if the "
			"folder %s/secrets keeps members of the group out, "
			"its owner gives it mode %o", f->path,
			gpc_file_folder_mode(f, key));
	else if (f->share)
		gpc_hint(err, "only members of the folder's group may write "
			"there: ls -ld %s", f->path);
	else if (is_anothers(f, key))
		gpc_hint(err, "%s is another user's: " GPC_FILE_HOW_TO_SHARE,
			f->path);
	else
		gpc_hint(err, "make %s writable for this user, or choose "
			"another store", f->path);
}

int gpc_file_fail_at(const struct gpc_store *s, const char *verb,
	const char *key, int sys, struct gpc_error *err)
{
	const struct gpc_file_state *f = s->state;
	const char *path = f->path;

	if (gpc_file_is_forbidden(sys)) {
		struct gpc_error why;

		(void)gpc_fail_sys(&why, sys, "cannot %s %s/%s", verb, path,
			key);
		(void)gpc_fail(err, GPC_EAUTH, "%s", why.msg);
		if (err)
			err->sys = sys;
		hint_forbidden(f, key, err);
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
