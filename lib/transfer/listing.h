/* The files and objects below a location, as a feed: the one rule for what a folder of
 * this machine or of a bucket has, whoever asks. Not part of it are
 * - empty objects whose key ends in "/", which somebody made by hand for folders;
 * - files and objects with the name of a temporary of an unfinished download
 *   (GPC_PLACE_PREFIX).
 * Everything else is, also what cannot be written as a file here (a key with `..`, or
 * one that ends in "/" and has bytes): leaving that out would be a silent loss, so it
 * fails when it is moved. */
#pragma once
#include "transfer/feed.h"
#include "transfer/filter.h"
#include "transfer/location.h"

struct gpc_listing {
	const struct gpc_location *location;    /* of a folder; borrowed */
	const struct gpc_filter *filter;        /* or NULL; borrowed */
	bool may_lack;          /* no such folder on this machine: an empty list */
};
/* A gpc_feed_fn, whose arg is a struct gpc_listing. Keys are relative to the location. */
int gpc_listing_run(void *arg, struct gpc_feed *out, struct gpc_error *err)
	gpc_must_check;
