/* secrets/<job>: {v, secrets: {NAME: VALUE}}, the only place that holds the
 * values; deleted by whoever ends the job. */
#pragma once
#include "base/err.h"
#include "base/map.h"
#include "store/store.h"

/* Nothing is put when there are none. The text that was sent is wiped. */
int gpc_secrets_put(struct gpc_store *s, const char *job,
	const struct gpc_pairs *secrets, struct gpc_error *err) gpc_must_check;
/* Adds to ret_secrets. GPC_ENOTFOUND: they were deleted. */
int gpc_secrets_get(struct gpc_store *s, const char *job,
	struct gpc_pairs *ret_secrets, struct gpc_error *err) gpc_must_check;
/* Puts a text that holds secrets, more than once if it has to; the text is wiped. */
int gpc_secrets_put_text(struct gpc_store *s, const char *key, char *text,
	struct gpc_error *err) gpc_must_check;
/* Deletes what is under a key in secrets/. In a folder that users share another's
 * stays, which is success: his own commands meet it once its job has gone. */
int gpc_secrets_drop(struct gpc_store *s, const char *key,
	struct gpc_error *err) gpc_must_check;
void gpc_secrets_wipe(char *text, size_t n);
