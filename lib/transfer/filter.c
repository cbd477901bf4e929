/* Patterns in the order of the command line. Each is a set of rules of its own
 * (snapshot/ignore.h), so that it is known which one has decided. */
#include "transfer/filter.h"

#include <string.h>

#include "base/vec.h"
#include "snapshot/ignore.h"

struct pattern {
	struct gpc_ignore *rule;
	bool includes;
};

struct gpc_filter { GPC_VEC(struct pattern) patterns; };

static int fail_pattern(const char *text, const char *why, struct gpc_error *err)
{
	gpc_autostr *shown = gpc_str_printable(text, strlen(text));

	return gpc_fail(err, GPC_EUSAGE, "pattern \"%.200s\": %s", shown, why);
}

/* The rule itself is always one that excludes; what it then means is ours. */
static int add_pattern(struct gpc_filter *f, const char *text,
	struct gpc_error *err)
{
	bool includes = text[0] == '!';
	const char *bare = text + includes;
	/* else it were a comment or turned round once more */
	gpc_autostr *line = gpc_format("%s%s", *bare == '#' || *bare == '!' ?
		"\\" : "", bare);
	struct gpc_ignore *rule = NULL;
	struct pattern *p;
	int r;

	if (!*bare)
		return fail_pattern(text, "it is empty", err);
	if (strchr(bare, '\n'))
		return fail_pattern(text, "it has two lines", err);
	r = gpc_ignore_new(line, strlen(line), "", "pattern", NULL, &rule, NULL);
	if (r)
		return fail_pattern(text, "it is too long", err);
	p = gpc_vec_push(&f->patterns);
	p->rule = rule;
	p->includes = includes;
	return 0;
}

int gpc_filter_new(const struct gpc_strv *patterns, struct gpc_filter **ret_f,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_filter) *f = gpc_alloc(sizeof(*f));

	for (size_t i = 0; i < patterns->n; i++) {
		int r = add_pattern(f, patterns->v[i], err);

		if (r)
			return r;
	}
	*ret_f = gpc_steal(&f);
	return 0;
}

void gpc_filter_free(struct gpc_filter *f)
{
	if (!f)
		return;
	gpc_vec_each(p, &f->patterns)
		gpc_ignore_free(p->rule);
	gpc_vec_free(&f->patterns);
	free(f);
}

/* Whether it fits the path, or a folder that the path lies in. path is restored. */
static bool fits(const struct pattern *p, char *path, bool is_dir)
{
	if (gpc_ignore_excludes(gpc_ignore_find(p->rule, path, is_dir)))
		return true;
	for (char *s = path; (s = strchr(s, '/')); s++) {
		bool out;

		*s = '\0';
		out = gpc_ignore_excludes(gpc_ignore_find(p->rule, path, true));
		*s = '/';
		if (out)
			return true;
	}
	return false;
}

bool gpc_filter_takes(const struct gpc_filter *f, const char *key)
{
	gpc_autostr *path = NULL;

	if (!f || !f->patterns.n)
		return true;
	path = gpc_strdup(key);
	for (size_t i = f->patterns.n; i-- > 0;)
		if (fits(&f->patterns.v[i], path, false))
			return f->patterns.v[i].includes;
	return true;
}

/* What a later pattern may bring back is looked for. */
bool gpc_filter_enters(const struct gpc_filter *f, const char *key)
{
	gpc_autostr *path = gpc_strdup(key);

	for (size_t i = f ? f->patterns.n : 0; i-- > 0;) {
		if (f->patterns.v[i].includes)
			return true;
		if (fits(&f->patterns.v[i], path, true))
			return false;
	}
	return true;
}
