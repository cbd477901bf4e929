/* Ways from outside to a job's nodes, which the spec's ports or `gpucloud ssh` had
 * opened, closed again once the job is over: before its index entry moves, so that whoever comes next goes on with
 * it. What cannot be closed keeps no job open for ever: `release --orphans` finds it by
 * its tags. */
#include "base/str.h"
#include "base/time.h"
#include "core/supervision.h"
#include "model/spec_ports.h"

enum { AGAIN_MS = 2000, PATIENCE_MS = 10 * 60 * 1000 };

/* Those of this job at one provider. */
static int close_at(struct gpc_supervision *sv, const char *provider,
	size_t *n_left, struct gpc_error *err)
{
	struct gpc_source *s = NULL;
	gpc_auto(gpc_instances) struct gpc_instances found = {0};
	int r = gpc_supervision_source(sv, provider, &s, err);

	if (r < 0 || !s->provider->ops->ways)
		return r;
	r = s->provider->ops->ways(s->provider, &found, err);
	gpc_vec_each(x, &found) {
		const char *id = x->id;

		if (r < 0 || !gpc_eq(gpc_pairs_get(&x->tags, "gpucloud-job"),
			sv->job.id))
			continue;
		(*n_left)++;            /* until a list does not show it */
		r = s->provider->ops->destroy(s->provider, &id, 1, err);
	}
	return r;
}

/* Whoever died between opening them and saying so left no event. */
static bool may_have_ways(const struct gpc_supervision *sv)
{
	gpc_auto(gpc_strv) struct gpc_strv ports = {0};

	gpc_spec_port_words(&sv->spec, &ports);
	return sv->journal.state.opened || (ports.n && sv->journal.state.attempt);
}

static void add_once(const char *provider, struct gpc_strv *to)
{
	if (provider && !gpc_strv_has(to, provider))
		gpc_strv_add(to, provider);
}

/* The state forgets the nodes of attempts that are over; the spec does not say all
 * places, but most. */
static void find_providers(struct gpc_supervision *sv, struct gpc_strv *to)
{
	gpc_vec_each(n, &sv->journal.state.nodes)
		add_once(n->provider, to);
	gpc_vec_each(s, &sv->sources)
		add_once((*s)->name, to);
	for (size_t i = 0; sv->journal.state.opened &&
		i < gpc_spec_candidates(&sv->spec, NULL); i++) {
		gpc_autostr *name = gpc_resources_provider(
			gpc_spec_candidate(&sv->spec, i));

		add_once(name, to);
	}
}

static int close_all(struct gpc_supervision *sv, size_t *n_left,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv providers = {0};
	int r = 0;

	find_providers(sv, &providers);
	for (size_t i = 0; r == 0 && i < providers.n; i++)
		r = close_at(sv, providers.v[i], n_left, err);
	return r;
}

bool gpc_supervision_close_ways(struct gpc_supervision *sv)
{
	int64_t now = gpc_boot_ms();
	struct gpc_error why = {0};
	size_t n_left = 0;
	int r;

	if (sv->ways_closed || !may_have_ways(sv))
		return true;
	if (!sv->ways_since_ms)
		sv->ways_since_ms = now;
	if (now < sv->ways_ms)
		return false;
	sv->ways_ms = now + AGAIN_MS;
	r = close_all(sv, &n_left, &why);
	sv->ways_closed = r == 0 && n_left == 0;
	if (sv->ways_closed || (r != -GPC_EAUTH &&
		now - sv->ways_since_ms < PATIENCE_MS))
		return sv->ways_closed;
	gpc_log(sv->session->log, GPC_WARN, "%s: what was opened to its nodes "
		"stays (%s): `gpucloud release --orphans` closes it", sv->job.id,
		r < 0 ? why.msg : "it is still in use");
	return sv->ways_closed = true;
}
