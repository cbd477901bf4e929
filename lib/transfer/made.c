/* See made.h. What is below the root is looked at and removed part by part, so that no
 * link leads elsewhere. */
#include "transfer/made.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"

enum { MOST = 4096 };                   /* no more are remembered */

static void add(struct gpc_made *m, const char *path)
{
	if (m->folders.n < MOST && !gpc_strv_has(&m->folders, path))
		gpc_strv_add(&m->folders, path);
}

static bool take(struct gpc_made *m, const char *path)
{
	for (size_t i = 0; i < m->folders.n; i++)
		if (gpc_eq(m->folders.v[i], path)) {
			gpc_strv_remove(&m->folders, i);
			return true;
		}
	return false;
}

static char *up(char *owned)
{
	char *above = gpc_path_dir(owned);

	free(owned);
	return above;
}

void gpc_made_note(struct gpc_made *m, const char *path)
{
	char *at = gpc_strdup(path);

	while (access(at, F_OK) < 0 && errno == ENOENT && !gpc_eq(at, ".")) {
		add(m, at);
		at = up(at);
	}
	free(at);
}

void gpc_made_note_below(struct gpc_made *m, struct gpc_beneath *b, const char *root,
	const char *below)
{
	size_t n = strlen(below);
	struct gpc_error why = {0};
	int fd;

	while (n > 0 && gpc_beneath_dir(b, below, n, 0, &fd, &why) < 0 &&
		why.sys == ENOENT) {
		gpc_autostr *part = gpc_strndup(below, n);
		gpc_autostr *path = gpc_path_join(root, part);

		add(m, path);
		while (n > 0 && below[n - 1] != '/')
			n--;
		n -= n > 0;
	}
}

void gpc_made_keep(struct gpc_made *m, const char *path)
{
	for (size_t i = m->folders.n; i-- > 0;) {
		const char *made = m->folders.v[i];
		size_t n = strlen(made);

		if (strncmp(path, made, n) == 0 && (!path[n] || path[n] == '/' ||
			(n > 0 && made[n - 1] == '/')))
			gpc_strv_remove(&m->folders, i);
	}
}

/* Whether it is gone, or could not be made. */
static bool remove_below(struct gpc_beneath *b, const char *below)
{
	const char *name;
	int fd;

	if (gpc_beneath_parent(b, below, 0, &fd, &name, NULL) < 0 ||
		(unlinkat(fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT &&
		errno != ENAMETOOLONG))
		return false;
	gpc_beneath_forget(b);
	return true;
}

void gpc_made_remove(struct gpc_made *m, struct gpc_beneath *b, const char *root,
	const char *below)
{
	char *inside = gpc_strdup(below), *at = gpc_strdup(root);
	bool gone = true;

	while (gone && *inside && b->is_open) {
		gpc_autostr *path = gpc_path_join(root, inside);

		gone = gpc_strv_has(&m->folders, path) && remove_below(b, inside) &&
			take(m, path);
		*(strrchr(inside, '/') ? strrchr(inside, '/') : inside) = '\0';
	}
	while (gone && gpc_strv_has(&m->folders, at) &&
		(rmdir(at) == 0 || errno == ENOENT)) {
		gpc_beneath_clear(b);
		(void)take(m, at);
		at = up(at);
	}
	free(inside);
	free(at);
}

void gpc_made_clear(struct gpc_made *m)
{
	gpc_strv_clear(&m->folders);
}
