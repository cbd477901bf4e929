/* From what a person types to a job: id, name, unique prefix, or "@". */
#include "record/index.h"

#include <string.h>

#include "base/str.h"

static void take(struct gpc_index *to, const struct gpc_index_entry *x)
{
	*gpc_vec_push(to) = *x;
}

/* Entries are newest first, so the order of matches is right already. */
static void match(const struct gpc_index *all, const char *word,
	const char *owner_hash, struct gpc_index *ret_m, bool *ret_ambiguous)
{
	size_t unfinished = 0;

	*ret_ambiguous = false;
	gpc_vec_each(x, all)
		if (strcmp(x->job, word) == 0) {
			take(ret_m, x);
			return;
		}
	gpc_vec_each(x, all)
		if (strcmp(word, "@") == 0 && !ret_m->n &&
			gpc_eq(x->owner_hash, owner_hash))
			take(ret_m, x);
	if (strcmp(word, "@") == 0)
		return;
	gpc_vec_each(x, all)
		if (strcmp(x->name, word) == 0) {
			take(ret_m, x);
			unfinished += x->live;
		}
	*ret_ambiguous = unfinished > 1;
	if (ret_m->n || !*word)
		return;
	gpc_vec_each(x, all)
		if (gpc_starts_with(x->job, word))
			take(ret_m, x);
	*ret_ambiguous = ret_m->n > 1;
}

static int no_match(const struct gpc_index *all, const char *word,
	struct gpc_error *err)
{
	const char **words = gpc_array(all->n * 2 + 1, sizeof(*words));
	gpc_autostr *shown = gpc_str_printable(word, strnlen(word, 100));
	const char *near;
	int r;

	for (size_t i = 0; i < all->n; i++) {
		words[2 * i] = all->v[i].name;
		words[2 * i + 1] = all->v[i].job;
	}
	near = gpc_nearest(word, words, all->n * 2);
	if (strcmp(word, "@") == 0)
		r = gpc_fail(err, GPC_ENOTFOUND, "you have no job here");
	else
		r = gpc_fail(err, GPC_ENOTFOUND, "no job \"%s\"", shown);
	if (near)
		gpc_hint(err, "did you mean %s?", near);
	else
		gpc_hint(err, "`gpucloud status` lists the jobs");
	free(words);
	return r;
}

int gpc_index_find(struct gpc_store *s, const char *word,
	const char *owner_hash, struct gpc_index *ret_matches,
	bool *ret_ambiguous, struct gpc_error *err)
{
	gpc_auto(gpc_index) struct gpc_index all = {0};
	struct gpc_index found = {0};
	bool ambiguous;
	int r = gpc_index_list(s, 0, &all, err);

	if (r < 0)
		return r;
	match(&all, word, owner_hash, &found, &ambiguous);
	if (!found.n)
		return no_match(&all, word, err);
	*ret_matches = found;
	*ret_ambiguous = ambiguous;
	return 0;
}
