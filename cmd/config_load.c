/* Finds and reads the configuration files. What the keys mean is the model's;
 * here is only where they come from.
 *
 * The project's file is looked for in the current folder alone: a file further
 * up, of a checkout or of another user's /tmp, never changes what a command
 * does. Inside a job its guarded keys are passed over, since the job's own
 * environment says where its store is.
 */
#include "cmd/config_load.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "cmd/config_options.h"
#include "cmd/config_strays.h"
#include "cmd/config_trust.h"
#include "store/store.h"

#define PROJECT_FILE ".gpucloud.yaml"

extern char **environ;

/* --- files ----------------------------------------------------------------- */

int gpc_config_user_path(char **ret_path, struct gpc_error *err)
{
	return gpc_xdg(GPC_XDG_CONFIG, "config.yaml", ret_path, err);
}

int gpc_config_project_path(char **ret_path, struct gpc_error *err)
{
	return gpc_path_absolute(PROJECT_FILE, ret_path, err);
}

/* The group may: unless it is the user's own, that means others. */
static bool open_to_others(const struct stat *st)
{
	return (st->st_mode & S_IWOTH) ||
		((st->st_mode & S_IWGRP) && st->st_gid != getegid());
}

static int cannot_read(const char *path, const char *why,
	struct gpc_error *err)
{
	return gpc_fail(err, GPC_ECONFIG, "cannot read the configuration: %s: "
		"%s", path, why);
}

int gpc_config_read_text(const char *path, struct gpc_buf *b,
	bool *ret_open_to_others, struct gpc_error *err)
{
	/* a pipe in its place must not make us wait */
	gpc_autofd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct gpc_error why = {0};
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return gpc_fail_sys(err, ENOENT, "%s", path);
	if (fd < 0 || fstat(fd, &st)) {
		gpc_fail_sys(&why, errno, "cannot read the configuration: %s",
			path);
		why.code = GPC_ECONFIG;
		if (err)
			*err = why;
		return -GPC_ECONFIG;
	}
	if (S_ISDIR(st.st_mode))
		return cannot_read(path, "it is a folder", err);
	if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
		return cannot_read(path, "it is not a file", err);
	if (gpc_read_fd(fd, GPC_CONFIG_FILE_MAX, path, b, &why))
		return cannot_read(path, why.msg, err);
	*ret_open_to_others = S_ISREG(st.st_mode) && open_to_others(&st);
	return 0;
}

/* --- the whole ------------------------------------------------------------- */

struct loading {
	struct gpc_config *c;
	const struct gpc_config_ask *ask;
	char *user;                    /* path; NULL: there is no home */
	struct gpc_buf user_text;
	struct gpc_strv *warnings;
	struct gpc_error *err;
};

static void loading_clear(struct loading *l)
{
	free(l->user);
	gpc_buf_clear(&l->user_text);
}
GPC_CLEANUP_VALUE(loading);

static int read_user(struct loading *l)
{
	bool open_file = false;
	int r;

	if (gpc_config_user_path(&l->user, NULL))
		return 0;              /* nowhere to look */
	r = gpc_config_read_text(l->user, &l->user_text, &open_file, l->err);
	if (r)
		return r == -GPC_ENOTFOUND ? 0 : r;
	if (open_file && l->warnings)
		gpc_strv_addf(l->warnings, "%s: others can write it, and so "
			"decide where your state and money go: `chmod go-w` "
			"it", l->user);
	return gpc_config_read(l->c, GPC_FROM_USER, gpc_buf_str(&l->user_text),
		l->user_text.len, l->user, l->warnings, l->err);
}

static bool inside_job(void)
{
	const char *job = getenv("GPUCLOUD_JOB_ID");

	return job && *job;
}

static int read_project(struct loading *l)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	gpc_autostr *path = NULL;
	bool trusted = false, ignored;
	int r = gpc_config_read_text(PROJECT_FILE, &text, &ignored, l->err);

	if (r)
		return r == -GPC_ENOTFOUND ? 0 : r;
	if (!gpc_config_project_path(&path, NULL))
		trusted = gpc_trust_holds(path, text.data, text.len);
	l->c->guard = trusted ? GPC_GUARD_TRUST : inside_job() ?
		GPC_GUARD_SKIP : GPC_GUARD_REFUSE;
	return gpc_config_read(l->c, GPC_FROM_PROJECT, gpc_buf_str(&text),
		text.len, PROJECT_FILE, l->warnings, l->err);
}

/* An option that is wrong is a matter of the command line. */
static int set_by_option(struct loading *l, enum gpc_config_key key,
	const char *value, const char *option)
{
	int r = value ? gpc_config_set(l->c, key, GPC_FROM_OPTION, value, option,
		l->err) : 0;

	return r == -GPC_ECONFIG ? gpc_recode(l->err, GPC_EUSAGE) : r;
}

static int read_outside(struct loading *l)
{
	const struct gpc_config_ask *ask = l->ask;
	int r = gpc_config_read_env(l->c, environ, l->err);

	if (!r && (ask->command || ask->every_command))
		r = gpc_config_options_env(l->c, ask->every_command ? NULL :
			ask->command, environ, l->err);
	if (!r && (ask->command || ask->every_command))
		r = gpc_config_strays(environ, inside_job(), l->warnings,
			l->err);
	if (!r)
		r = set_by_option(l, GPC_CONFIG_STORE, ask->store, "--store");
	return r ? r : set_by_option(l, GPC_CONFIG_PROFILE, ask->profile,
		"--profile");
}

/* Last, when everything that may name one has been read. */
static int read_profile(struct loading *l)
{
	const char *profile = gpc_config_str(l->c, GPC_CONFIG_PROFILE);

	if (!profile)
		return 0;
	return gpc_config_read_profile(l->c, profile,
		gpc_config_where(l->c, GPC_CONFIG_PROFILE),
		gpc_buf_str(&l->user_text), l->user_text.len,
		l->user ? l->user : "config.yaml", l->err);
}

int gpc_config_load_for(struct gpc_config *ret_c,
	const struct gpc_config_ask *ask, struct gpc_strv *ret_warnings,
	struct gpc_error *err)
{
	gpc_auto(gpc_config) struct gpc_config c = {0};
	gpc_auto(loading) struct loading l = {
		.c = &c, .ask = ask, .warnings = ret_warnings, .err = err,
	};
	int r;

	gpc_config_init(&c);
	c.extension = &gpc_config_options;
	r = read_user(&l);
	if (!r)
		r = read_project(&l);
	if (!r)
		r = read_outside(&l);
	if (!r)
		r = read_profile(&l);
	if (r)
		return r;
	*ret_c = c;
	c = (struct gpc_config){0};
	return 0;
}

int gpc_config_load(struct gpc_config *ret_c, const char *store_option,
	struct gpc_strv *ret_warnings, struct gpc_error *err)
{
	const struct gpc_config_ask ask = {.store = store_option};

	return gpc_config_load_for(ret_c, &ask, ret_warnings, err);
}

int gpc_config_ca_file(const struct gpc_config *c, char **ret_path,
	struct gpc_error *err)
{
	const char *set = gpc_config_str(c, GPC_CONFIG_CA_FILE);

	return set ? gpc_wrap(err, gpc_path_absolute(set, ret_path, err), "%s",
		gpc_config_where(c, GPC_CONFIG_CA_FILE)) : 0;
}

int gpc_config_store_url(const struct gpc_config *c, char **ret_url,
	struct gpc_error *err)
{
	const char *set = gpc_config_str(c, GPC_CONFIG_STORE);
	gpc_autostr *path = NULL;
	int r;

	if (set && (strstr(set, "://") || gpc_store_lacks_slashes(set))) {
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
