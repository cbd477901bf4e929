/* Breaking prose into lines: greedy, by UTF-8 width; a word that is longer than
 * a line stays whole, because cutting an option or a URL would be worse. */
#include "cmd/wrap.h"

#include <string.h>

#include "base/str.h"

static void wrap_line(struct gpc_str line, size_t column, size_t indent,
	size_t width, struct gpc_buf *out)
{
	struct gpc_str word;
	bool first = true;

	if (line.len && line.ptr[0] == ' ') {
		gpc_buf_add(out, line.ptr, line.len);
		return;
	}
	while (gpc_str_split(&line, ' ', &word)) {
		gpc_autostr *text = gpc_strndup(word.ptr, word.len);
		size_t needs = gpc_utf8_width(text);

		if (!needs)
			continue;
		if (!first && column + 1 + needs > width) {
			gpc_buf_addf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			gpc_buf_addc(out, ' ');
			column++;
		}
		gpc_buf_adds(out, text);
		column += needs;
		first = false;
	}
}

void gpc_wrap_text(const char *text, size_t column, size_t indent,
	size_t width, struct gpc_buf *out)
{
	struct gpc_str rest = gpc_str_of(text), line;
	bool first = true;

	while (gpc_str_split(&rest, '\n', &line)) {
		if (!first && line.len)
			gpc_buf_addf(out, "%*s", (int)indent, "");
		wrap_line(line, first ? column : indent, indent, width, out);
		gpc_buf_addc(out, '\n');
		first = false;
	}
}
