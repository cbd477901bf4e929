/* Whether a checkpoint can be gone on from, and what to do when it cannot. */
#pragma once
#include <stdbool.h>

#include "base/cancel.h"
#include "store/store.h"

/* Quick: the record, its lists, and that each blob is there in its size. Deep:
 * every byte as well, as long as it is no more than a few GiB. */
enum gpc_whole { GPC_WHOLE_QUICK, GPC_WHOLE_DEEP };

/* 0 when the checkpoint is whole. GPC_EPROTO: it is damaged, the message says
 * what; GPC_ENOTFOUND: there is no such checkpoint. Anything else: it could not
 * be looked at. */
int gpc_whole_look(struct gpc_store *s, const char *job, const char *id,
	enum gpc_whole how, const struct gpc_cancel *cancel,
	struct gpc_error *err) gpc_must_check;

/* The same, deep as far as it comes until then by the boot clock; what it has not
 * read until then counts as whole. 0: quick. */
int gpc_whole_look_until(struct gpc_store *s, const char *job, const char *id,
	int64_t until_ms, const struct gpc_cancel *cancel,
	struct gpc_error *err) gpc_must_check;

/* What follows from a damaged checkpoint, as the hint's last words. */
enum gpc_whole_use { GPC_WHOLE_RESUME, GPC_WHOLE_PULL };
/* Names the checkpoint in err, the failure r of reading it, if it is damage, and
 * hints at the newest other one that is whole, if there is one, looked at as
 * `how` says. Other failures only get the checkpoint's name. Returns r, or
 * -GPC_EPROTO for damage. */
int gpc_whole_blame(struct gpc_store *s, const char *job, const char *id,
	enum gpc_whole how, enum gpc_whole_use use,
	const struct gpc_cancel *cancel, int r, struct gpc_error *err);
