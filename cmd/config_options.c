/* One mechanism turns every option into a key of the configuration: the tables
 * are walked with the words that stand before the option's name. `submit -d` is
 * submit.detach and GPUCLOUD_SUBMIT_DETACH; an option that every command has is
 * a key without a dot. What belongs to one call only says so in its row.
 *
 * A table is looked at when a key is met that the configuration itself does not
 * know, so a start without such keys pays nothing.
 */
#include "cmd/config_options.h"

#include <string.h>

#include "base/vec.h"
#include "cmd/spec_load.h"

/* Rows, and what stands before their names. */
struct place {
	const struct gpc_opt *rows;
	void *base;                   /* NULL: nothing is set */
	const char *word;             /* "submit"; NULL: nothing stands there */
	const char *also;             /* tried when that key is not set */
	bool spec;                    /* files rank below a spec */
};
/* True ends the walk. */
typedef bool row_fn(const struct place *p, const struct gpc_opt *row, void *arg);

static bool walk(const struct place *p, row_fn *fn, void *arg)
{
	for (const struct gpc_opt *row = p->rows;
		row && row->type != GPC_OPT_T_END; row++) {
		struct place in = *p;

		if (row->type != GPC_OPT_T_GROUP) {
			if (!row->key && !row->hidden && fn(p, row, arg))
				return true;
			continue;
		}
		in.rows = row->group;
		in.base = p->base ? (char *)p->base + row->offset : NULL;
		in.word = row->key ? row->key : p->word;
		in.spec = row->key != NULL;
		if (walk(&in, fn, arg))
			return true;
	}
	return false;
}

bool gpc_config_options_has_keys(const struct gpc_command *k)
{
	return k->group != GPC_GROUP_HIDDEN && !(k->flags & GPC_CMD_RAW);
}

/* The tables of a command; c is NULL where nothing is set. */
static bool walk_command(const struct gpc_command *k, struct gpc_cmd *c,
	row_fn *fn, void *arg)
{
	void *globals = c ? &c->global : NULL;
	const struct place places[] = {
		{k->options, c ? c->ctx : NULL, k->name, NULL, false},
		{k->flags & GPC_CMD_OUTPUT ? gpc_opts_output : NULL, globals,
			k->name, "", false},
		{k->flags & GPC_CMD_STORE ? gpc_opts_store : NULL, globals,
			NULL, NULL, false},
		{gpc_opts_global, globals, NULL, NULL, false},
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (walk(&places[i], fn, arg))
			return true;
	}
	return false;
}

static bool walk_all(row_fn *fn, void *arg)
{
	const struct place shared = {gpc_opts_output, NULL, NULL, NULL, false};

	if (walk(&shared, fn, arg))
		return true;
	for (size_t i = 0; gpc_commands[i]; i++) {
		if (gpc_config_options_has_keys(gpc_commands[i]) &&
			walk_command(gpc_commands[i], NULL, fn, arg))
			return true;
	}
	return false;
}

/* "submit.max_cost"; owned. */
static char *key_of(const char *word, const struct gpc_opt *row)
{
	char *key = gpc_format("%s%s%s", word ? word : "", word && *word ? "." :
		"", row->name);

	for (char *s = key; *s; s++) {
		if (*s == '-')
			*s = '_';
	}
	return key;
}

/* --- what the configuration asks ----------------------------------------- */

struct search {
	const char *name;
	const struct gpc_opt *row;
	bool spec, falls_back;
};

static bool is_it(const struct place *p, const struct gpc_opt *row, void *arg)
{
	struct search *s = arg;
	size_t n = p->word ? strlen(p->word) : 0;

	/* before anything is allocated */
	if (n && (strncmp(s->name, p->word, n) || s->name[n] != '.'))
		return false;
	gpc_autostr *key = key_of(p->word, row);
	if (!gpc_eq(key, s->name))
		return false;
	s->row = row;
	s->spec = p->spec;
	s->falls_back = p->also != NULL;
	return true;
}

/* What holds without the key; NULL: nothing, or another key says it. The first
 * word of an option is what holds when it is not given. */
static const char *preset(const struct search *s)
{
	const struct gpc_opt *row = s->row;

	if (row->preset || s->falls_back || row->type != GPC_OPT_T_ENUM)
		return row->preset;
	return *row->words[0] ? row->words[0] : NULL;
}

static const char *expected(const struct gpc_opt *row)
{
	switch (row->type) {
	case GPC_OPT_T_FLAG:
	case GPC_OPT_T_TRI:
		return "true or false";
	case GPC_OPT_T_COUNT:
	case GPC_OPT_T_INT:
		return "a whole number";
	case GPC_OPT_T_SIZE:
		return "a size";
	case GPC_OPT_T_DURATION:
		return "a duration";
	case GPC_OPT_T_TIME:
		return "a time or an age";
	case GPC_OPT_T_MONEY:
		return "money";
	case GPC_OPT_T_ENUM:
	case GPC_OPT_T_STR:
	case GPC_OPT_T_LIST:
	case GPC_OPT_T_GROUP:
	case GPC_OPT_T_END:
		break;
	}
	return gpc_eq(row->implied, "true") ? "true or false" : row->arg;
}

static bool find(const char *name, struct gpc_config_extra *ret_extra)
{
	struct search s = {.name = name};

	if (!walk_all(is_it, &s))
		return false;
	*ret_extra = (struct gpc_config_extra){
		.expected = expected(s.row), .doc = s.row->help,
		.words = s.row->type == GPC_OPT_T_ENUM ? s.row->words : NULL,
		.preset = preset(&s), .guarded = s.row->guarded,
		.list = s.row->type == GPC_OPT_T_LIST, .arg = s.row,
	};
	return true;
}

/* Some fields of a spec are texts to the option parser. */
static int check_spec(const struct gpc_opt *row, const char *text,
	const char *label, struct gpc_error *err)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_strv) struct gpc_strv ignored = {0};
	gpc_autostr *option = gpc_format("--%s", row->name);
	gpc_autostr *hint = NULL;
	struct gpc_error why = {0};
	size_t n = strlen(option);

	gpc_spec_init(&spec);
	if (!gpc_spec_override(&spec, row->name, text, &ignored, &why))
		return 0;
	hint = gpc_strdup(why.hint);
	/* it is the key that people see */
	const char *rest = gpc_starts_with(why.msg, option) ? why.msg + n :
		why.msg;
	gpc_fail(err, GPC_ECONFIG, "%s%s%s", label, *rest == ':' ? "" : ": ",
		rest);
	if (*hint)
		gpc_hint(err, "%s", hint);
	return -GPC_ECONFIG;
}

/* Where the configuration is kept is no place for a secret's value. */
static int check_secret(const char *text, const char *label,
	struct gpc_error *err)
{
	const char *value = strchr(text, '=');

	if (value != text && *text && (!value || value[1] == '@'))
		return 0;
	return gpc_fail(err, GPC_ECONFIG, "%s: expected NAME or NAME=@FILE",
		label);
}

static bool is_spec_field(const struct gpc_opt *row)
{
	size_t n;
	const struct gpc_spec_option *o = gpc_spec_options(&n);

	if (gpc_opt_find(gpc_spec_cli_options, row->name) != row)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (gpc_eq(o[i].word, row->name))
			return true;
	}
	return false;
}

static int check(const struct gpc_config_extra *extra, const char *text,
	const char *label, struct gpc_error *err)
{
	const struct gpc_opt *row = extra->arg;

	if (row->type == GPC_OPT_T_STR && !*text)
		return gpc_fail(err, GPC_ECONFIG, "%s is empty", label);
	if (gpc_opt_find(gpc_spec_cli_options, "secret") == row)
		return check_secret(text, label, err);
	if (is_spec_field(row))
		return check_spec(row, text, label, err);
	return gpc_opt_check_text(row, text, label, err);
}

static bool add_name(const struct place *p, const struct gpc_opt *row,
	void *arg)
{
	gpc_autostr *key = key_of(p->word, row);

	if (!gpc_strv_has(arg, key))
		gpc_strv_add(arg, key);
	return false;
}

static void names(struct gpc_strv *ret_names)
{
	walk_all(add_name, ret_names);
}

const struct gpc_config_extension gpc_config_options = {
	.find = find,
	.check = check,
	.names = names,
};

/* --- the environment ----------------------------------------------------- */

struct from_env {
	struct gpc_config *c;
	const char *name;             /* "GPUCLOUD_SUBMIT_DETACH" */
	size_t n;
	const char *value;
	struct gpc_error *err;
	int r;
};

static bool set_key(struct from_env *e, const char *word,
	const struct gpc_opt *row)
{
	gpc_autostr *key = key_of(word, row);
	gpc_autostr *name = gpc_config_env_name(key);

	if (strlen(name) != e->n || strncmp(name, e->name, e->n))
		return false;
	e->r = gpc_config_set_more(e->c, key, GPC_FROM_ENV, e->value, name,
		e->err);
	return true;
}

static bool try_env(const struct place *p, const struct gpc_opt *row, void *arg)
{
	return set_key(arg, p->word, row) ||
		(p->also && set_key(arg, p->also, row));
}

int gpc_config_options_env(struct gpc_config *c,
	const struct gpc_command *command, char *const *env,
	struct gpc_error *err)
{
	for (; env && *env; env++) {
		const char *equals = strchr(*env, '=');
		struct from_env e = {.c = c, .name = *env, .err = err};

		if (!gpc_starts_with(*env, "GPUCLOUD_") || !equals || !equals[1])
			continue;
		e.n = (size_t)(equals - *env);
		e.value = equals + 1;
		if (command)
			walk_command(command, NULL, try_env, &e);
		else
			walk_all(try_env, &e);
		if (e.r)
			return e.r;
	}
	return 0;
}

/* --- use ----------------------------------------------------------------- */

struct use {
	struct gpc_cmd *c;
	struct gpc_error *err;
	int r;
};

static const struct gpc_config_more *value_of(const struct gpc_config *c,
	const struct place *p, const struct gpc_opt *row)
{
	gpc_autostr *key = key_of(p->word, row);
	const struct gpc_config_more *m = gpc_config_find_more(c, key);

	if (m || !p->also)
		return m;
	gpc_autostr *shared = key_of(p->also, row);
	return gpc_config_find_more(c, shared);
}

static bool take(const struct place *p, const struct gpc_opt *row, void *arg)
{
	struct use *u = arg;
	struct gpc_opt_args *args = &u->c->args;
	const struct gpc_config_more *m;

	if (gpc_opt_is_set(args, row->name) ||
		(row->unless && gpc_opt_is_set(args, row->unless)))
		return false;
	m = value_of(&u->c->config, p, row);
	if (!m || (p->spec && m->origin < GPC_FROM_ENV))
		return false;
	gpc_autostr *label = gpc_format("%s: %s", m->where, m->name);
	for (size_t i = 0; i < m->items.n && !u->r; i++)
		u->r = gpc_opt_set_text(row, p->base, m->items.v[i], label,
			u->err);
	gpc_strv_add(&args->set, row->name);
	return u->r != 0;
}

int gpc_config_options_apply(struct gpc_cmd *c, struct gpc_error *err)
{
	struct use u = {c, err, 0};

	if (c->config.more.n)
		walk_command(c->command, c, take, &u);
	return u.r;
}
