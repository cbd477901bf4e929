/* Outages: a service that has answered, and does not any more, is waited for as long as
 * the net has patience. What counts is the host, not the call: as long as something
 * comes from it, be it to other calls, it is there, and a call that fails all the same
 * has a reason of its own. People are told when it takes so long that they would
 * wonder, and when it is over. */
#include <stdio.h>

#include "base/parse.h"
#include "base/time.h"
#include "net/net_parts.h"

enum {
	SAY_MS = 2000,
	PAUSE_MAX_MS = 5000,            /* so that its end is soon seen */
	MOST_ALONE = 15,                /* tries */
};

/* With the lock held; NULL: there is no room for one more. */
static struct gpc_net_host *find(struct gpc_net *net, const struct gpc_url *u)
{
	gpc_autostr *name = gpc_format("%s:%d", u->host ? u->host : "", u->port);

	for (size_t i = 0; i < net->n_hosts; i++)
		if (gpc_eq(net->hosts[i].name, name))
			return &net->hosts[i];
	if (net->n_hosts == GPC_NET_HOSTS)
		return NULL;
	net->hosts[net->n_hosts].name = gpc_steal(&name);
	return &net->hosts[net->n_hosts++];
}

/* A call may be led to another one between its tries. */
void gpc_net_host_find(struct gpc_net_task *t)
{
	struct gpc_net *net = t->loop->net;
	struct gpc_net_host *before = t->host;

	if (net->set.patience_ms <= 0 || t->call.max_tries > 0)
		return;
	pthread_mutex_lock(&net->lock);
	t->host = find(net, &t->request.url);
	pthread_mutex_unlock(&net->lock);
	if (t->host && t->host != before)
		t->moved = atomic_load(&t->host->moved);
}

bool gpc_net_host_known(const struct gpc_net_task *t)
{
	return t->host && atomic_load(&t->host->moved) > 0;
}

void gpc_net_clear_hosts(struct gpc_net *net)
{
	while (net->n_hosts > 0)
		free(net->hosts[--net->n_hosts].name);
}

void gpc_net_host_moves(struct gpc_net_task *t)
{
	struct gpc_net *net = t->loop->net;
	struct gpc_net_host *h = t->host;
	bool said;

	if (!h)
		return;
	atomic_fetch_add(&h->moved, 1);
	if (!atomic_load(&h->down))
		return;
	pthread_mutex_lock(&net->lock);
	said = h->said;
	h->said = false;
	atomic_store(&h->down, false);
	pthread_mutex_unlock(&net->lock);
	if (said)
		gpc_log(net->set.log, GPC_INFO, "%s answers again", h->name);
}

/* How long it has been down. */
static int64_t note_failure(struct gpc_net *net, struct gpc_net_host *h,
	const struct gpc_error *err)
{
	int64_t now = gpc_boot_ms(), lasts;

	pthread_mutex_lock(&net->lock);
	if (!atomic_load(&h->down)) {
		h->since_ms = now;
		atomic_store(&h->down, true);
	}
	snprintf(h->why, sizeof(h->why), "%.*s", (int)sizeof(h->why) - 1, err->msg);
	lasts = now - h->since_ms;
	pthread_mutex_unlock(&net->lock);
	return lasts;
}

/* Once, before the pause that makes it so long. */
static void say(struct gpc_net *net, struct gpc_net_host *h, const struct gpc_error *err)
{
	char shown[32];
	bool said;

	pthread_mutex_lock(&net->lock);
	said = h->said;
	h->said = true;
	pthread_mutex_unlock(&net->lock);
	if (said)
		return;
	gpc_log(net->set.log, GPC_WARN, "waiting for %s, for up to %s: %s", h->name,
		gpc_format_duration(net->set.patience_ms, shown, sizeof(shown)),
		err->msg);
}

bool gpc_net_host_fails(struct gpc_net_task *t, const struct gpc_error *err,
	bool wants_peace, int *wait_ms)
{
	struct gpc_net *net = t->loop->net;
	uint64_t moved = atomic_load(&t->host->moved);
	int64_t lasts = 0, left;

	if (moved != t->moved && ++t->failed_alone >= MOST_ALONE)
		return false;
	if (moved == t->moved)
		lasts = note_failure(net, t->host, err);
	t->moved = moved;
	left = net->set.patience_ms - lasts;
	if (left <= 0)
		return false;
	if (!wants_peace && *wait_ms > PAUSE_MAX_MS)
		*wait_ms = PAUSE_MAX_MS;
	if (*wait_ms > left)
		*wait_ms = (int)left;
	if (lasts > 0 && lasts + *wait_ms >= SAY_MS)
		say(net, t->host, err);
	return true;
}

bool gpc_net_outage(struct gpc_net *net, struct gpc_net_outage *ret_o)
{
	int64_t now = gpc_boot_ms(), lasts;

	*ret_o = (struct gpc_net_outage){0};
	pthread_mutex_lock(&net->lock);
	for (size_t i = 0; i < net->n_hosts; i++) {
		const struct gpc_net_host *h = &net->hosts[i];

		lasts = atomic_load(&h->down) ? now - h->since_ms : 0;
		if (lasts < ret_o->lasts_ms || (!h->said &&
			lasts < net->set.patience_ms) || lasts == 0)
			continue;
		ret_o->lasts_ms = lasts;
		ret_o->over = lasts >= net->set.patience_ms;
		snprintf(ret_o->host, sizeof(ret_o->host), "%s", h->name);
		snprintf(ret_o->why, sizeof(ret_o->why), "%s", h->why);
	}
	pthread_mutex_unlock(&net->lock);
	return ret_o->lasts_ms > 0;
}
