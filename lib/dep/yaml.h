/* YAML 1.1 as PyYAML reads it, into a tree of nodes with their places, and out
 * again. Hostile input meets limits on bytes, depth, nodes, aliases (after
 * expansion) and scalar size; duplicate keys are errors. libyaml's names stay
 * in yaml.c. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	int line, column;              /* from 1; columns count characters */
	int end_line, end_column;      /* scalars: just behind the last one */
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
/* Bytes of all text in a tree, aliases expanded: what copying it would take. */
size_t gpc_yaml_bytes(const struct gpc_yaml_node *node);
/* What PyYAML would make of plain text, and of a node's scalar. The getters
 * return false when it is of another type or does not fit; to_double takes
 * whole numbers too. */
enum gpc_yaml_type gpc_yaml_type_of(const char *text);
bool gpc_yaml_to_bool(const struct gpc_yaml_node *node, bool *ret_b);
bool gpc_yaml_to_i64(const struct gpc_yaml_node *node, int64_t *ret_n);
bool gpc_yaml_to_double(const struct gpc_yaml_node *node, double *ret_x);
/* "`010` is read as 8 (octal)" when YAML 1.1 surprises in a scalar that is
 * read as a typed value; NULL when it does not. Owned. */
char *gpc_yaml_surprise(const struct gpc_yaml_node *node);
/* JSON of a tree as PyYAML would load it; timestamps become text. GPC_ECONFIG
 * for what JSON cannot say (.nan, whole numbers beyond 2^53). */
int gpc_yaml_to_json(const struct gpc_yaml_node *node, const char *name,
	struct gpc_json **ret_j, struct gpc_error *err) gpc_must_check;
/* The other way: one document whose nodes have no place (line 0). */
int gpc_yaml_from_json(const struct gpc_json *j, const char *name,
	struct gpc_yaml_docs *ret_docs, struct gpc_error *err) gpc_must_check;
/* One document that is a single plain scalar without a place. */
void gpc_yaml_from_text(const char *text, struct gpc_yaml_docs *ret_docs);
/* Appends a document that holds a map with the pairs of `under` and, winning
 * over them, those of `over`; keys of `under` that the NULL-terminated skip
 * names are left out. Nodes are shared, so d must own both. */
const struct gpc_yaml_node *gpc_yaml_overlay(struct gpc_yaml_docs *d,
	const struct gpc_yaml_node *under, const struct gpc_yaml_node *over,
	const char *const *skip);
/* Block-style YAML of a JSON tree: strings are quoted where a YAML 1.1 reader
 * would take them for something else, several lines become |. */
int gpc_yaml_print(const struct gpc_json *j, struct gpc_buf *out,
	struct gpc_error *err) gpc_must_check;
