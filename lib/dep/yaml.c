/* YAML text to trees of nodes, over libyaml's events (the only file that
 * knows libyaml). The text is hostile: bytes, depth, nodes counted after alias
 * expansion and scalar length are limited before memory is spent, and every
 * complaint names file, line and column. Aliased nodes are shared, so a tree
 * is a DAG; the document owns all of them in one list. */
#include <string.h>

#include <yaml.h>

#include "base/map.h"
#include "base/vec.h"
#include "dep/yaml.h"
#include "dep/yaml_tree.h"

#define MAX_BYTES ((size_t)4 << 20)
#define MAX_DEPTH 64
#define MAX_NODES 100000
#define MAX_KEYS 10000
#define MAX_TEXT ((size_t)16 << 20)
#define MAX_SCALAR ((size_t)1 << 20)
#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define TAG_PREFIX "tag:yaml.org,2002:"

struct reader {
	yaml_parser_t parser;
	const char *name;
	struct gpc_yaml_docs *docs;
	struct gpc_yaml_doc *doc;
	struct gpc_map anchors;    /* name -> struct gpc_yaml_tree */
	size_t nodes, bytes;       /* over the whole input, aliases expanded */
	struct gpc_error *err;
};

static int fail_at(struct reader *r, yaml_mark_t mark, const char *text)
{
	return gpc_fail(r->err, GPC_ECONFIG, "%s:%zu:%zu: %s", r->name,
		mark.line + 1, mark.column + 1, text);
}

/* --- libyaml's own complaints --------------------------------------------- */

static int fail_syntax(struct reader *r)
{
	const yaml_parser_t *p = &r->parser;
	yaml_mark_t mark = p->problem_mark;
	const char *problem = p->problem ? p->problem : "cannot be read";
	int code;

	if (p->error == YAML_READER_ERROR)
		code = gpc_fail(r->err, GPC_ECONFIG, "%s: byte %zu: %s", r->name,
			p->problem_offset, problem);
	else if (p->context && p->context_mark.line != mark.line)
		code = gpc_fail(r->err, GPC_ECONFIG,
			"%s:%zu:%zu: %s, %s that began on line %zu", r->name,
			mark.line + 1, mark.column + 1, problem, p->context,
			p->context_mark.line + 1);
	else
		code = gpc_fail(r->err, GPC_ECONFIG, "%s:%zu:%zu: %s%s%s",
			r->name, mark.line + 1, mark.column + 1, problem,
			p->context ? ", " : "", p->context ? p->context : "");
	if (strstr(problem, "cannot start any token"))
		gpc_hint(r->err, "indent with spaces, not tabs; put text that "
			"starts with @ ` or %% in quotes");
	else if (strstr(problem, "mapping values are not allowed"))
		gpc_hint(r->err, "put text that holds `: ` in quotes, and check "
			"the indentation");
	return code;
}

static int next_event(struct reader *r, yaml_event_t *event)
{
	if (yaml_parser_parse(&r->parser, event))
		return 0;
	return fail_syntax(r);
}

/* --- nodes ---------------------------------------------------------------- */

static int count(struct reader *r, yaml_mark_t mark, size_t nodes, size_t bytes)
{
	r->nodes += nodes;
	r->bytes += bytes;
	if (r->nodes > MAX_NODES)
		return fail_at(r, mark, "too much YAML: more than 100000 values "
			"once aliases are expanded");
	if (r->bytes > MAX_TEXT)
		return fail_at(r, mark, "too much YAML: more than 16 MiB of text "
			"once aliases are expanded");
	return 0;
}

static int new_node(struct reader *r, const yaml_event_t *event,
	enum gpc_yaml_kind kind, struct gpc_yaml_tree **ret_t)
{
	int e = count(r, event->start_mark, 1, 0);

	if (e)
		return e;
	*ret_t = gpc_yaml_tree_new(r->doc, kind);
	(*ret_t)->node.line = (int)event->start_mark.line + 1;
	(*ret_t)->node.column = (int)event->start_mark.column + 1;
	return 0;
}

static void remember(struct reader *r, const yaml_char_t *anchor,
	struct gpc_yaml_tree *t)
{
	if (anchor)
		gpc_map_set(&r->anchors, (const char *)anchor, t);
}

static int bad_tag(struct reader *r, const yaml_event_t *event,
	const char *tag)
{
	gpc_autostr *text = gpc_format("the tag %s is not supported",
		gpc_starts_with(tag, TAG_PREFIX) ? tag + strlen(TAG_PREFIX)
			: tag);

	return fail_at(r, event->start_mark, text);
}

/* The type that an explicit tag asks for. */
static int tagged_type(struct reader *r, const yaml_event_t *event,
	const char *tag, struct gpc_yaml_node *node)
{
	static const struct { const char *tag; enum gpc_yaml_type type; } known[] = {
		{"str", GPC_YAML_STR}, {"null", GPC_YAML_NULL},
		{"bool", GPC_YAML_BOOL}, {"int", GPC_YAML_INT},
		{"float", GPC_YAML_FLOAT}, {"timestamp", GPC_YAML_TIMESTAMP},
	};
	enum gpc_yaml_type plain = gpc_yaml_type_of(node->text);

	if (gpc_eq(tag, "!")) {
		node->type = GPC_YAML_STR;
		return 0;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!gpc_starts_with(tag, TAG_PREFIX) ||
		    !gpc_eq(tag + strlen(TAG_PREFIX), known[i].tag))
			continue;
		node->type = known[i].type;
		if (node->type != GPC_YAML_STR && node->type != plain &&
		    !(node->type == GPC_YAML_FLOAT && plain == GPC_YAML_INT))
			return fail_at(r, event->start_mark,
				"the value does not fit its tag");
		return 0;
	}
	return bad_tag(r, event, tag);
}

static int compose_scalar(struct reader *r, const yaml_event_t *event,
	struct gpc_yaml_tree **ret_t)
{
	const char *text = (const char *)event->data.scalar.value;
	const char *tag = (const char *)event->data.scalar.tag;
	size_t n = event->data.scalar.length;
	struct gpc_yaml_tree *t;
	int e;

	if (n > MAX_SCALAR)
		return fail_at(r, event->start_mark,
			"the text is longer than 1 MiB");
	if (memchr(text, 0, n))
		return fail_at(r, event->start_mark,
			"the text holds a NUL character");
	e = new_node(r, event, GPC_YAML_SCALAR, &t);
	if (e)
		return e;
	e = count(r, event->start_mark, 0, n);
	if (e)
		return e;
	t->node.text = gpc_strndup(text, n);
	t->node.end_line = (int)event->end_mark.line + 1;
	t->node.end_column = (int)event->end_mark.column + 1;
	t->bytes = n;
	t->node.quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	if (tag)
		e = tagged_type(r, event, tag, &t->node);
	else
		t->node.type = t->node.quoted ? GPC_YAML_STR
			: gpc_yaml_type_of(t->node.text);
	if (e)
		return e;
	remember(r, event->data.scalar.anchor, t);
	*ret_t = t;
	return 0;
}

static int resolve_alias(struct reader *r, const yaml_event_t *event,
	int depth, struct gpc_yaml_tree **ret_t)
{
	const char *name = (const char *)event->data.alias.anchor;
	struct gpc_yaml_tree *t = gpc_map_get(&r->anchors, name);
	int e;

	if (!t) {
		gpc_autostr *text = gpc_format("the alias *%s has no anchor "
			"before it", name);

		return fail_at(r, event->start_mark, text);
	}
	if (!t->height)
		return fail_at(r, event->start_mark,
			"an alias inside its own anchor would never end");
	if (depth + t->height > MAX_DEPTH)
		return fail_at(r, event->start_mark,
			"nested more than 64 levels deep");
	e = count(r, event->start_mark, t->weight, t->bytes);
	if (e)
		return e;
	*ret_t = t;
	return 0;
}

static int compose(struct reader *r, const yaml_event_t *event, int depth,
	struct gpc_yaml_tree **ret_t);

/* The next node, or NULL at the event `end`. */
static int compose_next(struct reader *r, yaml_event_type_t end, int depth,
	struct gpc_yaml_tree **ret_t)
{
	yaml_event_t event;
	int e = next_event(r, &event);

	if (e)
		return e;
	if (event.type == end)
		*ret_t = NULL;
	else
		e = compose(r, &event, depth, ret_t);
	yaml_event_delete(&event);
	return e;
}

static int compose_list(struct reader *r, const yaml_event_t *event, int depth,
	struct gpc_yaml_tree **ret_t)
{
	const char *tag = (const char *)event->data.sequence_start.tag;
	struct gpc_yaml_tree *t, *item;
	int e;

	if (tag && !gpc_eq(tag, TAG_PREFIX "seq") && !gpc_eq(tag, "!"))
		return bad_tag(r, event, tag);
	e = new_node(r, event, GPC_YAML_LIST, &t);
	if (e)
		return e;
	t->height = 0;             /* open: an alias to it is a cycle */
	remember(r, event->data.sequence_start.anchor, t);
	for (;;) {
		e = compose_next(r, YAML_SEQUENCE_END_EVENT, depth + 1, &item);
		if (e)
			return e;
		if (!item)
			break;
		gpc_yaml_tree_add(t, NULL, item);
	}
	gpc_yaml_tree_measure(t);
	*ret_t = t;
	return 0;
}

/* --- maps ----------------------------------------------------------------- */

struct pairs { GPC_VEC(struct gpc_yaml_tree *) keys, values; };

static void pairs_clear(struct pairs *p)
{
	gpc_vec_free(&p->keys);
	gpc_vec_free(&p->values);
}
GPC_CLEANUP_VALUE(pairs);

static bool is_merge_key(const struct gpc_yaml_tree *key)
{
	return !key->node.quoted && gpc_eq(key->node.text, "<<");
}

static int fail_node(struct reader *r, const struct gpc_yaml_tree *t,
	const char *text)
{
	return gpc_fail(r->err, GPC_ECONFIG, "%s:%d:%d: %s", r->name,
		t->node.line, t->node.column, text);
}

static int check_key(struct reader *r, struct gpc_map *seen,
	struct gpc_yaml_tree *key)
{
	struct gpc_yaml_tree *first;

	if (key->node.kind != GPC_YAML_SCALAR)
		return fail_node(r, key, "a key must be plain text, not a list "
			"or a map");
	first = gpc_map_get(seen, key->node.text);
	if (first) {
		gpc_autostr *shown = gpc_str_printable(key->node.text,
			strnlen(key->node.text, 80));
		gpc_autostr *text = gpc_format("the key '%s' is here twice: "
			"first on line %d, column %d", shown,
			first->node.line, first->node.column);

		return fail_node(r, key, text);
	}
	gpc_map_set(seen, key->node.text, key);
	return 0;
}

static int read_pairs(struct reader *r, int depth, struct pairs *pairs,
	struct gpc_map *seen)
{
	struct gpc_yaml_tree *key, *value;
	int e;

	for (;;) {
		e = compose_next(r, YAML_MAPPING_END_EVENT, depth, &key);
		if (e || !key)
			return e;
		e = check_key(r, seen, key);
		if (!e)
			e = compose_next(r, YAML_NO_EVENT, depth, &value);
		if (e)
			return e;
		if (pairs->keys.n == MAX_KEYS)
			return fail_node(r, key, "more than 10000 keys in one "
				"map");
		*gpc_vec_push(&pairs->keys) = key;
		*gpc_vec_push(&pairs->values) = value;
	}
}

/* Adds from's pairs that neither the map itself nor an earlier source has. */
static int merge_map(struct reader *r, struct gpc_yaml_tree *into,
	const struct gpc_yaml_tree *from, struct gpc_map *seen)
{
	yaml_mark_t mark = {
		.line = (size_t)(into->node.line > 0 ? into->node.line - 1 : 0),
		.column = (size_t)(into->node.column > 0 ?
			into->node.column - 1 : 0),
	};

	for (size_t i = 0; i < from->node.n; i++) {
		struct gpc_yaml_tree *key = gpc_yaml_tree_of(from->node.keys[i]);
		struct gpc_yaml_tree *value =
			gpc_yaml_tree_of(from->node.items[i]);
		int e;

		if (gpc_map_has(seen, key->node.text))
			continue;
		e = count(r, mark, 1 + value->weight,
			key->bytes + value->bytes);
		if (e)
			return e;
		gpc_map_set(seen, key->node.text, key);
		gpc_yaml_tree_add(into, key, value);
	}
	return 0;
}

static int merge(struct reader *r, struct gpc_yaml_tree *into,
	const struct gpc_yaml_tree *source, struct gpc_map *seen)
{
	int e = 0;

	if (source->node.kind == GPC_YAML_MAP)
		return merge_map(r, into, source, seen);
	if (source->node.kind != GPC_YAML_LIST)
		return fail_node(r, source, "`<<` expects a map or a list of "
			"maps");
	for (size_t i = 0; i < source->node.n && !e; i++) {
		struct gpc_yaml_tree *item =
			gpc_yaml_tree_of(source->node.items[i]);

		e = item->node.kind == GPC_YAML_MAP
			? merge_map(r, into, item, seen)
			: fail_node(r, item, "`<<` expects maps in its list");
	}
	return e;
}

static void note_set(struct gpc_yaml_tree *t, bool flow, const char *tag)
{
	t->node.set = gpc_eq(tag, TAG_PREFIX "set") || (flow && t->node.n);
	for (size_t i = 0; i < t->node.n; i++) {
		const struct gpc_yaml_node *value = t->node.items[i];

		if (value->kind != GPC_YAML_SCALAR || value->quoted ||
		    value->type != GPC_YAML_NULL)
			t->node.set = false;
	}
}

static int compose_map(struct reader *r, const yaml_event_t *event, int depth,
	struct gpc_yaml_tree **ret_t)
{
	const char *tag = (const char *)event->data.mapping_start.tag;
	bool flow = event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
	gpc_auto(pairs) struct pairs pairs = {0};
	gpc_auto(gpc_map) struct gpc_map seen = {0};
	struct gpc_yaml_tree *t;
	int e;

	if (tag && !gpc_eq(tag, TAG_PREFIX "map") &&
	    !gpc_eq(tag, TAG_PREFIX "set") && !gpc_eq(tag, "!"))
		return bad_tag(r, event, tag);
	e = new_node(r, event, GPC_YAML_MAP, &t);
	if (e)
		return e;
	t->height = 0;
	remember(r, event->data.mapping_start.anchor, t);
	e = read_pairs(r, depth + 1, &pairs, &seen);
	for (size_t i = 0; i < pairs.keys.n && !e; i++) {
		if (is_merge_key(pairs.keys.v[i]))
			e = merge(r, t, pairs.values.v[i], &seen);
	}
	if (e)
		return e;
	for (size_t i = 0; i < pairs.keys.n; i++) {
		if (!is_merge_key(pairs.keys.v[i]))
			gpc_yaml_tree_add(t, pairs.keys.v[i],
				pairs.values.v[i]);
	}
	note_set(t, flow, tag);
	gpc_yaml_tree_measure(t);
	*ret_t = t;
	return 0;
}

static int compose(struct reader *r, const yaml_event_t *event, int depth,
	struct gpc_yaml_tree **ret_t)
{
	if (depth > MAX_DEPTH)
		return fail_at(r, event->start_mark,
			"nested more than 64 levels deep");
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return compose_scalar(r, event, ret_t);
	case YAML_ALIAS_EVENT:
		return resolve_alias(r, event, depth, ret_t);
	case YAML_SEQUENCE_START_EVENT:
		return compose_list(r, event, depth, ret_t);
	case YAML_MAPPING_START_EVENT:
		return compose_map(r, event, depth, ret_t);
	default:
		return fail_at(r, event->start_mark, "cannot be read here");
	}
}

/* --- documents ------------------------------------------------------------ */

static int read_document(struct reader *r, const yaml_event_t *start)
{
	const yaml_version_directive_t *version =
		start->data.document_start.version_directive;
	struct gpc_yaml_tree *root = NULL, *end;
	int e;

	if (version && version->minor != 1)
		gpc_strv_addf(&r->docs->warnings, "%s:%zu: %%YAML %d.%d is read "
			"as YAML 1.1", r->name, start->start_mark.line + 1,
			version->major, version->minor);
	r->doc = gpc_alloc(sizeof(*r->doc));
	*gpc_vec_push(r->docs) = r->doc;
	gpc_map_clear(&r->anchors);
	e = compose_next(r, YAML_DOCUMENT_END_EVENT, 1, &root);
	if (e)
		return e;
	if (!root)
		return 0;
	if (root->node.kind != GPC_YAML_SCALAR ||
	    root->node.type != GPC_YAML_NULL)
		r->doc->root = &root->node;
	return compose_next(r, YAML_DOCUMENT_END_EVENT, 1, &end);
}

static int read_stream(struct reader *r)
{
	bool more = true;
	int e = 0;

	while (more && !e) {
		yaml_event_t event;

		e = next_event(r, &event);
		if (e)
			break;
		more = event.type != YAML_STREAM_END_EVENT;
		if (event.type == YAML_DOCUMENT_START_EVENT)
			e = read_document(r, &event);
		yaml_event_delete(&event);
	}
	return e;
}

/* By its mark, as Windows begins such a file, else by what its first letter is. */
static bool is_utf16(const char *text, size_t n)
{
	return n >= 2 && (!memcmp(text, "\xff\xfe", 2) ||
		!memcmp(text, "\xfe\xff", 2) || (text[0] && !text[1]) ||
		(!text[0] && text[1]));
}

/* NUL and invalid UTF-8 get their own words, before libyaml guesses. */
static int check_bytes(const char *text, size_t n, const char *name,
	struct gpc_error *err)
{
	const char *nul = memchr(text, 0, n);
	size_t line = 1, start = 0;

	if (n > MAX_BYTES)
		return gpc_fail(err, GPC_ECONFIG, "%s: larger than 4 MiB", name);
	if (!nul && gpc_utf8_valid(text, n))
		return 0;
	if (is_utf16(text, n)) {
		gpc_fail(err, GPC_ECONFIG, "%s:1: this file is saved as UTF-16",
			name);
		gpc_hint(err, "save it as UTF-8, or convert it by iconv -f UTF-16 "
			"-t UTF-8");
		return -GPC_ECONFIG;
	}
	for (size_t i = 0; i <= n; i++) {
		if (i < n && text[i] != '\n' && text[i])
			continue;
		if (i < n && !text[i])
			return gpc_fail(err, GPC_ECONFIG, "%s:%zu:%zu: a NUL "
				"byte: this is not a text file", name, line,
				i - start + 1);
		if (!gpc_utf8_valid(text + start, i - start))
			break;
		line++;
		start = i + 1;
	}
	gpc_fail(err, GPC_ECONFIG, "%s:%zu: this line is not valid UTF-8", name,
		line);
	gpc_hint(err, "save the file as UTF-8");
	return -GPC_ECONFIG;
}

/* JSON that YAML 1.1 would refuse or change: DEL and line separators stand raw
 * in JSON text, and characters beyond 16 bits may be pairs of escapes. */
static bool is_json_only(const char *text, size_t n)
{
	size_t at = 0;

	while (at < n && strchr(" \t\r\n", text[at]))
		at++;
	if (at == n || (text[at] != '{' && text[at] != '['))
		return false;
	for (; at < n; at++) {
		if ((unsigned char)text[at] >= 0x7f ||
		    (n - at > 2 && text[at] == '\\' && text[at + 1] == 'u' &&
			(text[at + 2] | 0x20) == 'd'))
			return true;
	}
	return false;
}

static bool read_json(const char *text, size_t n, const char *name,
	struct gpc_yaml_docs *ret_docs)
{
	gpc_autoptr(gpc_json) *j = NULL;

	return is_json_only(text, n) && !gpc_json_parse(text, n, &j, NULL) &&
		!gpc_yaml_from_json(j, name, ret_docs, NULL);
}

int gpc_yaml_parse(const char *text, size_t n, const char *name,
	struct gpc_yaml_docs *ret_docs, struct gpc_error *err)
{
	struct gpc_yaml_docs docs = {0};
	struct reader r = {.name = name, .docs = &docs, .err = err};
	int e = check_bytes(text, n, name, err);

	if (e)
		return e;
	if (n >= 3 && !memcmp(text, BYTE_ORDER_MARK, 3)) {
		/* libyaml would count it as a column, and so as indentation */
		text += 3;
		n -= 3;
	}
	if (read_json(text, n, name, ret_docs))
		return 0;
	if (!yaml_parser_initialize(&r.parser))
		return gpc_fail(err, GPC_EIO, "%s: out of memory", name);
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
	e = read_stream(&r);
	yaml_parser_delete(&r.parser);
	gpc_map_clear(&r.anchors);
	if (e)
		gpc_yaml_docs_clear(&docs);
	else
		*ret_docs = docs;
	return e;
}
