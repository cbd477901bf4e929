/* Command-line options as tables.
 *
 * A command describes its options once, as rows that point into its private
 * context. The table drives parsing, --help, completion, and the check against
 * the man page. The parser has no state of its own and may run twice.
 *
 * A row macro checks the field's type at compile time:
 *
 *	struct logs { bool follow; int tail; const char *rank; };
 *	static const struct gpc_opt options[] = {
 *		GPC_OPT_FLAG('f', "follow", struct logs, follow, "go on"),
 *		GPC_OPT_INT(0, "tail", struct logs, tail, "N", "last N lines",
 *			.min = 0, .max = INT_MAX),
 *		GPC_OPT_END
 *	};
 *
 * Every macro ends in the help text, after which further members of struct
 * gpc_opt may be set by name (`.implied`, `.words`, `.preset` ...).
 *
 * Every option has its key in the configuration, COMMAND.OPTION with _ for -,
 * which holds where the option is not given. An option that belongs to one call
 * says `.key = GPC_OPT_NO_KEY` and stands in gpucloud-config(5).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/money.h"
#include "base/str.h"

enum gpc_opt_type {
	GPC_OPT_T_END,
	GPC_OPT_T_GROUP,     /* more rows, for a struct inside the context */
	GPC_OPT_T_FLAG,      /* bool: set by --x */
	GPC_OPT_T_TRI,       /* enum gpc_tri: --x, --no-x, or neither */
	GPC_OPT_T_STR,       /* const char *, borrowed from argv; NULL = not given */
	GPC_OPT_T_LIST,      /* struct gpc_strv: may be given several times */
	GPC_OPT_T_COUNT,     /* int: how often it was given */
	GPC_OPT_T_INT,       /* int, within .min and .max */
	GPC_OPT_T_SIZE,      /* uint64_t bytes; a bare number counts .unit */
	GPC_OPT_T_DURATION,  /* int64_t ms; a bare number counts .unit */
	GPC_OPT_T_TIME,      /* int64_t wall ms: RFC 3339, YYYY-MM-DD, or an age */
	GPC_OPT_T_MONEY,     /* struct gpc_money; a bare number is USD */
	GPC_OPT_T_ENUM,      /* an enum: the index into .words */
};

enum gpc_tri { GPC_UNSET, GPC_ON, GPC_OFF };

/* What completes a positional or an option's value. */
enum gpc_complete {
	GPC_COMPLETE_NONE,
	GPC_COMPLETE_WORDS,    /* the words list beside it */
	GPC_COMPLETE_FILE,
	GPC_COMPLETE_DIR,
	GPC_COMPLETE_PROGRAM,     /* on PATH */
	GPC_COMPLETE_JOB,         /* any job */
	GPC_COMPLETE_LIVE_JOB,    /* an unfinished one of this user */
	GPC_COMPLETE_ENDED_JOB,
	GPC_COMPLETE_JOB_OR_FILE,
	GPC_COMPLETE_JOB_OR_CHECKPOINT,
	GPC_COMPLETE_CHECKPOINT,  /* an id; of the job on the line, as the next two */
	GPC_COMPLETE_ATTEMPT,
	GPC_COMPLETE_RANK,
	GPC_COMPLETE_SIGNAL,
	GPC_COMPLETE_COMMAND,
	GPC_COMPLETE_FIELD,       /* of a spec: "limits.cost" */
	GPC_COMPLETE_KEY,         /* of the configuration */
	GPC_COMPLETE_KEY_VALUE,   /* of the key that is the second word */
	GPC_COMPLETE_PROFILE,
	GPC_COMPLETE_TEMPLATE,
	GPC_COMPLETE_INFRA,
	GPC_COMPLETE_GPU,
	GPC_COMPLETE_ENV,         /* a variable of the environment */
};

struct gpc_opt {
	enum gpc_opt_type type;
	char letter;                  /* 0 = none */
	const char *name;             /* the long name, without dashes */
	size_t offset;                /* of the field in the context */
	const char *arg;              /* what help calls the value: "DIR" */
	const char *help;             /* one phrase, lower case, no full stop */
	const char *implied;          /* value of a bare --x, which makes =VALUE
	                               * optional and never takes the next word */
	const char *preset;           /* parsed before argv: the default */
	const char *before;           /* LIST: put before each value, so that two
	                               * options fill one list in their order */
	bool negatable;               /* --no-x gives zero (and counts as given) */
	bool hidden;                  /* not in help or completion */
	int64_t min, max;             /* INT; both 0 = 0 .. INT_MAX. DURATION:
	                               * at least min ms */
	int64_t unit;                 /* SIZE: bytes, DURATION: ms; 0 = 1 byte, 1 s */
	const char *const *words;     /* ENUM: NULL-terminated; STR: suggestions */
	enum gpc_complete complete;   /* of the value */
	const struct gpc_opt *group;  /* GROUP: its rows */
	const char *key;              /* configuration: NULL = COMMAND.OPTION,
	                               * NO_KEY = none, else the key of the table
	                               * that is its lasting form; GROUP: what
	                               * stands for COMMAND, and values from files
	                               * are left to whoever reads the spec */
	bool guarded;                 /* no key for a project's file, unless the
	                               * user trusts it */
	const char *unless;           /* its key does not hold when the option of
	                               * this name is given */
};
#define GPC_OPT_NO_KEY ""

#define GPC_OPT__AT(ctx, field, ctype) \
	_Generic(((ctx *)0)->field, ctype: offsetof(ctx, field))
#define GPC_OPT__ROW(kind, l, n, ctx, field, ctype, ...) \
	{ .type = GPC_OPT_T_##kind, .letter = (l), .name = (n), \
	  .offset = GPC_OPT__AT(ctx, field, ctype), .help = __VA_ARGS__ }
#define GPC_OPT__VAL(kind, l, n, ctx, field, ctype, a, ...) \
	{ .type = GPC_OPT_T_##kind, .letter = (l), .name = (n), \
	  .offset = GPC_OPT__AT(ctx, field, ctype), .arg = (a), \
	  .help = __VA_ARGS__ }

#define GPC_OPT_FLAG(l, n, ctx, field, ...) \
	GPC_OPT__ROW(FLAG, l, n, ctx, field, bool, __VA_ARGS__)
#define GPC_OPT_TRI(l, n, ctx, field, ...) \
	GPC_OPT__ROW(TRI, l, n, ctx, field, enum gpc_tri, __VA_ARGS__)
#define GPC_OPT_COUNT(l, n, ctx, field, ...) \
	GPC_OPT__ROW(COUNT, l, n, ctx, field, int, __VA_ARGS__)
#define GPC_OPT_STR(l, n, ctx, field, a, ...) \
	GPC_OPT__VAL(STR, l, n, ctx, field, const char *, a, __VA_ARGS__)
#define GPC_OPT_LIST(l, n, ctx, field, a, ...) \
	GPC_OPT__VAL(LIST, l, n, ctx, field, struct gpc_strv, a, __VA_ARGS__)
#define GPC_OPT_INT(l, n, ctx, field, a, ...) \
	GPC_OPT__VAL(INT, l, n, ctx, field, int, a, __VA_ARGS__)
#define GPC_OPT_SIZE(l, n, ctx, field, a, ...) \
	GPC_OPT__VAL(SIZE, l, n, ctx, field, uint64_t, a, __VA_ARGS__)
#define GPC_OPT_DURATION(l, n, ctx, field, a, ...) \
	GPC_OPT__VAL(DURATION, l, n, ctx, field, int64_t, a, __VA_ARGS__)
#define GPC_OPT_TIME(l, n, ctx, field, a, ...) \
	GPC_OPT__VAL(TIME, l, n, ctx, field, int64_t, a, __VA_ARGS__)
#define GPC_OPT_MONEY(l, n, ctx, field, a, ...) \
	GPC_OPT__VAL(MONEY, l, n, ctx, field, struct gpc_money, a, __VA_ARGS__)
/* The field is any enum whose values start at 0; w is its words in that order. */
#define GPC_OPT_ENUM(l, n, ctx, field, a, w, ...) \
	{ .type = GPC_OPT_T_ENUM, .letter = (l), .name = (n), .offset = \
	  _Generic(((ctx *)0)->field, int: offsetof(ctx, field), \
		unsigned: offsetof(ctx, field)), \
	  .arg = (a), .words = (w), .help = __VA_ARGS__ }
/* Rows of a shared group, whose struct is the field; ends in the rows. */
#define GPC_OPT_GROUP(ctx, field, ctype, ...) \
	{ .type = GPC_OPT_T_GROUP, .offset = GPC_OPT__AT(ctx, field, ctype), \
	  .group = __VA_ARGS__ }
#define GPC_OPT_END { .type = GPC_OPT_T_END }

/* One table and the context that its offsets count from. */
struct gpc_opt_set {
	const struct gpc_opt *rows;
	void *base;
};

struct gpc_opt_args {
	const char **argv;             /* positionals, borrowed; NULL at the end */
	int argc;
	const char **rest;             /* after `--`: NULL when there was none */
	int n_rest;
	struct gpc_strv given;         /* long names of the options that were given */
	struct gpc_strv set;           /* and of those that the configuration set */
};

/* Parses argv[0 .. argc) (no program name) into the sets, of which the first
 * that knows a name wins. With split, what follows `--` goes to rest, else to
 * argv too. With stop_at_word, parsing ends before the first positional, which
 * then starts argv together with all that follows. */
int gpc_opt_parse(const struct gpc_opt_set *sets, size_t n_sets, int argc,
	char *const *argv, unsigned flags, struct gpc_opt_args *ret_args,
	struct gpc_error *err) gpc_must_check;
enum { GPC_OPT_SPLIT = 1, GPC_OPT_STOP_AT_WORD = 2 };
/* On the command line; gpc_opt_is_set: or by the configuration. */
bool gpc_opt_given(const struct gpc_opt_args *a, const char *name);
bool gpc_opt_is_set(const struct gpc_opt_args *a, const char *name);
void gpc_opt_args_clear(struct gpc_opt_args *a);
GPC_CLEANUP_VALUE(gpc_opt_args);

/* Sets every row's preset; gpc_opt_parse does so by itself. */
int gpc_opt_preset(const struct gpc_opt *rows, void *base,
	struct gpc_error *err) gpc_must_check;
/* One value as the configuration writes it: "true" for a flag, how often for a
 * COUNT, else as after --name=. text is borrowed, like argv; label is what
 * errors call it, whose code is GPC_ECONFIG. */
int gpc_opt_set_text(const struct gpc_opt *row, void *base, const char *text,
	const char *label, struct gpc_error *err) gpc_must_check;
/* Whether text is such a value. */
int gpc_opt_check_text(const struct gpc_opt *row, const char *text,
	const char *label, struct gpc_error *err) gpc_must_check;
/* Frees what rows own in base (lists). */
void gpc_opt_release(const struct gpc_opt *rows, void *base);

/* Calls fn for every visible row, groups expanded. */
typedef void gpc_opt_fn(const struct gpc_opt *row, void *arg);
void gpc_opt_each(const struct gpc_opt *rows, gpc_opt_fn *fn, void *arg);
/* The row of a long name ("follow", or "no-x" of a negatable row) or NULL. */
const struct gpc_opt *gpc_opt_find(const struct gpc_opt *rows, const char *name);
/* Appends the table as --help shows it, in width columns. */
void gpc_opt_help(const struct gpc_opt *rows, size_t width, struct gpc_buf *out);
