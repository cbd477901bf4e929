/* Talk on stderr: lines for people, questions, and the one progress line that
 * is cleared before anything else is said. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"

struct gpc_talk {
	FILE *to;              /* stderr; another stream in tests */
	bool tty;
	bool color;
	bool dumb;             /* a terminal that cannot draw over a line */
	bool quiet;            /* -q: only errors */
	bool json;             /* each line as an object, as gpc_log writes them */
	int width;             /* columns, 0 = unknown */
	bool line_shown;       /* a progress line stands on the terminal */
};

/* One line without a prefix; a newline is added. Not shown with -q. */
void gpc_say(struct gpc_talk *t, const char *fmt, ...) gpc_printf(2, 3);
/* Takes the progress line away; it comes back with its next update. */
void gpc_talk_clear_line(struct gpc_talk *t);
/* A sink for struct gpc_log whose sink_arg is a struct gpc_talk. */
void gpc_talk_log(void *talk, enum gpc_level level, const char *line);

/* True when stdin and stderr are terminals, so that a question makes sense. */
bool gpc_can_ask(const struct gpc_talk *t);
/* Asks "text [y/N] " and waits; anything but y or yes is no. Without a terminal
 * the answer is no; the caller says what to pass instead (-y). */
bool gpc_ask(struct gpc_talk *t, const char *fmt, ...) gpc_printf(2, 3);
