/* Failures of the disk on which a provider of this machine makes nodes. */
#pragma once
#include "base/err.h"

/* Gives the failure r of an offer or a create the code that says what to do
 * about it: GPC_ENOROOM for a full disk, GPC_EAUTH for one that forbids it.
 * Others stay as they are. Returns the new code. */
int gpc_own_disk_error(int r, struct gpc_error *err);
