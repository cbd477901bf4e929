/* The resources section as a whole, and its alternatives: each entry of any_of
 * or ordered is laid over the outer values, key by key, and kept complete.
 * Written back, an alternative names null for what it does not inherit, so
 * that reading gives the same value again. */
#include <string.h>

#include "base/vec.h"
#include "model/spec_read.h"

static const struct gpc_yaml_node *alternatives(
	const struct gpc_yaml_node *map, const char **ret_key)
{
	const struct gpc_yaml_node *any_of = gpc_yaml_get(map, "any_of");
	const struct gpc_yaml_node *ordered = gpc_yaml_get(map, "ordered");

	*ret_key = gpc_spec_is_null(any_of) ? "ordered" : "any_of";
	return gpc_spec_is_null(any_of) ? ordered : any_of;
}

static const struct gpc_yaml_node *gpus_of(const struct gpc_yaml_node *map)
{
	const struct gpc_yaml_node *node = gpc_yaml_get(map, "accelerators");

	return node ? node : gpc_yaml_get(map, "gpus");
}

static int check_item(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *item, const char *key)
{
	const struct gpc_yaml_node *gpus;

	if (item->kind != GPC_YAML_MAP)
		return gpc_spec_fail(r, item, "expected a map of resources in "
			"%s", key);
	for (size_t i = 0; i < item->n; i++) {
		if (gpc_eq(item->keys[i]->text, "any_of") ||
		    gpc_eq(item->keys[i]->text, "ordered"))
			return gpc_spec_fail(r, item->keys[i], "%s cannot stand "
				"inside %s", item->keys[i]->text, key);
	}
	gpus = gpus_of(item);
	if (gpus && (gpus->kind == GPC_YAML_LIST ||
	    (gpus->kind == GPC_YAML_MAP && gpus->n != 1)))
		return gpc_spec_fail(r, gpus, "inside %s, accelerators names one "
			"GPU: give each its own entry", key);
	return 0;
}

/* The outer keys that an alternative replaces under another name. */
static void find_replaced(const struct gpc_yaml_node *item,
	const char *skip[8])
{
	size_t n = 0;

	skip[n++] = "any_of";
	skip[n++] = "ordered";
	if (gpus_of(item)) {
		skip[n++] = "accelerators";
		skip[n++] = "gpus";
	}
	if (gpc_yaml_get(item, "infra")) {
		skip[n++] = "cloud";
		skip[n++] = "region";
		skip[n++] = "zone";
	} else if (gpc_yaml_get(item, "cloud")) {
		skip[n++] = "infra";
	}
	skip[n] = NULL;
}

static int read_item(struct gpc_spec_reader *r, const struct gpc_yaml_node *map,
	const struct gpc_yaml_node *item, const char *key,
	const struct gpc_resources *outer, struct gpc_resources *res)
{
	struct gpc_spec_reader quiet = *r;
	const struct gpc_yaml_node *whole;
	const char *skip[8];
	int e = check_item(r, item, key);

	if (e)
		return e;
	/* first alone, for places and warnings; then laid over, in silence */
	quiet.spec = NULL;
	e = gpc_spec_read_section(&quiet, "resources", item, NULL);
	if (e)
		return e;
	find_replaced(item, skip);
	whole = gpc_yaml_overlay(r->docs, map, item, skip);
	quiet.warnings = NULL;
	e = gpc_spec_read_section(&quiet, "resources", whole, res);
	if (!e)
		e = gpc_spec_join_places(&quiet, whole, res);
	if (e)
		return e;
	for (size_t i = 0; i < outer->labels.n; i++) {
		const struct gpc_pair *p = &outer->labels.v[i];

		if (!gpc_pairs_has(&res->labels, p->key))
			gpc_pairs_set(&res->labels, p->key, p->value);
	}
	return 0;
}

/* All alternatives must recover alike: the policy belongs to the job. */
static int check_recovery(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *item, const struct gpc_resources *first,
	const struct gpc_resources *res)
{
	const struct gpc_spec_field *f = gpc_spec_field_find("resources",
		"job_recovery");
	gpc_autoptr(gpc_json) *a = gpc_kind_job_recovery.write(f,
		&first->job_recovery);
	gpc_autoptr(gpc_json) *b = gpc_kind_job_recovery.write(f,
		&res->job_recovery);
	gpc_autostr *ta = a ? gpc_json_print(a) : NULL;
	gpc_autostr *tb = b ? gpc_json_print(b) : NULL;

	if (gpc_eq(ta, tb))
		return 0;
	return gpc_spec_fail(r, item, "all alternatives must share one "
		"job_recovery");
}

static int read_list(struct gpc_spec_reader *r, const struct gpc_yaml_node *map,
	const struct gpc_yaml_node *list, const char *key,
	struct gpc_resources *outer)
{
	const struct gpc_yaml_node *gpus = gpus_of(map);
	bool ordered = gpc_eq(key, "ordered");
	int first = 0;

	if (list->kind != GPC_YAML_LIST || !list->n)
		return gpc_spec_fail(r, list, "expected a list of resources for "
			"%s", key);
	if (list->n > GPC_SPEC_MAX_CANDIDATES)
		return gpc_spec_fail(r, list, "%s: more than %d entries", key,
			GPC_SPEC_MAX_CANDIDATES);
	if (gpc_yaml_bytes(map) * list->n > GPC_SPEC_MAX_COPIED)
		return gpc_spec_fail(r, list, "%s: the outer fields are too long "
			"to repeat them %zu times", key, list->n);
	if (outer->gpus.n > 1)
		return gpc_spec_fail(r, gpus, "several accelerators and %s "
			"clash: put each GPU into its own entry of %s", key,
			key);
	for (size_t i = 0; i < list->n; i++) {
		struct gpc_resources *res = ordered
			? gpc_vec_push(&outer->ordered)
			: gpc_vec_push(&outer->any_of);
		size_t before = gpc_spec_wrong(r);
		int e = read_item(r, map, list->items[i], key, outer, res);

		/* one that is wrong is nothing to compare the others with */
		if (!e && !first)
			e = check_recovery(r, list->items[i], ordered
				? outer->ordered.v : outer->any_of.v, res);
		if (!gpc_spec_goes_on(r, before, e, &first))
			return first;
	}
	return first;
}

static int read_resources(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	gpc_auto(gpc_resources) struct gpc_resources res = {0};
	const struct gpc_yaml_node *list;
	const char *key;
	int e;

	(void)f;
	e = gpc_spec_read_section(r, "resources", node, &res);
	if (!e)
		e = gpc_spec_join_places(r, node, &res);
	if (e)
		return e;
	if (!gpc_spec_is_null(gpc_yaml_get(node, "any_of")) &&
	    !gpc_spec_is_null(gpc_yaml_get(node, "ordered")))
		return gpc_spec_fail(r, gpc_yaml_get(node, "ordered"),
			"give any_of or ordered, not both");
	list = alternatives(node, &key);
	if (!gpc_spec_is_null(list))
		e = read_list(r, node, list, key, &res);
	if (e || !slot)
		return e;
	gpc_resources_clear(slot);
	*(struct gpc_resources *)slot = res;
	res = (struct gpc_resources){0};
	return 0;
}

/* --- writing -------------------------------------------------------------------- */

static struct gpc_json *write_one(const struct gpc_resources *res)
{
	struct gpc_json *object = gpc_json_object();

	gpc_spec_write_section("resources", res, object);
	return object;
}

static struct gpc_json *write_list(const struct gpc_resources *v, size_t n,
	const struct gpc_json *outer)
{
	struct gpc_json *list = gpc_json_array();

	for (size_t i = 0; i < n; i++) {
		struct gpc_json *object = write_one(&v[i]);

		for (const struct gpc_json *m = gpc_json_first(outer); m;
		     m = gpc_json_next(m)) {
			if (!gpc_json_get(object, gpc_json_key(m)))
				gpc_json_set(object, gpc_json_key(m),
					gpc_json_null());
		}
		gpc_json_add(list, object);
	}
	return list;
}

static struct gpc_json *write_resources(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct gpc_resources *res = slot;
	gpc_autoptr(gpc_json) *object = write_one(res);
	gpc_autoptr(gpc_json) *outer = gpc_json_copy(object);

	(void)f;
	if (res->any_of.n)
		gpc_json_set(object, "any_of", write_list(res->any_of.v,
			res->any_of.n, outer));
	if (res->ordered.n)
		gpc_json_set(object, "ordered", write_list(res->ordered.v,
			res->ordered.n, outer));
	return gpc_json_first(object) ? gpc_steal(&object) : NULL;
}

void gpc_resources_clear(struct gpc_resources *r)
{
	if (!r)
		return;
	gpc_spec_clear_section("resources", r);
	gpc_vec_each(c, &r->any_of)
		gpc_resources_clear(c);
	gpc_vec_each(c, &r->ordered)
		gpc_resources_clear(c);
	free(r->any_of.v);
	free(r->ordered.v);
	*r = (struct gpc_resources){0};
}

static void clear_resources(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	gpc_resources_clear(slot);
}

const struct gpc_spec_kind gpc_kind_resources = {
	read_resources, write_resources, clear_resources,
};

/* any_of and ordered themselves need the whole map: see read_resources. */
static int read_later(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	(void)r;
	(void)f;
	(void)node;
	(void)slot;
	return 0;
}

const struct gpc_spec_kind gpc_kind_candidates = {read_later, NULL, NULL};
