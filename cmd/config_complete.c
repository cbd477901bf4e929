/* Completion of the configuration's words: keys, what they take, and the names
 * of profiles. What cannot be read offers nothing.
 */
#include "cmd/config_complete.h"

#include "cmd/config_load.h"
#include "cmd/config_options.h"
#include "dep/yaml.h"

void gpc_config_complete_keys(struct gpc_completion *k)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};

	for (int i = 0; i < GPC_CONFIG__COUNT; i++)
		gpc_complete_offer(k, gpc_config_fields[i].name,
			gpc_config_fields[i].doc);
	gpc_config_options.names(&names);
	for (size_t i = 0; i < names.n; i++) {
		struct gpc_config_extra extra = {0};

		if (gpc_config_options.find(names.v[i], &extra))
			gpc_complete_offer(k, names.v[i], extra.doc);
	}
}

static void offer_words(struct gpc_completion *k, const char *const *words)
{
	for (size_t i = 0; words && words[i]; i++) {
		if (*words[i])
			gpc_complete_offer(k, words[i], NULL);
	}
}

void gpc_config_complete_value(struct gpc_completion *k, const char *key)
{
	static const char *const bools[] = {"true", "false", NULL};
	struct gpc_config_extra extra = {0};
	int index = gpc_config_find(key);

	if (gpc_eq(key, gpc_config_fields[GPC_CONFIG_PROFILE].name))
		gpc_config_complete_profiles(k);
	else if (gpc_eq(key, gpc_config_fields[GPC_CONFIG_STORE].name))
		gpc_complete_kind(k, GPC_COMPLETE_DIR, NULL);
	else if (index >= 0)
		offer_words(k, gpc_config_fields[index].kind ==
			GPC_CONFIG_BOOL ? bools :
			gpc_config_fields[index].words);
	else if (gpc_config_options.find(key, &extra))
		offer_words(k, gpc_eq(extra.expected, "true or false") ?
			bools : extra.words);
}

void gpc_config_complete_profiles(struct gpc_completion *k)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	const struct gpc_yaml_node *root = NULL, *map = NULL;
	gpc_autostr *path = NULL;
	bool ignored;

	if (gpc_config_user_path(&path, NULL) ||
		gpc_config_read_text(path, &text, &ignored, NULL) ||
		gpc_yaml_parse(gpc_buf_str(&text), text.len, path, &docs, NULL))
		return;
	root = docs.n ? gpc_yaml_root(docs.v[0]) : NULL;
	map = root && root->kind == GPC_YAML_MAP ?
		gpc_yaml_get(root, "profiles") : NULL;
	for (size_t i = 0; map && map->kind == GPC_YAML_MAP && i < map->n; i++)
		gpc_complete_offer(k, map->keys[i]->text, NULL);
}
