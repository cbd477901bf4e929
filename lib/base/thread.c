/* See thread.h. A thread inherits the mask of the one that starts it. */
#include "base/thread.h"

#include <signal.h>

int gpc_thread_start(pthread_t *ret_thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	int sys;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	sys = pthread_create(ret_thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return sys;
}
