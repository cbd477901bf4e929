/* Process identity on Linux: field 22 of /proc/PID/stat is the start in clock
 * ticks since boot. The command's name stands in parentheses before it and may
 * hold spaces and parentheses itself, so fields are counted from the last ')'.
 */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/str.h"

enum found { GONE, UNKNOWN, FOUND };

/* The state's letter and the start. UNKNOWN: /proc cannot be read now, as when
 * descriptors have run out. */
static enum found read_stat(pid_t pid, char *ret_state, uint64_t *ret_start)
{
	char path[64], text[1024];
	gpc_autofd fd = -1;
	gpc_autostr *number = NULL;
	struct gpc_str rest, part = {0};
	struct gpc_error err = {0};
	const char *end;
	int64_t start;
	size_t n = 0;

	if (pid <= 0)
		return GONE;
	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	if (gpc_open(path, O_RDONLY, 0, &fd, &err) < 0 ||
		gpc_read_full(fd, text, sizeof(text) - 1, path, &n, &err) < 0)
		return err.sys == ENOENT || err.sys == ESRCH ? GONE : UNKNOWN;
	text[n] = '\0';
	end = strrchr(text, ')');
	if (!end || end[1] != ' ')
		return GONE;
	rest = gpc_str_of(end + 2);
	for (int field = 3; field <= 22; field++) {
		if (!gpc_str_split(&rest, ' ', &part) || part.len == 0)
			return GONE;
		if (field == 3)
			*ret_state = part.ptr[0];
	}
	number = gpc_strndup(part.ptr, part.len);
	if (gpc_parse_i64(number, 0, INT64_MAX, path, &start, NULL) < 0)
		return GONE;
	/* 0 means gone to our callers; only the first process could have it. */
	*ret_start = start ? (uint64_t)start : 1;
	return FOUND;
}

uint64_t gpc_proc_start(pid_t pid)
{
	uint64_t start;
	char state;

	return read_stat(pid, &state, &start) == FOUND ? start : 0;
}

bool gpc_proc_alive(pid_t pid, uint64_t start)
{
	uint64_t now;
	char state;

	switch (read_stat(pid, &state, &now)) {
	case GONE: return false;
	case UNKNOWN: return kill(pid, 0) == 0 || errno == EPERM;
	default: return now == start && state != 'Z' && state != 'X';
	}
}

/* Started by the loader of a bundle (core/bundle.h), which is the running
 * program then: BUNDLE/lib/ld-x. Owned; NULL when it is no bundle. */
static char *bundle_of(const char *exe)
{
	gpc_autostr *lib = NULL, *dir = NULL, *script = NULL;

	if (!gpc_starts_with(gpc_path_base(exe), "ld"))
		return NULL;
	lib = gpc_path_dir(exe);
	dir = gpc_path_dir(lib);
	script = gpc_path_join(dir, "gpucloud");
	return access(script, X_OK) == 0 ? gpc_steal(&script) : NULL;
}

char *gpc_proc_self(void)
{
	char *script;
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return NULL;
	path[n] = '\0';
	script = bundle_of(path);
	return script ? script : gpc_strdup(path);
}
