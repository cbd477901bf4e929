/* The processes of this machine: who descends from whom, and which ones bear a
 * node's mark in their environment. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mem.h"
#include "base/str.h"

struct gpc_proc {
	pid_t pid, ppid, pgid;
	uint64_t rss_bytes;
	bool below;                 /* set by gpc_procs_below */
	bool zombie;
};
struct gpc_procs { struct gpc_proc *v; size_t n, cap; };

/* Every process that can be seen; none where there is no /proc. */
void gpc_procs_list(struct gpc_procs *ret_p);
/* Marks the descendants of root (not root itself) that are no zombies; returns
 * how many there are. */
size_t gpc_procs_below(struct gpc_procs *p, pid_t root);
/* Takes the mark from root and its descendants. */
void gpc_procs_spare(struct gpc_procs *p, pid_t root);
void gpc_procs_clear(struct gpc_procs *p);
GPC_CLEANUP_VALUE(gpc_procs);

/* Sends SIGKILL to every process whose environment holds `entry` ("NAME=value")
 * but this one; returns how many there were, or could not be looked at now: 0 is
 * sure. */
size_t gpc_procs_kill_marked(const char *entry);
/* True when the process has a handler for this signal; false when unknown. */
bool gpc_proc_catches(pid_t pid, int signal);
/* True when a descendant of root has a file below this folder open for
 * writing; false when unknown. */
bool gpc_procs_writing_below(pid_t root, const char *dir);
/* Adds the paths of all such files, some perhaps twice. */
void gpc_procs_list_writing(pid_t root, const char *dir, struct gpc_strv *paths);
