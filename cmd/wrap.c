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

/* --- talk ------------------------------------------------------------------ */
enum { LABEL_MAX = 24, HANG = 2 };

/* Columns of the n bytes at s, without the sequences that colour them. */
static size_t shown_width(const char *s, size_t n)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	for (size_t i = 0; i < n; i++) {
		if (s[i] != '\033') {
			gpc_buf_addc(&b, s[i]);
			continue;
		}
		while (i + 1 < n && s[i] != 'm')
			i++;
	}
	return gpc_utf8_width(gpc_buf_str(&b));
}

/* Where the text behind a label begins; 0 when there is no label. */
static size_t label_end(const char *line)
{
	size_t n = strspn(line, " ");

	if (gpc_starts_with(line + n, "hint: "))
		return n + 6;
	if (n < 2)
		return 0;
	for (size_t i = n; line[i] && i < LABEL_MAX; i++) {
		if (line[i] == ' ' && line[i + 1] == ' ')
			return i + strspn(line + i, " ");
	}
	return 0;
}

/* A command in backquotes is one word, for it to be copied. */
static size_t word_length(const char *s, bool quoted)
{
	const char *close;
	size_t n = 0;

	while (s[n] && s[n] != ' ') {
		if (quoted && s[n] == '`' && (close = strchr(s + n + 1, '`')))
			n = (size_t)(close - s);
		n++;
	}
	return n;
}

void gpc_wrap_line(const char *line, size_t lead, size_t hang, size_t width,
	struct gpc_buf *out)
{
	size_t column = shown_width(line, lead), n;
	bool first = true;

	gpc_buf_add(out, line, lead);
	for (const char *s = line + lead; *s; s += n) {
		size_t gap = strspn(s, " ");

		s += gap;
		n = word_length(s, true);
		/* what fits no line would be broken by the terminal */
		if (hang + shown_width(s, n) > width)
			n = word_length(s, false);
		size_t needs = shown_width(s, n);
		if (!first && n && column + gap + needs > width) {
			gpc_buf_addf(out, "\n%*s", (int)hang, "");
			column = hang;
		} else {
			gpc_buf_addf(out, "%*s", (int)gap, "");
			column += gap;
		}
		gpc_buf_add(out, s, n);
		column += needs;
		first = false;
	}
	gpc_buf_addc(out, '\n');
}

void gpc_wrap_talk(const char *line, size_t width, struct gpc_buf *out)
{
	size_t label = label_end(line), lead = label ? label :
		strspn(line, " ");
	size_t hang = label && label * 2 < width ? label : lead + HANG;

	gpc_wrap_line(line, lead, hang, width, out);
}
