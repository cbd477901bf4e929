#define _GNU_SOURCE
/* Control groups below our own one, whatever mixture of version 1 and 2 the
 * machine has.
 *
 * Version 1 has a tree per controller, mounted at /sys/fs/cgroup/CONTROLLER;
 * version 2 one tree for all, where a controller reaches a child only if the
 * parent delegates it. Nothing here is an error: what cannot be made is left
 * out, and gpc_cgroup_limits_* says what the kernel keeps. */
#include "provider/cgroup.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/str.h"

#define ROOT "/sys/fs/cgroup"
#define NOTES "cgroups"           /* in the node's folder: one path a line */

enum { MAX_GROUPS = 4, SMALL = 1 << 16 };

struct gpc_cgroup {
	char *memory_dir;         /* the group that counts memory, or NULL */
	bool memory_v2;
	bool limits_cpus, limits_memory;
	int join[MAX_GROUPS];     /* open cgroup.procs files */
	size_t n_join;
};

/* --- small files ---------------------------------------------------------- */

static bool put_text(const char *dir, const char *file, const char *text)
{
	gpc_autostr *path = gpc_path_join(dir, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return ok;
}

static bool get_text(const char *dir, const char *file, struct gpc_buf *b)
{
	gpc_autostr *path = gpc_path_join(dir, file);

	return gpc_read_file(path, SMALL, b, NULL) == 0;
}

static uint64_t get_number(const char *dir, const char *file, const char *word)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_str rest, line;
	size_t len = strlen(word);
	uint64_t n = 0;

	if (!get_text(dir, file, &b))
		return 0;
	rest = gpc_str_of(gpc_buf_str(&b));
	while (gpc_str_split(&rest, '\n', &line)) {
		if (line.len <= len || memcmp(line.ptr, word, len) != 0)
			continue;
		for (size_t i = len; i < line.len && line.ptr[i] >= '0'
			&& line.ptr[i] <= '9'; i++)
			n = n * 10 + (uint64_t)(line.ptr[i] - '0');
		break;
	}
	return n;
}

/* --- where we are --------------------------------------------------------- */

static bool word_in(struct gpc_str words, char sep, const char *word)
{
	struct gpc_str part;

	while (gpc_str_split(&words, sep, &part))
		if (gpc_str_eq(gpc_str_trim(part), word))
			return true;
	return false;
}

/* The folder of our own group for a controller of version 1, or of version 2
 * when controller is "". NULL when there is none. */
static char *own_dir(const char *controller)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_str rest, line, number, names;
	const char *v2 = access(ROOT "/cgroup.controllers", F_OK) == 0
		? "" : "/unified";

	if (gpc_read_file("/proc/self/cgroup", SMALL, &b, NULL) < 0)
		return NULL;
	rest = gpc_str_of(gpc_buf_str(&b));
	while (gpc_str_split(&rest, '\n', &line)) {
		char *dir;

		if (!gpc_str_split(&line, ':', &number)
			|| !gpc_str_split(&line, ':', &names)
			|| !word_in(names, ',', controller))
			continue;
		dir = *controller
			? gpc_format(ROOT "/%s%.*s", controller, (int)line.len,
				line.ptr)
			: gpc_format(ROOT "%s%.*s", v2, (int)line.len, line.ptr);
		if (access(dir, W_OK) == 0)
			return dir;
		free(dir);
	}
	return NULL;
}

/* --- making --------------------------------------------------------------- */

static void note(const char *node_dir, const char *group)
{
	gpc_autostr *path = gpc_path_join(node_dir, NOTES);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	gpc_autostr *line = gpc_format("%s\n", group);

	if (fd < 0)
		return;
	if (gpc_write_all(fd, line, strlen(line), path, NULL) < 0)
		unlink(path);
	close(fd);
}

/* A child of our own group; NULL when it cannot be made or joined. */
static char *make_group(struct gpc_cgroup *c, const char *node_dir,
	const char *controller, const char *id)
{
	gpc_autostr *own = own_dir(controller);
	gpc_autostr *dir = NULL, *procs = NULL;
	int fd;

	if (!own || c->n_join == MAX_GROUPS)
		return NULL;
	dir = gpc_format("%s/gpucloud-%s", own, id);
	note(node_dir, dir);     /* first: a crash must not hide the group */
	if (mkdir(dir, 0755) < 0 && access(dir, W_OK) < 0)
		return NULL;
	if (!*controller)
		put_text(own, "cgroup.subtree_control", "+memory +cpu");
	procs = gpc_path_join(dir, "cgroup.procs");
	fd = open(procs, O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		rmdir(dir);
		return NULL;
	}
	c->join[c->n_join++] = fd;
	return gpc_steal(&dir);
}

static void limit_memory(struct gpc_cgroup *c, const char *dir, bool v2,
	int64_t bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)bytes);
	if (!put_text(dir, v2 ? "memory.max" : "memory.limit_in_bytes", text))
		return;
	/* Swap would only hide that the limit was met. */
	put_text(dir, v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes",
		v2 ? "0" : text);
	c->limits_memory = true;
	c->memory_v2 = v2;
	gpc_set_str(&c->memory_dir, dir);
}

static void limit_cpus(struct gpc_cgroup *c, const char *dir, bool v2,
	int64_t milli)
{
	char text[64];

	if (v2) {
		snprintf(text, sizeof(text), "%lld 100000",
			(long long)milli * 100);
		c->limits_cpus = put_text(dir, "cpu.max", text);
		return;
	}
	snprintf(text, sizeof(text), "%lld", (long long)milli * 100);
	c->limits_cpus = put_text(dir, "cpu.cfs_period_us", "100000")
		&& put_text(dir, "cpu.cfs_quota_us", text);
}

struct gpc_cgroup *gpc_cgroup_new(const char *dir, const char *id,
	int64_t cpus_milli, int64_t memory_bytes)
{
	struct gpc_cgroup *c = gpc_alloc(sizeof(*c));
	gpc_autostr *v2 = make_group(c, dir, "", id);

	if (v2 && memory_bytes)
		limit_memory(c, v2, true, memory_bytes);
	if (v2 && cpus_milli)
		limit_cpus(c, v2, true, cpus_milli);
	if (memory_bytes && !c->limits_memory) {
		gpc_autostr *g = make_group(c, dir, "memory", id);

		if (g)
			limit_memory(c, g, false, memory_bytes);
	}
	if (cpus_milli && !c->limits_cpus) {
		gpc_autostr *g = make_group(c, dir, "cpu", id);

		if (g)
			limit_cpus(c, g, false, cpus_milli);
	}
	if (c->n_join)
		return c;
	gpc_cgroup_free(c);
	return NULL;
}

bool gpc_cgroup_limits_cpus(const struct gpc_cgroup *c)
{
	return c && c->limits_cpus;
}

bool gpc_cgroup_limits_memory(const struct gpc_cgroup *c)
{
	return c && c->limits_memory;
}

void gpc_cgroup_join(const struct gpc_cgroup *c)
{
	for (size_t i = 0; c && i < c->n_join; i++)
		if (write(c->join[i], "0", 1) != 1)
			continue;    /* the limit is then kept by the agent */
}

uint64_t gpc_cgroup_oom_kills(const struct gpc_cgroup *c)
{
	if (!c || !c->memory_dir)
		return 0;
	return get_number(c->memory_dir, c->memory_v2 ? "memory.events"
		: "memory.oom_control", "oom_kill ");
}

uint64_t gpc_cgroup_memory_used(const struct gpc_cgroup *c)
{
	if (!c || !c->memory_dir)
		return 0;
	return get_number(c->memory_dir, c->memory_v2 ? "memory.current"
		: "memory.usage_in_bytes", "");
}

void gpc_cgroup_free(struct gpc_cgroup *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_join; i++)
		close(c->join[i]);
	free(c->memory_dir);
	free(c);
}

/* --- ending --------------------------------------------------------------- */

static unsigned kill_group(const char *group)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_str rest, line;
	unsigned n = 0;

	if (!get_text(group, "cgroup.procs", &b))
		return 0;
	rest = gpc_str_of(gpc_buf_str(&b));
	while (gpc_str_split(&rest, '\n', &line)) {
		gpc_autostr *text = gpc_strndup(line.ptr, line.len);
		int64_t pid;

		if (gpc_parse_i64(text, 2, INT32_MAX, "pid", &pid, NULL) < 0
			|| (pid_t)pid == getpid())
			continue;
		if (kill((pid_t)pid, SIGKILL) == 0)
			n++;
	}
	rmdir(group);        /* succeeds once it is empty */
	return n;
}

unsigned gpc_cgroup_kill(const char *dir)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_str rest, line;
	unsigned n = 0;

	if (!get_text(dir, NOTES, &b))
		return 0;
	rest = gpc_str_of(gpc_buf_str(&b));
	while (gpc_str_split(&rest, '\n', &line)) {
		gpc_autostr *group = gpc_strndup(line.ptr, line.len);

		if (gpc_starts_with(group, ROOT "/")
			&& strstr(group, "/gpucloud-"))
			n += kill_group(group);
	}
	return n;
}

void gpc_cpus_restrict(int n, unsigned salt)
{
	cpu_set_t now, want;
	int have, skip;

	if (sched_getaffinity(0, sizeof(now), &now) < 0)
		return;
	have = CPU_COUNT(&now);
	if (n < 1 || n >= have)
		return;
	CPU_ZERO(&want);
	skip = (int)(salt % (unsigned)have);
	for (int round = 0; round < 2 && CPU_COUNT(&want) < n; round++)
		for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&want) < n; i++) {
			if (!CPU_ISSET(i, &now))
				continue;
			if (round == 0 && skip > 0) {
				skip--;
				continue;
			}
			CPU_SET(i, &want);
		}
	sched_setaffinity(0, sizeof(want), &want);
}
