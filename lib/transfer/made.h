/* The folders that downloads have made and nothing has landed in yet: with what fails
 * they go again, as long as they are empty. Paths are compared as they are written.
 * Zero is valid. */
#pragma once
#include <stdbool.h>

#include "base/str.h"
#include "snapshot/beneath.h"

struct gpc_made {
	struct gpc_strv folders;
};

/* Before path is made with all that is missing above it: notes what is missing. */
void gpc_made_note(struct gpc_made *m, const char *path);
/* The same for what is missing of the folder `below`, itself included ("" is none). */
void gpc_made_note_below(struct gpc_made *m, struct gpc_beneath *b, const char *root,
	const char *below);
/* Something has landed in path: it stays, and what is above it. */
void gpc_made_keep(struct gpc_made *m, const char *path);
/* Removes what was noted and is empty: `below` and those above it up to root, then root
 * and those above that. b is closed where root goes. */
void gpc_made_remove(struct gpc_made *m, struct gpc_beneath *b, const char *root,
	const char *below);
void gpc_made_clear(struct gpc_made *m);
