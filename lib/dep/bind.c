/* Structs from and to JSON by one table. Reading names the place of whatever
 * does not fit and leaves nothing half-read: the path is kept as a chain on the
 * stack and turned into text only for an error.
 */
#include "dep/bind.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/map.h"
#include "base/money.h"
#include "base/parse.h"
#include "base/str.h"

#define EXACT (INT64_C(1) << 53)

/* What every GPC_VEC looks like. */
struct any_vec { void *v; size_t n, cap; };

struct path {
	const struct path *up;
	const char *key;         /* NULL: an element */
	size_t index;
};

static void *member(void *object, const struct gpc_bind *t)
{
	return (char *)object + t->offset;
}

static const void *member_c(const void *object, const struct gpc_bind *t)
{
	return (const char *)object + t->offset;
}

static void add_path(struct gpc_buf *b, const struct path *p)
{
	if (!p) {
		gpc_buf_addc(b, '$');
		return;
	}
	add_path(b, p->up);
	if (p->key)
		gpc_buf_addf(b, ".%s", p->key);
	else
		gpc_buf_addf(b, "[%zu]", p->index);
}

static gpc_printf(3, 4) int refuse(struct gpc_error *err, const struct path *p,
	const char *fmt, ...)
{
	gpc_auto(gpc_buf) struct gpc_buf where = {0};
	gpc_autostr *what = NULL, *safe = NULL;
	va_list ap;

	va_start(ap, fmt);
	what = gpc_vformat(fmt, ap);
	va_end(ap);
	add_path(&where, p);
	safe = gpc_str_printable(gpc_buf_str(&where), where.len);
	return gpc_fail(err, GPC_EPROTO, "%s: %s", safe, what);
}

static int expected(struct gpc_error *err, const struct path *p,
	const char *what, const struct gpc_json *j)
{
	const char *given = gpc_json_is_object(j) ? "an object" :
		gpc_json_is_array(j) ? "an array" :
		gpc_json_is_string(j) ? "a string" :
		gpc_json_is_bool(j) ? "true or false" :
		gpc_json_is_null(j) ? "null" : "this number";

	return refuse(err, p, "expected %s, not %s", what, given);
}

static int read_table(const struct gpc_json *j, const struct gpc_bind *table,
	void *object, const struct path *p, struct gpc_error *err);

static int read_i64(const struct gpc_json *j, int64_t min, int64_t max,
	int64_t *ret_n, const struct path *p, struct gpc_error *err)
{
	const char *text = gpc_json_str(j);
	int64_t n = gpc_json_int_or(j, INT64_MIN);

	/* Digits in a string: how we write what a double cannot hold. */
	if (text && max == INT64_MAX &&
		gpc_parse_i64(text, min, max, "", &n, NULL) == 0) {
		*ret_n = n;
		return 0;
	}
	if (n == INT64_MIN || n < min || n > max)
		return expected(err, p, "a whole number that fits", j);
	*ret_n = n;
	return 0;
}

static int read_enum(const struct gpc_json *j, const char *const *names,
	int *ret_n, const struct path *p, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv words = {0};
	gpc_autostr *list = NULL, *shown = NULL;
	const char *text = gpc_json_str(j);

	if (!text)
		return expected(err, p, "a word", j);
	for (int i = 0; names[i]; i++) {
		if (gpc_eq(names[i], text)) {
			*ret_n = i;
			return 0;
		}
		gpc_strv_add(&words, names[i]);
	}
	list = gpc_strv_join(&words, ", ");
	shown = gpc_str_printable(text, strnlen(text, 60));
	return refuse(err, p, "expected one of %s; not \"%s\"", list, shown);
}

static int read_money(const struct gpc_json *j, struct gpc_money *ret_m,
	const struct path *p, struct gpc_error *err)
{
	const char *amount = gpc_json_get_str(j, "amount");
	const char *currency = gpc_json_get_str(j, "currency");
	struct gpc_money m = {0};
	bool negative, unset;

	if (!amount || !currency)
		return expected(err, p,
			"an object of amount and currency", j);
	negative = amount[0] == '-';
	amount += negative;
	unset = currency[0] == '\0';
	if (strspn(amount, "0123456789.") != strlen(amount) ||
		gpc_money_parse(amount, unset ? "USD" : currency, "", &m, NULL) <
			0)
		return refuse(err, p, "expected an exact decimal amount and a "
			"currency of three letters");
	if (unset)
		m.currency[0] = '\0';
	m.micros = negative ? -m.micros : m.micros;
	*ret_m = m;
	return 0;
}

static int read_strv(const struct gpc_json *j, struct gpc_strv *s,
	const struct path *up, struct gpc_error *err)
{
	struct path p = {.up = up};

	if (!gpc_json_is_array(j))
		return expected(err, up, "an array of strings", j);
	for (const struct gpc_json *m = gpc_json_first(j); m;
		m = gpc_json_next(m), p.index++) {
		if (!gpc_json_is_string(m))
			return expected(err, &p, "a string", m);
		gpc_strv_add(s, gpc_json_str(m));
	}
	return 0;
}

static int read_pairs(const struct gpc_json *j, struct gpc_pairs *pairs,
	const struct path *up, struct gpc_error *err)
{
	struct path p = {.up = up};

	if (!gpc_json_is_object(j))
		return expected(err, up, "an object of strings", j);
	for (const struct gpc_json *m = gpc_json_first(j); m;
		m = gpc_json_next(m)) {
		p.key = gpc_json_key(m);
		if (!gpc_json_is_string(m) && !gpc_json_is_null(m))
			return expected(err, &p, "a string or null", m);
		gpc_pairs_add(pairs, p.key, gpc_json_str(m));
	}
	return 0;
}

static void *push(struct any_vec *vec, size_t size)
{
	if (vec->n == vec->cap) {
		vec->cap = vec->cap ? vec->cap * 2 : 8;
		vec->v = gpc_grow(vec->v, vec->cap, size);
	}
	return memset((char *)vec->v + vec->n++ * size, 0, size);
}

static int read_vec(const struct gpc_json *j, const struct gpc_bind *t,
	struct any_vec *vec, const struct path *up, struct gpc_error *err)
{
	struct path p = {.up = up};

	if (!gpc_json_is_array(j))
		return expected(err, up, "an array of objects", j);
	for (const struct gpc_json *m = gpc_json_first(j); m;
		m = gpc_json_next(m), p.index++) {
		int r;

		if (p.index == GPC_BIND_MAX_ELEMENTS)
			return refuse(err, up, "more than %d elements",
				GPC_BIND_MAX_ELEMENTS);
		r = read_table(m, t->sub, push(vec, t->sub_size), &p, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_number(const struct gpc_json *j, const struct gpc_bind *t,
	void *to, const struct path *p, struct gpc_error *err)
{
	static const int64_t exact = (int64_t)1 << 53;
	bool is_int = t->kind == GPC_BIND_INT, is_i53 = t->kind == GPC_BIND_I53;
	int64_t n = 0;
	int r = read_i64(j, is_int ? INT_MIN : is_i53 ? -exact : INT64_MIN,
		is_int ? INT_MAX : is_i53 ? exact : INT64_MAX, &n, p, err);

	if (r < 0)
		return r;
	if (is_int)
		*(int *)to = (int)n;
	else
		*(int64_t *)to = n;
	return 0;
}

static int read_member(const struct gpc_json *j, const struct gpc_bind *t,
	void *to, const struct path *p, struct gpc_error *err)
{
	switch (t->kind) {
	case GPC_BIND_STR:
		if (!gpc_json_is_string(j))
			return expected(err, p, "a string", j);
		gpc_set_str(to, gpc_json_str(j));
		return 0;
	case GPC_BIND_INT:
	case GPC_BIND_I64:
	case GPC_BIND_I53:
		return read_number(j, t, to, p, err);
	case GPC_BIND_BOOL:
		if (!gpc_json_is_bool(j))
			return expected(err, p, "true or false", j);
		*(bool *)to = gpc_json_bool_or(j, false);
		return 0;
	case GPC_BIND_ENUM:
		return read_enum(j, t->names, to, p, err);
	case GPC_BIND_MONEY:
		return read_money(j, to, p, err);
	case GPC_BIND_STRV:
		return read_strv(j, to, p, err);
	case GPC_BIND_PAIRS:
		return read_pairs(j, to, p, err);
	case GPC_BIND_OBJECT:
		return read_table(j, t->sub, to, p, err);
	case GPC_BIND_VEC:
		return read_vec(j, t, to, p, err);
	case GPC_BIND_JSON:
		*(struct gpc_json **)to = gpc_json_copy(j);
		return 0;
	case GPC_BIND_REST:
	case GPC_BIND_END:
		break;
	}
	return 0;
}

static bool is_named(const struct gpc_bind *table, const char *key)
{
	for (const struct gpc_bind *t = table; t->kind != GPC_BIND_END; t++)
		if (t->kind != GPC_BIND_REST && gpc_eq(t->key, key))
			return true;
	return false;
}

static struct gpc_json *read_rest(const struct gpc_json *j,
	const struct gpc_bind *table)
{
	struct gpc_json *rest = NULL;

	for (const struct gpc_json *m = gpc_json_first(j); m;
		m = gpc_json_next(m)) {
		if (is_named(table, gpc_json_key(m)))
			continue;
		if (!rest)
			rest = gpc_json_object();
		gpc_json_append(rest, gpc_json_key(m), gpc_json_copy(m));
	}
	return rest;
}

static int read_table(const struct gpc_json *j, const struct gpc_bind *table,
	void *object, const struct path *up, struct gpc_error *err)
{
	if (!gpc_json_is_object(j))
		return expected(err, up, "an object", j);
	for (const struct gpc_bind *t = table; t->kind != GPC_BIND_END; t++) {
		struct path p = {.up = up, .key = t->key};
		const struct gpc_json *m;
		int r;

		if (t->kind == GPC_BIND_REST) {
			*(struct gpc_json **)member(object, t) =
				read_rest(j, table);
			continue;
		}
		m = gpc_json_get(j, t->key);
		if (!m && (t->flags & GPC_BIND_REQUIRED))
			return refuse(err, &p, "is missing");
		if (!m || (gpc_json_is_null(m) &&
				  !(t->flags & GPC_BIND_REQUIRED)))
			continue;
		r = read_member(m, t, member(object, t), &p, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int gpc_bind_read(const struct gpc_json *j, const struct gpc_bind *table,
	void *ret_object, struct gpc_error *err)
{
	int r = read_table(j, table, ret_object, NULL, err);

	if (r < 0)
		gpc_bind_clear(table, ret_object);
	return r;
}

int gpc_bind_parse(const char *text, size_t n, const struct gpc_bind *table,
	void *ret_object, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = NULL;
	int r = gpc_json_parse(text, n, &j, err);

	return r < 0 ? r : gpc_bind_read(j, table, ret_object, err);
}

static struct gpc_json *write_i64(int64_t n)
{
	gpc_autostr *text = NULL;

	if (n >= -EXACT && n <= EXACT)
		return gpc_json_int(n);
	text = gpc_format("%" PRId64, n);
	return gpc_json_string(text);
}

static struct gpc_json *write_enum(const char *const *names, int n)
{
	int count = 0;

	while (names[count])
		count++;
	assert(n >= 0 && n < count);
	return gpc_json_string(names[n]);
}

static struct gpc_json *write_money(const struct gpc_money *m)
{
	struct gpc_json *j = gpc_json_object();
	char amount[GPC_MONEY_SIZE];

	gpc_json_set_str(j, "amount", gpc_money_decimal(*m, amount));
	gpc_json_set_str(j, "currency", m->currency);
	return j;
}

static struct gpc_json *write_pairs(const struct gpc_pairs *p)
{
	struct gpc_json *j = gpc_json_object();

	for (size_t i = 0; i < p->n; i++)
		gpc_json_append(j, p->v[i].key,
			gpc_json_string(p->v[i].value));
	return j;
}

static struct gpc_json *write_vec(const struct any_vec *vec,
	const struct gpc_bind *t)
{
	struct gpc_json *j = gpc_json_array();

	for (size_t i = 0; i < vec->n; i++)
		gpc_json_add(j, gpc_bind_write(t->sub,
			(const char *)vec->v + i * t->sub_size));
	return j;
}

static bool is_empty_value(const struct gpc_bind *t, const void *from)
{
	switch (t->kind) {
	case GPC_BIND_STR:
		return *(char *const *)from == NULL;
	case GPC_BIND_INT:
	case GPC_BIND_ENUM:
		return *(const int *)from == 0;
	case GPC_BIND_I64:
	case GPC_BIND_I53:
		return *(const int64_t *)from == 0;
	case GPC_BIND_BOOL:
		return !*(const bool *)from;
	case GPC_BIND_MONEY: {
		const struct gpc_money *m = from;

		return m->micros == 0 && m->currency[0] == '\0';
	}
	case GPC_BIND_STRV:
		return ((const struct gpc_strv *)from)->n == 0;
	case GPC_BIND_PAIRS:
		return ((const struct gpc_pairs *)from)->n == 0;
	case GPC_BIND_VEC:
		return ((const struct any_vec *)from)->n == 0;
	case GPC_BIND_JSON:
		return *(struct gpc_json *const *)from == NULL;
	case GPC_BIND_OBJECT:
	case GPC_BIND_REST:
	case GPC_BIND_END:
		break;
	}
	return false;
}

static struct gpc_json *write_member(const struct gpc_bind *t,
	const void *from)
{
	switch (t->kind) {
	case GPC_BIND_STR:
		return gpc_json_string(*(char *const *)from);
	case GPC_BIND_INT:
		return gpc_json_int(*(const int *)from);
	case GPC_BIND_I64:
	case GPC_BIND_I53:
		return write_i64(*(const int64_t *)from);
	case GPC_BIND_BOOL:
		return gpc_json_bool(*(const bool *)from);
	case GPC_BIND_ENUM:
		return write_enum(t->names, *(const int *)from);
	case GPC_BIND_MONEY:
		return write_money(from);
	case GPC_BIND_STRV:
		return gpc_json_strings(from);
	case GPC_BIND_PAIRS:
		return write_pairs(from);
	case GPC_BIND_OBJECT:
		return gpc_bind_write(t->sub, from);
	case GPC_BIND_VEC:
		return write_vec(from, t);
	case GPC_BIND_JSON:
		return gpc_json_copy(*(struct gpc_json *const *)from);
	case GPC_BIND_REST:
	case GPC_BIND_END:
		break;
	}
	return NULL;
}

static void write_rest(struct gpc_json *to, const struct gpc_bind *table,
	const struct gpc_json *rest)
{
	for (const struct gpc_json *m = gpc_json_first(rest); m;
		m = gpc_json_next(m)) {
		if (is_named(table, gpc_json_key(m)))
			gpc_json_set(to, gpc_json_key(m), gpc_json_copy(m));
		else
			gpc_json_append(to, gpc_json_key(m), gpc_json_copy(m));
	}
}

struct gpc_json *gpc_bind_write(const struct gpc_bind *table,
	const void *object)
{
	struct gpc_json *j = gpc_json_object();

	for (const struct gpc_bind *t = table; t->kind != GPC_BIND_END; t++) {
		const void *from = member_c(object, t);
		bool keep = t->flags & (GPC_BIND_REQUIRED | GPC_BIND_KEEP_EMPTY);
		struct gpc_json *value;

		if (t->kind == GPC_BIND_REST) {
			write_rest(j, table, *(struct gpc_json *const *)from);
			continue;
		}
		if (!keep && is_empty_value(t, from))
			continue;
		value = write_member(t, from);
		if (!keep && t->kind == GPC_BIND_OBJECT &&
			!gpc_json_first(value))
			gpc_json_free(value);
		else
			gpc_json_set(j, t->key, value);
	}
	return j;
}
