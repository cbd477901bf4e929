/* gcloud's folder: its properties, by configurations that are chosen by name. Tokens
 * of gcloud itself are not for other programs and are never read. */
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "creds/gcp_parts.h"
#include "creds/ini.h"

int gpc_gcp_path(const char *below, char **ret_path, struct gpc_error *err)
{
	gpc_autostr *dir = NULL;
	int r = gpc_creds_file("CLOUDSDK_CONFIG", ".config/gcloud", &dir, err);

	if (!r)
		*ret_path = gpc_path_join(dir, below);
	return r;
}

/* Owned; NULL: none. */
static char *active_name(void)
{
	const char *set = gpc_creds_env("CLOUDSDK_ACTIVE_CONFIG_NAME");
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *path = NULL;
	struct gpc_error ignored;
	struct gpc_str name;

	if (set)
		return gpc_strdup(set);
	if (gpc_gcp_path("active_config", &path, &ignored) < 0 ||
		gpc_read_file(path, 512, &b, &ignored) < 0)
		return gpc_strdup("default");
	name = gpc_str_trim((struct gpc_str){gpc_buf_str(&b), b.len});
	return gpc_strndup(name.ptr, name.len);
}

char *gpc_gcp_property(const char *section, const char *key)
{
	gpc_autostr *variable = gpc_format("CLOUDSDK_%s_%s", section, key);
	gpc_autostr *name = NULL, *below = NULL, *path = NULL;
	gpc_auto(gpc_ini) struct gpc_ini ini = {0};
	const struct gpc_ini_value *v;
	struct gpc_error ignored;

	for (char *c = variable; *c; c++)
		if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - ('a' - 'A'));
	if (gpc_creds_env(variable))
		return gpc_strdup(gpc_creds_env(variable));
	name = active_name();
	if (!gpc_path_is_inside(name))
		return NULL;
	below = gpc_format("configurations/config_%s", name);
	if (gpc_gcp_path(below, &path, &ignored) < 0 ||
		gpc_ini_load(path, &ini, &ignored) < 0)
		return NULL;
	v = gpc_ini_get(gpc_ini_find(&ini, section), key);
	return gpc_strdup(v && v->text[0] ? v->text : NULL);
}
