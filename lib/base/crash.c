/* Dying on demand at a named place; only in debug builds, see crash.h. All that
 * is counted is counted in files: the processes that pass the points are many
 * and short-lived. */
#include "base/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/str.h"

#define PASSED_MAX ((size_t)16 << 20)

/* Writes this passing down and counts those of the name up to it. */
static int64_t count_passing(const char *dir, const char *name)
{
	gpc_autostr *path = gpc_path_join(dir, "passed");
	gpc_autostr *line = gpc_format("%s %ld\n", name, (long)getpid());
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_str rest, one, word;
	gpc_autofd fd = -1;
	int64_t n = 0;

	gpc_buf_init(&b, PASSED_MAX);
	if (gpc_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600, &fd, NULL) < 0
		|| gpc_write_all(fd, line, strlen(line), path, NULL) < 0
		|| gpc_read_file(path, PASSED_MAX, &b, NULL) < 0)
		return 0;
	rest = gpc_str_of(gpc_buf_str(&b));
	while (gpc_str_split(&rest, '\n', &one))
		if (gpc_str_split(&one, ' ', &word) && gpc_str_eq(word, name))
			n++;
	return n;
}

/* True for the first who asks. */
static bool is_mine(const char *dir, const char *name)
{
	gpc_autostr *file = gpc_format("%s/%s.died", dir, name);
	gpc_autofd fd = -1;

	return gpc_open(file, O_WRONLY | O_CREAT | O_EXCL, 0600, &fd, NULL) == 0;
}

static void die(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

/* "NAME", "NAME:N", either with "=stop". */
static bool is_armed(struct gpc_str point, const char *name, int64_t passing,
	bool *ret_stop)
{
	gpc_autostr *digits = NULL;
	struct gpc_str rest, word;
	int64_t n = 1;

	if (!gpc_str_split(&point, '=', &rest))
		return false;
	*ret_stop = gpc_str_eq(point, "stop");
	if (!gpc_str_split(&rest, ':', &word) || !gpc_str_eq(word, name))
		return false;
	if (rest.len == 0)
		return true;
	digits = gpc_strndup(rest.ptr, rest.len);
	return gpc_parse_i64(digits, 1, INT64_MAX, name, &n, NULL) == 0
		&& n == passing;
}

void gpc_crash(const char *name)
{
	const char *dir = getenv("GPUCLOUD_CRASH_DIR");
	struct gpc_str rest = gpc_str_of(getenv("GPUCLOUD_CRASH")), point;
	int before = errno;
	int64_t passing = dir ? count_passing(dir, name) : 0;

	while (gpc_str_split(&rest, ',', &point)) {
		bool stop = false;

		if (!is_armed(point, name, passing, &stop)
			|| (dir && !is_mine(dir, name)))
			continue;
		if (!stop)
			die();
		kill(getpid(), SIGSTOP);
	}
	errno = before;
}
