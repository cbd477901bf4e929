/* What a plain YAML 1.1 scalar means, exactly as PyYAML's SafeLoader decides
 * it: `no` is false, `010` is 8, `1:30` is 90, `1e3` is text. Pure functions
 * of the text; hand-written so that hostile scalars cost linear time. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "dep/yaml.h"

static const char *const true_words[] = {
	"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", NULL,
};
static const char *const false_words[] = {
	"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF", NULL,
};
static const char *const null_words[] = {
	"", "~", "null", "Null", "NULL", NULL,
};

static bool is_in(const char *text, const char *const *words)
{
	for (; *words; words++) {
		if (gpc_eq(text, *words))
			return true;
	}
	return false;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *skip_sign(const char *s)
{
	return *s == '-' || *s == '+' ? s + 1 : s;
}

static const char *skip_set(const char *s, const char *set)
{
	return s + strspn(s, set);
}

#define DIGITS "0123456789"
#define DIGITS_ DIGITS "_"

/* The `:59` groups of a sexagesimal number; NULL when there is none. */
static const char *skip_sixties(const char *s)
{
	const char *start = s;

	while (*s == ':') {
		if (s[1] >= '0' && s[1] <= '5' && is_digit(s[2]))
			s += 3;
		else if (is_digit(s[1]))
			s += 2;
		else
			return NULL;
	}
	return s == start ? NULL : s;
}

enum form {
	FORM_NONE, FORM_BINARY, FORM_OCTAL, FORM_DECIMAL, FORM_HEX,
	FORM_SIXTIES,
};

static enum form int_form(const char *text)
{
	const char *s = skip_sign(text), *end;

	if (s[0] == '0' && s[1] == 'b' && strpbrk(s + 2, "01"))
		return *skip_set(s + 2, "01_") ? FORM_NONE : FORM_BINARY;
	if (s[0] == '0' && s[1] == 'x' && s[2])
		return *skip_set(s + 2, DIGITS "abcdefABCDEF_") ||
				!s[2 + strspn(s + 2, "_")]
			? FORM_NONE : FORM_HEX;
	if (s[0] == '0')
		return !s[1] ? FORM_DECIMAL
			: *skip_set(s + 1, "01234567_") ? FORM_NONE : FORM_OCTAL;
	if (!is_digit(*s))
		return FORM_NONE;
	end = skip_set(s, DIGITS_);
	if (!*end)
		return FORM_DECIMAL;
	end = skip_sixties(end);
	return end && !*end ? FORM_SIXTIES : FORM_NONE;
}

static const char *skip_exponent(const char *s)
{
	if ((*s != 'e' && *s != 'E') || (s[1] != '-' && s[1] != '+') ||
	    !is_digit(s[2]))
		return s;
	return skip_set(s + 2, DIGITS);
}

static bool is_named_float(const char *text)
{
	static const char *const inf[] = {".inf", ".Inf", ".INF", NULL};
	static const char *const nan[] = {".nan", ".NaN", ".NAN", NULL};

	return is_in(skip_sign(text), inf) || is_in(text, nan);
}

static enum form float_form(const char *text)
{
	const char *s = skip_sign(text), *end;

	if (is_named_float(text))
		return FORM_DECIMAL;
	if (*text == '.')
		return is_digit(text[1]) &&
				!*skip_exponent(skip_set(text + 1, DIGITS_))
			? FORM_DECIMAL : FORM_NONE;
	if (!is_digit(*s))
		return FORM_NONE;
	s = skip_set(s, DIGITS_);
	if (*s == '.')
		return *skip_exponent(skip_set(s + 1, DIGITS_))
			? FORM_NONE : FORM_DECIMAL;
	end = skip_sixties(s);
	if (!end || *end != '.')
		return FORM_NONE;
	return *skip_set(end + 1, DIGITS_) ? FORM_NONE : FORM_SIXTIES;
}

/* Takes min..max digits off *s. */
static bool take_digits(const char **s, int min, int max)
{
	int n = 0;

	while (n < max && is_digit((*s)[n]))
		n++;
	*s += n;
	return n >= min;
}

static bool take(const char **s, char c)
{
	return **s == c ? (*s)++, true : false;
}

static bool is_zone(const char *s)
{
	s = skip_set(s, " \t");
	if (!*s)
		return true;
	if (*s == 'Z')
		return !s[1];
	if (*s != '-' && *s != '+')
		return false;
	s++;
	if (!take_digits(&s, 1, 2))
		return false;
	return !*s || (take(&s, ':') && take_digits(&s, 2, 2) && !*s);
}

static bool is_timestamp(const char *text)
{
	const char *s = text;
	bool date;

	if (!take_digits(&s, 4, 4) || !take(&s, '-') ||
	    !take_digits(&s, 1, 2) || !take(&s, '-') || !take_digits(&s, 1, 2))
		return false;
	date = s - text == 10;
	if (!*s)
		return date;
	if (*s == 'T' || *s == 't')
		s++;
	else if (*s == ' ' || *s == '\t')
		s = skip_set(s, " \t");
	else
		return false;
	if (!take_digits(&s, 1, 2) || !take(&s, ':') ||
	    !take_digits(&s, 2, 2) || !take(&s, ':') || !take_digits(&s, 2, 2))
		return false;
	if (take(&s, '.'))
		s = skip_set(s, DIGITS);
	if ((*s == ' ' || *s == '\t') && !*skip_set(s, " \t"))
		return false;
	return is_zone(s);
}

enum gpc_yaml_type gpc_yaml_type_of(const char *text)
{
	if (is_in(text, null_words))
		return GPC_YAML_NULL;
	if (is_in(text, true_words) || is_in(text, false_words))
		return GPC_YAML_BOOL;
	if (float_form(text))
		return GPC_YAML_FLOAT;
	if (int_form(text))
		return GPC_YAML_INT;
	if (is_timestamp(text))
		return GPC_YAML_TIMESTAMP;
	return GPC_YAML_STR;
}

bool gpc_yaml_to_bool(const struct gpc_yaml_node *node, bool *ret_b)
{
	if (!node || node->kind != GPC_YAML_SCALAR ||
	    node->type != GPC_YAML_BOOL)
		return false;
	*ret_b = is_in(node->text, true_words);
	return true;
}

/* Adds a digit in this base; false when it no longer fits. */
static bool push_digit(uint64_t *n, unsigned base, unsigned digit)
{
	if (*n > ((uint64_t)INT64_MAX - digit) / base)
		return false;
	*n = *n * base + digit;
	return true;
}

static bool digits_to_u64(const char *s, unsigned base, uint64_t *ret_n)
{
	uint64_t n = 0;

	for (; *s; s++) {
		int c = tolower((unsigned char)*s);

		if (c != '_' && !push_digit(&n, base,
				(unsigned)(c <= '9' ? c - '0' : c - 'a' + 10)))
			return false;
	}
	*ret_n = n;
	return true;
}

static bool sixties_to_u64(const char *s, uint64_t *ret_n)
{
	uint64_t n = 0, group = 0;

	for (;; s++) {
		if (is_digit(*s)) {
			if (!push_digit(&group, 10, (unsigned)(*s - '0')))
				return false;
		} else if (*s != '_') {
			if (n > (uint64_t)INT64_MAX / 60 ||
			    n * 60 > (uint64_t)INT64_MAX - group)
				return false;
			n = n * 60 + group;
			group = 0;
			if (!*s)
				break;
		}
	}
	*ret_n = n;
	return true;
}

bool gpc_yaml_to_i64(const struct gpc_yaml_node *node, int64_t *ret_n)
{
	const char *s;
	uint64_t n = 0;
	bool fits = false;

	if (!node || node->kind != GPC_YAML_SCALAR ||
	    node->type != GPC_YAML_INT)
		return false;
	s = skip_sign(node->text);
	switch (int_form(node->text)) {
	case FORM_BINARY: fits = digits_to_u64(s + 2, 2, &n); break;
	case FORM_HEX: fits = digits_to_u64(s + 2, 16, &n); break;
	case FORM_OCTAL: fits = digits_to_u64(s, 8, &n); break;
	case FORM_DECIMAL: fits = digits_to_u64(s, 10, &n); break;
	case FORM_SIXTIES: fits = sixties_to_u64(s, &n); break;
	case FORM_NONE: break;
	}
	if (!fits)
		return false;
	*ret_n = node->text[0] == '-' ? -(int64_t)n : (int64_t)n;
	return true;
}

static bool sixties_to_double(const char *s, double *ret_x)
{
	double x = 0, group = 0, place = 1;
	bool fraction = false;

	for (; *s; s++) {
		if (*s == ':') {
			x = (x + group) * 60;
			group = 0;
		} else if (*s == '.') {
			fraction = true;
		} else if (is_digit(*s) && fraction) {
			place /= 10;
			group += place * (*s - '0');
		} else if (is_digit(*s)) {
			group = group * 10 + (*s - '0');
		}
	}
	*ret_x = x + group;
	return true;
}

static bool decimal_to_double(const char *text, double *ret_x)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	if (*text == '.')
		gpc_buf_addc(&b, '0');
	for (const char *s = text; *s; s++) {
		if (*s == '_')
			continue;
		gpc_buf_addc(&b, *s);
		if (*s == '.' && !is_digit(s[1]))
			gpc_buf_addc(&b, '0');
	}
	return !gpc_parse_double(gpc_buf_str(&b), -HUGE_VAL, HUGE_VAL, "number",
		ret_x, NULL);
}

bool gpc_yaml_to_double(const struct gpc_yaml_node *node, double *ret_x)
{
	const char *s;
	int64_t n;
	double x = 0;

	if (gpc_yaml_to_i64(node, &n)) {
		*ret_x = (double)n;
		return true;
	}
	if (!node || node->kind != GPC_YAML_SCALAR ||
	    node->type != GPC_YAML_FLOAT || is_named_float(node->text))
		return false;
	s = skip_sign(node->text);
	if (!(float_form(node->text) == FORM_SIXTIES
		? sixties_to_double(s, &x) : decimal_to_double(s, &x)))
		return false;
	*ret_x = node->text[0] == '-' ? -x : x;
	return true;
}

char *gpc_yaml_surprise(const struct gpc_yaml_node *node)
{
	int64_t n;
	double x;
	bool b;

	if (!node || node->kind != GPC_YAML_SCALAR || node->quoted)
		return NULL;
	if (gpc_yaml_to_bool(node, &b) && tolower((unsigned char)*node->text) != 't' &&
	    tolower((unsigned char)*node->text) != 'f')
		return gpc_format("`%s` is read as %s", node->text,
			b ? "true" : "false");
	if (gpc_yaml_to_i64(node, &n)) {
		enum form form = int_form(node->text);

		if (form == FORM_OCTAL)
			return gpc_format("`%s` is read as %lld (octal)",
				node->text, (long long)n);
		if (form == FORM_SIXTIES)
			return gpc_format("`%s` is read as %lld (base 60)",
				node->text, (long long)n);
	}
	if (node->type == GPC_YAML_FLOAT &&
	    float_form(node->text) == FORM_SIXTIES &&
	    gpc_yaml_to_double(node, &x))
		return gpc_format("`%s` is read as %g (base 60)", node->text, x);
	return NULL;
}
