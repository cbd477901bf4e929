/* Why a machine never came so far that its agent could write to the store: words
 * that the machine's own script, or its agent, writes to the console in one line,
 *
 *	gpucloud: boot failed: WORD: what was seen
 *
 * and what they mean. Each word is in gpucloud-aws(7), with what to do about it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "model/job.h"

#define GPC_BOOT_MARK "gpucloud: boot failed: "

struct gpc_boot_failure {
	const char *word;             /* "no_network" */
	enum gpc_reason reason;       /* that the attempt ends with */
	bool final;                   /* no other machine would do better */
	const char *what, *advice;    /* for people */
};
/* The table, ending with a row whose word is NULL. */
extern const struct gpc_boot_failure gpc_boot_failures[];

/* NULL for an unknown word. */
const struct gpc_boot_failure *gpc_boot_failure_find(const char *word);
/* The word for what kept an agent from its job before it could write to the store. */
const char *gpc_boot_failure_word(const struct gpc_error *err);
/* The last such line of a console, which is any bytes; that the agent died says less
 * than what it said before. NULL: there is none, or one with a word that is not known.
 * *ret_said: what was seen, printable, owned. */
const struct gpc_boot_failure *gpc_boot_failure_read(const char *console,
	size_t n, char **ret_said);
/* What happened, what was seen, what to do; owned. said may be NULL. */
char *gpc_boot_failure_text(const struct gpc_boot_failure *f, const char *said);
