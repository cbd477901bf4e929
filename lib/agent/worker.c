/* Threads of the agent: whatever may wait for disks or the network runs here,
 * so that logs never stall. A thread's end is a byte on a pipe. */
#include "agent/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "base/fd.h"

struct gpc_worker {
	pthread_t thread;
	bool busy, threaded;
	int in, out;
	gpc_work_fn *fn;
	void *arg;
	struct gpc_cancel cancel;
	int result;
	struct gpc_error err;
};

int gpc_worker_new(struct gpc_worker **ret_w, struct gpc_error *err)
{
	struct gpc_worker *w = gpc_alloc(sizeof(*w));
	int fds[2], r = gpc_pipe(fds, err);

	if (r == 0)
		r = gpc_set_nonblock(fds[0], err);
	if (r < 0) {
		free(w);
		return r;
	}
	w->in = fds[0];
	w->out = fds[1];
	*ret_w = w;
	return 0;
}

int gpc_worker_fd(const struct gpc_worker *w)
{
	return w->in;
}

bool gpc_worker_busy(const struct gpc_worker *w)
{
	return w && w->busy;
}

static void tell_end(struct gpc_worker *w)
{
	while (write(w->out, "", 1) < 0 && errno == EINTR)
		;
}

static void *run(void *arg)
{
	struct gpc_worker *w = arg;

	w->result = w->fn(w->arg, &w->cancel, &w->err);
	tell_end(w);
	return NULL;
}

int gpc_worker_start(struct gpc_worker *w, gpc_work_fn *fn, void *arg,
	struct gpc_error *err)
{
	int r;

	if (w->busy)
		return gpc_fail(err, GPC_ECONFLICT, "the agent is busy");
	w->fn = fn;
	w->arg = arg;
	w->cancel.signal = 0;
	w->err = (struct gpc_error){0};
	r = pthread_create(&w->thread, NULL, run, w);
	w->threaded = r == 0;
	if (r != 0) {
		w->result = gpc_fail_sys(&w->err, r, "cannot start a thread");
		tell_end(w);
	}
	w->busy = true;
	return 0;
}

bool gpc_worker_take(struct gpc_worker *w, int *ret_r, struct gpc_error *err)
{
	char c;

	if (!w->busy || read(w->in, &c, 1) != 1)
		return false;
	if (w->threaded)
		pthread_join(w->thread, NULL);
	w->busy = false;
	*ret_r = w->result;
	if (w->result < 0 && err)
		*err = w->err;
	return true;
}

void gpc_worker_cancel(struct gpc_worker *w)
{
	w->cancel.signal = SIGTERM;
}

void gpc_worker_free(struct gpc_worker *w)
{
	if (!w)
		return;
	gpc_worker_cancel(w);
	if (w->busy && w->threaded)
		pthread_join(w->thread, NULL);
	close(w->in);
	close(w->out);
	free(w);
}

static void *wait_for_children(void *arg)
{
	int fd = (int)(intptr_t)arg, sig;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (;;)
		if (sigwait(&set, &sig) == 0 && write(fd, "", 1) < 0
			&& errno == EPIPE)
			return NULL;
}

int gpc_child_watch(int *ret_fd, struct gpc_error *err)
{
	pthread_attr_t attr;
	pthread_t thread;
	int fds[2], r = gpc_pipe(fds, err);

	if (r == 0)
		r = gpc_set_nonblock(fds[0], err);
	/* Both ends: a full pipe says enough. */
	if (r == 0)
		r = gpc_set_nonblock(fds[1], err);
	if (r < 0)
		return r;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	r = pthread_create(&thread, &attr, wait_for_children,
		(void *)(intptr_t)fds[1]);
	pthread_attr_destroy(&attr);
	if (r != 0)
		return gpc_fail_sys(err, r, "cannot start a thread");
	*ret_fd = fds[0];
	return 0;
}

void gpc_drain_fd(int fd)
{
	char text[256];

	while (read(fd, text, sizeof(text)) > 0)
		;
}
