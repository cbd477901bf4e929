/* What `gpucloud check` knows of one thing, and how it looks at the store. */
#pragma once
#include "cmd/command.h"

enum gpc_check_state { GPC_CHECK_OK, GPC_CHECK_ABSENT, GPC_CHECK_FAILED };

struct gpc_check_row {
	const char *name;
	enum gpc_check_state state;
	char *identity, *account, *source, *region;     /* NULL: not known */
	int64_t expires_ms;             /* 0: never */
	struct gpc_strv may;
	char *problem, *hint;
	char *searched;                 /* where, when nothing is set up */
	struct gpc_error why;           /* unless it is ok */
};
/* The first failure counts; later ones mostly follow from it. */
void gpc_check_failed(struct gpc_check_row *row, const struct gpc_error *why);
void gpc_check_absent(struct gpc_check_row *row, const struct gpc_error *why);

void gpc_check_store(struct gpc_cmd *c, struct gpc_check_row *row);
