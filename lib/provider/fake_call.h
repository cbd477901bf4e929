/* One call to the pretend cloud `fake`: under its lock, with the fault that its script
 * has for it, and told in its ledger. */
#pragma once
#include "provider/fake_book.h"

struct gpc_fake_call {
	const char *dir;
	enum gpc_fake_op op;
	struct gpc_fake_fault fault;
	struct gpc_json *entry;       /* for the ledger */
	int lock;
	int64_t now;                  /* boot clock */
};
bool gpc_fake_exists(const char *dir);
/* Each call that was begun is ended, whatever came of it. */
int gpc_fake_call_begin(struct gpc_fake_call *c, const char *dir,
	enum gpc_fake_op op, const char *zone, struct gpc_error *err)
	gpc_must_check;
/* What the fault does instead of the call. */
int gpc_fake_call_refused(const struct gpc_fake_call *c, struct gpc_error *err)
	gpc_must_check;
/* Writes the ledger's line and ends the call; r: what came of it, returned. A lost answer
 * turns success into an error that says nothing about what was done. */
int gpc_fake_call_end(struct gpc_fake_call *c, int r, struct gpc_error *err)
	gpc_must_check;
