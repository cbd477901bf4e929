/* See ports.h. All nodes are opened, as SkyPilot opens those of a cluster. */
#include "core/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "core/vendor.h"
#include "model/spec_ports.h"
#include "provider/provider.h"

enum { LOOKED_AT = 1000 };      /* ports of this machine; a range may be all */

/* --- who ------------------------------------------------------------------- */

static bool needs_caller(const struct gpc_spec *spec)
{
	gpc_auto(gpc_strv) struct gpc_strv ports = {0};

	gpc_spec_port_words(spec, &ports);
	for (size_t i = 0; ports.n && i < gpc_spec_candidates(spec, NULL); i++)
		if (!gpc_spec_candidate(spec, i)->allow.n)
			return true;
	return false;
}

static int ask(struct gpc_session *s, const char *provider, char **ret_cidr,
	struct gpc_error *err)
{
	struct gpc_vendor *v = NULL;
	int r = gpc_session_vendor(s, provider, &v, err);

	if (r == 0 && v->provider->ops->caller)
		r = v->provider->ops->caller(v->provider, ret_cidr, err);
	return gpc_wrap(err, r, "resources.ports");
}

int gpc_ports_allow_caller(struct gpc_session *s, struct gpc_spec *spec,
	const struct gpc_plan *plan, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv asked = {0};
	gpc_autostr *cidr = NULL;
	int r = 0;

	if (!needs_caller(spec))
		return 0;
	for (size_t i = 0; r == 0 && !cidr && i < plan->n_fitting; i++) {
		const char *provider = plan->offers.v[i].provider;

		if (gpc_strv_has(&asked, provider))
			continue;
		gpc_strv_add(&asked, provider);
		r = ask(s, provider, &cidr, err);
	}
	if (cidr)
		gpc_spec_allow(spec, cidr);
	return r;
}

/* --- this machine ------------------------------------------------------------ */

static bool is_free(int port)
{
	gpc_autofd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port) };
	int one = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		return true;            /* who cannot look does not warn */
	return bind(fd, (struct sockaddr *)&in, sizeof(in)) == 0 ||
		errno != EADDRINUSE;
}

void gpc_ports_taken(const struct gpc_spec *spec, const char *provider,
	bool *ret_here, struct gpc_strv *to)
{
	gpc_auto(gpc_port_ranges) struct gpc_port_ranges ports = {0};
	int looked = 0;

	*ret_here = gpc_provider_is_callers(provider);
	if (!*ret_here)
		return;
	gpc_spec_ports(spec, &ports);
	gpc_vec_each(x, &ports)
		for (int n = x->first; n <= x->last && looked < LOOKED_AT; n++) {
			looked++;
			if (!is_free(n))
				gpc_strv_addf(to, "%d", n);
		}
}

/* --- where ------------------------------------------------------------------- */

void gpc_ports_at_clear(struct gpc_ports_at *x)
{
	gpc_vec_each(p, x) {
		free(p->ports);
		free(p->address);
		free(p->at);
	}
	gpc_vec_free(x);
}

static void add(const char *word, const char *address, int rank,
	struct gpc_ports_at *to)
{
	struct gpc_port_at *x = gpc_vec_push(to);
	bool v6 = address && strchr(address, ':');

	x->rank = rank;
	x->ports = gpc_strdup(word);
	x->address = gpc_strdup(address);
	if (address)
		x->at = gpc_format("%s%s%s%s:%s", strchr(word, '-') ? "" :
			"http://", v6 ? "[" : "", address, v6 ? "]" : "", word);
}

void gpc_ports_where(const struct gpc_spec *spec, const struct gpc_job_state *st,
	struct gpc_ports_at *to)
{
	gpc_auto(gpc_strv) struct gpc_strv words = {0};

	gpc_spec_port_words(spec, &words);
	gpc_vec_each(n, &st->nodes) {
		gpc_autostr *here = gpc_provider_is_callers(n->provider) ?
			gpc_rank_here(n->rank) : NULL;

		if (n->attempt != st->attempt || n->status == GPC_NODE_RELEASED ||
			n->status == GPC_NODE_INTENDED)
			continue;
		for (size_t i = 0; i < words.n; i++)
			add(words.v[i], here ? here : n->opened, n->rank, to);
	}
}

static struct gpc_json *where_json(const struct gpc_ports_at *list)
{
	struct gpc_json *all = gpc_json_array();

	gpc_vec_each(x, list) {
		struct gpc_json *j = gpc_json_object();

		gpc_json_set_int(j, "rank", x->rank);
		gpc_json_set_str(j, "ports", x->ports);
		gpc_json_set_str(j, "address", x->address);
		gpc_json_set_str(j, "at", x->at);
		gpc_json_add(all, j);
	}
	return all;
}

void gpc_ports_json(const struct gpc_spec *spec, const struct gpc_job_state *st,
	bool over, struct gpc_json *j)
{
	gpc_auto(gpc_ports_at) struct gpc_ports_at where = {0};
	gpc_auto(gpc_strv) struct gpc_strv words = {0}, allow = {0};

	gpc_spec_port_words(spec, &words);
	if (!words.n)
		return;
	if (!over)
		gpc_ports_where(spec, st, &where);
	gpc_spec_allowed(spec, &allow);
	gpc_json_set(j, "ports", where_json(&where));
	gpc_json_set(j, "allow", gpc_json_strings(&allow));
}
