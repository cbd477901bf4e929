/* What a job asks of its own agent, without the store: the job has no credentials
 * for it. GPUCLOUD_AGENT names a FIFO in the node's folder; a line asks, and a file
 * beside it, PATH.TOKEN, answers. */
#pragma once
#include <stdint.h>

#include "base/cancel.h"
#include "base/err.h"

#define GPC_ASK_ENV "GPUCLOUD_AGENT"

/* --- the job's half -------------------------------------------------------- */
/* Asks for a checkpoint and waits until it is kept; timeout_ms 0 = for ever.
 * GPC_ENOTFOUND: there is no agent at this path, and nothing was asked. */
int gpc_ask_save(const char *path, const char *label, int64_t timeout_ms,
	const struct gpc_cancel *cancel, char ret_id[64], struct gpc_error *err)
	gpc_must_check;

/* --- the agent's half ------------------------------------------------------ */
struct gpc_agent;
/* Makes the FIFO; a node that cannot have one does without. */
void gpc_ask_open(struct gpc_agent *a);
/* Takes what was asked by now. */
void gpc_ask_take(struct gpc_agent *a);
/* err: why not; NULL = id was saved. */
void gpc_ask_answer(struct gpc_agent *a, const char *token, const char *id,
	const struct gpc_error *err);
void gpc_ask_close(struct gpc_agent *a);
