/* What file_mounts take from a bucket: one object, or all that lies below a prefix. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/log.h"
#include "transfer/transfer.h"

struct gpc_source {                     /* all borrowed */
	const char *url;                /* as gpc_objects_open takes it */
	/* A folder is meant whatever its key ends in, and may be empty. */
	bool folder;
	const char *ca_file;            /* as gpc_net_settings */
	const struct gpc_cancel *cancel;
	const struct gpc_log *log;
};

struct gpc_source_found {
	bool tree;                      /* else one object */
	uint64_t files, bytes;
	bool complete;                  /* false: there is more */
};
/* Counts what is there, up to `most` objects. GPC_ENOTFOUND: nothing, or no such
 * bucket; GPC_EAUTH; GPC_ECONFIG: a folder is meant, and there is an object of that
 * name. */
int gpc_source_look(const struct gpc_source *s, uint64_t most,
	struct gpc_source_found *ret_f, struct gpc_error *err) gpc_must_check;

/* Whether something may be put below it: begins an upload in parts and drops it, which
 * nobody sees. GPC_EAUTH: not with these credentials. */
int gpc_source_try_write(const struct gpc_source *s, struct gpc_error *err)
	gpc_must_check;

struct gpc_source_target {
	const char *path;               /* on this machine */
	bool into;                      /* one object gets its name below path */
	/* As in gpc_transfer_settings; may be NULL. */
	void (*progress)(void *arg, const struct gpc_transfer_counts *counts);
	void *arg;
};
/* Copies it to this machine; files that are there with the size and the time of their
 * object stay, and what an earlier try left of others is used. Other files below the
 * target stay too. The first failure ends it. Errors as above, and those of
 * transfer.h. */
int gpc_source_fetch(const struct gpc_source *s, const struct gpc_source_target *to,
	struct gpc_transfer_counts *ret_c, struct gpc_error *err) gpc_must_check;
