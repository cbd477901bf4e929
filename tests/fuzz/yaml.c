/* YAML text to trees: the reader of every spec and configuration file. What it
 * makes JSON of must be the same after printing and reading it again. */
#include "fuzz.h"

#include "dep/yaml.h"

static void ask(const struct gpc_yaml_node *node)
{
	gpc_autostr *surprise = NULL;
	int64_t n;
	double x;
	bool b;

	fuzz_check(node->line > 0 && node->column > 0, "a node has no place");
	if (node->kind != GPC_YAML_SCALAR)
		return;
	fuzz_check(node->text && node->n == 0, "a scalar has no text");
	surprise = gpc_yaml_surprise(node);
	if (gpc_yaml_to_i64(node, &n))
		fuzz_check(gpc_yaml_to_double(node, &x),
			"%s is a whole number and no number", node->text);
	if (gpc_yaml_to_bool(node, &b))
		fuzz_check(node->type == GPC_YAML_BOOL,
			"%s is a bool that is none", node->text);
}

/* Visits some nodes: aliases make a tree larger than its text. */
static void walk(const struct gpc_yaml_node *node, size_t *left)
{
	if (*left == 0)
		return;
	--*left;
	ask(node);
	for (size_t i = 0; i < node->n; i++) {
		if (node->kind == GPC_YAML_MAP) {
			ask(node->keys[i]);
			fuzz_check(gpc_yaml_get(node, node->keys[i]->text),
				"key %s cannot be found", node->keys[i]->text);
		}
		walk(node->items[i], left);
	}
}

static void check_json(const struct gpc_yaml_node *root)
{
	gpc_autoptr(gpc_json) *j = NULL, *again = NULL;
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0}, tree = {0};
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	struct gpc_error err = {0};

	if (gpc_yaml_to_json(root, "job.yaml", &j, &err) < 0)
		return;
	if (gpc_yaml_print(j, &text, &err) < 0)
		return;
	fuzz_check(gpc_yaml_parse(gpc_buf_str(&text), text.len, "again", &docs,
		&err) == 0, "what was printed cannot be read: %s\n%s", err.msg,
		gpc_buf_str(&text));
	fuzz_check(docs.n == 1, "one document became %zu:\n%s", docs.n,
		gpc_buf_str(&text));
	if (!gpc_yaml_root(docs.v[0])) {
		fuzz_check(gpc_json_is_null(j), "a document became empty");
		return;
	}
	fuzz_check(gpc_yaml_to_json(gpc_yaml_root(docs.v[0]), "again", &again,
		&err) == 0, "what was printed is no JSON: %s", err.msg);
	fuzz_same_json(j, again, "YAML changed on the way");
	if (gpc_yaml_from_json(j, "json", &tree, &err) < 0)
		return;
	gpc_json_free(again);
	again = NULL;
	fuzz_check(gpc_yaml_to_json(gpc_yaml_root(tree.v[0]), "tree", &again,
		&err) == 0, "a tree of JSON is no JSON: %s", err.msg);
	fuzz_same_json(j, again, "JSON changed on the way");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	struct gpc_error err = {0};
	size_t left = 10000;

	if (gpc_yaml_parse((const char *)data, n, "job.yaml", &docs, &err) < 0) {
		fuzz_check(err.msg[0], "an error without a message");
		return 0;
	}
	for (size_t i = 0; i < docs.n; i++) {
		const struct gpc_yaml_node *root = gpc_yaml_root(docs.v[i]);

		if (!root)
			continue;
		walk(root, &left);
		if (gpc_yaml_bytes(root) < 65536)
			check_json(root);
	}
	return 0;
}
