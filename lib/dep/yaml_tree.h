/* How the yaml files of this room build trees; not for other rooms. */
#pragma once
#include "base/vec.h"
#include "dep/yaml.h"

struct gpc_yaml_tree {
	struct gpc_yaml_node node;     /* first, so that the two can be cast */
	size_t cap;
	size_t weight;                 /* nodes below and itself, aliases expanded */
	size_t bytes;                  /* of text, counted the same way */
	int height;                    /* levels; 0 while it is being read */
};
struct gpc_yaml_doc {
	const struct gpc_yaml_node *root;
	GPC_VEC(struct gpc_yaml_tree *) all;
};

static inline struct gpc_yaml_tree *gpc_yaml_tree_of(
	struct gpc_yaml_node *node)
{
	return (struct gpc_yaml_tree *)(void *)node;
}

/* A node that doc owns; weight and height are those of an empty scalar. */
struct gpc_yaml_tree *gpc_yaml_tree_new(struct gpc_yaml_doc *doc,
	enum gpc_yaml_kind kind);
/* key is NULL in lists. */
void gpc_yaml_tree_add(struct gpc_yaml_tree *t, struct gpc_yaml_tree *key,
	struct gpc_yaml_tree *value);
/* Sets weight, bytes and height from the children. */
void gpc_yaml_tree_measure(struct gpc_yaml_tree *t);
