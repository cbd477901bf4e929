/* What an interrupted transfer has done, so that the next one goes on there: lines of
 * text in a small file of one's own.
 *
 *	gpucloud transfer 1             the identity: lines that say what is moved
 *	…                               from where to where, in which version
 *	upload <id>                     of an upload in parts, percent-encoded
 *	left <id>                       one of an earlier try that could not be dropped
 *	<piece> <bytes> <sum> <sum of the source> <etag or ->
 *
 * Notes count only under the very same identity. They are read as if anybody had
 * written them: what follows the first bad line is not there. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#define GPC_NOTES_FIRST "gpucloud transfer 1\n"     /* of each identity */
#define GPC_NOTES_MAX ((size_t)8 << 20)

struct gpc_piece {
	uint64_t done;                  /* bytes that are there, from its start */
	uint64_t sum;                   /* a part's, by its target's service */
	uint64_t read_sum;              /* of `done` bytes, by the source's service */
	char *etag;                     /* a part's; owned */
	bool over;                      /* all of it is there */
	bool taken;                     /* by a request */
};

struct gpc_notes_shape {
	const char *identity;           /* ends in a newline */
	uint64_t size, part_size;
	int n;                          /* pieces */
	bool parts;                     /* of an upload: only whole ones count */
};

struct gpc_notes {
	int dir;                        /* owned, while fd is */
	int fd;                         /* -1: there are none */
	char name[80];
};

/* Whether the text is of this identity: then fills pieces (n of them, zero before) and
 * *ret_upload (owned; NULL: none is named). Uploads that are to be dropped, those of
 * another identity among them, are added to strays. */
bool gpc_notes_parse(const char *text, size_t n, const struct gpc_notes_shape *s,
	struct gpc_piece *pieces, char **ret_upload, struct gpc_strv *strays);

/* Opens or makes them, locked; dir is borrowed. Without (n->fd stays -1) where that does not work or
 * another process has them: they are only a help. */
void gpc_notes_open(struct gpc_notes *n, int dir, const char *name);
/* Bytes in them, 0 for none. */
uint64_t gpc_notes_size(const struct gpc_notes *n);
bool gpc_notes_read(struct gpc_notes *n, const struct gpc_notes_shape *s,
	struct gpc_piece *pieces, char **ret_upload, struct gpc_strv *strays);
/* Anew, of this identity. upload: or NULL. */
void gpc_notes_begin(struct gpc_notes *n, const char *identity, const char *upload,
	const struct gpc_strv *strays);
void gpc_notes_add(struct gpc_notes *n, int piece, const struct gpc_piece *p);
/* Removes them. */
void gpc_notes_drop(struct gpc_notes *n);
void gpc_notes_close(struct gpc_notes *n);
