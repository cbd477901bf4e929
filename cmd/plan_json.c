/* A plan for programs: what plan_print.c tells people, as one object. */
#include <string.h>

#include "cmd/offer_row.h"
#include "cmd/phrase.h"
#include "cmd/plan_facts.h"
#include "model/spec_notify.h"

static struct gpc_json *biggest_json(const struct gpc_tree *t)
{
	struct gpc_json *list = gpc_json_array();
	size_t at[GPC_PLAN_BIGGEST], n = gpc_plan_biggest(t, at);

	for (size_t i = 0; i < n; i++) {
		const struct gpc_entry *e = &t->entries.v[at[i]];
		struct gpc_json *j = gpc_json_object();

		gpc_json_set_str(j, "path", e->path);
		gpc_json_set_int(j, "size_bytes", (int64_t)e->size);
		gpc_json_add(list, j);
	}
	return list;
}

static struct gpc_json *workspace_json(const struct gpc_tree *t)
{
	struct gpc_json *j = gpc_json_object(), *rules = gpc_json_array();
	size_t n;
	struct gpc_plan_rule *counted = gpc_plan_rules(t, &n);

	gpc_json_set_int(j, "files", (int64_t)t->n_files);
	gpc_json_set_int(j, "size_bytes", (int64_t)t->n_bytes);
	for (size_t i = 0; i < n; i++) {
		struct gpc_json *r = gpc_json_object();

		gpc_json_set_str(r, "rule", counted[i].text);
		gpc_json_set_int(r, "count", (int64_t)counted[i].n);
		gpc_json_add(rules, r);
	}
	free(counted);
	gpc_json_set(j, "biggest", biggest_json(t));
	gpc_json_set(j, "excluded", rules);
	return j;
}

/* What costs nothing is still an amount; no bound is none. */
static struct gpc_json *amount_json(struct gpc_money m, bool free)
{
	if (free && !m.currency[0])
		memcpy(m.currency, "USD", 4);
	return gpc_phrase_money_json(m);
}

static struct gpc_json *mount_json(const char *source, const char *target,
	uint64_t files, uint64_t bytes, enum gpc_spec_mount_mode mode)
{
	struct gpc_json *j = gpc_json_object();

	gpc_json_set_str(j, "source", source);
	gpc_json_set_str(j, "target", target);
	gpc_json_set_int(j, "files", (int64_t)files);
	gpc_json_set_int(j, "size_bytes", (int64_t)bytes);
	gpc_json_set_str(j, "mode", gpc_spec_mode_names[mode]);
	return j;
}

static struct gpc_json *mounts_json(const struct gpc_sent *sent)
{
	struct gpc_json *list = gpc_json_array(), *j;

	gpc_vec_each(m, &sent->mounts) {
		j = mount_json(m->source, m->target, m->tree.n_files,
			m->tree.n_bytes, GPC_SPEC_MODE_COPY);
		gpc_json_set_bool(j, "complete", true);
		gpc_json_set(j, "why", gpc_json_null());
		gpc_json_add(list, j);
	}
	gpc_vec_each(m, &sent->buckets) {
		j = mount_json(m->source, m->target, m->files, m->bytes, m->mode);
		gpc_json_set_bool(j, "complete", m->complete);
		gpc_json_set(j, "why", gpc_json_string(m->why));
		gpc_json_add(list, j);
	}
	return list;
}

static struct gpc_json *git_json(const struct gpc_plan_text *t)
{
	struct gpc_json *j = gpc_json_object();

	gpc_json_set_str(j, "url", t->spec->workdir_git.url);
	gpc_json_set_str(j, "ref", t->spec->workdir_git.ref);
	gpc_json_set_str(j, "commit", t->sent->git.commit);
	return j;
}

static struct gpc_json *suspects_json(const struct gpc_suspects *suspects)
{
	struct gpc_json *list = gpc_json_array();

	gpc_vec_each(x, suspects) {
		struct gpc_json *j = gpc_json_object();

		gpc_json_set_str(j, "path", x->path);
		gpc_json_set_str(j, "in", x->mount ? "file_mounts" : "workdir");
		gpc_json_set_str(j, "looks_like", x->looks);
		gpc_json_add(list, j);
	}
	return list;
}

static void add_sent(struct gpc_json *j, const struct gpc_plan_text *t)
{
	const struct gpc_sent *sent = t->sent;

	if (!sent)
		return;
	if (sent->git.root)
		gpc_json_set(j, "git", git_json(t));
	gpc_json_set(j, "workspace", workspace_json(&sent->tree));
	gpc_json_set(j, "mounts", mounts_json(sent));
	gpc_json_set(j, "credentials", suspects_json(&sent->suspects));
}

struct gpc_json *gpc_plan_json(const struct gpc_plan_text *t)
{
	static const char *const causes[] = {"never", "time", "lifetime",
		"cost"};
	const struct gpc_plan *p = t->plan;
	struct gpc_json *j = gpc_json_object();
	const char *cause;
	int64_t end = gpc_plan_latest_end(t, &cause);

	gpc_json_set(j, "name", gpc_json_string(t->spec->name));
	gpc_json_set(j, "offer", gpc_offer_json(&p->offers.v[0]));
	gpc_json_set_int(j, "num_nodes", p->num_nodes);
	gpc_json_set(j, "rate_per_hour", amount_json(p->hourly, p->free));
	gpc_json_set(j, "rate_parts", gpc_phrase_bill_json(&p->hourly_bill));
	gpc_json_set_bool(j, "free", p->free);
	gpc_json_set(j, "ends_at", gpc_phrase_time_json(end));
	gpc_json_set_str(j, "ended_by", gpc_eq(cause, "limits.deadline") ?
		"deadline" : !end && t->spec->limits.time_ms > 0 ? "time" :
		causes[p->end_by]);
	gpc_json_set(j, "at_most", amount_json(p->at_most, p->free));
	gpc_json_set(j, "at_most_parts", gpc_phrase_bill_json(&p->at_most_bill));
	gpc_json_set(j, "checkpoint_path",
		gpc_json_string(t->spec->checkpoint.path));
	gpc_json_set(j, "workdir", gpc_json_string(t->spec->workdir));
	gpc_json_set_int(j, "priority", gpc_spec_priority(t->spec));
	gpc_json_set(j, "notify", gpc_notify_json(&t->spec->notify));
	gpc_json_set(j, "tether_ms", t->tether_ms ?
		gpc_json_int(t->tether_ms) : gpc_json_null());
	add_sent(j, t);
	return j;
}
