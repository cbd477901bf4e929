/* Systems without control groups: no limit is kept by the kernel. */
#include "provider/cgroup.h"

struct gpc_cgroup *gpc_cgroup_new(const char *dir, const char *id,
	int64_t cpus_milli, int64_t memory_bytes)
{
	(void)dir;
	(void)id;
	(void)cpus_milli;
	(void)memory_bytes;
	return NULL;
}

bool gpc_cgroup_limits_cpus(const struct gpc_cgroup *c)
{
	(void)c;
	return false;
}

bool gpc_cgroup_limits_memory(const struct gpc_cgroup *c)
{
	(void)c;
	return false;
}

void gpc_cgroup_join(const struct gpc_cgroup *c)
{
	(void)c;
}

uint64_t gpc_cgroup_oom_kills(const struct gpc_cgroup *c)
{
	(void)c;
	return 0;
}

uint64_t gpc_cgroup_memory_used(const struct gpc_cgroup *c)
{
	(void)c;
	return 0;
}

void gpc_cgroup_free(struct gpc_cgroup *c)
{
	(void)c;
}

unsigned gpc_cgroup_kill(const char *dir)
{
	(void)dir;
	return 0;
}

void gpc_cpus_restrict(int n, unsigned salt)
{
	(void)n;
	(void)salt;
}
