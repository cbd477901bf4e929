/* One field of one row, as each format shows it. Used by out_rows.c only. */
#pragma once
#include <stdbool.h>

#include "cmd/out.h"

/* For people; control characters made visible; "-" when there is nothing. */
char *gpc_cell_text(const struct gpc_col *col, const void *row);
/* Nothing is there, or no text. */
bool gpc_cell_is_none(const struct gpc_col *col, const void *row);
/* For csv: exact, without units; "" when there is nothing. */
char *gpc_cell_csv(const struct gpc_col *col, const void *row);
struct gpc_json *gpc_cell_json(const struct gpc_col *col, const void *row);
/* "waited" of kind DURATION has the key "waited_ms"; owned. */
char *gpc_cell_key(const struct gpc_col *col);
/* "HOURLY COST"; owned. */
char *gpc_cell_title(const struct gpc_col *col);
bool gpc_cell_is_number(const struct gpc_col *col);
