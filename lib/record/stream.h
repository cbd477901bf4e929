/* Streams of exact bytes: jobs/J/A/R/<name>/<offset 16 hex>-<unix ms>, written
 * in order by one agent, read by anyone. On a store that appends, the newest
 * object is appended at once until it has 4 MiB and made durable each second;
 * elsewhere a put goes out at 4 MiB, at close, else each interval. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "record/keys.h"
#include "store/store.h"

struct gpc_stream_writer;      /* opaque */
/* `folder` is "jobs/J/A/R/log/". interval_ms: for stores without append. A
 * stream that exists is an error: one writer, one attempt. */
struct gpc_stream_writer *gpc_stream_writer_new(struct gpc_store *s,
	const char *folder, int64_t interval_ms);
/* Takes the bytes (copies). They are durable once acked passes them. A failed
 * store keeps them pending: write never loses, it returns GPC_ERATE when more
 * than 64 MiB wait, and then took nothing. */
int gpc_stream_write(struct gpc_stream_writer *w, const void *data, size_t n,
	struct gpc_error *err) gpc_must_check;
/* Sends what is due by now (boot clock); *ret_next_ms = when to call again
 * (INT64_MAX: after the next write), set on failure too. On a store that
 * appends, writes are gathered for up to 50 ms. */
int gpc_stream_tick(struct gpc_stream_writer *w, int64_t now_ms,
	int64_t *ret_next_ms, struct gpc_error *err) gpc_must_check;
/* Whether a tick at now_ms would send bytes. */
bool gpc_stream_is_due(const struct gpc_stream_writer *w, int64_t now_ms);
/* Sends all that waits, due or not, without making it durable. For a stream
 * that must be there before another one: marks before their bytes. */
int gpc_stream_send(struct gpc_stream_writer *w, int64_t now_ms,
	struct gpc_error *err) gpc_must_check;
/* Sends and syncs everything. */
int gpc_stream_flush(struct gpc_stream_writer *w,
	struct gpc_error *err) gpc_must_check;
/* Nobody else has written here: the caller knows it, and no list is asked. */
void gpc_stream_trust_new(struct gpc_stream_writer *w);
/* From now on; for stores without append. */
void gpc_stream_set_interval(struct gpc_stream_writer *w, int64_t interval_ms);
uint64_t gpc_stream_offset(const struct gpc_stream_writer *w);  /* taken */
size_t gpc_stream_pending(const struct gpc_stream_writer *w);   /* not there yet */
uint64_t gpc_stream_acked(const struct gpc_stream_writer *w);   /* durable */
void gpc_stream_writer_free(struct gpc_stream_writer *w);       /* no flush */
GPC_CLEANUP_POINTER(gpc_stream_writer);

struct gpc_stream_reader;
struct gpc_stream_reader *gpc_stream_reader_new(struct gpc_store *s,
	const char *folder, uint64_t offset);
/* Appends up to max bytes of what is there now to b; nothing new = none. */
int gpc_stream_read(struct gpc_stream_reader *r, size_t max, struct gpc_buf *b,
	struct gpc_error *err) gpc_must_check;
uint64_t gpc_stream_reader_offset(const struct gpc_stream_reader *r);
/* Size of the whole stream now. */
int gpc_stream_size(struct gpc_store *s, const char *folder,
	uint64_t *ret_size, struct gpc_error *err) gpc_must_check;
void gpc_stream_reader_free(struct gpc_stream_reader *r);
GPC_CLEANUP_POINTER(gpc_stream_reader);

/* marks: one line "<offset> <unix ms> <1|2>" per run of bytes of one source. */
struct gpc_mark { uint64_t offset; int64_t wall_ms; int source; };
bool gpc_mark_parse(const char *line, size_t n, struct gpc_mark *ret_m);
void gpc_mark_format(const struct gpc_mark *m, struct gpc_buf *b);
