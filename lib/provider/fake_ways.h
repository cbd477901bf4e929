/* What was opened to nodes of the pretend cloud: one for each job, with the tags of its
 * nodes, until it is destroyed and no node has it any more. */
#pragma once
#include "provider/fake_call.h"
#include "provider/provider.h"

/* Of the ops record. dir: the cloud's folder. */
int gpc_fake_caller(const char *dir, char **ret_cidr, struct gpc_error *err)
	gpc_must_check;
int gpc_fake_open_way(const char *dir, const char *store_id, const char *id,
	const struct gpc_way *way, char **ret_address, struct gpc_error *err)
	gpc_must_check;
int gpc_fake_ways(const char *dir, const char *store_id,
	struct gpc_instances *ret, struct gpc_error *err) gpc_must_check;
/* Within a destroy: ends what is called so, if it is this store's and no node that runs
 * has it. *ret_was_way: the id is of such. */
int gpc_fake_close_way(const char *dir, const char *store_id, const char *id,
	bool *ret_was_way, struct gpc_error *err) gpc_must_check;
