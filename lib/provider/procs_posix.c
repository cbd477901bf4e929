/* Systems without /proc: descendants that leave their process group cannot be
 * found, so only the launcher's own group is ended there. */
#include "provider/procs.h"

#include "base/vec.h"

void gpc_procs_list(struct gpc_procs *ret_p)
{
	*ret_p = (struct gpc_procs){0};
}

size_t gpc_procs_below(struct gpc_procs *p, pid_t root)
{
	(void)p;
	(void)root;
	return 0;
}

void gpc_procs_spare(struct gpc_procs *p, pid_t root)
{
	(void)p;
	(void)root;
}

void gpc_procs_clear(struct gpc_procs *p)
{
	gpc_vec_free(p);
}

size_t gpc_procs_kill_marked(const char *entry)
{
	(void)entry;
	return 0;
}

bool gpc_proc_catches(pid_t pid, int signal)
{
	(void)pid;
	(void)signal;
	return false;
}

bool gpc_procs_writing_below(pid_t root, const char *dir)
{
	(void)root;
	(void)dir;
	return false;
}

void gpc_procs_list_writing(pid_t root, const char *dir, struct gpc_strv *paths)
{
	(void)root;
	(void)dir;
	(void)paths;
}
