/* `gpucloud init`: a starter spec that runs as it is. Nothing that exists is
 * replaced unless that is asked for.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cmd/command.h"
#include "model/templates.h"

#define DEFAULT "train"

struct init {
	const char *file;
	bool list, force, json;
};

static const struct gpc_opt options[] = {
	GPC_OPT_STR('o', "output", struct init, file, "FILE",
		"write it there; - means stdout", .preset = "gpucloud.yaml",
		.complete = GPC_COMPLETE_FILE, .guarded = true),
	GPC_OPT_FLAG('l', "list", struct init, list,
		"list the templates", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "json", struct init, json,
		"with --list: as JSON", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "force", struct init, force,
		"replace FILE if it exists", .key = GPC_OPT_NO_KEY),
	GPC_OPT_END
};

static int list(struct gpc_cmd *c, struct gpc_error *err)
{
	static const struct gpc_col cols[] = {
		GPC_COL("template", STR, struct gpc_template, name,
			GPC_COL_F_NAME),
		GPC_COL("about", STR, struct gpc_template, summary,
			GPC_COL_F_CUT),
		GPC_COL_LAST
	};
	static const struct gpc_table table = {"template", cols,
		sizeof(struct gpc_template)};
	const struct init *o = c->ctx;
	size_t n = 0;

	if (o->json)
		c->out.format = GPC_OUT_JSON;
	while (gpc_templates[n].name)
		n++;
	return gpc_out_rows(&c->out, &table, gpc_templates, n, err);
}

static int unknown(const char *word, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	int r = gpc_fail(err, GPC_ENOTFOUND, "there is no template \"%s\"", word);

	for (size_t i = 0; gpc_templates[i].name; i++)
		gpc_strv_add(&names, gpc_templates[i].name);
	const char *near = gpc_nearest(word, (const char *const *)names.v,
		names.n);
	gpc_autostr *all = gpc_strv_join(&names, ", ");
	if (near)
		gpc_hint(err, "did you mean %s?", near);
	else
		gpc_hint(err, "there are %s", all);
	return r;
}

/* O_EXCL: two of us, or a file that appears just now, lose nothing. */
static int write_new(const char *path, const char *text, struct gpc_error *err)
{
	gpc_autofd fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0 && errno == EEXIST) {
		int r = gpc_fail(err, GPC_ECONFLICT, "%s exists", path);

		gpc_hint(err, "--force replaces it, -o FILE writes another one");
		return r;
	}
	if (fd < 0)
		return gpc_fail_sys(err, errno, "cannot write %s", path);
	int r = gpc_write_all(fd, text, strlen(text), path, err);
	if (r)
		unlink(path);
	return r;
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct init *o = c->ctx;
	const char *word = c->argc ? c->argv[0] : DEFAULT;
	const struct gpc_template *t = gpc_template_find(word);
	int r;

	if (o->list)
		return list(c, err);
	if (!t)
		return unknown(word, err);
	if (gpc_eq(o->file, "-"))
		return gpc_out_print(&c->out, err, "%s", t->text);
	r = o->force ? gpc_write_file(o->file, t->text, strlen(t->text), 0666,
		err) : write_new(o->file, t->text, err);
	if (r)
		return r;
	gpc_autostr *quoted = gpc_shell_quote(o->file);
	gpc_say(&c->talk, "gpucloud: wrote %s; run it with\n"
		"  gpucloud submit %s", o->file, quoted);
	return 0;
}

const struct gpc_command gpc_command_init = {
	.name = "init",
	.summary = "write a starter spec here",
	.usage = "[OPTION]... [TEMPLATE]",
	.about = "Writes a commented spec that runs as it is, by default the "
		"template train. --list shows the others.",
	.group = GPC_GROUP_AROUND,
	.options = options,
	.ctx_size = sizeof(struct init),
	.max_args = 1,
	.complete = GPC_COMPLETE_TEMPLATE,
	.run = run,
};
