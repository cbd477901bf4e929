/* Profiles as AWS's tools see them: sections of the config file carry a kind in
 * front of their name, those of the credentials file do not, and a profile is the
 * sum of both. */
#include "creds/aws_files.h"

#include <string.h>

#include "creds/process.h"

static int load(const char *variable, const char *below, struct gpc_ini *ret_ini,
	char **ret_shown, struct gpc_error *err)
{
	gpc_autostr *path = NULL;
	int r = gpc_creds_file(variable, below, &path, err);

	if (r)
		return r;
	*ret_shown = gpc_creds_show_path(path);
	return gpc_ini_load(path, ret_ini, err);
}

int gpc_aws_files_load(struct gpc_aws_files *ret_files, struct gpc_error *err)
{
	int r = load("AWS_CONFIG_FILE", ".aws/config", &ret_files->config,
		&ret_files->config_shown, err);

	if (!r)
		r = load("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials",
			&ret_files->credentials, &ret_files->credentials_shown,
			err);
	if (r)
		gpc_aws_files_clear(ret_files);
	return r;
}

void gpc_aws_files_clear(struct gpc_aws_files *files)
{
	gpc_ini_clear(&files->config);
	gpc_ini_clear(&files->credentials);
	free(files->config_shown);
	free(files->credentials_shown);
	*files = (struct gpc_aws_files){0};
}

/* The name in a section "kind name", where quotes may hold spaces; owned. NULL:
 * another kind. */
static char *name_in(const char *section, const char *kind)
{
	gpc_auto(gpc_strv) struct gpc_strv words = {0};
	struct gpc_error ignored;

	if (!gpc_starts_with(section, kind) ||
		gpc_process_split(section, &words, &ignored) < 0 ||
		words.n != 2 || strcmp(words.v[0], kind) != 0)
		return NULL;
	return gpc_steal(&words.v[1]);
}

const struct gpc_ini_section *gpc_aws_files_section(
	const struct gpc_aws_files *files, const char *kind, const char *name)
{
	const struct gpc_map *m = &files->config.sections;
	const struct gpc_ini_section *found = NULL;

	for (size_t i = 0; i < m->n; i++) {
		gpc_autostr *here = name_in(m->entries[i].key, kind);

		if (gpc_eq(here, name))
			found = m->entries[i].value;
	}
	return found;
}

bool gpc_aws_profile_find(const struct gpc_aws_files *files, const char *name,
	struct gpc_aws_profile *ret_p)
{
	const struct gpc_ini_section *plain;

	*ret_p = (struct gpc_aws_profile){
		.name = name,
		.files = files,
		.config = gpc_aws_files_section(files, "profile", name),
		.credentials = gpc_ini_find(&files->credentials, name),
	};
	/* [default] or [profile default]: as AWS's command line has it, the later
	 * one. */
	if (strcmp(name, "default") == 0) {
		plain = gpc_ini_find(&files->config, name);
		if (plain && (!ret_p->config ||
			plain->line > ret_p->config->line))
			ret_p->config = plain;
	}
	return ret_p->config || ret_p->credentials;
}

const char *gpc_aws_section_get(const struct gpc_ini_section *s,
	const char *key)
{
	const struct gpc_ini_value *v = gpc_ini_get(s, key);

	return v && v->text[0] ? v->text + (v->text[0] == '\n') : NULL;
}

const char *gpc_aws_profile_get(const struct gpc_aws_profile *p,
	const char *key)
{
	const char *value = gpc_aws_section_get(p->credentials, key);

	return value ? value : gpc_aws_section_get(p->config, key);
}

char *gpc_aws_profile_where(const struct gpc_aws_profile *p, const char *key)
{
	bool secret = gpc_aws_section_get(p->credentials, key) ||
		(!gpc_aws_section_get(p->config, key) && !p->config);
	const struct gpc_ini_section *s = secret ? p->credentials : p->config;
	const struct gpc_ini_value *v = gpc_ini_get(s, key);

	return gpc_format("%s:%d", secret ? p->files->credentials_shown :
		p->files->config_shown, v ? v->line : s ? s->line : 1);
}

void gpc_aws_files_profiles(const struct gpc_aws_files *files,
	struct gpc_strv *ret_names)
{
	const struct gpc_map *config = &files->config.sections;
	const struct gpc_map *credentials = &files->credentials.sections;

	for (size_t i = 0; i < config->n; i++) {
		char *name = name_in(config->entries[i].key, "profile");

		if (!name && strcmp(config->entries[i].key, "default") == 0)
			name = gpc_strdup("default");
		if (name)
			gpc_strv_take(ret_names, name);
	}
	for (size_t i = 0; i < credentials->n; i++)
		gpc_strv_add(ret_names, credentials->entries[i].key);
}

const char *gpc_aws_profile_name(const struct gpc_creds_settings *settings,
	const char **ret_from)
{
	static const char *const variables[] = {
		"AWS_PROFILE", "AWS_DEFAULT_PROFILE",
	};

	if (settings->profile && *settings->profile) {
		*ret_from = "the command line or configuration";
		return settings->profile;
	}
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *value = gpc_creds_env(variables[i]);

		if (value) {
			*ret_from = variables[i];
			return value;
		}
	}
	*ret_from = NULL;
	return "default";
}

int gpc_aws_no_profile(const struct gpc_aws_files *files, const char *name,
	const char *from, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	gpc_autostr *shown = gpc_str_printable(name, strnlen(name, 100));
	const char *near;
	int r = gpc_fail(err, GPC_EAUTH, "there is no profile \"%s\" in %s or "
		"%s (named by %s)", shown, files->config_shown,
		files->credentials_shown, from);

	gpc_aws_files_profiles(files, &names);
	near = gpc_nearest(name, (const char *const *)names.v, names.n);
	if (near)
		gpc_hint(err, "did you mean %s?", near);
	else
		gpc_hint(err, "list them: aws configure list-profiles");
	return r;
}
