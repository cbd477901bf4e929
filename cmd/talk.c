/* Everything that gpucloud says to people passes here, so that one place keeps
 * the progress line apart from it and makes bytes from outside harmless.
 */
#include "cmd/talk.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "cmd/wrap.h"

enum { NARROWEST = 20 };          /* below it breaking lines only hurts */

void gpc_talk_clear_line(struct gpc_talk *t)
{
	if (!t->line_shown)
		return;
	fputs("\r\033[K", t->to);
	fflush(t->to);
	t->line_shown = false;
}

/* On a terminal lines are broken between words; elsewhere a message stays one
 * line, so that grep finds it whole. */
static void add_line(const struct gpc_talk *t, const char *line,
	struct gpc_buf *out)
{
	if (t->tty && !t->json && t->width >= NARROWEST)
		gpc_wrap_talk(line, (size_t)t->width, out);
	else
		gpc_buf_addf(out, "%s\n", line);
}

/* One write for the whole text: two processes on one terminal do not mix. */
static void put_lines(struct gpc_talk *t, const char *text)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_str rest = gpc_str_of(text), line;

	gpc_talk_clear_line(t);
	while (gpc_str_split(&rest, '\n', &line)) {
		gpc_autostr *safe = gpc_str_printable(line.ptr, line.len);

		add_line(t, safe, &b);
	}
	fwrite(b.data, 1, b.len, t->to);
	fflush(t->to);
}

/* The name in front of a line and its indent are for people. */
static void put_objects(struct gpc_talk *t, const char *text)
{
	static const char name[] = "gpucloud: ";
	const struct gpc_log log = {
		.level = GPC_INFO, .json = true, .sink = gpc_talk_log,
		.sink_arg = t,
	};
	struct gpc_str rest = gpc_str_of(text), line;

	while (gpc_str_split(&rest, '\n', &line)) {
		gpc_autostr *one = NULL;

		line = gpc_str_trim(line);
		if (!line.len)
			continue;
		one = gpc_strndup(line.ptr, line.len);
		gpc_log(&log, GPC_INFO, "%s", one +
			(gpc_starts_with(one, name) ? sizeof(name) - 1 : 0));
	}
}

void gpc_say(struct gpc_talk *t, const char *fmt, ...)
{
	va_list ap;

	if (t->quiet)
		return;
	va_start(ap, fmt);
	gpc_autostr *text = gpc_vformat(fmt, ap);
	va_end(ap);
	if (t->json)
		put_objects(t, text);
	else
		put_lines(t, text);
}

/* The line is rendered and made printable already. What is said at INFO is talk as
 * any other; warnings have their word in front. */
void gpc_talk_log(void *talk, enum gpc_level level, const char *line)
{
	struct gpc_talk *t = talk;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *led = level == GPC_INFO && !t->json ?
		gpc_format("gpucloud: %s", line) : NULL;

	gpc_talk_clear_line(t);
	add_line(t, led ? led : line, &b);
	fwrite(b.data, 1, b.len, t->to);
	fflush(t->to);
}

bool gpc_can_ask(const struct gpc_talk *t)
{
	return t->tty && isatty(STDIN_FILENO);
}

/* Reads byte by byte: what follows the line belongs to somebody else. */
static void read_answer(char *answer, size_t size)
{
	size_t n = 0;
	char c;

	while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n') {
		if (n + 1 < size)
			answer[n++] = c;
	}
	answer[n] = '\0';
}

bool gpc_ask(struct gpc_talk *t, const char *fmt, ...)
{
	char answer[16];
	va_list ap;

	if (!gpc_can_ask(t))
		return false;
	va_start(ap, fmt);
	gpc_autostr *text = gpc_vformat(fmt, ap);
	va_end(ap);
	gpc_autostr *safe = gpc_str_printable(text, strlen(text));
	gpc_talk_clear_line(t);
	fprintf(t->to, "%s [y/N] ", safe);
	fflush(t->to);
	read_answer(answer, sizeof(answer));
	return gpc_eq_nocase(answer, "y") || gpc_eq_nocase(answer, "yes");
}
