/* What surrounds each call of libcurl. OpenSSL writes to sockets that the other
 * side may have closed, which raises SIGPIPE; and the threads in which names are
 * resolved inherit the mask of signals, so that none takes a signal that is meant
 * to wake us. */
#include <pthread.h>

#include "dep/http_parts.h"

void gpc_http_quiet_begin(struct gpc_http_quiet *q)
{
	static const int ours[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT,
		SIGTRAP, SIGSYS};
	sigset_t all, pending;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		sigdelset(&all, ours[i]);
	sigemptyset(&q->pipe);
	sigaddset(&q->pipe, SIGPIPE);
	sigemptyset(&pending);
	pthread_sigmask(SIG_BLOCK, &all, &q->before);
	sigpending(&pending);
	q->pending = sigismember(&pending, SIGPIPE) == 1;
}

void gpc_http_quiet_end(struct gpc_http_quiet *q)
{
	sigset_t pending;
	int ignored;

	sigemptyset(&pending);
	sigpending(&pending);
	if (!q->pending && sigismember(&pending, SIGPIPE) == 1)
		(void)sigwait(&q->pipe, &ignored);
	pthread_sigmask(SIG_SETMASK, &q->before, NULL);
}
