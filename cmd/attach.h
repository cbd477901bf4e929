/* Being attached to a job: watching it to its end, and what an interrupt means
 * then. An untethered job runs on; a tethered one is cancelled with us. */
#pragma once
#include "cmd/command.h"
#include "cmd/follow.h"
#include "record/tether.h"

/* The row for an int64_t that gpc_attach_tether then reads. */
#define GPC_OPT_TETHER(ctx, field) \
	GPC_OPT_DURATION(0, "tether", ctx, field, "TIME", \
		"end the job when this client is interrupted or silent for " \
		"TIME; on if CI is set", \
		.implied = "10m", .negatable = true, .min = 1000)

struct gpc_attach {
	struct gpc_follow_options follow;
	struct gpc_tether tether;
	bool existed;               /* somebody else submitted it */
	const char *pull;           /* folder for the artifacts, or NULL */
};
/* Fills the tether: from the option, or by CI when this client is attached and
 * the option was not given. */
int gpc_attach_tether(const struct gpc_cmd *c, int64_t option_ms,
	bool attached, struct gpc_tether *ret_t, struct gpc_error *err)
	gpc_must_check;
/* Of an error that leaves the job as it is: what to do instead of repeating. */
void gpc_attach_hint(const char *job, struct gpc_error *err);
/* Watches to the end and sets c->exit_status. */
int gpc_attach(struct gpc_cmd *c, struct gpc_session *s, const char *job,
	struct gpc_attach *a, struct gpc_error *err) gpc_must_check;
