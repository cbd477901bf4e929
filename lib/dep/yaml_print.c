/* JSON trees as block-style YAML that a YAML 1.1 reader (PyYAML, and our own)
 * reads back to the same value, and that a 1.2 reader does not misread: text
 * that looks like anything else is quoted, several lines become a | block. */
#include <string.h>

#include "dep/yaml.h"

#define MAX_KEY 1000       /* YAML ends an implicit key at 1024 */

struct writer {
	struct gpc_buf *out;
	struct gpc_error *err;
};

static void indent(struct writer *w, int by)
{
	gpc_buf_addf(w->out, "%*s", by, "");
}

/* The code point at s, and how many bytes it takes; s is valid UTF-8. */
static unsigned decode(const unsigned char *s, size_t *ret_n)
{
	if (s[0] < 0x80) {
		*ret_n = 1;
		return s[0];
	}
	if (s[0] < 0xe0) {
		*ret_n = 2;
		return (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
	}
	if (s[0] < 0xf0) {
		*ret_n = 3;
		return (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 |
			(s[2] & 0x3fu);
	}
	*ret_n = 4;
	return (s[0] & 7u) << 18 | (s[1] & 0x3fu) << 12 |
		(s[2] & 0x3fu) << 6 | (s[3] & 0x3fu);
}

/* Characters that YAML may not hold raw, or that it takes for line ends. */
static bool needs_escape(unsigned c)
{
	return (c < 0x20 && c != '\t' && c != '\n') || c == 0x7f ||
		(c >= 0x80 && c < 0xa0) || c == 0x2028 || c == 0x2029 ||
		c == 0xfeff || c == 0xfffe || c == 0xffff;
}

static bool is_raw(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n;

	for (; *s; s += n) {
		if (needs_escape(decode(s, &n)))
			return false;
	}
	return true;
}

static bool looks_numeric(const char *text)
{
	return strspn(text, "0123456789abcdefxoABCDEF.+-_:") == strlen(text) &&
		strpbrk(text, "0123456789") &&
		strchr("0123456789.+-", text[0]);
}

static bool is_plain(const char *text)
{
	size_t n = strlen(text);

	if (!n || gpc_yaml_type_of(text) != GPC_YAML_STR ||
	    looks_numeric(text) || gpc_eq(text, "y") || gpc_eq(text, "n") ||
	    gpc_eq(text, "Y") || gpc_eq(text, "N"))
		return false;
	if (strchr(" \t-?:,[]{}#&*!|>'\"%@`=<", text[0]) ||
	    text[n - 1] == ' ' || text[n - 1] == ':' ||
	    gpc_starts_with(text, "..."))    /* the end of a document */
		return false;
	return !strpbrk(text, "\n\t") && !strstr(text, ": ") &&
		!strstr(text, " #") && is_raw(text);
}

static void write_quoted(struct writer *w, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n;

	gpc_buf_addc(w->out, '"');
	for (; *s; s += n) {
		unsigned c = decode(s, &n);

		if (c == '"' || c == '\\')
			gpc_buf_addf(w->out, "\\%c", (int)c);
		else if (c == '\n')
			gpc_buf_adds(w->out, "\\n");
		else if (c == '\t')
			gpc_buf_adds(w->out, "\\t");
		else if (c == '\r')
			gpc_buf_adds(w->out, "\\r");
		else if (needs_escape(c))
			gpc_buf_addf(w->out, c < 0x100 ? "\\x%02X" : "\\u%04X",
				c);
		else
			gpc_buf_add(w->out, s, n);
	}
	gpc_buf_addc(w->out, '"');
}

/* A | block serves text of several lines that is raw and not only blank. */
static bool is_block(const char *text)
{
	return strchr(text, '\n') && is_raw(text) &&
		text[strspn(text, " \t\n")] && text[0] != '\n';
}

static void write_block(struct writer *w, const char *text, int by)
{
	size_t n = strlen(text), tail = 0;

	while (text[n - 1 - tail] == '\n')
		tail++;
	gpc_buf_addc(w->out, '|');
	if (text[0] == ' ' || text[0] == '\t')
		gpc_buf_addc(w->out, '2');
	if (tail != 1)
		gpc_buf_addc(w->out, tail ? '+' : '-');
	gpc_buf_addc(w->out, '\n');
	while (*text) {
		size_t line = strcspn(text, "\n");

		if (line)
			indent(w, by);
		gpc_buf_add(w->out, text, line);
		gpc_buf_addc(w->out, '\n');
		text += line + (text[line] == '\n');
	}
}

static int check_text(struct writer *w, const char *text)
{
	if (gpc_utf8_valid(text, strlen(text)))
		return 0;
	return gpc_fail(w->err, GPC_EPROTO,
		"text that is not valid UTF-8 has no YAML form");
}

/* A scalar with its line end; by = where the lines of a block start. */
static int write_text(struct writer *w, const char *text, int by)
{
	int e = check_text(w, text);

	if (e)
		return e;
	if (is_block(text)) {
		write_block(w, text, by);
		return 0;
	}
	if (is_plain(text))
		gpc_buf_adds(w->out, text);
	else
		write_quoted(w, text);
	gpc_buf_addc(w->out, '\n');
	return 0;
}

static int write_key(struct writer *w, const char *key)
{
	int e = check_text(w, key);

	if (e)
		return e;
	if (strlen(key) > MAX_KEY)
		return gpc_fail(w->err, GPC_EPROTO,
			"a key longer than %d bytes has no YAML form", MAX_KEY);
	if (is_plain(key))
		gpc_buf_adds(w->out, key);
	else
		write_quoted(w, key);
	gpc_buf_addc(w->out, ':');
	return 0;
}

/* 1e+30 is text in YAML 1.1: a float has a point. */
static void write_number(struct writer *w, const struct gpc_json *j)
{
	gpc_autostr *text = gpc_json_print(j);
	size_t digits = strcspn(text, "eE");

	gpc_buf_add(w->out, text, digits);
	if (text[digits] && !memchr(text, '.', digits))
		gpc_buf_adds(w->out, ".0");
	gpc_buf_adds(w->out, text + digits);
	gpc_buf_addc(w->out, '\n');
}

static int write_scalar(struct writer *w, const struct gpc_json *j, int by)
{
	if (gpc_json_is_string(j))
		return write_text(w, gpc_json_str(j), by);
	if (gpc_json_is_number(j))
		write_number(w, j);
	else if (gpc_json_is_bool(j))
		gpc_buf_adds(w->out, gpc_json_bool_or(j, false) ? "true\n"
			: "false\n");
	else if (gpc_json_is_object(j))
		gpc_buf_adds(w->out, "{}\n");
	else if (gpc_json_is_array(j))
		gpc_buf_adds(w->out, "[]\n");
	else
		gpc_buf_adds(w->out, "null\n");
	return 0;
}

static bool is_nested(const struct gpc_json *j)
{
	return (gpc_json_is_object(j) || gpc_json_is_array(j)) &&
		gpc_json_first(j);
}

static int write_value(struct writer *w, const struct gpc_json *j, int by,
	bool first);

/* first: the caller already stands at the column of the first key. */
static int write_map(struct writer *w, const struct gpc_json *j, int by,
	bool first)
{
	int e = 0;

	for (const struct gpc_json *m = gpc_json_first(j); m && !e;
	     m = gpc_json_next(m)) {
		if (!first)
			indent(w, by);
		first = false;
		e = write_key(w, gpc_json_key(m));
		if (e)
			return e;
		gpc_buf_addc(w->out, is_nested(m) ? '\n' : ' ');
		e = write_value(w, m, by + 2, false);
	}
	return e;
}

static int write_list(struct writer *w, const struct gpc_json *j, int by,
	bool first)
{
	int e = 0;

	for (const struct gpc_json *m = gpc_json_first(j); m && !e;
	     m = gpc_json_next(m)) {
		if (!first)
			indent(w, by);
		first = false;
		gpc_buf_adds(w->out, "- ");
		e = write_value(w, m, by + 2, true);
	}
	return e;
}

static int write_value(struct writer *w, const struct gpc_json *j, int by,
	bool first)
{
	if (!is_nested(j))
		return write_scalar(w, j, by);
	return gpc_json_is_object(j) ? write_map(w, j, by, first) :
		write_list(w, j, by, first);
}

int gpc_yaml_print(const struct gpc_json *j, struct gpc_buf *out,
	struct gpc_error *err)
{
	struct writer w = {.out = out, .err = err};
	int e = write_value(&w, j, is_nested(j) ? 0 : 2, false);

	return e ? e : gpc_buf_check(out, err);
}
