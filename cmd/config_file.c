/* Reading a configuration file to change it, and putting the new text in its
 * place: a file of its own beside it, flushed and renamed over it, so that a
 * full disk or a crash leaves the old one. A file that is a link (to a folder
 * of dot files, say) stays one: what it points to is written.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "cmd/config_load.h"
#include "cmd/config_options.h"
#include "cmd/config_verbs.h"

enum { MAX_LINKS = 40 };

void gpc_config_file_clear(struct gpc_config_file *f)
{
	free(f->shown);
	free(f->path);
	gpc_buf_clear(&f->text);
	*f = (struct gpc_config_file){0};
}

/* The last link's target need not exist. */
static int follow_links(const char *path, char **ret_path,
	struct gpc_error *err)
{
	gpc_autostr *at = gpc_strdup(path);
	char target[4096];

	for (int i = 0; i < MAX_LINKS; i++) {
		ssize_t n = readlink(at, target, sizeof(target));

		if (n < 0 || n == (ssize_t)sizeof(target)) {
			*ret_path = gpc_steal(&at);
			return 0;
		}
		gpc_autostr *dir = gpc_path_dir(at);
		gpc_autostr *word = gpc_strndup(target, (size_t)n);
		free(at);
		at = gpc_path_join(dir, word);
	}
	return gpc_fail_sys(err, ELOOP, "cannot follow the link %s", path);
}

/* A device such as /dev/null may be read; a new file over its name would take
 * it from everybody. */
static int not_a_file(const struct gpc_config_file *f, struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_ECONFIG, "%s is %s%s, which is not a file",
		f->shown, strcmp(f->shown, f->path) ? "a link to " : "",
		f->path);

	gpc_hint(err, "remove it, and the command makes a file");
	return r;
}

int gpc_config_file_read(bool project, struct gpc_config_file *ret_f,
	struct gpc_error *err)
{
	gpc_auto(gpc_config_file) struct gpc_config_file f = {0};
	struct stat st;
	bool ignored;
	int r = project ? gpc_config_project_path(&f.shown, err) :
		gpc_config_user_path(&f.shown, err);

	if (!r)
		r = follow_links(f.shown, &f.path, err);
	if (!r)
		r = gpc_config_read_text(f.path, &f.text, &ignored, err);
	if (r && r != -GPC_ENOTFOUND)
		return r;
	f.exists = !r;
	f.mode = project ? 0666 : 0600;
	if (f.exists && stat(f.path, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return not_a_file(&f, err);
		f.mode = st.st_mode & 0777;
	}
	gpc_buf_str(&f.text);
	*ret_f = f;
	f = (struct gpc_config_file){0};
	return 0;
}

/* Two of us at once take turns where there is a place for the lock; without
 * one, the second sees that the text has changed. */
static void take_lock(int *ret_fd)
{
	gpc_autostr *folder = NULL, *path = NULL;

	if (gpc_xdg(GPC_XDG_STATE, NULL, &folder, NULL) ||
		gpc_mkdirs(folder, 0700, NULL))
		return;
	path = gpc_path_join(folder, "config.lock");
	if (gpc_lock_file(path, true, ret_fd, NULL))
		*ret_fd = -1;
}

static int check_unchanged(const struct gpc_config_file *f,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf now = {0};
	bool ignored;
	int r = gpc_config_read_text(f->path, &now, &ignored, err);

	if (r && r != -GPC_ENOTFOUND)
		return r;
	if (!r == f->exists && now.len == f->text.len &&
		(!now.len || !memcmp(now.data, f->text.data, now.len)))
		return 0;
	r = gpc_fail(err, GPC_ECONFLICT, "%s was changed by somebody else "
		"meanwhile", f->shown);
	gpc_hint(err, "run the command again");
	return r;
}

int gpc_config_file_write(const struct gpc_config_file *f, const char *text,
	size_t n, struct gpc_error *err)
{
	gpc_autostr *folder = gpc_path_dir(f->path);
	gpc_autofd lock = -1;
	int r = gpc_mkdirs(folder, 0700, err);

	if (r) {
		gpc_hint(err, "XDG_CONFIG_HOME or HOME names the place of the user's "
			"file, --project takes the one beside the work");
		return r == -GPC_ENOTFOUND || r == -GPC_ECONFLICT ?
			gpc_recode(err, GPC_ECONFIG) : r;
	}
	take_lock(&lock);
	r = check_unchanged(f, err);
	return r ? r : gpc_write_file(f->path, text, n, f->mode, err);
}

int gpc_config_file_check(const struct gpc_config_file *f, bool project,
	const char *text, size_t n, struct gpc_error *err)
{
	gpc_auto(gpc_config) struct gpc_config c = {0};
	const char *profile;
	int r;

	gpc_config_init(&c);
	c.extension = &gpc_config_options;
	/* whether it is trusted is asked when it is used */
	c.guard = GPC_GUARD_TRUST;
	r = gpc_config_read(&c, project ? GPC_FROM_PROJECT : GPC_FROM_USER,
		text, n, f->shown, NULL, err);
	profile = r || project ? NULL : gpc_config_str(&c, GPC_CONFIG_PROFILE);
	if (!profile)
		return r;
	return gpc_config_read_profile(&c, profile,
		gpc_config_where(&c, GPC_CONFIG_PROFILE), text, n, f->shown,
		err);
}
