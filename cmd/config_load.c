/* Finds and reads the configuration files. What the keys mean is the model's;
 * here is only the order: the user's file, the project's file, environment,
 * options.
 */
#include "cmd/config_load.h"

#include <string.h>

#include "base/fd.h"
#include "base/path.h"

extern char **environ;

enum { FILE_MAX = 1 << 20 };

static int read_one(struct gpc_config *c, enum gpc_config_origin origin,
	const char *path, struct gpc_strv *warnings, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	struct gpc_error why = {0};
	int r = gpc_read_file(path, FILE_MAX, &text, &why);

	if (r == -GPC_ENOTFOUND)
		return 0;
	if (r) {
		if (err)
			*err = why;
		return gpc_wrap(err, r, "cannot read the configuration");
	}
	return gpc_config_read(c, origin, gpc_buf_str(&text), text.len, path,
		warnings, err);
}

int gpc_config_load(struct gpc_config *ret_c, const char *store_option,
	struct gpc_strv *ret_warnings, struct gpc_error *err)
{
	gpc_auto(gpc_config) struct gpc_config c = {0};
	gpc_autostr *user = NULL;
	int r;

	gpc_config_init(&c);
	r = gpc_xdg(GPC_XDG_CONFIG, "config.yaml", &user, err);
	if (!r)
		r = read_one(&c, GPC_FROM_USER, user, ret_warnings, err);
	if (!r)
		r = read_one(&c, GPC_FROM_PROJECT, ".gpucloud.yaml",
			ret_warnings, err);
	if (!r)
		r = gpc_config_read_env(&c, environ, err);
	if (!r && store_option)
		r = gpc_config_set(&c, GPC_CONFIG_STORE, GPC_FROM_OPTION,
			store_option, "--store", err);
	if (r)
		return r;
	*ret_c = c;
	c = (struct gpc_config){0};
	return 0;
}

int gpc_config_store_url(const struct gpc_config *c, char **ret_url,
	struct gpc_error *err)
{
	const char *set = gpc_config_str(c, GPC_CONFIG_STORE);
	gpc_autostr *path = NULL;
	int r;

	if (set && strstr(set, "://")) {
		*ret_url = gpc_strdup(set);
		return 0;
	}
	r = set ? gpc_path_absolute(set, &path, err) :
		gpc_xdg(GPC_XDG_DATA, "store", &path, err);
	if (r)
		return gpc_wrap(err, r, "%s", set ?
			gpc_config_where(c, GPC_CONFIG_STORE) :
			"the default store");
	*ret_url = gpc_format("file://%s", path);
	return 0;
}
