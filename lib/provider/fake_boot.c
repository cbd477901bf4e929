/* The same launcher and the same node.json as those of the provider local, so
 * that what an agent meets on a pretend machine is what it meets on a real
 * one: a birth rule, a lifetime, an end. */
#include "provider/fake_boot.h"

#include <signal.h>

#include "base/crash.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/time.h"
#include "provider/cgroup.h"
#include "provider/node_file.h"
#include "provider/procs.h"
#include "provider/spawn.h"

enum { TERM_WAIT_MS = 3000, KILL_WAIT_MS = 2000, POLL_MS = 10 };

static char *folder(const char *dir, const char *id)
{
	return gpc_format("%s/run/%s", dir, id);
}

static void fill(struct gpc_node_file *f, const struct gpc_launch *l,
	const struct gpc_fake_node *n)
{
	char boot[64];

	f->v = 1;
	f->id = gpc_strdup(n->id);
	f->token = gpc_strdup(n->token);
	f->job = gpc_strdup(l->job);
	f->attempt = l->attempt;
	f->index = n->index;
	f->store_url = gpc_strdup(l->store_url);
	gpc_strv_copy(&f->buckets, &l->buckets);
	gpc_pairs_copy(&f->tags, &n->tags);
	f->market = gpc_strdup(l->offer.market);
	f->boot = gpc_strdup(gpc_boot_id(boot));
	f->created_ms = gpc_wall_ms();
	f->created_boot_ms = gpc_boot_ms();
	f->expires_ms = n->expires_ms;
	f->cpus_milli = l->cpus_at_least ? 0 : (int64_t)(l->cpus * 1000);
	f->memory_bytes = l->memory_at_least ? 0 : l->memory_bytes;
}

int gpc_fake_boot_start(const char *dir,
	const struct gpc_provider_context *ctx, const struct gpc_launch *l, const struct gpc_fake_node *n,
	struct gpc_error *err)
{
	gpc_autostr *path = folder(dir, n->id);
	gpc_auto(gpc_node_file) struct gpc_node_file f = {0};
	int r = gpc_node_file_read(path, &f, err);

	if (r == -GPC_ENOTFOUND) {
		fill(&f, l, n);
		r = gpc_mkdirs(path, 0700, err);
		GPC_CRASH("fake.dir_made");
		if (r == 0)
			r = gpc_node_file_write(path, &f, err);
		GPC_CRASH("fake.file_written");
	}
	if (r < 0 || f.pid != 0)
		return r;
	return gpc_spawn_launcher(&(struct gpc_spawn){
		.self_path = ctx->self_path, .dir = path, .job = f.job,
		.store_url = f.store_url, .buckets = &f.buckets,
		.ca_file = ctx->ca_file,
	}, err);
}

bool gpc_fake_boot_alive(const char *dir, const char *id)
{
	gpc_autostr *path = folder(dir, id);
	gpc_auto(gpc_node_file) struct gpc_node_file f = {0};

	return gpc_node_file_read(path, &f, NULL) == 0 &&
		gpc_node_file_alive(&f);
}

static void signal_and_wait(const struct gpc_node_file *f, int sig, int64_t ms)
{
	int64_t end = gpc_boot_ms() + ms;

	if (gpc_node_file_alive(f))
		kill(f->pid, sig);
	while (gpc_node_file_alive(f) && gpc_boot_ms() < end)
		gpc_sleep_ms(POLL_MS);
}

int gpc_fake_boot_stop(const char *dir, const char *id, struct gpc_error *err)
{
	gpc_autostr *path = folder(dir, id);
	gpc_autostr *mark = gpc_format(GPC_NODE_ENV "=%s", id);
	gpc_auto(gpc_node_file) struct gpc_node_file f = {0};
	int64_t end;
	int r = gpc_node_file_read(path, &f, err);

	if (r < 0)
		return r == -GPC_ENOTFOUND ? 0 : r;
	signal_and_wait(&f, SIGTERM, TERM_WAIT_MS);
	signal_and_wait(&f, SIGKILL, KILL_WAIT_MS);
	end = gpc_boot_ms() + KILL_WAIT_MS;
	/* Twice empty: what is being forked now bears the mark as well. */
	for (int quiet = 0; quiet < 2;) {
		size_t left = gpc_cgroup_kill(path) + gpc_procs_kill_marked(mark);

		quiet = left ? 0 : quiet + 1;
		if (gpc_boot_ms() > end)
			return gpc_fail(err, GPC_ETIMEOUT,
				"%zu processes of node %s do not end", left, id);
		if (left)
			gpc_sleep_ms(POLL_MS);
	}
	GPC_CRASH("fake.killed");
	return gpc_rmtree(path, err);
}
