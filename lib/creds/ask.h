/* Questions to a person; not for other rooms. */
#pragma once
#include "creds/creds.h"

/* By settings->ask, else at the terminal. GPC_EAUTH where nobody may or can be
 * asked. The answer is one line, never empty, owned. */
int gpc_creds_ask(const struct gpc_creds_settings *settings,
	const char *question, char **ret_answer, struct gpc_error *err)
	gpc_must_check;
