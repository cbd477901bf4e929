/* Gathering what a submit sends, and a last look at it: a key that is stored
 * with a job cannot be taken back, so it is named before anything is stored.
 */
#include "cmd/sent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "cmd/phrase.h"
#include "core/submit.h"

enum { NAMED = 10 };

const char *const gpc_credentials_words[] = {"warn", "refuse", "allow", NULL};

void gpc_sent_clear(struct gpc_sent *s)
{
	gpc_suspects_clear(&s->suspects);
	gpc_mounts_clear(&s->mounts);
	gpc_bucket_mounts_clear(&s->buckets);
	gpc_tree_clear(&s->tree);
	gpc_git_tree_clear(&s->git);
}

/* --- git ------------------------------------------------------------------- */
/* As in SkyPilot: of the task, else of the environment. */
static const char *variable(const struct gpc_spec *spec, const char *name)
{
	const char *value = gpc_pairs_get(&spec->secrets, name);

	if (!value)
		value = gpc_pairs_get(&spec->envs, name);
	if (!value)
		value = getenv(name);
	return value && *value ? value : NULL;
}

/* git runs elsewhere, and ssh would only mutter about a key that is not there.
 * *ret_path stays NULL without one. */
static int find_key(const struct gpc_spec *spec, char **ret_path,
	struct gpc_error *err)
{
	const char *given = variable(spec, "GIT_SSH_KEY_PATH");
	int r = given ? gpc_path_absolute(given, ret_path, err) : 0;

	if (r || !given || access(*ret_path, R_OK) == 0)
		return r;
	gpc_fail_sys(err, errno, "GIT_SSH_KEY_PATH: cannot read %s", *ret_path);
	return gpc_recode(err, GPC_ECONFIG);
}

static int scan_git(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_spec *spec, struct gpc_sent *sent,
	struct gpc_error *err)
{
	gpc_autostr *key = NULL;
	struct gpc_git_options how = {
		.token = variable(spec, "GIT_TOKEN"),
		.ask = gpc_can_ask(&c->talk),
	};
	int r = find_key(spec, &key, err);

	if (gpc_pairs_has(&spec->envs, "GIT_TOKEN"))
		gpc_log(&c->log, GPC_WARN, "envs.GIT_TOKEN is kept in the job's "
			"record; under secrets it is not");
	how.ssh_key = key;
	if (!r)
		r = gpc_git_take(s, spec, &how, &sent->git, err);
	return r ? r : gpc_git_scan(s, spec, &sent->git, &sent->tree, err);
}

/* --- credentials ----------------------------------------------------------- */
/* "a.pem (a private key), .env (tokens or passwords), and 3 more"; owned. */
static char *name_them(const struct gpc_suspects *list)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};

	for (size_t i = 0; i < list->n && i < NAMED; i++) {
		gpc_autostr *path = gpc_str_printable(list->v[i].path,
			strlen(list->v[i].path));

		gpc_strv_addf(&names, "%s (%s)", path, list->v[i].looks);
	}
	if (list->n > NAMED)
		gpc_strv_addf(&names, "and %zu more", list->n - NAMED);
	return gpc_strv_join(&names, ", ");
}

/* How to leave the first one out. Owned. */
static char *way_out(const struct gpc_suspects *list)
{
	const struct gpc_suspect *x = &list->v[0];
	gpc_autostr *path = gpc_str_printable(x->path, strlen(x->path));

	if (x->mount)
		return gpc_strdup("mount a folder without them, or give what "
			"the job needs as secrets (--secret NAME=@FILE)");
	return gpc_format("leave out what the job does not need by a line such "
		"as /%s in .gpucloudignore, and give the rest as secrets "
		"(--secret NAME=@FILE)", path);
}

static int check_suspects(const struct gpc_sent *sent, struct gpc_error *err)
{
	gpc_autostr *names = NULL, *way = NULL;
	int r;

	if (!sent->suspects.n)
		return 0;
	names = name_them(&sent->suspects);
	way = way_out(&sent->suspects);
	r = gpc_fail(err, GPC_ECONFIG, "what would be stored looks like "
		"credentials: %s", names);
	gpc_hint(err, "%s; --credentials=warn only warns", way);
	return r;
}

void gpc_sent_warn(struct gpc_cmd *c, const struct gpc_sent *sent)
{
	gpc_autostr *names = NULL, *way = NULL, *count = NULL;
	struct gpc_log log = c->log;

	if (!sent->suspects.n)
		return;
	/* A secret that is stored has gone wrong: -q does not hide it. */
	if (log.level < GPC_WARN)
		log.level = GPC_WARN;
	names = name_them(&sent->suspects);
	way = way_out(&sent->suspects);
	count = gpc_phrase_count(sent->suspects.n, "file");
	gpc_log(&log, GPC_WARN, "%s that would be stored with the job look%s "
		"like credentials: %s", count, sent->suspects.n == 1 ? "s" : "",
		names);
	gpc_say(&c->talk, "  hint: %s; --credentials=allow silences this", way);
}

/* --- the whole ------------------------------------------------------------- */
static int scan_workdir(struct gpc_session *s, const struct gpc_spec *spec,
	const struct gpc_sent_options *o, struct gpc_sent *sent,
	struct gpc_error *err)
{
	int r = gpc_submit_scan(s, spec, o->with_git, o->skip_unreadable,
		&sent->tree, err);

	if (r == -GPC_EIO && !o->skip_unreadable)
		gpc_hint(err, "change its permissions, name it in "
			".gpucloudignore, or let --skip-unreadable leave out "
			"what cannot be read");
	return r;
}

int gpc_sent_scan(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_spec *spec, const struct gpc_sent_options *o,
	struct gpc_sent *sent, struct gpc_error *err)
{
	int r = spec->workdir_git.url ? scan_git(c, s, spec, sent, err) :
		scan_workdir(s, spec, o, sent, err);

	if (!r)
		r = gpc_mounts_scan(s, spec, o->skip_unreadable,
			&sent->mounts, err);
	if (!r)
		r = gpc_bucket_mounts_look(s, spec, &sent->buckets, err);
	if (!r && o->credentials != GPC_CREDENTIALS_ALLOW)
		r = gpc_suspects_find(&sent->tree, &sent->mounts, s->cancel,
			&sent->suspects, err);
	if (!r && o->credentials == GPC_CREDENTIALS_REFUSE)
		r = check_suspects(sent, err);
	if (r != -GPC_ENOTFOUND)
		return r;
	/* it is the spec that names what is not there */
	return gpc_recode(err, GPC_ECONFIG);
}
