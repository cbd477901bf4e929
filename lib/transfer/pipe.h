/* An object that is read from a pipe, whose size nobody knows before its end, or written
 * to one. Nothing of it can go on after an interruption. */
#pragma once
#include "base/cancel.h"
#include "base/err.h"
#include "base/log.h"
#include "net/net.h"
#include "store/objects.h"

/* 16 MiB up to the 1000th part, then 32 and 64: so much is the most that fits. */
#define GPC_PIPE_MAX (((uint64_t)16 * 1000 + 32 * 1000 + 64 * 8000) << 20)

struct gpc_pipe_settings {
	struct gpc_net *net;            /* of the objects */
	const char *ca_file;            /* as gpc_net_settings */
	const struct gpc_cancel *cancel;
	const struct gpc_log *log;
	/* Bytes that have passed; may be NULL. */
	void (*progress)(void *arg, uint64_t bytes);
	void *arg;
};
/* All of fd until its end: visible only when all of it is there, and nothing stays of
 * what fails. At most 256 MiB are in memory. *ret_size: bytes. GPC_EIO also when there
 * is more than GPC_PIPE_MAX. */
int gpc_pipe_up(const struct gpc_pipe_settings *s, int fd, struct gpc_objects *o,
	const char *key, const struct gpc_object_options *options,
	uint64_t *ret_size, struct gpc_error *err) gpc_must_check;
/* All of an object to the sink, in order. */
int gpc_pipe_down(const struct gpc_pipe_settings *s, struct gpc_objects *o,
	const char *key, gpc_sink_fn *sink, void *arg, uint64_t *ret_size,
	struct gpc_error *err) gpc_must_check;
