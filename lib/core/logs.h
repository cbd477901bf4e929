/* Reading a job's log: the same bytes before, during and after its run. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/session.h"
#include "model/job.h"

struct gpc_log_options {
	int attempt;                  /* 0 = all, in order */
	int from_attempt;             /* 0 = all; else only this and later ones */
	int rank;                     /* -1 = all */
	bool lead;                    /* only rank 0, and those that failed first,
	                               * as gpc_log_note knows */
	int64_t tail;                 /* last N lines of each; -1 = all */
	int64_t since_ms;             /* wall; 0 = all */
	bool timestamps;              /* RFC 3339 before each line */
	bool only_stderr, only_stdout;
	bool prefix;                  /* "[rank] " before each line */
};
/* source: 1 stdout, 2 stderr. Non-zero ends the reading and is returned. */
typedef int gpc_log_fn(void *arg, int rank, int source, const void *data,
	size_t n, struct gpc_error *err);
struct gpc_log_reader;                /* opaque */
struct gpc_log_reader *gpc_log_reader_new(struct gpc_session *s,
	const char *job, const struct gpc_log_options *options);
/* Of many nodes' logs nobody reads all at once, and each look at a thousand takes its
 * time: whether only some are shown unless asked for, and what to say then; owned. */
bool gpc_log_leads(int num_nodes);
char *gpc_log_leads_text(int num_nodes);
/* Which rank of each attempt failed first, as far as st tells. */
void gpc_log_note(struct gpc_log_reader *r, const struct gpc_job_state *st);
/* Delivers all that is there now; *ret_any = something came. New attempts and
 * ranks are picked up as `attempt` and `num_nodes` say. at_end: the job is
 * over, so lines without an end are delivered too. */
int gpc_log_pump(struct gpc_log_reader *r, int attempt, int num_nodes,
	bool at_end, gpc_log_fn *fn, void *arg, bool *ret_any,
	struct gpc_error *err) gpc_must_check;
void gpc_log_reader_free(struct gpc_log_reader *r);
GPC_CLEANUP_POINTER(gpc_log_reader);
