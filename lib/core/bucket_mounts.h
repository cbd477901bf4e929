/* The buckets of file_mounts, looked at when a job is submitted: what is missing or
 * does not fit is said before anything is bought. */
#pragma once
#include "core/plan.h"
#include "core/session.h"
#include "model/spec.h"

struct gpc_bucket_mount {
	char *target;                   /* on the node, as in the spec */
	char *source;                   /* URL */
	enum gpc_spec_mount_mode asked; /* as the spec means it */
	enum gpc_spec_mount_mode mode;  /* what happens: COPY or MOUNT_CACHED */
	bool only_read;
	uint64_t files, bytes;          /* that it has now */
	bool complete;                  /* false: at least so many */
	char *why;                      /* of another mode than asked; or NULL */
};
struct gpc_bucket_mounts { struct gpc_bucket_mount *v; size_t n, cap; };
void gpc_bucket_mounts_clear(struct gpc_bucket_mounts *m);
GPC_CLEANUP_VALUE(gpc_bucket_mounts);

/* Asks each bucket of the resolved spec, in order, and counts so far that it does not
 * take long; what the job may write is tried. GPC_ECONFIG: it is not there, or an object
 * where a folder is needed; GPC_EAUTH: it may not be read, or not written; else what the asking failed with. */
int gpc_bucket_mounts_look(struct gpc_session *s, const struct gpc_spec *spec,
	struct gpc_bucket_mounts *ret_m, struct gpc_error *err) gpc_must_check;

/* The disk that a node's file_mounts come to lie on. */
struct gpc_bucket_room {
	uint64_t bytes;                 /* for one node; 0 = not known */
	const char *of;                 /* "resources.disk_size", ...: for people */
};
/* Says how each of them appears: MOUNT becomes COPY where it is only read and fits half
 * the disk, else MOUNT_CACHED. GPC_ECONFIG when all together do not fit. */
int gpc_bucket_mounts_decide(struct gpc_bucket_mounts *m,
	const struct gpc_bucket_room *room, struct gpc_error *err) gpc_must_check;
/* The same with the room of the plan's offer. */
int gpc_bucket_mounts_plan(struct gpc_session *s, const struct gpc_spec *spec,
	const struct gpc_plan *plan, struct gpc_bucket_mounts *m,
	struct gpc_error *err) gpc_must_check;
/* Into the job's record. */
void gpc_bucket_mounts_note(const struct gpc_bucket_mounts *m, struct gpc_job *job);
