/* What lies below jobs/, by one listing: the truth about which jobs there are,
 * where the index is a help. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "core/session.h"

struct gpc_census_job {
	char id[GPC_JOB_ID_SIZE];
	bool has_job;                 /* job.json */
	uint64_t objects, bytes;      /* of all kinds */
	int64_t newest_event;         /* its number; 0 = none */
	int64_t age_ms;               /* of the newest object, by the store's own
	                               * two clocks */
};
struct gpc_census { GPC_VEC(struct gpc_census_job) jobs; };  /* sorted by id */
void gpc_census_clear(struct gpc_census *c);
GPC_CLEANUP_VALUE(gpc_census);
int gpc_census_take(struct gpc_session *s, struct gpc_census *ret_c,
	struct gpc_error *err) gpc_must_check;
/* Or NULL. */
const struct gpc_census_job *gpc_census_find(const struct gpc_census *c,
	const char *id);
