/* Renders one record as one line and hands it to the sink. A line goes out in
 * a single write, so that lines of several processes on one terminal or file
 * do not mix; bytes from outside cannot forge a second line or a colour.
 */
#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/time.h"

static const struct {
	const char *word, *prefix, *color;
} levels[] = {
	[GPC_ERROR] = {"error", "error: ", "\033[31m"},
	[GPC_WARN] = {"warning", "warning: ", "\033[33m"},
	[GPC_INFO] = {"info", "", ""},
	[GPC_VERBOSE] = {"verbose", "", "\033[2m"},
	[GPC_TRACE] = {"trace", "trace: ", "\033[2m"},
};

/* text is printable already: of what JSON escapes, only these two are left. */
static void add_json_string(struct gpc_buf *b, const char *text)
{
	gpc_buf_addc(b, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			gpc_buf_addc(b, '\\');
		gpc_buf_addc(b, *text);
	}
	gpc_buf_addc(b, '"');
}

static void render(const struct gpc_log *log, enum gpc_level level,
	const char *text, struct gpc_buf *line)
{
	char now[GPC_RFC3339_SIZE];

	if (log->json) {
		gpc_buf_addf(line, "{\"time\":\"%s\",\"level\":\"%s\",\"msg\":",
			gpc_format_rfc3339(gpc_wall_ms(), now),
			levels[level].word);
		add_json_string(line, text);
		gpc_buf_addc(line, '}');
	} else if (log->color && levels[level].color[0]) {
		gpc_buf_addf(line, "%s%s%s\033[0m", levels[level].color,
			levels[level].prefix, text);
	} else {
		gpc_buf_addf(line, "%s%s", levels[level].prefix, text);
	}
}

static void write_line(struct gpc_buf *line)
{
	ssize_t n;

	gpc_buf_addc(line, '\n');
	/* Nobody can be told that stderr is gone. */
	do
		n = write(STDERR_FILENO, line->data, line->len);
	while (n < 0 && errno == EINTR);
}

void gpc_log(const struct gpc_log *log, enum gpc_level level,
	const char *fmt, ...)
{
	gpc_autostr *text = NULL, *safe = NULL;
	gpc_auto(gpc_buf) struct gpc_buf line = {0};
	va_list ap;

	if (!log || level > log->level)
		return;
	va_start(ap, fmt);
	text = gpc_vformat(fmt, ap);
	va_end(ap);
	safe = gpc_str_printable(text, strlen(text));
	render(log, level, safe, &line);
	if (log->sink)
		log->sink(log->sink_arg, level, gpc_buf_str(&line));
	else
		write_line(&line);
}
