/* From a command to a session of the core. */
#pragma once
#include "cmd/command.h"
#include "core/session.h"

enum gpc_cmd_store {
	GPC_STORE_MUST_BE,     /* absent: GPC_ENOTFOUND, which says so */
	GPC_STORE_MAKE,        /* absent: it is made */
	GPC_STORE_MAY_LACK,    /* absent: session->store is NULL; nothing is made */
	GPC_STORE_MAY_BE_KNOWN,/* the same; one that was opened here before need not
	                        * be asked who it is */
	GPC_STORE_UNSEEN,      /* not looked at: session->store is NULL */
	GPC_STORE_MAY_FAIL,    /* as well when it cannot be read but its id is known */
};
/* Opens with the command's configuration. c must outlive the session. */
int gpc_cmd_session(struct gpc_cmd *c, enum gpc_cmd_store how,
	struct gpc_session **ret_s, struct gpc_error *err) gpc_must_check;

/* What the command line's JOB (NULL = none given) means: the job itself, else
 * the one that this process is part of ($GPUCLOUD_JOB_ID), else "@". */
const char *gpc_cmd_job_word(const char *word);
/* The job that this process is part of; NULL = none. Borrowed. */
const char *gpc_cmd_own_job(void);
/* True when this process is part of a job: then no supervisor may be started,
 * since it would end with the node. */
bool gpc_cmd_inside_job(void);
/* gpc_supervisor_ensure, but inside a job; a failure is only warned about,
 * because the next command or the next round tries again. */
void gpc_cmd_ensure_supervisor(struct gpc_cmd *c, struct gpc_session *s);
