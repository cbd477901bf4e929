/* Completion, from the same tables that parse: what stands under the cursor?
 *
 * The shells' scripts know nothing about gpucloud: they pass the words typed so
 * far and show what comes back. Whatever fails (a broken configuration, a store
 * that cannot be read) only means fewer suggestions; a terminal in the middle
 * of a command line is no place for an error.
 */
#include "cmd/complete.h"
#include "cmd/plugin.h"

#include <string.h>

enum { N_TABLES = 4 };
struct tables { const struct gpc_opt *v[N_TABLES]; };

struct line {
	struct gpc_completion k;
	const struct gpc_command *command;
	const struct gpc_opt *open;  /* an option that waits for this word */
	bool ended;                  /* after `--` */
	int n_rest;                  /* words after `--` of a program */
	const char **typed;
};

static struct tables tables_of(const struct gpc_command *command)
{
	unsigned flags = command ? command->flags : GPC_CMD_STORE;

	return (struct tables){{
		command ? command->options : gpc_opts_first,
		flags & GPC_CMD_OUTPUT ? gpc_opts_output : NULL,
		flags & GPC_CMD_STORE ? gpc_opts_store : NULL,
		gpc_opts_global,
	}};
}

static const struct gpc_opt *letter_in(const struct gpc_opt *row, char letter)
{
	for (; row && row->type != GPC_OPT_T_END; row++) {
		const struct gpc_opt *in = row->type == GPC_OPT_T_GROUP ?
			letter_in(row->group, letter) : NULL;
		if (in)
			return in;
		if (row->type != GPC_OPT_T_GROUP && row->letter == letter)
			return row;
	}
	return NULL;
}

static const struct gpc_opt *by_letter(const struct tables *t, char letter)
{
	for (size_t i = 0; i < N_TABLES; i++) {
		const struct gpc_opt *row = letter_in(t->v[i], letter);

		if (row)
			return row;
	}
	return NULL;
}

static const struct gpc_opt *by_name(const struct tables *t, const char *name)
{
	for (size_t i = 0; i < N_TABLES; i++) {
		const struct gpc_opt *row = gpc_opt_find(t->v[i], name);

		if (row)
			return row;
	}
	return NULL;
}

/* "-fn5": the option that takes the rest of the word, with where that starts.
 * NULL: the letters are all flags, or one of them is unknown. */
static const struct gpc_opt *taker(const struct tables *t, const char *word,
	const char **ret_value)
{
	for (const char *s = word + 1; *s; s++) {
		const struct gpc_opt *row = by_letter(t, *s);

		if (!row)
			return NULL;
		if (row->arg) {
			*ret_value = s + 1;
			return row;
		}
	}
	return NULL;
}

static void set_store(struct line *l, const struct gpc_opt *row,
	const char *value)
{
	if (row && gpc_eq(row->name, "store"))
		l->k.c->global.store = value;
}

/* --- the words before the cursor -------------------------------------------- */
static void take_option(struct line *l, const char *word)
{
	struct tables t = tables_of(l->command);
	const char *value = NULL;
	const struct gpc_opt *row;

	if (gpc_starts_with(word, "--")) {
		const char *equals = strchr(word, '=');
		gpc_autostr *name = equals ? gpc_strndup(word + 2,
			(size_t)(equals - word) - 2) : gpc_strdup(word + 2);

		row = by_name(&t, name);
		/* --no-x takes no value */
		if (row && !gpc_eq(row->name, name))
			row = NULL;
		value = equals ? equals + 1 : "";
	} else {
		row = taker(&t, word, &value);
	}
	if (!row || !row->arg)
		return;
	if (*value || strchr(word, '='))
		set_store(l, row, value);
	else if (!row->implied)
		l->open = row;
}

/* False: nothing is known about what follows. */
static bool take_word(struct line *l, const char *word)
{
	if (l->open) {
		set_store(l, l->open, word);
		l->open = NULL;
	} else if (l->ended && l->command->flags & GPC_CMD_REST) {
		l->n_rest++;
	} else if (!l->ended && gpc_eq(word, "--") && l->command) {
		l->ended = true;
	} else if (!l->ended && word[0] == '-' && word[1]) {
		take_option(l, word);
	} else if (!l->command) {
		l->command = gpc_command_find(word);
		return l->command && !(l->command->flags & GPC_CMD_RAW);
	} else {
		l->typed[l->k.n_typed++] = word;
	}
	return true;
}

static enum gpc_complete kind_of(const struct gpc_command *command,
	const char *const *typed, int n)
{
	if (command->max_args >= 0 && n >= command->max_args)
		return GPC_COMPLETE_NONE;
	if (command->complete_next)
		return command->complete_next(typed, n);
	/* the first one is a word, such as a verb */
	if (n == 0 && command->words)
		return GPC_COMPLETE_WORDS;
	return command->complete;
}

static bool is_job_kind(enum gpc_complete kind)
{
	return kind == GPC_COMPLETE_JOB || kind == GPC_COMPLETE_LIVE_JOB ||
		kind == GPC_COMPLETE_ENDED_JOB ||
		kind == GPC_COMPLETE_JOB_OR_FILE ||
		kind == GPC_COMPLETE_JOB_OR_CHECKPOINT;
}

static void find_job(struct line *l)
{
	struct gpc_completion *k = &l->k;

	for (int i = 0; l->command && i < k->n_typed; i++) {
		if (is_job_kind(kind_of(l->command, k->typed, i))) {
			k->job = k->typed[i];
			return;
		}
	}
}

/* --- the word under the cursor ---------------------------------------------- */
static void offer_option(const struct gpc_opt *row, void *arg)
{
	struct gpc_completion *k = arg;
	gpc_autostr *name = gpc_format("--%s", row->name);

	gpc_complete_offer(k, name, row->help);
	if (row->type == GPC_OPT_T_TRI || row->negatable) {
		gpc_autostr *no = gpc_format("--no-%s", row->name);
		gpc_complete_offer(k, no, row->help);
	}
}

static void complete_value(struct line *l, const struct gpc_opt *row)
{
	l->k.may_repeat = true;      /* what is typed already are positionals */
	gpc_complete_kind(&l->k, row->complete, row->words);
}

/* An option and its value in one word: --name=VALUE or -nVALUE. */
static void complete_inline(struct line *l, const struct gpc_opt *row,
	const char *word, const char *value)
{
	gpc_autostr *lead = gpc_strndup(word, (size_t)(value - word));

	if (!row || !row->arg)
		return;
	l->k.lead = lead;
	l->k.prefix = value;
	complete_value(l, row);
	l->k.lead = "";
}

static void complete_option(struct line *l, const char *word)
{
	struct tables t = tables_of(l->command);
	const char *equals = strchr(word, '='), *value = NULL;

	if (gpc_starts_with(word, "--") && equals) {
		gpc_autostr *name = gpc_strndup(word + 2,
			(size_t)(equals - word) - 2);

		complete_inline(l, by_name(&t, name), word, equals + 1);
		return;
	}
	if (word[1] && word[1] != '-') {
		const struct gpc_opt *row = taker(&t, word, &value);

		complete_inline(l, row, word, value);
		return;
	}
	for (size_t i = 0; i < N_TABLES; i++)
		gpc_opt_each(t.v[i], offer_option, &l->k);
}

static void offer_plugin(void *arg, const char *name, const char *path)
{
	gpc_complete_offer(arg, name, path);
}

static void complete_positional(struct line *l)
{
	struct gpc_completion *k = &l->k;
	enum gpc_complete kind = GPC_COMPLETE_COMMAND;
	const char *const *words = NULL;

	if (l->command) {
		k->may_repeat = false;
		kind = kind_of(l->command, k->typed, k->n_typed);
		words = k->n_typed == 0 ? l->command->words : NULL;
	}
	gpc_complete_kind(k, kind, words);
	if (kind == GPC_COMPLETE_COMMAND)
		gpc_plugins(offer_plugin, k);
}

static void complete_word(struct line *l, const char *word)
{
	struct gpc_completion *k = &l->k;

	k->prefix = word;
	if (l->open) {
		complete_value(l, l->open);
	} else if (l->ended && l->command->flags & GPC_CMD_REST) {
		gpc_complete_kind(k, l->n_rest || strchr(word, '/') ?
			GPC_COMPLETE_FILE : GPC_COMPLETE_PROGRAM, NULL);
	} else if (!l->ended && word[0] == '-') {
		complete_option(l, word);
	} else {
		complete_positional(l);
	}
}

int gpc_complete_run(struct gpc_cmd *c, int argc, char *const *argv,
	struct gpc_error *err)
{
	struct line l = {.k = {.c = c, .prefix = "", .lead = ""}};
	bool known = argc > 0;

	(void)err;
	l.typed = gpc_array((size_t)argc + 1, sizeof(*l.typed));
	l.k.typed = l.typed;
	for (int i = 0; known && i < argc - 1; i++)
		known = take_word(&l, argv[i]);
	find_job(&l);
	if (known)
		complete_word(&l, argv[argc - 1]);
	free(l.typed);
	return 0;
}
