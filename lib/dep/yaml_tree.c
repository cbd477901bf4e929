/* Trees of YAML nodes without text: ownership, look-up, overlay, and the way
 * from and to JSON. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "dep/yaml_tree.h"

#define MAX_EXACT ((int64_t)1 << 53)

struct gpc_yaml_tree *gpc_yaml_tree_new(struct gpc_yaml_doc *doc,
	enum gpc_yaml_kind kind)
{
	struct gpc_yaml_tree *t = gpc_alloc(sizeof(*t));

	t->node.kind = kind;
	t->weight = 1;
	t->height = 1;
	*gpc_vec_push(&doc->all) = t;
	return t;
}

void gpc_yaml_tree_add(struct gpc_yaml_tree *t, struct gpc_yaml_tree *key,
	struct gpc_yaml_tree *value)
{
	struct gpc_yaml_node *n = &t->node;

	if (n->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 4;
		n->items = gpc_grow(n->items, t->cap, sizeof(*n->items));
		if (n->kind == GPC_YAML_MAP)
			n->keys = gpc_grow(n->keys, t->cap, sizeof(*n->keys));
	}
	if (n->kind == GPC_YAML_MAP)
		n->keys[n->n] = &key->node;
	n->items[n->n++] = &value->node;
}

void gpc_yaml_tree_measure(struct gpc_yaml_tree *t)
{
	t->weight = 1;
	t->bytes = 0;
	t->height = 1;
	for (size_t i = 0; i < t->node.n; i++) {
		const struct gpc_yaml_tree *c = gpc_yaml_tree_of(t->node.items[i]);

		t->weight += c->weight + (t->node.kind == GPC_YAML_MAP);
		t->bytes += c->bytes;
		if (t->node.kind == GPC_YAML_MAP)
			t->bytes += gpc_yaml_tree_of(t->node.keys[i])->bytes;
		if (c->height >= t->height)
			t->height = c->height + 1;
	}
}

static void doc_free(struct gpc_yaml_doc *doc)
{
	for (size_t i = 0; i < doc->all.n; i++) {
		struct gpc_yaml_node *n = &doc->all.v[i]->node;

		free(n->text);
		free(n->keys);
		free(n->items);
		free(doc->all.v[i]);
	}
	gpc_vec_free(&doc->all);
	free(doc);
}

void gpc_yaml_docs_clear(struct gpc_yaml_docs *d)
{
	for (size_t i = 0; i < d->n; i++)
		doc_free(d->v[i]);
	gpc_vec_free(d);
	gpc_strv_clear(&d->warnings);
}

const struct gpc_yaml_node *gpc_yaml_root(const struct gpc_yaml_doc *doc)
{
	return doc->root;
}

const struct gpc_yaml_node *gpc_yaml_get(const struct gpc_yaml_node *map,
	const char *key)
{
	if (!map || map->kind != GPC_YAML_MAP)
		return NULL;
	for (size_t i = 0; i < map->n; i++) {
		if (gpc_eq(map->keys[i]->text, key))
			return map->items[i];
	}
	return NULL;
}

size_t gpc_yaml_bytes(const struct gpc_yaml_node *node)
{
	return ((const struct gpc_yaml_tree *)(const void *)node)->bytes;
}

static struct gpc_yaml_doc *new_doc(struct gpc_yaml_docs *docs)
{
	struct gpc_yaml_doc *doc = gpc_alloc(sizeof(*doc));

	*gpc_vec_push(docs) = doc;
	return doc;
}

static struct gpc_yaml_tree *new_scalar(struct gpc_yaml_doc *doc,
	enum gpc_yaml_type type, const char *text)
{
	struct gpc_yaml_tree *t = gpc_yaml_tree_new(doc, GPC_YAML_SCALAR);

	t->node.type = type;
	t->node.text = gpc_strdup(text);
	t->bytes = strlen(text);
	return t;
}

void gpc_yaml_from_text(const char *text, struct gpc_yaml_docs *ret_docs)
{
	struct gpc_yaml_docs docs = {0};
	struct gpc_yaml_doc *doc = new_doc(&docs);

	doc->root = &new_scalar(doc, gpc_yaml_type_of(text), text)->node;
	*ret_docs = docs;
}

static bool is_word(const char *text, const char *const *words)
{
	for (; words && *words; words++) {
		if (gpc_eq(text, *words))
			return true;
	}
	return false;
}

const struct gpc_yaml_node *gpc_yaml_overlay(struct gpc_yaml_docs *d,
	const struct gpc_yaml_node *under, const struct gpc_yaml_node *over,
	const char *const *skip)
{
	struct gpc_yaml_doc *doc = new_doc(d);
	struct gpc_yaml_tree *t = gpc_yaml_tree_new(doc, GPC_YAML_MAP);

	t->node.line = over->line;
	t->node.column = over->column;
	for (size_t i = 0; under && i < under->n; i++) {
		if (!gpc_yaml_get(over, under->keys[i]->text) &&
		    !is_word(under->keys[i]->text, skip))
			gpc_yaml_tree_add(t, gpc_yaml_tree_of(under->keys[i]),
				gpc_yaml_tree_of(under->items[i]));
	}
	for (size_t i = 0; i < over->n; i++)
		gpc_yaml_tree_add(t, gpc_yaml_tree_of(over->keys[i]),
			gpc_yaml_tree_of(over->items[i]));
	gpc_yaml_tree_measure(t);
	doc->root = &t->node;
	return doc->root;
}

/* --- JSON ----------------------------------------------------------------- */

static struct gpc_yaml_tree *from_json(struct gpc_yaml_doc *doc,
	const struct gpc_json *j)
{
	struct gpc_yaml_tree *t;

	if (gpc_json_is_string(j)) {
		t = new_scalar(doc, GPC_YAML_STR, gpc_json_str(j));
		t->node.quoted = true;
		return t;
	}
	if (gpc_json_is_number(j)) {
		gpc_autostr *text = gpc_json_print(j);

		return new_scalar(doc, strpbrk(text, ".eE") ? GPC_YAML_FLOAT
			: GPC_YAML_INT, text);
	}
	if (gpc_json_is_bool(j))
		return new_scalar(doc, GPC_YAML_BOOL,
			gpc_json_bool_or(j, false) ? "true" : "false");
	if (gpc_json_is_null(j))
		return new_scalar(doc, GPC_YAML_NULL, "null");
	t = gpc_yaml_tree_new(doc, gpc_json_is_object(j) ? GPC_YAML_MAP
		: GPC_YAML_LIST);
	for (const struct gpc_json *m = gpc_json_first(j); m;
	     m = gpc_json_next(m)) {
		struct gpc_yaml_tree *key = NULL;

		if (t->node.kind == GPC_YAML_MAP) {
			key = new_scalar(doc, GPC_YAML_STR, gpc_json_key(m));
			key->node.quoted = true;
		}
		gpc_yaml_tree_add(t, key, from_json(doc, m));
	}
	gpc_yaml_tree_measure(t);
	return t;
}

static bool is_too_deep(const struct gpc_json *j, int depth)
{
	/* gpc_json_parse refuses it; this guards trees made by hand */
	if (depth > GPC_JSON_MAX_DEPTH)
		return true;
	for (const struct gpc_json *m = gpc_json_first(j); m;
	     m = gpc_json_next(m)) {
		if (is_too_deep(m, depth + 1))
			return true;
	}
	return false;
}

int gpc_yaml_from_json(const struct gpc_json *j, const char *name,
	struct gpc_yaml_docs *ret_docs, struct gpc_error *err)
{
	struct gpc_yaml_docs docs = {0};
	struct gpc_yaml_doc *doc;

	if (!j)
		return gpc_fail(err, GPC_ECONFIG, "%s: expected a value, found "
			"none", name);
	if (is_too_deep(j, 1))
		return gpc_fail(err, GPC_ECONFIG, "%s: nested more than %d "
			"levels deep", name, GPC_JSON_MAX_DEPTH);
	doc = new_doc(&docs);
	doc->root = &from_json(doc, j)->node;
	*ret_docs = docs;
	return 0;
}

static int fail_node(const struct gpc_yaml_node *node, const char *name,
	const char *text, struct gpc_error *err)
{
	if (!node->line)
		return gpc_fail(err, GPC_ECONFIG, "%s: %s", name, text);
	return gpc_fail(err, GPC_ECONFIG, "%s:%d:%d: %s", name, node->line,
		node->column, text);
}

static int scalar_to_json(const struct gpc_yaml_node *node, const char *name,
	struct gpc_json **ret_j, struct gpc_error *err)
{
	int64_t n = 0;
	double x = 0;
	bool b = false;

	switch (node->type) {
	case GPC_YAML_NULL:
		*ret_j = gpc_json_null();
		return 0;
	case GPC_YAML_BOOL:
		(void)gpc_yaml_to_bool(node, &b);
		*ret_j = gpc_json_bool(b);
		return 0;
	case GPC_YAML_INT:
		if (!gpc_yaml_to_i64(node, &n) || n > MAX_EXACT ||
		    n < -MAX_EXACT)
			return fail_node(node, name, "the number is too large; "
				"put it in quotes", err);
		*ret_j = gpc_json_int(n);
		return 0;
	case GPC_YAML_FLOAT:
		if (!gpc_yaml_to_double(node, &x) || !isfinite(x))
			return fail_node(node, name, "not a finite number", err);
		*ret_j = gpc_json_number(x);
		return 0;
	default:
		*ret_j = gpc_json_string(node->text);
		return 0;
	}
}

int gpc_yaml_to_json(const struct gpc_yaml_node *node, const char *name,
	struct gpc_json **ret_j, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = NULL;

	if (!node) {
		*ret_j = gpc_json_null();
		return 0;
	}
	if (node->kind == GPC_YAML_SCALAR)
		return scalar_to_json(node, name, ret_j, err);
	j = node->kind == GPC_YAML_MAP ? gpc_json_object() : gpc_json_array();
	for (size_t i = 0; i < node->n; i++) {
		struct gpc_json *value = NULL;
		int e = gpc_yaml_to_json(node->items[i], name, &value, err);

		if (e)
			return e;
		if (node->kind == GPC_YAML_MAP)
			gpc_json_append(j, node->keys[i]->text, value);
		else
			gpc_json_add(j, value);
	}
	*ret_j = gpc_steal(&j);
	return 0;
}
