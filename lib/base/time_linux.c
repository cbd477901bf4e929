/* What only Linux tells of a boot: a clock that also counts time spent
 * suspended, and an id that changes with each boot.
 */
#define _GNU_SOURCE
#include "base/time.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

int64_t gpc_boot_ms(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

const char *gpc_boot_id(char out[64])
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	gpc_autofd fd = -1;
	size_t n = 0;

	/* n stays 0 when reading fails, whatever is in out by then. */
	if (gpc_open(path, O_RDONLY, 0, &fd, NULL) == 0 &&
		gpc_read_full(fd, out, 63, path, &n, NULL) < 0)
		n = 0;
	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
	if (strlen(out) != 36)
		out[0] = '\0';
	return out;
}
