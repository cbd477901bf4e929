/* What a sync has to do: two lists in order, side by side. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "transfer/feed.h"

/* A download gets the time of its object, so there another time is another file. What
 * is in a bucket has the time when it was put there: only a source that is newer than
 * that has changed since. Both in whole seconds, which is what services tell; only a
 * file here that was written within its object's second is found out by the rest. */
enum gpc_compare_times { GPC_COMPARE_NEWER, GPC_COMPARE_OTHER };

struct gpc_compare {
	struct gpc_feed *from, *to;     /* borrowed */
	enum gpc_compare_times times;
	bool surplus;                   /* also gives what only the target has */
};
/* Whether source and target of the same key differ: in size, or by their times. */
bool gpc_compare_differs(enum gpc_compare_times times,
	const struct gpc_listed *from, const struct gpc_listed *to);
/* A gpc_feed_fn, whose arg is a struct gpc_compare: gives what is to be copied, as the
 * source has it, with GPC_LISTED_SURPLUS what only the target has, and the notes of
 * the source. Of the target's only what could not be read: GPC_LISTED_SURPLUS is set,
 * and nobody can say what lies there. */
int gpc_compare_run(void *arg, struct gpc_feed *out, struct gpc_error *err)
	gpc_must_check;
