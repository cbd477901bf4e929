/* A configuration file as YAML. Every complaint names file, line and column. A
 * project's file is somebody else's text: the keys that decide where state,
 * money and credentials go are refused there unless the user trusts it. The
 * profiles of a user's file are checked whether they are in use or not, so that
 * a typing error is found on the day it is made.
 */
#include <string.h>

#include "dep/yaml.h"
#include "model/config_put.h"

struct reader {
	struct gpc_config *c;
	enum gpc_config_origin origin;
	const char *name;
	bool check_only;
	struct gpc_error *err;
};

static bool is_null(const struct gpc_yaml_node *node)
{
	return node->kind == GPC_YAML_SCALAR && !node->quoted &&
		node->type == GPC_YAML_NULL;
}

/* True for "local", the start of "local.enabled". */
static bool is_group(const struct reader *rd, const char *name)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	size_t n = strlen(name);

	for (int i = 0; i < GPC_CONFIG__COUNT; i++) {
		const char *key = gpc_config_fields[i].name;

		if (gpc_starts_with(key, name) && key[n] == '.')
			return true;
	}
	if (rd->c->extension)
		rd->c->extension->names(&names);
	for (size_t i = 0; i < names.n; i++) {
		if (gpc_starts_with(names.v[i], name) && names.v[i][n] == '.')
			return true;
	}
	return false;
}

/* Whether the value is to be read; an error if it must not be there. */
static int guard(const struct reader *rd, const char *name, const char *where,
	bool *ret_read)
{
	int r;

	*ret_read = rd->origin != GPC_FROM_PROJECT ||
		rd->c->guard == GPC_GUARD_TRUST;
	if (*ret_read || rd->c->guard == GPC_GUARD_SKIP)
		return 0;
	r = gpc_fail(rd->err, GPC_ECONFIG, "%s: a project's file may not set "
		"%s unless you trust it", where, name);
	gpc_hint(rd->err, "read that file; if it is as you want it, `gpucloud "
		"config trust` allows it here, until it changes");
	return r;
}

static int not_one_value(const struct reader *rd, const char *where,
	const char *name, const struct gpc_yaml_node *value)
{
	return gpc_fail(rd->err, GPC_ECONFIG, "%s: %s: expected one value, not "
		"a %s", where, name, value->kind == GPC_YAML_MAP ? "map" :
		"list");
}

static int read_field(const struct reader *rd, int key, const char *where,
	const struct gpc_yaml_node *value)
{
	const struct gpc_config_field *f = &gpc_config_fields[key];
	bool read = true;
	int r = f->user_only ? guard(rd, f->name, where, &read) : 0;

	if (r || !read)
		return r;
	if (value->kind != GPC_YAML_SCALAR)
		return not_one_value(rd, where, f->name, value);
	if (is_null(value))
		return 0;                 /* as if it were not there */
	if (rd->check_only) {
		if (key == GPC_CONFIG_PROFILE)
			return gpc_fail(rd->err, GPC_ECONFIG, "%s: a profile "
				"cannot name another one", where);
		return gpc_config_check((enum gpc_config_key)key, value->text,
			where, rd->err);
	}
	return gpc_config_set(rd->c, (enum gpc_config_key)key, rd->origin,
		value->text, where, rd->err);
}

static int list_items(const struct reader *rd, const char *where,
	const char *name, const struct gpc_yaml_node *value,
	struct gpc_strv *items)
{
	for (size_t i = 0; i < value->n; i++) {
		const struct gpc_yaml_node *item = value->items[i];

		if (item->kind != GPC_YAML_SCALAR || is_null(item))
			return gpc_fail(rd->err, GPC_ECONFIG, "%s: %s: expected "
				"a list of texts", where, name);
		gpc_strv_add(items, item->text);
	}
	return 0;
}

static int check_items(const struct reader *rd,
	const struct gpc_config_extra *extra, const struct gpc_strv *items,
	const char *where, const char *name)
{
	gpc_autostr *label = gpc_format("%s: %s", where, name);
	int r = 0;

	for (size_t i = 0; i < items->n && !r; i++)
		r = rd->c->extension->check(extra, items->v[i], label, rd->err);
	return r;
}

static int read_extra(const struct reader *rd, const char *name,
	const struct gpc_config_extra *extra, const char *where,
	const struct gpc_yaml_node *value)
{
	gpc_auto(gpc_strv) struct gpc_strv items = {0};
	bool read = true;
	int r = extra->guarded ? guard(rd, name, where, &read) : 0;

	if (r || !read || is_null(value))
		return r;
	if (value->kind == GPC_YAML_SCALAR)
		gpc_strv_add(&items, value->text);
	else if (value->kind == GPC_YAML_LIST && extra->list)
		r = list_items(rd, where, name, value, &items);
	else
		r = not_one_value(rd, where, name, value);
	if (r)
		return r;
	if (rd->check_only)
		return check_items(rd, extra, &items, where, name);
	return gpc_config_put_more(rd->c, name, extra, rd->origin, &items,
		where, rd->err);
}

static int read_profiles(const struct reader *rd, const char *where,
	const struct gpc_yaml_node *map);

static int read_map(const struct reader *rd, const char *group,
	const struct gpc_yaml_node *map);

static int read_pair(const struct reader *rd, bool top, const char *name,
	const char *where, const struct gpc_yaml_node *value)
{
	struct gpc_config_extra extra = {0};
	int index = gpc_config_find(name);

	if (index >= 0)
		return read_field(rd, index, where, value);
	if (rd->c->extension && rd->c->extension->find(name, &extra))
		return read_extra(rd, name, &extra, where, value);
	if (top && gpc_eq(name, "profiles") && !rd->check_only)
		return read_profiles(rd, where, value);
	if (top && value->kind == GPC_YAML_MAP && is_group(rd, name))
		return read_map(rd, name, value);
	if (top && is_null(value) && is_group(rd, name))
		return 0;
	return gpc_config_unknown(rd->c, where, name, rd->err);
}

static int read_map(const struct reader *rd, const char *group,
	const struct gpc_yaml_node *map)
{
	int r = 0;

	for (size_t i = 0; i < map->n && !r; i++) {
		const struct gpc_yaml_node *key = map->keys[i];
		gpc_autostr *name = gpc_format("%s%s%s", group, *group ? "." :
			"", key->text);
		gpc_autostr *where = gpc_format("%s:%d:%d", rd->name,
			key->line, key->column);

		r = read_pair(rd, !*group, name, where, map->items[i]);
	}
	return r;
}

/* --- profiles ------------------------------------------------------------ */

static int read_profiles(const struct reader *rd, const char *where,
	const struct gpc_yaml_node *map)
{
	struct reader check = *rd;
	int r = 0;

	if (rd->origin == GPC_FROM_PROJECT) {
		r = gpc_fail(rd->err, GPC_ECONFIG, "%s: a project's file has "
			"no profiles", where);
		gpc_hint(rd->err, "they belong into your own file; `gpucloud "
			"config path` prints where that is");
		return r;
	}
	if (is_null(map))
		return 0;
	if (map->kind != GPC_YAML_MAP)
		return gpc_fail(rd->err, GPC_ECONFIG, "%s: profiles: expected "
			"`NAME: {KEY: VALUE}`", where);
	check.check_only = true;
	for (size_t i = 0; i < map->n && !r; i++) {
		const struct gpc_yaml_node *profile = map->items[i];

		if (profile->kind == GPC_YAML_MAP)
			r = read_map(&check, "", profile);
		else if (!is_null(profile))
			r = gpc_fail(rd->err, GPC_ECONFIG, "%s:%d:%d: the "
				"profile %s: expected `key: value` lines",
				rd->name, map->keys[i]->line,
				map->keys[i]->column, map->keys[i]->text);
	}
	return r;
}

static int no_profile(const char *profile, const char *why, const char *name,
	const struct gpc_yaml_node *map, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	int r = gpc_fail(err, GPC_ECONFIG, "%s: there is no profile \"%s\" in "
		"%s", why, profile, name);

	for (size_t i = 0; map && map->kind == GPC_YAML_MAP && i < map->n; i++)
		gpc_strv_add(&names, map->keys[i]->text);
	gpc_autostr *all = gpc_strv_join(&names, ", ");
	const char *near = gpc_nearest(profile, (const char *const *)names.v,
		names.n);
	if (near)
		gpc_hint(err, "did you mean %s? there are %s", near, all);
	else if (names.n)
		gpc_hint(err, "there are %s", all);
	else
		gpc_hint(err, "`gpucloud config set --profile %s KEY VALUE` "
			"makes it", profile);
	return r;
}

/* --- whole files --------------------------------------------------------- */

static int parse(const char *text, size_t n, const char *name,
	struct gpc_yaml_docs *docs, const struct gpc_yaml_node **ret_root,
	struct gpc_error *err)
{
	const struct gpc_yaml_node *root;
	int r = gpc_yaml_parse(text, n, name, docs, err);

	*ret_root = NULL;
	if (r)
		return gpc_recode(err, GPC_ECONFIG);
	root = docs->n ? gpc_yaml_root(docs->v[0]) : NULL;
	if (!root || is_null(root))
		return 0;
	if (docs->n > 1)
		return gpc_fail(err, GPC_ECONFIG, "%s: expected one document, "
			"not %zu", name, docs->n);
	if (root->kind != GPC_YAML_MAP)
		return gpc_fail(err, GPC_ECONFIG, "%s:%d:%d: expected `key: "
			"value` lines", name, root->line, root->column);
	*ret_root = root;
	return 0;
}

int gpc_config_read(struct gpc_config *c, enum gpc_config_origin origin,
	const char *text, size_t n, const char *name,
	struct gpc_strv *warnings, struct gpc_error *err)
{
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	struct reader rd = {c, origin, name, false, err};
	const struct gpc_yaml_node *root;
	int r = parse(text, n, name, &docs, &root, err);

	for (size_t i = 0; warnings && !r && i < docs.warnings.n; i++)
		gpc_strv_add(warnings, docs.warnings.v[i]);
	return r || !root ? r : read_map(&rd, "", root);
}

int gpc_config_read_profile(struct gpc_config *c, const char *profile,
	const char *why, const char *text, size_t n, const char *name,
	struct gpc_error *err)
{
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	struct reader rd = {c, GPC_FROM_PROFILE, name, false, err};
	const struct gpc_yaml_node *root, *map, *found;
	int r = parse(text, n, name, &docs, &root, err);

	if (r)
		return r;
	map = root ? gpc_yaml_get(root, "profiles") : NULL;
	found = map && map->kind == GPC_YAML_MAP ? gpc_yaml_get(map, profile) :
		NULL;
	if (!found)
		return no_profile(profile, why, name, map, err);
	return found->kind == GPC_YAML_MAP ? read_map(&rd, "", found) : 0;
}
