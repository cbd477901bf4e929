/* Breaking prose into lines. */
#pragma once
#include <stddef.h>

#include "base/buf.h"

/* Appends text with lines of at most width columns, and a newline at the end.
 * The cursor stands at column; later lines are indented. A \n in text starts a
 * new line; a line of text that begins with a space is copied as it is. */
void gpc_wrap_text(const char *text, size_t column, size_t indent,
	size_t width, struct gpc_buf *out);
/* One line (no newline in it, colours allowed) in lines of at most width columns,
 * with a newline at the end: its first lead bytes as they are, later lines indented
 * by hang. What stands in `backquotes` is a command to be copied, and stays on one
 * line. */
void gpc_wrap_line(const char *line, size_t lead, size_t hang, size_t width,
	struct gpc_buf *out);
/* One line of talk (no newline in it, colours allowed) for a terminal of that
 * width, with a newline at the end. Later lines hang below the text that
 * follows a label ("  hint: ", "  price   "). */
void gpc_wrap_talk(const char *line, size_t width, struct gpc_buf *out);
