/* Large bodies of Cloud Storage. */
#pragma once
#include "store/bucket.h"

/* By a resumable upload; the puts_large of its rules. */
int gpc_gs_upload(struct gpc_store *s, const char *key,
	const struct gpc_body *body, bool if_absent, struct gpc_error *err);
