/* Control groups for a node of this machine: limits that the kernel keeps, and
 * a way to find what escaped. Version 1, 2 and the mixture of both; a missing
 * or read-only one is normal, and the callers fall back. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

struct gpc_cgroup;                /* opaque */

/* Makes groups named after id wherever it is allowed, and notes their paths in
 * dir for gpc_cgroup_kill. cpus_milli and memory_bytes: 0 = no limit. NULL
 * where there is none to be had. */
struct gpc_cgroup *gpc_cgroup_new(const char *dir, const char *id,
	int64_t cpus_milli, int64_t memory_bytes);
/* Whether the kernel keeps this limit; false: the caller has to. */
bool gpc_cgroup_limits_cpus(const struct gpc_cgroup *c);
bool gpc_cgroup_limits_memory(const struct gpc_cgroup *c);
/* Moves the calling process in; async-signal-safe, for a child before exec. */
void gpc_cgroup_join(const struct gpc_cgroup *c);
/* How many processes were killed for want of memory. */
uint64_t gpc_cgroup_oom_kills(const struct gpc_cgroup *c);
/* Bytes in use; 0 when unknown. */
uint64_t gpc_cgroup_memory_used(const struct gpc_cgroup *c);
void gpc_cgroup_free(struct gpc_cgroup *c);   /* leaves the groups */
GPC_CLEANUP_POINTER(gpc_cgroup);

/* Sends SIGKILL to all that is in the groups noted in dir, then removes the
 * empty ones. Returns how many processes there were. */
unsigned gpc_cgroup_kill(const char *dir);
/* Keeps the calling process on so many CPUs (from one chosen by salt on);
 * async-signal-safe. Nothing happens where the system cannot. */
void gpc_cpus_restrict(int n, unsigned salt);
