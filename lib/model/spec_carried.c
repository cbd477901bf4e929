/* Fields that are checked whole and carried as they are, because nothing here
 * gives them a meaning yet: services, pools, sweeps, volumes, managed secrets,
 * settings of providers. A spec that is wrong there is wrong, even unused. */
#include <string.h>

#include "base/vec.h"
#include "model/spec_read.h"

#define N(a) (sizeof(a) / sizeof(*(a)))

static int carry(struct gpc_spec_reader *r, const struct gpc_yaml_node *node,
	struct gpc_json **slot)
{
	struct gpc_json *j = NULL;
	int e;

	if (!slot)
		return 0;
	e = gpc_yaml_to_json(node, r->name, &j, r->err);
	if (e)
		return e;
	gpc_json_free(*slot);
	*slot = j;
	return 0;
}

static struct gpc_json *write_carried(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct gpc_json *j = *(struct gpc_json *const *)slot;

	(void)f;
	return j ? gpc_json_copy(j) : NULL;
}

static void clear_carried(const struct gpc_spec_field *f, void *slot)
{
	struct gpc_json **j = slot;

	(void)f;
	gpc_json_free(*j);
	*j = NULL;
}

static bool has(const struct gpc_yaml_node *map, const char *key)
{
	return !gpc_spec_is_null(gpc_yaml_get(map, key));
}

/* --- service and pool --------------------------------------------------------------- */

static int check_order(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *map, const char *least, const char *most)
{
	int64_t a, b;

	if (gpc_yaml_to_i64(gpc_yaml_get(map, least), &a) &&
	    gpc_yaml_to_i64(gpc_yaml_get(map, most), &b) && b < a)
		return gpc_spec_fail(r, gpc_yaml_get(map, most),
			"%s is less than %s", most, least);
	return 0;
}

static int read_service(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	int e = gpc_spec_read_section(r, "service", node, NULL);

	(void)f;
	if (e)
		return e;
	if (has(node, "replicas") && has(node, "replica_policy"))
		return gpc_spec_fail(r, gpc_yaml_get(node, "replica_policy"),
			"service: give replicas or replica_policy, not both");
	e = check_order(r, gpc_yaml_get(node, "replica_policy"),
		"min_replicas", "max_replicas");
	return e ? e : carry(r, node, slot);
}

const struct gpc_spec_kind gpc_kind_service = {
	read_service, write_carried, clear_carried,
};

static int read_pool(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	int e = gpc_spec_read_section(r, "pool", node, NULL);

	(void)f;
	if (e)
		return e;
	if (!has(node, "workers") && !has(node, "min_workers"))
		return gpc_spec_fail(r, node,
			"pool needs 'workers' or 'min_workers'");
	e = check_order(r, node, "min_workers", "max_workers");
	return e ? e : carry(r, node, slot);
}

const struct gpc_spec_kind gpc_kind_pool = {
	read_pool, write_carried, clear_carried,
};

/* A number, or a map of GPU to number. */
static int read_qps(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	double x;

	(void)slot;
	if (node->kind == GPC_YAML_MAP) {
		for (size_t i = 0; i < node->n; i++) {
			if (!gpc_yaml_to_double(node->items[i], &x) || x <= 0)
				return gpc_spec_expected(r, f, node->items[i],
					"a number above 0");
		}
		return 0;
	}
	if (!gpc_yaml_to_double(node, &x) || x <= 0)
		return gpc_spec_expected(r, f, node, "a number above 0, or a map "
			"such as {H100:1: 2.5}");
	return 0;
}

const struct gpc_spec_kind gpc_kind_qps = {read_qps, NULL, NULL};

/* --- volumes, sizes, managed secrets ---------------------------------------------------- */

static int read_volumes(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	if (node->kind != GPC_YAML_MAP)
		return gpc_spec_expected(r, f, node,
			"a map of node path to a name or {size: 10GB}");
	for (size_t i = 0; i < node->n; i++) {
		const struct gpc_yaml_node *item = node->items[i];
		int e = 0;

		if (item->kind == GPC_YAML_MAP)
			e = gpc_spec_read_section(r, "volume", item, NULL);
		else if (!gpc_spec_text(item) || gpc_spec_is_null(item))
			e = gpc_spec_expected(r, f, item,
				"a name or {size: 10GB}");
		if (e)
			return e;
	}
	return carry(r, node, slot);
}

const struct gpc_spec_kind gpc_kind_volumes = {
	read_volumes, write_carried, clear_carried,
};

static int read_node_volumes(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	if (node->kind != GPC_YAML_LIST)
		return gpc_spec_expected(r, f, node, "a list of maps");
	for (size_t i = 0; i < node->n; i++) {
		int e = gpc_spec_read_section(r, "node_volumes", node->items[i],
			NULL);

		if (e)
			return e;
	}
	return carry(r, node, slot);
}

const struct gpc_spec_kind gpc_kind_node_volumes = {
	read_node_volumes, write_carried, clear_carried,
};

static int read_sizes(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	double x;

	if (node->kind != GPC_YAML_MAP)
		return gpc_spec_expected(r, f, node,
			"a map of URI to GB, such as {s3://bucket: 100}");
	for (size_t i = 0; i < node->n; i++) {
		if (!gpc_yaml_to_double(node->items[i], &x) || x < 0)
			return gpc_spec_expected(r, f, node->items[i],
				"GB as a number");
	}
	return carry(r, node, slot);
}

const struct gpc_spec_kind gpc_kind_sizes = {
	read_sizes, write_carried, clear_carried,
};

static int check_managed(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *item)
{
	const struct gpc_yaml_node *where;

	if (gpc_spec_text(item) && *item->text && !gpc_spec_is_null(item))
		return 0;
	if (item->kind != GPC_YAML_MAP || item->n != 1)
		return gpc_spec_expected(r, f, item,
			"NAME or {NAME: {mount_path: PATH}}");
	where = gpc_yaml_get(item->items[0], "mount_path");
	if (item->items[0]->kind != GPC_YAML_MAP || item->items[0]->n != 1 ||
	    gpc_spec_is_null(where) || !gpc_spec_text(where))
		return gpc_spec_expected(r, f, item->items[0],
			"{mount_path: PATH}");
	return 0;
}

static int read_managed(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	struct gpc_json **list = slot;

	if (node->kind != GPC_YAML_LIST)
		return gpc_spec_expected(r, f, node,
			"a list of NAME or {NAME: {mount_path: PATH}}");
	for (size_t i = 0; i < node->n; i++) {
		int e = check_managed(r, f, node->items[i]);

		if (e)
			return e;
	}
	if (list && *list)
		return gpc_spec_fail(r, node, "give the list of secrets under "
			"secrets or under managed_secrets, not both");
	return carry(r, node, slot);
}

const struct gpc_spec_kind gpc_kind_managed_secrets = {
	read_managed, write_carried, clear_carried,
};

/* --- sweep: values keep their text ------------------------------------------------------ */

static struct gpc_json *text_tree(const struct gpc_yaml_node *node)
{
	struct gpc_json *j;

	if (node->kind == GPC_YAML_SCALAR)
		return gpc_json_string(node->text);
	j = node->kind == GPC_YAML_MAP ? gpc_json_object() : gpc_json_array();
	for (size_t i = 0; i < node->n; i++) {
		if (node->kind == GPC_YAML_MAP)
			gpc_json_append(j, node->keys[i]->text,
				text_tree(node->items[i]));
		else
			gpc_json_add(j, text_tree(node->items[i]));
	}
	return j;
}

static int check_scalars(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	enum gpc_yaml_kind kind, const char *what)
{
	if (node->kind != kind || !node->n)
		return gpc_spec_expected(r, f, node, "%s", what);
	for (size_t i = 0; i < node->n; i++) {
		if (node->items[i]->kind != GPC_YAML_SCALAR)
			return gpc_spec_expected(r, f, node->items[i],
				"one value");
	}
	return 0;
}

static int check_sweep_key(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *node, const char *key)
{
	const struct gpc_spec_field *f = gpc_spec_field_find("sweep", key);
	const struct gpc_yaml_node *value = gpc_yaml_get(node, key);
	bool vars = gpc_eq(key, "vars");

	if (gpc_spec_is_null(value))
		return 0;
	if (value->kind != (vars ? GPC_YAML_MAP : GPC_YAML_LIST) || !value->n)
		return gpc_spec_expected(r, f, value, vars
			? "a map such as {LR: [0.1, 0.01]}"
			: "a list such as [{LR: 0.1}, {LR: 0.01}]");
	for (size_t i = 0; i < value->n; i++) {
		int e = check_scalars(r, f, value->items[i],
			vars ? GPC_YAML_LIST : GPC_YAML_MAP,
			vars ? "a list of values" : "a map of values");

		if (e)
			return e;
	}
	return 0;
}

static int read_sweep(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	int n = has(node, "vars") + has(node, "list") + has(node, "csv");
	int e = gpc_spec_read_section(r, "sweep", node, NULL);
	struct gpc_json **to = slot;
	int64_t parallel;

	(void)f;
	if (!e)
		e = check_sweep_key(r, node, "vars");
	if (!e)
		e = check_sweep_key(r, node, "list");
	if (!e && n != 1)
		e = gpc_spec_fail(r, node,
			"sweep needs one of 'vars', 'list' and 'csv'");
	if (e || !to)
		return e;
	gpc_json_free(*to);
	*to = text_tree(node);
	if (gpc_yaml_to_i64(gpc_yaml_get(node, "parallel"), &parallel))
		gpc_json_set_int(*to, "parallel", parallel);
	return 0;
}

const struct gpc_spec_kind gpc_kind_sweep = {
	read_sweep, write_carried, clear_carried,
};

/* --- config ----------------------------------------------------------------------------- */

enum shape { SHAPE_ANY, SHAPE_MAP, SHAPE_BOOL, SHAPE_INT, SHAPE_TEXT_OR_LIST };
static const struct { const char *group, *key; enum shape shape; } known[] = {
	{"docker", "run_options", SHAPE_TEXT_OR_LIST},
	{"nvidia_gpus", "disable_ecc", SHAPE_BOOL},
	{"kubernetes", "pod_config", SHAPE_MAP},
	{"kubernetes", "provision_timeout", SHAPE_INT},
	{"kubernetes", "custom_metadata", SHAPE_MAP},
	{"kubernetes", "enable_docker", SHAPE_BOOL},
	{"ssh", "custom_metadata", SHAPE_MAP},
	{"ssh", "pod_config", SHAPE_MAP},
	{"ssh", "provision_timeout", SHAPE_INT},
	{"gcp", "managed_instance_group", SHAPE_MAP},
};
static const char *const groups[] = {
	"docker", "nvidia_gpus", "kubernetes", "ssh", "slurm", "aws", "gcp",
	"azure", "alibaba", "oci", "nebius", "lambda", "runpod", "vast",
	"allowed_clouds", "jobs", "serve", "admin_policy", "provision", "logs",
	"rbac", "workspaces", "active_workspace", "api_server", "auth", "db",
};

static bool fits(const struct gpc_yaml_node *node, enum shape shape)
{
	int64_t n;
	bool b;

	switch (shape) {
	case SHAPE_MAP:
		return node->kind == GPC_YAML_MAP;
	case SHAPE_BOOL:
		return gpc_yaml_to_bool(node, &b);
	case SHAPE_INT:
		return gpc_yaml_to_i64(node, &n);
	case SHAPE_TEXT_OR_LIST:
		return node->kind == GPC_YAML_LIST || gpc_spec_text(node);
	default:
		return true;
	}
}

static int check_group(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *key, const struct gpc_yaml_node *value)
{
	static const char *const shapes[] = {
		"anything", "a map", "true or false", "a whole number",
		"text or a list",
	};

	for (size_t i = 0; i < N(known) && value->kind == GPC_YAML_MAP; i++) {
		const struct gpc_yaml_node *node =
			gpc_yaml_get(value, known[i].key);

		if (gpc_eq(known[i].group, key->text) &&
		    !gpc_spec_is_null(node) && !fits(node, known[i].shape))
			return gpc_spec_fail(r, node, "config.%s.%s: expected %s",
				key->text, known[i].key, shapes[known[i].shape]);
	}
	return 0;
}

static int read_config(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	if (node->kind != GPC_YAML_MAP)
		return gpc_spec_expected(r, f, node, "a map");
	for (size_t i = 0; i < node->n; i++) {
		const struct gpc_yaml_node *key = node->keys[i];
		const char *near = gpc_nearest(key->text, groups, N(groups));
		bool is_known = false;
		int e;

		for (size_t k = 0; k < N(groups); k++)
			is_known |= gpc_eq(groups[k], key->text);
		if (!is_known)
			return gpc_spec_fail(r, key, "unknown field '%s' in "
				"config%s%s%s", key->text,
				near ? "; did you mean '" : "",
				near ? near : "", near ? "'?" : "");
		e = check_group(r, key, node->items[i]);
		if (e)
			return e;
	}
	return carry(r, node, slot);
}

const struct gpc_spec_kind gpc_kind_config = {
	read_config, write_carried, clear_carried,
};
