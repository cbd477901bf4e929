/* What file_mounts name is taken when a job is submitted, like the workspace:
 * an edit after that does not reach the job, and no node needs to see the path.
 * A single file is a tree of one, which the agent puts under the target's name.
 */
#include "core/mounts.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/own_folders.h"

void gpc_mounts_clear(struct gpc_mounts *m)
{
	gpc_vec_each(x, m) {
		free(x->target);
		free(x->source);
		free(x->file);
		gpc_tree_clear(&x->tree);
	}
	gpc_vec_free(m);
}

/* What all mounts share. */
struct taking { struct gpc_session *s; bool skip_unreadable; };

static int scan_tree(const struct taking *t, const char *source, bool is_dir,
	struct gpc_tree *ret_tree, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv own = {0};
	const struct gpc_scan_options options = {
		.with_git = true,
		.exclude = &own,
		.unreadable = t->skip_unreadable ? GPC_UNREADABLE_SKIP :
			GPC_UNREADABLE_FAIL,
		.cancel = t->s ? t->s->cancel : NULL,
	};
	int r = t->s ? gpc_own_folders_check(t->s, source, err) : 0;

	if (t->s)
		gpc_own_folders_add(t->s, &own);
	if (r == 0)
		r = is_dir ? gpc_scan(source, &options, ret_tree, err) :
			gpc_scan_file(source, ret_tree, err);

	if (r == -GPC_EIO)
		gpc_hint(err, "change its permissions%s", is_dir ? ", or let "
			"--skip-unreadable leave out what cannot be read" : "");
	return r;
}

static char *without_slash(const char *target)
{
	size_t n = strlen(target);

	return gpc_strndup(target, n - (n > 1 && target[n - 1] == '/'));
}

/* into: a file keeps its name, below the target. */
static int add_source(struct gpc_mounts *m, const struct taking *t,
	const char *target, bool into, const char *source,
	struct gpc_error *err)
{
	gpc_auto(gpc_tree) struct gpc_tree tree = {0};
	struct gpc_mount *x;
	struct stat st;
	bool is_dir;
	int r;

	if (stat(source, &st) < 0)
		return gpc_fail_sys(err, errno, "cannot read %s", source);
	is_dir = S_ISDIR(st.st_mode);
	r = scan_tree(t, source, is_dir, &tree, err);
	if (r < 0)
		return r;
	x = gpc_vec_push(m);
	x->target = is_dir || !into ? without_slash(target) :
		gpc_path_join(target, gpc_path_base(source));
	x->source = gpc_strdup(source);
	x->file = is_dir ? NULL : gpc_strdup(tree.entries.v[0].path);
	x->tree = tree;
	tree = (struct gpc_tree){0};
	return 0;
}

static int add_mount(struct gpc_mounts *m, const struct taking *t,
	const struct gpc_spec_mount *from, struct gpc_error *err)
{
	const char *one[] = { from->source };
	const char *const *sources = from->sources.n ?
		(const char *const *)from->sources.v : one;
	size_t n = from->sources.n ? from->sources.n : from->source ? 1 : 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (!gpc_spec_source_is_local(sources[i]))
			return gpc_fail(err, GPC_EUNSUPPORTED, "%s: only paths "
				"of this machine can be mounted yet", sources[i]);
		r = add_source(m, t, from->target,
			n > 1 || gpc_ends_with(from->target, "/"),
			gpc_spec_source_path(sources[i]), err);
	}
	return gpc_wrap(err, r, "file_mounts.%s", from->target);
}

int gpc_mounts_scan(struct gpc_session *s, const struct gpc_spec *spec,
	bool skip_unreadable, struct gpc_mounts *ret_m, struct gpc_error *err)
{
	const struct taking t = { s, skip_unreadable };
	gpc_auto(gpc_mounts) struct gpc_mounts m = {0};
	int r = 0;

	gpc_vec_each(from, &spec->file_mounts) {
		if (r == 0 && !gpc_spec_source_is_bucket(from->source))
			r = add_mount(&m, &t, from, err);
	}
	if (r < 0)
		return r;
	*ret_m = m;
	m = (struct gpc_mounts){0};
	return 0;
}
