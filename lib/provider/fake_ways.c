/* See fake_ways.h. */
#include "provider/fake_ways.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/fd.h"
#include "base/path.h"
#include "dep/bind.h"

#define TAG_STORE "gpucloud-store"
#define TAG_JOB "gpucloud-job"
#define OURS "way-"
#define CALLER "127.0.0.1/32"
enum { MAX_BYTES = 1 << 20 };

struct fake_way {
	int v;
	char *id;
	struct gpc_pairs tags;        /* its nodes' */
	struct gpc_strv rules;        /* "8000-8010 192.0.2.0/24" */
	struct gpc_strv nodes;        /* that have it */
	struct gpc_json *rest;
};
#define WAY(field, ...) GPC_BIND(fake_way, field, __VA_ARGS__)
static const struct gpc_bind way_table[] = {
	WAY(v, INT, .flags = GPC_BIND_REQUIRED),
	WAY(id, STR, .flags = GPC_BIND_REQUIRED),
	WAY(tags, PAIRS, .flags = 0),
	WAY(rules, STRV, .flags = 0),
	WAY(nodes, STRV, .flags = 0),
	WAY(rest, REST, .flags = 0),
	GPC_BIND_LAST
};

static void fake_way_clear(struct fake_way *w)
{
	gpc_bind_clear(way_table, w);
}
GPC_CLEANUP_VALUE(fake_way);

static char *way_path(const char *dir, const char *id)
{
	return gpc_format("%s/ways/%s.json", dir, id);
}

static int way_read(const char *path, struct fake_way *ret_w,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int r = gpc_read_file(path, MAX_BYTES, &b, err);

	if (r == 0)
		r = gpc_bind_parse(gpc_buf_str(&b), b.len, way_table, ret_w, err);
	return gpc_wrap(err, r, "%s", path);
}

static int way_write(const char *dir, const struct fake_way *w,
	struct gpc_error *err)
{
	gpc_autostr *folder = gpc_path_join(dir, "ways");
	gpc_autostr *path = way_path(dir, w->id);
	gpc_autoptr(gpc_json) *j = gpc_bind_write(way_table, w);
	gpc_autostr *text = gpc_json_print_pretty(j);
	int r = gpc_mkdirs(folder, 0700, err);

	return r < 0 ? r : gpc_write_file(path, text, strlen(text), 0600, err);
}

/* --- who asks ----------------------------------------------------------------- */

int gpc_fake_caller(const char *dir, char **ret_cidr, struct gpc_error *err)
{
	struct gpc_fake_call c;
	int r = gpc_fake_call_begin(&c, dir, GPC_FAKE_CALLER, NULL, err);

	if (r == 0)
		r = gpc_fake_call_refused(&c, err);
	r = gpc_fake_call_end(&c, r, err);
	if (r == 0)
		*ret_cidr = gpc_strdup(CALLER);
	return r;
}

/* --- open ----------------------------------------------------------------------- */

static void add_once(struct gpc_strv *to, char *word)
{
	gpc_autostr *owned = word;

	if (!gpc_strv_has(to, owned))
		gpc_strv_add(to, owned);
}

static void add_rules(struct fake_way *w, const struct gpc_way *way)
{
	gpc_vec_each(ports, way->ports)
		for (size_t i = 0; i < way->from->n; i++)
			add_once(&w->rules, gpc_format("%d-%d %s", ports->first,
				ports->last, way->from->v[i]));
}

static int open_for(const char *dir, const struct gpc_fake_node *n,
	const struct gpc_way *way, struct gpc_error *err)
{
	gpc_autostr *id = gpc_format(OURS "%s-%s",
		gpc_pairs_get(&n->tags, TAG_STORE), gpc_pairs_get(&n->tags, TAG_JOB));
	gpc_autostr *path = way_path(dir, id);
	gpc_auto(fake_way) struct fake_way w = {0};
	int r;

	if (!gpc_path_is_inside(id) || strchr(id, '/'))
		return gpc_fail(err, GPC_ECONFIG, "bad tags of node %s", n->id);
	r = way_read(path, &w, err);
	if (r < 0 && r != -GPC_ENOTFOUND)
		return r;
	if (r < 0) {
		w.v = 1;
		w.id = gpc_steal(&id);
		gpc_pairs_copy(&w.tags, &n->tags);
	}
	add_rules(&w, way);
	add_once(&w.nodes, gpc_strdup(n->id));
	return way_write(dir, &w, err);
}

static const struct gpc_fake_node *find_node(const struct gpc_fake_nodes *nodes,
	const char *id)
{
	gpc_vec_each(n, nodes)
		if (gpc_eq(n->id, id))
			return n;
	return NULL;
}

int gpc_fake_open_way(const char *dir, const char *store_id, const char *id,
	const struct gpc_way *way, char **ret_address, struct gpc_error *err)
{
	gpc_auto(gpc_fake_nodes) struct gpc_fake_nodes nodes = {0};
	const struct gpc_fake_node *n = NULL;
	struct gpc_fake_call c;
	int r = gpc_fake_call_begin(&c, dir, GPC_FAKE_OPEN, NULL, err);

	if (r == 0)
		r = gpc_fake_call_refused(&c, err);
	if (r == 0)
		r = gpc_fake_nodes_read(dir, &nodes, err);
	if (r == 0)
		n = find_node(&nodes, id);
	if (r == 0 && (!n || n->gone_boot_ms ||
		!gpc_eq(gpc_pairs_get(&n->tags, TAG_STORE), store_id)))
		r = gpc_fail(err, GPC_ECONFLICT, "there is no node %s to be "
			"reached", id);
	if (r == 0)
		r = open_for(dir, n, way, err);
	r = gpc_fake_call_end(&c, r, err);
	if (r == 0)
		*ret_address = gpc_format("127.0.0.%d", 1 + n->index);
	return r;
}

/* --- all of them ----------------------------------------------------------------- */

static void add_instance(const struct fake_way *w, struct gpc_instances *to)
{
	struct gpc_instance *x = gpc_vec_push(to);

	x->id = gpc_strdup(w->id);
	x->token = gpc_strdup("");
	x->state = GPC_INSTANCE_RUNNING;
	gpc_pairs_copy(&x->tags, &w->tags);
}

static int read_all(const char *folder, const char *store_id,
	struct gpc_instances *to, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	int r = gpc_fake_names(folder, &names, err);

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		gpc_autostr *path = gpc_path_join(folder, names.v[i]);
		gpc_auto(fake_way) struct fake_way w = {0};

		r = way_read(path, &w, err);
		if (r == 0 && gpc_eq(gpc_pairs_get(&w.tags, TAG_STORE), store_id))
			add_instance(&w, to);
	}
	return r;
}

/* Where nothing was ever opened, nobody is asked: most jobs open nothing. */
int gpc_fake_ways(const char *dir, const char *store_id,
	struct gpc_instances *ret, struct gpc_error *err)
{
	gpc_autostr *folder = gpc_path_join(dir, "ways");
	gpc_auto(gpc_instances) struct gpc_instances found = {0};
	struct gpc_fake_call c;
	int r;

	if (!gpc_fake_exists(folder))
		return 0;
	r = gpc_fake_call_begin(&c, dir, GPC_FAKE_WAYS, NULL, err);
	if (r == 0)
		r = gpc_fake_call_refused(&c, err);
	if (r == 0)
		r = read_all(folder, store_id, &found, err);
	r = gpc_fake_call_end(&c, r, err);
	if (r < 0)
		return r;
	gpc_vec_each(x, &found) {
		*gpc_vec_push(ret) = *x;
		*x = (struct gpc_instance){0};
	}
	return 0;
}

static bool is_used(const struct fake_way *w, const struct gpc_fake_nodes *nodes)
{
	for (size_t i = 0; i < w->nodes.n; i++) {
		const struct gpc_fake_node *n = find_node(nodes, w->nodes.v[i]);

		if (n && !n->gone_boot_ms)
			return true;
	}
	return false;
}

int gpc_fake_close_way(const char *dir, const char *store_id, const char *id,
	bool *ret_was_way, struct gpc_error *err)
{
	gpc_autostr *path = way_path(dir, id);
	gpc_auto(fake_way) struct fake_way w = {0};
	gpc_auto(gpc_fake_nodes) struct gpc_fake_nodes nodes = {0};
	int r = 0;

	*ret_was_way = gpc_starts_with(id, OURS);
	if (!*ret_was_way)
		return 0;
	r = way_read(path, &w, err);
	if (r == -GPC_ENOTFOUND)
		return 0;
	if (r == 0)
		r = gpc_fake_nodes_read(dir, &nodes, err);
	if (r < 0 || is_used(&w, &nodes) ||
		!gpc_eq(gpc_pairs_get(&w.tags, TAG_STORE), store_id))
		return r;
	if (unlink(path) < 0 && errno != ENOENT)
		return gpc_fail_sys(err, errno, "cannot remove %s", path);
	GPC_CRASH("fake.closed");
	return 0;
}
