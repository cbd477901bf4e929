/* What all requests of one command share, behind one lock, and single calls, which
 * borrow an event loop with its connections from a pool: so any thread may call,
 * and connections are used again whoever made them. */
#include "net/net.h"

#include "base/parse.h"
#include "net/net_parts.h"

enum { TOKENS = 500 };

struct gpc_net *gpc_net_new(const struct gpc_net_settings *settings)
{
	struct gpc_net *net = gpc_alloc(sizeof(*net));

	if (settings)
		net->set = *settings;
	net->ca_file = gpc_strdup(net->set.ca_file);
	net->user_agent = gpc_strdup(net->set.user_agent ?
		net->set.user_agent : "gpucloud");
	net->tokens = TOKENS;
	pthread_mutex_init(&net->lock, NULL);
	gpc_net_crew_init(&net->crew);
	return net;
}

/* Each request is on somebody's bill. */
static void say_counts(const struct gpc_net *net)
{
	const struct gpc_net_counts *c = &net->counts;
	char sent[32], received[32];

	if (net->set.log && c->requests)
		gpc_log(net->set.log, GPC_VERBOSE, "%llu requests, %s sent, %s "
			"received", (unsigned long long)c->requests,
			gpc_format_size(c->sent, sent, sizeof(sent)),
			gpc_format_size(c->received, received,
			sizeof(received)));
}

void gpc_net_free(struct gpc_net *net)
{
	if (!net)
		return;
	say_counts(net);
	while (net->n_idle > 0)
		gpc_net_loop_free(net->idle[--net->n_idle]);
	gpc_net_crew_end(&net->crew);
	gpc_net_clear_clocks(net);
	gpc_net_clear_hosts(net);
	pthread_mutex_destroy(&net->lock);
	free(net->ca_file);
	free(net->user_agent);
	free(net);
}

struct gpc_net_loop *gpc_net_loop_borrow(struct gpc_net *net)
{
	struct gpc_net_loop *loop = NULL;

	pthread_mutex_lock(&net->lock);
	if (net->n_idle > 0)
		loop = net->idle[--net->n_idle];
	pthread_mutex_unlock(&net->lock);
	return loop ? loop : gpc_net_loop_new(net);
}

void gpc_net_loop_return(struct gpc_net *net, struct gpc_net_loop *loop)
{
	pthread_mutex_lock(&net->lock);
	if (loop && gpc_net_loop_is_idle(loop) &&
		net->n_idle < GPC_NET_IDLE_LOOPS) {
		net->idle[net->n_idle++] = loop;
		loop = NULL;
	}
	pthread_mutex_unlock(&net->lock);
	gpc_net_loop_free(loop);
}

struct outcome {
	int r;
	struct gpc_error err;
};

static void keep_outcome(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct outcome *o = arg;

	(void)reply;
	o->r = r;
	if (r < 0)
		o->err = *err;
}

int gpc_net_call(struct gpc_net *net, const struct gpc_call *call,
	struct gpc_reply *ret_reply, struct gpc_error *err)
{
	struct gpc_net_loop *loop = gpc_net_loop_borrow(net);
	struct gpc_reply unwanted = {0};
	struct outcome o = {0};
	int r = gpc_net_loop_add(loop, call, ret_reply ? ret_reply : &unwanted,
		keep_outcome, &o, err);

	if (r == 0)
		r = gpc_net_loop_run(loop, -1, NULL, err);
	gpc_reply_clear(&unwanted);
	if (r < 0) {
		gpc_net_loop_free(loop);
		return r;
	}
	gpc_net_loop_return(net, loop);
	if (o.r < 0 && err)
		*err = o.err;
	return o.r;
}

void gpc_net_counts(struct gpc_net *net, struct gpc_net_counts *ret_c)
{
	pthread_mutex_lock(&net->lock);
	*ret_c = net->counts;
	pthread_mutex_unlock(&net->lock);
}
