/* The state machine against tests/vectors/job: a case is a text of events and of
 * what they must give (tests/vectors/job/README says how to write one). Then
 * random journals: what is folded step by step equals what a replay gives, and
 * a supervisor that only does what gpc_state_next says always comes to an end.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>

#include "test.h"

#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/rand.h"
#include "base/str.h"
#include "record/journal.h"
#include "record/state.h"

#define MAX_ACTIONS 64

static struct gpc_error err;

static const char *const action_names[] = {
	[GPC_ACTION_ATTEMPT] = "ATTEMPT", [GPC_ACTION_INTENT] = "INTENT",
	[GPC_ACTION_CREATE] = "CREATE", [GPC_ACTION_VOID] = "VOID",
	[GPC_ACTION_WATCH] = "WATCH", [GPC_ACTION_RELEASE] = "RELEASE",
	[GPC_ACTION_END] = "END",
};

/* --- running a case ---------------------------------------------------- */

struct run {
	const char *file;
	int line;
	struct gpc_job_state st;
	struct gpc_recovery_policy policy;
	int on_exit[8];
	int64_t now_ms;
};

static gpc_printf(2, 3) void complain(const struct run *c, const char *fmt, ...)
{
	va_list ap;
	gpc_autostr *text = NULL;

	va_start(ap, fmt);
	text = gpc_vformat(fmt, ap);
	va_end(ap);
	fail_msg("%s:%d: %s", c->file, c->line, text);
}

static int64_t number(const struct run *c, const char *text)
{
	int64_t n = 0;

	if (gpc_parse_i64(text, INT64_MIN, INT64_MAX, "number", &n, &err) < 0)
		complain(c, "%s", err.msg);
	return n;
}

/* Cuts the first word off; what follows is in *rest. */
static char *word(char **rest)
{
	char *w = *rest + strspn(*rest, " ");
	char *end = w + strcspn(w, " ");

	*rest = end + strspn(end, " ");
	*end = '\0';
	return w;
}

static void check_round_trip(const struct run *c)
{
	gpc_auto(gpc_job_state) struct gpc_job_state back = {0}, copy = {0};
	gpc_autoptr(gpc_json) *a = gpc_job_state_write(&c->st);
	gpc_autoptr(gpc_json) *b = NULL, *d = NULL;
	gpc_autostr *x = NULL, *y = NULL, *z = NULL;

	assert_ok(gpc_job_state_read(a, &back, &err));
	b = gpc_job_state_write(&back);
	gpc_job_state_copy(&copy, &c->st);
	d = gpc_job_state_write(&copy);
	x = gpc_json_print(a);
	y = gpc_json_print(b);
	z = gpc_json_print(d);
	if (strcmp(x, y) != 0 || strcmp(x, z) != 0)
		complain(c, "the state changes when it is written and read");
}

static char *state_text(const struct gpc_job_state *st)
{
	gpc_autoptr(gpc_json) *j = gpc_job_state_write(st);

	return gpc_json_print(j);
}

static int apply(struct run *c, char *rest)
{
	gpc_auto(gpc_event) struct gpc_event e = {
		.v = 1, .n = c->st.n + 1, .at_ms = c->now_ms };
	const char *type = word(&rest);
	int i = 0, r;

	while (i < GPC_EVENT__COUNT && strcmp(gpc_event_type_names[i], type))
		i++;
	if (i == GPC_EVENT__COUNT)
		complain(c, "no event \"%s\"", type);
	e.type = (enum gpc_event_type)i;
	if (*rest && gpc_json_parse(rest, strlen(rest), &e.data, &err) < 0)
		complain(c, "%s", err.msg);
	r = gpc_state_apply(&c->st, &e, &err);
	c->now_ms += 1000;
	return r;
}

static void do_event(struct run *c, char *rest)
{
	if (apply(c, rest) < 0)
		complain(c, "refused: %s", err.msg);
	check_round_trip(c);
}

static void do_refused(struct run *c, char *rest)
{
	gpc_autostr *before = state_text(&c->st);
	gpc_autostr *after = NULL;

	if (apply(c, rest) != -GPC_EPROTO)
		complain(c, "was not refused");
	after = state_text(&c->st);
	if (strcmp(before, after) != 0)
		complain(c, "was refused, but changed the state");
}

static void do_status(struct run *c, char *rest)
{
	const char *have = gpc_job_status_to_str(c->st.status);

	if (strcmp(have, rest) != 0)
		complain(c, "status is %s", have);
}

/* "0 READY" of the current attempt, "1.0 DRAINING" of attempt 1. */
static void do_node(struct run *c, char *rest)
{
	char *which = word(&rest);
	char *dot = strchr(which, '.');
	int attempt = c->st.attempt, rank;
	const char *have = "not there";

	if (dot) {
		*dot = '\0';
		attempt = (int)number(c, which);
		which = dot + 1;
	}
	rank = (int)number(c, which);
	gpc_vec_each(n, &c->st.nodes)
		if (n->attempt == attempt && n->rank == rank)
			have = gpc_node_status_names[n->status];
	if (strcmp(have, *rest ? rest : "not there") != 0)
		complain(c, "node %d.%d is %s", attempt, rank, have);
}

static void do_actions(struct run *c, char *rest)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_action v[MAX_ACTIONS];
	size_t n = gpc_state_next(&c->st, &c->policy, c->now_ms, v,
		MAX_ACTIONS);

	for (size_t i = 0; i < n; i++) {
		gpc_buf_addf(&b, "%s%s", i ? "," : "", action_names[v[i].kind]);
		if (v[i].kind == GPC_ACTION_END)
			gpc_buf_addf(&b, ":%s", gpc_reason_to_str(v[i].reason));
		if (v[i].kind == GPC_ACTION_END && v[i].code)
			gpc_buf_addf(&b, ":%d", v[i].code);
		if (v[i].uncounted)
			gpc_buf_adds(&b, ":uncounted");
	}
	if (!n)
		gpc_buf_addc(&b, '-');
	if (strcmp(gpc_buf_str(&b), rest) != 0)
		complain(c, "actions are %s", gpc_buf_str(&b));
}

static void check_member(struct run *c, const struct gpc_json *j, char *rest)
{
	const char *key = word(&rest);
	const struct gpc_json *m = gpc_json_get(j, key);
	gpc_autostr *have = m ? gpc_json_print(m) : gpc_strdup("-");

	if (strcmp(have, rest) != 0)
		complain(c, "%s is %s", key, have);
}

static void do_state(struct run *c, char *rest)
{
	gpc_autoptr(gpc_json) *j = gpc_job_state_write(&c->st);

	check_member(c, j, rest);
}

static void do_try(struct run *c, char *rest)
{
	gpc_autoptr(gpc_json) *j = gpc_job_state_write(&c->st);
	const struct gpc_json *t = gpc_json_first(gpc_json_get(j, "tries"));
	int64_t n = number(c, word(&rest));

	while (t && gpc_json_get_int(t, "n", 0) != n)
		t = gpc_json_next(t);
	if (!t)
		complain(c, "there is no attempt %d", (int)n);
	check_member(c, t, rest);
}

static void do_at(struct run *c, char *rest)
{
	c->now_ms = number(c, rest);
}

static void do_count(struct run *c, char *rest)
{
	const char *what = word(&rest);
	size_t want = (size_t)number(c, rest);
	size_t have = strcmp(what, "nodes") == 0 ? c->st.nodes.n :
		c->st.intents.n;

	if (have != want)
		complain(c, "there are %zu %s", have, what);
}

static void do_policy(struct run *c, char *rest)
{
	c->policy = (struct gpc_recovery_policy){ .restarts = -1 };
	c->policy.on_exit = c->on_exit;
	while (*rest) {
		char *w = word(&rest);

		if (strcmp(w, "none") == 0)
			c->policy.none = true;
		else if (strcmp(w, "checkpoint") == 0)
			c->policy.has_checkpoint = true;
		else if (gpc_starts_with(w, "restarts="))
			c->policy.restarts = (int)number(c, w + 9);
		else if (gpc_starts_with(w, "on_exit="))
			c->on_exit[c->policy.n_on_exit++] =
				(int)number(c, w + 8);
		else
			complain(c, "no policy \"%s\"", w);
	}
}

static const struct {
	const char *word;
	void (*run)(struct run *c, char *rest);
} lines[] = {
	{"event", do_event}, {"refused", do_refused}, {"status", do_status},
	{"node", do_node}, {"actions", do_actions}, {"state", do_state},
	{"try", do_try}, {"at", do_at}, {"count", do_count},
	{"policy", do_policy},
};

static void run_line(struct run *c, char *line)
{
	char *rest = line;
	const char *w = word(&rest);

	if (!*w || *w == '#')
		return;
	for (size_t i = 0; i < COUNT(lines); i++) {
		if (strcmp(lines[i].word, w) == 0) {
			lines[i].run(c, rest);
			return;
		}
	}
	complain(c, "no line begins with \"%s\"", w);
}

static void run_case(const char *folder, const char *name)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *path = gpc_path_join(folder, name);
	struct run c = { .file = name, .now_ms = 1000000 };
	char *line;

	c.policy.restarts = -1;
	assert_ok(gpc_read_file(path, 1 << 20, &b, &err));
	line = b.data;
	while (line && *line) {
		char *end = strchr(line, '\n');

		if (end)
			*end = '\0';
		c.line++;
		run_line(&c, line);
		line = end ? end + 1 : NULL;
	}
	gpc_job_state_clear(&c.st);
}

TEST(cases)
{
	const char *folder = GPC_TEST_SOURCE "/tests/vectors/job";
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	DIR *d = opendir(folder);
	const struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		if (gpc_ends_with(e->d_name, ".case"))
			gpc_strv_add(&names, e->d_name);
	closedir(d);
	gpc_strv_sort(&names);
	assert_true(names.n >= 25);
	for (size_t i = 0; i < names.n; i++)
		run_case(folder, names.v[i]);
	print_message("%zu cases\n", names.n);
}

/* --- random journals --------------------------------------------------- */

/* A payload that may fit, with what the state suggests and some noise. */
static struct gpc_json *random_payload(const struct gpc_job_state *st, int type)
{
	int attempt = st->attempt + (gpc_rand_below(10) == 0);
	int rank = (int)gpc_rand_below((uint64_t)st->num_nodes + 1);
	int64_t intent = st->intents.n ?
		st->intents.v[gpc_rand_below(st->intents.n)].n :
		(int64_t)gpc_rand_below(20);
	static const char *const phases[] = { "setup", "running", "stopping" };
	static const char *const reasons[] = { "completed", "node_lost",
		"exit_code", "cancelled", "lifetime" };
	const char *reason = reasons[gpc_rand_below(5)];
	gpc_autostr *text = NULL;
	struct gpc_json *j = NULL;
	char id[9];

	gpc_rand_base32(id, 8);
	if (type == GPC_EVENT_ATTEMPT)
		attempt = st->attempt + 1;
	if (type == GPC_EVENT_RELEASED && st->nodes.n) {
		const struct gpc_node *n =
			&st->nodes.v[gpc_rand_below(st->nodes.n)];

		text = gpc_format("{\"attempt\":%d,\"rank\":%d,\"id\":\"%s\"}",
			n->attempt, n->rank, n->id);
	} else {
		text = gpc_format("{\"attempt\":%d,\"rank\":%d,\"id\":\"%s\","
			"\"num_nodes\":2,\"token\":\"t\",\"request\":{\"count\":"
			"1},\"intent\":%lld,\"nodes\":[{\"rank\":%d,\"id\":"
			"\"%s\",\"provider\":\"fake\",\"rate\":{\"amount\":"
			"\"1.5\",\"currency\":\"USD\"}}],\"rate\":{\"amount\":"
			"\"2\",\"currency\":\"USD\"},\"phase\":\"%s\",\"reason\""
			":\"%s\",\"supervisor\":\"%s\",\"checkpoint\":"
			"\"%d-%d-auto\",\"progress\":%s}", attempt, rank, id,
			(long long)intent, rank, id,
			phases[gpc_rand_below(3)], reason, id, attempt,
			(int)gpc_rand_below(9) + 1,
			gpc_rand_below(2) ? "true" : "false");
	}
	assert_ok(gpc_json_parse(text, strlen(text), &j, &err));
	return j;
}

static void check_actions(const struct gpc_job_state *st)
{
	struct gpc_recovery_policy policy = { .restarts = 2 };
	struct gpc_action v[MAX_ACTIONS];
	size_t n = gpc_state_next(st, &policy, gpc_rand_below(2) ? 0 :
		INT64_MAX / 2, v, MAX_ACTIONS);
	bool ended = gpc_job_status_is_end(st->status);

	for (size_t i = 0; i < n; i++) {
		if (v[i].kind == GPC_ACTION_CREATE ||
			v[i].kind == GPC_ACTION_VOID)
			assert_true(v[i].index < st->intents.n);
		if (v[i].kind == GPC_ACTION_WATCH ||
			v[i].kind == GPC_ACTION_RELEASE)
			assert_true(v[i].index < st->nodes.n);
		if (ended)
			assert_true(v[i].kind == GPC_ACTION_RELEASE ||
				v[i].kind == GPC_ACTION_VOID);
		if (v[i].kind == GPC_ACTION_ATTEMPT)
			gpc_vec_each(x, &st->nodes)
				assert_int_equal(x->status, GPC_NODE_RELEASED);
	}
}

static void random_journal(void)
{
	gpc_autoptr(gpc_store) *s = NULL;
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	gpc_auto(gpc_journal) struct gpc_journal late = {0};
	gpc_autostr *a = NULL, *b = NULL;
	struct gpc_json *first = gpc_json_object();

	assert_ok(gpc_store_open("mem://", 0, NULL, &s, &err));
	gpc_journal_init(&j, s, "random-abc234", "test");
	gpc_json_set_int(first, "num_nodes", 2);
	assert_ok(gpc_journal_append(&j, GPC_EVENT_SUBMITTED, first, &err));
	for (int i = 0; i < 200; i++) {
		int type = (int)gpc_rand_below(GPC_EVENT__COUNT);
		struct gpc_json *data = random_payload(&j.state, type);
		int r;

		/* Ends are frequent enough without this. */
		if (type == GPC_EVENT_ENDED && gpc_rand_below(4))
			type = GPC_EVENT_CREATED;
		r = gpc_journal_append(&j, (enum gpc_event_type)type, data,
			&err);
		assert_true(r == 0 || r == -GPC_EPROTO);
		check_actions(&j.state);
	}
	assert_ok(gpc_journal_verify(s, "random-abc234", &err));
	gpc_journal_init(&late, s, "random-abc234", "test");
	assert_ok(gpc_journal_refresh(&late, NULL, &err));
	a = state_text(&j.state);
	b = state_text(&late.state);
	assert_string_equal(a, b);
}

TEST(random_journals)
{
	for (int i = 0; i < 60; i++)
		random_journal();
}

/* --- a supervisor that only obeys -------------------------------------- */

struct world {
	struct gpc_job_state st;
	int ids;
	int64_t now_ms;
};

static int tell(struct world *w, enum gpc_event_type type, const char *fmt, ...)
	gpc_printf(3, 4);
static int tell(struct world *w, enum gpc_event_type type, const char *fmt, ...)
{
	gpc_auto(gpc_event) struct gpc_event e = { .v = 1, .type = type,
		.n = w->st.n + 1, .at_ms = w->now_ms };
	gpc_autostr *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = gpc_vformat(fmt, ap);
	va_end(ap);
	assert_ok(gpc_json_parse(text, strlen(text), &e.data, &err));
	return gpc_state_apply(&w->st, &e, &err);
}

/* The provider made nodes for the ranks that have none. */
static void make_nodes(struct world *w, const struct gpc_intent *x)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int64_t n = x->n;

	for (int rank = 0; rank < w->st.num_nodes; rank++)
		gpc_buf_addf(&b, "%s{\"rank\":%d,\"id\":\"i%d\","
			"\"provider\":\"fake\"}", rank ? "," : "", rank,
			++w->ids);
	assert_ok(tell(w, GPC_EVENT_CREATED, "{\"intent\":%lld,\"nodes\":[%s]}",
		(long long)n, gpc_buf_str(&b)));
}

static void look_after(struct world *w, const struct gpc_node *n)
{
	static const char *const reasons[] = { "node_lost", "exit_code",
		"spot_interrupted", "lifetime" };
	uint64_t luck = gpc_rand_below(20);
	int a = w->st.attempt;

	if (n->status == GPC_NODE_CREATED && luck < 10)
		assert_ok(tell(w, GPC_EVENT_READY, "{\"attempt\":%d,"
			"\"rank\":%d}", a, n->rank));
	else if (w->st.status == GPC_JOB_STARTING && luck < 12)
		assert_ok(tell(w, GPC_EVENT_PHASE,
			"{\"attempt\":%d,\"phase\":\"running\"}", a));
	else if (luck == 13)
		assert_ok(tell(w, GPC_EVENT_CHECKPOINT, "{\"attempt\":%d,"
			"\"checkpoint\":\"%d-1-auto\"}", a, a));
	else if (luck == 14 && w->st.status == GPC_JOB_RUNNING)
		assert_ok(tell(w, GPC_EVENT_ENDED,
			"{\"reason\":\"completed\"}"));
	else if (luck == 15)
		assert_ok(tell(w, GPC_EVENT_CANCEL, "{\"now\":%s}",
			gpc_rand_below(2) ? "true" : "false"));
	else if (luck > 15 || n->status == GPC_NODE_RELEASED ||
		w->st.status == GPC_JOB_STOPPING)
		assert_ok(tell(w, GPC_EVENT_LOST, "{\"attempt\":%d,\"rank\":%d,"
			"\"reason\":\"%s\",\"progress\":%s}", a, n->rank,
			reasons[gpc_rand_below(4)],
			gpc_rand_below(3) ? "true" : "false"));
}

static void act(struct world *w, const struct gpc_action *a)
{
	const struct gpc_node *n = a->index < w->st.nodes.n ?
		&w->st.nodes.v[a->index] : NULL;
	const struct gpc_intent *x = a->index < w->st.intents.n ?
		&w->st.intents.v[a->index] : NULL;

	switch (a->kind) {
	case GPC_ACTION_ATTEMPT:
		assert_ok(tell(w, GPC_EVENT_ATTEMPT, "{\"attempt\":%d}",
			w->st.attempt + 1));
		break;
	case GPC_ACTION_INTENT:
		assert_ok(tell(w, GPC_EVENT_INTENT, "{\"attempt\":%d,"
			"\"token\":\"t\",\"request\":{}}", w->st.attempt));
		break;
	case GPC_ACTION_CREATE:
		if (gpc_rand_below(3))
			make_nodes(w, x);
		break;
	case GPC_ACTION_VOID:
		assert_ok(tell(w, GPC_EVENT_VOID, "{\"intent\":%lld}",
			(long long)x->n));
		break;
	case GPC_ACTION_WATCH:
		look_after(w, n);
		break;
	case GPC_ACTION_RELEASE:
		assert_ok(tell(w, GPC_EVENT_RELEASED, "{\"attempt\":%d,"
			"\"rank\":%d,\"id\":\"%s\"}", n->attempt, n->rank,
			n->id));
		break;
	case GPC_ACTION_END:
		assert_ok(tell(w, GPC_EVENT_ENDED, "{\"reason\":\"%s\"}",
			gpc_reason_to_str(a->reason)));
		break;
	}
}

TEST(obedience_ends)
{
	struct gpc_recovery_policy policy = { .restarts = 3,
		.has_checkpoint = true };

	for (int i = 0; i < 300; i++) {
		struct world w = { .now_ms = 1000000 };
		int steps = 0;

		assert_ok(tell(&w, GPC_EVENT_SUBMITTED, "{\"num_nodes\":%d}",
			1 + i % 3));
		for (;; steps++) {
			struct gpc_action a;

			/* One action, then ask again: as after a crash. */
			if (!gpc_state_next(&w.st, &policy, w.now_ms, &a, 1))
				break;
			act(&w, &a);
			w.now_ms += 20000;
			assert_true(steps < 20000);
		}
		assert_true(gpc_job_status_is_end(w.st.status));
		assert_int_equal(w.st.intents.n, 0);
		gpc_vec_each(n, &w.st.nodes)
			assert_int_equal(n->status, GPC_NODE_RELEASED);
		gpc_job_state_clear(&w.st);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases),
		cmocka_unit_test(random_journals),
		cmocka_unit_test(obedience_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
