/* Configuration as a table: every key once, with its type, default and one line
 * of documentation. A value remembers where it was set, so that an error or a
 * person who wonders can be told. Project files are somebody else's text: they
 * cannot set the keys that decide where state and money go.
 */
#include "model/config_put.h"

#include <stdio.h>
#include <string.h>

#include "base/parse.h"

enum { MOST_LIKE = 3 };

static const char *const levels[] = {
	"error", "warn", "info", "verbose", "trace", NULL,
};
static const char *const colors[] = {"auto", "always", "never", NULL};
static const char *const homes[] = {"own", "user", NULL};

const struct gpc_config_field gpc_config_fields[GPC_CONFIG__COUNT] = {
	[GPC_CONFIG_STORE] = {
		"store", GPC_CONFIG_STR, NULL, NULL, true,
		"where state lives: file:///PATH or the path of a folder"},
	[GPC_CONFIG_PROFILE] = {
		"profile", GPC_CONFIG_STR, NULL, NULL, true,
		"which of the profiles in the user's file holds"},
	[GPC_CONFIG_CA_FILE] = {
		"ca_file", GPC_CONFIG_STR, NULL, NULL, true,
		"certificates that servers are checked by, instead of the "
		"system's"},
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
	[GPC_CONFIG_AWS_REGIONS] = {
		"aws.regions", GPC_CONFIG_STR, NULL, NULL, true,
		"regions of AWS that are looked at, by comma; by default the one "
		"of AWS's own tools"},
	[GPC_CONFIG_AWS_SUPERVISOR_PROFILE] = {
		"aws.supervisor_profile", GPC_CONFIG_STR, "gpucloud-supervisor",
		NULL, true,
		"instance profile of the machine that `supervise --on aws` buys"},
	[GPC_CONFIG_AWS_CLOUDWATCH] = {
		"aws.cloudwatch", GPC_CONFIG_STR, NULL, NULL, true,
		"namespace in CloudWatch for the metrics of jobs on AWS, which "
		"costs"},
	[GPC_CONFIG_AWS_RESERVATIONS] = {
		"aws.reservations", GPC_CONFIG_STR, NULL, NULL, true,
		"capacity reservations and capacity blocks to use first, by comma"},
};

int gpc_config_find(const char *name)
{
	for (int i = 0; i < GPC_CONFIG__COUNT; i++) {
		if (gpc_eq(gpc_config_fields[i].name, name))
			return i;
	}
	return -1;
}

/* The last part of a key, which is an option's name; - and _ are one. */
static void last_part(const char *key, char ret_word[64])
{
	const char *dot = strrchr(key, '.');

	snprintf(ret_word, 64, "%s", dot ? dot + 1 : key + strspn(key, "-"));
	for (char *c = ret_word; *c; c++)
		*c = *c == '-' ? '_' : *c;
}

/* "wait.pull or submit.pull": keys of another section that end in the same word.
 * Owned; NULL without any. */
static char *keys_that_end_so(const struct gpc_strv *names, const char *name)
{
	char word[64], other[64];
	char *found = NULL;
	size_t n = 0;

	last_part(name, word);
	for (size_t i = 0; *word && i < names->n && n < MOST_LIKE; i++) {
		last_part(names->v[i], other);
		if (!gpc_eq_nocase(word, other))
			continue;
		gpc_autostr *before = found;

		found = gpc_format("%s%s%s", n ? before : "", n ? " or " : "",
			names->v[i]);
		n++;
	}
	return found;
}

int gpc_config_unknown(const struct gpc_config *c, const char *where,
	const char *name, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	gpc_autostr *shown = gpc_str_printable(name, strnlen(name, 80));
	int r = gpc_fail(err, GPC_ECONFIG, "%s: unknown key \"%s\"", where,
		shown);

	for (int i = 0; i < GPC_CONFIG__COUNT; i++)
		gpc_strv_add(&names, gpc_config_fields[i].name);
	if (c->extension)
		c->extension->names(&names);
	const char *near = gpc_nearest(name, (const char *const *)names.v,
		names.n);
	gpc_autostr *like = keys_that_end_so(&names, name);
	if (near || like)
		gpc_hint(err, "did you mean %s?", like ? like : near);
	else
		gpc_hint(err, "`gpucloud config list` shows the keys");
	return r;
}

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
	return r ? gpc_recode(err, GPC_ECONFIG) : 0;
}

int gpc_config_check(enum gpc_config_key key, const char *text,
	const char *label, struct gpc_error *err)
{
	struct gpc_config_value v = {0};

	return parse_value(&gpc_config_fields[key], text, label, &v, err);
}

char *gpc_config_expected(enum gpc_config_key key)
{
	const struct gpc_config_field *f = &gpc_config_fields[key];
	gpc_auto(gpc_strv) struct gpc_strv words = {0};

	if (f->kind == GPC_CONFIG_BOOL)
		return gpc_strdup("true or false");
	if (f->kind != GPC_CONFIG_ENUM)
		return gpc_strdup(f->kind == GPC_CONFIG_MONEY ? "money" :
			"text");
	for (int i = 0; f->words[i]; i++)
		gpc_strv_add(&words, f->words[i]);
	return gpc_strv_join(&words, ", ");
}

int gpc_config_set(struct gpc_config *c, enum gpc_config_key key,
	enum gpc_config_origin origin, const char *text, const char *where,
	struct gpc_error *err)
{
	struct gpc_config_value v = {.origin = origin};
	int r = parse_value(&gpc_config_fields[key], text, where, &v, err);

	if (r || c->v[key].origin > origin)
		return r;
	v.text = gpc_strdup(text);
	v.where = gpc_strdup(where);
	value_clear(&c->v[key]);
	c->v[key] = v;
	return 0;
}

/* --- the caller's keys --------------------------------------------------- */

static void more_clear(struct gpc_config_more *m)
{
	free(m->name);
	free(m->where);
	gpc_strv_clear(&m->items);
	*m = (struct gpc_config_more){0};
}

const struct gpc_config_more *gpc_config_find_more(const struct gpc_config *c,
	const char *name)
{
	gpc_vec_each(m, &c->more) {
		if (gpc_eq(m->name, name))
			return m;
	}
	return NULL;
}

int gpc_config_put_more(struct gpc_config *c, const char *name,
	const struct gpc_config_extra *extra, enum gpc_config_origin origin,
	const struct gpc_strv *items, const char *where, struct gpc_error *err)
{
	gpc_autostr *label = gpc_format("%s: %s", where, name);
	struct gpc_config_more *to = NULL;

	for (size_t i = 0; i < items->n; i++) {
		int r = c->extension->check(extra, items->v[i], label, err);

		if (r)
			return r;
	}
	gpc_vec_each(m, &c->more) {
		if (gpc_eq(m->name, name))
			to = m;
	}
	if (to && to->origin > origin)
		return 0;
	if (!to)
		to = gpc_vec_push(&c->more);
	more_clear(to);
	to->name = gpc_strdup(name);
	to->where = gpc_strdup(where);
	to->origin = origin;
	gpc_strv_copy(&to->items, items);
	return 0;
}

int gpc_config_set_more(struct gpc_config *c, const char *name,
	enum gpc_config_origin origin, const char *text, const char *where,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv items = {0};
	struct gpc_str rest = gpc_str_of(text), line;
	struct gpc_config_extra extra = {0};

	if (!c->extension || !c->extension->find(name, &extra))
		return gpc_config_unknown(c, where, name, err);
	if (!extra.list)
		gpc_strv_add(&items, text);
	while (extra.list && gpc_str_split(&rest, '\n', &line)) {
		if (line.len)
			gpc_strv_take(&items, gpc_strndup(line.ptr, line.len));
	}
	return gpc_config_put_more(c, name, &extra, origin, &items, where, err);
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
	if (!c)
		return;
	for (int i = 0; i < GPC_CONFIG__COUNT; i++)
		value_clear(&c->v[i]);
	gpc_vec_each(m, &c->more)
		more_clear(m);
	gpc_vec_free(&c->more);
	*c = (struct gpc_config){0};
}

/* --- environment ------------------------------------------------------- */

char *gpc_config_env_name(const char *key)
{
	char *name = gpc_format("GPUCLOUD_%s", key);

	for (char *s = name; *s; s++) {
		if (*s == '.' || *s == '-')
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
		gpc_autostr *name = gpc_config_env_name(
			gpc_config_fields[i].name);
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
