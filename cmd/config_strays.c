/* Variables that look like a key's and are none: a mistyped limit must not be
 * passed over without a word. GPUCLOUD_SUBMIT_MAXCOST stands among the keys of
 * a command and is an error, as the same key in a file is. Any other unknown
 * GPUCLOUD_ name may be somebody's own: it gives a warning where a key is near,
 * and none inside a job, whose environment has many such names.
 */
#include "cmd/config_strays.h"

#include <string.h>

#include "cmd/config_options.h"

#define PREFIX "GPUCLOUD_"

/* What gpucloud reads or sets beside its keys, without the prefix. */
static const char *const known[] = {
	"AGENT", "ATTEMPT", "BIN", "BUILD", "CA_BUNDLE", "CHECKPOINT",
	"CHECKPOINT_DIR", "COST", "CURRENCY", "DEADLINE", "EVENT", "EXIT_CODE",
	"GIT_TOKEN", "GPUS_PER_NODE", "JOB_ID", "JOB_NAME", "MASTER_ADDR",
	"MASTER_PORT", "METRICS", "NODE_ID", "NODE_IPS", "NODE_RANK",
	"NUM_NODES", "NUM_SHARDS", "REASON", "RESTART_REASON", "RESUME_FROM",
	"SHARD", "STATE",
};

static bool is_known(const char *word)
{
	if (gpc_starts_with(word, "TEST_") || gpc_starts_with(word, "CRASH"))
		return true;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (gpc_eq(word, known[i]))
			return true;
	}
	return false;
}

static void add_word(struct gpc_strv *words, const char *key)
{
	gpc_autostr *name = gpc_config_env_name(key);

	gpc_strv_add(words, name + strlen(PREFIX));
}

static void add_words(struct gpc_strv *words)
{
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};

	gpc_config_options.names(&keys);
	for (size_t i = 0; i < keys.n; i++)
		add_word(words, keys.v[i]);
	for (int i = 0; i < GPC_CONFIG__COUNT; i++)
		add_word(words, gpc_config_fields[i].name);
}

/* Whether a command that has keys begins it: "SUBMIT_". */
static bool of_command(const char *word)
{
	for (size_t i = 0; gpc_commands[i]; i++) {
		gpc_autostr *name = gpc_config_env_name(gpc_commands[i]->name);
		const char *own = name + strlen(PREFIX);
		size_t n = strlen(own);

		if (gpc_config_options_has_keys(gpc_commands[i]) &&
			!strncmp(word, own, n) && word[n] == '_')
			return true;
	}
	return false;
}

static int refuse(const char *shown, const char *near, struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_ECONFIG, PREFIX "%s: there is no such key",
		shown);

	if (near)
		gpc_hint(err, "did you mean " PREFIX "%s?", near);
	else
		gpc_hint(err, "`gpucloud config list` shows the keys");
	return r;
}

static int look_at(const char *word, struct gpc_strv *words, bool inside_job,
	struct gpc_strv *warnings, struct gpc_error *err)
{
	if (!words->n)
		add_words(words);
	if (gpc_strv_has(words, word))
		return 0;
	const char *near = gpc_nearest(word, (const char *const *)words->v,
		words->n);
	gpc_autostr *shown = gpc_str_printable(word, strnlen(word, 80));
	if (of_command(word))
		return refuse(shown, near, err);
	if (near && warnings && !inside_job)
		gpc_strv_addf(warnings, PREFIX "%s says nothing to gpucloud: "
			"did you mean " PREFIX "%s?", shown, near);
	return 0;
}

int gpc_config_strays(char *const *env, bool inside_job,
	struct gpc_strv *warnings, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv words = {0};
	int r = 0;

	for (; env && *env && !r; env++) {
		const char *equals = strchr(*env, '=');

		if (!gpc_starts_with(*env, PREFIX) || !equals || !equals[1])
			continue;
		const char *at = *env + strlen(PREFIX);
		gpc_autostr *word = gpc_strndup(at, (size_t)(equals - at));
		if (!is_known(word))
			r = look_at(word, &words, inside_job, warnings, err);
	}
	return r;
}
