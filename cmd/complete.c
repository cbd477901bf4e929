/* Completion, from the same tables that parse.
 *
 * The shells' scripts know nothing about gpucloud: they pass the words typed so
 * far and show what comes back. Whatever fails (a broken configuration, a store
 * that cannot be read) only means fewer suggestions; a terminal in the middle
 * of a command line is no place for an error.
 */
#include "cmd/complete.h"

#include <string.h>

#include "cmd/config_load.h"

struct completion {
	struct gpc_cmd *c;
	const char *prefix;          /* what a candidate must start with */
	const char *lead;            /* "--output=" before each candidate */
	struct gpc_error *err;
	int r;
};

static void offer(struct completion *k, const char *word, const char *about)
{
	if (k->r || !gpc_starts_with(word, k->prefix))
		return;
	if (about)
		k->r = gpc_out_print(&k->c->out, k->err, "%s%s\t%s\n", k->lead,
			word, about);
	else
		k->r = gpc_out_print(&k->c->out, k->err, "%s%s\n", k->lead,
			word);
}

static void offer_words(struct completion *k, const char *const *words)
{
	for (size_t i = 0; words && words[i]; i++) {
		if (*words[i])
			offer(k, words[i], NULL);
	}
}

static void offer_commands(struct completion *k)
{
	for (size_t i = 0; gpc_commands[i]; i++) {
		if (gpc_commands[i]->group != GPC_GROUP_HIDDEN)
			offer(k, gpc_commands[i]->name,
				gpc_commands[i]->summary);
	}
}

static void offer_jobs(struct completion *k)
{
	gpc_auto(gpc_config) struct gpc_config config = {0};
	gpc_auto(gpc_strv) struct gpc_strv jobs = {0};
	gpc_autostr *url = NULL;
	struct gpc_error ignored;

	if (gpc_config_load(&config, k->c->global.store, NULL, &ignored) ||
		gpc_config_store_url(&config, &url, &ignored) ||
		gpc_complete_jobs(url, k->prefix, &jobs, &ignored))
		return;
	for (size_t i = 0; i < jobs.n; i++)
		offer(k, jobs.v[i], NULL);
}

static void offer_kind(struct completion *k, enum gpc_complete kind,
	const char *const *words)
{
	switch (kind) {
	case GPC_COMPLETE_NONE:
	case GPC_COMPLETE_WORDS:
		offer_words(k, words);
		break;
	case GPC_COMPLETE_FILE:
		offer_words(k, words);
		k->r = k->r ? k->r : gpc_out_print(&k->c->out, k->err,
			":file\n");
		break;
	case GPC_COMPLETE_DIR:
		offer_words(k, words);
		k->r = k->r ? k->r : gpc_out_print(&k->c->out, k->err,
			":dir\n");
		break;
	case GPC_COMPLETE_JOB:
		offer_jobs(k);
		break;
	case GPC_COMPLETE_COMMAND:
		offer_commands(k);
		break;
	}
}

static void offer_option(const struct gpc_opt *row, void *arg)
{
	struct completion *k = arg;
	gpc_autostr *name = gpc_format("--%s", row->name);

	offer(k, name, row->help);
	if (row->type == GPC_OPT_T_TRI || row->negatable) {
		gpc_autostr *no = gpc_format("--no-%s", row->name);
		offer(k, no, row->help);
	}
}

struct tables { const struct gpc_opt *v[4]; };

static struct tables tables_of(const struct gpc_command *command)
{
	unsigned flags = command ? command->flags : GPC_CMD_STORE;

	return (struct tables){{
		command ? command->options : NULL,
		flags & GPC_CMD_OUTPUT ? gpc_opts_output : NULL,
		flags & GPC_CMD_STORE ? gpc_opts_store : NULL,
		gpc_opts_global,
	}};
}

static const struct gpc_opt *find_letter(const struct gpc_opt *row, char letter)
{
	for (; row && row->type != GPC_OPT_T_END; row++) {
		const struct gpc_opt *in = row->type == GPC_OPT_T_GROUP ?
			find_letter(row->group, letter) : NULL;
		if (in)
			return in;
		if (row->type != GPC_OPT_T_GROUP && row->letter == letter)
			return row;
	}
	return NULL;
}

static bool wants_value(const struct gpc_opt *row)
{
	return row && row->arg && !row->implied;
}

/* The option that a word names ("--output", "-o"), if it waits for the next
 * word as its value. */
static const struct gpc_opt *waiting(const struct tables *t, const char *word)
{
	for (size_t i = 0; i < 4; i++) {
		const struct gpc_opt *row = NULL;

		if (gpc_starts_with(word, "--"))
			row = gpc_opt_find(t->v[i], word + 2);
		else if (word[0] == '-' && word[1] && !word[2])
			row = find_letter(t->v[i], word[1]);
		if (wants_value(row))
			return row;
	}
	return NULL;
}

static void complete_value(struct completion *k, const struct gpc_opt *row)
{
	offer_kind(k, row->complete, row->words);
}

/* --name=VALUE in one word. */
static void complete_inline(struct completion *k, const struct tables *t,
	const char *word)
{
	const char *equals = strchr(word, '=');
	gpc_autostr *name = gpc_strndup(word + 2, (size_t)(equals - word) - 2);
	gpc_autostr *lead = gpc_format("--%s=", name);

	for (size_t i = 0; i < 4; i++) {
		const struct gpc_opt *row = gpc_opt_find(t->v[i], name);

		if (!row || !row->arg)
			continue;
		k->lead = lead;
		k->prefix = equals + 1;
		complete_value(k, row);
		k->lead = "";
		return;
	}
}

static void complete_word(struct completion *k,
	const struct gpc_command *command, int n_words, const char *last)
{
	struct tables t = tables_of(command);

	k->prefix = last;
	if (last[0] == '-') {
		if (gpc_starts_with(last, "--") && strchr(last, '=')) {
			complete_inline(k, &t, last);
			return;
		}
		for (size_t i = 0; i < 4; i++)
			gpc_opt_each(t.v[i], offer_option, k);
		return;
	}
	if (!command) {
		offer_commands(k);
		return;
	}
	if (n_words == 0 && command->words)
		offer_words(k, command->words);
	if (n_words > 0 && command->words && command->max_args == 1)
		return;
	offer_kind(k, command->complete, NULL);
}

static void complete_line(struct completion *k, int argc, char *const *argv)
{
	const struct gpc_command *command = NULL;
	const struct gpc_opt *open = NULL;
	const char *last = argv[argc - 1];
	int n_words = 0;

	for (int i = 0; i < argc - 1; i++) {
		struct tables t = tables_of(command);

		if (open) {
			if (gpc_eq(open->name, "store"))
				k->c->global.store = argv[i];
			open = NULL;
		} else if (gpc_eq(argv[i], "--")) {
			offer_kind(k, GPC_COMPLETE_FILE, NULL);
			return;
		} else if (argv[i][0] == '-') {
			open = waiting(&t, argv[i]);
		} else if (!command) {
			command = gpc_command_find(argv[i]);
			if (!command)
				return;
		} else {
			n_words++;
		}
	}
	if (open) {
		k->prefix = last;
		complete_value(k, open);
		return;
	}
	complete_word(k, command, n_words, last);
}

int gpc_complete_run(struct gpc_cmd *c, int argc, char *const *argv,
	struct gpc_error *err)
{
	struct completion k = {.c = c, .prefix = "", .lead = "", .err = err};

	if (argc > 0)
		complete_line(&k, argc, argv);
	return k.r;
}
