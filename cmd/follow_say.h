/* The words of follow.c: journal events and ends, as text and as JSON lines. */
#pragma once
#include "core/view.h"
#include "model/event.h"

/* What an event means to somebody who looks on, without the job's name:
 * "RUNNING on local", "attempt 1 lost: node_lost (rank 0)"; NULL when it is
 * nothing to tell. verbose: also what only the curious want. Owned. */
char *gpc_follow_event_text(const struct gpc_event *e,
	enum gpc_job_status before, bool verbose);
struct gpc_json *gpc_follow_event_json(const char *job,
	const struct gpc_event *e);
/* "SUCCEEDED: completed (ran 12s, cost $0.00)"; owned. */
char *gpc_follow_end_text(const struct gpc_view *v);
struct gpc_json *gpc_follow_end_json(const struct gpc_view *v);
/* One piece of output; text that is no UTF-8 becomes data_base64. */
struct gpc_json *gpc_follow_log_json(const char *job, int rank, int source,
	const void *data, size_t n);
/* That an attempt's log lacks its end. */
struct gpc_json *gpc_follow_cut_json(const char *job, int attempt,
	const char *why);
