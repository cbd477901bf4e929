/* The signals that may be sent to a job, by the names of users and events. */
#pragma once
#include <stddef.h>

enum { GPC_JOB_SIGNALS = 12 };
/* The number of "TERM" or "SIGTERM" ("SIG" as it is, the rest in any letter
 * case); 0 when it is none of
 * them. *ret_name (may be NULL): its name in the table, "TERM". */
int gpc_job_signal(const char *text, const char **ret_name);
/* The names by index, below GPC_JOB_SIGNALS. */
const char *gpc_job_signal_name(size_t i);
