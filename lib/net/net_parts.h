/* What net.c, net_loop.c, net_try.c, net_retry.c and net_trace.c share. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "base/str.h"
#include "dep/http.h"
#include "net/net.h"

#define GPC_NET_IDLE_LOOPS 16
#define GPC_NET_CLOCKS 32
#define GPC_NET_CREW 4
#define GPC_NET_HOSTS 32
#define GPC_NET_TOTAL_MS (15 * 60 * 1000)

struct gpc_net_clock {
	char *name;                     /* "host:port" */
	int64_t offset_ms;              /* its clock less ours */
};

/* Whether a service answers, for who has patience; see net_patience.c. */
struct gpc_net_host {
	char *name;                     /* "host:port"; never changes */
	atomic_uint_fast64_t moved;     /* how often something came from it */
	atomic_bool down;               /* it fails since since_ms; those under the lock: */
	int64_t since_ms;               /* by the boot clock */
	bool said;                      /* to people */
	char why[160];
};

struct gpc_net_task;

/* Threads that prepare calls, see net_crew.c. */
struct gpc_net_crew {
	pthread_mutex_t lock;           /* of all that follows */
	pthread_cond_t more, done;
	struct gpc_net_task *first, *last;      /* that wait */
	pthread_t threads[GPC_NET_CREW];
	int n, n_idle;
	bool ends;
};

enum gpc_net_work_state { GPC_NET_WORK_NONE, GPC_NET_WORK_WAITS, GPC_NET_WORK_RUNS,
	GPC_NET_WORK_DONE };
struct gpc_net_work {
	enum gpc_net_work_state state;
	struct gpc_net_task *next;
	atomic_bool stop;
	int r;                          /* once it is done */
	struct gpc_error err;
};

struct gpc_net {
	struct gpc_net_settings set;
	char *ca_file, *user_agent;
	pthread_mutex_t lock;           /* of all that follows */
	int tokens;                     /* of the budget of retries */
	int64_t offset_ms;              /* of who hands out keys, less our clock */
	struct gpc_net_clock clocks[GPC_NET_CLOCKS];    /* oldest first */
	size_t n_clocks;
	struct gpc_net_host hosts[GPC_NET_HOSTS];       /* stay where they are */
	size_t n_hosts;
	struct gpc_net_counts counts;
	struct gpc_net_loop *idle[GPC_NET_IDLE_LOOPS];
	size_t n_idle;
	struct gpc_net_crew crew;       /* with a lock of its own */
};

/* One call on its way: it is prepared, it waits for its time, or a try of it runs. */
struct gpc_net_task {
	struct gpc_net_loop *loop;
	struct gpc_net_task *next, *before;
	struct gpc_call call;
	gpc_net_done_fn *done;
	void *done_arg;
	struct gpc_reply *ret_reply;    /* instead of done's; or NULL */
	struct gpc_net_work work;       /* before the first try */

	/* Over all tries; times by the boot clock. */
	int tries, pause_ms;
	int resent;                     /* by libcurl itself, within tries */
	int64_t deadline_ms, due_ms;
	bool renew, renewed, skewed, mended;
	uint64_t delivered;             /* to the sink, since the last rewind */
	struct gpc_net_host *host;      /* NULL: there is no patience with it */
	uint64_t moved;                 /* its host's, when it failed last */
	int failed_alone;               /* while its host did well for others */

	/* Of this try. */
	struct gpc_request request;
	struct gpc_strv lines;
	char *url;
	struct gpc_http_exchange x;
	struct gpc_http_transfer *transfer;     /* NULL: it waits */
	struct gpc_reply reply;
	bool sinking, head_seen;
	bool stopped;                   /* by a callback, or a limit of ours */
	int64_t began_ms;
	uint64_t number;                /* among all of the net */
};

struct gpc_net_tasks { struct gpc_net_task *first, *last; };

struct gpc_net_loop {
	struct gpc_net *net;
	struct gpc_http *http;          /* made for the first try */
	struct gpc_net_tasks preparing, waiting, running;
	atomic_bool woken;
	pthread_mutex_t lock;           /* of http, for whoever wakes */
};

/* net_loop.c */
bool gpc_net_loop_is_idle(const struct gpc_net_loop *loop);
int gpc_net_loop_add(struct gpc_net_loop *loop, const struct gpc_call *call,
	struct gpc_reply *ret_reply, gpc_net_done_fn *done, void *done_arg,
	struct gpc_error *err) gpc_must_check;
void gpc_net_finish(struct gpc_net_task *t, int r, struct gpc_error *err);
/* It waits from now on. */
void gpc_net_wait(struct gpc_net_task *t, int64_t due_ms);

/* net_crew.c: prepares a call; loop->http must be there, which is woken at the end. */
void gpc_net_crew_init(struct gpc_net_crew *c);
/* Nothing may be in it any more. */
void gpc_net_crew_end(struct gpc_net_crew *c);
void gpc_net_crew_add(struct gpc_net_task *t);
/* Whether it is done; then t->work.r and err tell how. */
bool gpc_net_crew_done(struct gpc_net_task *t);
/* Takes it back, whatever becomes of it. */
void gpc_net_crew_leave(struct gpc_net_task *t);

/* net_clock.c: the clock of the service at this host and port. */
void gpc_net_set_host_clock(struct gpc_net *net, const struct gpc_url *u,
	int64_t now_ms);
void gpc_net_clear_clocks(struct gpc_net *net);

/* net_try.c: signs a copy and sends it. */
int gpc_net_try(struct gpc_net_task *t, struct gpc_error *err) gpc_must_check;
void gpc_net_try_clear(struct gpc_net_task *t);

/* net_patience.c. Before a try: finds its host. Whether that has answered, so that it is
 * waited for. Something came from it. The try failed as in an outage: whether there is
 * another one, and when (*wait_ms: the pause as it would be). */
void gpc_net_host_find(struct gpc_net_task *t);
bool gpc_net_host_known(const struct gpc_net_task *t);
void gpc_net_host_moves(struct gpc_net_task *t);
bool gpc_net_host_fails(struct gpc_net_task *t, const struct gpc_error *err,
	bool wants_peace, int *wait_ms);
void gpc_net_clear_hosts(struct gpc_net *net);

/* net_retry.c: a try has ended: waits or finishes. */
void gpc_net_tried(struct gpc_net_task *t, int r, struct gpc_error *err);
/* What a reply asks to wait, in ms; 0 = nothing. */
int gpc_net_retry_after(const struct gpc_reply *reply, int64_t now_ms);

/* net_trace.c: to the log at GPC_TRACE, without secrets and bodies. */
bool gpc_net_traces(const struct gpc_net *net);
void gpc_net_trace_request(const struct gpc_net_task *t);
void gpc_net_trace_reply(const struct gpc_net_task *t, int r,
	const struct gpc_error *err);
bool gpc_net_is_secret(const char *name);

/* net_hide.c: services repeat in refusals what they were asked, and refusals are
 * shown. Stars in *body what was secret in the request: by the names of headers,
 * queries, members of forms and of JSON; all: whatever queries and headers hold. */
void gpc_net_hide(const struct gpc_request *r, bool all, struct gpc_buf *body);
/* "METHOD host" */
char *gpc_net_name(const struct gpc_net_task *t);
