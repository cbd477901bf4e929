/* Where a download lands: a temporary file beside its place, which gets the name when
 * all is there. Temporaries are called .gpucloud-part-<hash of the name>; the process
 * that works on one has it locked, one that nobody has locked is used again. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "snapshot/beneath.h"
#include "transfer/made.h"

#define GPC_PLACE_PREFIX ".gpucloud-part-"

/* The folder that was used last: neighbours share what is open; and the folders that
 * were made for places, which go again with those. Zero is valid. */
struct gpc_place_top {
	struct gpc_beneath beneath;
	char *root;
	struct gpc_made made;
};
void gpc_place_top_clear(struct gpc_place_top *top);

struct gpc_place {
	bool is_open;
	int dir, fd;
	char *name;                     /* in dir */
	char *shown;                    /* the whole path, for people */
	char part[40];                  /* the temporary's name in dir */
	bool used;                      /* it holds what an earlier try left */
	struct gpc_place_top *top;      /* that it was opened by */
	char *root, *inside;            /* its folder: that of the top, and below that */
};

/* path and below as in gpc_transfer_end. The temporary may hold what an earlier try
 * left. GPC_EPROTO: below leads out. GPC_ECONFLICT: another process works on it, or
 * something that is no file has its place. */
int gpc_place_open(struct gpc_place *p, struct gpc_place_top *top, const char *path,
	const char *below, struct gpc_error *err) gpc_must_check;
/* Makes the temporary this long, if the disk has room for what of it is not written
 * yet. GPC_EIO, sys ENOSPC. */
int gpc_place_size(struct gpc_place *p, uint64_t size, struct gpc_error *err)
	gpc_must_check;
/* The temporary's file number. */
uint64_t gpc_place_number(const struct gpc_place *p);
/* Forgets what it holds. */
int gpc_place_empty(struct gpc_place *p, struct gpc_error *err) gpc_must_check;
int gpc_place_write(struct gpc_place *p, const void *data, size_t n, uint64_t at,
	struct gpc_error *err) gpc_must_check;
/* The temporary gets its times (0: now), its mode (0: by the umask) and its name. */
int gpc_place_commit(struct gpc_place *p, int64_t modified_ms, unsigned mode,
	struct gpc_error *err) gpc_must_check;
/* Removes the temporary, and the folders that were made for it if nothing else is in
 * them. */
void gpc_place_drop(struct gpc_place *p);
/* Closes it; the temporary stays, if it is still there. */
void gpc_place_close(struct gpc_place *p);
/* Makes a folder, as an object whose key ends in "/" stands for. */
int gpc_place_folder(struct gpc_place_top *top, const char *path, const char *below,
	struct gpc_error *err) gpc_must_check;
/* A name for people of path and below, and the most bytes of such; owned. */
#define GPC_PLACE_SHOWN ((size_t)200)
char *gpc_place_shown(const char *path, const char *below);
