/* Cost from folded states: released nodes were summed by the journal, live
 * ones are rated by the hour up to now. */
#include "core/cost.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "core/view.h"
#include "record/index.h"

/* The newest jobs are read whole; a key tells enough of the others. */
enum { READS_LOCAL = 500, READS_FAR = 20 };

static void add(struct gpc_money *sum, struct gpc_money m)
{
	/* One job is paid in one currency: its offers come from one provider
	 * at a time, and a mixed sum would be worse than a short one. */
	if (gpc_money_add(sum, m, NULL) < 0)
		return;
}

static bool is_held(const struct gpc_node *n)
{
	return n->status != GPC_NODE_RELEASED &&
		n->status != GPC_NODE_INTENDED;
}

/* A machine ends by itself when its lifetime is over, whoever looks. */
static int64_t held_ms(const struct gpc_node *n, int64_t now_ms)
{
	if (n->expires_ms > 0 && now_ms > n->expires_ms)
		now_ms = n->expires_ms;
	return now_ms > n->created_ms ? now_ms - n->created_ms : 0;
}

static struct gpc_money charge_held(const struct gpc_job_state *st,
	int64_t now_ms, struct gpc_bill *to)
{
	struct gpc_money sum = {0};

	gpc_vec_each(n, &st->nodes) {
		if (is_held(n))
			add(&sum, gpc_job_state_charge(st, n, held_ms(n, now_ms),
				false, to));
	}
	return sum;
}

struct gpc_money gpc_cost_spent(const struct gpc_job_state *st, int64_t now_ms)
{
	struct gpc_money sum = st->spent;

	add(&sum, charge_held(st, now_ms, NULL));
	return sum;
}

void gpc_cost_bill(const struct gpc_job_state *st, int64_t now_ms,
	struct gpc_bill *to)
{
	gpc_vec_each(p, &st->bill)
		gpc_bill_add(to, p->name, p->sum);
	charge_held(st, now_ms, to);
}

struct gpc_money gpc_cost_rate(const struct gpc_job_state *st)
{
	struct gpc_money sum = {0};

	gpc_vec_each(n, &st->nodes) {
		if (is_held(n))
			add(&sum, n->rate);
	}
	return sum;
}

static int64_t node_ms(const struct gpc_job_state *st, int64_t now_ms)
{
	int64_t sum = st->node_ms;

	gpc_vec_each(n, &st->nodes) {
		if (is_held(n))
			sum += held_ms(n, now_ms);
	}
	return sum;
}

static void from_view(const struct gpc_view *v, int64_t now_ms,
	struct gpc_cost *c)
{
	const struct gpc_job_state *st = &v->state;

	snprintf(c->job, sizeof(c->job), "%s", v->job.id);
	c->name = gpc_strdup(v->job.name);
	c->status = st->status;
	c->attempts = st->attempt;
	c->nodes = st->num_nodes;
	c->start_ms = st->submitted_ms;
	c->end_ms = st->ended_ms;
	c->node_ms = node_ms(st, now_ms);
	c->spent = v->spent;
	c->rate = v->rate;
	gpc_cost_bill(st, now_ms, &c->bill);
}

int gpc_cost_job(struct gpc_session *s, const char *job, struct gpc_cost *ret_c,
	struct gpc_error *err)
{
	gpc_auto(gpc_view) struct gpc_view v = {0};
	int r = gpc_view_load(s, job, &v, err);

	if (r < 0)
		return r;
	*ret_c = (struct gpc_cost) {0};
	from_view(&v, gpc_wall_ms(), ret_c);
	return 0;
}

/* A done job's key says all that a sum needs. */
static void from_index(const struct gpc_index_entry *x, struct gpc_cost *c)
{
	snprintf(c->job, sizeof(c->job), "%s", x->job);
	c->name = gpc_strdup(x->name);
	c->status = x->status;
	c->attempts = x->attempt;
	c->nodes = -1;
	c->node_ms = -1;
	c->start_ms = x->start_ms;
	c->end_ms = x->end_ms;
	c->spent = x->spent;
}

/* What a key does not say is read where that is cheap; it may be gone. */
static void add_done(struct gpc_session *s, const struct gpc_index_entry *x,
	bool read, struct gpc_costs *costs)
{
	struct gpc_cost *c = gpc_vec_push(costs);

	if (!read || gpc_cost_job(s, x->job, c, NULL) < 0)
		from_index(x, c);
}

int gpc_cost_since(struct gpc_session *s, int64_t since_ms, bool all_users,
	struct gpc_costs *ret_c, struct gpc_error *err)
{
	gpc_auto(gpc_index) struct gpc_index index = {0};
	gpc_auto(gpc_costs) struct gpc_costs costs = {0};
	size_t reads = gpc_store_is_far(s->store) ? READS_FAR : READS_LOCAL;
	int r = gpc_index_list(s->store, since_ms, &index, err);

	for (size_t i = 0; r == 0 && i < index.n; i++) {
		const struct gpc_index_entry *x = &index.v[i];

		if (!all_users && !gpc_eq(x->owner_hash, s->place.owner.hash))
			continue;
		if (!x->live) {
			add_done(s, x, reads > 0, &costs);
			reads -= reads > 0;
			continue;
		}
		r = gpc_cost_job(s, x->job, gpc_vec_push(&costs), err);
		if (r == -GPC_ENOTFOUND) { /* never became a job */
			costs.n--;
			r = 0;
		}
	}
	if (r < 0)
		return r;
	*ret_c = costs;
	costs = (struct gpc_costs) {0};
	return 0;
}

void gpc_cost_clear(struct gpc_cost *c)
{
	free(c->name);
	gpc_bill_clear(&c->bill);
}

void gpc_costs_clear(struct gpc_costs *c)
{
	gpc_vec_each(x, c)
		gpc_cost_clear(x);
	gpc_vec_free(c);
}
