/* The state machine: the input is a row of events, whose payloads are built from
 * the very tables that read them, so that most are nearly right. A refused event
 * changes nothing; what is folded is written and read unchanged; and what a
 * supervisor is told to do names things that are there. The first byte may ask
 * for a state from the input instead of an empty one. */
#include "fuzz.h"

#include <limits.h>

#include "record/payload.h"
#include "record/state.h"

#define EXACT ((int64_t)1 << 53)        /* what a record holds of a number */
enum { MAX_EVENTS = 30, MAX_ACTIONS = 64 };

static const char *word(struct fuzz_in *in)
{
	static const char *const words[] = {"a", "b", "c", "", "1-1-auto",
		"2-1-final", "3-2-x", "local", "fake", "2-4294967297-auto"};

	return words[fuzz_below(in, COUNT(words))];
}

static struct gpc_json *money(struct fuzz_in *in)
{
	static const char *const amounts[] = {"1.25", "0", "80",
		"9223372036854.775807", "-1", "x"};
	static const char *const currencies[] = {"USD", "CNY", "", "LONGER"};
	struct gpc_json *j = gpc_json_object();

	gpc_json_set_str(j, "amount", amounts[fuzz_below(in, COUNT(amounts))]);
	gpc_json_set_str(j, "currency",
		currencies[fuzz_below(in, COUNT(currencies))]);
	return j;
}

static struct gpc_json *number(struct fuzz_in *in)
{
	int64_t n = fuzz_int(in);
	struct gpc_json *j = NULL;

	if (n > -((int64_t)1 << 53) && n < (int64_t)1 << 53)
		return gpc_json_int(n);
	gpc_autostr *text = gpc_format("%lld", (long long)n);
	j = gpc_json_string(text);
	return j;
}

static struct gpc_json *payload(struct fuzz_in *in, const struct gpc_bind *b);

static struct gpc_json *value(struct fuzz_in *in, const struct gpc_bind *b)
{
	struct gpc_json *j;
	unsigned n = 0;

	switch (b->kind) {
	case GPC_BIND_STR:
		return gpc_json_string(word(in));
	case GPC_BIND_BOOL:
		return gpc_json_bool(fuzz_byte(in) & 1);
	case GPC_BIND_ENUM:
		while (b->names[n])
			n++;
		return gpc_json_string(b->names[fuzz_below(in, n)]);
	case GPC_BIND_MONEY:
		return money(in);
	case GPC_BIND_VEC:
		j = gpc_json_array();
		for (n = fuzz_below(in, 4); n > 0; n--)
			gpc_json_add(j, payload(in, b->sub));
		return j;
	case GPC_BIND_JSON:
	case GPC_BIND_REST:
		j = gpc_json_object();
		gpc_json_set(j, "count", number(in));
		return j;
	default:
		return number(in);
	}
}

/* attempt and intent are mostly the ones of the state. */
static struct gpc_json *payload(struct fuzz_in *in, const struct gpc_bind *b)
{
	struct gpc_json *j = gpc_json_object();

	for (; b->kind != GPC_BIND_END; b++) {
		uint8_t how = fuzz_byte(in);

		if (!b->key || how >= 250
			|| (!(b->flags & GPC_BIND_REQUIRED) && how >= 150))
			continue;
		gpc_json_set(j, b->key, value(in, b));
	}
	return j;
}

static void help(struct fuzz_in *in, const struct gpc_job_state *st,
	struct gpc_event *e)
{
	int now = st->attempt;
	uint8_t how = fuzz_byte(in);

	if (how >= 200)
		return;
	if (gpc_json_get(e->data, "attempt"))
		gpc_json_set_int(e->data, "attempt",
			e->type == GPC_EVENT_ATTEMPT && now < INT_MAX ? now + 1
			: now);
	if (gpc_json_get(e->data, "intent") && st->intents.n)
		gpc_json_set_int(e->data, "intent",
			st->intents.v[how % st->intents.n].n);
	if (gpc_json_get(e->data, "id") && st->nodes.n && how < 100)
		gpc_json_set_str(e->data, "id",
			st->nodes.v[how % st->nodes.n].id);
}

static char *text_of(const struct gpc_job_state *st)
{
	gpc_autoptr(gpc_json) *j = gpc_job_state_write(st);

	return gpc_json_print(j);
}

/* Gives its text. */
static char *check_state(const struct gpc_job_state *st)
{
	gpc_autoptr(gpc_json) *j = gpc_job_state_write(st);
	gpc_autostr *text = gpc_json_print(j);
	gpc_auto(gpc_job_state) struct gpc_job_state back = {0}, copy = {0};
	struct gpc_error err = {0};

	fuzz_check((unsigned)st->status < GPC_JOB__COUNT
		&& (unsigned)st->reason < GPC_REASON__COUNT, "no such status");
	gpc_vec_each(n, &st->nodes)
		fuzz_check((unsigned)n->status < GPC_NODE__COUNT
			&& n->rank >= 0 && n->rank < st->num_nodes,
			"a node is out of range");
	fuzz_check(gpc_job_state_read(j, &back, &err) == 0,
		"a state cannot be read back: %s", err.msg);
	fuzz_same(gpc_strdup(text), text_of(&back), "a state changed");
	gpc_job_state_copy(&copy, st);
	fuzz_same(gpc_strdup(text), text_of(&copy), "a copied state changed");
	return gpc_steal(&text);
}

static void check_next(struct fuzz_in *in, const struct gpc_job_state *st)
{
	static const int codes[] = {7, 9};
	const struct gpc_recovery_policy p = {.none = fuzz_byte(in) >= 200,
		.restarts = (int)fuzz_below(in, 4) - 1, .on_exit = codes,
		.n_on_exit = 2, .has_checkpoint = fuzz_byte(in) & 1};
	struct gpc_action v[MAX_ACTIONS];
	size_t n = gpc_state_next(st, &p, fuzz_int(in) % EXACT, v, MAX_ACTIONS);

	fuzz_check(n <= MAX_ACTIONS, "too many actions");
	for (size_t i = 0; i < n; i++) {
		bool intent = v[i].kind == GPC_ACTION_CREATE
			|| v[i].kind == GPC_ACTION_VOID;
		bool node = v[i].kind == GPC_ACTION_WATCH
			|| v[i].kind == GPC_ACTION_RELEASE;

		fuzz_check(v[i].index < (intent ? st->intents.n
			: node ? st->nodes.n : 1), "action on nothing");
		fuzz_check(v[i].kind != GPC_ACTION_END || v[i].reason,
			"an end without a reason");
	}
}

static void read_state(struct fuzz_in *in, struct gpc_job_state *st)
{
	struct gpc_str text = fuzz_bytes(in, 4096);
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_error err;

	if (gpc_json_parse(text.ptr, text.len, &j, &err) < 0
		|| gpc_job_state_read(j, st, &err) < 0)
		return;
	free(check_state(st));
	check_next(in, st);
}

/* *text: of the state. */
static void apply(struct fuzz_in *in, struct gpc_job_state *st, char **text,
	int64_t *now)
{
	gpc_auto(gpc_event) struct gpc_event e = {.v = 1, .n = st->n + 1};
	struct gpc_error err = {0};

	*now = fuzz_byte(in) < 230 && *now < 1000000000000 ? *now + 1000
		: fuzz_int(in) % EXACT;
	e.at_ms = *now;
	e.type = (enum gpc_event_type)fuzz_below(in, GPC_EVENT__COUNT);
	if (st->n == 0)
		e.type = GPC_EVENT_SUBMITTED;
	e.data = payload(in, gpc_payload_fields(e.type));
	help(in, st, &e);
	if (gpc_state_apply(st, &e, &err) < 0) {
		fuzz_check(err.msg[0], "refused without a message");
		fuzz_same(gpc_strdup(*text), text_of(st),
			"a refused event changed the state");
		return;
	}
	fuzz_check(st->n == e.n, "an event was not counted");
	free(*text);
	*text = check_state(st);
	check_next(in, st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	gpc_auto(gpc_job_state) struct gpc_job_state st = {0};
	struct fuzz_in in = {data, n};
	gpc_autostr *text = NULL;
	int64_t now = 1000000;

	if (fuzz_byte(&in) == '{')
		read_state(&in, &st);
	text = text_of(&st);
	for (int i = 0; i < MAX_EVENTS && in.n > 0 && st.n < EXACT; i++)
		apply(&in, &st, &text, &now);
	return 0;
}
