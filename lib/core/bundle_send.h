/* The bundle of this program in a store, for nodes that lack it. */
#pragma once
#include "core/session.h"
#include "model/spec.h"

/* Whether any machine that the spec may get is another one than this. */
bool gpc_bundle_is_needed(const struct gpc_spec *spec);
/* Puts the bundle among the common blobs, unless it is there; it is made once a
 * version, and kept in the cache. ret_sha256 is owned. GPC_EUNSUPPORTED for a store
 * that other machines do not reach. */
int gpc_bundle_send(struct gpc_session *s, char **ret_sha256,
	struct gpc_error *err) gpc_must_check;
/* What a launch says of it: {url, region, sha256}; owned. */
int gpc_bundle_address(struct gpc_session *s, const char *sha256,
	struct gpc_json **ret_j, struct gpc_error *err) gpc_must_check;
