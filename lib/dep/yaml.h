/* YAML 1.1 as PyYAML reads it, into a tree of nodes with their places, and out
 * again. Hostile input meets limits on bytes, depth, nodes, aliases (after
 * expansion) and scalar size; duplicate keys are errors. libyaml's names stay
 * in yaml.c. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "dep/json.h"

enum gpc_yaml_kind { GPC_YAML_SCALAR, GPC_YAML_LIST, GPC_YAML_MAP };
enum gpc_yaml_type {           /* what PyYAML would make of a scalar */
	GPC_YAML_STR, GPC_YAML_NULL, GPC_YAML_BOOL, GPC_YAML_INT,
	GPC_YAML_FLOAT, GPC_YAML_TIMESTAMP,
};
struct gpc_yaml_node {
	enum gpc_yaml_kind kind;
	int line, column;              /* from 1 */
	enum gpc_yaml_type type;       /* scalars */
	bool quoted;                   /* scalars: written in quotes or as a block */
	bool set;                      /* maps: tagged !!set or written {a, b} */
	char *text;                    /* scalars: exactly as written */
	struct gpc_yaml_node **keys;   /* maps: scalars, merged keys resolved */
	struct gpc_yaml_node **items;  /* lists and maps: the values */
	size_t n;
};
struct gpc_yaml_doc;               /* opaque: owns its nodes */

struct gpc_yaml_docs {
	struct gpc_yaml_doc **v;
	size_t n, cap;
	struct gpc_strv warnings;      /* "file:3:7: `no` reads as false ..." */
};
/* name is what errors call the input ("job.yaml", "<stdin>"). */
int gpc_yaml_parse(const char *text, size_t n, const char *name,
	struct gpc_yaml_docs *ret_docs, struct gpc_error *err) gpc_must_check;
void gpc_yaml_docs_clear(struct gpc_yaml_docs *d);
GPC_CLEANUP_VALUE(gpc_yaml_docs);
const struct gpc_yaml_node *gpc_yaml_root(const struct gpc_yaml_doc *doc); /* NULL: empty */
const struct gpc_yaml_node *gpc_yaml_get(const struct gpc_yaml_node *map,
	const char *key);              /* or NULL */
/* Block-style YAML of a JSON tree: strings are quoted where a YAML 1.1 reader
 * would take them for something else, several lines become |. */
int gpc_yaml_print(const struct gpc_json *j, struct gpc_buf *out,
	struct gpc_error *err) gpc_must_check;
