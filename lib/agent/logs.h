/* What the job prints, byte for byte into the streams log and marks; and the
 * agent's own streams beside them: agent (its talk) and metrics. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/store.h"

enum { GPC_LOGS_OUT, GPC_LOGS_ERR, GPC_LOGS_PIPES };

struct gpc_logs;
/* Takes each piece as it was read; source is GPC_LOGS_OUT or _ERR. */
typedef void gpc_logs_fn(void *arg, int source, const char *data, size_t n);

int gpc_logs_new(struct gpc_store *s, const char *job, int attempt, int rank,
	struct gpc_logs **ret_l, struct gpc_error *err) gpc_must_check;
void gpc_logs_free(struct gpc_logs *l);
GPC_CLEANUP_POINTER(gpc_logs);
void gpc_logs_on_bytes(struct gpc_logs *l, gpc_logs_fn *fn, void *arg);
/* The end that a child writes to. Kept open for the next phase. */
int gpc_logs_write_fd(const struct gpc_logs *l, int source);
/* The end to poll for reading, -1 while it must not be read: a batch is being
 * gathered, the store holds back, or it has ended. */
int gpc_logs_poll_fd(const struct gpc_logs *l, int source, int64_t now_ms);
/* Reads what is there and sends what is due; all times by the boot clock. */
void gpc_logs_pump(struct gpc_logs *l, int64_t now_ms);
/* When to pump next at the latest. */
int64_t gpc_logs_next_ms(const struct gpc_logs *l);
/* How long bytes wait before they go to a store that does not append; 10 s at
 * first. */
void gpc_logs_set_interval(struct gpc_logs *l, int64_t interval_ms);
/* After the last child: closes our write ends, so that reading meets an end. */
void gpc_logs_close_writers(struct gpc_logs *l);
/* True once both pipes have ended. */
bool gpc_logs_ended(const struct gpc_logs *l);
/* Everything sent and durable? Tries once. */
bool gpc_logs_flush(struct gpc_logs *l, struct gpc_error *err);
/* Bytes that the job wrote and that no stream has taken yet: held while the store
 * takes no more, or in a pipe. */
size_t gpc_logs_unread(const struct gpc_logs *l);
/* Bytes of the job's output that are not in the store, those included. */
size_t gpc_logs_missing(const struct gpc_logs *l);
/* A line for the stream agent, without its newline. */
void gpc_logs_talk(struct gpc_logs *l, const char *line);
/* A line for the stream metrics, with its newline. */
void gpc_logs_metric(struct gpc_logs *l, const char *line, size_t n);
/* The store's last failure that has not been overcome, and since when (boot
 * clock); 0 = none. */
int64_t gpc_logs_failing_since(const struct gpc_logs *l,
	struct gpc_error *ret_e);
