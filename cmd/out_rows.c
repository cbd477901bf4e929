/* The five renderings of rows. Tables are measured first, so that columns line
 * up by what a terminal shows. On a terminal that is too narrow columns without a
 * value are left out, and those that allow it are cut; before that makes them short,
 * those to spare are left out. When that is not enough, what can be cut is left out,
 * then names are cut, and then the other columns are left out from the right, never
 * the first two, nor those to be kept; a + at the end of the heading tells. Of -o wide no column is left out, and none is
 * cut when that is not enough. Nothing is cut anywhere else.
 */
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "cmd/cell.h"
#include "cmd/out.h"

enum { GAP = 2, MARK = 2, NARROWEST = 8, NARROW_NAME = 20, SHORT = 24, KEPT = 2 };

static const void *row_at(const struct gpc_table *t, const void *rows, size_t i)
{
	return (const char *)rows + i * t->row_size;
}

/* In json and csv. */
static bool is_data(const struct gpc_col *col)
{
	return !(col->flags & GPC_COL_F_PLAIN);
}

static bool shown(const struct gpc_out *o, const struct gpc_col *col)
{
	if (col->flags & GPC_COL_F_DATA)
		return false;
	if (col->flags & GPC_COL_F_PLAIN)
		return o->format == GPC_OUT_TABLE;
	return o->format == GPC_OUT_WIDE || !(col->flags & GPC_COL_F_WIDE);
}

static size_t count_cols(const struct gpc_table *t)
{
	size_t n = 0;

	while (t->cols[n].kind != GPC_COL_END)
		n++;
	return n;
}

/* --- table ------------------------------------------------------------- */

/* The longest start of s that fits `width` columns, with … where it was cut.
 * Returns the columns that it took. */
static size_t add_cut(const char *s, size_t width, struct gpc_buf *out)
{
	size_t used = 0, all = gpc_utf8_width(s);

	if (all <= width) {
		gpc_buf_adds(out, s);
		return all;
	}
	while (*s) {
		size_t n = 1;
		char one[8] = "";

		while (n < 4 && ((unsigned char)s[n] & 0xc0) == 0x80)
			n++;
		memcpy(one, s, n);
		size_t w = gpc_utf8_width(one);
		if (used + w > width - 1)
			break;
		gpc_buf_add(out, s, n);
		used += w;
		s += n;
	}
	gpc_buf_adds(out, "…");
	return used + 1;
}

struct grid {
	const struct gpc_col **cols;
	size_t n_cols, n_rows;         /* row 0 is the heading */
	char **cells;
	size_t *widths;
	bool *hidden;
};

static void grid_clear(struct grid *g)
{
	for (size_t i = 0; i < g->n_cols * g->n_rows; i++)
		free(g->cells[i]);
	free(g->cells);
	free(g->cols);
	free(g->widths);
	free(g->hidden);
}

static void grid_fill(struct grid *g, const struct gpc_out *o,
	const struct gpc_table *t, const void *rows, size_t n)
{
	size_t all = count_cols(t);

	g->cols = gpc_array(all, sizeof(*g->cols));
	for (size_t i = 0; i < all; i++) {
		if (shown(o, &t->cols[i]))
			g->cols[g->n_cols++] = &t->cols[i];
	}
	g->n_rows = n + 1;
	g->cells = gpc_array(g->n_cols * g->n_rows, sizeof(*g->cells));
	g->widths = gpc_array(g->n_cols, sizeof(*g->widths));
	g->hidden = gpc_array(g->n_cols, sizeof(*g->hidden));
	for (size_t i = 0; i < g->n_cols; i++)
		g->widths[i] = g->cols[i]->width;
	for (size_t i = 0; i < g->n_cols * g->n_rows; i++) {
		size_t c = i % g->n_cols, r = i / g->n_cols;

		g->cells[i] = r ? gpc_cell_text(g->cols[c],
			row_at(t, rows, r - 1)) : gpc_cell_title(g->cols[c]);
		size_t w = gpc_utf8_width(g->cells[i]);
		if (w > g->widths[c])
			g->widths[c] = w;
	}
}

static size_t grid_width(const struct grid *g)
{
	size_t total = 0;

	for (size_t i = 0; i < g->n_cols; i++) {
		if (!g->hidden[i])
			total += g->widths[i] + (total ? GAP : 0);
	}
	return total;
}

static bool is_empty(const struct grid *g, size_t c)
{
	for (size_t r = 1; r < g->n_rows; r++) {
		if (!gpc_eq(g->cells[r * g->n_cols + c], "-"))
			return false;
	}
	return g->n_rows > 1;
}

/* Leaves out columns from the right that say nothing of any row. */
static void grid_drop_empty(struct grid *g, size_t width)
{
	for (size_t i = g->n_cols; i-- > KEPT && grid_width(g) > width;) {
		if (!(g->cols[i]->flags & GPC_COL_F_KEEP) && is_empty(g, i))
			g->hidden[i] = true;
	}
}

/* Leaves out columns from the right until the table fits: those of which `of`, of
 * these flags, are set. */
static void grid_drop(struct grid *g, size_t width, unsigned flags, unsigned of)
{
	for (size_t i = g->n_cols; i-- > KEPT;) {
		unsigned has = g->cols[i]->flags;

		if (grid_width(g) <= width)
			return;
		if (!(has & GPC_COL_F_KEEP) && (has & flags) == of)
			g->hidden[i] = true;
	}
}

/* Takes columns from the widest one with that flag until the table fits. */
static void grid_cut(struct grid *g, size_t width, unsigned flag,
	size_t narrowest)
{
	size_t total = grid_width(g);

	while (total > width) {
		size_t widest = SIZE_MAX;

		for (size_t i = 0; i < g->n_cols; i++) {
			if ((g->cols[i]->flags & flag) &&
				!g->hidden[i] && g->widths[i] > narrowest &&
				(widest == SIZE_MAX ||
				g->widths[i] > g->widths[widest]))
				widest = i;
		}
		if (widest == SIZE_MAX)
			return;
		g->widths[widest]--;
		total--;
	}
}

/* A name is what people copy, so it is cut late. */
static void grid_fit(struct grid *g, size_t width, bool may_drop)
{
	gpc_autostr *full = NULL;
	size_t size = g->n_cols * sizeof(*g->widths);

	full = gpc_alloc(size + 1);
	memcpy(full, g->widths, size);
	if (may_drop) {
		grid_drop_empty(g, width);
		grid_cut(g, width, GPC_COL_F_CUT, SHORT);
		grid_drop(g, width, GPC_COL_F_SPARE, GPC_COL_F_SPARE);
		memcpy(g->widths, full, size);
	}
	grid_cut(g, width, GPC_COL_F_CUT, NARROWEST);
	if (grid_width(g) <= width)
		return;
	if (!may_drop) {        /* lines break anyhow: with all there is */
		memcpy(g->widths, full, size);
		return;
	}
	grid_drop(g, width, GPC_COL_F_CUT, GPC_COL_F_CUT);
	grid_cut(g, width, GPC_COL_F_NAME, NARROW_NAME);
	grid_drop(g, width, GPC_COL_F_CUT, 0);
	/* what stays need not be cut as much */
	memcpy(g->widths, full, size);
	grid_cut(g, width, GPC_COL_F_CUT, NARROWEST);
	grid_cut(g, width, GPC_COL_F_NAME, NARROW_NAME);
	grid_cut(g, width, GPC_COL_F_NAME, NARROWEST);
}

/* How many columns were left out that said something. */
static size_t grid_lacks(const struct grid *g)
{
	size_t n = 0;

	for (size_t c = 0; c < g->n_cols; c++)
		n += g->hidden[c] && !is_empty(g, c);
	return n;
}

static size_t names_width(const struct grid *g)
{
	size_t n = 0;

	for (size_t c = 0; c < g->n_cols; c++)
		n += g->cols[c]->flags & GPC_COL_F_NAME ? g->widths[c] : 0;
	return n;
}

/* The same with room for a mark in the heading where something was left out, unless
 * that costs a column more or a part of a name that is whole. True: the mark is due. */
static bool grid_fit_marked(struct grid *g, size_t width, bool may_drop)
{
	size_t size = g->n_cols * sizeof(*g->widths), names, lacks;
	size_t whole = names_width(g);
	gpc_autostr *full = gpc_alloc(size + 1);
	bool marked;

	memcpy(full, g->widths, size);
	grid_fit(g, width, may_drop);
	lacks = grid_lacks(g);
	if (!lacks)
		return false;
	names = names_width(g);
	for (int again = 0; again < 2; again++) {
		marked = !again && width > MARK;
		memcpy(g->widths, full, size);
		memset(g->hidden, 0, g->n_cols * sizeof(*g->hidden));
		grid_fit(g, marked ? width - MARK : width, may_drop);
		if ((names < whole || names_width(g) >= names) &&
			grid_lacks(g) <= lacks)
			return marked;
	}
	return false;
}

static void grid_add_row(const struct grid *g, size_t r, struct gpc_buf *out)
{
	size_t last = g->n_cols;

	while (last > 1 && g->hidden[last - 1])
		last--;
	last--;
	for (size_t c = 0; c < g->n_cols; c++) {
		const char *cell = g->cells[r * g->n_cols + c];
		size_t width = g->widths[c], w = gpc_utf8_width(cell);

		if (g->hidden[c])
			continue;
		if (c)
			gpc_buf_addf(out, "%*s", GAP, "");
		if (w < width && gpc_cell_is_number(g->cols[c]))
			gpc_buf_addf(out, "%*s", (int)(width - w), "");
		w = add_cut(cell, width, out);
		if (w < width && !gpc_cell_is_number(g->cols[c]) &&
			c < last)
			gpc_buf_addf(out, "%*s", (int)(width - w), "");
	}
	gpc_buf_addc(out, '\n');
}

static void add_table(const struct gpc_out *o, const struct gpc_table *t,
	const void *rows, size_t n, bool heading, struct gpc_buf *out)
{
	struct grid g = {0};
	bool marked = false;

	if (n == 0)
		return;
	grid_fill(&g, o, t, rows, n);
	if (o->width > 0)
		marked = grid_fit_marked(&g, (size_t)o->width,
			o->format != GPC_OUT_WIDE);
	if (o->color && heading)
		gpc_buf_adds(out, "\033[1m");
	for (size_t r = !heading; r < g.n_rows; r++) {
		grid_add_row(&g, r, out);
		if (r == 0 && marked) {
			out->len--;
			gpc_buf_adds(out, " +\n");
		}
		if (r == 0 && o->color) {
			/* before the newline, so that no line starts coloured */
			out->len--;
			gpc_buf_adds(out, "\033[0m\n");
		}
	}
	grid_clear(&g);
}

/* --- csv, name, json --------------------------------------------------- */

static void add_csv_field(const char *text, bool first, struct gpc_buf *out)
{
	if (!first)
		gpc_buf_addc(out, ',');
	if (!strpbrk(text, ",\"\r\n")) {
		gpc_buf_adds(out, text);
		return;
	}
	gpc_buf_addc(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			gpc_buf_addc(out, '"');
		gpc_buf_addc(out, *text);
	}
	gpc_buf_addc(out, '"');
}

/* row NULL: the heading. Money takes two fields: amount and currency. */
static void add_csv_row(const struct gpc_table *t, const void *row,
	struct gpc_buf *out)
{
	for (const struct gpc_col *c = t->cols; c->kind != GPC_COL_END; c++) {
		if (!is_data(c))
			continue;
		gpc_autostr *text = row ? gpc_cell_csv(c, row) : gpc_cell_key(c);

		add_csv_field(text, c == t->cols, out);
		if (c->kind != GPC_COL_MONEY)
			continue;
		const struct gpc_money *m = row ? (const void *)
			((const char *)row + c->offset) : NULL;
		gpc_autostr *key = gpc_format("%s_currency", c->name);
		add_csv_field(m ? m->currency : key, false, out);
	}
	gpc_buf_adds(out, "\r\n");
}

static void add_csv(const struct gpc_table *t, const void *rows, size_t n,
	bool heading, struct gpc_buf *out)
{
	if (heading)
		add_csv_row(t, NULL, out);
	for (size_t i = 0; i < n; i++)
		add_csv_row(t, row_at(t, rows, i), out);
}

/* A row without a name adds none: what reads names would take a - for one. */
static void add_names(const struct gpc_table *t, const void *rows, size_t n,
	struct gpc_buf *out)
{
	const struct gpc_col *name = t->cols;

	for (const struct gpc_col *c = t->cols; c->kind != GPC_COL_END; c++) {
		if (c->flags & GPC_COL_F_NAME)
			name = c;
	}
	for (size_t i = 0; i < n; i++) {
		const void *row = row_at(t, rows, i);
		gpc_autostr *text = gpc_cell_text(name, row);

		if (!gpc_cell_is_none(name, row))
			gpc_buf_addf(out, "%s\n", text);
	}
}

struct gpc_json *gpc_out_row_json(const struct gpc_table *t, const void *row)
{
	struct gpc_json *j = gpc_json_object();

	for (const struct gpc_col *c = t->cols; c->kind != GPC_COL_END; c++) {
		gpc_autostr *key = gpc_cell_key(c);

		if (is_data(c))
			gpc_json_set(j, key, gpc_cell_json(c, row));
	}
	return j;
}

static int rows_json(struct gpc_out *o, const struct gpc_table *t,
	const void *rows, size_t n, struct gpc_error *err)
{
	struct gpc_json *list = gpc_json_array(), *j = gpc_json_object();

	for (size_t i = 0; i < n; i++)
		gpc_json_add(list, gpc_out_row_json(t, row_at(t, rows, i)));
	gpc_json_set(j, "rows", list);
	return gpc_out_json(o, t->thing, j, err);
}

static int print_buf(struct gpc_out *o, const struct gpc_buf *b,
	struct gpc_error *err)
{
	int r = gpc_buf_check(b, err);

	return r ? r : gpc_out_write(o, b->data, b->len, err);
}

static int print_rows(struct gpc_out *o, const struct gpc_table *t,
	const void *rows, size_t n, bool heading, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	switch (o->format) {
	case GPC_OUT_JSON:
		return rows_json(o, t, rows, n, err);
	case GPC_OUT_CSV:
		add_csv(t, rows, n, heading, &b);
		break;
	case GPC_OUT_NAME:
		add_names(t, rows, n, &b);
		break;
	case GPC_OUT_TABLE:
	case GPC_OUT_WIDE:
		add_table(o, t, rows, n, heading, &b);
		break;
	}
	return print_buf(o, &b, err);
}

int gpc_out_rows(struct gpc_out *o, const struct gpc_table *t,
	const void *rows, size_t n, struct gpc_error *err)
{
	return print_rows(o, t, rows, n, true, err);
}

int gpc_out_rows_more(struct gpc_out *o, const struct gpc_table *t,
	const void *rows, size_t n, struct gpc_error *err)
{
	return print_rows(o, t, rows, n, false, err);
}

/* "Title:  value", the titles written as a sentence would. */
static void add_record(const struct gpc_out *o, const struct gpc_table *t,
	const void *row, struct gpc_buf *out)
{
	size_t widest = 0;

	for (const struct gpc_col *c = t->cols; c->kind != GPC_COL_END; c++) {
		size_t w = gpc_utf8_width(c->title ? c->title : c->name);
		if (shown(o, c) && w > widest)
			widest = w;
	}
	for (const struct gpc_col *c = t->cols; c->kind != GPC_COL_END; c++) {
		if (!shown(o, c))
			continue;
		gpc_autostr *title = gpc_cell_title(c);
		gpc_autostr *text = gpc_cell_text(c, row);
		for (char *s = title + 1; *title && *s; s++) {
			if (*s >= 'A' && *s <= 'Z')
				*s = (char)(*s - 'A' + 'a');
		}
		size_t w = gpc_utf8_width(title);
		gpc_buf_addf(out, "%s:%*s%s\n", title,
			(int)(widest - w + GAP), "", text);
	}
}

int gpc_out_record(struct gpc_out *o, const struct gpc_table *t,
	const void *row, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	switch (o->format) {
	case GPC_OUT_JSON:
		return gpc_out_json(o, t->thing, gpc_out_row_json(t, row), err);
	case GPC_OUT_CSV:
		add_csv(t, row, 1, true, &b);
		break;
	case GPC_OUT_NAME:
		add_names(t, row, 1, &b);
		break;
	case GPC_OUT_TABLE:
	case GPC_OUT_WIDE:
		add_record(o, t, row, &b);
		break;
	}
	return print_buf(o, &b, err);
}
