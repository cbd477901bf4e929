/* Systems other than Linux: the monotonic clock, and no name for a boot, so
 * that nobody takes a process of an earlier boot for one of this.
 */
#include "base/time.h"

#include <time.h>

int64_t gpc_boot_ms(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

const char *gpc_boot_id(char out[64])
{
	out[0] = '\0';
	return out;
}
