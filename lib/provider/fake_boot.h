/* Real agents on pretend machines: with "boot": true in its script, the fake
 * cloud runs each node's launcher on this machine. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "model/node.h"
#include "provider/fake_book.h"
#include "provider/provider.h"

/* Starts n's launcher in dir/run/<id>, once: a repeat finds that it was. */
int gpc_fake_boot_start(const char *dir,
	const struct gpc_provider_context *ctx, const struct gpc_launch *l, const struct gpc_fake_node *n,
	struct gpc_error *err) gpc_must_check;
bool gpc_fake_boot_alive(const char *dir, const char *id);
/* Ends it and all of its processes. An absent one is fine. */
int gpc_fake_boot_stop(const char *dir, const char *id, struct gpc_error *err)
	gpc_must_check;
