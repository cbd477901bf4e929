/* See family.h. A program that may ask at the terminal has to stay in our own
 * process group, so its helpers are known one by one, by pid and start time,
 * before it is gone and they lose their parent. */
#include "core/family.h"

#include <signal.h>

#include "base/proc.h"
#include "base/program.h"
#include "base/time.h"
#include "base/vec.h"
#include "provider/procs.h"

#define PATIENCE_MS 2000        /* after SIGTERM, before SIGKILL */

struct member { pid_t pid; uint64_t start; };
struct family {
	pid_t child;
	bool reaped;
	int status;
	GPC_VEC(struct member) members; /* without the child */
};

static void find_members(struct family *f)
{
	gpc_auto(gpc_procs) struct gpc_procs all = {0};

	gpc_procs_list(&all);
	gpc_procs_below(&all, f->child);
	gpc_vec_each(p, &all) {
		uint64_t start = p->below ? gpc_proc_start(p->pid) : 0;

		if (start)
			*gpc_vec_push(&f->members) =
				(struct member){p->pid, start};
	}
}

static void signal_all(const struct family *f, int signal)
{
	if (!f->reaped)
		kill(f->child, signal);
	gpc_vec_each(m, &f->members)
		if (gpc_proc_alive(m->pid, m->start))
			kill(m->pid, signal);
}

static bool any_left(struct family *f)
{
	f->reaped = f->reaped || gpc_program_is_ended(f->child, &f->status);
	if (!f->reaped)
		return true;
	gpc_vec_each(m, &f->members)
		if (gpc_proc_alive(m->pid, m->start))
			return true;
	return false;
}

void gpc_family_end(pid_t child, bool own_group, bool reaped, int *ret_status)
{
	struct family f = { .child = child, .reaped = reaped };
	int64_t until = gpc_boot_ms() + PATIENCE_MS;

	if (own_group) {
		gpc_program_end(child, true, reaped, ret_status);
		return;
	}
	find_members(&f);
	signal_all(&f, SIGTERM);
	while (any_left(&f)) {
		int64_t now = gpc_boot_ms();

		if (now > until)
			signal_all(&f, SIGKILL);
		/* A helper that waits for a dead disk is init's then. */
		if (f.reaped && now > until + PATIENCE_MS)
			break;
		gpc_sleep_ms(10);
	}
	if (!reaped)
		*ret_status = f.status;
	gpc_vec_free(&f.members);
}
