/* Many nodes are alike: what is told of them fits a screen. */
#include "cmd/job_gang.h"

#include <stdlib.h>
#include <string.h>

#include "core/logs.h"

enum { LINES = 10, RANGES = 8 };

/* --- nodes by kind ------------------------------------------------------------- */
struct kind {
	int nodes;
	enum gpc_node_status status;
	const char *provider, *offer;
	struct gpc_money rate;           /* of all of them */
	char *ranks;                     /* "0-616,618-999" */
	int first, last, ranges;         /* the range that grows */
};
static const struct gpc_col kind_cols[] = {
	GPC_COL("nodes", INT, struct kind, nodes, 0),
	GPC_COL("node", ENUM, struct kind, status, 0,
		.names = gpc_node_status_names),
	GPC_COL("provider", STR, struct kind, provider, 0),
	GPC_COL("offer", STR, struct kind, offer, GPC_COL_F_CUT),
	GPC_COL("per_hour", MONEY, struct kind, rate, 0),
	GPC_COL("ranks", STR, struct kind, ranks, GPC_COL_F_CUT),
	GPC_COL_LAST
};
static const struct gpc_table kind_table = {"node", kind_cols,
	sizeof(struct kind)};

struct kinds { GPC_VEC(struct kind) v; };

static struct kind *kind_of(struct kinds *all, const struct gpc_node *n)
{
	struct kind *k;

	gpc_vec_each(x, &all->v)
		if (x->status == n->status && gpc_eq(x->provider, n->provider) &&
			gpc_eq(x->offer, n->offer))
			return x;
	k = gpc_vec_push(&all->v);
	k->status = n->status;
	k->provider = n->provider;
	k->offer = n->offer;
	k->first = -1;
	return k;
}

static void end_range(struct kind *k)
{
	gpc_autostr *before = k->ranks;

	if (k->first < 0)
		return;
	k->ranges++;
	if (k->ranges > RANGES)
		k->ranks = k->ranges == RANGES + 1 ?
			gpc_format("%s,...", before) : gpc_steal(&before);
	else if (k->last > k->first)
		k->ranks = gpc_format("%s%s%d-%d", before ? before : "",
			before ? "," : "", k->first, k->last);
	else
		k->ranks = gpc_format("%s%s%d", before ? before : "",
			before ? "," : "", k->first);
}

/* In the order of ranks. */
static void count(struct kind *k, const struct gpc_node *n)
{
	struct gpc_money sum = k->rate;

	k->nodes++;
	if (n->rate.currency[0] && gpc_money_add(&sum, n->rate, NULL) == 0)
		k->rate = sum;
	if (k->first >= 0 && n->rank == k->last + 1) {
		k->last = n->rank;
		return;
	}
	end_range(k);
	k->first = k->last = n->rank;
}

static int by_rank(const void *a, const void *b)
{
	const struct gpc_node *x = *(const struct gpc_node *const *)a;
	const struct gpc_node *y = *(const struct gpc_node *const *)b;

	return x->rank != y->rank ? x->rank - y->rank : x->attempt - y->attempt;
}

int gpc_gang_rows(struct gpc_cmd *c, const struct gpc_job_state *st,
	struct gpc_error *err)
{
	struct kinds all = {0};
	const struct gpc_node **nodes = gpc_array(st->nodes.n,
		sizeof(const struct gpc_node *));
	int r;

	for (size_t i = 0; i < st->nodes.n; i++)
		nodes[i] = &st->nodes.v[i];
	qsort(nodes, st->nodes.n, sizeof(const struct gpc_node *), by_rank);
	for (size_t i = 0; i < st->nodes.n; i++)
		count(kind_of(&all, nodes[i]), nodes[i]);
	gpc_vec_each(k, &all.v)
		end_range(k);
	r = gpc_out_rows(&c->out, &kind_table, all.v.v, all.v.n, err);
	gpc_vec_each(k, &all.v)
		free(k->ranks);
	gpc_vec_free(&all.v);
	free(nodes);
	return r;
}

/* --- the rank that failed ------------------------------------------------------- */
static int keep(void *arg, int rank, int source, const void *data, size_t n,
	struct gpc_error *err)
{
	(void)rank;
	(void)source;
	(void)err;
	gpc_buf_add(arg, data, n);
	return 0;
}

static int print_lines(struct gpc_cmd *c, const struct gpc_buf *b,
	struct gpc_error *err)
{
	struct gpc_str rest = { b->data, b->len }, line;
	int r = 0;

	while (r == 0 && gpc_str_split(&rest, '\n', &line)) {
		gpc_autostr *text = gpc_str_printable(line.ptr, line.len);

		if (*text || rest.len)
			r = gpc_out_print(&c->out, err, "  %s\n", text);
	}
	return r;
}

int gpc_gang_last_lines(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_view *v, struct gpc_error *err)
{
	const struct gpc_job_state *st = &v->state;
	struct gpc_log_options how = { .attempt = st->attempt,
		.rank = st->rank, .tail = LINES };
	gpc_autoptr(gpc_log_reader) *reader = NULL;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	bool any = false;
	int r = 0;

	if (st->status != GPC_JOB_FAILED || !st->attempt)
		return 0;
	reader = gpc_log_reader_new(s, v->job.id, &how);
	if (gpc_log_pump(reader, st->attempt, st->num_nodes, true, keep, &b, &any,
		NULL) < 0 || !b.len)
		return 0;
	r = gpc_out_print(&c->out, err, "\nRank %d, which failed first, wrote "
		"last:\n", st->rank);
	return r < 0 ? r : print_lines(c, &b, err);
}
