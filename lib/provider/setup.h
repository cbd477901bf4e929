/* What an account of a provider needs once before nodes can be bought there: shown,
 * made, and taken away again. A provider that needs nothing has no such ops. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

struct gpc_provider;

struct gpc_setup_wish {                 /* all borrowed */
	const char *store_url;          /* the store that nodes are to reach */
	const struct gpc_strv *sources; /* CIDR blocks; NULL or none: from anywhere */
	bool supervisor;                /* also what a supervisor there needs */
	bool groups;                    /* nodes may end a group that replaces them */
	const char *figures;            /* where nodes put metrics (aws.cloudwatch); or
	                                 * NULL */
	bool drop_objects;              /* undo: also of what holds objects */
};
enum gpc_setup_state {
	GPC_SETUP_THERE,                /* as it shall be */
	GPC_SETUP_MISSING,
	GPC_SETUP_DIFFERS,
	GPC_SETUP_KEPT,                 /* undo: stays; `detail` says why */
};
struct gpc_setup_item {
	const char *kind;               /* "role"; static */
	int part, which;                /* the provider's own */
	enum gpc_setup_state state;
	char *name;                     /* "gpucloud-node" */
	char *detail;                   /* for people: what it is for, how it differs */
};
struct gpc_setup_items { struct gpc_setup_item *v; size_t n, cap; };
void gpc_setup_items_clear(struct gpc_setup_items *x);
GPC_CLEANUP_VALUE(gpc_setup_items);

/* Something that buying there rests on. */
enum gpc_line_state { GPC_LINE_GOOD, GPC_LINE_WARNING, GPC_LINE_MISSING };
struct gpc_check_line {
	const char *what;               /* "launch"; static */
	char *where;                    /* "us-west-2"; or NULL: where it is looked first */
	enum gpc_line_state state;
	char *found;                    /* for people; or NULL */
	struct gpc_error why;           /* unless good; with what to do */
};
struct gpc_check_lines { struct gpc_check_line *v; size_t n, cap; };
void gpc_check_lines_clear(struct gpc_check_lines *x);
GPC_CLEANUP_VALUE(gpc_check_lines);

struct gpc_setup_ops {
	/* What there is of it, in the order in which it is made. Changes nothing. */
	int (*look)(struct gpc_provider *p, const struct gpc_setup_wish *wish,
		struct gpc_setup_items *ret, struct gpc_error *err);
	/* Makes it as it shall be, or alters it; idempotent. GPC_ENOTFOUND: what was
	 * made before it is not seen everywhere yet, try again. */
	int (*make)(struct gpc_provider *p, const struct gpc_setup_wish *wish,
		const struct gpc_setup_item *item, struct gpc_error *err);
	/* What `make` made and is there still, in the order in which it goes. */
	int (*look_back)(struct gpc_provider *p, const struct gpc_setup_wish *wish,
		struct gpc_setup_items *ret, struct gpc_error *err);
	/* Idempotent. */
	int (*unmake)(struct gpc_provider *p, const struct gpc_setup_wish *wish,
		const struct gpc_setup_item *item, struct gpc_error *err);
	/* The same as a template of the provider's own; asks nobody but for the
	 * account's number where it is part of it. Owned. */
	int (*export)(struct gpc_provider *p, const struct gpc_setup_wish *wish,
		char **ret_text, struct gpc_error *err);
	/* Whether jobs could be bought now. Fails only when nothing can be asked. */
	int (*check)(struct gpc_provider *p, const struct gpc_setup_wish *wish,
		struct gpc_check_lines *ret, struct gpc_error *err);
};
