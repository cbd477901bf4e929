/* The option parser.
 *
 * One pass over argv against several tables at once (the command's own, and
 * the shared ones), each with its own base pointer. Options and positionals may
 * be mixed; `--` ends options. Names are never abbreviated, so a new option
 * cannot break a script. Every error names the option as the user wrote it.
 */
#include "cmd/opt.h"

#include <limits.h>
#include <string.h>

#include "base/parse.h"
#include "base/time.h"

struct parser {
	const struct gpc_opt_set *sets;
	size_t n_sets;
	int argc, i;
	char *const *argv;
	struct gpc_opt_args *args;
	struct gpc_error *err;
};

struct hit {
	const struct gpc_opt *row;
	char *base;
	bool negated;
};

static bool takes_value(const struct gpc_opt *row)
{
	return row->type != GPC_OPT_T_FLAG && row->type != GPC_OPT_T_TRI &&
		row->type != GPC_OPT_T_COUNT;
}

static bool can_negate(const struct gpc_opt *row)
{
	return row->type == GPC_OPT_T_TRI || row->negatable;
}

static bool find_in(const struct gpc_opt *row, char *base, const char *name,
	char letter, struct hit *ret_hit)
{
	for (; row && row->type != GPC_OPT_T_END; row++) {
		if (row->type == GPC_OPT_T_GROUP) {
			if (find_in(row->group, base + row->offset, name,
				letter, ret_hit))
				return true;
			continue;
		}
		bool negated = name && can_negate(row) &&
			gpc_starts_with(name, "no-") &&
			gpc_eq(name + 3, row->name);
		if ((name && gpc_eq(name, row->name)) || negated ||
			(letter && letter == row->letter)) {
			*ret_hit = (struct hit){row, base, negated};
			return true;
		}
	}
	return false;
}

static bool find(const struct parser *p, const char *name, char letter,
	struct hit *ret_hit)
{
	for (size_t i = 0; i < p->n_sets; i++) {
		if (find_in(p->sets[i].rows, p->sets[i].base, name, letter,
			ret_hit))
			return true;
	}
	return false;
}

static void collect_name(const struct gpc_opt *row, void *arg)
{
	struct gpc_strv *names = arg;

	gpc_strv_add(names, row->name);
	if (can_negate(row))
		gpc_strv_addf(names, "no-%s", row->name);
}

/* The one option that has the name as its last part, as --max-cost has cost; NULL
 * when there are none, or several. */
static const char *ending_in(const struct gpc_strv *names, const char *name)
{
	gpc_autostr *end = gpc_format("-%s", name);
	const char *found = NULL;

	for (size_t i = 0; i < names->n; i++) {
		if (gpc_starts_with(names->v[i], "no-") ||
			!gpc_ends_with(names->v[i], end))
			continue;
		if (found)
			return NULL;
		found = names->v[i];
	}
	return found;
}

static int unknown(struct parser *p, const char *label, const char *name)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	int r = gpc_fail(p->err, GPC_EUSAGE, "unknown option %s", label);

	if (!name)
		return r;
	for (size_t i = 0; i < p->n_sets; i++)
		gpc_opt_each(p->sets[i].rows, collect_name, &names);
	const char *near = gpc_nearest(name, (const char *const *)names.v,
		names.n);
	if (!near)
		near = ending_in(&names, name);
	if (near)
		gpc_hint(p->err, "did you mean --%s?", near);
	return r;
}

static int set_enum(const struct gpc_opt *row, int *field, const char *text,
	const char *label, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv words = {0};

	for (int i = 0; row->words[i]; i++) {
		if (gpc_eq(row->words[i], text)) {
			*field = i;
			return 0;
		}
		if (*row->words[i])
			gpc_strv_add(&words, row->words[i]);
	}
	gpc_autostr *list = gpc_strv_join(&words, ", ");
	int r = gpc_fail(err, GPC_EUSAGE, "%s: \"%s\" is not one of %s", label,
		text, list);
	const char *near = gpc_nearest(text, (const char *const *)words.v,
		words.n);
	if (near)
		gpc_hint(err, "did you mean %s?", near);
	return r;
}

/* A date, a time, or how long ago. */
static int set_time(int64_t *field, const char *text, const char *label,
	struct gpc_error *err)
{
	gpc_autostr *full = NULL;
	int64_t age_ms;

	if (strlen(text) == 10 && text[4] == '-' && text[7] == '-')
		full = gpc_format("%sT00:00:00Z", text);
	if (full || strchr(text, 'T')) {
		int r = gpc_parse_rfc3339(full ? full : text, field, err);
		return r ? gpc_wrap(err, r, "%s", label) : 0;
	}
	int r = gpc_parse_duration(text, 1000, label, &age_ms, err);
	if (r) {
		gpc_hint(err, "give an age (2h, 3d), a date (2026-01-31) or a "
			"time (2026-01-31T12:00:00Z)");
		return r;
	}
	*field = gpc_wall_ms() - age_ms;
	return 0;
}

static int set_int(const struct gpc_opt *row, int *field, const char *text,
	const char *label, struct gpc_error *err)
{
	int64_t max = row->min == 0 && row->max == 0 ? INT_MAX : row->max;
	int64_t n;
	int r = gpc_parse_i64(text, row->min, max, label, &n, err);

	if (!r)
		*field = (int)n;
	return r;
}

static int set_duration(const struct gpc_opt *row, int64_t *field,
	const char *text, const char *label, struct gpc_error *err)
{
	char least[32];
	int64_t ms;
	int r = gpc_parse_duration(text, row->unit ? row->unit : 1000, label,
		&ms, err);

	if (r)
		return r;
	if (ms < row->min)
		return gpc_fail(err, GPC_EUSAGE, "%s: at least %s", label,
			gpc_format_duration(row->min, least, sizeof(least)));
	*field = ms;
	return 0;
}

static int set_value(const struct gpc_opt *row, char *base, const char *text,
	const char *label, struct gpc_error *err)
{
	void *field = base + row->offset;
	int64_t unit = row->unit ? row->unit : 1;

	switch (row->type) {
	case GPC_OPT_T_FLAG:
		*(bool *)field = true;
		return 0;
	case GPC_OPT_T_TRI:
		*(enum gpc_tri *)field = GPC_ON;
		return 0;
	case GPC_OPT_T_COUNT:
		++*(int *)field;
		return 0;
	case GPC_OPT_T_STR:
		*(const char **)field = text;
		return 0;
	case GPC_OPT_T_LIST:
		gpc_strv_addf(field, "%s%s", row->before ? row->before : "",
			text);
		return 0;
	case GPC_OPT_T_INT:
		return set_int(row, field, text, label, err);
	case GPC_OPT_T_SIZE:
		return gpc_parse_size(text, (uint64_t)unit, label, field, err);
	case GPC_OPT_T_DURATION:
		return set_duration(row, field, text, label, err);
	case GPC_OPT_T_TIME:
		return set_time(field, text, label, err);
	case GPC_OPT_T_MONEY:
		return gpc_money_parse(text, "USD", label, field, err);
	case GPC_OPT_T_ENUM:
		return set_enum(row, field, text, label, err);
	case GPC_OPT_T_GROUP:
	case GPC_OPT_T_END:
		break;
	}
	return 0;
}

static void set_negated(const struct gpc_opt *row, char *base)
{
	void *field = base + row->offset;

	switch (row->type) {
	case GPC_OPT_T_FLAG:
		*(bool *)field = false;
		break;
	case GPC_OPT_T_TRI:
		*(enum gpc_tri *)field = GPC_OFF;
		break;
	case GPC_OPT_T_STR:
		*(const char **)field = NULL;
		break;
	case GPC_OPT_T_LIST:
		gpc_strv_clear(field);
		break;
	case GPC_OPT_T_COUNT:
	case GPC_OPT_T_INT:
	case GPC_OPT_T_ENUM:
		*(int *)field = 0;
		break;
	case GPC_OPT_T_SIZE:
	case GPC_OPT_T_DURATION:
	case GPC_OPT_T_TIME:
		*(int64_t *)field = 0;
		break;
	case GPC_OPT_T_MONEY:
		*(struct gpc_money *)field = (struct gpc_money){0};
		break;
	case GPC_OPT_T_GROUP:
	case GPC_OPT_T_END:
		break;
	}
}

/* Stores a found option: inline_value is what followed "=" or the letter. */
static int apply(struct parser *p, const struct hit *hit, const char *label,
	const char *inline_value)
{
	const struct gpc_opt *row = hit->row;
	const char *value = inline_value;

	if (hit->negated || !takes_value(row)) {
		if (value)
			return gpc_fail(p->err, GPC_EUSAGE,
				"%s takes no value, but got \"%s\"", label,
				value);
	} else if (!value && row->implied) {
		value = row->implied;
	} else if (!value) {
		if (p->i >= p->argc)
			return gpc_fail(p->err, GPC_EUSAGE,
				"%s needs a value: %s %s", label, label,
				row->arg);
		value = p->argv[p->i++];
	}
	if (!gpc_strv_has(&p->args->given, row->name))
		gpc_strv_add(&p->args->given, row->name);
	if (hit->negated) {
		set_negated(row, hit->base);
		return 0;
	}
	int r = set_value(row, hit->base, value, label, p->err);
	/* whatever was wrong with the value, it is the command line */
	return r ? gpc_recode(p->err, GPC_EUSAGE) : 0;
}

static int parse_long(struct parser *p, const char *word)
{
	const char *equals = strchr(word, '=');
	gpc_autostr *label = equals ? gpc_strndup(word, (size_t)(equals - word))
		: gpc_strdup(word);
	struct hit hit;

	if (!find(p, label + 2, 0, &hit))
		return unknown(p, label, label + 2);
	return apply(p, &hit, label, equals ? equals + 1 : NULL);
}

static int parse_letters(struct parser *p, const char *word)
{
	for (const char *s = word + 1; *s; s++) {
		char label[3] = {'-', *s, 0};
		struct hit hit;

		if (!find(p, NULL, *s, &hit))
			return unknown(p, label, NULL);
		bool rest_is_value = takes_value(hit.row) && s[1];
		int r = apply(p, &hit, label, rest_is_value ? s + 1 : NULL);
		if (r || rest_is_value)
			return r;
	}
	return 0;
}

static void take_rest(struct parser *p, unsigned flags)
{
	struct gpc_opt_args *a = p->args;

	if (flags & GPC_OPT_SPLIT)
		a->rest = a->argv + a->argc + 1;
	while (p->i < p->argc) {
		if (flags & GPC_OPT_SPLIT)
			a->rest[a->n_rest++] = p->argv[p->i++];
		else
			a->argv[a->argc++] = p->argv[p->i++];
	}
}

/* What comes after a mistake still says how it is told: --log-format, -o. Only the
 * first one is. */
static int parse_words(struct parser *p, unsigned flags)
{
	int wrong = 0;

	while (p->i < p->argc) {
		const char *word = p->argv[p->i++];
		int r = 0;

		if (gpc_eq(word, "--")) {
			take_rest(p, flags);
			return wrong;
		}
		if (gpc_starts_with(word, "--"))
			r = parse_long(p, word);
		else if (word[0] == '-' && word[1])
			r = parse_letters(p, word);
		else
			p->args->argv[p->args->argc++] = word;
		if (r && !wrong) {
			wrong = r;
			p->err = NULL;
		}
		if (p->args->argc && (flags & GPC_OPT_STOP_AT_WORD)) {
			take_rest(p, 0);
			return wrong;
		}
	}
	return wrong;
}

int gpc_opt_parse(const struct gpc_opt_set *sets, size_t n_sets, int argc,
	char *const *argv, unsigned flags, struct gpc_opt_args *ret_args,
	struct gpc_error *err)
{
	gpc_auto(gpc_opt_args) struct gpc_opt_args args = {0};
	struct parser p = {sets, n_sets, argc, 0, argv, &args, err};

	/* positionals, NULL, the rest, NULL: never more than argc + 2 */
	args.argv = gpc_array((size_t)argc + 2, sizeof(*args.argv));
	for (size_t i = 0; i < n_sets; i++) {
		int r = gpc_opt_preset(sets[i].rows, sets[i].base, err);
		if (r)
			return r;
	}
	int r = parse_words(&p, flags);
	if (r)
		return r;
	*ret_args = args;
	args = (struct gpc_opt_args){0};
	return 0;
}

bool gpc_opt_given(const struct gpc_opt_args *a, const char *name)
{
	return gpc_strv_has(&a->given, name);
}

bool gpc_opt_is_set(const struct gpc_opt_args *a, const char *name)
{
	return gpc_opt_given(a, name) || gpc_strv_has(&a->set, name);
}

void gpc_opt_args_clear(struct gpc_opt_args *a)
{
	if (!a)
		return;
	free(a->argv);
	gpc_strv_clear(&a->given);
	gpc_strv_clear(&a->set);
	*a = (struct gpc_opt_args){0};
}

static int set_text(const struct gpc_opt *row, char *base, const char *text,
	const char *label, struct gpc_error *err)
{
	bool on = true;
	int r;

	if (row->type == GPC_OPT_T_COUNT)
		return set_int(row, (int *)(void *)(base + row->offset), text,
			label, err);
	if (!takes_value(row)) {
		r = gpc_parse_bool(text, label, &on, err);
		if (r)
			return r;
	} else if (row->implied && !gpc_parse_bool(text, label, &on, NULL) &&
		!gpc_eq(text, "0") && !gpc_eq(text, "1")) {
		/* a bare --x, or --no-x */
		text = on ? row->implied : text;
	}
	if (!on && can_negate(row)) {
		set_negated(row, base);
		return 0;
	}
	if (!on && row->type == GPC_OPT_T_FLAG)
		return 0;
	return set_value(row, base, text, label, err);
}

int gpc_opt_set_text(const struct gpc_opt *row, void *base, const char *text,
	const char *label, struct gpc_error *err)
{
	int r = set_text(row, base, text, label, err);

	return r ? gpc_recode(err, GPC_ECONFIG) : 0;
}

int gpc_opt_check_text(const struct gpc_opt *row, const char *text,
	const char *label, struct gpc_error *err)
{
	union {
		bool flag;
		enum gpc_tri tri;
		const char *str;
		struct gpc_strv list;
		int number;
		int64_t big;
		struct gpc_money money;
	} scratch;
	struct gpc_opt at_start = *row;

	memset(&scratch, 0, sizeof(scratch));
	at_start.offset = 0;
	int r = gpc_opt_set_text(&at_start, &scratch, text, label, err);
	if (row->type == GPC_OPT_T_LIST)
		gpc_strv_clear(&scratch.list);
	return r;
}

int gpc_opt_preset(const struct gpc_opt *row, void *base,
	struct gpc_error *err)
{
	for (; row && row->type != GPC_OPT_T_END; row++) {
		char *at = base;
		int r = 0;

		if (row->type == GPC_OPT_T_GROUP)
			r = gpc_opt_preset(row->group, at + row->offset, err);
		else if (row->preset)
			r = set_value(row, at, row->preset, row->name, err);
		if (r)
			return r;
	}
	return 0;
}

void gpc_opt_release(const struct gpc_opt *row, void *base)
{
	for (; row && row->type != GPC_OPT_T_END; row++) {
		char *field = (char *)base + row->offset;

		if (row->type == GPC_OPT_T_GROUP)
			gpc_opt_release(row->group, field);
		else if (row->type == GPC_OPT_T_LIST)
			gpc_strv_clear((struct gpc_strv *)(void *)field);
	}
}

void gpc_opt_each(const struct gpc_opt *row, gpc_opt_fn *fn, void *arg)
{
	for (; row && row->type != GPC_OPT_T_END; row++) {
		if (row->type == GPC_OPT_T_GROUP)
			gpc_opt_each(row->group, fn, arg);
		else if (!row->hidden)
			fn(row, arg);
	}
}

const struct gpc_opt *gpc_opt_find(const struct gpc_opt *rows, const char *name)
{
	struct hit hit;

	return find_in(rows, NULL, name, 0, &hit) ? hit.row : NULL;
}
