/* Copies of a journal where the data is, for nodes, which reach only that: each event
 * that has won, and job.json before the first. */
#pragma once
#include "store/store.h"

struct gpc_split_copy {                 /* borrowed */
	struct gpc_store *from, *to;
	const struct gpc_log *log;
};

/* What stands behind "jobs/JOB/"; NULL: it is no job's. Borrowed. */
const char *gpc_split_past_job(const char *key);
/* Whether objects under this key are copied. */
bool gpc_split_is_copied(const char *key);
/* See gpc_store_follow. */
int gpc_split_follow(const struct gpc_split_copy *c, const char *key,
	struct gpc_error *err) gpc_must_check;
/* The same for what was put a moment ago. What is recorded is recorded, whatever
 * becomes of the copy. */
void gpc_split_try_follow(const struct gpc_split_copy *c, const char *key);
