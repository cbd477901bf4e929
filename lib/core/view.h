/* A job as readers see it: journal plus the facts of its agents, so that a
 * finished job looks finished before a supervisor wrote it down. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/session.h"
#include "model/job.h"
#include "model/node.h"
#include "model/spec.h"
#include "record/checkpoint.h"
#include "record/index.h"

struct gpc_view {
	struct gpc_job job;
	struct gpc_job_state state;   /* with a derived end, if facts say so */
	bool derived;                 /* the end is derived, not journalled */
	struct gpc_money spent;       /* so far, live nodes included */
	struct gpc_money rate;        /* per hour now */
	int64_t ran_ms;               /* running time so far */
	char *note;                   /* what it waits for, or what a node said */
	uint64_t upload_files, upload_bytes; /* that wait on its nodes, for the buckets
	                               * of file_mounts; 0 where nobody looked */
	char *supervisor;             /* its record's text, "" = none; NULL when
	                               * the job is over */
};
/* `job` is an id. */
int gpc_view_load(struct gpc_session *s, const char *job, struct gpc_view *ret_v,
	struct gpc_error *err) gpc_must_check;
/* JOB, as gpc_job_find takes it, and its view. Where each look costs money, an id
 * is taken as one before any list is asked. */
int gpc_view_find(struct gpc_session *s, const char *word,
	struct gpc_view *ret_v, struct gpc_error *err) gpc_must_check;
void gpc_view_clear(struct gpc_view *v);
GPC_CLEANUP_VALUE(gpc_view);
/* True when it has ended and no node is left. */
bool gpc_view_is_over(const struct gpc_view *v);
/* How long the client may be silent that it is tethered to; 0 = it is not, or it has
 * ended, or each request to the store costs time and money. */
int64_t gpc_view_tether_ms(struct gpc_session *s, const struct gpc_view *v);
/* JOB forms: id, unique prefix, name (newest), "@" (my newest); NULL = "@".
 * `ending`: refused as ambiguous (GPC_ECONFLICT, listing them) when several
 * unfinished jobs bear the name. */
int gpc_job_find(struct gpc_session *s, const char *word, bool ending,
	char ret_job[GPC_JOB_ID_SIZE], struct gpc_error *err) gpc_must_check;
/* The whole job as JSON (status JOB --json): stable names. Owned. */
struct gpc_json *gpc_view_json(struct gpc_session *s, const struct gpc_view *v);
