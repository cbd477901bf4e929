/* Option tables as --help shows them: two columns, or where there is no room
 * for two, what an option does below it.
 */
#include <string.h>

#include "cmd/opt.h"
#include "cmd/wrap.h"

enum { HELP_COLUMN = 28, BELOW = 8, TWO_COLUMNS = 60 };

struct table { size_t width; struct gpc_buf *out; };

static void add_left(const struct gpc_opt *row, struct gpc_buf *out)
{
	bool negatable = row->type == GPC_OPT_T_TRI || row->negatable;

	if (row->letter)
		gpc_buf_addf(out, "  -%c, ", row->letter);
	else
		gpc_buf_adds(out, "      ");
	gpc_buf_addf(out, "--%s%s", negatable ? "[no-]" : "", row->name);
	if (row->arg && row->implied)
		gpc_buf_addf(out, "[=%s]", row->arg);
	else if (row->arg)
		gpc_buf_addf(out, " %s", row->arg);
}

static void add_words(const struct gpc_opt *row, struct gpc_buf *out)
{
	const char *separator = ": ";

	for (int i = 0; row->words && row->words[i]; i++) {
		if (!*row->words[i])
			continue;
		gpc_buf_addf(out, "%s%s", separator, row->words[i]);
		separator = ", ";
	}
}

static void add_row(const struct gpc_opt *row, void *arg)
{
	gpc_auto(gpc_buf) struct gpc_buf left = {0}, right = {0};
	const struct table *t = arg;
	struct gpc_buf *out = t->out;
	size_t text = t->width < TWO_COLUMNS ? BELOW : HELP_COLUMN;

	add_left(row, &left);
	gpc_buf_adds(&right, row->help);
	if (row->type == GPC_OPT_T_ENUM)
		add_words(row, &right);
	if (row->preset)
		gpc_buf_addf(&right, " [%s]", row->preset);
	gpc_buf_adds(out, gpc_buf_str(&left));
	size_t column = left.len;
	if (column + 2 > text) {
		gpc_buf_addc(out, '\n');
		column = 0;
	}
	gpc_buf_addf(out, "%*s", (int)(text - column), "");
	gpc_wrap_text(gpc_buf_str(&right), text, text, t->width, out);
}

void gpc_opt_help(const struct gpc_opt *rows, size_t width, struct gpc_buf *out)
{
	struct table t = {width, out};

	gpc_opt_each(rows, add_row, &t);
}
