/* What completes the words of `config` and --profile. */
#pragma once
#include "cmd/complete.h"

void gpc_config_complete_keys(struct gpc_completion *k);
/* What that key takes. */
void gpc_config_complete_value(struct gpc_completion *k, const char *key);
void gpc_config_complete_profiles(struct gpc_completion *k);
