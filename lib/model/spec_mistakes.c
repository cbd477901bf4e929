/* All mistakes of a spec in one go: who has made five is not to try six times.
 * Reading goes on after one wherever the next thing can be read without it; what
 * is wrong is noted where it is found, by the innermost of the loops that goes on,
 * so that nothing is said twice. Only people's files are read so: of what a store
 * holds the first mistake is enough. */
#include "base/vec.h"
#include "model/spec_read.h"

enum { MOST = 20 };

size_t gpc_spec_wrong(const struct gpc_spec_reader *r)
{
	return r->mistakes ? r->mistakes->wrong : 0;
}

bool gpc_spec_goes_on(struct gpc_spec_reader *r, size_t before, int e,
	int *first)
{
	struct gpc_spec_mistakes *m = r->mistakes;

	if (!e)
		return true;
	if (!*first)
		*first = e;
	if (!m)
		return false;
	if (m->wrong == before) {
		gpc_errors_add(&m->list, r->err);
		m->wrong++;
	}
	return m->wrong < MOST;
}

int gpc_spec_read_unbuilt(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *key,
	const struct gpc_yaml_node *value, void *base)
{
	gpc_autostr *path = gpc_spec_field_path(f);
	struct gpc_spec_reader within = *r;
	struct gpc_error why = {0};

	within.mistakes = NULL;
	within.err = &why;
	bool wrong = gpc_spec_read_value(&within, f, value, base) != 0;

	if (!wrong && (!base || !gpc_spec_is_unbuilt(f, base)))
		return 0;
	gpc_spec_fail(&within, key, "%s is not built yet (%s)", path, f->help);
	gpc_recode(&why, GPC_EUNSUPPORTED);
	if (wrong)
		*r->err = why;
	else
		gpc_errors_add(&r->mistakes->list, &why);
	return wrong ? -GPC_EUNSUPPORTED : 0;
}

static void hint_at_more(struct gpc_error *last)
{
	gpc_autostr *hint = gpc_format("%s%sthese are the first %d; there may be "
		"more", last->hint, *last->hint ? "\n" : "", MOST);

	gpc_hint(last, "%s", hint);
}

int gpc_spec_take_mistakes(struct gpc_spec_reader *r, int result,
	struct gpc_errors *others)
{
	struct gpc_spec_mistakes *m = r->mistakes;

	/* What is not built alone is refused later, with what else is; and what was
	 * found wrong with the file as a whole is in err already. */
	if (!result || !m->wrong)
		return result;
	if (m->wrong >= MOST)
		hint_at_more(&m->list.v[m->list.n - 1]);
	return gpc_errors_take(&m->list, others, r->err);
}
