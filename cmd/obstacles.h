/* All that is in the way of a submit, as far as each can be looked at without the
 * others: who repairs one is not to meet the next one only then. */
#pragma once
#include "base/errors.h"
#include "model/spec.h"

/* Notes *err when r says that it is an error; true when it is none. */
bool gpc_obstacle(struct gpc_errors *found, int r, const struct gpc_error *err);
/* What is at hand: fields that are not built, a deadline that is over, files and
 * folders of this machine that are not there. A path with a variable whose value is
 * unset is not looked for. */
void gpc_obstacles_at_hand(const struct gpc_spec *spec, bool unset,
	struct gpc_strv *warnings, struct gpc_errors *found);
/* Whether a provider can be asked for one of its alternatives. */
bool gpc_obstacles_can_plan(const struct gpc_spec *spec);
