/* A configuration file belongs to the person who wrote it: a value is changed
 * by replacing its bytes at the place that the parser names, never by writing
 * the file anew. YAML has more forms than are worth knowing here, so nothing is
 * believed: the new text is parsed, and unless it differs from the old one in
 * exactly the value that was meant, it is thrown away.
 */
#include "model/config_edit.h"

#include <string.h>

#include "dep/yaml.h"
#include "model/config_text.h"

/* profiles, its name, group, key */
enum { LEVELS = 4 };

struct step {
	const struct gpc_yaml_node *map;
	size_t i;                      /* the pair that was taken */
};

struct edit {
	struct gpc_config_text t;
	const struct gpc_config_change *change;
	const struct gpc_yaml_node *root;
	struct step path[LEVELS];
	int depth;                     /* steps that exist */
	const char *rest[LEVELS];      /* names that do not */
	int n_rest;
	bool at_end;                   /* new top-level keys go to the very end */
	size_t from, to;               /* what is replaced */
	struct gpc_buf with;
};

static bool is_null(const struct gpc_yaml_node *node)
{
	return node->kind == GPC_YAML_SCALAR && !node->quoted &&
		node->type == GPC_YAML_NULL;
}

/* --- finding --------------------------------------------------------------- */

static bool is_before(const struct gpc_yaml_node *a,
	const struct gpc_yaml_node *b)
{
	return a->line != b->line ? a->line < b->line : a->column < b->column;
}

/* A pair that stands in this very map, not one that `<<` brings: those come
 * first, from an earlier place of the text or from inside a later pair. */
static bool is_own(const struct gpc_yaml_node *map, size_t i)
{
	if (is_before(map->keys[i], map))
		return false;
	for (size_t j = i + 1; j < map->n; j++) {
		if (is_before(map->keys[j], map->keys[i]))
			return false;
	}
	return true;
}

static bool find_pair(const struct gpc_yaml_node *map, const char *name,
	size_t *ret_i)
{
	if (!map || map->kind != GPC_YAML_MAP)
		return false;
	for (size_t i = 0; i < map->n; i++) {
		if (!gpc_eq(map->keys[i]->text, name) || !is_own(map, i))
			continue;
		*ret_i = i;
		return true;
	}
	return false;
}

static const struct gpc_yaml_node *here(const struct edit *e)
{
	const struct step *last = e->depth ? &e->path[e->depth - 1] : NULL;

	return last ? last->map->items[last->i] : e->root;
}

static bool descend(struct edit *e, const char *name)
{
	const struct gpc_yaml_node *map = here(e);
	size_t i;

	if (e->n_rest || !find_pair(map, name, &i)) {
		e->rest[e->n_rest++] = name;
		return false;
	}
	e->path[e->depth++] = (struct step){map, i};
	return true;
}

/* group: the part before the dot of a key, or NULL. */
static void locate(struct edit *e, const char *group)
{
	const struct gpc_config_change *c = e->change;
	const struct gpc_yaml_node *map;
	size_t i;

	if (c->profile) {
		descend(e, "profiles");
		descend(e, c->profile);
	}
	map = here(e);
	if (!e->n_rest && find_pair(map, c->key, &i)) {
		e->path[e->depth++] = (struct step){map, i};
		return;
	}
	if (group)
		descend(e, group);
	descend(e, group ? c->key + strlen(group) + 1 : c->key);
}

/* True when the text between key and value says *NAME. */
static bool is_alias(const struct step *s)
{
	return is_before(s->map->items[s->i], s->map->keys[s->i]);
}

/* --- writing --------------------------------------------------------------- */

static void add_value(struct edit *e)
{
	const struct gpc_config_change *c = e->change;

	if (!c->list) {
		gpc_config_text_scalar(c->items->v[0], &e->with);
		return;
	}
	gpc_buf_addc(&e->with, '[');
	for (size_t i = 0; i < c->items->n; i++) {
		if (i)
			gpc_buf_adds(&e->with, ", ");
		gpc_config_text_scalar(c->items->v[i], &e->with);
	}
	gpc_buf_addc(&e->with, ']');
}

static void add_lines(struct edit *e, int indent)
{
	for (int i = 0; i < e->n_rest; i++) {
		gpc_buf_addf(&e->with, "%*s", indent + 2 * i, "");
		gpc_config_text_scalar(e->rest[i], &e->with);
		gpc_buf_addc(&e->with, ':');
		if (i < e->n_rest - 1)
			gpc_buf_adds(&e->with, e->t.line_end);
	}
	gpc_buf_addc(&e->with, ' ');
	add_value(e);
	gpc_buf_adds(&e->with, e->t.line_end);
}

static void add_flow(struct edit *e)
{
	for (int i = 0; i < e->n_rest; i++) {
		gpc_config_text_scalar(e->rest[i], &e->with);
		gpc_buf_adds(&e->with, i < e->n_rest - 1 ? ": {" : ": ");
	}
	add_value(e);
	for (int i = 0; i < e->n_rest - 1; i++)
		gpc_buf_addc(&e->with, '}');
}

/* New lines at a place where a line begins, or at the end of the text. */
static void insert_lines(struct edit *e, size_t at, int indent)
{
	e->from = e->to = at;
	if (at && gpc_config_text_line(&e->t, at) != at)
		gpc_buf_adds(&e->with, e->t.line_end);
	add_lines(e, indent);
}

/* The start of the line behind a node. */
static size_t line_behind(const struct edit *e, const struct gpc_yaml_node *node)
{
	size_t end = gpc_config_text_end(&e->t, node);

	if (end && end > gpc_config_text_start(&e->t, node) &&
		gpc_config_text_line(&e->t, end) == end)
		return end;            /* a block scalar */
	return gpc_config_text_next_line(&e->t, end);
}

/* "a.b" as one key where its neighbours are written so. */
static void join_dotted(struct edit *e, const struct gpc_yaml_node *map)
{
	const struct gpc_config_change *c = e->change;
	size_t n = e->n_rest == 2 ? strlen(e->rest[0]) : 0;

	if (e->n_rest < 2 || e->rest[e->n_rest - 1] == c->key)
		return;
	for (size_t i = 0; n && i < map->n; i++) {
		const char *key = map->keys[i]->text;

		if (gpc_starts_with(key, e->rest[0]) && key[n] == '.' &&
			gpc_starts_with(c->key, e->rest[0])) {
			e->rest[0] = c->key;
			e->n_rest = 1;
			return;
		}
	}
}

/* Blanks before a key, which are bytes alike. */
static int indent_of(const struct edit *e, const struct gpc_yaml_node *key)
{
	size_t at = gpc_config_text_start(&e->t, key);

	return (int)(at - gpc_config_text_line(&e->t, at));
}

static void insert_into_block(struct edit *e, const struct gpc_yaml_node *map)
{
	const struct gpc_yaml_node *first = NULL, *last = NULL;
	size_t last_i = 0;

	for (size_t i = 0; i < map->n; i++) {
		if (!is_own(map, i))
			continue;
		first = first ? first : map->keys[i];
		last = map->items[i];
		last_i = i;
	}
	int indent = indent_of(e, first ? first : map);
	join_dotted(e, map);
	if (!last || (e->depth == 0 && e->at_end)) {
		insert_lines(e, e->t.n, indent);
		return;
	}
	if (is_alias(&(struct step){map, last_i}))
		last = map->keys[last_i];
	insert_lines(e, line_behind(e, last), indent);
}

static void insert_into_flow(struct edit *e, const struct gpc_yaml_node *map)
{
	size_t at = gpc_config_text_end(&e->t, map) - 1, before = at;
	size_t start = gpc_config_text_start(&e->t, map);

	while (before > start && strchr(" \t\r\n", e->t.text[before - 1]))
		before--;
	e->from = e->to = before;
	if (before > start && e->t.text[before - 1] == ',')
		gpc_buf_addc(&e->with, ' ');
	else if (map->n)
		gpc_buf_adds(&e->with, ", ");
	join_dotted(e, map);
	add_flow(e);
}

/* `local:` with nothing behind it, or ~ */
static void insert_under_null(struct edit *e)
{
	const struct step *s = &e->path[e->depth - 1];
	const struct gpc_yaml_node *value = s->map->items[s->i];
	size_t key_end = gpc_config_text_end(&e->t, s->map->keys[s->i]);

	e->from = gpc_config_text_start(&e->t, value);
	e->to = gpc_config_text_end(&e->t, value);
	if (gpc_config_text_is_flow(&e->t, s->map) || e->to > e->from) {
		if (e->from <= key_end + 1)
			gpc_buf_addc(&e->with, ' ');
		gpc_buf_addc(&e->with, '{');
		add_flow(e);
		gpc_buf_addc(&e->with, '}');
		return;
	}
	insert_lines(e, gpc_config_text_next_line(&e->t, key_end),
		indent_of(e, s->map->keys[s->i]) + 2);
}

static bool is_block_scalar(const struct edit *e, size_t at)
{
	return at < e->t.n && strchr("|>", e->t.text[at]);
}

static void replace_value(struct edit *e)
{
	const struct step *s = &e->path[e->depth - 1];
	const struct gpc_yaml_node *value = s->map->items[s->i];
	size_t key_end = gpc_config_text_end(&e->t, s->map->keys[s->i]);

	e->from = gpc_config_text_start(&e->t, value);
	e->to = gpc_config_text_end(&e->t, value);
	/* a block list goes as a whole, from behind its key on */
	if (value->kind == GPC_YAML_LIST &&
		!gpc_config_text_is_flow(&e->t, value))
		e->from = key_end + 1;
	if (e->from <= key_end + 1)
		gpc_buf_addc(&e->with, ' ');
	add_value(e);
	if (value->kind == GPC_YAML_SCALAR && is_block_scalar(e, e->from))
		gpc_buf_adds(&e->with, e->t.line_end);
}

static void insert(struct edit *e)
{
	const struct gpc_yaml_node *in = here(e);

	if (!in || (e->depth == 0 && is_null(in)))
		insert_lines(e, e->t.n, 0);
	else if (in->kind != GPC_YAML_MAP)
		insert_under_null(e);
	else if (gpc_config_text_is_flow(&e->t, in))
		insert_into_flow(e, in);
	else
		insert_into_block(e, in);
}

/* --- removing -------------------------------------------------------------- */

static size_t behind_pair(const struct edit *e, const struct step *s)
{
	return gpc_config_text_end(&e->t, is_alias(s) ? s->map->keys[s->i] :
		s->map->items[s->i]);
}

static void remove_from_flow(struct edit *e, const struct step *s)
{
	size_t from = gpc_config_text_start(&e->t, s->map->keys[s->i]);
	size_t to = gpc_config_text_skip(&e->t, behind_pair(e, s));

	if (to < e->t.n && e->t.text[to] == ',') {
		to++;
		while (to < e->t.n && e->t.text[to] == ' ')
			to++;
	} else {
		to = behind_pair(e, s);
		while (from && strchr(" \t\r\n", e->t.text[from - 1]))
			from--;
		if (from && e->t.text[from - 1] == ',')
			from--;
	}
	e->from = from;
	e->to = to;
}

static void remove_lines(struct edit *e, int depth)
{
	const struct step *s = &e->path[depth];
	const struct gpc_yaml_node *key = s->map->keys[s->i];
	size_t end;

	e->from = gpc_config_text_line(&e->t, gpc_config_text_start(&e->t, key));
	end = behind_pair(e, s);
	if (end == gpc_config_text_line(&e->t, end) && end > e->from)
		e->to = end;           /* a block scalar */
	else
		e->to = gpc_config_text_next_line(&e->t, end);
	/* an empty parent goes too, unless somebody wrote something there */
	while (depth > 0 && s->map->n == 1) {
		const struct step *up = &e->path[--depth];
		const struct gpc_yaml_node *name = up->map->keys[up->i];
		size_t behind = gpc_config_text_end(&e->t, name) + 1;

		if (gpc_config_text_is_flow(&e->t, up->map) ||
			!gpc_config_text_blank(&e->t, behind, e->from, false))
			return;
		e->from = gpc_config_text_line(&e->t,
			gpc_config_text_start(&e->t, name));
		s = up;
	}
}

static void remove_pair(struct edit *e)
{
	const struct step *s = &e->path[e->depth - 1];

	if (gpc_config_text_is_flow(&e->t, s->map))
		remove_from_flow(e, s);
	else
		remove_lines(e, e->depth - 1);
}

/* --- checking -------------------------------------------------------------- */

/* Every scalar as "path=value", with nulls left out. */
static void flatten(const struct gpc_yaml_node *node, const char *path,
	struct gpc_strv *out)
{
	for (size_t i = 0; i < node->n; i++) {
		gpc_autostr *below = node->kind == GPC_YAML_MAP ?
			gpc_format("%s%s%s", path, *path ? "." : "",
				node->keys[i]->text) :
			gpc_format("%s[%zu]", path, i);

		flatten(node->items[i], below, out);
	}
	if (node->kind == GPC_YAML_SCALAR && !is_null(node))
		gpc_strv_addf(out, "%s=%s", path, node->text);
}

static int read_flat(const char *text, size_t n, const char *name,
	struct gpc_yaml_docs *docs, struct gpc_strv *flat,
	const struct gpc_yaml_node **ret_root, struct gpc_error *err)
{
	int r = gpc_yaml_parse(text, n, name, docs, err);

	if (r)
		return gpc_recode(err, GPC_ECONFIG);
	*ret_root = docs->n == 1 ? gpc_yaml_root(docs->v[0]) : NULL;
	if (docs->n > 1 || (*ret_root && !is_null(*ret_root) &&
		(*ret_root)->kind != GPC_YAML_MAP))
		return gpc_fail(err, GPC_ECONFIG, "%s: expected `key: value` "
			"lines", name);
	if (*ret_root)
		flatten(*ret_root, "", flat);
	gpc_strv_sort(flat);
	return 0;
}

/* Takes what belongs to the key out of flat. */
static void take_key(const struct gpc_config_change *c, struct gpc_strv *flat,
	struct gpc_strv *ret_taken)
{
	gpc_autostr *path = c->profile ? gpc_format("profiles.%s.%s",
		c->profile, c->key) : gpc_strdup(c->key);
	size_t n = strlen(path), kept = 0;

	for (size_t i = 0; i < flat->n; i++) {
		char *line = flat->v[i];

		if (gpc_starts_with(line, path) && strchr("=[", line[n])) {
			gpc_strv_add(ret_taken, strchr(line + n, '=') + 1);
			free(line);
		} else {
			flat->v[kept++] = line;
		}
	}
	flat->n = kept;
}

static bool same(const struct gpc_strv *a, const struct gpc_strv *b)
{
	if (a->n != (b ? b->n : 0))
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (!gpc_eq(a->v[i], b->v[i]))
			return false;
	}
	return true;
}

/* before: what the old text says, without the key. */
static bool is_right(const struct gpc_config_change *c,
	const struct gpc_strv *before, const struct gpc_buf *text)
{
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	gpc_auto(gpc_strv) struct gpc_strv after = {0}, now = {0};
	const struct gpc_yaml_node *root;

	if (read_flat(text->data, text->len, "", &docs, &after, &root, NULL))
		return false;
	take_key(c, &after, &now);
	return same(&after, before) && same(&now, c->items);
}

/* --- the whole ------------------------------------------------------------- */

/* False when there is no place for it. */
static bool make(struct edit *e, struct gpc_buf *out)
{
	gpc_autostr *group = strchr(e->change->key, '.') ?
		gpc_strndup(e->change->key, strcspn(e->change->key, ".")) :
		NULL;

	e->depth = e->n_rest = 0;
	e->from = e->to = 0;
	gpc_buf_clear(&e->with);
	locate(e, group);
	if (!e->change->items && e->n_rest)
		return false;          /* it comes from elsewhere */
	if (e->n_rest == 0 && is_alias(&e->path[e->depth - 1]) &&
		e->change->items)
		return false;          /* others use that value, too */
	if (!e->change->items)
		remove_pair(e);
	else if (e->n_rest)
		insert(e);
	else
		replace_value(e);
	if (e->from > e->to || e->to > e->t.n)
		return false;
	gpc_buf_add(out, e->t.text, e->from);
	gpc_buf_add(out, gpc_buf_str(&e->with), e->with.len);
	gpc_buf_add(out, e->t.text + e->to, e->t.n - e->to);
	return true;
}

static bool try_edit(struct edit *e, const struct gpc_strv *before, bool at_end,
	struct gpc_buf *ret_text)
{
	gpc_auto(gpc_buf) struct gpc_buf out = {0};

	e->at_end = at_end;
	if (!make(e, &out) || !is_right(e->change, before, &out))
		return false;
	gpc_buf_add(ret_text, out.data, out.len);
	return true;
}

int gpc_config_edit(const char *text, size_t n, const char *name,
	const struct gpc_config_change *change, struct gpc_buf *ret_text,
	struct gpc_error *err)
{
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	gpc_auto(gpc_strv) struct gpc_strv before = {0}, was = {0};
	struct edit e = {.change = change};
	int r = read_flat(text, n, name, &docs, &before, &e.root, err);

	if (r)
		return r;
	take_key(change, &before, &was);
	if (!change->items && !was.n)
		return gpc_fail(err, GPC_ENOTFOUND, "%s is not set in %s",
			change->key, name);
	if (change->items && same(&was, change->items)) {
		gpc_buf_add(ret_text, text, n);
		return 0;
	}
	gpc_config_text_init(&e.t, text, n);
	bool right = try_edit(&e, &before, true, ret_text) ||
		try_edit(&e, &before, false, ret_text);
	gpc_buf_clear(&e.with);
	if (right)
		return 0;
	r = gpc_fail(err, GPC_EUNSUPPORTED, "%s: %s is written in a way that "
		"only a person can change", name, change->key);
	gpc_hint(err, "`gpucloud config edit` opens the file");
	return r;
}
