/* See obstacles.h. */
#include "cmd/obstacles.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "base/vec.h"
#include "cmd/phrase.h"

bool gpc_obstacle(struct gpc_errors *found, int r, const struct gpc_error *err)
{
	if (r)
		gpc_errors_add(found, err);
	return r == 0;
}

struct look {
	const struct gpc_spec *spec;
	bool unset;
	struct gpc_errors *found;
};

/* Something of this machine that the spec names must be there; what is wrong
 * with it otherwise is found when it is read. */
static void must_be(struct look *l, const char *field, const char *path)
{
	gpc_autostr *where = NULL;
	struct gpc_error err = {0};
	int r;

	if (access(path, F_OK) == 0 || (l->unset && strchr(path, '$')))
		return;
	r = gpc_fail_sys(&err, errno, "cannot read %s", path);
	where = gpc_spec_where(l->spec, field);
	r = gpc_wrap(&err, r, "%s: %s", where, field);
	gpc_hint(&err, "paths start in the current folder; make it, or name "
		"another");
	/* it is the spec that names what is not there */
	if (r)
		gpc_obstacle(l->found, gpc_recode(&err, GPC_ECONFIG), &err);
}

static int check_deadline(const struct gpc_spec *spec, struct gpc_error *err)
{
	int64_t deadline = spec->limits.deadline_ms;
	gpc_autostr *when = NULL, *where = NULL;
	int r;

	if (!deadline || deadline > gpc_wall_ms())
		return 0;
	when = gpc_phrase_time(deadline);
	where = gpc_spec_where(spec, "limits.deadline");
	r = gpc_fail(err, GPC_ECONFIG, "%s: limits.deadline is over: it was %s",
		where, when);
	gpc_hint(err, "give a later one, such as --deadline 2030-01-31");
	return r;
}

/* Better now than on a node. */
static void look_for_files(struct look *l)
{
	const struct gpc_spec *spec = l->spec;

	if (spec->workdir)
		must_be(l, "workdir", spec->workdir);
	gpc_vec_each(m, &spec->file_mounts) {
		if (m->source && !m->sources.n &&
			!gpc_spec_source_is_bucket(m->source))
			must_be(l, "file_mounts", gpc_spec_source_path(m->source));
		for (size_t i = 0; i < m->sources.n; i++)
			must_be(l, "file_mounts",
				gpc_spec_source_path(m->sources.v[i]));
	}
	gpc_vec_each(x, &spec->notify) {
		if (x->command.n && *x->command.v[0] == '/')
			must_be(l, "notify", x->command.v[0]);
	}
}

void gpc_obstacles_at_hand(const struct gpc_spec *spec, bool unset,
	struct gpc_strv *warnings, struct gpc_errors *found)
{
	struct look l = {.spec = spec, .unset = unset, .found = found};
	gpc_auto(gpc_errors) struct gpc_errors others = {0};
	struct gpc_error err = {0};

	gpc_obstacle(found, gpc_spec_check_supported(spec, warnings, &others,
		&err), &err);
	gpc_errors_add_all(found, &others);
	gpc_obstacle(found, check_deadline(spec, &err), &err);
	look_for_files(&l);
}

bool gpc_obstacles_can_plan(const struct gpc_spec *spec)
{
	size_t n = gpc_spec_candidates(spec, NULL);

	for (size_t i = 0; i < n; i++)
		if (!gpc_resources_check_supported(gpc_spec_candidate(spec, i),
			NULL, NULL))
			return true;
	return false;
}
