/* `config edit`: the file in the user's editor.
 *
 * The editor gets a copy, which takes the file's place only when every line of
 * it is understood; otherwise the file stays as it was, and the copy is kept
 * and named. $VISUAL and $EDITOR are commands of a shell, as everywhere, so
 * that "code -w" works; the path is passed as an argument and never becomes
 * part of a command.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/rand.h"
#include "cmd/config_load.h"
#include "cmd/config_options.h"
#include "cmd/config_verbs.h"
#include "cmd/interrupt.h"

static const char *editor(void)
{
	static const char *const names[] = {"VISUAL", "EDITOR"};

	for (size_t i = 0; i < 2; i++) {
		const char *word = getenv(names[i]);

		if (word && *word)
			return word;
	}
	return "vi";
}

static int wait_for(pid_t pid, const char *command, struct gpc_error *err)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return gpc_fail_sys(err, errno, "cannot wait for %s",
				command);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	int r = WIFSIGNALED(status) ?
		gpc_fail(err, GPC_EIO, "the editor %s was ended by signal %d",
			command, WTERMSIG(status)) :
		gpc_fail(err, GPC_EIO, "the editor %s ended with status %d",
			command, WEXITSTATUS(status));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		gpc_hint(err, "set VISUAL or EDITOR to one that is here");
	return r;
}

static int run_editor(const char *path, struct gpc_error *err)
{
	/* the shell reads the command's words, but only the value of $2 */
	static const char script[] = "eval \"$1 \\\"\\$2\\\"\"";
	const char *command = editor();
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return gpc_fail_sys(err, errno, "cannot start %s", command);
	if (pid == 0) {
		gpc_signals_restore();
		execl("/bin/sh", "sh", "-c", script, "sh", command, path,
			(char *)NULL);
		_exit(127);
	}
	return wait_for(pid, command, err);
}

/* A new file begins with what could stand in it. */
static void add_template(struct gpc_buf *b, bool project)
{
	gpc_buf_adds(b, "# The configuration of gpucloud. gpucloud-config(5) "
		"describes the keys,\n# `gpucloud config list -o wide` shows "
		"all of them.\n");
	for (int i = 0; i < GPC_CONFIG__COUNT; i++) {
		const struct gpc_config_field *f = &gpc_config_fields[i];
		gpc_autostr *expected = gpc_config_expected(
			(enum gpc_config_key)i);

		if (!(project && f->user_only))
			gpc_buf_addf(b, "#\n# %s (%s)\n#%s: %s\n", f->doc,
				expected, f->name, f->preset ? f->preset : "");
	}
}

struct editing {
	struct gpc_cmd *c;
	bool project;
	struct gpc_config_file file;
	struct gpc_buf before, after;
	char *copy;
};

static void editing_clear(struct editing *e)
{
	gpc_config_file_clear(&e->file);
	gpc_buf_clear(&e->before);
	gpc_buf_clear(&e->after);
	free(e->copy);
}
GPC_CLEANUP_VALUE(editing);

/* Beside the file, so that what does not end in its place is easy to find. */
static int make_copy(struct editing *e, struct gpc_error *err)
{
	gpc_autostr *folder = gpc_path_dir(e->file.path);
	char word[9];
	int r = gpc_mkdirs(folder, 0700, err);

	if (r)
		return r;
	e->copy = gpc_format("%s/.config-edit-%s.yaml", folder,
		gpc_rand_base32(word, 8));
	if (e->file.exists)
		gpc_buf_add(&e->before, gpc_buf_str(&e->file.text),
			e->file.text.len);
	else
		add_template(&e->before, e->project);
	return gpc_write_file(e->copy, gpc_buf_str(&e->before), e->before.len,
		0600, err);
}

/* Until it is right or the user has had enough. */
static int edit_copy(struct editing *e, struct gpc_error *err)
{
	for (;;) {
		struct gpc_error why = {0};
		int r = run_editor(e->copy, err);

		if (r)
			return r;
		gpc_buf_clear(&e->after);
		r = gpc_read_file(e->copy, GPC_CONFIG_FILE_MAX, &e->after, err);
		if (r)
			return r;
		if (!gpc_config_file_check(&e->file, e->project,
			gpc_buf_str(&e->after), e->after.len, &why))
			return 0;
		gpc_say(&e->c->talk, "gpucloud: %s", why.msg);
		if (why.hint[0])
			gpc_say(&e->c->talk, "  hint: %s", why.hint);
		if (gpc_can_ask(&e->c->talk) && gpc_ask(&e->c->talk,
			"Edit it again?"))
			continue;
		*err = why;
		return -GPC_ECONFIG;
	}
}

static bool is_unchanged(const struct editing *e)
{
	return e->before.len == e->after.len && (!e->after.len ||
		!memcmp(e->before.data, e->after.data, e->after.len));
}

/* A copy that says nothing new is not worth keeping. */
static int give_up(struct editing *e, int r, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf now = {0};

	if (!gpc_read_file(e->copy, GPC_CONFIG_FILE_MAX, &now, NULL) &&
		now.len == e->before.len && (!now.len ||
		!memcmp(now.data, e->before.data, now.len))) {
		unlink(e->copy);
		return r;
	}
	gpc_hint(err, "%s is as it was; your text is in %s", e->file.shown,
		e->copy);
	return r;
}

int gpc_config_edit_verb(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct gpc_config_cli *o = c->ctx;
	gpc_auto(editing) struct editing e = {.c = c, .project = o->project};
	int r = gpc_config_file_read(o->project, &e.file, err);

	if (!r)
		r = make_copy(&e, err);
	if (r)
		return r;
	r = edit_copy(&e, err);
	if (!r && is_unchanged(&e)) {
		unlink(e.copy);
		gpc_say(&c->talk, "gpucloud: %s: nothing was changed",
			e.file.shown);
		return 0;
	}
	if (!r)
		r = gpc_config_file_write(&e.file, gpc_buf_str(&e.after),
			e.after.len, err);
	if (r)
		return give_up(&e, r, err);
	unlink(e.copy);
	gpc_say(&c->talk, "gpucloud: wrote %s", e.file.shown);
	return 0;
}
