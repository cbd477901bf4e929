/* What the files of this room share. An item under way is a move: it is cut into
 * pieces, each of which is one request (from bucket to bucket: two in turn; on this
 * machine: none), and ends when all of them are there. Only this room includes it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "transfer/notes.h"
#include "transfer/place.h"
#include "transfer/transfer.h"
#include "transfer/width.h"

struct gpc_move;
struct gpc_ask;

/* What is special of a direction. */
struct gpc_move_way {
	bool to_file;                   /* its notes lie beside it */
	bool here;                      /* start itself moves some of a piece */
	/* Opens both ends and plans the pieces. 1: it is done without a request. */
	int (*open)(struct gpc_move *m, struct gpc_error *err);
	/* Begins the request of a piece, or one that must be over before. */
	int (*start)(struct gpc_move *m, int piece, struct gpc_error *err);
	/* Takes the next bytes of a get; NULL: there is none. */
	int (*take)(struct gpc_ask *a, const void *data, size_t n,
		struct gpc_error *err);
	/* A get has delivered all of its piece; NULL: that was all of it. */
	int (*got)(struct gpc_ask *a, struct gpc_error *err);
	/* All pieces are there. 1: a request runs that ends it. */
	int (*end)(struct gpc_move *m, struct gpc_error *err);
	/* Memory that a piece needs; NULL: none to speak of. */
	uint64_t (*memory)(const struct gpc_move *m, int piece);
	/* Looks whether a failure has another reason than was told; returns that one.
	 * NULL: never. */
	int (*failed)(const struct gpc_move *m, int r, struct gpc_error *err);
};
extern const struct gpc_move_way gpc_move_down, gpc_move_up, gpc_move_across,
	gpc_move_here;

/* What is known of a source since it was first looked at. */
struct gpc_move_source {
	bool seen;
	char *version;                  /* or NULL */
	bool has_sum;
	uint64_t sum;
	int64_t modified_ms;
	char told_by[64];               /* the request that told it; "" unknown */
	/* Of a file: */
	int fd;
	uint64_t ino, dev;
	int64_t mtime_ns;
	int64_t ctime_ns;               /* what touch cannot set: notes are of this one */
	unsigned mode;                  /* permissions */
};

struct gpc_move {
	struct gpc_transfer *t;
	struct gpc_move *next, *before;
	const struct gpc_move_way *way;
	struct gpc_transfer_item item;          /* with texts of its own */
	struct gpc_move_source source;

	uint64_t size, part_size;
	struct gpc_piece *pieces;
	int n, at, left;                /* pieces; the next to look at; to be done */
	int running;                    /* requests */
	bool alone;                     /* one request at a time, for now */
	bool ended, again, dropping;
	bool stays;                     /* it failed, or was cut, but can go on */
	bool begun;                     /* its notes are of this try */
	int again_n;
	uint64_t told_size;             /* as counted in all_bytes */
	uint64_t counted, resumed;      /* of it in bytes, in resumed */

	struct gpc_place place;
	struct gpc_notes notes;
	char *upload;                   /* in parts, under this id */
	struct gpc_strv strays;         /* those of earlier tries, to be dropped */
	struct gpc_object_part *parts;  /* while it ends */
	int r;                          /* the first failure */
	struct gpc_error err;
};

/* A request under way. */
struct gpc_ask {
	struct gpc_move *m;
	struct gpc_ask *next, *before;
	int piece;                      /* < 0: of the whole */
	struct gpc_object_get get;
	struct gpc_object_options options;
	struct gpc_body body;
	char *memory;                   /* what it holds; the upload that it drops */
	uint64_t held;
	uint64_t got;                   /* bytes, of a get */
	/* What a success means; NULL: nothing more. */
	int (*over)(struct gpc_ask *a, const struct gpc_object_result *result,
		struct gpc_error *err);
};

struct gpc_waiting {
	struct gpc_waiting *next;
	struct gpc_transfer_item item;
};

struct gpc_transfer {
	struct gpc_transfer_settings set;
	char *storage_class, *ca_file;
	int state_dir;                  /* -1: none */
	struct gpc_net *net;
	struct gpc_net_loop *loop;
	struct gpc_waiting *first, *last;       /* not opened yet */
	size_t n_waiting;
	struct gpc_move *moves, *last_move;     /* the oldest first */
	int n_moves;
	struct gpc_ask *asks;
	struct gpc_place_top top;
	struct gpc_width width;
	int running;                    /* requests */
	uint64_t held;                  /* bytes of memory */
	uint64_t moved;                 /* bytes, failures and all */
	struct gpc_transfer_counts counts;
	uint64_t expected_files, expected_bytes;
	int64_t told_ms;
	bool pumping, cut;
	bool more_here;                 /* the pump was given back before its end */
	bool full;                      /* somebody waits to add */
	bool next;                      /* somebody waits for one to end */
	uint64_t told;                  /* items */
	int stop_r;                     /* nothing new is begun */
	struct gpc_error stop;
};

/* transfer.c */
void gpc_transfer_pump(struct gpc_transfer *t);
/* Begins nothing new: it would fail in the same way. */
void gpc_transfer_stop(struct gpc_transfer *t, int r, const struct gpc_error *err);
bool gpc_transfer_canceled(const struct gpc_transfer *t);

/* move.c: the life of a move. */
struct gpc_move *gpc_move_new(struct gpc_transfer *t, struct gpc_transfer_item *owned);
/* Opens it; it may be over and gone then. */
void gpc_move_open(struct gpc_move *m);
/* Whether a request may begin, and its piece. */
bool gpc_move_ready(struct gpc_move *m, int *ret_piece);
void gpc_move_start(struct gpc_move *m, int piece);
void gpc_move_fail(struct gpc_move *m, int r, const struct gpc_error *err);
/* Looks what comes next when no request of it runs; it may be gone then. */
void gpc_move_settle(struct gpc_move *m);
/* Cut short: what can go on stays, with its notes; what cannot goes. Uploads in parts
 * are dropped on the loop. */
void gpc_move_cut(struct gpc_move *m, struct gpc_net_loop *loop);
/* The end of its notes: they stay while they name what can go on or is to be dropped. */
void gpc_move_end_notes(struct gpc_move *m);
void gpc_move_free(struct gpc_move *m);
void gpc_transfer_item_clear(struct gpc_transfer_item *item);

/* plan.c: pieces. */
/* part_size 0: all in one. */
int gpc_move_plan(struct gpc_move *m, uint64_t size, uint64_t part_size,
	struct gpc_error *err) gpc_must_check;
/* The size of parts that suits: what the settings say, else by the size. */
uint64_t gpc_move_part_size(const struct gpc_move *m, uint64_t size, uint64_t usual);
uint64_t gpc_move_piece_size(const struct gpc_move *m, int i);
uint64_t gpc_move_piece_at(const struct gpc_move *m, int i);
void gpc_move_piece_done(struct gpc_move *m, int i);
/* One that an earlier try had moved is to be moved again. */
void gpc_move_piece_undo(struct gpc_move *m, int i);
/* Another size than was told: corrects what is counted. */
void gpc_move_tell_size(struct gpc_move *m, uint64_t size);
void gpc_move_count(struct gpc_move *m, uint64_t bytes);
/* What makes it the same transfer as before an interruption; owned. */
char *gpc_move_identity(const struct gpc_move *m);
/* Takes what the notes have of the same transfer: 1, or 0 when there is nothing. */
int gpc_move_resume(struct gpc_move *m, struct gpc_error *err) gpc_must_check;
void gpc_move_note(struct gpc_move *m, int i);
/* Notes of now: the identity, and the upload if there is one. */
void gpc_move_begin_notes(struct gpc_move *m);
/* Where uploads note, by the names of both ends. */
void gpc_move_open_notes(struct gpc_move *m);

/* ask.c */
struct gpc_ask *gpc_ask_new(struct gpc_move *m, int piece);
/* Takes it from the lists and frees it. */
void gpc_ask_free(struct gpc_ask *a);
int gpc_ask_hold(struct gpc_ask *a, uint64_t bytes, struct gpc_error *err)
	gpc_must_check;
/* Frees one of what is cut short or goes on another time, and notes what a download
 * has got. */
void gpc_ask_cut(struct gpc_ask *a);
/* The gpc_object_done_fn of all; arg is the ask. */
void gpc_ask_done(void *arg, int r, const struct gpc_object_result *result,
	const struct gpc_error *err);

/* read.c: objects as sources. */
/* Asks what an object is of which nobody told the size, or there are notes: that must
 * be known before anything begins. */
int gpc_move_look(struct gpc_move *m, struct gpc_error *err) gpc_must_check;
/* The same on the loop, for what goes in ranges. */
int gpc_move_look_first(struct gpc_move *m, struct gpc_error *err) gpc_must_check;
int gpc_move_get(struct gpc_move *m, int piece, struct gpc_error *err) gpc_must_check;
int gpc_move_get_into(struct gpc_ask *a, struct gpc_error *err) gpc_must_check;
/* All pieces against the checksum that the service told. */
int gpc_move_verify(const struct gpc_move *m, struct gpc_error *err) gpc_must_check;

/* up.c, down.c: files as sources and as targets. */
int gpc_move_open_file(struct gpc_move *m, struct gpc_error *err) gpc_must_check;
/* GPC_ECONFLICT when the file is not what it was when it was opened. */
int gpc_move_check_file(const struct gpc_move *m, struct gpc_error *err)
	gpc_must_check;
/* The temporary and its pieces, with what an earlier try has left of them. */
int gpc_move_open_place(struct gpc_move *m, struct gpc_error *err) gpc_must_check;

/* write.c: objects as targets. */
int gpc_move_begin(struct gpc_move *m, struct gpc_error *err) gpc_must_check;
/* The whole in one request, or a part, from a's body; a is gone on failure. */
int gpc_move_put(struct gpc_ask *a, struct gpc_error *err) gpc_must_check;
int gpc_move_end_parts(struct gpc_move *m, struct gpc_error *err) gpc_must_check;
/* Removes an upload in parts: m's own, or one of its strays, which are forgotten then.
 * What fails of it is told as a warning. */
void gpc_move_drop(struct gpc_move *m, const char *upload, struct gpc_net_loop *loop);
void gpc_move_drop_strays(struct gpc_move *m, struct gpc_net_loop *loop);
/* The names of both ends, for people; owned. */
char *gpc_move_from(const struct gpc_move *m);
char *gpc_move_to(const struct gpc_move *m);
