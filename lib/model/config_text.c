/* The parser tells lines and columns in characters; a text is edited in bytes.
 * Where the two cannot be brought together (line breaks that only Unicode
 * knows), the places are wrong, and whoever edits notices when the result is
 * read again.
 */
#include "model/config_text.h"

#include <string.h>

void gpc_config_text_init(struct gpc_config_text *t, const char *text, size_t n)
{
	const char *newline = n ? memchr(text, '\n', n) : NULL;
	bool crlf = newline && newline > text && newline[-1] == '\r';

	*t = (struct gpc_config_text){
		.text = text ? text : "", .n = n,
		.line_end = crlf ? "\r\n" : "\n",
	};
}

static bool starts_with_bom(const struct gpc_config_text *t)
{
	return t->n >= 3 && !memcmp(t->text, "\xef\xbb\xbf", 3);
}

size_t gpc_config_text_next_line(const struct gpc_config_text *t, size_t at)
{
	for (; at < t->n; at++) {
		if (t->text[at] == '\n')
			return at + 1;
		if (t->text[at] == '\r' && (at + 1 == t->n ||
			t->text[at + 1] != '\n'))
			return at + 1;
	}
	return t->n;
}

size_t gpc_config_text_line(const struct gpc_config_text *t, size_t at)
{
	while (at > 0 && t->text[at - 1] != '\n' && t->text[at - 1] != '\r')
		at--;
	return at == 0 && starts_with_bom(t) ? 3 : at;
}

size_t gpc_config_text_at(const struct gpc_config_text *t, int line, int column)
{
	size_t at = starts_with_bom(t) ? 3 : 0;

	for (int i = 1; i < line; i++)
		at = gpc_config_text_next_line(t, at);
	for (int i = 1; i < column && at < t->n; i++) {
		at++;
		while (at < t->n && ((unsigned char)t->text[at] & 0xc0) == 0x80)
			at++;
	}
	return at;
}

size_t gpc_config_text_start(const struct gpc_config_text *t,
	const struct gpc_yaml_node *node)
{
	return gpc_config_text_at(t, node->line, node->column);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* # begins a comment at the start of a line and behind a blank. */
static bool is_comment(const struct gpc_config_text *t, size_t at)
{
	return t->text[at] == '#' && (at == 0 || is_blank(t->text[at - 1]) ||
		(at == 3 && starts_with_bom(t)));
}

size_t gpc_config_text_skip(const struct gpc_config_text *t, size_t from)
{
	while (from < t->n) {
		if (is_comment(t, from))
			from = gpc_config_text_next_line(t, from);
		else if (is_blank(t->text[from]))
			from++;
		else
			break;
	}
	return from;
}

bool gpc_config_text_blank(const struct gpc_config_text *t, size_t from,
	size_t to, bool comments)
{
	if (comments)
		return gpc_config_text_skip(t, from) >= to;
	while (from < to && is_blank(t->text[from]))
		from++;
	return from >= to;
}

/* Behind anchors and tags. */
static size_t skip_properties(const struct gpc_config_text *t, size_t at)
{
	while (at < t->n && (t->text[at] == '&' || t->text[at] == '!')) {
		while (at < t->n && !is_blank(t->text[at]))
			at++;
		at = gpc_config_text_skip(t, at);
	}
	return at;
}

static char opening(const struct gpc_config_text *t,
	const struct gpc_yaml_node *node)
{
	size_t at = skip_properties(t, gpc_config_text_start(t, node));

	return at < t->n ? t->text[at] : '\0';
}

bool gpc_config_text_is_flow(const struct gpc_config_text *t,
	const struct gpc_yaml_node *node)
{
	return node->kind != GPC_YAML_SCALAR && opening(t, node) ==
		(node->kind == GPC_YAML_MAP ? '{' : '[');
}

size_t gpc_config_text_end(const struct gpc_config_text *t,
	const struct gpc_yaml_node *node)
{
	size_t at;

	if (node->kind == GPC_YAML_SCALAR)
		return gpc_config_text_at(t, node->end_line, node->end_column);
	at = node->n ? gpc_config_text_end(t, node->items[node->n - 1]) :
		skip_properties(t, gpc_config_text_start(t, node)) + 1;
	if (!gpc_config_text_is_flow(t, node))
		return at;
	for (;;) {
		at = gpc_config_text_skip(t, at);
		if (at >= t->n)
			return t->n;
		if (strchr("]}", t->text[at++]))
			return at;
	}
}

/* --- scalars --------------------------------------------------------------- */

static bool is_plain(const char *text)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-@%$~=:() ";
	static const char first[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./$(+";
	size_t n = strlen(text);

	return n && strchr(first, *text) && strspn(text, safe) == n &&
		text[n - 1] != ' ' && text[n - 1] != ':' &&
		!strstr(text, ": ") && !strstr(text, "...") &&
		gpc_yaml_type_of(text) != GPC_YAML_NULL;
}

void gpc_config_text_scalar(const char *text, struct gpc_buf *out)
{
	if (is_plain(text)) {
		gpc_buf_adds(out, text);
		return;
	}
	gpc_buf_addc(out, '"');
	for (const char *s = text; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			gpc_buf_addf(out, "\\%c", c);
		else if (c == '\n')
			gpc_buf_adds(out, "\\n");
		else if (c == '\t')
			gpc_buf_adds(out, "\\t");
		else if (c < 0x20 || c == 0x7f)
			gpc_buf_addf(out, "\\x%02x", c);
		else
			gpc_buf_addc(out, (char)c);
	}
	gpc_buf_addc(out, '"');
}
