/* Other people's programs, run as children of ours or in our place. */
#pragma once
#include "base/str.h"

/* Our environment with vars ("NAME=value", may be NULL) added or in the place of
 * those of the same name; fit for exec: v ends with NULL. */
void gpc_program_env(const struct gpc_strv *vars, struct gpc_strv *ret_env);
