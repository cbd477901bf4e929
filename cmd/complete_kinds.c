/* What completes a word, kind by kind. Paths and programs are the shell's own
 * business; what a store knows is in complete_jobs.c, so that nothing else opens
 * one.
 */
#include <string.h>

#include "cmd/complete.h"
#include "cmd/config_complete.h"
#include "cmd/help_spec.h"
#include "model/gpu_alias.h"
#include "model/job_signal.h"
#include "model/templates.h"
#include "provider/provider.h"

extern char **environ;

static bool is_typed(const struct gpc_completion *k, const char *word)
{
	for (int i = 0; i < k->n_typed; i++) {
		if (gpc_eq(k->typed[i], word))
			return true;
	}
	return false;
}

/* A candidate that cannot stand on a line would be read as two. */
static bool fits_line(const char *word)
{
	return !word[strcspn(word, "\t\r\n")];
}

/* A broken pipe ends us by its signal; anything else is not worth a word. */
static void put(struct gpc_completion *k, const char *word, const char *about)
{
	struct gpc_error ignored;
	int r = gpc_out_print(&k->c->out, &ignored, "%s%s%s%s\n", k->lead,
		word, about ? "\t" : "", about ? about : "");

	(void)r;
}

void gpc_complete_offer(struct gpc_completion *k, const char *word,
	const char *about)
{
	if (!*word || !gpc_starts_with(word, k->prefix) || !fits_line(word) ||
		(!k->may_repeat && is_typed(k, word)))
		return;
	gpc_autostr *safe = about ? gpc_str_printable(about, strlen(about)) :
		NULL;
	put(k, word, safe);
}

static void ask_shell(struct gpc_completion *k, const char *what)
{
	struct gpc_error ignored;
	int r = gpc_out_print(&k->c->out, &ignored, ":%s\t%s\n", what, k->lead);

	(void)r;
}

static void offer_words(struct gpc_completion *k, const char *const *words)
{
	for (size_t i = 0; words && words[i]; i++)
		gpc_complete_offer(k, words[i], NULL);
}

static void offer_commands(struct gpc_completion *k)
{
	for (size_t i = 0; gpc_commands[i]; i++) {
		if (gpc_commands[i]->group != GPC_GROUP_HIDDEN)
			gpc_complete_offer(k, gpc_commands[i]->name,
				gpc_commands[i]->summary);
	}
}

static void offer_field(void *arg, const char *path, const char *help)
{
	gpc_complete_offer(arg, path, help);
}

static void offer_templates(struct gpc_completion *k)
{
	for (size_t i = 0; gpc_templates[i].name; i++)
		gpc_complete_offer(k, gpc_templates[i].name,
			gpc_templates[i].summary);
}

static void offer_infra(struct gpc_completion *k)
{
	size_t n;
	const char *const *names = gpc_provider_names(&n);

	for (size_t i = 0; i < n; i++)
		gpc_complete_offer(k, names[i], NULL);
}

static void offer_gpus(struct gpc_completion *k)
{
	size_t n;
	const struct gpc_gpu_model *models = gpc_gpu_models(&n);

	for (size_t i = 0; i < n; i++) {
		gpc_autostr *memory = gpc_format("%d GB", models[i].memory_gb);

		gpc_complete_offer(k, models[i].name,
			models[i].memory_gb ? memory : NULL);
	}
}

static void offer_signals(struct gpc_completion *k)
{
	gpc_complete_offer(k, "interrupt", "the notice before a spot machine "
		"is taken away");
	for (size_t i = 0; i < GPC_JOB_SIGNALS; i++)
		gpc_complete_offer(k, gpc_job_signal_name(i), NULL);
}

static void offer_variables(struct gpc_completion *k)
{
	const char *at = strstr(k->prefix, "=@");

	/* NAME=@FILE of a secret */
	if (at) {
		gpc_autostr *lead = gpc_format("%s%.*s", k->lead,
			(int)(at + 2 - k->prefix), k->prefix);
		const char *outer = k->lead;

		k->lead = lead;
		ask_shell(k, "file");
		k->lead = outer;
		return;
	}
	for (char **v = environ; *v; v++) {
		gpc_autostr *name = gpc_strndup(*v, strcspn(*v, "="));

		gpc_complete_offer(k, name, NULL);
	}
}

static void offer_fields(struct gpc_completion *k)
{
	gpc_help_spec_each(offer_field, k);
}

/* `config set KEY VALUE` */
static void offer_key_values(struct gpc_completion *k)
{
	if (k->n_typed > 1)
		gpc_config_complete_value(k, k->typed[1]);
}

/* How each kind is completed: by us, by the store, by the shell. */
static const struct {
	void (*offer)(struct gpc_completion *k);
	bool store;
	const char *shell;
} ways[] = {
	[GPC_COMPLETE_NONE] = {0},
	[GPC_COMPLETE_WORDS] = {0},
	[GPC_COMPLETE_FILE] = {.shell = "file"},
	[GPC_COMPLETE_DIR] = {.shell = "dir"},
	[GPC_COMPLETE_PROGRAM] = {.shell = "program"},
	[GPC_COMPLETE_JOB] = {.store = true},
	[GPC_COMPLETE_LIVE_JOB] = {.store = true},
	[GPC_COMPLETE_ENDED_JOB] = {.store = true},
	[GPC_COMPLETE_JOB_OR_FILE] = {.store = true, .shell = "file"},
	[GPC_COMPLETE_JOB_OR_CHECKPOINT] = {.store = true},
	[GPC_COMPLETE_CHECKPOINT] = {.store = true},
	[GPC_COMPLETE_ATTEMPT] = {.store = true},
	[GPC_COMPLETE_RANK] = {.store = true},
	[GPC_COMPLETE_SIGNAL] = {.offer = offer_signals},
	[GPC_COMPLETE_COMMAND] = {.offer = offer_commands},
	[GPC_COMPLETE_FIELD] = {.offer = offer_fields},
	[GPC_COMPLETE_KEY] = {.offer = gpc_config_complete_keys},
	[GPC_COMPLETE_KEY_VALUE] = {.offer = offer_key_values},
	[GPC_COMPLETE_PROFILE] = {.offer = gpc_config_complete_profiles},
	[GPC_COMPLETE_TEMPLATE] = {.offer = offer_templates},
	[GPC_COMPLETE_INFRA] = {.offer = offer_infra},
	[GPC_COMPLETE_GPU] = {.offer = offer_gpus},
	[GPC_COMPLETE_ENV] = {.offer = offer_variables},
};

void gpc_complete_kind(struct gpc_completion *k, enum gpc_complete kind,
	const char *const *words)
{
	offer_words(k, words);
	if (ways[kind].offer)
		ways[kind].offer(k);
	if (ways[kind].store)
		gpc_complete_store(k, kind);
	if (ways[kind].shell)
		ask_shell(k, ways[kind].shell);
}
