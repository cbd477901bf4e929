/* The files and objects below a location, as a feed. */
#pragma once
#include "transfer/feed.h"
#include "transfer/filter.h"
#include "transfer/location.h"

struct gpc_listing {
	const struct gpc_location *location;    /* of a folder; borrowed */
	const struct gpc_filter *filter;        /* or NULL; borrowed */
	bool may_lack;          /* no such folder on this machine: an empty list */
};
/* A gpc_feed_fn, whose arg is a struct gpc_listing. Keys are relative to the location.
 * Empty objects whose key ends in "/" are folders that somebody made by hand: they are
 * passed over, as are unfinished downloads. */
int gpc_listing_run(void *arg, struct gpc_feed *out, struct gpc_error *err)
	gpc_must_check;
