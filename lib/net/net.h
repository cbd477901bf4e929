/* The one path by which gpucloud talks to services: connections that are used
 * again, limits on time and size, retries within a budget, and errors that never
 * claim more than is known.
 *
 * A gpc_net is what all requests of one command share: settings, idle connections,
 * the budget of retries, what was learned of the services' clocks, and counts. Its
 * functions may be called from several threads.
 *
 * What may be tried again: failures before the first byte left; a reply that says
 * that nothing was done (throttled, expired, skewed, mended); everything of a
 * request that is marked `repeatable` (reads, deletes, puts of the same bytes, calls
 * with an idempotency token). What is not repeatable goes on a connection of its
 * own, so that libcurl does not send it again either. Pauses are decorrelated
 * jitter, base 100 ms (500 ms where the service wants peace), at most 20 s;
 * Retry-After (seconds or a date) and headers like x-acs-retry-after (ms) count
 * instead where they are longer, up to 60 s. Each retry takes from a budget (500
 * tokens; 5 a retry, 10 after a timeout; a success gives 1 back).
 *
 * A net with `patience_ms` also rides out an outage of a service that it has had an
 * answer from: what may be tried again after no reply, or one of 408, 429 or 5xx, is
 * tried until nothing has come from that host for so long, whatever that costs of the
 * budget, with pauses of at most 5 s (20 s where the service wants peace). It is for
 * who moves much and can wait. A call that fails while its host does well for others
 * is tried some times more, and one that says its own max_tries no more than that. A
 * host that never answered gets no patience: it may be a wrong name.
 *
 * Redirects are never followed: the reply is returned. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/log.h"
#include "net/request.h"

struct gpc_net_settings {
	const char *ca_file;            /* NULL: as gpc_http_new */
	const char *user_agent;         /* NULL: "gpucloud" */
	int max_tries;                  /* of one call; 0 = 5 */
	int connect_ms, stall_ms;       /* 0 = those of dep/http.h */
	int64_t patience_ms;            /* with an outage, see above; 0 = none */
	const struct gpc_cancel *cancel;/* borrowed; may be NULL */
	const struct gpc_log *log;      /* borrowed; traces at GPC_TRACE */
};

struct gpc_net;                         /* opaque */
struct gpc_net *gpc_net_new(const struct gpc_net_settings *settings);
void gpc_net_free(struct gpc_net *net);
GPC_CLEANUP_POINTER(gpc_net);

/* What a reply means, in the words of its service. */
enum gpc_net_verdict {
	GPC_NET_DONE,                   /* a success */
	GPC_NET_FAILED,                 /* *err says what; no repeat helps */
	GPC_NET_RETRY,                  /* *err says what; the same may work later */
	GPC_NET_THROTTLED,              /* the same, and the service wants peace */
	GPC_NET_RENEW,                  /* credentials have expired: renew, once */
	GPC_NET_SKEWED,                 /* its clock is another than ours: sign by
	                                 * Date, once; of this host alone */
	GPC_NET_AGAIN,                  /* `judge` mended something (its region):
	                                 * sign and send again at once, once */
};

struct gpc_call {
	struct gpc_request *request;    /* borrowed; never changed: each try signs
	                                 * a copy of its own */
	bool repeatable;
	int max_tries;                  /* 0 = as the net has it */
	int total_ms;                   /* over all tries; 0 = 15 min */
	int try_ms;                     /* of one try; 0 = what is left of that */
	bool direct;                    /* never by a proxy, wherever it goes */
	const char *ca_file, *ca_from;  /* see dep/http.h; borrowed */
	bool hushed;                    /* traces show neither its path nor what
	                                 * its query and headers hold */
	bool dates_keys;                /* hands out keys: its clock tells when
	                                 * they end, see gpc_net_now_ms */
	size_t max_body;                /* of what goes to reply.body; 0 = 16 MiB */
	/* What takes its time before anything can be signed, such as the sum of a
	 * large body: once, by a thread of the net's, while other calls go on. It
	 * has what arg points to for itself until then, and ends soon when *stop
	 * becomes true. NULL: nothing. */
	int (*prepare)(void *arg, const atomic_bool *stop, struct gpc_error *err);
	/* Adds the signature for this moment of the service's clock. renew: the
	 * credentials of the try before were refused as expired. NULL: not signed. */
	int (*sign)(void *arg, struct gpc_request *r, int64_t now_ms, bool renew,
		struct gpc_error *err);
	/* Judges a whole reply, successes too; sets err for all but DONE. NULL: by
	 * the status alone (2xx is done; 408, 429, 5xx are retried). */
	enum gpc_net_verdict (*judge)(void *arg, const struct gpc_reply *reply,
		struct gpc_error *err);
	/* Takes the body of 2xx replies instead of reply.body. A try that fails
	 * after bytes were delivered is repeated only with `rewind`, which makes
	 * the sink forget them (or asks for the rest by changing the request's
	 * range: r is the next try's copy before it is signed). */
	gpc_sink_fn *sink;
	/* Sees the head of a 2xx reply before the sink gets its first byte; what
	 * is not 0 ends the call. NULL: nothing looks. */
	int (*head)(void *arg, const struct gpc_reply *reply,
		struct gpc_error *err);
	int (*rewind)(void *arg, struct gpc_request *r, struct gpc_error *err);
	void *arg;                      /* of all of these */
};

/* What stands for a `judge` of NULL; judges may end in it. */
enum gpc_net_verdict gpc_net_judge_status(const struct gpc_reply *reply,
	struct gpc_error *err);
/* What a service calls the request, for errors about its reply; NULL: nothing. */
const char *gpc_net_request_id(const struct gpc_reply *reply);
/* Gives an error that has no request's id yet that of the reply, if it has one. */
void gpc_net_name_request(const struct gpc_reply *reply, struct gpc_error *err);

/* One call, to its end. ret_reply is set whenever a whole reply came, also on
 * failure; it must be zero before. Errors carry http, request_id, retry_after_ms
 * and name host and method. */
int gpc_net_call(struct gpc_net *net, const struct gpc_call *call,
	struct gpc_reply *ret_reply, struct gpc_error *err) gpc_must_check;

/* Many calls at once, from one event loop that belongs to one thread. What a call
 * calls back may start calls, but not run or free the loop. */
struct gpc_net_loop;                    /* opaque */
struct gpc_net_loop *gpc_net_loop_new(struct gpc_net *net);
/* Drops what still runs, without calling `done`. */
void gpc_net_loop_free(struct gpc_net_loop *loop);
GPC_CLEANUP_POINTER(gpc_net_loop);
/* call is copied; what it points to is borrowed until `done`, which is called
 * once, from gpc_net_loop_run; reply is the callee's to read, not to keep. */
typedef void gpc_net_done_fn(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err);
int gpc_net_loop_start(struct gpc_net_loop *loop, const struct gpc_call *call,
	gpc_net_done_fn *done, void *done_arg, struct gpc_error *err)
	gpc_must_check;
/* Until everything started is done, or timeout_ms are over (-1 = no limit). When
 * the command is cancelled, everything ends with GPC_ECANCELED. */
int gpc_net_loop_run(struct gpc_net_loop *loop, int timeout_ms,
	int *ret_running, struct gpc_error *err) gpc_must_check;
/* A loop with its connections, from a pool that any thread may ask; returning one
 * that still runs something frees it. */
struct gpc_net_loop *gpc_net_loop_borrow(struct gpc_net *net);
void gpc_net_loop_return(struct gpc_net *net, struct gpc_net_loop *loop);
/* Makes a gpc_net_loop_run that another thread is in, or the next one, return. */
void gpc_net_loop_wake(struct gpc_net_loop *loop);

/* Body bytes that the tries under way have sent: what gpc_net_counts does not have
 * yet. */
uint64_t gpc_net_loop_sending(const struct gpc_net_loop *loop);

/* The longest outage that is being ridden out, or that was not (over). False: there is
 * none, or not for long enough to speak of. */
struct gpc_net_outage {
	char host[128];                 /* "host:port" */
	char why[160];                  /* the last failure */
	int64_t lasts_ms;
	bool over;                      /* the patience */
};
bool gpc_net_outage(struct gpc_net *net, struct gpc_net_outage *ret_o);

struct gpc_net_counts {
	uint64_t requests, retries, throttled;
	uint64_t sent, received;        /* body bytes */
};
void gpc_net_counts(struct gpc_net *net, struct gpc_net_counts *ret_c);
/* The clock by which keys and tokens begin and end: that of the services which hand
 * them out, where it was found to be another than ours, else the wall clock. */
int64_t gpc_net_now_ms(struct gpc_net *net);
/* The same of the service at u, which may have told of another. */
int64_t gpc_net_host_now_ms(struct gpc_net *net, const struct gpc_url *u);
/* For who sees by something else than a refusal that our clock is wrong. */
void gpc_net_set_clock(struct gpc_net *net, int64_t now_ms);
