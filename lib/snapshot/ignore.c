/* gitignore(5): which rule decides about a path. What a line means follows
 * git's dir.c step by step, including its oddities: the part of a pattern
 * before the first wildcard is compared as bytes, and what is left is a glob
 * of its own.
 */
#include "snapshot/ignore.h"

#include <string.h>

#include "base/str.h"
#include "base/vec.h"
#include "snapshot/wild.h"

struct gpc_ignore_rule {
	char *shown;            /* FILE:LINE: PATTERN */
	char *literal;          /* what must be equal, before the glob */
	size_t n_literal;
	struct gpc_wild glob;
	bool has_glob;
	bool negative;
	bool dir_only;
	bool base_name;         /* no slash: compared with the last part only */
};

struct gpc_ignore {
	const struct gpc_ignore *parent;
	size_t n_base;          /* bytes of the folder, with its slash */
	GPC_VEC(struct gpc_ignore_rule) rules;
};

/* Git cuts unescaped spaces at the end, but no tabs. */
static size_t trimmed(const char *line, size_t n)
{
	size_t keep = n;
	bool spaces = false;

	for (size_t i = 0; i < n; i++) {
		if (line[i] == ' ') {
			if (!spaces)
				keep = i;
			spaces = true;
			continue;
		}
		if (line[i] == '\\' && ++i == n)
			return n;
		spaces = false;
	}
	return spaces ? keep : n;
}

static size_t literal_part(const char *pattern, size_t n)
{
	size_t i = 0;

	while (i < n && !strchr("*?[\\", pattern[i]))
		i++;
	return i;
}

static void add_rule(struct gpc_ignore *x, const char *file, size_t number,
	const char *line, size_t n)
{
	struct gpc_ignore_rule *rule = gpc_vec_push(&x->rules);
	size_t literal;

	rule->shown = gpc_format("%s:%zu: %.*s", file, number, (int)n, line);
	rule->negative = n > 0 && line[0] == '!';
	line += rule->negative;
	n -= rule->negative;
	rule->dir_only = n > 0 && line[n - 1] == '/';
	n -= rule->dir_only;
	rule->base_name = !memchr(line, '/', n);
	if (n > 0 && line[0] == '/') {
		line++;
		n--;
	}
	literal = literal_part(line, n);
	/* A glob without a slash is matched whole, for speed and as git does. */
	if (rule->base_name && literal < n)
		literal = 0;
	rule->literal = gpc_strndup(line, literal);
	rule->n_literal = literal;
	rule->has_glob = literal < n;
	if (rule->has_glob)
		gpc_wild_compile(line + literal, n - literal, !rule->base_name,
			&rule->glob);
}

int gpc_ignore_new(const char *text, size_t n, const char *base,
	const char *file, const struct gpc_ignore *parent,
	struct gpc_ignore **ret_x, struct gpc_error *err)
{
	gpc_autoptr(gpc_ignore) *x = gpc_alloc(sizeof(*x));
	size_t number = 0;

	x->parent = parent;
	x->n_base = strlen(base);
	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		n -= 3;
	}
	while (n > 0) {
		const char *end = memchr(text, '\n', n);
		size_t whole = end ? (size_t)(end - text) + 1 : n;
		size_t len = end ? whole - 1 : n;
		const char *nul;

		number++;
		if (len > 0 && text[len - 1] == '\r')
			len--;
		nul = memchr(text, '\0', len);
		len = trimmed(text, nul ? (size_t)(nul - text) : len);
		if (len > GPC_IGNORE_MAX_LINE)
			return gpc_fail(err, GPC_ECONFIG,
				"%s:%zu: a rule of more than %d bytes", file,
				number, GPC_IGNORE_MAX_LINE);
		if (len > 0 && text[0] != '#')
			add_rule(x, file, number, text, len);
		text += whole;
		n -= whole;
	}
	*ret_x = gpc_steal(&x);
	return 0;
}

void gpc_ignore_free(struct gpc_ignore *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->rules.n; i++) {
		free(x->rules.v[i].shown);
		free(x->rules.v[i].literal);
		gpc_wild_clear(&x->rules.v[i].glob);
	}
	gpc_vec_free(&x->rules);
	free(x);
}

static bool rule_matches(const struct gpc_ignore_rule *rule, const char *path,
	size_t n)
{
	if (n < rule->n_literal
		|| memcmp(path, rule->literal, rule->n_literal) != 0)
		return false;
	path += rule->n_literal;
	n -= rule->n_literal;
	return rule->has_glob ? gpc_wild_match(&rule->glob, path, n) : n == 0;
}

const struct gpc_ignore_rule *gpc_ignore_find(const struct gpc_ignore *x,
	const char *path, bool is_dir)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t n = strlen(path), n_name = strlen(name);

	for (; x; x = x->parent) {
		for (size_t i = x->rules.n; i-- > 0;) {
			const struct gpc_ignore_rule *rule = &x->rules.v[i];

			if (rule->dir_only && !is_dir)
				continue;
			if (rule->base_name
				? rule_matches(rule, name, n_name)
				: rule_matches(rule, path + x->n_base,
					n - x->n_base))
				return rule;
		}
	}
	return NULL;
}

bool gpc_ignore_excludes(const struct gpc_ignore_rule *rule)
{
	return rule && !rule->negative;
}

const char *gpc_ignore_rule_str(const struct gpc_ignore_rule *rule)
{
	return rule->shown;
}
