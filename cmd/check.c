/* `gpucloud check`: who we are to each cloud and to the store, where that comes from
 * and what it may do, asked of the services themselves. What is not set up is said
 * and is no failure, unless it was named; what is set up and does not work is one.
 */
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "cmd/check_store.h"
#include "cmd/command.h"
#include "cmd/config_options.h"
#include "core/session.h"
#include "creds/creds.h"

extern char **environ;

static const char *const states[] = {"ok", "not set up", "failed", "warning",
	NULL};
static const char *const words[] = {
	"local", "store", "aws", "alibaba", "gcp", NULL,
};
enum { LOCAL, STORE, FIRST_CLOUD };
#define CA_MAX_BYTES ((size_t)16 << 20)

static const struct gpc_col cols[] = {
	GPC_COL("name", STR, struct gpc_check_row, name, GPC_COL_F_NAME),
	GPC_COL("state", ENUM, struct gpc_check_row, state, 0, .names = states),
	GPC_COL("identity", STR, struct gpc_check_row, identity, GPC_COL_F_CUT),
	GPC_COL("account", STR, struct gpc_check_row, account, GPC_COL_F_WIDE),
	GPC_COL("source", STR, struct gpc_check_row, source, GPC_COL_F_CUT,
		.title = "from"),
	GPC_COL("expires_at", TIME, struct gpc_check_row, expires_ms, 0,
		.title = "until"),
	GPC_COL("region", STR, struct gpc_check_row, region, 0),
	GPC_COL("may", STRV, struct gpc_check_row, may, 0),
	GPC_COL("found", STR, struct gpc_check_row, found, GPC_COL_F_DATA),
	GPC_COL("problem", STR, struct gpc_check_row, problem, GPC_COL_F_CUT),
	GPC_COL("hint", STR, struct gpc_check_row, hint, GPC_COL_F_DATA),
	GPC_COL("searched", STR, struct gpc_check_row, searched,
		GPC_COL_F_DATA),
	GPC_COL_LAST
};
static const struct gpc_table table = {"check", cols,
	sizeof(struct gpc_check_row)};
/* For people, what a cloud's jobs rest on stands by itself. */
static const struct gpc_col line_cols[] = {
	GPC_COL("name", STR, struct gpc_check_row, name, GPC_COL_F_NAME),
	GPC_COL("state", ENUM, struct gpc_check_row, state, 0, .names = states),
	GPC_COL("found", STR, struct gpc_check_row, found, GPC_COL_F_CUT),
	GPC_COL("problem", STR, struct gpc_check_row, problem, GPC_COL_F_CUT),
	GPC_COL_LAST
};
static const struct gpc_table line_table = {"check", line_cols,
	sizeof(struct gpc_check_row)};

static void row_clear(struct gpc_check_row *row)
{
	free(row->own_name);
	free(row->found);
	free(row->identity);
	free(row->account);
	free(row->source);
	free(row->region);
	free(row->problem);
	free(row->hint);
	free(row->searched);
	gpc_strv_clear(&row->may);
}

/* --- one after the other --------------------------------------------------- */
/* That the configuration names certificates which are not there shows otherwise only
 * once a server is asked. */
static int check_ca_file(const struct gpc_cmd *c, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error why = {0};
	int r = c->ca_file ? gpc_read_file(c->ca_file, CA_MAX_BYTES, &b, &why) :
		0;

	if (!r && (!c->ca_file || strstr(gpc_buf_str(&b), "-----BEGIN ")))
		return 0;
	r = gpc_fail(err, GPC_ECONFIG, "%s: ca_file: %s",
		gpc_config_where(&c->config, GPC_CONFIG_CA_FILE), r ? why.msg :
		"there is no certificate in it");
	gpc_hint(err, "name a PEM file of certificates there, or take it out");
	return r;
}

/* Whether jobs can be kept here: their folders lie below this one. */
static void check_local(struct gpc_cmd *c, struct gpc_check_row *row)
{
	gpc_autostr *path = NULL;
	struct gpc_error why = {0};

	gpc_set_str(&row->identity,
		gpc_config_str(&c->config, GPC_CONFIG_OWNER));
	if (!row->identity)
		row->identity = gpc_session_owner_default();
	gpc_set_str(&row->source, "this machine");
	if (check_ca_file(c, &why) < 0)
		gpc_check_failed(row, &why);
	if (gpc_xdg(GPC_XDG_STATE, NULL, &path, &why) < 0) {
		gpc_check_failed(row, &why);
		return;
	}
	while (access(path, F_OK) < 0 && strcmp(path, "/") != 0) {
		char *above = gpc_path_dir(path);

		free(path);
		path = above;
	}
	if (access(path, W_OK | X_OK) == 0) {
		gpc_strv_add(&row->may, "run");
		return;
	}
	gpc_fail(&why, GPC_EAUTH, "%s cannot be written", path);
	gpc_hint(&why, "jobs on this machine need a folder for their nodes: set "
		"XDG_STATE_HOME");
	gpc_check_failed(row, &why);
}

static void take(struct gpc_check_row *row, const struct gpc_identity *i)
{
	gpc_set_str(&row->identity, i->name);
	if (!row->identity)
		gpc_set_str(&row->identity, i->id);
	gpc_set_str(&row->account, i->account);
	gpc_set_str(&row->source, i->source);
	row->expires_ms = i->expires_ms;
}

/* Where the configuration says that jobs run; NULL: not at this provider. */
static const char *needed_by(const struct gpc_cmd *c, const char *provider)
{
	const struct gpc_config_more *set = gpc_config_find_more(&c->config,
		"submit.infra");
	const char *infra = set && set->items.n ? set->items.v[0] : "";
	size_t n = strcspn(infra, "/");
	gpc_autostr *named = gpc_strndup(infra, n);

	return gpc_eq_nocase(named, provider) ? set->where : NULL;
}

/* Nothing is set up: no failure, unless the configuration needs it. */
static void check_need(const struct gpc_cmd *c, struct gpc_check_row *row,
	struct gpc_error *why)
{
	const char *where = needed_by(c, row->name);

	if (!where) {
		gpc_check_absent(row, why);
		return;
	}
	(void)gpc_wrap(why, -(int)why->code, "%s: submit.infra needs it", where);
	gpc_check_failed(row, why);
}

static void check_cloud(struct gpc_cmd *c, enum gpc_cloud cloud,
	struct gpc_check_row *row)
{
	const struct gpc_net_settings how = {
		.ca_file = c->ca_file, .max_tries = 3, .log = &c->log,
		.cancel = c->cancel,
	};
	const struct gpc_creds_settings who = {
		.cloud = cloud, .cancel = c->cancel,
		.no_prompt = !gpc_can_ask(&c->talk),
	};
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_autoptr(gpc_creds) *creds = gpc_creds_new(&who, net);
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	struct gpc_error why = {0};
	int r = gpc_creds_whoami(creds, &i, &why);

	take(row, &i);
	if (r && gpc_creds_nowhere(creds))
		check_need(c, row, &why);
	else if (r)
		gpc_check_failed(row, &why);
	else if (gpc_creds_region(creds, &row->region, &why) < 0)
		gpc_check_failed(row, &why);
}

static void check_one(struct gpc_cmd *c, size_t which, struct gpc_check_row *row)
{
	row->name = words[which];
	if (which == LOCAL)
		check_local(c, row);
	else if (which == STORE)
		gpc_check_store(c, row);
	else
		check_cloud(c, (enum gpc_cloud)(which - FIRST_CLOUD), row);
}

/* --- all of them ----------------------------------------------------------- */
static int find_word(const char *word, size_t *ret_which, struct gpc_error *err)
{
	const char *near;
	size_t n = 0;

	for (; words[n]; n++)
		if (gpc_eq(words[n], word)) {
			*ret_which = n;
			return 0;
		}
	near = gpc_nearest(word, words, n);
	gpc_fail(err, GPC_EUSAGE, "there is nothing \"%s\" to check", word);
	if (near)
		gpc_hint(err, "did you mean %s?", near);
	else
		gpc_hint(err, "it can check local, store, aws, alibaba and gcp");
	return -GPC_EUSAGE;
}

/* The first failure is the command's; what was named must also be set up. */
static int judge(const struct gpc_check_row *rows, size_t n, bool named,
	struct gpc_error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (rows[i].state == GPC_CHECK_OK ||
			rows[i].state == GPC_CHECK_WARNING ||
			(rows[i].state == GPC_CHECK_ABSENT && !named))
			continue;
		if (err)
			*err = rows[i].why;
		return gpc_wrap(err, -(int)rows[i].why.code, "%s",
			rows[i].name);
	}
	return 0;
}

/* For people: where to go on from "not set up". */
static void say_absent(struct gpc_cmd *c, const struct gpc_check_row *rows,
	size_t n)
{
	size_t i = 0;

	while (i < n && rows[i].state != GPC_CHECK_ABSENT)
		i++;
	if (i < n && n > 1 && c->out.format <= GPC_OUT_WIDE)
		gpc_say(&c->talk, "gpucloud: `gpucloud check %s` says how to "
			"set it up, and the same with each other name",
			rows[i].name);
}

static bool is_in_bucket(const struct gpc_cmd *c)
{
	return gpc_starts_with(c->store_url, "s3://");
}

static void check_store_line(struct gpc_cmd *c, struct gpc_check_rows *rows)
{
	struct gpc_check_row *row = gpc_vec_push(rows);

	check_one(c, STORE, row);
	if (row->may.n)
		row->found = gpc_strv_join(&row->may, ", ");
}

/* More is asked of a cloud that was named, or that jobs run at; whose store is its own
 * belongs to it. */
static void look_closer(struct gpc_cmd *c, size_t at, bool named,
	struct gpc_check_rows *rows)
{
	const char *cloud = rows->v[at].name;

	if (rows->v[at].state != GPC_CHECK_OK ||
		(!named && !needed_by(c, cloud)))
		return;
	gpc_check_ready(c, cloud, rows);
	if (named && gpc_eq(cloud, "aws") && is_in_bucket(c))
		check_store_line(c, rows);
}

/* Rows of one table, then lines; programs get all of them alike. */
static int show(struct gpc_cmd *c, const struct gpc_check_rows *rows,
	size_t n_first, struct gpc_error *err)
{
	bool people = c->out.format <= GPC_OUT_WIDE;
	int r = gpc_out_rows(&c->out, &table, rows->v, people ? n_first : rows->n,
		err);

	if (r || !people || rows->n == n_first)
		return r;
	r = gpc_out_print(&c->out, err, "\n");
	if (!r)
		r = gpc_out_rows(&c->out, &line_table, rows->v + n_first,
			rows->n - n_first, err);
	for (size_t i = n_first; !r && i < rows->n; i++)
		if (rows->v[i].hint)
			gpc_say(&c->talk, "gpucloud: %s: %s", rows->v[i].name,
				rows->v[i].hint);
	return r;
}

static int look(struct gpc_cmd *c, size_t first, size_t n,
	struct gpc_check_rows *rows, struct gpc_error *err)
{
	for (size_t i = 0; i < n && !gpc_canceled(c->cancel); i++)
		check_one(c, first + i, gpc_vec_push(rows));
	for (size_t i = 0; i < n && !gpc_canceled(c->cancel); i++)
		if (first + i >= FIRST_CLOUD)
			look_closer(c, i, n == 1, rows);
	return gpc_canceled(c->cancel) ?
		gpc_fail(err, GPC_ECANCELED, "interrupted") : 0;
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	struct gpc_check_rows rows = {0};
	size_t n = sizeof(words) / sizeof(*words) - 1, first = 0;
	int r = 0;

	if (c->argc) {
		n = 1;
		r = find_word(c->argv[0], &first, err);
	}
	/* Where jobs run may be said there as well. */
	if (!r)
		r = gpc_config_options_env(&c->config,
			gpc_command_find("submit"), environ, err);
	if (!r)
		r = look(c, first, n, &rows, err);
	if (!r)
		r = show(c, &rows, n, err);
	if (!r)
		say_absent(c, rows.v, rows.n);
	if (!r)
		r = judge(rows.v, rows.n, c->argc, err);
	gpc_vec_each(row, &rows)
		row_clear(row);
	gpc_vec_free(&rows);
	return r;
}

const struct gpc_command gpc_command_check = {
	.name = "check",
	.summary = "show who you are to clouds and store, and what works",
	.usage = "[OPTION]... [PROVIDER]",
	.about = "Asks each cloud who you are to it, and says where that comes "
		"from, until when it is good and in which region; and tries "
		"what the store lets you do: write, read, list, delete, and keep "
		"the journal of jobs. Of a cloud that is named it also says whether "
		"machines could be bought there now: permissions, the profile of "
		"nodes, images, network, quotas. PROVIDER is one of local, store, aws, "
		"alibaba, gcp; by default all of them are looked at, and clouds "
		"that nobody set up are no failure.\n"
		"Secrets are never shown. Objects that are put to try the store "
		"are deleted again.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.max_args = 1,
	.words = words,
	.complete = GPC_COMPLETE_WORDS,
	.run = run,
};
