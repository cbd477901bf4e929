/* Several supervisors drive the same jobs through a store that loses answers,
 * and each of them "crashes" often: it forgets what it knows between any two
 * steps. Whatever happens, each intent is bought once, every machine is given
 * back, each job ends once, and its journal replays. The provider is honest:
 * the same token gives the same machine. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "test.h"

#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"
#include "record/journal.h"
#include "record/state.h"
#include "store/fault.h"

#define SUPERVISORS 4
#define JOBS 3
#define NODES 2

static struct gpc_error err;

/* --- the provider ------------------------------------------------------ */

struct machine { char token[24], id[24]; bool gone; };
struct provider {
	pthread_mutex_t lock;
	GPC_VEC(struct machine) all;
	int created, destroyed;
};

static void buy(struct provider *p, const char *token, int i, char ret_id[24])
{
	char key[24];

	snprintf(key, sizeof(key), "%.20s-%d", token, i);
	pthread_mutex_lock(&p->lock);
	gpc_vec_each(m, &p->all)
		if (strcmp(m->token, key) == 0) {
			memcpy(ret_id, m->id, 24);
			pthread_mutex_unlock(&p->lock);
			return;
		}
	{
		struct machine *m = gpc_vec_push(&p->all);

		memcpy(m->token, key, sizeof(key));
		snprintf(m->id, sizeof(m->id), "i-%d", ++p->created);
		memcpy(ret_id, m->id, 24);
	}
	pthread_mutex_unlock(&p->lock);
}

static void give_back(struct provider *p, const char *id)
{
	pthread_mutex_lock(&p->lock);
	gpc_vec_each(m, &p->all)
		if (strcmp(m->id, id) == 0 && !m->gone) {
			m->gone = true;
			p->destroyed++;
		}
	pthread_mutex_unlock(&p->lock);
}

/* --- a supervisor ------------------------------------------------------ */

struct supervisor {
	struct gpc_store *s;
	struct provider *provider;
	int id;
	const char *job;
	struct gpc_journal j;
	pthread_t thread;
	int failed_at;
};

static int tell(struct supervisor *v, enum gpc_event_type type,
	const char *fmt, ...) gpc_printf(3, 4);
static int tell(struct supervisor *v, enum gpc_event_type type,
	const char *fmt, ...)
{
	gpc_autostr *text = NULL;
	struct gpc_json *data = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = gpc_vformat(fmt, ap);
	va_end(ap);
	if (gpc_json_parse(text, strlen(text), &data, NULL) < 0)
		return -GPC_EPROTO;
	return gpc_journal_append(&v->j, type, data, NULL);
}

static int intend(struct supervisor *v)
{
	char token[21];

	/* In life a hash of the event's number; here it only has to be new. */
	gpc_rand_base32(token, 12);
	return tell(v, GPC_EVENT_INTENT, "{\"attempt\":%d,\"token\":\"%s\","
		"\"request\":{\"count\":%d}}", v->j.state.attempt, token,
		NODES);
}

static int create(struct supervisor *v, const struct gpc_intent *x)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	bool current = false;

	if (gpc_journal_is_current(&v->j, &current, NULL) < 0 || !current)
		return 0;
	for (int rank = 0; rank < NODES; rank++) {
		char id[24];

		buy(v->provider, x->token, rank, id);
		gpc_buf_addf(&b, "%s{\"rank\":%d,\"id\":\"%s\","
			"\"provider\":\"fake\"}", rank ? "," : "", rank, id);
	}
	if (gpc_rand_below(6) == 0)
		return -GPC_ECANCELED;          /* crash before it is recorded */
	return tell(v, GPC_EVENT_CREATED, "{\"intent\":%lld,\"nodes\":[%s]}",
		(long long)x->n, gpc_buf_str(&b));
}

static int look_after(struct supervisor *v, const struct gpc_node *n)
{
	int a = v->j.state.attempt;
	uint64_t luck = gpc_rand_below(12);

	if (v->j.state.status == GPC_JOB_STARTING)
		return tell(v, GPC_EVENT_PHASE,
			"{\"attempt\":%d,\"phase\":\"running\"}", a);
	if (luck == 0)
		return tell(v, GPC_EVENT_ENDED, "{\"reason\":\"completed\"}");
	if (luck < 3)
		return tell(v, GPC_EVENT_LOST, "{\"attempt\":%d,\"rank\":%d,"
			"\"reason\":\"node_lost\",\"progress\":true}", a,
			n->rank);
	return 0;
}

static int act(struct supervisor *v, const struct gpc_action *a)
{
	struct gpc_job_state *st = &v->j.state;
	const struct gpc_node *n = a->index < st->nodes.n ?
		&st->nodes.v[a->index] : NULL;
	const struct gpc_intent *x = a->index < st->intents.n ?
		&st->intents.v[a->index] : NULL;

	switch (a->kind) {
	case GPC_ACTION_ATTEMPT:
		return tell(v, GPC_EVENT_ATTEMPT, "{\"attempt\":%d}",
			st->attempt + 1);
	case GPC_ACTION_INTENT:
		return intend(v);
	case GPC_ACTION_CREATE:
		return create(v, x);
	case GPC_ACTION_VOID:
		return tell(v, GPC_EVENT_VOID, "{\"intent\":%lld}",
			(long long)x->n);
	case GPC_ACTION_WATCH:
		return look_after(v, n);
	case GPC_ACTION_RELEASE:
		give_back(v->provider, n->id);
		return tell(v, GPC_EVENT_RELEASED, "{\"attempt\":%d,\"rank\":"
			"%d,\"id\":\"%s\"}", n->attempt, n->rank, n->id);
	case GPC_ACTION_END:
		return tell(v, GPC_EVENT_ENDED, "{\"reason\":\"%s\"}",
			gpc_reason_to_str(a->reason));
	}
	return 0;
}

static void reborn(struct supervisor *v)
{
	gpc_autostr *by = gpc_format("supervisor %d", v->id);

	gpc_journal_clear(&v->j);
	gpc_journal_init(&v->j, v->s, v->job, by);
	v->j.settle_ms = (int64_t)gpc_rand_below(300);
}

static bool drive(struct supervisor *v)
{
	struct gpc_recovery_policy policy = { .restarts = -1 };

	reborn(v);
	for (int step = 0; step < 5000; step++) {
		struct gpc_action a;
		int r;

		if (gpc_rand_below(10) == 0)
			reborn(v);
		r = gpc_journal_refresh(&v->j, NULL, NULL);
		if (r == -GPC_EPROTO || r == -GPC_ENOTFOUND)
			return false;
		if (r < 0)
			continue;
		/* One action, then look again. */
		if (!gpc_state_next(&v->j.state, &policy, gpc_wall_ms(), &a, 1))
			return true;
		r = act(v, &a);
		if (r == -GPC_EPROTO)
			return false;           /* decided from a true state */
		if (r == -GPC_ECANCELED)
			reborn(v);
	}
	return false;
}

static const char *const jobs[JOBS] = { "a-aaaaaa", "b-bbbbbb", "c-cccccc" };

static void *supervise(void *arg)
{
	struct supervisor *v = arg;

	for (int i = 0; i < JOBS; i++) {
		v->job = jobs[(i + v->id) % JOBS];
		if (!drive(v))
			v->failed_at = i + 1;
	}
	gpc_journal_clear(&v->j);
	return NULL;
}

/* --- what must hold ---------------------------------------------------- */

struct tally { int ends; GPC_VEC(int64_t) answered; };

static int look(void *arg, const struct gpc_event *e)
{
	struct tally *t = arg;
	int64_t intent = gpc_json_get_int(e->data, "intent", 0);

	t->ends += e->type == GPC_EVENT_ENDED;
	if (e->type != GPC_EVENT_CREATED && e->type != GPC_EVENT_VOID)
		return 0;
	/* Decided once: by its answer, or by giving it up. */
	gpc_vec_each(n, &t->answered)
		assert_int_not_equal(*n, intent);
	*gpc_vec_push(&t->answered) = intent;
	return 0;
}

static void check_job(struct gpc_store *s, const char *job)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct tally t = {0};

	assert_ok(gpc_journal_verify(s, job, &err));
	assert_ok(gpc_journal_read(s, job, 0, look, &t, &err));
	assert_int_equal(t.ends, 1);
	gpc_vec_free(&t.answered);
	gpc_journal_init(&j, s, job, "check");
	assert_ok(gpc_journal_refresh(&j, NULL, &err));
	assert_true(gpc_job_status_is_end(j.state.status));
	assert_int_equal(j.state.intents.n, 0);
	gpc_vec_each(n, &j.state.nodes)
		assert_int_equal(n->status, GPC_NODE_RELEASED);
}

static void spoil(struct gpc_store *s)
{
	for (unsigned nth = 1; nth < 2000; nth += 1 +
		(unsigned)gpc_rand_below(12)) {
		struct gpc_fault f = { .nth = nth,
			.op = gpc_rand_below(3) ? GPC_FAULT_PUT :
			GPC_FAULT_GET,
			.how = (enum gpc_fault_how)gpc_rand_below(3),
			.late_ms = (int)gpc_rand_below(60) };

		if (f.op == GPC_FAULT_GET && f.how == GPC_FAULT_LATE)
			f.how = GPC_FAULT_BEFORE;
		gpc_store_fault_add(s, &f);
	}
}

static void run_world(bool faults)
{
	gpc_autoptr(gpc_store) *mem = NULL;
	struct gpc_store *s;
	struct provider p = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct supervisor v[SUPERVISORS] = {0};

	assert_ok(gpc_store_open("mem://", 0, NULL, &mem, &err));
	for (int i = 0; i < JOBS; i++) {
		gpc_auto(gpc_journal) struct gpc_journal j = {0};
		struct gpc_json *data = gpc_json_object();

		gpc_json_set_int(data, "num_nodes", NODES);
		gpc_journal_init(&j, mem, jobs[i], "client");
		assert_ok(gpc_journal_append(&j, GPC_EVENT_SUBMITTED, data,
			&err));
	}
	s = gpc_store_fault_new(mem);
	if (faults)
		spoil(s);
	for (int i = 0; i < SUPERVISORS; i++) {
		v[i].s = s;
		v[i].provider = &p;
		v[i].id = i;
		assert_int_equal(pthread_create(&v[i].thread, NULL, supervise,
			&v[i]), 0);
	}
	for (int i = 0; i < SUPERVISORS; i++) {
		pthread_join(v[i].thread, NULL);
		assert_int_equal(v[i].failed_at, 0);
	}
	gpc_store_free(s);              /* waits for what lands late */
	for (int i = 0; i < JOBS; i++)
		check_job(mem, jobs[i]);
	/* Every machine that was ever made is in a journal and given back. */
	assert_int_equal(p.created, p.destroyed);
	assert_true(p.created >= JOBS * NODES);
	gpc_vec_free(&p.all);
}

TEST(without_faults)
{
	for (int i = 0; i < 10; i++)
		run_world(false);
}

TEST(with_faults)
{
	for (int i = 0; i < 10; i++)
		run_world(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_faults),
		cmocka_unit_test(with_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
