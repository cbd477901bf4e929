/* What `pull` and `submit --pull` say of what they fetched. */
#pragma once
#include "cmd/command.h"
#include "core/fetch.h"

void gpc_pull_say(struct gpc_cmd *c, const struct gpc_fetched *got,
	const char *job, const char *dir);
