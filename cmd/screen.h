/* A text that is drawn again and again in the same place of a terminal. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cmd/out.h"

struct gpc_screen {
	int fd;                   /* the terminal */
	int width, height;        /* of it; 0 = not known */
	int drawn;                /* lines that stand there, cursor below them */
	bool resized;             /* they may have been broken anew */
};
/* Columns of a terminal; 0 = it is none, or does not say. */
int gpc_terminal_width(int fd);
/* Looks at the terminal's size; true when it is another than before. */
bool gpc_screen_measure(struct gpc_screen *s);
/* Draws text in place of the one before, by one write: what is too wide is cut,
 * and of what is too high the end is left out, which the last line says. The
 * cursor ends below it, so that it stays when nothing follows. */
int gpc_screen_draw(struct gpc_screen *s, struct gpc_out *o, const char *text,
	struct gpc_error *err) gpc_must_check;
