/* A key that is packed with a workspace lies in the store for every node and
 * everybody who may read it, and nobody has meant that. So it is said before
 * anything is stored: by names from the scan, and a glance into the few files
 * whose name makes one wonder. What they hold is never kept or shown.
 */
#include "core/suspects.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "model/credential.h"

void gpc_suspects_clear(struct gpc_suspects *s)
{
	gpc_vec_each(x, s)
		free(x->path);
	gpc_vec_free(s);
}

static void wipe(void *data, size_t n)
{
	volatile char *p = data;

	while (n-- > 0)
		*p++ = 0;
}

static const char *look_into(const struct gpc_tree *tree,
	const struct gpc_entry *e, const struct gpc_credential_rule *rule)
{
	gpc_autostr *path = gpc_path_join(tree->root, e->path);
	gpc_autofd fd = -1;
	char data[GPC_CREDENTIAL_READ];
	const char *looks = NULL;
	size_t n = 0;

	/* it may be a pipe by now */
	if (gpc_open(path, O_RDONLY | O_NONBLOCK, 0, &fd, NULL) < 0)
		return NULL;
	if (gpc_read_full(fd, data, sizeof(data), e->path, &n, NULL) == 0)
		looks = gpc_credential_look(rule, data, n);
	wipe(data, n);
	return looks;
}

static int look_through(const struct gpc_tree *tree,
	const struct gpc_mount *mount, const struct gpc_cancel *cancel,
	struct gpc_suspects *list, struct gpc_error *err)
{
	for (size_t i = 0; i < tree->entries.n; i++) {
		const struct gpc_entry *e = &tree->entries.v[i];
		const struct gpc_credential_rule *rule =
			e->kind != GPC_ENTRY_FILE ? NULL :
			gpc_credential_rule_for(tree->root, e->path, e->size);
		const char *looks = rule ? look_into(tree, e, rule) : NULL;
		struct gpc_suspect *x;

		if (rule && gpc_canceled(cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
		if (!looks)
			continue;
		x = gpc_vec_push(list);
		x->path = !mount ? gpc_strdup(e->path) : mount->file ?
			gpc_strdup(mount->target) :
			gpc_path_join(mount->target, e->path);
		x->mount = mount != NULL;
		x->looks = looks;
	}
	return 0;
}

int gpc_suspects_find(const struct gpc_tree *tree,
	const struct gpc_mounts *mounts, const struct gpc_cancel *cancel,
	struct gpc_suspects *ret_list, struct gpc_error *err)
{
	gpc_auto(gpc_suspects) struct gpc_suspects list = {0};
	int r = tree && tree->root ?
		look_through(tree, NULL, cancel, &list, err) : 0;

	for (size_t i = 0; mounts && r == 0 && i < mounts->n; i++)
		r = look_through(&mounts->v[i].tree, &mounts->v[i], cancel,
			&list, err);
	if (r)
		return r;
	*ret_list = list;
	list = (struct gpc_suspects){0};
	return 0;
}
