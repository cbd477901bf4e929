/* The only global that changes: the signal that asked us to stop. Handlers set
 * it and do nothing else; whoever works looks at the token between two steps.
 */
#include "cmd/interrupt.h"

#include <stddef.h>

static struct gpc_cancel token;

static void note(int signal)
{
	if (!token.signal)
		token.signal = signal;
}

static void install(int signal, int flags)
{
	struct sigaction action = {.sa_handler = note, .sa_flags = flags};
	struct sigaction old;

	sigemptyset(&action.sa_mask);
	/* nohup and background jobs of a shell without job control */
	if (sigaction(signal, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
		return;
	sigaction(signal, &action, NULL);
}

const struct gpc_cancel *gpc_signals_install(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigemptyset(&ignore.sa_mask);
	sigaction(SIGPIPE, &ignore, NULL);
	/* a file that may not grow is an error like others */
	sigaction(SIGXFSZ, &ignore, NULL);
	install(SIGINT, (int)SA_RESETHAND);
	install(SIGTERM, 0);
	install(SIGHUP, 0);
	return &token;
}

void gpc_signals_forget(void)
{
	token.signal = 0;
}

void gpc_signals_restore(void)
{
	static const int signals[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = SIG_DFL};
	struct sigaction old;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		/* ours to reset, except what was ignored before we came */
		if (signals[i] != SIGPIPE &&
			sigaction(signals[i], NULL, &old) == 0 &&
			old.sa_handler == SIG_IGN)
			continue;
		sigaction(signals[i], &action, NULL);
	}
}
