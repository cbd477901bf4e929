/* The cloud is told in a thread of its own. See publish.h. */
#include "agent/publish.h"

#include <math.h>
#include <signal.h>

#include "base/str.h"
#include "base/time.h"
#include "dep/json.h"
#include "provider/provider.h"

enum {
	EVERY_MS = 60000,
	NAMES_MOST = 500,       /* in a minute; what goes beyond is left out */
};

struct gpc_publish {
	struct gpc_worker *worker;
	struct gpc_cancel cancel;
	struct gpc_provider_context ctx;
	struct gpc_provider *provider;
	struct gpc_figures next, sent;  /* sent: the thread's while it is busy */
	int64_t due_ms;
	bool last, told;
};

static void clear(struct gpc_figures *f)
{
	gpc_vec_each(x, &f->v)
		free(x->name);
	gpc_vec_free(&f->v);
}

static int open_provider(struct gpc_agent *a, struct gpc_publish *p,
	struct gpc_error *err)
{
	int r = gpc_provider_open(a->node->provider, &p->ctx, &p->provider, err);

	if (r == 0 && !p->provider->ops->publish)
		r = gpc_fail(err, GPC_EUNSUPPORTED, "%s keeps none",
			a->node->provider);
	return r < 0 ? r : gpc_worker_new(&p->worker, err);
}

void gpc_publish_open(struct gpc_agent *a)
{
	struct gpc_publish *p;
	struct gpc_error err = {0};
	int r;

	if (!a->job.cloudwatch || !a->node->provider)
		return;
	p = gpc_alloc(sizeof(*p));
	a->publish = p;
	p->ctx = (struct gpc_provider_context){ .log = &a->log, .store_id = "",
		.state_dir = a->options->node_dir, .cancel = &p->cancel };
	p->next = (struct gpc_figures){ .space = a->job.cloudwatch,
		.job = a->job.id, .node = a->node->id, .rank = a->rank };
	p->sent = p->next;
	p->due_ms = gpc_boot_ms() + EVERY_MS;
	r = open_provider(a, p, &err);
	if (r == 0)
		return;
	if (r != -GPC_EUNSUPPORTED)
		gpc_agent_say(a, GPC_WARN, "figures are not put anywhere: %s",
			err.msg);
	gpc_publish_close(a);
}

void gpc_publish_close(struct gpc_agent *a)
{
	struct gpc_publish *p = a->publish;

	if (!p)
		return;
	p->cancel.signal = SIGTERM;
	gpc_worker_free(p->worker);
	gpc_provider_free(p->provider);
	clear(&p->next);
	clear(&p->sent);
	free(p);
	a->publish = NULL;
}

static struct gpc_figure *figure_of(struct gpc_figures *f, const char *name)
{
	struct gpc_figure *x;

	gpc_vec_each(k, &f->v)
		if (gpc_eq(k->name, name))
			return k;
	if (f->v.n >= NAMES_MOST)
		return NULL;
	x = gpc_vec_push(&f->v);
	x->name = gpc_strdup(name);
	return x;
}

void gpc_publish_line(struct gpc_agent *a, const char *line, size_t n)
{
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_figure *x;
	const char *name;
	double value;

	if (!a->publish || gpc_json_parse(line, n, &j, NULL) < 0)
		return;
	name = gpc_json_get_str(j, "name");
	value = gpc_json_number_or(gpc_json_get(j, "value"), NAN);
	x = name && isfinite(value) ? figure_of(&a->publish->next, name) : NULL;
	if (!x)
		return;
	x->least = x->n && x->least < value ? x->least : value;
	x->most = x->n && x->most > value ? x->most : value;
	x->sum += value;
	x->n++;
	x->at_ms = gpc_wall_ms();
}

static int put(void *arg, const struct gpc_cancel *cancel, struct gpc_error *err)
{
	struct gpc_publish *p = arg;

	(void)cancel;           /* our own ends it */
	return p->provider->ops->publish(p->provider, &p->sent, err);
}

static void take(struct gpc_agent *a)
{
	struct gpc_publish *p = a->publish;
	struct gpc_error err = {0};
	int r = 0;

	if (!gpc_worker_take(p->worker, &r, &err))
		return;
	clear(&p->sent);
	if (r < 0 && !p->told)
		gpc_agent_say(a, GPC_WARN, "figures are lost, the job goes on: "
			"%s", err.msg);
	p->told = r < 0;
}

/* The next batch goes; one that cannot is dropped. */
static void send(struct gpc_agent *a)
{
	struct gpc_publish *p = a->publish;
	struct gpc_figures empty = p->next;
	struct gpc_error err = {0};

	empty.v.v = NULL;
	empty.v.n = empty.v.cap = 0;
	clear(&p->sent);
	p->sent = p->next;
	p->next = empty;
	if (gpc_worker_start(p->worker, put, p, &err) < 0)
		gpc_agent_say(a, GPC_VERBOSE, "%s", err.msg);
}

void gpc_publish_tick(struct gpc_agent *a, int64_t now_ms)
{
	struct gpc_publish *p = a->publish;

	if (!p)
		return;
	take(a);
	if (now_ms < p->due_ms || !p->next.v.n || gpc_worker_busy(p->worker))
		return;
	p->due_ms = now_ms + EVERY_MS;
	send(a);
}

bool gpc_publish_ended(struct gpc_agent *a, int64_t now_ms)
{
	struct gpc_publish *p = a->publish;

	if (!p)
		return true;
	if (!p->last)
		p->due_ms = 0;
	gpc_publish_tick(a, now_ms);
	p->last = p->last || p->due_ms != 0 || !p->next.v.n;
	return p->last && !gpc_worker_busy(p->worker);
}
