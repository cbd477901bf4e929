/* Removing a folder that may hold very much, without waiting for it. */
#pragma once
#include "base/err.h"

/* Starts a process of its own that removes the tree at path, and returns. The
 * caller has given the folder a name by which a later call finds it again,
 * should that process be killed. */
int gpc_discard(const char *path, struct gpc_error *err) gpc_must_check;
