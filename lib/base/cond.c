/* See cond.h. */
#include "base/cond.h"

#include <time.h>

#define NS_PER_MS 1000000L
#define NS_PER_S 1000000000L

bool gpc_cond_wait_ms(pthread_cond_t *cond, pthread_mutex_t *lock, int ms)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * NS_PER_MS;
	if (until.tv_nsec >= NS_PER_S) {
		until.tv_nsec -= NS_PER_S;
		until.tv_sec++;
	}
	return pthread_cond_timedwait(cond, lock, &until) == 0;
}
