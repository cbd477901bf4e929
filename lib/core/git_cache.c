/* One bare repository for each address, to which commits are added one at a
 * time and without their history. A commit counts as there when a ref of ours
 * names it, and that is set after git has checked what it fetched: a run that
 * is killed leaves at worst objects that nothing names. The server is asked
 * what a name means each time; a whole commit id needs no server at all.
 */
#include "core/git_cache.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/time.h"
#include "core/git_old.h"
#include "dep/crypto.h"

#define LISTED_MAX ((size_t)64 << 20)
#define SHORT_LEAST 4               /* digits of an abbreviated commit */
#define KEPT "refs/gpucloud/commits/"
#define INCOMING "refs/gpucloud/incoming"

struct fetch {
	const struct gpc_git_call *call;
	const struct gpc_log *log;
	const char *ref;            /* as wanted; NULL = HEAD */
	struct gpc_git_call in_repo;
	struct gpc_git_found *found;
	bool resolved;              /* the server has answered */
};

void gpc_git_found_clear(struct gpc_git_found *f)
{
	free(f->repo);
	free(f->refname);
	*f = (struct gpc_git_found){0};
}

static bool is_commit_id(const char *s)
{
	return s && (gpc_is_hex(s, 40) || gpc_is_hex(s, 64));
}

/* A whole commit id in lower case; owned, NULL when ref is none. */
static char *whole_id(const char *ref)
{
	gpc_autostr *low = gpc_strdup(ref);

	for (char *p = low; p && *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return is_commit_id(low) ? gpc_steal(&low) : NULL;
}

static bool is_short_id(const char *s)
{
	size_t n = s ? strlen(s) : 0;

	return n >= SHORT_LEAST && n < 40 && gpc_is_hex(s, n);
}

/* --- what a name means ----------------------------------------------------- */
/* One line of ls-remote; false at the end. */
static bool next_ref(struct gpc_str *rest, struct gpc_str *id,
	struct gpc_str *name)
{
	struct gpc_str line;

	while (gpc_str_split(rest, '\n', &line)) {
		if (gpc_str_split(&line, '\t', id) && line.len > 0 &&
			(id->len == 40 || id->len == 64)) {
			*name = line;
			return true;
		}
	}
	return false;
}

/* The commit of a full name: of an annotated tag, what it points at. */
static bool look_up(const char *listed, const char *name,
	char ret_commit[65])
{
	gpc_autostr *peeled = gpc_format("%s^{}", name);
	struct gpc_str rest = gpc_str_of(listed), id, got;
	bool found = false;

	while (next_ref(&rest, &id, &got)) {
		bool better = gpc_str_eq(got, peeled);

		if (!better && (found || !gpc_str_eq(got, name)))
			continue;
		snprintf(ret_commit, 65, "%.*s", (int)id.len, id.ptr);
		found = true;
	}
	return found && is_commit_id(ret_commit);
}

/* Branches before tags, as `git clone --branch` has it. */
static bool choose(struct fetch *f, const char *listed)
{
	static const char *const before[] = {"refs/heads/", "refs/tags/",
		"refs/"};
	const char *ref = f->ref ? f->ref : "HEAD";
	bool whole = gpc_eq(ref, "HEAD") || gpc_starts_with(ref, "refs/");

	for (size_t i = 0; i < (whole ? 1 : 3); i++) {
		gpc_autostr *name = gpc_format("%s%s", whole ? "" : before[i],
			ref);

		if (look_up(listed, name, f->found->commit)) {
			gpc_set_str(&f->found->refname, name);
			return true;
		}
	}
	return false;
}

/* The one tip that begins with a short id; false when none or several do. */
static bool tip_with(struct fetch *f, const char *listed)
{
	struct gpc_str rest = gpc_str_of(listed), id, name;
	size_t n = strlen(f->ref);
	char first[65] = "";

	while (next_ref(&rest, &id, &name)) {
		if (strncmp(id.ptr, f->ref, n) != 0)
			continue;
		if (first[0] && !gpc_str_eq(id, first))
			return false;
		snprintf(first, sizeof(first), "%.*s", (int)id.len, id.ptr);
	}
	if (!first[0])
		return false;
	memcpy(f->found->commit, first, sizeof(first));
	return true;
}

static int list_refs(struct fetch *f, const char *const *patterns,
	struct gpc_buf *listed, struct gpc_error *err)
{
	const char *args[8] = {"ls-remote", "--", f->call->url};

	for (size_t i = 0; i < 3 && patterns[i]; i++)
		args[3 + i] = patterns[i];
	gpc_buf_init(listed, LISTED_MAX);
	return gpc_git_run(f->call, args, listed, err);
}

static int no_such_ref(struct fetch *f, const char *listed,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0}, few = {0};
	struct gpc_str rest = gpc_str_of(listed), id, name;
	const char *near;
	int r;

	while (names.n < 20000 && next_ref(&rest, &id, &name)) {
		size_t skip = name.len > 11 &&
			strncmp(name.ptr, "refs/heads/", 11) == 0 ? 11 :
			name.len > 10 &&
			strncmp(name.ptr, "refs/tags/", 10) == 0 ? 10 : 0;

		if (skip && name.ptr[name.len - 1] != '}')
			gpc_strv_take(&names, gpc_strndup(name.ptr + skip,
				name.len - skip));
	}
	if (!f->ref)
		return gpc_fail(err, GPC_ECONFIG, "the repository has no "
			"default branch%s", names.n ? "" : ": it is empty");
	r = gpc_fail(err, GPC_ECONFIG, "the repository has no branch, tag or "
		"commit \"%s\"", f->ref);
	near = gpc_nearest(f->ref, (const char *const *)names.v, names.n);
	if (near) {
		gpc_hint(err, "did you mean %s?", near);
	} else if (names.n) {
		for (size_t i = 0; i < names.n && i < 5; i++)
			gpc_strv_add(&few, names.v[i]);
		gpc_autostr *some = gpc_strv_join(&few, ", ");

		gpc_hint(err, "it has %s", some);
	}
	return r;
}

/* Sets commit and refname; a short id of no tip leaves commit "". */
static int resolve(struct fetch *f, struct gpc_error *err)
{
	gpc_autostr *peeled = f->ref ? gpc_format("%s^{}", f->ref) : NULL;
	const char *const one[] = {f->ref ? f->ref : "HEAD", peeled, NULL};
	const char *const all[] = {NULL};
	gpc_auto(gpc_buf) struct gpc_buf some = {0}, whole = {0};
	int r = list_refs(f, one, &some, err);

	if (r || choose(f, gpc_buf_str(&some)))
		return r;
	f->found->commit[0] = '\0';
	r = list_refs(f, all, &whole, err);
	if (r)
		return r;
	if (is_short_id(f->ref)) {
		tip_with(f, gpc_buf_str(&whole));
		return 0;
	}
	return no_such_ref(f, gpc_buf_str(&whole), err);
}

/* --- the repository -------------------------------------------------------- */
static int init_repo(struct fetch *f, const char *repo, bool sha256,
	struct gpc_error *err)
{
	/* no program of the user's configuration changes what files hold */
	static const char attributes[] = "* -filter\n";
	gpc_autostr *made = gpc_format("%s.new", repo);
	gpc_autostr *info = gpc_path_join(made, "info");
	gpc_autostr *file = gpc_path_join(info, "attributes");
	const char *args[] = {"init", "--quiet", "--bare", "--template=",
		sha256 ? "--object-format=sha256" : "--", made, NULL};
	struct gpc_git_call call = *f->call;
	int r = gpc_rmtree(made, err);

	call.url = NULL;
	if (!r)
		r = gpc_git_run(&call, args, NULL, err);
	if (!r)
		r = gpc_mkdirs(info, 0700, err);
	if (!r)
		r = gpc_write_file(file, attributes, sizeof(attributes) - 1,
			0600, err);
	if (!r && rename(made, repo) < 0)
		r = gpc_fail_sys(err, errno, "cannot make %s", repo);
	return r;
}

static bool is_there(const char *path)
{
	gpc_autofd fd = -1;

	return gpc_open(path, 0, 0, &fd, NULL) == 0;
}

static int has_commit(struct fetch *f, const char *id, bool *ret_has,
	struct gpc_error *err)
{
	gpc_autostr *name = gpc_format(KEPT "%s", id);
	const char *args[] = {"for-each-ref", "--format=%(objectname)", "--",
		name, NULL};
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int r;

	*ret_has = false;
	if (!is_there(f->found->repo))
		return 0;
	r = gpc_git_run(&f->in_repo, args, &b, err);
	*ret_has = r == 0 && gpc_starts_with(gpc_buf_str(&b), id);
	return r;
}

/* The commit that a name of the repository stands for; "" when there is none. */
static int parse_commit(struct fetch *f, const char *name, char ret_commit[65],
	struct gpc_error *err)
{
	gpc_autostr *what = gpc_format("%s^{commit}", name);
	const char *args[] = {"rev-parse", "--verify", "--quiet", what, NULL};
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *id = NULL;
	struct gpc_str line;
	int r = gpc_git_run(&f->in_repo, args, &b, err);

	ret_commit[0] = '\0';
	if (r == -GPC_EIO)      /* which is also how it says no */
		return 0;
	if (r)
		return r;
	line = gpc_str_trim(gpc_str_of(gpc_buf_str(&b)));
	id = gpc_strndup(line.ptr, line.len);
	if (is_commit_id(id))
		memcpy(ret_commit, id, line.len + 1);
	return 0;
}

/* --- fetching -------------------------------------------------------------- */
static int fetch_one(struct fetch *f, const char *what, struct gpc_error *err)
{
	gpc_autostr *refspec = gpc_format("+%s:" INCOMING, what);
	const char *args[] = {"fetch", "--quiet", "--depth=1", "--no-tags",
		"--update-shallow", "--no-recurse-submodules", "--",
		f->call->url, refspec, NULL};
	int r = gpc_git_run(&f->in_repo, args, NULL, err);

	return r ? r : parse_commit(f, INCOMING, f->found->commit, err);
}

/* For what a server does not give by itself. */
static int fetch_all(struct fetch *f, struct gpc_error *err)
{
	gpc_autostr *shallow = gpc_path_join(f->found->repo, "shallow");
	const char *args[] = {"fetch", "--quiet", "--no-tags",
		"--update-shallow", "--no-recurse-submodules",
		is_there(shallow) ? "--unshallow" : "--force", "--",
		f->call->url, "+refs/heads/*:refs/gpucloud/heads/*",
		"+refs/tags/*:refs/gpucloud/tags/*", NULL};

	gpc_log(f->log, GPC_INFO, "%s: fetching the whole history to find %s",
		f->call->url, f->ref);
	return gpc_git_run(&f->in_repo, args, NULL, err);
}

static int fetch_history(struct fetch *f, struct gpc_error *err)
{
	int r = fetch_all(f, err);

	if (!r)
		r = parse_commit(f, f->ref, f->found->commit, err);
	if (r || f->found->commit[0])
		return r;
	r = gpc_fail(err, GPC_ECONFIG, "the repository has no branch, tag or "
		"commit \"%s\"", f->ref);
	gpc_hint(err, "%s", is_short_id(f->ref) ? "give the commit with all of "
		"its digits" : "is it pushed? only commits of branches and "
		"tags can be had");
	return r;
}

static int fetch_any(struct fetch *f, struct gpc_error *err)
{
	struct gpc_git_found *found = f->found;
	gpc_autostr *id = gpc_strdup(found->commit);
	int r = 0;

	if (!id[0])
		return fetch_history(f, err);
	gpc_log(f->log, GPC_INFO, "fetching %.12s of %s", id, f->call->url);
	r = fetch_one(f, id, err);
	if (r == -GPC_ENOTFOUND && found->refname)
		r = fetch_one(f, found->refname, err);
	else if (r == -GPC_ENOTFOUND)
		r = fetch_history(f, err);
	if (r == 0 && !found->commit[0])
		r = gpc_fail(err, GPC_ECONFIG, "\"%s\" of the repository is no "
			"commit", f->ref ? f->ref : "HEAD");
	return r;
}

/* From now on it counts as there. */
static int keep(struct fetch *f, struct gpc_error *err)
{
	gpc_autostr *name = gpc_format(KEPT "%s", f->found->commit);
	const char *args[] = {"update-ref", "--no-deref", name,
		f->found->commit, NULL};

	return gpc_git_run(&f->in_repo, args, NULL, err);
}

static int get(struct fetch *f, struct gpc_error *err)
{
	struct gpc_git_found *found = f->found;
	gpc_autostr *id = whole_id(f->ref);
	bool has = false;
	int r = 0;

	found->fetched = false;
	found->commit[0] = '\0';
	gpc_set_str(&found->refname, NULL);
	if (id)
		memcpy(found->commit, id, strlen(id) + 1);
	else
		r = resolve(f, err);
	f->resolved = r == 0;
	if (!r && found->commit[0])
		r = has_commit(f, found->commit, &has, err);
	if (r || has)
		return r;
	if (!is_there(found->repo))
		r = init_repo(f, found->repo, strlen(found->commit) == 64, err);
	found->fetched = true;
	if (!r)
		r = fetch_any(f, err);
	return r ? r : keep(f, err);
}

/* --- one at a time --------------------------------------------------------- */
static int lock(const struct gpc_git_call *call, const char *repo,
	const struct gpc_log *log, int *ret_lock, struct gpc_error *err)
{
	gpc_autostr *path = gpc_format("%s.lock", repo);
	bool said = false;
	int r;

	while ((r = gpc_lock_file(path, false, ret_lock, err)) ==
		-GPC_ECONFLICT) {
		if (gpc_canceled(call->cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
		if (!said)
			gpc_log(log, GPC_INFO, "another process fetches from "
				"the same repository: waiting for it");
		said = true;
		gpc_sleep_ms(100);
	}
	return r;
}

/* A cache that git finds fault with is made anew, once. */
int gpc_git_cache_get(const struct gpc_git_call *call, const char *dir,
	const char *ref, const struct gpc_log *log,
	struct gpc_git_found *ret_found, int *ret_lock, struct gpc_error *err)
{
	gpc_auto(gpc_git_found) struct gpc_git_found found = {0};
	struct fetch f = {.call = call, .log = log, .ref = ref,
		.in_repo = *call, .found = &found};
	gpc_autofd held = -1;
	char hex[GPC_SHA256_HEX];
	bool old;
	int r;

	gpc_sha256_hex(call->url, strlen(call->url), hex);
	hex[32] = '\0';
	found.repo = gpc_path_join(dir, hex);
	f.in_repo.git_dir = found.repo;
	r = lock(call, found.repo, log, &held, err);
	if (r)
		return r;
	old = is_there(found.repo);
	r = get(&f, err);
	if (r == -GPC_EIO && err->sys != ENOSPC && old && f.resolved) {
		gpc_log(log, GPC_VERBOSE, "%s is made anew: %s", found.repo,
			err->msg);
		r = gpc_rmtree(found.repo, err);
		if (!r)
			r = get(&f, err);
	}
	/* Of an address that was never fetched nothing stays, its lock included. */
	if (r && !old)
		(void)!gpc_git_old_remove(found.repo, NULL);
	if (r)
		return r;
	*ret_found = found;
	found = (struct gpc_git_found){0};
	*ret_lock = held;
	held = -1;
	return 0;
}
