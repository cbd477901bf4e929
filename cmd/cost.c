/* `gpucloud cost`: what a spec would cost, what a job costs or has cost, and
 * what all of them did since some day.
 */
#include "core/cost.h"

#include <string.h>
#include <sys/stat.h>

#include "base/time.h"
#include "cmd/command.h"
#include "cmd/phrase.h"
#include "cmd/plan_print.h"
#include "cmd/session_open.h"
#include "cmd/spec_load.h"
#include "core/plan.h"
#include "core/view.h"

#define MONTH_MS ((int64_t)30 * 24 * 3600 * 1000)

struct cost {
	int64_t since;
	bool all_users;
	struct gpc_spec_cli spec;
};

static const struct gpc_opt options[] = {
	GPC_OPT_TIME(0, "since", struct cost, since, "TIME",
		"all jobs that ended after it or are unfinished, and their sum",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "all-users", struct cost, all_users,
		"with --since: of every user of this store"),
	GPC_OPT_GROUP(struct cost, spec, struct gpc_spec_cli,
		gpc_spec_cli_options, .key = "submit"),
	GPC_OPT_END
};

static const struct gpc_col cols[] = {
	GPC_COL("name", STR, struct gpc_cost, name, GPC_COL_F_DATA),
	GPC_COL("state", ENUM, struct gpc_cost, status, 0,
		.names = gpc_job_status_names),
	GPC_COL("attempts", INT, struct gpc_cost, attempts, 0,
		.title = "tries"),
	GPC_COL("nodes", COUNT, struct gpc_cost, nodes, GPC_COL_F_WIDE),
	GPC_COL("started", TIME, struct gpc_cost, start_ms, GPC_COL_F_WIDE,
		.title = "start"),
	GPC_COL("ended", TIME, struct gpc_cost, end_ms, GPC_COL_F_WIDE,
		.title = "end"),
	GPC_COL("node_time", DURATION, struct gpc_cost, node_ms, 0),
	GPC_COL("rate_per_hour", MONEY, struct gpc_cost, rate, 0,
		.title = "per hour"),
	GPC_COL("cost", MONEY, struct gpc_cost, spent, GPC_COL_F_KEEP),
	GPC_COL_LAST
};

/* The same with the id in front: a char array is no column type of its own. */
struct row { char *job; struct gpc_cost cost; };
enum { N_COLS = sizeof(cols) / sizeof(*cols) };

static void make_table(struct gpc_col all[N_COLS + 1], struct gpc_table *t)
{
	all[0] = (struct gpc_col)GPC_COL("job", STR, struct row, job,
		GPC_COL_F_NAME);
	for (size_t i = 0; i < N_COLS; i++) {
		all[i + 1] = cols[i];
		all[i + 1].offset += offsetof(struct row, cost);
	}
	*t = (struct gpc_table){"cost", all, sizeof(struct row)};
}

static struct row *make_rows(const struct gpc_costs *costs)
{
	struct row *rows = gpc_array(costs->n ? costs->n : 1, sizeof(*rows));

	for (size_t i = 0; i < costs->n; i++) {
		struct gpc_cost *k = &rows[i].cost;

		rows[i].cost = costs->v[i];
		rows[i].job = costs->v[i].job;
		if (k->node_ms > 10000)
			k->node_ms -= k->node_ms % 1000;
		/* what costs nothing is still an amount */
		if (!k->spent.currency[0])
			memcpy(k->spent.currency, "USD", 4);
		if (!k->rate.currency[0] && !k->end_ms)
			memcpy(k->rate.currency, "USD", 4);
	}
	return rows;
}

/* --- sums ------------------------------------------------------------------ */
struct sums { struct gpc_money v[8]; size_t n; };

/* One sum a currency: they are never converted. */
static void add_up(struct sums *s, struct gpc_money m)
{
	if (!m.currency[0])
		memcpy(m.currency, "USD", 4);
	for (size_t i = 0; i < s->n; i++) {
		if (gpc_eq(s->v[i].currency, m.currency)) {
			s->v[i].micros += m.micros;
			return;
		}
	}
	if (s->n < sizeof(s->v) / sizeof(*s->v))
		s->v[s->n++] = m;
}

static int print_json(struct gpc_cmd *c, const struct gpc_table *t,
	const struct row *rows, size_t n, const struct sums *sums,
	struct gpc_error *err)
{
	struct gpc_json *list = gpc_json_array(), *total = gpc_json_array();
	struct gpc_json *j = gpc_json_object();

	for (size_t i = 0; i < n; i++) {
		struct gpc_json *row = gpc_out_row_json(t, &rows[i]);

		gpc_json_set(row, "parts",
			gpc_phrase_bill_json(&rows[i].cost.bill));
		gpc_json_add(list, row);
	}
	for (size_t i = 0; i < sums->n; i++)
		gpc_json_add(total, gpc_phrase_money_json(sums->v[i]));
	gpc_json_set(j, "rows", list);
	gpc_json_set(j, "total", total);
	return gpc_out_json(&c->out, "cost", j, err);
}

static int print_total(struct gpc_cmd *c, const struct sums *sums,
	struct gpc_error *err)
{
	for (size_t i = 0; i < sums->n; i++) {
		gpc_autostr *m = gpc_phrase_money(sums->v[i]);
		int r = gpc_out_print(&c->out, err, "total %s\n", m);

		if (r)
			return r;
	}
	return 0;
}

static int print_costs(struct gpc_cmd *c, const struct gpc_costs *costs,
	bool with_total, struct gpc_error *err)
{
	struct gpc_col all[N_COLS + 1];
	struct gpc_table t;
	struct row *rows = make_rows(costs);
	struct sums sums = {0};
	int r;

	make_table(all, &t);
	for (size_t i = 0; i < costs->n; i++)
		add_up(&sums, costs->v[i].spent);
	if (c->out.format == GPC_OUT_JSON) {
		r = print_json(c, &t, rows, costs->n, &sums, err);
	} else {
		r = gpc_out_rows(&c->out, &t, rows, costs->n, err);
		if (!r && with_total && c->out.format <= GPC_OUT_WIDE)
			r = print_total(c, &sums, err);
	}
	free(rows);
	return r;
}

static int cost_since(struct gpc_cmd *c, struct gpc_session *s,
	struct gpc_error *err)
{
	const struct cost *o = c->ctx;
	gpc_auto(gpc_costs) struct gpc_costs costs = {0};
	int64_t since = gpc_cmd_given(c, "since") ? o->since :
		gpc_wall_ms() - MONTH_MS;
	int r = s->store ? gpc_cost_since(s, since, o->all_users, &costs, err)
		: 0;

	if (!r)
		r = print_costs(c, &costs, true, err);
	if (!r && !costs.n && c->out.format <= GPC_OUT_WIDE)
		gpc_say(&c->talk, "gpucloud: no jobs %s",
			gpc_cmd_given(c, "since") ? "since then" :
			"in the last 30 days");
	return r;
}

/* Of a job whose machines were not all that was paid for. */
static int print_parts(struct gpc_cmd *c, const struct gpc_bill *bill,
	struct gpc_error *err)
{
	gpc_autostr *parts = gpc_phrase_bill(bill);

	return !parts || c->out.format > GPC_OUT_WIDE ? 0 :
		gpc_out_print(&c->out, err, "of that: %s\n", parts);
}

static int cost_job(struct gpc_cmd *c, struct gpc_session *s,
	struct gpc_error *err)
{
	gpc_auto(gpc_costs) struct gpc_costs costs = {0};
	char job[GPC_JOB_ID_SIZE];
	int r;

	if (!s->store)
		return gpc_fail(err, GPC_ENOTFOUND, "there is no job and no "
			"file \"%s\"", c->argv[0]);
	r = gpc_job_find(s, c->argv[0], false, job, err);
	if (!r)
		r = gpc_cost_job(s, job, gpc_vec_push(&costs), err);
	if (!r)
		r = print_costs(c, &costs, false, err);
	return r ? r : print_parts(c, &costs.v[0].bill, err);
}

/* --- before there is a job ------------------------------------------------- */
static bool is_spec(const char *word)
{
	struct stat st;

	return gpc_eq(word, "-") || gpc_ends_with(word, ".yaml") ||
		gpc_ends_with(word, ".yml") || strchr(word, '/') ||
		(stat(word, &st) == 0 && S_ISREG(st.st_mode));
}

static int print_forecast(struct gpc_cmd *c, const struct gpc_spec *spec,
	const struct gpc_plan *plan, struct gpc_error *err)
{
	const struct gpc_plan_text t = {.spec = spec, .plan = plan};
	struct gpc_money guess = gpc_money_for(plan->hourly,
		spec->limits.expected_ms);
	bool bounded = plan->life_ms > 0 || plan->free;
	int r;

	if (c->out.format == GPC_OUT_JSON) {
		struct gpc_json *j = gpc_plan_json(&t);
		gpc_json_set(j, "expected", spec->limits.expected_ms ?
			gpc_phrase_money_json(guess) : gpc_json_null());
		return gpc_out_json(&c->out, "forecast", j, err);
	}
	gpc_autostr *rate = gpc_phrase_rate(plan->hourly);
	gpc_autostr *most = gpc_phrase_money(plan->at_most);
	gpc_autostr *place = gpc_phrase_place(&plan->offers.v[0]);
	gpc_autostr *nodes = gpc_phrase_count((uint64_t)plan->num_nodes, "node");
	gpc_autostr *parts = gpc_phrase_bill(&plan->hourly_bill);
	gpc_autostr *all = gpc_phrase_bill(&plan->at_most_bill);
	r = gpc_out_print(&c->out, err, "%-10s %s, %s\n%-10s %s%s%s\n"
		"%-10s %s%s%s%s\n", "on", place, nodes, "rate", rate,
		parts ? ": " : "", parts ? parts : "", "at most",
		bounded ? most : "no bound: set limits.time or limits.cost",
		all ? " (" : "", all ? all : "", all ? ")" : "");
	if (r || !spec->limits.expected_ms)
		return r;
	gpc_autostr *expected = gpc_phrase_money(guess);
	return gpc_out_print(&c->out, err, "%-10s %s\n", "expected", expected);
}

static int cost_spec(struct gpc_cmd *c, struct gpc_session *s,
	struct gpc_error *err)
{
	const struct cost *o = c->ctx;
	gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
	int r = gpc_spec_load(c, &o->spec, c->argv[0], NULL, 0, &file,
		NULL, err);

	for (size_t i = 0; !r && i < file.tasks.n; i++) {
		gpc_auto(gpc_plan) struct gpc_plan plan = {0};

		r = gpc_plan_make(s, &file.tasks.v[i], (struct gpc_money){0}, 0,
			&plan, err);
		if (!r)
			r = print_forecast(c, &file.tasks.v[i], &plan, err);
	}
	return r;
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	gpc_autoptr(gpc_session) *s = NULL;
	int r;

	if (c->argc && gpc_cmd_given(c, "since"))
		return gpc_fail(err, GPC_EUSAGE, "cost: name a job or a spec, "
			"or give --since, not both");
	r = gpc_cmd_session(c, GPC_STORE_MAY_LACK, &s, err);
	if (r)
		return r;
	if (!c->argc)
		return cost_since(c, s, err);
	return is_spec(c->argv[0]) ? cost_spec(c, s, err) : cost_job(c, s, err);
}

const struct gpc_command gpc_command_cost = {
	.name = "cost",
	.summary = "what a job will cost, costs, or has cost",
	.usage = "[OPTION]... [JOB | SPEC]",
	.about = "For a SPEC (a file, or - for stdin) says what running it can "
		"cost; for a JOB what it has cost so far. Without either lists "
		"this user's jobs of the last 30 days, or since --since, with "
		"their sum. The price of this machine is the setting "
		"local.price_per_hour.",
	.group = GPC_GROUP_LIFE,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct cost),
	.max_args = 1,
	.complete = GPC_COMPLETE_JOB_OR_FILE,
	.run = run,
};
