/* The list of trusted projects' files: "SHA256  PATH" lines as sha256sum prints
 * and checks them. It is read only where a project's file lies in the current
 * folder, and nothing is hashed unless that path is in it. Writers hold a lock
 * and replace the file as a whole.
 */
#include "cmd/config_trust.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"

enum { LIST_MAX = 4 << 20 };

void gpc_trust_clear(struct gpc_trust *t)
{
	gpc_vec_each(e, &t->v)
		free(e->path);
	gpc_vec_free(&t->v);
}

static void parse_line(struct gpc_str line, struct gpc_trust *t)
{
	struct gpc_trusted *e;

	if (line.len < GPC_SHA256_HEX + 2)
		return;
	gpc_autostr *sum = gpc_strndup(line.ptr, GPC_SHA256_HEX - 1);
	if (!gpc_is_hex(sum, GPC_SHA256_HEX - 1))
		return;
	e = gpc_vec_push(&t->v);
	memcpy(e->sum, sum, GPC_SHA256_HEX);
	e->path = gpc_strndup(line.ptr + GPC_SHA256_HEX + 1,
		line.len - GPC_SHA256_HEX - 1);
}

int gpc_trust_read(struct gpc_trust *ret_t, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *path = NULL;
	struct gpc_error why = {0};
	struct gpc_str rest, line;
	int r = gpc_xdg(GPC_XDG_STATE, "trusted", &path, err);

	if (r)
		return r;
	r = gpc_read_file(path, LIST_MAX, &b, &why);
	if (r == -GPC_ENOTFOUND)
		return 0;
	if (r) {
		if (err)
			*err = why;
		return r;
	}
	rest = (struct gpc_str){b.data, b.len};
	while (gpc_str_split(&rest, '\n', &line))
		parse_line(line, ret_t);
	return 0;
}

static struct gpc_trusted *find(const struct gpc_trust *t, const char *path)
{
	gpc_vec_each(e, &t->v) {
		if (gpc_eq(e->path, path))
			return e;
	}
	return NULL;
}

bool gpc_trust_holds(const char *path, const char *text, size_t n)
{
	gpc_auto(gpc_trust) struct gpc_trust t = {0};
	char sum[GPC_SHA256_HEX];
	const struct gpc_trusted *e;

	if (gpc_trust_read(&t, NULL))
		return false;
	e = find(&t, path);
	return e && gpc_eq(gpc_sha256_hex(text ? text : "", n, sum), e->sum);
}

static int by_path(const void *a, const void *b)
{
	const struct gpc_trusted *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int write_list(const char *folder, const struct gpc_trust *t,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *path = gpc_path_join(folder, "trusted");

	gpc_vec_each(e, &t->v)
		gpc_buf_addf(&b, "%s  %s\n", e->sum, e->path);
	int r = gpc_buf_check(&b, err);
	return r ? r : gpc_write_file(path, gpc_buf_str(&b), b.len, 0600, err);
}

static void put(struct gpc_trust *t, const char *path, const char *text,
	size_t n)
{
	struct gpc_trusted *e = find(t, path);

	if (!e) {
		e = gpc_vec_push(&t->v);
		e->path = gpc_strdup(path);
	}
	gpc_sha256_hex(text, n, e->sum);
	qsort(t->v.v, t->v.n, sizeof(*t->v.v), by_path);
}

int gpc_trust_set(const char *path, const char *text, size_t n,
	struct gpc_error *err)
{
	gpc_auto(gpc_trust) struct gpc_trust t = {0};
	gpc_autostr *folder = NULL, *lock = NULL;
	gpc_autofd held = -1;
	struct gpc_trusted *e;

	if (strchr(path, '\n'))
		return gpc_fail(err, GPC_EUNSUPPORTED, "a path with a line "
			"break cannot be trusted: %s", path);
	int r = gpc_xdg(GPC_XDG_STATE, NULL, &folder, err);
	if (!r)
		r = gpc_mkdirs(folder, 0700, err);
	if (r)
		return r;
	lock = gpc_path_join(folder, "trusted.lock");
	r = gpc_lock_file(lock, true, &held, err);
	if (!r)
		r = gpc_trust_read(&t, err);
	if (r)
		return r;
	e = find(&t, path);
	if (!text && !e)
		return gpc_fail(err, GPC_ENOTFOUND, "%s is not trusted", path);
	if (text) {
		put(&t, path, text, n);
	} else {
		free(e->path);
		gpc_vec_remove(&t.v, (size_t)(e - t.v.v));
	}
	return write_list(folder, &t, err);
}
