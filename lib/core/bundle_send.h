/* Bundles of this program in a store, for nodes that lack it. */
#pragma once
#include "base/arch.h"
#include "base/map.h"
#include "core/session.h"
#include "model/spec.h"

/* Whether any machine that the spec may get is another one than this. */
bool gpc_bundle_is_needed(const struct gpc_spec *spec);
/* Puts those of these architectures (GPC_ARCH_BIT; 0 = this one's) among the common
 * blobs, unless they are there; this program's is made once a version, and kept in the
 * cache. ret_sums: architecture to sha256. GPC_EUNSUPPORTED for a store that other
 * machines do not reach. */
int gpc_bundles_send(struct gpc_session *s, unsigned archs, struct gpc_pairs *ret_sums,
	struct gpc_error *err) gpc_must_check;
/* What a launch says of the job's: {url, region, sha256}; owned. */
int gpc_bundle_address(struct gpc_session *s, const struct gpc_job *job,
	enum gpc_arch arch, struct gpc_json **ret_j, struct gpc_error *err)
	gpc_must_check;
