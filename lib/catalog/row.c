#include "catalog/row.h"

#include <stdio.h>

#include "base/parse.h"
#include "base/str.h"

void gpc_row_split(const char *line, struct gpc_row *ret_row)
{
	struct gpc_str rest = gpc_str_of(line), part;

	*ret_row = (struct gpc_row){0};
	for (int i = 0; i < GPC_ROW_FIELDS && gpc_str_split(&rest, ',', &part); i++)
		snprintf(ret_row->f[i], GPC_ROW_FIELD_MAX, "%.*s", (int)part.len,
			part.ptr);
}

double gpc_row_number(const struct gpc_row *row, int field)
{
	double x = 0;

	return row->f[field][0] && gpc_parse_double(row->f[field], 0, 1e9, "table", &x,
		NULL) == 0 ? x : 0;
}
