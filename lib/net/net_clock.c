/* What is known of other clocks. A refusal that speaks of time tells the clock of the
 * one service that refused: of its host and port. Signatures for another one, whose
 * clock may be right, are not moved by it.
 *
 * Ends of keys and tokens are told by whoever hands those out, so such services have
 * a clock in common, the net's. It also stands for services that nothing is known of:
 * where it is off, ours is mostly to blame. */
#include <string.h>

#include "base/time.h"
#include "net/net_parts.h"

/* With the lock held. Owned in *ret_name: "host:port". */
static struct gpc_net_clock *find(struct gpc_net *net, const struct gpc_url *u,
	char **ret_name)
{
	*ret_name = gpc_format("%s:%d", u->host ? u->host : "", u->port);
	for (size_t i = 0; i < net->n_clocks; i++)
		if (gpc_eq(net->clocks[i].name, *ret_name))
			return &net->clocks[i];
	return NULL;
}

/* One more; the oldest gives way. */
static struct gpc_net_clock *add(struct gpc_net *net, char *name)
{
	struct gpc_net_clock *c;

	if (net->n_clocks == GPC_NET_CLOCKS) {
		free(net->clocks[0].name);
		memmove(&net->clocks[0], &net->clocks[1],
			(GPC_NET_CLOCKS - 1) * sizeof(net->clocks[0]));
		net->n_clocks--;
	}
	c = &net->clocks[net->n_clocks++];
	c->name = name;
	return c;
}

int64_t gpc_net_host_now_ms(struct gpc_net *net, const struct gpc_url *u)
{
	gpc_autostr *name = NULL;
	const struct gpc_net_clock *c;
	int64_t offset_ms;

	pthread_mutex_lock(&net->lock);
	c = find(net, u, &name);
	offset_ms = c ? c->offset_ms : net->offset_ms;
	pthread_mutex_unlock(&net->lock);
	return gpc_wall_ms() + offset_ms;
}

void gpc_net_set_host_clock(struct gpc_net *net, const struct gpc_url *u,
	int64_t now_ms)
{
	int64_t offset_ms = now_ms - gpc_wall_ms();
	gpc_autostr *name = NULL;
	struct gpc_net_clock *c;

	pthread_mutex_lock(&net->lock);
	c = find(net, u, &name);
	if (!c)
		c = add(net, gpc_steal(&name));
	c->offset_ms = offset_ms;
	pthread_mutex_unlock(&net->lock);
}

void gpc_net_clear_clocks(struct gpc_net *net)
{
	while (net->n_clocks > 0)
		free(net->clocks[--net->n_clocks].name);
}

int64_t gpc_net_now_ms(struct gpc_net *net)
{
	int64_t offset_ms;

	pthread_mutex_lock(&net->lock);
	offset_ms = net->offset_ms;
	pthread_mutex_unlock(&net->lock);
	return gpc_wall_ms() + offset_ms;
}

void gpc_net_set_clock(struct gpc_net *net, int64_t now_ms)
{
	pthread_mutex_lock(&net->lock);
	net->offset_ms = now_ms - gpc_wall_ms();
	pthread_mutex_unlock(&net->lock);
}
