/* One thing of a list of files or objects, whichever kind of place it is from. */
#pragma once
#include <stdint.h>

enum {
	/* No file was read for it: a note on what the list had to leave out. Of
	 * UNREADABLE, size is the errno; what was asked for is then not complete. */
	GPC_LISTED_UNREADABLE = 1 << 0,
	GPC_LISTED_SPECIAL = 1 << 1,    /* a socket, a pipe, a device */
	GPC_LISTED_LOOP = 1 << 2,       /* a link to a folder that it lies in */
	GPC_LISTED_NOTE = GPC_LISTED_UNREADABLE | GPC_LISTED_SPECIAL |
		GPC_LISTED_LOOP,

	GPC_LISTED_LINKED = 1 << 3,     /* below a link to a folder: it lies elsewhere */
	GPC_LISTED_SURPLUS = 1 << 4,    /* of a comparison: only the target has it */
};

struct gpc_listed {
	const char *key;                /* relative to its place; any bytes */
	uint64_t size;
	int64_t modified_ms;            /* 0: not known */
	unsigned flags;
};
