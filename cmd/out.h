/* Data on stdout.
 *
 * A command describes its rows once; table, wide, json, csv and name are
 * rendered from that one description, so they cannot disagree. Text from
 * outside is made printable for people and kept exact for programs.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/money.h"
#include "base/str.h"
#include "dep/json.h"

enum gpc_out_format {
	GPC_OUT_TABLE, GPC_OUT_WIDE, GPC_OUT_JSON, GPC_OUT_CSV, GPC_OUT_NAME,
};
extern const char *const gpc_out_formats[];   /* their words, NULL at the end */

struct gpc_out {
	enum gpc_out_format format;
	FILE *to;              /* stdout; another stream in tests */
	int width;             /* columns of the terminal; 0 = do not cut */
	bool color;
	bool broken;           /* the reader went away (EPIPE) */
	int failed;            /* errno of the first write that failed */
};

/* kind: the field's C type; how people see it; how JSON holds it */
enum gpc_col_kind {
	GPC_COL_STR,       /* char *; NULL shows as - and null */
	GPC_COL_INT,       /* int */
	GPC_COL_I64,       /* int64_t */
	GPC_COL_COUNT,     /* int, < 0 = not known: shows as - and null */
	GPC_COL_BOOL,      /* bool; yes/no */
	GPC_COL_DOUBLE,    /* double; NaN shows as - and null */
	GPC_COL_MONEY,     /* struct gpc_money; JSON {"amount":"1.25","currency":"USD"} */
	GPC_COL_TIME,      /* int64_t wall ms, 0 = none; JSON in RFC 3339 */
	GPC_COL_AGE,       /* the same, shown as the time since then */
	GPC_COL_DURATION,  /* int64_t ms, < 0 = none; JSON key gets _ms */
	GPC_COL_SIZE,      /* uint64_t bytes, GPC_SIZE_NONE = none; JSON key gets
	                    * _bytes */
	GPC_COL_ENUM,      /* an enum, by names[]; JSON has the word */
	GPC_COL_STRV,      /* struct gpc_strv; joined by commas; JSON array */
	GPC_COL_END,
};
enum {
	GPC_COL_F_WIDE = 1,    /* not in a plain table */
	GPC_COL_F_NAME = 2,    /* what -o name prints; cut when no CUT is left */
	GPC_COL_F_DATA = 4,    /* only in json and csv */
	GPC_COL_F_CUT = 8,     /* may be cut to make the table fit the terminal */
	GPC_COL_F_KEEP = 16,   /* not left out of it, as others are */
	GPC_COL_F_SPARE = 32,  /* left out of it before another one is cut short */
	GPC_COL_F_PLAIN = 64,  /* only in a plain table */
};

struct gpc_col {
	const char *name;      /* snake_case: the JSON key; shown in capitals */
	enum gpc_col_kind kind;
	size_t offset;
	unsigned flags;
	const char *const *names;   /* ENUM: NULL-terminated */
	const char *title;          /* heading, where name does not serve */
	size_t width;               /* of a table, at least: where rows come in
	                             * blocks */
};
#define GPC_SIZE_NONE UINT64_MAX

#define GPC_COL__STR char *: 0, const char *: 0
#define GPC_COL__INT int: 0
#define GPC_COL__I64 int64_t: 0
#define GPC_COL__COUNT int: 0
#define GPC_COL__BOOL bool: 0
#define GPC_COL__DOUBLE double: 0
#define GPC_COL__MONEY struct gpc_money: 0
#define GPC_COL__TIME int64_t: 0
#define GPC_COL__AGE int64_t: 0
#define GPC_COL__DURATION int64_t: 0
#define GPC_COL__SIZE uint64_t: 0
#define GPC_COL__ENUM int: 0, unsigned: 0
#define GPC_COL__STRV struct gpc_strv: 0
/* GPC_COL("state", ENUM, struct row, state, 0, .names = state_names): the
 * field's type is checked; flags are required, more members may follow. */
#define GPC_COL(n, k, type, field, ...) \
	{ .name = (n), .kind = GPC_COL_##k, .offset = offsetof(type, field) + \
	  _Generic(((type *)0)->field, GPC_COL__##k), .flags = __VA_ARGS__ }
#define GPC_COL_LAST { .kind = GPC_COL_END }

struct gpc_table {
	const char *thing;          /* "job": the schema is gpucloud.job/1 */
	const struct gpc_col *cols;
	size_t row_size;
};

/* json: {"schema": "gpucloud.job/1", "rows": [...]}; name: one name a
 * line, none for a row without one; a table without rows prints nothing. */
int gpc_out_rows(struct gpc_out *o, const struct gpc_table *t,
	const void *rows, size_t n, struct gpc_error *err) gpc_must_check;
/* The same without a heading, for what follows rows that were printed before: so
 * that a list of any length takes little memory. Not for json. */
int gpc_out_rows_more(struct gpc_out *o, const struct gpc_table *t,
	const void *rows, size_t n, struct gpc_error *err) gpc_must_check;
/* One row in detail: "Title:  value" lines, or one JSON object with schema. */
int gpc_out_record(struct gpc_out *o, const struct gpc_table *t,
	const void *row, struct gpc_error *err) gpc_must_check;
/* The row as a JSON object without schema, to be nested in another one. */
struct gpc_json *gpc_out_row_json(const struct gpc_table *t, const void *row);

/* Prints one JSON object over several lines, "schema" first. Takes j. */
int gpc_out_json(struct gpc_out *o, const char *thing, struct gpc_json *j,
	struct gpc_error *err) gpc_must_check;
/* The same on one line, flushed: one event of JSON lines. Takes j. */
int gpc_out_event(struct gpc_out *o, const char *thing, struct gpc_json *j,
	struct gpc_error *err) gpc_must_check;
/* Text and raw bytes; gpc_out_write flushes, as a reader may be waiting. */
int gpc_out_print(struct gpc_out *o, struct gpc_error *err,
	const char *fmt, ...) gpc_printf(3, 4) gpc_must_check;
int gpc_out_write(struct gpc_out *o, const void *data, size_t n,
	struct gpc_error *err) gpc_must_check;
/* Flushes and looks whether everything arrived; sets broken on EPIPE. */
int gpc_out_finish(struct gpc_out *o, struct gpc_error *err) gpc_must_check;
