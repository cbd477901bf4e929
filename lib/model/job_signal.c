/* One table for the client that asks and the agent that sends, so that neither
 * knows a signal which the other does not. */
#include "model/job_signal.h"

#include <signal.h>
#include <string.h>

#include "base/str.h"

static const struct { const char *name; int number; }
signals[GPC_JOB_SIGNALS] = {
	{ "HUP", SIGHUP }, { "INT", SIGINT }, { "QUIT", SIGQUIT },
	{ "KILL", SIGKILL }, { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 },
	{ "TERM", SIGTERM }, { "CONT", SIGCONT }, { "STOP", SIGSTOP },
	{ "TSTP", SIGTSTP }, { "ALRM", SIGALRM }, { "ABRT", SIGABRT },
};

int gpc_job_signal(const char *text, const char **ret_name)
{
	const char *bare = gpc_starts_with(text, "SIG") ? text + 3 : text;

	for (size_t i = 0; i < GPC_JOB_SIGNALS; i++) {
		if (!gpc_eq_nocase(bare, signals[i].name))
			continue;
		if (ret_name)
			*ret_name = signals[i].name;
		return signals[i].number;
	}
	return 0;
}

const char *gpc_job_signal_name(size_t i)
{
	return signals[i].name;
}
