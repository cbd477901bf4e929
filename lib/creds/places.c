/* What chains say about where they looked, and how they read the environment.
 * Messages name variables and files, never what they hold. */
#include "creds/backend.h"

#include <string.h>

#include "base/parse.h"
#include "base/path.h"
#include "net/url.h"

void gpc_creds_saw(const struct gpc_creds_look *look, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	gpc_strv_take(look->places, gpc_vformat(fmt, ap));
	va_end(ap);
}

const char *gpc_creds_env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

bool gpc_creds_env_true(const char *name)
{
	const char *value = gpc_creds_env(name);
	struct gpc_error err;
	bool set = false;

	return value && gpc_parse_bool(value, name, &set, &err) == 0 && set;
}

char *gpc_creds_show_path(const char *path)
{
	gpc_autostr *home = NULL;
	struct gpc_error err;
	size_t n;

	if (gpc_home(&home, &err) < 0)
		return gpc_strdup(path);
	n = strlen(home);
	if (n > 1 && gpc_starts_with(path, home) && path[n] == '/')
		return gpc_format("~%s", path + n);
	return gpc_strdup(path);
}

int gpc_creds_file(const char *variable, const char *below, char **ret_path,
	struct gpc_error *err)
{
	const char *set = gpc_creds_env(variable);
	gpc_autostr *home = NULL;
	int r = set ? 0 : gpc_home(&home, err);

	if (r)
		return r;
	*ret_path = set ? gpc_creds_expand(set) : gpc_path_join(home, below);
	return 0;
}

int gpc_creds_parse_url(const char *what, const char *url,
	struct gpc_url *ret_u, struct gpc_error *err)
{
	int r = gpc_url_parse(url, ret_u, err);

	if (!r)
		return 0;
	gpc_wrap(err, r, "%s", what);
	return gpc_recode(err, GPC_ECONFIG);
}

int gpc_creds_check_url(const char *what, const char *url,
	struct gpc_error *err)
{
	gpc_auto(gpc_url) struct gpc_url u = {0};
	int r = gpc_creds_parse_url(what, url, &u, err);

	if (r)
		return r;
	if (strcmp(u.scheme, "https") == 0 || gpc_url_is_local(&u))
		return 0;
	r = gpc_fail(err, GPC_ECONFIG, "%s names the host %s by http: secrets "
		"would travel in the clear", what, u.host);
	gpc_hint(err, "use https; http is for this machine and metadata "
		"services");
	return r;
}

static bool is_name(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
		(!first && c >= '0' && c <= '9');
}

/* The variable that text begins with ("$A", "${A}"): how many bytes that is, and
 * its name; 0 where there is none. */
static size_t variable(const char *text, char **ret_name)
{
	bool braced = text[1] == '{';
	const char *name = text + (braced ? 2 : 1);
	size_t n = 0;

	while (is_name(name[n], n == 0))
		n++;
	if (n == 0 || (braced && name[n] != '}'))
		return 0;
	*ret_name = gpc_strndup(name, n);
	return n + (braced ? 3 : 1);
}

char *gpc_creds_expand(const char *path)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *home = NULL;
	struct gpc_error err;

	if (path[0] == '~' && (path[1] == '/' || path[1] == '\0') &&
		gpc_home(&home, &err) == 0) {
		gpc_buf_adds(&b, home);
		path++;
	}
	while (*path) {
		gpc_autostr *name = NULL;
		size_t n = *path == '$' ? variable(path, &name) : 0;
		const char *value = n ? getenv(name) : NULL;

		if (value)
			gpc_buf_adds(&b, value);
		else
			gpc_buf_add(&b, path, n ? n : 1);
		path += n ? n : 1;
	}
	return gpc_strdup(gpc_buf_str(&b));
}
