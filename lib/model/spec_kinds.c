/* The simple kinds of values: text, numbers, sizes, times, money, words, maps
 * of text, and sub-maps. A value is read whole or refused with what was
 * expected; writing gives the canonical form, or NULL for "not given". */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "base/vec.h"
#include "model/spec_read.h"

#define GB ((uint64_t)1 << 30)

/* --- text ------------------------------------------------------------------- */

static int fail_bool_text(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node)
{
	gpc_spec_expected(r, f, node, "text");
	gpc_hint(r->err, "put it in quotes: \"%s\"", node->text);
	return -GPC_ECONFIG;
}

static int need_text(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	const char *what, const char **ret_text)
{
	if (node->kind != GPC_YAML_SCALAR)
		return gpc_spec_expected(r, f, node, "%s", what);
	if (!gpc_spec_text(node))
		return fail_bool_text(r, f, node);
	*ret_text = node->text;
	return 0;
}

static int read_text(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	const char *text = NULL;
	int e = need_text(r, f, node, "text", &text);

	if (!e && slot)
		gpc_set_str(slot, *text ? text : NULL);
	return e;
}

static struct gpc_json *write_text(const struct gpc_spec_field *f,
	const void *slot)
{
	const char *text = *(char *const *)slot;

	(void)f;
	return text ? gpc_json_string(text) : NULL;
}

static void clear_text(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	gpc_set_str(slot, NULL);
}

static bool find_word(const char *const *words, const char *text,
	size_t *ret_i)
{
	for (size_t i = 0; words[i]; i++) {
		if (*words[i] && gpc_eq_nocase(words[i], text)) {
			*ret_i = i;
			return true;
		}
	}
	return false;
}

static int fail_word(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, const char *const *words)
{
	gpc_auto(gpc_strv) struct gpc_strv known = {0};
	gpc_autostr *list = NULL;
	const char *near;

	for (size_t i = 0; words[i]; i++) {
		if (*words[i])
			gpc_strv_add(&known, words[i]);
	}
	list = gpc_strv_join(&known, ", ");
	gpc_spec_expected(r, f, node, "%s%s", known.n > 1 ? "one of " : "", list);
	near = node->kind == GPC_YAML_SCALAR ? gpc_nearest(node->text,
		(const char *const *)known.v, known.n) : NULL;
	if (near)
		gpc_hint(r->err, "did you mean '%s'?", near);
	return -GPC_ECONFIG;
}

static int read_word(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	const char *const *words = f->more;
	size_t i;

	if (node->kind != GPC_YAML_SCALAR || !find_word(words, node->text, &i))
		return fail_word(r, f, node, words);
	if (slot)
		gpc_set_str(slot, words[i]);
	return 0;
}

static int read_enum(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	const char *const *words = f->more;
	size_t i;

	if (node->kind != GPC_YAML_SCALAR || !find_word(words, node->text, &i))
		return fail_word(r, f, node, words);
	if (slot)
		*(int *)slot = (int)i;
	return 0;
}

static struct gpc_json *write_enum(const struct gpc_spec_field *f,
	const void *slot)
{
	int i = *(const int *)slot;

	return i ? gpc_json_string(((const char *const *)f->more)[i]) : NULL;
}

/* --- numbers ---------------------------------------------------------------- */

static int read_int(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	int64_t n;

	if (!gpc_yaml_to_i64(node, &n) || (double)n < f->min ||
	    (double)n > f->max) {
		if (f->max >= 2147483647)
			return gpc_spec_expected(r, f, node,
				"a whole number >= %.0f", f->min);
		return gpc_spec_expected(r, f, node,
			"a whole number from %.0f to %.0f", f->min, f->max);
	}
	gpc_spec_surprise(r, f, node);
	if (slot)
		*(int *)slot = (int)n;
	return 0;
}

static struct gpc_json *write_int(const struct gpc_spec_field *f,
	const void *slot)
{
	int n = *(const int *)slot;

	return n == f->unset ? NULL : gpc_json_int(n);
}

static int read_bool(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	bool b;

	if (!gpc_yaml_to_bool(node, &b))
		return gpc_spec_expected(r, f, node, "true or false");
	gpc_spec_surprise(r, f, node);
	if (slot)
		*(bool *)slot = b;
	return 0;
}

static struct gpc_json *write_bool(const struct gpc_spec_field *f,
	const void *slot)
{
	bool b = *(const bool *)slot;

	return b == (f->unset != 0) ? NULL : gpc_json_bool(b);
}

static int read_number(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	double x;

	if (!gpc_yaml_to_double(node, &x) || x < f->min || x > f->max)
		return f->max >= 1e15 ? gpc_spec_expected(r, f, node,
				"a number >= %g", f->min)
			: gpc_spec_expected(r, f, node,
				"a number from %g to %g", f->min, f->max);
	gpc_spec_surprise(r, f, node);
	if (slot)
		*(double *)slot = x;
	return 0;
}

static struct gpc_json *write_number(const struct gpc_spec_field *f,
	const void *slot)
{
	double x = *(const double *)slot;

	(void)f;
	return x > 0 ? gpc_json_number(x) : NULL;
}

/* --- sizes, times, money ------------------------------------------------------ */

static int read_size_gb(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	const char *text = gpc_spec_text(node);
	uint64_t bytes;
	int64_t n;
	int e;

	if (gpc_yaml_to_i64(node, &n)) {
		gpc_spec_surprise(r, f, node);
		e = n < 1 || n > (int64_t)1 << 30;
		bytes = e ? 0 : (uint64_t)n * GB;
	} else {
		e = !text || gpc_parse_size(text, GB, f->name, &bytes, NULL);
	}
	if (e || bytes < GB)
		return gpc_spec_expected(r, f, node,
			"GB as a whole number, or a size like 256GB or 1TB");
	if (slot)
		*(uint64_t *)slot = bytes / GB * GB;
	return 0;
}

static struct gpc_json *write_size_gb(const struct gpc_spec_field *f,
	const void *slot)
{
	uint64_t bytes = *(const uint64_t *)slot;

	(void)f;
	return bytes ? gpc_json_int((int64_t)(bytes / GB)) : NULL;
}

/* What a number in JSON holds exactly, and the clock can be added to. */
#define LONGEST_MS ((int64_t)1 << 53)

static int read_duration(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	const char *text = gpc_spec_text(node);
	int64_t ms;

	if (!text || node->type != GPC_YAML_STR ||
	    gpc_parse_duration(text, 0, f->name, &ms, NULL) || ms <= 0 ||
	    ms > LONGEST_MS)
		return gpc_spec_expected(r, f, node,
			"a time with its unit, such as 90s, 30m, 2h or 1d");
	if (slot)
		*(int64_t *)slot = ms;
	return 0;
}

struct gpc_json *gpc_spec_write_duration(int64_t ms)
{
	static const struct { int64_t ms; const char *unit; } units[] = {
		{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"},
		{1, "ms"},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (ms && ms % units[i].ms == 0) {
			gpc_autostr *text = gpc_format("%lld%s",
				(long long)(ms / units[i].ms), units[i].unit);

			return gpc_json_string(text);
		}
	}
	return NULL;
}

static struct gpc_json *write_duration(const struct gpc_spec_field *f,
	const void *slot)
{
	(void)f;
	return gpc_spec_write_duration(*(const int64_t *)slot);
}

static void clear_i64(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	*(int64_t *)slot = 0;
}

static int read_money(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	const char *text = gpc_spec_text(node);
	struct gpc_money m = {0};

	if (!text || gpc_money_parse(text, "USD", f->name, &m, NULL) ||
	    m.micros <= 0)
		return gpc_spec_expected(r, f, node, "an amount above 0, such as "
			"12.50 (USD) or \"80 CNY\"");
	if (slot)
		*(struct gpc_money *)slot = m;
	return 0;
}

/* A JSON number for what any reader keeps exact, else decimal text. */
static struct gpc_json *write_money(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct gpc_money *m = slot;
	char decimal[GPC_MONEY_SIZE];
	gpc_autostr *text = NULL;

	(void)f;
	if (!*m->currency)
		return NULL;
	if (gpc_eq(m->currency, "USD") && m->micros >= 1000 &&
	    m->micros < (int64_t)1000000000000)
		return gpc_json_number((double)m->micros / 1e6);
	text = gpc_format("%s %s", gpc_money_decimal(*m, decimal), m->currency);
	return gpc_json_string(text);
}

static void clear_money(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	*(struct gpc_money *)slot = (struct gpc_money){0};
}

/* --- lists and maps of text --------------------------------------------------- */

static int read_strv(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	gpc_auto(gpc_strv) struct gpc_strv s = {0};
	const char *text = NULL;

	if (node->kind == GPC_YAML_MAP)
		return gpc_spec_expected(r, f, node, "text or a list of texts");
	for (size_t i = 0; node->kind == GPC_YAML_LIST && i < node->n; i++) {
		int e = need_text(r, f, node->items[i], "text", &text);

		if (!e && !*text)
			e = gpc_spec_expected(r, f, node->items[i], "text");
		if (e)
			return e;
		gpc_strv_add(&s, text);
	}
	if (node->kind == GPC_YAML_SCALAR) {
		int e = need_text(r, f, node, "text or a list of texts", &text);

		if (e)
			return e;
		if (*text)
			gpc_strv_add(&s, text);
	}
	if (slot) {
		gpc_strv_clear(slot);
		*(struct gpc_strv *)slot = s;
		s = (struct gpc_strv){0};
	}
	return 0;
}

struct gpc_json *gpc_spec_write_strv(const struct gpc_strv *s)
{
	if (!s->n)
		return NULL;
	if (s->n == 1)
		return gpc_json_string(s->v[0]);
	return gpc_json_strings(s);
}

static struct gpc_json *write_strv(const struct gpc_spec_field *f,
	const void *slot)
{
	(void)f;
	return gpc_spec_write_strv(slot);
}

static void clear_strv(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	gpc_strv_clear(slot);
}

static bool is_name(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	for (; *s; s++) {
		if (!isalnum((unsigned char)*s) && *s != '_')
			return false;
	}
	return true;
}

static int read_pair(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *key, const struct gpc_yaml_node *value,
	bool null_ok, bool names, struct gpc_pairs *pairs)
{
	if (names && !is_name(key->text)) {
		gpc_autostr *shown = gpc_str_printable(key->text,
			strnlen(key->text, 60));

		return gpc_spec_fail(r, key, "%s: '%s' is not a variable name "
			"(letters, digits and _, no digit first)", f->name,
			shown);
	}
	if (!*key->text)
		return gpc_spec_fail(r, key, "%s: an empty name", f->name);
	if (value->kind != GPC_YAML_SCALAR)
		return gpc_spec_expected(r, f, value, "text for '%s'", key->text);
	if (gpc_spec_is_null(value) && !null_ok)
		return gpc_spec_expected(r, f, value, "text for '%s'", key->text);
	gpc_pairs_add(pairs, key->text,         /* YAML's keys are unique */
		gpc_spec_is_null(value) ? NULL : value->text);
	return 0;
}

int gpc_spec_read_pairs(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	bool null_ok, bool names, size_t max, struct gpc_pairs *ret_pairs)
{
	gpc_auto(gpc_pairs) struct gpc_pairs pairs = {0};
	int first = 0;

	if (node->kind != GPC_YAML_MAP)
		return gpc_spec_expected(r, f, node, "a map of name to text");
	if (node->n > max)
		return gpc_spec_fail(r, node, "%s: more than %zu entries",
			f->name, max);
	for (size_t i = 0; i < node->n; i++) {
		size_t before = gpc_spec_wrong(r);
		int e = read_pair(r, f, node->keys[i], node->items[i], null_ok,
			names, &pairs);

		if (!gpc_spec_goes_on(r, before, e, &first))
			return first;
	}
	if (first)
		return first;
	gpc_pairs_clear(ret_pairs);
	*ret_pairs = pairs;
	pairs = (struct gpc_pairs){0};
	return 0;
}

static int read_pairs(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	gpc_auto(gpc_pairs) struct gpc_pairs pairs = {0};

	return gpc_spec_read_pairs(r, f, node, false, false, GPC_SPEC_MAX_PAIRS,
		slot ? slot : &pairs);
}

struct gpc_json *gpc_spec_write_pairs(const struct gpc_pairs *p)
{
	struct gpc_json *object;

	if (!p->n)
		return NULL;
	object = gpc_json_object();
	for (size_t i = 0; i < p->n; i++)
		gpc_json_append(object, p->v[i].key,
			gpc_json_string(p->v[i].value));
	return object;
}

static struct gpc_json *write_pairs(const struct gpc_spec_field *f,
	const void *slot)
{
	(void)f;
	return gpc_spec_write_pairs(slot);
}

static void clear_pairs(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	gpc_pairs_clear(slot);
}

/* --- sub-maps ------------------------------------------------------------------ */

static int read_map(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	return gpc_spec_read_section(r, f->more, node, slot);
}

static struct gpc_json *write_map(const struct gpc_spec_field *f,
	const void *slot)
{
	gpc_autoptr(gpc_json) *object = gpc_json_object();

	gpc_spec_write_section(f->more, slot, object);
	return gpc_json_first(object) ? gpc_steal(&object) : NULL;
}

static void clear_map(const struct gpc_spec_field *f, void *slot)
{
	gpc_spec_clear_section(f->more, slot);
}

static int read_json(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	struct gpc_json *j = NULL;
	int e = gpc_yaml_to_json(node, r->name, &j, r->err);

	(void)f;
	if (e)
		return e;
	if (slot) {
		gpc_json_free(*(struct gpc_json **)slot);
		*(struct gpc_json **)slot = j;
	} else {
		gpc_json_free(j);
	}
	return 0;
}

static int read_checked(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	bool text_ok = f->flags & GPC_FIELD_OR_TEXT;
	int e;

	if (node->kind != GPC_YAML_MAP && !(text_ok && gpc_spec_text(node)))
		return gpc_spec_expected(r, f, node, "%s", f->forms);
	e = node->kind == GPC_YAML_MAP
		? gpc_spec_read_section(r, f->more, node, NULL) : 0;
	return e ? e : read_json(r, f, node, slot);
}

static struct gpc_json *write_json(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct gpc_json *j = *(struct gpc_json *const *)slot;

	(void)f;
	return j ? gpc_json_copy(j) : NULL;
}

static void clear_json(const struct gpc_spec_field *f, void *slot)
{
	struct gpc_json **j = slot;

	(void)f;
	gpc_json_free(*j);
	*j = NULL;
}

const struct gpc_spec_kind gpc_spec_kinds[] = {
	[GPC_KIND_TEXT] = {read_text, write_text, clear_text},
	[GPC_KIND_INT] = {read_int, write_int, NULL},
	[GPC_KIND_BOOL] = {read_bool, write_bool, NULL},
	[GPC_KIND_NUMBER] = {read_number, write_number, NULL},
	[GPC_KIND_SIZE_GB] = {read_size_gb, write_size_gb, NULL},
	[GPC_KIND_DURATION] = {read_duration, write_duration, clear_i64},
	[GPC_KIND_MONEY] = {read_money, write_money, clear_money},
	[GPC_KIND_PAIRS] = {read_pairs, write_pairs, clear_pairs},
	[GPC_KIND_STRV] = {read_strv, write_strv, clear_strv},
	[GPC_KIND_ENUM] = {read_enum, write_enum, NULL},
	[GPC_KIND_WORD] = {read_word, write_text, clear_text},
	[GPC_KIND_MAP] = {read_map, write_map, clear_map},
	[GPC_KIND_CHECKED] = {read_checked, write_json, clear_json},
	[GPC_KIND_JSON] = {read_json, write_json, clear_json},
	[GPC_KIND_ALIAS] = {NULL, NULL, NULL},
};

const struct gpc_spec_kind *gpc_spec_kind_of(const struct gpc_spec_field *f)
{
	return f->kind == GPC_KIND_OWN ? f->more : &gpc_spec_kinds[f->kind];
}
