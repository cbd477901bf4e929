/* secrets/<job>.notify-<hash>: {v, url}, the only place that holds the addresses
 * which a job's notify tells; records have their short form (model/hook.h). They
 * stay as long as the job does, because its end is told when its secrets are gone
 * already, and a job that is resumed tells them again. */
#pragma once
#include "base/err.h"
#include "model/spec.h"
#include "store/store.h"

/* Puts the addresses of a list that are whole, each under a key of its own, so
 * that who changes the list at the same time undoes nothing. GPC_ECONFIG for one
 * that is no URL. */
int gpc_hooks_put(struct gpc_store *s, const char *job,
	const struct gpc_spec_notify *list, struct gpc_error *err) gpc_must_check;
/* The whole of a short one; owned, to be wiped. GPC_ENOTFOUND: it was deleted. */
int gpc_hook_get(struct gpc_store *s, const char *job, const char *brief,
	char **ret_url, struct gpc_error *err) gpc_must_check;
/* Deletes all of a job's. */
int gpc_hooks_drop(struct gpc_store *s, const char *job, struct gpc_error *err)
	gpc_must_check;
/* The job of such a key; owned. NULL: it is another key. */
char *gpc_hook_job(const char *key);
