/* This machine as a provider: a node is a folder nodes/<token> below the state
 * folder, and a launcher process that lives as long as the node does.
 *
 * Making the folder is the purchase: the same token finds the same node, and a
 * create that was cut short anywhere is finished by the next one with that
 * token. Two launchers of one node cannot be: the launcher holds a lock and
 * refuses a node that already had one. GPUs are handed out under one lock for
 * all stores of this user. */
#include "provider/provider.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/time.h"
#include "provider/cgroup.h"
#include "provider/discard.h"
#include "provider/gpu_match.h"
#include "provider/local_machine.h"
#include "provider/node_file.h"
#include "provider/own_disk.h"
#include "provider/procs.h"
#include "provider/spawn.h"

#define TAG_STORE "gpucloud-store"

enum {
	TERM_WAIT_MS = 3000, KILL_WAIT_MS = 2000, POLL_MS = 10,
	START_WAIT_MS = 10 * 60 * 1000,   /* an unanswered create is void then */
};

struct local { char *nodes; };    /* <state>/nodes */

static struct local *self(const struct gpc_provider *p)
{
	return p->state;
}

static int local_open(struct gpc_provider *p, struct gpc_error *err)
{
	struct local *l = self(p);
	int r;

	l->nodes = gpc_path_join(p->ctx->state_dir, "nodes");
	r = gpc_mkdirs(l->nodes, 0700, err);
	if (r < 0)
		gpc_set_str(&l->nodes, NULL);
	return r;
}

static void local_close(struct gpc_provider *p)
{
	free(self(p)->nodes);
}

static int local_offers(struct gpc_provider *p, const struct gpc_ask *ask,
	struct gpc_offers *ret_offers, struct gpc_error *err)
{
	(void)err;
	gpc_local_offer(ask, p->ctx->price_per_hour, gpc_vec_push(ret_offers));
	return 0;
}

/* --- the folders ---------------------------------------------------------- */

/* fn returns non-zero to end the walk. Folders without a sound node.json are
 * creates under way or leftovers; they are passed by. One that cannot be read
 * now is an error: it would look gone. */
typedef int node_fn(const char *dir, struct gpc_node_file *n, void *arg);

static bool may_be_passed_by(int sys)
{
	return sys == 0 || sys == ENOENT || sys == ENOTDIR || sys == EACCES ||
		sys == EPERM;
}

static int each_node(const struct gpc_provider *p, node_fn *fn, void *arg,
	struct gpc_error *err)
{
	const char *nodes = self(p)->nodes;
	DIR *d = opendir(nodes);
	struct dirent *e;
	int r = 0;

	if (!d)
		return gpc_fail_sys(err, errno, "cannot list %s", nodes);
	while (r == 0 && (errno = 0, e = readdir(d))) {
		gpc_autostr *dir = gpc_path_join(nodes, e->d_name);
		gpc_auto(gpc_node_file) struct gpc_node_file n = {0};
		struct gpc_error why = {0};

		if (e->d_name[0] == '.')
			continue;
		r = gpc_node_file_read(dir, &n, &why);
		if (r == 0 && gpc_eq(n.id, e->d_name)) {
			r = fn(dir, &n, arg);
			continue;
		}
		if (r < 0 && !may_be_passed_by(why.sys)) {
			if (err)
				*err = why;
			continue;
		}
		/* Not louder: this is asked every second. */
		if (r < 0 && r != -GPC_ENOTFOUND)
			gpc_log(p->ctx->log, GPC_VERBOSE, "%s", why.msg);
		r = 0;
	}
	/* Half a list would make nodes look gone. */
	if (r == 0 && errno != 0)
		r = gpc_fail_sys(err, errno, "cannot list %s", nodes);
	closedir(d);
	return r;
}


static bool is_starting(const struct gpc_node_file *n)
{
	return n->pid == 0 && gpc_node_file_on_this_boot(n)
		&& gpc_boot_ms() - n->created_boot_ms < START_WAIT_MS;
}

/* --- create --------------------------------------------------------------- */

struct busy { bool gpu[GPC_LOCAL_MAX_GPUS]; };

static int mark_busy(const char *dir, struct gpc_node_file *n, void *arg)
{
	struct busy *b = arg;
	const struct gpc_json *g;

	(void)dir;
	if (!is_starting(n) && !gpc_node_file_alive(n))
		return 0;
	for (g = gpc_json_first(n->gpus); g; g = gpc_json_next(g)) {
		int64_t i = gpc_json_int_or(g, -1);

		if (i >= 0 && i < GPC_LOCAL_MAX_GPUS)
			b->gpu[i] = true;
	}
	return 0;
}

/* Takes the next `want` free GPUs of those that fit the offer. */
static int take_gpus(struct busy *busy, const struct gpc_launch *l,
	struct gpc_json **ret_gpus, struct gpc_error *err)
{
	bool fits[GPC_LOCAL_MAX_GPUS] = {0};
	gpc_autoptr(gpc_json) *gpus = NULL;
	int left = l->gpus;

	if (left <= 0)
		return 0;
	gpc_local_gpus(l->offer.gpu, fits);
	gpus = gpc_json_array();
	for (int i = 0; i < GPC_LOCAL_MAX_GPUS && left > 0; i++) {
		if (!fits[i] || busy->gpu[i])
			continue;
		busy->gpu[i] = true;
		gpc_json_add(gpus, gpc_json_int(i));
		left--;
	}
	if (left > 0)
		return gpc_fail(err, GPC_ECAPACITY,
			"%d of the %d GPUs asked for are in use on this machine",
			left, l->gpus);
	*ret_gpus = gpc_steal(&gpus);
	return 0;
}

static char *node_id(const struct gpc_launch *l, int index)
{
	return index ? gpc_format("%s-%d", l->token, index)
		: gpc_strdup(l->token);
}

static void fill_node(struct gpc_node_file *n, const struct gpc_provider *p,
	const struct gpc_launch *l, int index)
{
	char boot[64];

	n->v = 1;
	n->id = node_id(l, index);
	n->token = gpc_strdup(l->token);
	n->job = gpc_strdup(l->job);
	n->attempt = l->attempt;
	n->index = index;
	n->store_url = gpc_strdup(l->store_url);
	gpc_strv_copy(&n->buckets, &l->buckets);
	gpc_pairs_copy(&n->tags, &l->tags);
	n->market = gpc_strdup(l->offer.market);
	n->boot = gpc_strdup(gpc_boot_id(boot));
	n->created_ms = gpc_wall_ms();
	n->created_boot_ms = gpc_boot_ms();
	n->expires_ms = l->expires_ms;
	n->cpus_milli = l->cpus_at_least ? 0 : (int64_t)(l->cpus * 1000);
	n->memory_bytes = l->memory_at_least ? 0 : l->memory_bytes;
	n->user_home = p->ctx->user_home;
}

struct nodes { GPC_VEC(struct gpc_node_file) v; };

static void nodes_clear(struct nodes *x)
{
	for (size_t i = 0; i < x->v.n; i++)
		gpc_node_file_clear(&x->v.v[i]);
	gpc_vec_free(&x->v);
}

/* Reads those that exist and decides the others, all of them before anything
 * is written: all or none. Missing ones are marked by v == -1. */
static int plan_nodes(struct gpc_provider *p, const struct gpc_launch *l,
	struct nodes *ret, struct gpc_error *err)
{
	struct busy busy = {0};
	int r = each_node(p, mark_busy, &busy, err);

	for (int i = 0; r == 0 && i < l->count; i++) {
		gpc_autostr *id = node_id(l, i);
		gpc_autostr *dir = gpc_path_join(self(p)->nodes, id);
		struct gpc_node_file *n = gpc_vec_push(&ret->v);

		r = gpc_node_file_read(dir, n, err);
		if (r != -GPC_ENOTFOUND)
			continue;
		fill_node(n, p, l, i);
		r = take_gpus(&busy, l, &n->gpus, err);
		n->v = -1;
	}
	return r;
}

static int make_node(struct gpc_provider *p, struct gpc_node_file *n,
	struct gpc_error *err)
{
	gpc_autostr *dir = gpc_path_join(self(p)->nodes, n->id);
	int r = 0;

	if (n->v == -1) {
		r = gpc_mkdirs(dir, 0700, err);
		GPC_CRASH("local.dir_made");
		n->v = 1;
		if (r == 0)
			r = gpc_node_file_write(dir, n, err);
		GPC_CRASH("local.file_written");
		if (r == 0)
			r = gpc_fsync_dir(self(p)->nodes, err);
		GPC_CRASH("local.bought");
	}
	if (r < 0 || n->pid != 0)
		return r;
	r = gpc_spawn_launcher(&(struct gpc_spawn){
		.self_path = p->ctx->self_path, .dir = dir, .job = n->job,
		.store_url = n->store_url, .buckets = &n->buckets,
		.ca_file = p->ctx->ca_file,
	}, err);
	GPC_CRASH("local.launched");
	if (r == 0 || gpc_node_file_alive(n))
		return r;
	/* It may have found that another one was started meanwhile. */
	{
		gpc_auto(gpc_node_file) struct gpc_node_file now = {0};

		if (gpc_node_file_read(dir, &now, NULL) == 0 && now.pid != 0)
			return 0;
	}
	return r;
}

static void add_instance(const struct gpc_node_file *n,
	struct gpc_instances *to)
{
	struct gpc_instance *x = gpc_vec_push(to);

	x->id = gpc_strdup(n->id);
	x->token = gpc_strdup(n->token);
	gpc_pairs_copy(&x->tags, &n->tags);
	x->created_ms = n->created_ms;
	x->expires_ms = n->expires_ms;
	if (gpc_node_file_alive(n)) {
		x->state = GPC_INSTANCE_RUNNING;
	} else if (is_starting(n)) {
		x->state = GPC_INSTANCE_STARTING;
	} else {
		x->state = GPC_INSTANCE_GONE;
		x->why = gpc_strdup(n->why ? n->why
			: !gpc_node_file_on_this_boot(n) ? "this machine was restarted"
			: n->pid == 0 ? "it was never started"
			: "its launcher was killed");
	}
}

/* What a removal that was cut short left. */
static void sweep_gone(const char *nodes)
{
	DIR *d = opendir(nodes);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		gpc_autostr *dir = gpc_path_join(nodes, e->d_name);

		if (gpc_starts_with(e->d_name, ".gone-")
			&& gpc_discard(dir, NULL) < 0)
			continue;     /* the next create tries again */
	}
	if (d)
		closedir(d);
}

static int check_token(const struct gpc_launch *l, struct gpc_error *err)
{
	if (!l->token || strchr(l->token, '/') || l->token[0] == '.'
		|| !gpc_path_is_inside(l->token) || l->count < 1)
		return gpc_fail(err, GPC_ECONFIG, "bad token \"%s\" or count %d",
			l->token ? l->token : "", l->count);
	return 0;
}

static int local_create(struct gpc_provider *p, const struct gpc_launch *l,
	struct gpc_instances *ret, struct gpc_error *err)
{
	gpc_autostr *lock_path = gpc_path_join(self(p)->nodes, ".lock");
	gpc_auto(gpc_instances) struct gpc_instances made = {0};
	struct nodes nodes = {0};
	gpc_autofd lock = -1;
	int r = check_token(l, err);

	if (r == 0)
		r = gpc_lock_file(lock_path, true, &lock, err);
	if (r == 0) {
		sweep_gone(self(p)->nodes);
		r = plan_nodes(p, l, &nodes, err);
	}
	for (size_t i = 0; r == 0 && i < nodes.v.n; i++)
		r = make_node(p, &nodes.v.v[i], err);
	for (size_t i = 0; r == 0 && i < nodes.v.n; i++) {
		struct gpc_node_file *n = &nodes.v.v[i];
		gpc_autostr *dir = gpc_path_join(self(p)->nodes, n->id);

		gpc_node_file_clear(n);
		r = gpc_node_file_read(dir, n, err);
		if (r == 0)
			add_instance(n, &made);
	}
	nodes_clear(&nodes);
	if (r < 0)
		return gpc_own_disk_error(r, err);
	*ret = made;
	made = (struct gpc_instances){0};
	return 0;
}

/* --- list ----------------------------------------------------------------- */

struct listing { const char *store_id; struct gpc_instances *to; };

static bool is_ours(const struct gpc_node_file *n, const char *store_id)
{
	return gpc_eq(gpc_pairs_get(&n->tags, TAG_STORE), store_id);
}

static int list_node(const char *dir, struct gpc_node_file *n, void *arg)
{
	struct listing *l = arg;

	(void)dir;
	if (is_ours(n, l->store_id))
		add_instance(n, l->to);
	return 0;
}

static int local_list(struct gpc_provider *p, struct gpc_instances *ret,
	struct gpc_error *err)
{
	struct listing l = { .store_id = p->ctx->store_id, .to = ret };

	return each_node(p, list_node, &l, err);
}

/* --- destroy -------------------------------------------------------------- */

static bool wait_dead(const struct gpc_node_file *n, int64_t ms)
{
	int64_t end = gpc_boot_ms() + ms;

	while (gpc_node_file_alive(n)) {
		if (gpc_boot_ms() >= end)
			return false;
		gpc_sleep_ms(POLL_MS);
	}
	return true;
}

/* The launcher ends its whole tree on SIGTERM; whatever it could not (it may
 * have been killed itself) is found by control group and by mark. */
static int end_processes(const char *dir, const struct gpc_node_file *n,
	struct gpc_error *err)
{
	gpc_autostr *mark = gpc_format(GPC_NODE_ENV "=%s", n->id);
	int64_t end;

	if (gpc_node_file_alive(n)) {
		kill(n->pid, SIGTERM);
		if (!wait_dead(n, TERM_WAIT_MS)) {
			kill(n->pid, SIGKILL);
			wait_dead(n, KILL_WAIT_MS);
		}
	}
	end = gpc_boot_ms() + KILL_WAIT_MS;
	/* Twice empty: what is being forked now bears the mark as well. */
	for (int quiet = 0; quiet < 2;) {
		size_t left = gpc_cgroup_kill(dir) + gpc_procs_kill_marked(mark);

		quiet = left ? 0 : quiet + 1;
		if (gpc_boot_ms() > end)
			return gpc_fail(err, GPC_ETIMEOUT,
				"%zu processes of node %s do not end", left, n->id);
		if (left)
			gpc_sleep_ms(POLL_MS);
	}
	return 0;
}

/* Renamed first, so that a removal which is cut short is not half a node; the
 * next destroy or create ends it. */
static int remove_dir(const char *nodes, const char *id, const char *dir,
	struct gpc_error *err)
{
	gpc_autostr *name = gpc_format(".gone-%s", id);
	gpc_autostr *gone = gpc_path_join(nodes, name);

	if (rename(dir, gone) < 0 && errno != ENOENT)
		return gpc_fail_sys(err, errno, "cannot remove %s", dir);
	if (access(gone, F_OK) < 0)
		return errno == ENOENT ? 0 : gpc_fail_sys(err, errno,
			"cannot look at %s", gone);
	GPC_CRASH("local.renamed");
	return gpc_discard(gone, err);
}

static int destroy_one(struct gpc_provider *p, const char *id,
	struct gpc_error *err)
{
	const char *nodes = self(p)->nodes;
	gpc_autostr *dir = NULL;
	gpc_auto(gpc_node_file) struct gpc_node_file n = {0};
	struct gpc_error why = {0};
	struct stat st;
	int r;

	if (!gpc_path_is_inside(id) || strchr(id, '/') || id[0] == '.')
		return gpc_fail(err, GPC_EUSAGE, "bad node id \"%s\"", id);
	dir = gpc_path_join(nodes, id);
	if (lstat(dir, &st) < 0 && errno == ENOENT)
		return remove_dir(nodes, id, dir, err);
	r = gpc_node_file_read(dir, &n, &why);
	if (r == 0 && !is_ours(&n, p->ctx->store_id))
		return gpc_fail(err, GPC_ECONFLICT,
			"node %s belongs to another store", id);
	/* Without its file the mark still tells what belongs to it. */
	if (r < 0 && r != -GPC_ENOTFOUND)
		gpc_log(p->ctx->log, GPC_WARN, "%s", why.msg);
	gpc_set_str(&n.id, id);
	r = end_processes(dir, &n, err);
	GPC_CRASH("local.ended");
	return r < 0 ? r : remove_dir(nodes, id, dir, err);
}

static int local_destroy(struct gpc_provider *p, const char *const *ids,
	size_t n, struct gpc_error *err)
{
	gpc_autostr *lock_path = gpc_path_join(self(p)->nodes, ".lock");
	gpc_autofd lock = -1;
	int first = gpc_lock_file(lock_path, true, &lock, err);

	if (first < 0)
		return first;
	for (size_t i = 0; i < n; i++) {
		int r = destroy_one(p, ids[i], first < 0 ? NULL : err);

		if (r < 0 && first == 0)
			first = r;
	}
	return first;
}

const struct gpc_provider_ops gpc_provider_local = {
	.name = "local",
	.title = "This machine",
	.caps = GPC_PROVIDER_SPOT | GPC_PROVIDER_FREE | GPC_PROVIDER_THIS_HOST
		| GPC_PROVIDER_LISTS_AT_ONCE | GPC_PROVIDER_CALLERS,
	.state_size = sizeof(struct local),
	.open = local_open,
	.close = local_close,
	.offers = local_offers,
	.create = local_create,
	.list = local_list,
	.destroy = local_destroy,
};
