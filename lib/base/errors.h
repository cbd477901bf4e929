/* Several errors of one cause, such as all mistakes of a file; for base/vec.h. */
#pragma once
#include <stddef.h>

#include "base/err.h"

struct gpc_errors { struct gpc_error *v; size_t n, cap; };
