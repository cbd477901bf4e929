/* The spec's ports, opened at the provider once a node runs: for those alone whom the
 * job's record names. What is made for it belongs to the job, and goes with its last
 * node (ways.c). `opened` says that it is done; whoever dies before that event leaves
 * the next one to do the same again, which changes nothing. */
#include "base/crash.h"
#include "base/str.h"
#include "base/time.h"
#include "core/supervision.h"
#include "model/spec_ports.h"
#include "record/roll.h"

enum { LIST_MS = 1000, AGAIN_LEAST_MS = 2000, AGAIN_MOST_MS = 60000,
	ROUND_MS = 2000 };      /* of one look at the job: other work waits */

/* One look at the job. */
struct round {
	const struct gpc_way *way;
	int64_t end_ms;                 /* boot clock: no further node */
	size_t awaited;                 /* nodes that are not open yet */
	bool failed;
};

static bool is_closed(const struct gpc_supervision *sv, const struct gpc_node *n)
{
	return n->attempt == sv->journal.state.attempt && !n->opened &&
		(n->status == GPC_NODE_CREATED || n->status == GPC_NODE_READY);
}

static bool is_awaited(const struct gpc_supervision *sv, const struct gpc_node *n)
{
	return is_closed(sv, n) && !gpc_pairs_get(&sv->ports_open, n->id);
}

/* A machine has its address only then. */
static int is_up(struct gpc_supervision *sv, const struct gpc_node *n,
	bool *ret_up, struct gpc_error *err)
{
	struct gpc_sight sight = {0};
	int r = 0;

	*ret_up = n->status == GPC_NODE_READY;
	if (!*ret_up)
		r = gpc_supervision_find(sv, n, LIST_MS, &sight, err);
	if (sight.instance && sight.instance->state == GPC_INSTANCE_RUNNING)
		*ret_up = true;
	return r;
}

/* The job runs on meanwhile. What a person has to mend is said at once, the rest is
 * for status alone. */
static void try_later(struct gpc_supervision *sv, const char *id,
	const struct gpc_error *why)
{
	gpc_autostr *said = gpc_error_words(why);
	gpc_autostr *text = gpc_format("ports are not open yet: %s%s%s%s", said,
		why->hint[0] ? " (" : "", why->hint, why->hint[0] ? ")" : "");

	sv->ports_pause_ms = sv->ports_pause_ms ? sv->ports_pause_ms * 2 :
		AGAIN_LEAST_MS;
	if (sv->ports_pause_ms > AGAIN_MOST_MS)
		sv->ports_pause_ms = AGAIN_MOST_MS;
	sv->ports_ms = gpc_boot_ms() + sv->ports_pause_ms;
	if (!gpc_supervision_tell(sv, &sv->ports_note, text))
		return;
	gpc_log(sv->session->log, gpc_code_retryable(why->code) ||
		why->code == GPC_ECONFLICT ? GPC_VERBOSE : GPC_WARN,
		"%s: node %s: %s", sv->job.id, id, text);
}

static void note_open(struct gpc_supervision *sv)
{
	sv->ports_ms = sv->ports_pause_ms = 0;
	gpc_supervision_tell(sv, &sv->ports_note, NULL);
}

static struct gpc_json *node_json(const struct gpc_node *n, const char *address)
{
	struct gpc_json *j = gpc_json_object();

	gpc_json_set_int(j, "rank", n->rank);
	gpc_json_set_str(j, "id", n->id);
	gpc_json_set_str(j, "address", address);
	return j;
}

/* One event for all that are open: each carries the state of all nodes, so that those
 * of a large gang are gathered for a while. */
static int note_opened(struct gpc_supervision *sv, size_t awaited, bool *progressed,
	struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	gpc_autoptr(gpc_json) *data = NULL, *also = gpc_json_array();

	if (!sv->ports_open.n || (awaited && gpc_roll_is_kept(st->num_nodes) &&
		gpc_boot_ms() - sv->opened_ms < GPC_TOGETHER_MS))
		return 0;
	gpc_vec_each(n, &st->nodes) {
		const char *address = gpc_pairs_get(&sv->ports_open, n->id);

		if (!is_closed(sv, n) || !address)
			continue;
		if (data)
			gpc_json_add(also, node_json(n, address));
		else
			data = node_json(n, address);
	}
	gpc_pairs_clear(&sv->ports_open);
	if (!data)
		return 0;
	gpc_json_set_int(data, "attempt", st->attempt);
	if (gpc_json_first(also))
		gpc_json_set(data, "also", gpc_steal(&also));
	sv->opened_ms = gpc_boot_ms();
	return gpc_supervision_append(sv, GPC_EVENT_OPENED, gpc_steal(&data),
		progressed, err);
}

/* What is the matter with one machine keeps no other one from being opened. */
static void failed(struct gpc_supervision *sv, const struct gpc_node *n,
	const struct gpc_error *why, struct round *x)
{
	if (!x->failed)
		try_later(sv, n->id, why);
	x->failed = true;
	if (gpc_code_retryable(why->code) || why->code == GPC_EAUTH)
		x->end_ms = 0;
}

/* Only what keeps the journal from being written is an error of this. */
static int open_one(struct gpc_supervision *sv, const struct gpc_node *n,
	struct round *x, bool *progressed, struct gpc_error *err)
{
	gpc_autostr *address = NULL;
	struct gpc_source *source = NULL;
	struct gpc_error why = {0};
	bool up = false, current = false;
	int r = gpc_supervision_source(sv, n->provider, &source, &why);

	if (r == 0 && !source->provider->ops->open_way)
		return 0;
	if (r == 0)
		r = is_up(sv, n, &up, &why);
	if (r == 0 && up && !x->way->from->n)
		r = gpc_fail(&why, GPC_ECONFIG, "the job says nobody who may "
			"reach them (resources.allow)");
	if (r < 0 || !up) {
		if (r < 0)
			failed(sv, n, &why, x);
		return 0;
	}
	r = gpc_supervision_is_current(sv, &current, progressed, err);
	if (r < 0 || !current)
		return r;
	GPC_CRASH("ports.asks");
	r = source->provider->ops->open_way(source->provider, n->id, x->way,
		&address, &why);
	GPC_CRASH("ports.answered");
	if (r < 0)
		failed(sv, n, &why, x);
	else
		gpc_pairs_set(&sv->ports_open, n->id, address);
	return 0;
}

/* Those that are up, for a while. */
static int open_some(struct gpc_supervision *sv, struct round *x, bool *progressed,
	struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	size_t before = sv->ports_open.n;
	int r = 0;

	x->end_ms = gpc_boot_ms() < sv->ports_ms ? 0 : gpc_boot_ms() + ROUND_MS;
	/* when there was progress the state is another one */
	for (size_t i = 0; r == 0 && !*progressed && i < st->nodes.n; i++) {
		if (!is_awaited(sv, &st->nodes.v[i]))
			continue;
		if (gpc_boot_ms() < x->end_ms)
			r = open_one(sv, &st->nodes.v[i], x, progressed, err);
		if (!*progressed)
			x->awaited += is_awaited(sv, &st->nodes.v[i]);
	}
	if (!x->failed && sv->ports_open.n > before)
		note_open(sv);
	return r;
}

int gpc_supervision_open_ports(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	gpc_auto(gpc_port_ranges) struct gpc_port_ranges ports = {0};
	gpc_auto(gpc_strv) struct gpc_strv from = {0};
	const struct gpc_way way = { .from = &from, .ports = &ports };
	struct round x = { .way = &way };
	int r;

	gpc_spec_ports(&sv->spec, &ports);
	if (!ports.n || gpc_job_status_is_end(st->status))
		return 0;
	gpc_spec_allowed(&sv->spec, &from);
	r = open_some(sv, &x, progressed, err);
	if (r == 0 && !*progressed)
		r = note_opened(sv, x.awaited, progressed, err);
	return r;
}
