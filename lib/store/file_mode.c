/* Who may do what in a store that is a folder. One that gpucloud made is its maker's
 * alone. A folder that somebody made writable for a group and setgid is a group's
 * store: everything below gets the group's rights and what others have at its root,
 * whatever the umask of who writes. Secrets are their writer's in any case; their
 * folder is sticky there, so that each may put and delete his own.
 */
#define _DEFAULT_SOURCE           /* S_ISVTX */
#include "store/file_parts.h"

#include <sys/stat.h>

#include "base/str.h"

bool gpc_file_is_secret(const char *key)
{
	return gpc_starts_with(key, "secrets/");
}

unsigned gpc_file_share_of(unsigned root_mode)
{
	if (!(root_mode & S_ISGID) || !(root_mode & S_IWGRP))
		return 0;
	return S_ISGID | S_IRWXU | S_IRWXG | (root_mode & S_IRWXO);
}

unsigned gpc_file_mode(const struct gpc_file_state *f, const char *key)
{
	if (gpc_file_is_secret(key))
		return 0600;
	return f->share ? 0640 | (f->share & S_IROTH) : 0666;
}

unsigned gpc_file_folder_mode(const struct gpc_file_state *f, const char *key)
{
	if (!gpc_file_is_secret(key))
		return f->share ? f->share : 0777;
	if (!f->share)
		return 0700;
	/* Whoever may not write there has no business in it. */
	return S_ISVTX | (f->share & S_IWOTH ? f->share :
		f->share & ~(unsigned)S_IRWXO);
}
