/* Reads ini files line by line, without looking back: what a line means depends
 * on the key that is open and how far that one was indented. */
#include "creds/ini.h"

#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"

struct reader {
	struct gpc_ini *ini;
	struct gpc_ini_section *section;
	struct gpc_ini_value *open;     /* the key that a line may go on */
	size_t indent;                  /* of that key's line */
	size_t n_keys;
	int line;
};

static int wrong(const struct reader *r, const char *what,
	struct gpc_error *err)
{
	return gpc_fail(err, GPC_ECONFIG, "%s:%d: %s", r->ini->path, r->line,
		what);
}

static void free_value(struct gpc_ini_value *v)
{
	gpc_wipe_str(v->text);
	free(v->text);
	free(v);
}

static void free_section(struct gpc_ini_section *s)
{
	for (size_t i = 0; i < s->values.n; i++)
		free_value(s->values.entries[i].value);
	gpc_map_clear(&s->values);
	free(s->name);
	free(s);
}

void gpc_ini_clear(struct gpc_ini *ini)
{
	for (size_t i = 0; i < ini->sections.n; i++)
		free_section(ini->sections.entries[i].value);
	gpc_map_clear(&ini->sections);
	free(ini->path);
	ini->path = NULL;
}

static int begin_section(struct reader *r, struct gpc_str line,
	struct gpc_error *err)
{
	const char *close = memchr(line.ptr, ']', line.len);
	struct gpc_str name, after;
	gpc_autostr *text = NULL;

	if (!close)
		return wrong(r, "a [section] without its ]", err);
	name = gpc_str_trim((struct gpc_str){line.ptr + 1,
		(size_t)(close - line.ptr) - 1});
	after = gpc_str_trim((struct gpc_str){close + 1,
		line.len - (size_t)(close + 1 - line.ptr)});
	if (after.len > 0 && *after.ptr != '#' && *after.ptr != ';')
		return wrong(r, "something stands behind [section]", err);
	if (name.len == 0 || name.len > GPC_INI_MAX_NAME)
		return wrong(r, name.len ? "the name of this section is too long" :
			"a section without a name", err);
	text = gpc_strndup(name.ptr, name.len);
	r->open = NULL;
	r->section = gpc_map_get(&r->ini->sections, text);
	if (r->section)
		return 0;
	if (r->ini->sections.n >= GPC_INI_MAX_SECTIONS)
		return wrong(r, "too many sections", err);
	r->section = gpc_alloc(sizeof(*r->section));
	r->section->line = r->line;
	r->section->name = gpc_steal(&text);
	gpc_map_set(&r->ini->sections, r->section->name, r->section);
	return 0;
}

static int begin_key(struct reader *r, struct gpc_str line, size_t indent,
	struct gpc_error *err)
{
	size_t n = 0;
	struct gpc_str key, value;
	gpc_autostr *name = NULL;

	while (n < line.len && line.ptr[n] != '=' && line.ptr[n] != ':')
		n++;
	key = gpc_str_trim((struct gpc_str){line.ptr, n});
	if (n == line.len || key.len == 0)
		return wrong(r, "neither [section], nor key = value, nor a "
			"comment", err);
	if (!r->section)
		return wrong(r, "a key before the first [section]", err);
	if (key.len > GPC_INI_MAX_NAME || r->n_keys >= GPC_INI_MAX_KEYS)
		return wrong(r, r->n_keys >= GPC_INI_MAX_KEYS ? "too many keys" :
			"this key is too long", err);
	value = gpc_str_trim((struct gpc_str){line.ptr + n + 1,
		line.len - n - 1});
	name = gpc_strndup(key.ptr, key.len);
	for (char *p = name; *p; p++)
		*p = *p >= 'A' && *p <= 'Z' ? (char)(*p + ('a' - 'A')) : *p;
	r->open = gpc_map_get(&r->section->values, name);
	if (!r->open) {
		r->open = gpc_alloc(sizeof(*r->open));
		gpc_map_set(&r->section->values, name, r->open);
		r->n_keys++;
	}
	gpc_wipe_str(r->open->text);
	free(r->open->text);
	r->open->text = gpc_strndup(value.ptr, value.len);
	r->open->line = r->line;
	r->indent = indent;
	return 0;
}

/* One more line of the open key. Grown by what is added, which the size of a file
 * bounds well enough: few values have many lines. */
static void go_on(struct reader *r, struct gpc_str line)
{
	char *longer = gpc_format("%s\n%.*s", r->open->text, (int)line.len,
		line.ptr);

	gpc_wipe_str(r->open->text);
	free(r->open->text);
	r->open->text = longer;
}

#define MAX_LINES 1000          /* of one value */

static int read_line(struct reader *r, struct gpc_str line, int *n_more,
	struct gpc_error *err)
{
	struct gpc_str trimmed = gpc_str_trim(line);
	size_t indent = trimmed.len ? (size_t)(trimmed.ptr - line.ptr) : 0;

	for (size_t i = 0; i < line.len; i++)
		if ((unsigned char)line.ptr[i] < 0x20 && line.ptr[i] != '\t' &&
			line.ptr[i] != '\r' && line.ptr[i] != '\f')
			return wrong(r, "a control character", err);
	if (trimmed.len == 0 || *trimmed.ptr == '#' || *trimmed.ptr == ';')
		return 0;
	if (r->open && indent > r->indent) {
		if (++*n_more > MAX_LINES)
			return wrong(r, "a value of too many lines", err);
		go_on(r, trimmed);
		return 0;
	}
	*n_more = 0;
	if (*trimmed.ptr == '[')
		return begin_section(r, trimmed, err);
	return begin_key(r, trimmed, indent, err);
}

int gpc_ini_parse(const char *text, size_t n, const char *path,
	struct gpc_ini *ret_ini, struct gpc_error *err)
{
	struct gpc_str rest = {text, n}, line;
	struct reader r = {.ini = ret_ini};
	int n_more = 0, result = 0;

	ret_ini->path = gpc_strdup(path);
	if (n > GPC_INI_MAX_BYTES)
		result = gpc_fail(err, GPC_ECONFIG, "%s is larger than %d MiB",
			path, GPC_INI_MAX_BYTES >> 20);
	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		rest = (struct gpc_str){text + 3, n - 3};
	while (!result && gpc_str_split(&rest, '\n', &line)) {
		r.line++;
		result = read_line(&r, line, &n_more, err);
	}
	if (result)
		gpc_ini_clear(ret_ini);
	return result;
}

int gpc_ini_load(const char *path, struct gpc_ini *ret_ini,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error why = {0};
	int r = gpc_read_file(path, GPC_INI_MAX_BYTES, &b, &why);

	if (r == -GPC_ENOTFOUND)
		return 0;
	if (r == 0)
		r = gpc_ini_parse(gpc_buf_str(&b), b.len, path, ret_ini, err);
	else
		r = gpc_fail(err, GPC_ECONFIG, "%s", why.msg);
	gpc_wipe(b.data, b.cap);
	return r;
}

const struct gpc_ini_section *gpc_ini_find(const struct gpc_ini *ini,
	const char *name)
{
	return ini && name ? gpc_map_get(&ini->sections, name) : NULL;
}

const struct gpc_ini_value *gpc_ini_get(const struct gpc_ini_section *s,
	const char *key)
{
	return s ? gpc_map_get(&s->values, key) : NULL;
}

char *gpc_ini_sub(const struct gpc_ini_value *v, const char *key)
{
	struct gpc_str rest = gpc_str_of(v ? v->text : NULL), line;
	char *found = NULL;

	if (rest.len == 0 || *rest.ptr != '\n')
		return NULL;
	while (gpc_str_split(&rest, '\n', &line)) {
		const char *equal = memchr(line.ptr, '=', line.len);
		struct gpc_str name, value;
		gpc_autostr *text = NULL;

		if (!equal)
			continue;
		name = gpc_str_trim((struct gpc_str){line.ptr,
			(size_t)(equal - line.ptr)});
		text = gpc_strndup(name.ptr, name.len);
		if (!gpc_eq_nocase(text, key))
			continue;
		value = gpc_str_trim((struct gpc_str){equal + 1,
			line.len - (size_t)(equal + 1 - line.ptr)});
		free(found);
		found = gpc_strndup(value.ptr, value.len);
	}
	return found;
}
