/* `config trust`: to say that one has read a project's file. It shows what the
 * file is thereby allowed to decide before it asks; what is then trusted is the
 * text that was shown.
 */
#define _XOPEN_SOURCE 700         /* realpath */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "cmd/config_load.h"
#include "cmd/config_options.h"
#include "cmd/config_trust.h"
#include "cmd/config_verbs.h"

enum state { TRUSTED, CHANGED, MISSING };
static const char *const states[] = {"trusted", "changed", "missing", NULL};

struct row {
	enum state state;
	const char *path, *sum;
};

static const struct gpc_col cols[] = {
	GPC_COL("state", ENUM, struct row, state, 0, .names = states),
	GPC_COL("path", STR, struct row, path, GPC_COL_F_NAME),
	GPC_COL("sha256", STR, struct row, sum, GPC_COL_F_WIDE),
	GPC_COL_LAST
};
static const struct gpc_table table = {"trust", cols, sizeof(struct row)};

static enum state state_of(const struct gpc_trusted *t)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	char sum[GPC_SHA256_HEX];
	bool ignored;

	if (gpc_config_read_text(t->path, &b, &ignored, NULL))
		return MISSING;
	return gpc_eq(gpc_sha256_hex(gpc_buf_str(&b), b.len, sum), t->sum) ?
		TRUSTED : CHANGED;
}

static int list(struct gpc_cmd *c, struct gpc_error *err)
{
	gpc_auto(gpc_trust) struct gpc_trust t = {0};
	GPC_VEC(struct row) rows = {0};
	int r = gpc_trust_read(&t, err);

	if (r)
		return r;
	gpc_vec_each(e, &t.v)
		*gpc_vec_push(&rows) = (struct row){state_of(e), e->path,
			e->sum};
	r = gpc_out_rows(&c->out, &table, rows.v, rows.n, err);
	gpc_vec_free(&rows);
	return r;
}

/* As the current folder names itself, without links. */
static int path_of(const char *word, char **ret_path, struct gpc_error *err)
{
	gpc_autostr *path = NULL, *folder = NULL, *real = NULL;
	struct stat st;
	int r = word ? gpc_path_absolute(word, &path, err) :
		gpc_config_project_path(&path, err);

	if (r)
		return r;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		folder = gpc_steal(&path);
		path = gpc_path_join(folder, ".gpucloud.yaml");
	}
	gpc_autostr *dir = gpc_path_dir(path);
	real = realpath(dir, NULL);
	*ret_path = gpc_path_join(real ? real : dir, gpc_path_base(path));
	return 0;
}

static void add_guarded(const struct gpc_config *c, struct gpc_strv *lines)
{
	struct gpc_config_extra extra;

	for (int i = 0; i < GPC_CONFIG__COUNT; i++) {
		if (c->v[i].origin == GPC_FROM_PROJECT &&
			gpc_config_fields[i].user_only)
			gpc_strv_addf(lines, "  %s: %s",
				gpc_config_fields[i].name, c->v[i].text);
	}
	gpc_vec_each(m, &c->more) {
		gpc_autostr *value = gpc_strv_join(&m->items, ", ");

		if (gpc_config_options.find(m->name, &extra) && extra.guarded)
			gpc_strv_addf(lines, "  %s: %s", m->name, value);
	}
}

/* The lines that need trust, of a text that is right. */
static int read_guarded(const char *path, const struct gpc_buf *text,
	struct gpc_strv *lines, struct gpc_error *err)
{
	gpc_auto(gpc_config) struct gpc_config c = {0};
	int r;

	gpc_config_init(&c);
	c.extension = &gpc_config_options;
	c.guard = GPC_GUARD_TRUST;
	r = gpc_config_read(&c, GPC_FROM_PROJECT, gpc_buf_str(text), text->len,
		path, NULL, err);
	if (!r)
		add_guarded(&c, lines);
	return r;
}

/* Without a terminal the command itself is the answer. */
static int agree(struct gpc_cmd *c, const char *path,
	const struct gpc_strv *lines, struct gpc_error *err)
{
	struct gpc_talk talk = c->talk;
	bool asks = gpc_can_ask(&talk);

	talk.quiet = talk.quiet && !asks;       /* -q asks as well */
	gpc_say(&talk, "gpucloud: %s sets", path);
	for (size_t i = 0; i < lines->n; i++)
		gpc_say(&talk, "%s", lines->v[i]);
	if (!asks || gpc_ask(&talk, "Trust it?"))
		return 0;
	return gpc_fail(err, GPC_ECANCELED, "%s is not trusted", path);
}

static int trust(struct gpc_cmd *c, const char *path, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	gpc_auto(gpc_strv) struct gpc_strv lines = {0};
	bool ignored;
	int r = gpc_config_read_text(path, &text, &ignored, err);

	if (r == -GPC_ENOTFOUND)
		gpc_hint(err, "nothing needs trust without a project's file: it is "
			"called .gpucloud.yaml, and `gpucloud config --project set "
			"KEY VALUE` makes one in the current folder");
	if (!r)
		r = read_guarded(path, &text, &lines, err);
	if (r)
		return r;
	if (!lines.n) {
		gpc_say(&c->talk, "gpucloud: %s sets nothing that needs trust",
			path);
		return 0;
	}
	r = agree(c, path, &lines, err);
	if (!r)
		r = gpc_trust_set(path, gpc_buf_str(&text), text.len, err);
	if (!r)
		gpc_say(&c->talk, "gpucloud: it is trusted until it changes");
	return r;
}

int gpc_config_trust_verb(struct gpc_cmd *c, const char *file,
	struct gpc_error *err)
{
	const struct gpc_config_cli *o = c->ctx;
	gpc_autostr *path = NULL;
	int r;

	if (o->list)
		return file ? gpc_fail(err, GPC_EUSAGE, "config trust: --list "
			"takes no file") : list(c, err);
	r = path_of(file, &path, err);
	if (r)
		return r;
	return o->remove ? gpc_trust_set(path, NULL, 0, err) :
		trust(c, path, err);
}
