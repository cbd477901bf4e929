#define _GNU_SOURCE
/* Processes as Linux shows them below /proc. Every one of them may be gone
 * between two reads: that is no error, it is just not counted. */
#include "provider/procs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/vec.h"

enum { STAT_PPID = 2, STAT_PGID = 3, STAT_RSS = 22, MAX_ENVIRON = 4 << 20 };

static bool pid_of(const char *name, pid_t *ret_pid)
{
	int64_t n;

	if (name[0] < '1' || name[0] > '9')
		return false;
	if (gpc_parse_i64(name, 1, INT32_MAX, "pid", &n, NULL) < 0)
		return false;
	*ret_pid = (pid_t)n;
	return true;
}

/* Calls fn for each process. False when not all could be seen, as when
 * descriptors have run out. */
static bool each_pid(void (*fn)(pid_t pid, void *arg), void *arg)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	bool whole;
	pid_t pid;

	if (!d)
		return errno == ENOENT;
	while ((errno = 0, e = readdir(d)))
		if (pid_of(e->d_name, &pid))
			fn(pid, arg);
	whole = errno == 0;
	closedir(d);
	return whole;
}

static int64_t number(struct gpc_str s)
{
	int64_t n = 0;

	for (size_t i = 0; i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9'; i++)
		n = n * 10 + (s.ptr[i] - '0');
	return n;
}

/* "pid (name, which may hold anything) S ppid pgid ...": fields are counted
 * from the last parenthesis, with the state as number 1. */
static bool parse_stat(const char *text, struct gpc_proc *p)
{
	const char *end = strrchr(text, ')');
	struct gpc_str rest, part;

	if (!end || end[1] != ' ')
		return false;
	rest = gpc_str_of(end + 2);
	for (int i = 1; gpc_str_split(&rest, ' ', &part); i++) {
		if (i == 1)
			p->zombie = part.ptr[0] == 'Z' || part.ptr[0] == 'X';
		if (i == STAT_PPID)
			p->ppid = (pid_t)number(part);
		if (i == STAT_PGID)
			p->pgid = (pid_t)number(part);
		if (i == STAT_RSS) {
			p->rss_bytes = (uint64_t)number(part)
				* (uint64_t)sysconf(_SC_PAGESIZE);
			return true;
		}
	}
	return false;
}

static void add_proc(pid_t pid, void *arg)
{
	struct gpc_procs *all = arg;
	struct gpc_proc p = { .pid = pid };
	char path[64], text[1024];
	gpc_autofd fd = -1;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (gpc_open(path, O_RDONLY, 0, &fd, NULL) < 0
		|| gpc_read_full(fd, text, sizeof(text) - 1, path, &n, NULL) < 0)
		return;
	text[n] = '\0';
	if (parse_stat(text, &p))
		*gpc_vec_push(all) = p;
}

void gpc_procs_list(struct gpc_procs *ret_p)
{
	*ret_p = (struct gpc_procs){0};
	(void)each_pid(add_proc, ret_p);
}

static bool is_below(const struct gpc_procs *p, pid_t pid, pid_t root)
{
	if (pid == root)
		return true;
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].pid == pid)
			return p->v[i].below;
	return false;
}

size_t gpc_procs_below(struct gpc_procs *p, pid_t root)
{
	size_t n = 0, before;

	for (size_t i = 0; i < p->n; i++)
		p->v[i].below = false;
	do {
		before = n;
		for (size_t i = 0; i < p->n; i++) {
			struct gpc_proc *x = &p->v[i];

			if (x->below || x->zombie || x->pid == root
				|| !is_below(p, x->ppid, root))
				continue;
			x->below = true;
			n++;
		}
	} while (n != before);
	return n;
}

void gpc_procs_spare(struct gpc_procs *p, pid_t root)
{
	struct gpc_procs spared = {0};

	if (root <= 0)
		return;
	gpc_vec_each(x, p)
		*gpc_vec_push(&spared) = *x;
	gpc_procs_below(&spared, root);
	for (size_t i = 0; i < p->n; i++)
		if (spared.v[i].below || p->v[i].pid == root)
			p->v[i].below = false;
	gpc_procs_clear(&spared);
}

void gpc_procs_clear(struct gpc_procs *p)
{
	gpc_vec_free(p);
}

static bool has_entry(const struct gpc_buf *environ_text, const char *entry)
{
	size_t len = strlen(entry), at = 0;
	const char *s = gpc_buf_str(environ_text);

	while (at < environ_text->len) {
		size_t n = strnlen(s + at, environ_text->len - at);

		if (n == len && memcmp(s + at, entry, n) == 0)
			return true;
		at += n + 1;
	}
	return false;
}

/* A process whose environment cannot be read now; those of others, and those that
 * have ended, cannot be read at all. */
static bool may_be_ours(int sys)
{
	return sys == EMFILE || sys == ENFILE || sys == ENOMEM || sys == EIO;
}

struct killing { const char *entry; size_t n; };

static void kill_marked(pid_t pid, void *arg)
{
	struct killing *k = arg;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err = {0};
	char path[64];

	if (pid == getpid())
		return;
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	if (gpc_read_file(path, MAX_ENVIRON, &b, &err) < 0) {
		k->n += may_be_ours(err.sys);
		return;
	}
	if (has_entry(&b, k->entry) && kill(pid, SIGKILL) == 0)
		k->n++;
}

size_t gpc_procs_kill_marked(const char *entry)
{
	struct killing k = { .entry = entry };

	if (!each_pid(kill_marked, &k))
		k.n++;
	return k.n;
}

bool gpc_proc_catches(pid_t pid, int signal)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	unsigned long long mask = 0;
	const char *at;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (signal < 1 || signal > 64 || gpc_read_file(path, 1 << 16, &b, NULL) < 0)
		return false;
	at = strstr(gpc_buf_str(&b), "SigCgt:");
	if (!at)
		return false;
	for (at += 7; *at == '\t' || *at == ' '; at++)
		;
	for (; *at && strchr("0123456789abcdef", *at); at++)
		mask = mask * 16 + (unsigned)(*at <= '9' ? *at - '0'
			: *at - 'a' + 10);
	return mask >> (signal - 1) & 1;
}

/* fdinfo's second line is "flags:" and the open flags in octal. */
static bool is_for_writing(pid_t pid, const char *fd)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *path = gpc_format("/proc/%d/fdinfo/%s", (int)pid, fd);
	const char *at;
	int flags = 0;

	if (gpc_read_file(path, 1 << 16, &b, NULL) < 0)
		return false;
	at = strstr(gpc_buf_str(&b), "flags:");
	if (!at)
		return false;
	for (at += 6; *at == ' ' || *at == '\t'; at++)
		;
	for (; *at >= '0' && *at <= '7'; at++)
		flags = (flags & 07777777) * 8 + (*at - '0');
	return (flags & O_ACCMODE) != O_RDONLY;
}

/* Of one process; with no paths it only looks whether there is one. */
static bool writes_below(pid_t pid, const char *dir, struct gpc_strv *paths)
{
	gpc_autostr *fds = gpc_format("/proc/%d/fd", (int)pid);
	size_t len = strlen(dir);
	DIR *d = opendir(fds);
	struct dirent *e;
	bool found = false;

	if (!d)
		return false;
	while ((paths || !found) && (e = readdir(d))) {
		char target[4096];
		ssize_t n = readlinkat(dirfd(d), e->d_name, target,
			sizeof(target) - 1);

		if (n <= (ssize_t)len || strncmp(target, dir, len) != 0
			|| target[len] != '/' || !is_for_writing(pid, e->d_name))
			continue;
		target[n] = '\0';
		found = true;
		if (paths)
			gpc_strv_add(paths, target);
	}
	closedir(d);
	return found;
}

bool gpc_procs_writing_below(pid_t root, const char *dir)
{
	gpc_auto(gpc_procs) struct gpc_procs p = {0};

	gpc_procs_list(&p);
	gpc_procs_below(&p, root);
	for (size_t i = 0; i < p.n; i++)
		if (p.v[i].below && writes_below(p.v[i].pid, dir, NULL))
			return true;
	return false;
}

void gpc_procs_list_writing(pid_t root, const char *dir, struct gpc_strv *paths)
{
	gpc_auto(gpc_procs) struct gpc_procs p = {0};

	gpc_procs_list(&p);
	gpc_procs_below(&p, root);
	for (size_t i = 0; i < p.n; i++)
		if (p.v[i].below)
			writes_below(p.v[i].pid, dir, paths);
}
