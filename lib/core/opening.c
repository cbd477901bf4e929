/* The spec's ports, opened at the provider once a node runs: for those alone whom the
 * job's record names. What is made for it belongs to the job, and goes with its last
 * node (ways.c). `opened` says that it is done; whoever dies before that event leaves
 * the next one to do the same again, which changes nothing. */
#include "base/crash.h"
#include "base/str.h"
#include "base/time.h"
#include "core/supervision.h"
#include "model/spec_ports.h"

enum { LIST_MS = 1000, AGAIN_LEAST_MS = 2000, AGAIN_MOST_MS = 60000 };

static bool is_awaited(const struct gpc_supervision *sv, const struct gpc_node *n)
{
	return n->attempt == sv->journal.state.attempt && !n->opened &&
		(n->status == GPC_NODE_CREATED || n->status == GPC_NODE_READY);
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

static int note_opened(struct gpc_supervision *sv, const struct gpc_node *n,
	const char *address, bool *progressed, struct gpc_error *err)
{
	struct gpc_json *data = gpc_json_object();

	gpc_json_set_int(data, "attempt", n->attempt);
	gpc_json_set_int(data, "rank", n->rank);
	gpc_json_set_str(data, "id", n->id);
	gpc_json_set_str(data, "address", address);
	return gpc_supervision_append(sv, GPC_EVENT_OPENED, data, progressed, err);
}

/* Only what keeps the journal from being written is an error of this. */
static int open_one(struct gpc_supervision *sv, const struct gpc_node *n,
	const struct gpc_way *way, bool *progressed, struct gpc_error *err)
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
	if (r == 0 && up && !way->from->n)
		r = gpc_fail(&why, GPC_ECONFIG, "the job says nobody who may "
			"reach them (resources.allow)");
	if (r < 0 || !up) {
		if (r < 0)
			try_later(sv, n->id, &why);
		return 0;
	}
	r = gpc_supervision_is_current(sv, &current, progressed, err);
	if (r < 0 || !current)
		return r;
	GPC_CRASH("ports.asks");
	r = source->provider->ops->open_way(source->provider, n->id, way,
		&address, &why);
	GPC_CRASH("ports.answered");
	if (r < 0) {
		try_later(sv, n->id, &why);
		return 0;
	}
	note_open(sv);
	return note_opened(sv, n, address, progressed, err);
}

int gpc_supervision_open_ports(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	gpc_auto(gpc_port_ranges) struct gpc_port_ranges ports = {0};
	gpc_auto(gpc_strv) struct gpc_strv from = {0};
	const struct gpc_way way = { .from = &from, .ports = &ports };
	int r = 0;

	gpc_spec_ports(&sv->spec, &ports);
	if (!ports.n || gpc_job_status_is_end(st->status))
		return 0;
	gpc_spec_allowed(&sv->spec, &from);
	for (size_t i = 0; r == 0 && i < st->nodes.n && !*progressed &&
		gpc_boot_ms() >= sv->ports_ms; i++)
		if (is_awaited(sv, &st->nodes.v[i]))
			r = open_one(sv, &st->nodes.v[i], &way, progressed, err);
	return r;
}
