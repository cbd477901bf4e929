/* See update.h. Everything is decided from the newest state, and again when
 * somebody else wrote first. */
#include "core/update.h"

#include "base/crash.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "core/cost.h"
#include "core/submit.h"
#include "core/supervise.h"
#include "model/spec_notify.h"
#include "record/hooks.h"
#include "record/job.h"
#include "record/journal.h"
#include "record/update.h"

#define TRIES 100
#define DRAIN_SPARE_MS 60000

struct updating {
	const struct gpc_update *u;
	struct gpc_journal j;
	struct gpc_spec spec;         /* of job.json */
	struct gpc_update_result *x;
};

void gpc_update_result_clear(struct gpc_update_result *x)
{
	free(x->would_end);
	free(x->note);
	gpc_spec_notify_clear(&x->old_notify);
	gpc_spec_notify_clear(&x->new_notify);
	*x = (struct gpc_update_result){0};
}

static int open_job(struct gpc_session *s, const char *id, struct updating *p,
	struct gpc_error *err)
{
	gpc_auto(gpc_job) struct gpc_job job = {0};
	gpc_autostr *by = gpc_session_by(s, "client");
	int r = gpc_job_get_spec(s->store, id, &job, &p->spec, err);

	if (r < 0)
		return gpc_wrap(err, r, "job %s", id);
	gpc_journal_init(&p->j, s->store, id, by);
	r = gpc_journal_refresh(&p->j, NULL, err);
	if (r != -GPC_ENOTFOUND)
		return r;
	r = gpc_submit_finish(s, id, err);
	return r < 0 ? r : gpc_journal_refresh(&p->j, NULL, err);
}

/* --- what stands in the way -------------------------------------------------- */

static int64_t ran_ms(struct gpc_job_state *st)
{
	const struct gpc_try *t = gpc_job_state_try(st, st->attempt);
	int64_t now = gpc_wall_ms();

	if (!t || !t->running_ms_at || t->ended_ms)
		return st->ran_ms;
	return st->ran_ms + (now > t->running_ms_at ? now - t->running_ms_at : 0);
}

/* The end of the node of this attempt that ends first, be it only asked for;
 * 0 = none does. */
static int64_t first_end_ms(const struct gpc_job_state *st,
	int64_t *ret_created_ms)
{
	int64_t end = 0;

	gpc_vec_each(i, &st->intents) {
		int64_t ms = gpc_json_get_int(i->request, "expires_ms", 0);

		if (i->attempt != st->attempt || ms <= 0 || (end && ms >= end))
			continue;
		end = ms;
		*ret_created_ms = i->at_ms;
	}

	gpc_vec_each(n, &st->nodes) {
		if (n->attempt != st->attempt || !n->expires_ms ||
			n->status == GPC_NODE_RELEASED)
			continue;
		if (!end || n->expires_ms < end) {
			end = n->expires_ms;
			*ret_created_ms = n->created_ms;
		}
	}
	return end;
}

/* As the agent does: it begins to leave this long before the end. */
static int64_t drain_ms(const struct gpc_spec *spec, int64_t life_ms)
{
	int64_t grace = spec->checkpoint.grace_ms;
	int64_t drain = (grace > 0 ? grace : GPC_SPEC_GRACE_DEFAULT_MS) +
		DRAIN_SPARE_MS;

	return drain > life_ms / 4 ? life_ms / 4 : drain;
}

static char *phrase(int64_t ms)
{
	char text[32];

	/* Whole minutes are enough, and always on the safe side. */
	if (ms > 10 * 60000)
		ms -= ms % 60000;
	else if (ms > 1000)
		ms -= ms % 1000;
	return gpc_strdup(gpc_format_duration(ms, text, sizeof(text)));
}

static int check_time(struct updating *p, struct gpc_error *err)
{
	struct gpc_job_state *st = &p->j.state;
	int64_t ran = ran_ms(st), made = 0, end = first_end_ms(st, &made);
	int64_t most = ran + end - gpc_wall_ms() - drain_ms(&p->spec, end - made);
	gpc_autostr *ran_text = phrase(ran), *most_text = NULL;
	char asked[32], at[GPC_RFC3339_SIZE];
	int r;

	gpc_format_duration(p->u->time_ms, asked, sizeof(asked));
	if (p->u->time_ms <= ran && !p->x->would_end)
		p->x->would_end = gpc_format("it has run for %s already, so "
			"--time %s ends it now", ran_text, asked);
	if (!end || p->u->time_ms <= most)
		return 0;
	most_text = phrase(most > 0 ? most : 0);
	r = gpc_fail(err, GPC_ECONFLICT, "--time %s: the lifetime of its node "
		"was fixed when it was made and ends at %s, so it can run for "
		"%s in all at most", asked, gpc_format_rfc3339(end, at),
		most_text);
	gpc_hint(err, "a longer run needs another node: submit the job again "
		"with limits.time: %s", asked);
	return r;
}

static int check_cost(struct updating *p, struct gpc_error *err)
{
	const struct gpc_job_state *st = &p->j.state;
	struct gpc_money spent = gpc_cost_spent(st, gpc_wall_ms());
	struct gpc_money rate = gpc_cost_rate(st), cap = p->u->cost;
	const char *paid = spent.currency[0] ? spent.currency : rate.currency;
	char a[GPC_MONEY_SIZE], b[GPC_MONEY_SIZE], at[GPC_RFC3339_SIZE];
	int64_t made = 0, end = first_end_ms(st, &made);

	/* Before it has a machine its limit was fit for what it may buy. */
	if (!paid[0] && st->nodes.n == 0)
		paid = p->x->old_cost.currency;
	if (paid[0] && !gpc_eq(paid, cap.currency))
		return gpc_fail(err, GPC_EUSAGE, "--max-cost %s: the job is paid "
			"in %s, and a limit must be in the same currency",
			gpc_money_format(cap, a), paid);
	if (spent.micros >= cap.micros && !p->x->would_end)
		p->x->would_end = gpc_format("it has cost %s already, so "
			"--max-cost %s ends it now", gpc_money_format(spent, a),
			gpc_money_format(cap, b));
	if (end && rate.micros > 0 && cap.micros > p->x->old_cost.micros &&
		p->x->old_cost.currency[0])
		p->x->note = gpc_format("its node still ends at %s, which was "
			"fixed when it was made%s", gpc_format_rfc3339(end, at),
			p->spec.checkpoint.path ?
			"; then the next attempt goes on" : "");
	else if (!paid[0] && st->nodes.n > 0)
		p->x->note = gpc_strdup("its machine is free: no limit on cost "
			"ends it there, whatever the currency");
	return 0;
}

/* --- doing it ---------------------------------------------------------------- */

static bool same_money(struct gpc_money a, struct gpc_money b)
{
	return a.micros == b.micros && gpc_eq(a.currency, b.currency);
}

static int copy_notify(const struct gpc_spec_notify *from,
	struct gpc_spec_notify *to, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = gpc_spec_notify_json(from);

	return gpc_spec_notify_read(j, "notify", to, err);
}

static bool same_notify(const struct gpc_spec_notify *a,
	const struct gpc_spec_notify *b)
{
	gpc_autoptr(gpc_json) *x = gpc_spec_notify_json(a);
	gpc_autoptr(gpc_json) *y = gpc_spec_notify_json(b);
	gpc_autostr *s = gpc_json_print(x), *t = gpc_json_print(y);

	return gpc_eq(s, t);
}

static int compare(struct updating *p, struct gpc_error *err)
{
	struct gpc_spec_limits l = gpc_update_limits(&p->spec, &p->j.state);
	struct gpc_update_result *x = p->x;
	int r;

	gpc_update_result_clear(x);
	x->old_cost = x->new_cost = l.cost;
	x->old_time_ms = x->new_time_ms = l.time_ms;
	x->old_priority = x->new_priority = gpc_update_priority(&p->spec,
		&p->j.state);
	if (p->u->cost.currency[0])
		x->new_cost = p->u->cost;
	if (p->u->time_ms > 0)
		x->new_time_ms = p->u->time_ms;
	if (p->u->priority)
		x->new_priority = *p->u->priority;
	r = gpc_update_notify(&p->spec, &p->j.state, &x->old_notify, err);
	return r < 0 ? r : copy_notify(p->u->notify ? p->u->notify :
		&x->old_notify, &x->new_notify, err);
}

static bool is_same(const struct gpc_update_result *x)
{
	return same_money(x->old_cost, x->new_cost) &&
		x->old_time_ms == x->new_time_ms &&
		x->old_priority == x->new_priority &&
		same_notify(&x->old_notify, &x->new_notify);
}

static struct gpc_json *payload(const struct gpc_update *u)
{
	struct gpc_json *data = gpc_json_object(), *cost;
	char text[GPC_MONEY_SIZE];

	if (u->time_ms > 0)
		gpc_json_set_int(data, "time_ms", u->time_ms);
	if (u->priority)
		gpc_json_set_int(data, "priority", *u->priority);
	if (u->notify)
		gpc_json_set(data, "notify", gpc_spec_notify_json(u->notify));
	if (!u->cost.currency[0])
		return data;
	cost = gpc_json_object();
	gpc_json_set_str(cost, "amount", gpc_money_decimal(u->cost, text));
	gpc_json_set_str(cost, "currency", u->cost.currency);
	gpc_json_set(data, "cost", cost);
	return data;
}

static int check_lives(const char *job, const struct gpc_job_state *st,
	struct gpc_error *err)
{
	int r;

	if (!gpc_job_status_is_end(st->status))
		return 0;
	r = gpc_fail(err, GPC_ECONFLICT, "job %s has ended (%s): there is "
		"nothing to update", job, gpc_reason_to_str(st->reason));
	gpc_hint(err, "submit it again with other limits");
	return r;
}

/* *ret_again: somebody else was first. */
static int decide(struct updating *p, bool *ret_again, struct gpc_error *err)
{
	int r = check_lives(p->j.job, &p->j.state, err);

	*ret_again = false;
	if (r < 0)
		return r;
	r = compare(p, err);
	if (r < 0 || is_same(p->x))
		return r;
	if (p->u->time_ms > 0 && p->x->new_time_ms != p->x->old_time_ms)
		r = check_time(p, err);
	if (r == 0 && p->u->cost.currency[0])
		r = check_cost(p, err);
	if (r < 0 || (p->x->would_end && !p->u->may_end))
		return r;
	if (p->u->notify)
		r = gpc_hooks_put(p->j.store, p->j.job, p->u->notify, err);
	if (r < 0)
		return r;
	r = gpc_journal_append(&p->j, GPC_EVENT_UPDATE, payload(p->u), err);
	GPC_CRASH("update.recorded");
	*ret_again = r == -GPC_ECONFLICT;
	p->x->changed = r == 0;
	return *ret_again ? 0 : r;
}

int gpc_update_job(struct gpc_session *s, const char *job,
	const struct gpc_update *u, struct gpc_update_result *ret_x,
	struct gpc_error *err)
{
	gpc_auto(gpc_update_result) struct gpc_update_result x = {0};
	gpc_auto(gpc_view) struct gpc_view v = {0};
	struct updating p = { .u = u, .x = &x };
	bool again = true;
	/* Its nodes may have told an end that nobody has recorded yet. */
	int r = gpc_view_load(s, job, &v, err);

	if (r == 0)
		r = check_lives(job, &v.state, err);
	if (r == 0)
		r = open_job(s, job, &p, err);

	for (int i = 0; r == 0 && again && i < TRIES; i++)
		r = decide(&p, &again, err);
	if (r == 0 && again)
		r = gpc_fail(err, GPC_ECONFLICT, "job %s: its journal is too "
			"busy", job);
	gpc_journal_clear(&p.j);
	gpc_spec_clear(&p.spec);
	if (r < 0)
		return r;
	if (x.changed)
		gpc_supervisor_wake(s);
	*ret_x = x;
	x = (struct gpc_update_result){0};
	return 0;
}
