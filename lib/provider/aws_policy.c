/* Built as trees, so that no name from outside can become part of the syntax. */
#include "provider/aws_policy.h"

#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"

struct gpc_json *gpc_aws_texts(const char *first, ...)
{
	struct gpc_json *a = gpc_json_array();
	va_list ap;

	va_start(ap, first);
	for (const char *s = first; s; s = va_arg(ap, const char *))
		gpc_json_add(a, gpc_json_string(s));
	va_end(ap);
	return a;
}

void gpc_aws_condition(struct gpc_json *to, const char *operator,
	const char *key, struct gpc_json *value)
{
	const struct gpc_json *old = gpc_json_get(to, operator);
	struct gpc_json *keys = old ? gpc_json_copy(old) : gpc_json_object();

	gpc_json_set(keys, key, value);
	gpc_json_set(to, operator, keys);
}

struct gpc_json *gpc_aws_policy(void)
{
	struct gpc_json *p = gpc_json_object();

	gpc_json_set_str(p, "Version", "2012-10-17");
	gpc_json_set(p, "Statement", gpc_json_array());
	return p;
}

void gpc_aws_policy_add(struct gpc_json *policy,
	const struct gpc_aws_statement *s)
{
	struct gpc_json *all = gpc_json_copy(gpc_json_get(policy, "Statement"));
	struct gpc_json *j = gpc_json_object();

	gpc_json_set_str(j, "Sid", s->sid);
	gpc_json_set_str(j, "Effect", s->deny ? "Deny" : "Allow");
	if (s->principal)
		gpc_json_set(j, "Principal", s->principal);
	gpc_json_set(j, "Action", s->actions);
	if (s->resources)
		gpc_json_set(j, "Resource", s->resources);
	if (s->condition)
		gpc_json_set(j, "Condition", s->condition);
	gpc_json_add(all, j);
	gpc_json_set(policy, "Statement", all);
}

char *gpc_aws_policy_literal(const char *text)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	for (; *text; text++) {
		if (strchr("*?$", *text))
			gpc_buf_addf(&b, "${%c}", *text);
		else
			gpc_buf_add(&b, text, 1);
	}
	return gpc_strdup(gpc_buf_str(&b));
}

/* --- comparing --------------------------------------------------------------- */

static const struct gpc_json *only(const struct gpc_json *j)
{
	const struct gpc_json *first = gpc_json_is_array(j) ? gpc_json_first(j) :
		NULL;

	return first && !gpc_json_next(first) ? first : j;
}

static size_t count(const struct gpc_json *j)
{
	size_t n = 0;

	for (const struct gpc_json *m = gpc_json_first(j); m; m = gpc_json_next(m))
		n++;
	return n;
}

/* All of a are in b; in equal numbers that makes them equal, as no list of a policy
 * says a thing twice. */
static bool within(const struct gpc_json *a, const struct gpc_json *b)
{
	for (const struct gpc_json *x = gpc_json_first(a); x;
		x = gpc_json_next(x)) {
		const struct gpc_json *y = gpc_json_is_object(a) ?
			gpc_json_get(b, gpc_json_key(x)) : gpc_json_first(b);

		while (y && !gpc_aws_policy_equal(x, y))
			y = gpc_json_is_object(a) ? NULL : gpc_json_next(y);
		if (!y)
			return false;
	}
	return true;
}

/* Conditions take "true" and true alike. */
static bool same_leaf(const struct gpc_json *a, const struct gpc_json *b)
{
	gpc_autostr *x = gpc_json_is_string(a) ? gpc_strdup(gpc_json_str(a)) :
		gpc_json_print(a);
	gpc_autostr *y = gpc_json_is_string(b) ? gpc_strdup(gpc_json_str(b)) :
		gpc_json_print(b);

	return gpc_eq(x, y);
}

bool gpc_aws_policy_equal(const struct gpc_json *a, const struct gpc_json *b)
{
	a = only(a);
	b = only(b);
	if (!a || !b)
		return a == b;
	if (gpc_json_is_object(a) != gpc_json_is_object(b) ||
		gpc_json_is_array(a) != gpc_json_is_array(b))
		return false;
	if (!gpc_json_is_object(a) && !gpc_json_is_array(a))
		return same_leaf(a, b);
	return count(a) == count(b) && within(a, b);
}

struct gpc_json *gpc_aws_policy_pick(const struct gpc_json *policy,
	const char *start, bool others)
{
	const struct gpc_json *all = gpc_json_get(policy, "Statement");
	const struct gpc_json *s = gpc_json_is_array(all) ? gpc_json_first(all) :
		all;
	struct gpc_json *to = gpc_json_array();

	for (; s; s = gpc_json_is_array(all) ? gpc_json_next(s) : NULL) {
		const char *sid = gpc_json_get_str(s, "Sid");

		if (gpc_starts_with(sid ? sid : "", start) != others)
			gpc_json_add(to, gpc_json_copy(s));
	}
	return to;
}
