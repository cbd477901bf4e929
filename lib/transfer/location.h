/* Where things are moved from or to, as a word of the command line says it: a path of
 * this machine, or a URL. */
#pragma once
#include <stdbool.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/net.h"
#include "store/objects.h"

struct gpc_location {
	char *word;                     /* as it was given */
	char *path;                     /* of this machine; NULL: a bucket */
	struct gpc_objects *objects;
	char *key;                      /* of a folder: "" or ends in "/" */
};
/* net, log and cancel are borrowed. Looks at nothing. GPC_EUSAGE, GPC_ECONFIG. */
int gpc_location_open(const char *word, struct gpc_net *net,
	const struct gpc_log *log, const struct gpc_cancel *cancel,
	struct gpc_location *ret_l, struct gpc_error *err) gpc_must_check;
void gpc_location_clear(struct gpc_location *l);
GPC_CLEANUP_VALUE(gpc_location);

/* Whether the word itself says that a folder is meant: it ends in "/", or is a bucket. */
bool gpc_location_says_folder(const struct gpc_location *l);
/* Makes a key one of a folder. */
void gpc_location_make_folder(struct gpc_location *l);
/* The last part of path or key, "" where there is none; owned. */
char *gpc_location_base(const struct gpc_location *l);
/* The path, or the key, of what is `below` (relative; NULL: of itself); owned. */
char *gpc_location_at(const struct gpc_location *l, const char *below);
/* The same for messages and for people: SCHEME://BUCKET/KEY; owned. */
char *gpc_location_name(const struct gpc_location *l, const char *below);
/* Size and time of the object of that very key. Whom a HEAD is refused a list tells, which
 * also has words for what went wrong. GPC_ENOTFOUND: nothing is there, or only a
 * folder. */
int gpc_location_look(const struct gpc_location *l, uint64_t *ret_size,
	int64_t *ret_modified_ms, struct gpc_error *err) gpc_must_check;
/* The GPC_ENOTFOUND of it, by the request that has said so (NULL: a list without it). */
int gpc_location_fail_nothing(const struct gpc_location *l, const struct gpc_error *why,
	struct gpc_error *err);
/* Whether what lies below one of two folders also lies below the other; of b: below what
 * is `below` it (NULL: itself). On this machine links are followed, and what is not there
 * yet is taken as it is written. */
bool gpc_location_overlap(const struct gpc_location *a,
	const struct gpc_location *b, const char *below);
