/* A row of a built-in table: fields between commas, nothing quoted. */
#pragma once
#include <stdio.h>

enum { GPC_ROW_FIELDS = 24, GPC_ROW_FIELD_MAX = 40 };
struct gpc_row { char f[GPC_ROW_FIELDS][GPC_ROW_FIELD_MAX]; };
/* What is not there is "". */
void gpc_row_split(const char *line, struct gpc_row *ret_row);
/* Copies a field into an array of char; what is too long is cut. */
#define GPC_ROW_TAKE(to, row, field) \
	snprintf(to, sizeof(to), "%.*s", (int)sizeof(to) - 1, (row)->f[field])
/* A test reads every row; none is wrong. "" is 0. */
double gpc_row_number(const struct gpc_row *row, int field);
