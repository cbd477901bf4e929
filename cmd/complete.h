/* `gpucloud __complete WORD...`: what the shells' completion scripts call. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "cmd/command.h"

/* argv: the words after "gpucloud" without their quotes, the last one being
 * the word under the cursor (may be ""). Prints one candidate a line as
 * "word\tdescription". A line ":file\tLEAD", ":dir\tLEAD" or ":program\t" asks
 * the shell for paths or programs; LEAD is what stands before the path in the
 * word ("--store="). Always returns 0 and says nothing on stderr: whatever is
 * broken only means fewer candidates. */
int gpc_complete_run(struct gpc_cmd *c, int argc, char *const *argv,
	struct gpc_error *err) gpc_must_check;

/* --- between the files of completion ---------------------------------------- */
struct gpc_completion {
	struct gpc_cmd *c;
	const char *prefix;          /* what a candidate must start with */
	const char *lead;            /* "--output=" before each candidate */
	const char *job;             /* the JOB on the line, or NULL */
	const char *const *typed;    /* positionals before the cursor */
	int n_typed;
	bool may_repeat;             /* the command takes several of a kind */
};
/* Prints it if it matches and is not typed yet; about may be NULL. */
void gpc_complete_offer(struct gpc_completion *k, const char *word,
	const char *about);
/* Everything of that kind. words: the words of GPC_COMPLETE_WORDS, offered for
 * the other kinds too; may be NULL. */
void gpc_complete_kind(struct gpc_completion *k, enum gpc_complete kind,
	const char *const *words);
/* What the store knows: jobs, checkpoints, attempts, ranks. */
void gpc_complete_store(struct gpc_completion *k, enum gpc_complete kind);
