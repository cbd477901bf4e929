/* `gpucloud config`: what holds, where it comes from, and changing it. It works
 * on a configuration that is wrong, which is when it is needed most: only list
 * and get insist on one that can be read.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/config_load.h"
#include "cmd/config_options.h"
#include "cmd/config_verbs.h"
#include "core/session.h"

static const struct gpc_opt options[] = {
	GPC_OPT_FLAG(0, "project", struct gpc_config_cli, project,
		"the project's file here instead of the user's",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "changed", struct gpc_config_cli, changed,
		"list: only keys that are set somewhere"),
	GPC_OPT_FLAG(0, "list", struct gpc_config_cli, list,
		"trust: show what is trusted", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "remove", struct gpc_config_cli, remove,
		"trust: do not trust it any more", .key = GPC_OPT_NO_KEY),
	GPC_OPT_END
};

static const char *const sources[] = {
	[GPC_FROM_DEFAULT] = "default", [GPC_FROM_USER] = "user",
	[GPC_FROM_PROFILE] = "profile", [GPC_FROM_PROJECT] = "project",
	[GPC_FROM_ENV] = "environment", [GPC_FROM_OPTION] = "option", NULL,
};

struct row {
	char *key, *value, *origin, *expected, *about;
	enum gpc_config_origin source;
};

static const struct gpc_col cols[] = {
	GPC_COL("key", STR, struct row, key, GPC_COL_F_NAME),
	GPC_COL("value", STR, struct row, value, GPC_COL_F_CUT),
	GPC_COL("origin", STR, struct row, origin, 0),
	GPC_COL("source", ENUM, struct row, source, GPC_COL_F_DATA,
		.names = sources),
	GPC_COL("expected", STR, struct row, expected, GPC_COL_F_WIDE),
	GPC_COL("about", STR, struct row, about, GPC_COL_F_WIDE),
	GPC_COL_LAST
};
static const struct gpc_table table = {"config", cols, sizeof(struct row)};

struct rows { GPC_VEC(struct row) v; };

static void row_clear(struct row *r)
{
	free(r->key);
	free(r->value);
	free(r->origin);
	free(r->expected);
	free(r->about);
	*r = (struct row){0};
}
GPC_CLEANUP_VALUE(row);

static void rows_clear(struct rows *r)
{
	gpc_vec_each(row, &r->v)
		row_clear(row);
	gpc_vec_free(&r->v);
}
GPC_CLEANUP_VALUE(rows);

/* --- what holds ------------------------------------------------------------- */

/* Defaults that are no values of the table: of the machine, or of whoever uses
 * the key. Owned; NULL where nothing holds. */
static char *unset_value(const struct gpc_config *c, enum gpc_config_key key)
{
	char *url = NULL;

	switch (key) {
	case GPC_CONFIG_STORE:
		return gpc_config_store_url(c, &url, NULL) ? NULL : url;
	case GPC_CONFIG_OWNER:
		return gpc_session_owner_default();
	case GPC_CONFIG_LOCAL_PRICE_PER_HOUR:
		return gpc_strdup("0");
	default:
		return NULL;
	}
}

static void field_row(const struct gpc_config *c, int i, struct row *row)
{
	enum gpc_config_key key = (enum gpc_config_key)i;
	const struct gpc_config_field *f = &gpc_config_fields[i];

	*row = (struct row){
		.key = gpc_strdup(f->name),
		.value = gpc_strdup(gpc_config_str(c, key)),
		.origin = gpc_strdup(gpc_config_where(c, key)),
		.source = gpc_config_origin(c, key),
		.expected = gpc_config_expected(key),
		.about = gpc_strdup(f->doc),
	};
	if (!row->value)
		row->value = unset_value(c, key);
}

static char *expected(const struct gpc_config_extra *extra)
{
	gpc_auto(gpc_strv) struct gpc_strv words = {0};

	for (size_t i = 0; extra->words && extra->words[i]; i++) {
		if (*extra->words[i])
			gpc_strv_add(&words, extra->words[i]);
	}
	return words.n ? gpc_strv_join(&words, ", ") :
		gpc_strdup(extra->expected);
}

static void option_row(const struct gpc_config *c, const char *name,
	const struct gpc_config_extra *extra, const char *separator,
	struct row *row)
{
	const struct gpc_config_more *m = gpc_config_find_more(c, name);

	*row = (struct row){
		.key = gpc_strdup(name),
		.value = m ? gpc_strv_join(&m->items, separator) :
			gpc_strdup(extra->preset),
		.origin = gpc_strdup(m ? m->where : "default"),
		.source = m ? m->origin : GPC_FROM_DEFAULT,
		.expected = expected(extra),
		.about = gpc_strdup(extra->doc),
	};
}

static int check_loaded(struct gpc_cmd *c, struct gpc_error *err)
{
	if (!c->wrong.code)
		return 0;
	*err = c->wrong;
	if (!err->hint[0])
		gpc_hint(err, "`gpucloud config edit` opens the user's file");
	return -(int)err->code;
}

static int list(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct gpc_config_cli *o = c->ctx;
	gpc_auto(rows) struct rows rows = {0};
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	int r = check_loaded(c, err);

	if (r)
		return r;
	for (int i = 0; i < GPC_CONFIG__COUNT; i++)
		field_row(&c->config, i, gpc_vec_push(&rows.v));
	gpc_config_options.names(&names);
	for (size_t i = 0; i < names.n; i++) {
		struct gpc_config_extra extra = {0};

		if (gpc_config_options.find(names.v[i], &extra))
			option_row(&c->config, names.v[i], &extra, ", ",
				gpc_vec_push(&rows.v));
	}
	for (size_t i = 0; o->changed && i < rows.v.n;) {
		if (rows.v.v[i].source != GPC_FROM_DEFAULT) {
			i++;
			continue;
		}
		row_clear(&rows.v.v[i]);
		gpc_vec_remove(&rows.v, i);
	}
	if (!rows.v.n && c->out.format <= GPC_OUT_WIDE)
		gpc_say(&c->talk, "gpucloud: every key has its default");
	return gpc_out_rows(&c->out, &table, rows.v.v, rows.v.n, err);
}

static int get(struct gpc_cmd *c, const char *name, struct gpc_error *err)
{
	gpc_auto(row) struct row row = {0};
	struct gpc_config_extra extra = {0};
	int index = gpc_config_find(name);
	int r = check_loaded(c, err);

	if (r)
		return r;
	if (index >= 0)
		field_row(&c->config, index, &row);
	else if (gpc_config_options.find(name, &extra))
		option_row(&c->config, name, &extra, "\n", &row);
	else
		return gpc_config_unknown(&c->config, "config get", name,
			err);
	if (c->out.format == GPC_OUT_JSON)
		return gpc_out_record(&c->out, &table, &row, err);
	if (!row.value)
		return gpc_fail(err, GPC_ENOTFOUND, "%s is not set", name);
	return gpc_out_print(&c->out, err, "%s\n", row.value);
}

static int path(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct gpc_config_cli *o = c->ctx;
	gpc_autostr *at = NULL;
	int r = o->project ? gpc_config_project_path(&at, err) :
		gpc_config_user_path(&at, err);

	return r ? r : gpc_out_print(&c->out, err, "%s\n", at);
}

/* --- verbs ------------------------------------------------------------------ */

static const char *const verbs[] = {
	"list", "get", "set", "unset", "edit", "trust", "path", NULL,
};

static int unknown_verb(const char *word, struct gpc_error *err)
{
	size_t n = sizeof(verbs) / sizeof(*verbs) - 1;
	const char *near = gpc_nearest(word, verbs, n);
	int r = gpc_fail(err, GPC_EUSAGE, "config cannot \"%s\"", word);

	if (near)
		gpc_hint(err, "did you mean %s?", near);
	else
		gpc_hint(err, "it can list, get, set, unset, edit, trust and "
			"path");
	return r;
}

static int check_options(const struct gpc_cmd *c, const char *verb,
	struct gpc_error *err)
{
	static const struct { const char *option, *verbs; } where[] = {
		{"project", "set unset edit path"}, {"changed", "list"},
		{"list", "trust"}, {"remove", "trust"},
	};

	for (size_t i = 0; i < sizeof(where) / sizeof(*where); i++) {
		if (gpc_opt_given(&c->args, where[i].option) &&
			!strstr(where[i].verbs, verb))
			return gpc_fail(err, GPC_EUSAGE, "config %s: --%s does "
				"not fit", verb, where[i].option);
	}
	return 0;
}

static int run_verb(struct gpc_cmd *c, const char *verb,
	const char *const *argv, int argc, struct gpc_error *err)
{
	if (gpc_eq(verb, "list"))
		return list(c, err);
	if (gpc_eq(verb, "get"))
		return get(c, argv[0], err);
	if (gpc_eq(verb, "set"))
		return gpc_config_set_verb(c, argv, argc, err);
	if (gpc_eq(verb, "unset"))
		return gpc_config_unset_verb(c, argv[0], err);
	if (gpc_eq(verb, "edit"))
		return gpc_config_edit_verb(c, err);
	if (gpc_eq(verb, "trust"))
		return gpc_config_trust_verb(c, argc ? argv[0] : NULL, err);
	return path(c, err);
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	/* words that each verb takes */
	static const struct { int min, max; const char *what; } takes[] = {
		{0, 0, ""}, {1, 1, "a KEY"}, {2, INT_MAX, "a KEY and its VALUE"},
		{1, 1, "a KEY"}, {0, 0, ""}, {0, 1, ""}, {0, 0, ""},
	};
	const char *verb = c->argc ? c->argv[0] : "list";
	int argc = c->argc ? c->argc - 1 : 0;
	size_t i = 0;

	while (verbs[i] && !gpc_eq(verbs[i], verb))
		i++;
	if (!verbs[i])
		return unknown_verb(verb, err);
	if (argc < takes[i].min)
		return gpc_fail(err, GPC_EUSAGE, "config %s: expected %s", verb,
			takes[i].what);
	if (argc > takes[i].max)
		return gpc_fail(err, GPC_EUSAGE, "config %s: one argument too "
			"many: \"%s\"", verb, c->argv[1 + takes[i].max]);
	int r = check_options(c, verb, err);
	return r ? r : run_verb(c, verb, c->argv + 1, argc, err);
}

static enum gpc_complete next(const char *const *words, int n)
{
	if (n == 0)
		return GPC_COMPLETE_WORDS;
	if (n == 1 && (gpc_eq(words[0], "get") || gpc_eq(words[0], "set") ||
		gpc_eq(words[0], "unset")))
		return GPC_COMPLETE_KEY;
	if (gpc_eq(words[0], "set"))
		return GPC_COMPLETE_KEY_VALUE;
	return gpc_eq(words[0], "trust") ? GPC_COMPLETE_FILE :
		GPC_COMPLETE_NONE;
}

const struct gpc_command gpc_command_config = {
	.name = "config",
	.summary = "show or change the configuration",
	.usage = "[OPTION]... [list]\n"
		"[OPTION]... get KEY\n"
		"[OPTION]... set KEY VALUE...\n"
		"[OPTION]... unset KEY\n"
		"[OPTION]... edit\n"
		"[OPTION]... trust [FILE]\n"
		"[OPTION]... path",
	.about = "Lists every key with its value and where that comes from; "
		"prints, sets or removes one in the user's file; opens that "
		"file in an editor; or prints its path. With --profile they "
		"work within that profile.\n"
		"A project's file, .gpucloud.yaml in the current folder, may "
		"not set where state and money go until `config trust` says "
		"that you have read it; when it changes, it is to be read "
		"again.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_MEND | GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct gpc_config_cli),
	.max_args = -1,
	.words = verbs,
	.complete_next = next,
	.run = run,
};
