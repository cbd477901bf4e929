/* Paths as text, and the XDG places. Nothing here follows a symbolic link or
 * asks whether a path exists; only gpc_path_absolute reads the current folder,
 * and only for a relative path.
 */
#include "base/path.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"

char *gpc_path_join(const char *a, const char *b)
{
	size_t n = strlen(a);

	if (b[0] == '/' || n == 0)
		return gpc_strdup(b);
	if (b[0] == '\0')
		return gpc_strdup(a);
	return gpc_format("%s%s%s", a, a[n - 1] == '/' ? "" : "/", b);
}

const char *gpc_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *gpc_path_dir(const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	while (n > 0 && path[n - 1] != '/')
		n--;
	if (n == 0)
		return gpc_strdup(".");
	while (n > 1 && path[n - 1] == '/')
		n--;
	return gpc_strndup(path, n);
}

static int current_folder(struct gpc_buf *b, struct gpc_error *err)
{
	size_t size = 512;

	for (;; size *= 2) {
		gpc_autostr *path = gpc_array(size, 1);

		if (getcwd(path, size)) {
			gpc_buf_adds(b, path);
			return 0;
		}
		if (errno == ERANGE)
			continue;
		if (errno != ENOENT)
			return gpc_fail_sys(err, errno,
				"cannot tell the current folder");
		gpc_fail(err, GPC_ENOTFOUND,
			"the current folder has been deleted");
		gpc_hint(err, "change to a folder that exists, then repeat");
		return -GPC_ENOTFOUND;
	}
}

/* Resolves `.`, `..` and doubled slashes of an absolute path. */
static char *clean(const char *path)
{
	struct gpc_str rest = gpc_str_of(path), part;
	char *out = gpc_array(strlen(path) + 2, 1);
	size_t n = 0;

	while (gpc_str_split(&rest, '/', &part)) {
		if (part.len == 0 || gpc_str_eq(part, "."))
			continue;
		if (gpc_str_eq(part, "..")) {
			while (n > 0 && out[n - 1] != '/')
				n--;
			n -= n > 0;
			continue;
		}
		out[n++] = '/';
		memcpy(out + n, part.ptr, part.len);
		n += part.len;
	}
	if (n == 0)
		out[n++] = '/';
	out[n] = '\0';
	return out;
}

int gpc_path_absolute(const char *path, char **ret_path, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf full = {0};
	int r = 0;

	if (path[0] == '\0')
		return gpc_fail(err, GPC_EUSAGE, "a path is empty");
	if (path[0] == '~' && (path[1] == '/' || path[1] == '\0')) {
		gpc_autostr *home = NULL;

		r = gpc_home(&home, err);
		if (r < 0)
			return gpc_wrap(err, r, "%s", path);
		gpc_buf_adds(&full, home);
		path++;
	} else if (path[0] != '/') {
		r = current_folder(&full, err);
		if (r < 0)
			return gpc_wrap(err, r, "%s", path);
		gpc_buf_addc(&full, '/');
	}
	gpc_buf_adds(&full, path);
	r = gpc_buf_check(&full, err);
	if (r == 0)
		*ret_path = clean(gpc_buf_str(&full));
	return r;
}

bool gpc_path_is_inside(const char *relative)
{
	struct gpc_str rest = gpc_str_of(relative), part;

	while (gpc_str_split(&rest, '/', &part))
		if (part.len == 0 || gpc_str_eq(part, ".") ||
			gpc_str_eq(part, ".."))
			return false;
	return true;
}

bool gpc_path_contains(const char *a, const char *b)
{
	size_t n = strlen(a);

	if (strncmp(a, b, n) != 0)
		return false;
	return b[n] == '\0' || b[n] == '/' || (n > 0 && a[n - 1] == '/');
}

int gpc_home(char **ret_path, struct gpc_error *err)
{
	const char *home = getenv("HOME");
	gpc_autostr *room = NULL;
	struct passwd entry, *found = NULL;
	size_t size = 1024;
	int sys;

	if (home && home[0] == '/') {
		*ret_path = gpc_strdup(home);
		return 0;
	}
	do {
		size *= 2;
		room = gpc_grow(room, size, 1);
		sys = getpwuid_r(getuid(), &entry, room, size, &found);
	} while (sys == EINTR || (sys == ERANGE && size < 1u << 20));
	if (!found || !found->pw_dir || found->pw_dir[0] != '/') {
		gpc_fail(err, GPC_ECONFIG, "HOME is not set, and the password "
			"database has no home folder for user %ld",
			(long)getuid());
		gpc_hint(err, "set HOME to a folder that you can write to");
		return -GPC_ECONFIG;
	}
	*ret_path = gpc_strdup(found->pw_dir);
	return 0;
}

int gpc_xdg(enum gpc_xdg which, const char *below, char **ret_path,
	struct gpc_error *err)
{
	static const struct { const char *variable, *fallback; } places[] = {
		[GPC_XDG_CONFIG] = {"XDG_CONFIG_HOME", ".config"},
		[GPC_XDG_DATA] = {"XDG_DATA_HOME", ".local/share"},
		[GPC_XDG_STATE] = {"XDG_STATE_HOME", ".local/state"},
		[GPC_XDG_CACHE] = {"XDG_CACHE_HOME", ".cache"},
	};
	const char *base = getenv(places[which].variable);
	gpc_autostr *home = NULL, *root = NULL, *ours = NULL;

	if (base && base[0] == '/') {
		root = gpc_strdup(base);
	} else {
		int r = gpc_home(&home, err);

		if (r < 0)
			return r;
		root = gpc_path_join(home, places[which].fallback);
	}
	ours = gpc_path_join(root, "gpucloud");
	*ret_path = gpc_path_join(ours, below ? below : "");
	return 0;
}
