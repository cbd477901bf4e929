/* What `gpucloud check` knows of one thing, and how it looks at the store. */
#pragma once
#include "cmd/command.h"

enum gpc_check_state {
	GPC_CHECK_OK, GPC_CHECK_ABSENT, GPC_CHECK_FAILED,
	GPC_CHECK_WARNING,              /* something is less than it could be */
};

struct gpc_check_row {
	const char *name;               /* "aws", "aws launch" */
	char *own_name;                 /* what name points to, where not static */
	enum gpc_check_state state;
	char *identity, *account, *source, *region;     /* NULL: not known */
	int64_t expires_ms;             /* 0: never */
	struct gpc_strv may;
	char *found;                    /* by a line of a cloud: "permitted" */
	char *problem, *hint;
	char *searched;                 /* where, when nothing is set up */
	struct gpc_error why;           /* unless it is ok */
};
/* The first failure counts; later ones mostly follow from it. */
void gpc_check_failed(struct gpc_check_row *row, const struct gpc_error *why);
void gpc_check_absent(struct gpc_check_row *row, const struct gpc_error *why);

struct gpc_check_rows { struct gpc_check_row *v; size_t n, cap; };

void gpc_check_store(struct gpc_cmd *c, struct gpc_check_row *row);
/* Adds a line for each thing that buying at a provider rests on; for one of which nothing
 * of the kind is known, none. */
void gpc_check_ready(struct gpc_cmd *c, const char *provider,
	struct gpc_check_rows *rows);
