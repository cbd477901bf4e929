/* Configuration as a table: every key once, with its type, default and one line
 * of documentation. A value remembers where it was set, so that an error or a
 * person who wonders can be told. Project files are somebody else's text: they
 * cannot set the keys that decide where state and money go.
 */
#include "model/config.h"

#include <string.h>

#include "base/parse.h"
#include "dep/yaml.h"

static const char *const levels[] = {
	"error", "warn", "info", "verbose", "trace", NULL,
};
static const char *const colors[] = {"auto", "always", "never", NULL};
static const char *const homes[] = {"own", "user", NULL};

const struct gpc_config_field gpc_config_fields[GPC_CONFIG__COUNT] = {
	[GPC_CONFIG_STORE] = {
		"store", GPC_CONFIG_STR, NULL, NULL, true,
		"where state lives: file:///PATH or the path of a folder"},
	[GPC_CONFIG_OWNER] = {
		"owner", GPC_CONFIG_STR, NULL, NULL, true,
		"who submits; by default user@host"},
	[GPC_CONFIG_CONFIRM_ABOVE] = {
		"confirm_above", GPC_CONFIG_MONEY, NULL, NULL, true,
		"ask only when a job may cost more than this"},
	[GPC_CONFIG_LOG_LEVEL] = {
		"log_level", GPC_CONFIG_ENUM, "info", levels, false,
		"how much is said on stderr without -v and -q"},
	[GPC_CONFIG_COLOR] = {
		"color", GPC_CONFIG_ENUM, "auto", colors, false,
		"colours in tables and messages"},
	[GPC_CONFIG_LOCAL_ENABLED] = {
		"local.enabled", GPC_CONFIG_BOOL, "true", NULL, true,
		"whether jobs may run on this machine"},
	[GPC_CONFIG_LOCAL_PRICE_PER_HOUR] = {
		"local.price_per_hour", GPC_CONFIG_MONEY, NULL, NULL, false,
		"what an hour of this machine counts as"},
	[GPC_CONFIG_LOCAL_HOME] = {
		"local.home", GPC_CONFIG_ENUM, "own", homes, true,
		"HOME of jobs on this machine: one of their own, or the user's"},
};

static void value_clear(struct gpc_config_value *v)
{
	free(v->text);
	free(v->where);
	*v = (struct gpc_config_value){0};
}

static int set_enum(const struct gpc_config_field *f, const char *text,
	const char *where, int *ret_n, struct gpc_error *err)
{
	gpc_autostr *list = NULL;
	gpc_auto(gpc_strv) struct gpc_strv words = {0};

	for (int i = 0; f->words[i]; i++) {
		if (gpc_eq(f->words[i], text)) {
			*ret_n = i;
			return 0;
		}
		gpc_strv_add(&words, f->words[i]);
	}
	list = gpc_strv_join(&words, ", ");
	int r = gpc_fail(err, GPC_ECONFIG, "%s: %s: \"%s\" is not one of %s",
		where, f->name, text, list);
	const char *near = gpc_nearest(text, f->words, words.n);
	if (near)
		gpc_hint(err, "did you mean %s?", near);
	return r;
}

static int parse_value(const struct gpc_config_field *f, const char *text,
	const char *where, struct gpc_config_value *v, struct gpc_error *err)
{
	gpc_autostr *what = gpc_format("%s: %s", where, f->name);
	int r = 0;

	switch (f->kind) {
	case GPC_CONFIG_STR:
		if (!*text)
			r = gpc_fail(err, GPC_ECONFIG, "%s is empty", what);
		break;
	case GPC_CONFIG_BOOL:
		r = gpc_parse_bool(text, what, &v->boolean, err);
		break;
	case GPC_CONFIG_MONEY:
		r = gpc_money_parse(text, "USD", what, &v->money, err);
		break;
	case GPC_CONFIG_ENUM:
		r = set_enum(f, text, where, &v->number, err);
		break;
	}
	/* whatever the parser called it, it is the configuration */
	if (r && err)
		err->code = GPC_ECONFIG;
	return r ? -GPC_ECONFIG : 0;
}

int gpc_config_set(struct gpc_config *c, enum gpc_config_key key,
	enum gpc_config_origin origin, const char *text, const char *where,
	struct gpc_error *err)
{
	struct gpc_config_value v = {.origin = origin};
	int r = parse_value(&gpc_config_fields[key], text, where, &v, err);

	if (r)
		return r;
	v.text = gpc_strdup(text);
	v.where = gpc_strdup(where);
	value_clear(&c->v[key]);
	c->v[key] = v;
	return 0;
}

void gpc_config_init(struct gpc_config *c)
{
	gpc_config_clear(c);
	for (int i = 0; i < GPC_CONFIG__COUNT; i++) {
		const char *preset = gpc_config_fields[i].preset;

		if (preset && gpc_config_set(c, (enum gpc_config_key)i,
			GPC_FROM_DEFAULT, preset, "default", NULL))
			abort();      /* a wrong table is a programming error */
	}
}

void gpc_config_clear(struct gpc_config *c)
{
	for (int i = 0; c && i < GPC_CONFIG__COUNT; i++)
		value_clear(&c->v[i]);
}

/* --- YAML -------------------------------------------------------------- */

struct reader {
	struct gpc_config *c;
	enum gpc_config_origin origin;
	const char *name;
	struct gpc_error *err;
};

static int find_key(const char *name)
{
	for (int i = 0; i < GPC_CONFIG__COUNT; i++) {
		if (gpc_eq(gpc_config_fields[i].name, name))
			return i;
	}
	return -1;
}

/* True for "local", the start of "local.enabled". */
static bool is_group(const char *name)
{
	size_t n = strlen(name);

	for (int i = 0; i < GPC_CONFIG__COUNT; i++) {
		const char *key = gpc_config_fields[i].name;
		if (gpc_starts_with(key, name) && key[n] == '.')
			return true;
	}
	return false;
}

static int unknown_key(const struct reader *rd, const char *where,
	const char *name)
{
	const char *names[GPC_CONFIG__COUNT];
	int r = gpc_fail(rd->err, GPC_ECONFIG, "%s: unknown key \"%s\"", where,
		name);

	for (int i = 0; i < GPC_CONFIG__COUNT; i++)
		names[i] = gpc_config_fields[i].name;
	const char *near = gpc_nearest(name, names, GPC_CONFIG__COUNT);
	if (near)
		gpc_hint(rd->err, "did you mean %s?", near);
	else
		gpc_hint(rd->err, "gpucloud-config(5) lists the keys");
	return r;
}

static int read_scalar(const struct reader *rd, int key, const char *where,
	const struct gpc_yaml_node *value)
{
	const struct gpc_config_field *f = &gpc_config_fields[key];
	int r;

	if (rd->origin == GPC_FROM_PROJECT && f->user_only) {
		r = gpc_fail(rd->err, GPC_ECONFIG, "%s: a project's file may "
			"not set %s", where, f->name);
		gpc_hint(rd->err, "put it into your own configuration, "
			"~/.config/gpucloud/config.yaml");
		return r;
	}
	if (value->kind != GPC_YAML_SCALAR)
		return gpc_fail(rd->err, GPC_ECONFIG, "%s: %s: expected one "
			"value, not a %s", where, f->name,
			value->kind == GPC_YAML_MAP ? "map" : "list");
	if (value->type == GPC_YAML_NULL)
		return 0;                 /* as if it were not there */
	return gpc_config_set(rd->c, (enum gpc_config_key)key, rd->origin,
		value->text, where, rd->err);
}

static int read_map(const struct reader *rd, const char *group,
	const struct gpc_yaml_node *map)
{
	for (size_t i = 0; i < map->n; i++) {
		const struct gpc_yaml_node *key = map->keys[i];
		const struct gpc_yaml_node *value = map->items[i];
		gpc_autostr *name = gpc_format("%s%s%s", group, *group ? "." :
			"", key->text);
		gpc_autostr *where = gpc_format("%s:%d:%d", rd->name,
			key->line, key->column);
		int index = find_key(name);
		int r;

		if (index >= 0)
			r = read_scalar(rd, index, where, value);
		else if (!*group && is_group(name) &&
			value->kind == GPC_YAML_MAP)
			r = read_map(rd, name, value);
		else
			r = unknown_key(rd, where, name);
		if (r)
			return r;
	}
	return 0;
}

int gpc_config_read(struct gpc_config *c, enum gpc_config_origin origin,
	const char *text, size_t n, const char *name,
	struct gpc_strv *warnings, struct gpc_error *err)
{
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	struct reader rd = {c, origin, name, err};
	int r = gpc_yaml_parse(text, n, name, &docs, err);

	if (r) {
		if (err)
			err->code = GPC_ECONFIG;
		return -GPC_ECONFIG;
	}
	for (size_t i = 0; warnings && i < docs.warnings.n; i++)
		gpc_strv_add(warnings, docs.warnings.v[i]);
	const struct gpc_yaml_node *root = docs.n ? gpc_yaml_root(docs.v[0]) :
		NULL;
	if (!root || (root->kind == GPC_YAML_SCALAR &&
		root->type == GPC_YAML_NULL))
		return 0;
	if (docs.n > 1)
		return gpc_fail(err, GPC_ECONFIG, "%s: expected one document, "
			"not %zu", name, docs.n);
	if (root->kind != GPC_YAML_MAP)
		return gpc_fail(err, GPC_ECONFIG, "%s:%d:%d: expected `key: "
			"value` lines", name, root->line, root->column);
	return read_map(&rd, "", root);
}

/* --- environment ------------------------------------------------------- */

char *gpc_config_env_name(enum gpc_config_key key)
{
	char *name = gpc_format("GPUCLOUD_%s", gpc_config_fields[key].name);

	for (char *s = name; *s; s++) {
		if (*s == '.')
			*s = '_';
		else if (*s >= 'a' && *s <= 'z')
			*s = (char)(*s - 'a' + 'A');
	}
	return name;
}

static const char *env_value(char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (; env && *env; env++) {
		if (gpc_starts_with(*env, name) && (*env)[n] == '=')
			return *env + n + 1;
	}
	return NULL;
}

int gpc_config_read_env(struct gpc_config *c, char *const *env,
	struct gpc_error *err)
{
	for (int i = 0; i < GPC_CONFIG__COUNT; i++) {
		enum gpc_config_key key = (enum gpc_config_key)i;
		gpc_autostr *name = gpc_config_env_name(key);
		const char *text = env_value(env, name);

		if (!text || !*text)
			continue;
		int r = gpc_config_set(c, key, GPC_FROM_ENV, text, name, err);
		if (r)
			return r;
	}
	return 0;
}

/* --- getters ----------------------------------------------------------- */

bool gpc_config_is_set(const struct gpc_config *c, enum gpc_config_key key)
{
	return c->v[key].text != NULL;
}

const char *gpc_config_str(const struct gpc_config *c, enum gpc_config_key key)
{
	return c->v[key].text;
}

bool gpc_config_bool(const struct gpc_config *c, enum gpc_config_key key)
{
	return c->v[key].boolean;
}

int gpc_config_enum(const struct gpc_config *c, enum gpc_config_key key)
{
	return c->v[key].number;
}

struct gpc_money gpc_config_money(const struct gpc_config *c,
	enum gpc_config_key key)
{
	return c->v[key].money;
}

enum gpc_config_origin gpc_config_origin(const struct gpc_config *c,
	enum gpc_config_key key)
{
	return c->v[key].origin;
}

const char *gpc_config_where(const struct gpc_config *c,
	enum gpc_config_key key)
{
	return c->v[key].where ? c->v[key].where : "default";
}
