/* Reading a job's log: the same bytes before, during and after its run. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/session.h"

struct gpc_log_options {
	int attempt;                  /* 0 = all, in order */
	int from_attempt;             /* 0 = all; else only this and later ones */
	int rank;                     /* -1 = all */
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
/* Delivers all that is there now; *ret_any = something came. New attempts and
 * ranks are picked up as `attempt` and `num_nodes` say. at_end: the job is
 * over, so lines without an end are delivered too. */
int gpc_log_pump(struct gpc_log_reader *r, int attempt, int num_nodes,
	bool at_end, gpc_log_fn *fn, void *arg, bool *ret_any,
	struct gpc_error *err) gpc_must_check;
void gpc_log_reader_free(struct gpc_log_reader *r);
GPC_CLEANUP_POINTER(gpc_log_reader);
