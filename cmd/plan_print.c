/* What submitting would do, said before it is done: where, until when, for how
 * much, with which files, and what happens when the node is lost. Everything a
 * user could regret stands here.
 */
#include "cmd/plan_print.h"

#include <inttypes.h>
#include <string.h>

#include "base/time.h"
#include "cmd/offer_row.h"
#include "cmd/phrase.h"
#include "cmd/wrap.h"
#include "model/spec_notify.h"

enum { BIGGEST = 5, RULES = 6 };

enum { INDENT = 14 };

/* A label and its text, broken before the edge of a terminal. */
static void item(struct gpc_cmd *c, const char *label, const char *text)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	size_t width = c->talk.width > 2 * INDENT ? (size_t)c->talk.width : 0;

	if (!width || gpc_utf8_width(text) + INDENT <= width) {
		gpc_say(&c->talk, "  %-11s %s", label, text);
		return;
	}
	gpc_wrap_text(text, INDENT, INDENT, width, &b);
	if (b.len)
		b.len--;              /* its last newline */
	gpc_say(&c->talk, "  %-11s %.*s", label, (int)b.len, b.data);
}

/* --- where and for how much ------------------------------------------------ */
static void say_offer(struct gpc_cmd *c, const struct gpc_plan *p)
{
	const struct gpc_offer *o = &p->offers.v[0];
	gpc_autostr *place = gpc_phrase_place(o);
	gpc_autostr *machine = gpc_phrase_machine(o);
	gpc_autostr *nodes = gpc_phrase_count((uint64_t)p->num_nodes, "node");
	gpc_autostr *text = gpc_format("%s%s: %s; %s", place,
		gpc_eq(o->provider, "local") ? " (this machine)" : "", machine,
		nodes);
	gpc_autostr *rate = gpc_phrase_rate(p->hourly);
	bool old = o->price_ms && gpc_wall_ms() - o->price_ms > 60000;
	gpc_autostr *age = old ? gpc_phrase_age(o->price_ms) : NULL;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	item(c, "runs on", text);
	if (p->hourly.micros == 0) {
		item(c, "price", "free");
		return;
	}
	gpc_buf_adds(&b, rate);
	if (p->num_nodes > 1)
		gpc_buf_addf(&b, " for all %d nodes", p->num_nodes);
	if (o->price_source && *o->price_source)
		gpc_buf_addf(&b, " (%s%s%s)", o->price_source, age ? ", " : "",
			age ? age : "");
	item(c, "price", b.data);
}

static const char *end_cause(enum gpc_end_by by)
{
	switch (by) {
	case GPC_END_TIME: return "limits.time, setup and grace";
	case GPC_END_LIFETIME: return "a machine's default lifetime";
	case GPC_END_COST: return "what limits.cost buys";
	case GPC_END_NEVER: break;
	}
	return "";
}

/* The wall clock's time at which it is over, 0 for never, and what ends it: a
 * machine's lifetime, or the job's deadline. */
static int64_t latest_end(const struct gpc_plan_text *t, const char **ret_cause)
{
	int64_t life = t->plan->life_ms, deadline = t->spec->limits.deadline_ms;
	int64_t end = life > 0 ? gpc_wall_ms() + life : 0;

	*ret_cause = end_cause(t->plan->end_by);
	if (!deadline || (end && end <= deadline))
		return end;
	*ret_cause = "limits.deadline";
	return deadline;
}

static void say_end(struct gpc_cmd *c, const struct gpc_plan_text *t)
{
	const struct gpc_plan *p = t->plan;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	const char *cause;
	int64_t end = latest_end(t, &cause);

	if (end) {
		gpc_autostr *when = gpc_phrase_time(end);
		gpc_autostr *span = gpc_phrase_duration(end - gpc_wall_ms());

		gpc_buf_addf(&b, "at the latest %s, after %s (%s)", when, span,
			cause);
	} else if (t->spec->limits.time_ms > 0) {
		gpc_autostr *span = gpc_phrase_duration(
			t->spec->limits.time_ms);

		gpc_buf_addf(&b, "after %s of running (limits.time)", span);
	} else {
		gpc_buf_adds(&b, "with the program; no limit is set "
			"(limits.time)");
	}
	if (p->hourly.micros && p->at_most.currency[0]) {
		gpc_autostr *most = gpc_phrase_money(p->at_most);
		gpc_buf_addf(&b, "; costs at most %s", most);
	} else if (p->hourly.micros) {
		gpc_buf_adds(&b, "; no limit of cost (--max-cost)");
	}
	item(c, "ends", b.data);
}

/* --- what is sent ---------------------------------------------------------- */
/* Indexes of the biggest files, biggest first; returns how many. */
static size_t biggest(const struct gpc_tree *t, size_t ret_at[BIGGEST])
{
	size_t n = 0;

	for (size_t i = 0; i < t->entries.n; i++) {
		size_t k = n;

		if (t->entries.v[i].kind != GPC_ENTRY_FILE)
			continue;
		while (k > 0 && t->entries.v[ret_at[k - 1]].size <
			t->entries.v[i].size) {
			if (k < BIGGEST)
				ret_at[k] = ret_at[k - 1];
			k--;
		}
		if (k < BIGGEST)
			ret_at[k] = i;
		if (n < BIGGEST)
			n++;
	}
	return n;
}

/* A name with a newline in it must not look like a line of the plan. Owned. */
static char *one_line(const char *name)
{
	return gpc_str_printable(name, strlen(name));
}

static void say_biggest(struct gpc_cmd *c, const struct gpc_tree *t)
{
	gpc_auto(gpc_strv) struct gpc_strv list = {0};
	size_t at[BIGGEST], n = biggest(t, at);

	if (n < 2)
		return;
	for (size_t i = 0; i < n; i++) {
		gpc_autostr *size = gpc_phrase_size(t->entries.v[at[i]].size);
		gpc_autostr *name = one_line(t->entries.v[at[i]].path);

		gpc_strv_addf(&list, "%s %s", name, size);
	}
	gpc_autostr *text = gpc_strv_join(&list, ", ");
	gpc_autostr *line = gpc_format("biggest: %s", text);
	item(c, "", line);
}

struct rule { const char *text; size_t n; };

/* Rules with what each excluded, most first; owned array. */
static struct rule *count_rules(const struct gpc_tree *t, size_t *ret_n)
{
	struct rule *rules = NULL;
	size_t n = 0;

	for (size_t i = 0; i < t->excluded.n; i++) {
		const char *text = t->excluded.v[i].rule;
		size_t k = 0;

		while (k < n && !gpc_eq(rules[k].text, text))
			k++;
		if (k == n) {
			rules = gpc_grow(rules, n + 1, sizeof(*rules));
			rules[n++] = (struct rule){text, 0};
		}
		rules[k].n++;
		for (; k > 0 && rules[k].n > rules[k - 1].n; k--) {
			struct rule swap = rules[k];
			rules[k] = rules[k - 1];
			rules[k - 1] = swap;
		}
	}
	*ret_n = n;
	return rules;
}

static void say_excluded(struct gpc_cmd *c, const struct gpc_tree *t)
{
	size_t n;
	struct rule *rules = count_rules(t, &n);

	for (size_t i = 0; i < n && i < RULES; i++) {
		gpc_autostr *rule = one_line(rules[i].text ? rules[i].text : "?");
		gpc_autostr *line = gpc_format("left out: %zu by %s",
			rules[i].n, rule);
		item(c, "", line);
	}
	if (n > RULES) {
		gpc_autostr *line = gpc_format("and by %zu more rules "
			"(--dry-run -v lists every file)", n - RULES);
		item(c, "", line);
	}
	free(rules);
}

/* in: what stands before each path. */
static void say_files(struct gpc_cmd *c, const struct gpc_tree *t,
	const char *in)
{
	for (size_t i = 0; i < t->entries.n; i++) {
		const struct gpc_entry *e = &t->entries.v[i];
		gpc_autostr *size = gpc_phrase_size(e->size);
		gpc_autostr *name = one_line(e->path);

		if (e->kind == GPC_ENTRY_FILE)
			gpc_say(&c->talk, "    + %s%s  %s", in, name, size);
		else
			gpc_say(&c->talk, "    + %s%s%s", in, name,
				e->kind == GPC_ENTRY_DIR ? "/" : "  (link)");
	}
	for (size_t i = 0; i < t->excluded.n; i++) {
		const char *rule = t->excluded.v[i].rule;
		gpc_autostr *name = one_line(t->excluded.v[i].path);
		gpc_autostr *by = one_line(rule ? rule : "?");

		gpc_say(&c->talk, "    - %s%s%s  by %s", in, name,
			t->excluded.v[i].dir ? "/" : "", by);
	}
}

static void say_unreadable(struct gpc_cmd *c, const struct gpc_tree *t)
{
	if (t->unreadable.n) {
		gpc_autostr *names = gpc_strv_join(&t->unreadable, ", ");
		gpc_autostr *list = one_line(names);
		gpc_autostr *line = gpc_format("skipped as unreadable: %s", list);
		item(c, "", line);
	}
}

/* Where the tree is from; owned, NULL = there is none. */
static char *origin(const struct gpc_plan_text *t)
{
	const struct gpc_spec_git *git = &t->spec->workdir_git;

	if (t->sent && t->sent->git.root)
		return gpc_git_describe(git->url, git->ref,
			t->sent->git.commit);
	return gpc_strdup(git->url ? git->url : t->spec->workdir);
}

static void say_workspace(struct gpc_cmd *c, const struct gpc_plan_text *t)
{
	const struct gpc_tree *tree = t->sent ? &t->sent->tree : NULL;
	gpc_autostr *from = origin(t);

	if (!from) {
		item(c, "workdir", "none: the job starts in an empty folder");
		return;
	}
	if (!tree) {
		item(c, "workdir", from);
		return;
	}
	gpc_autostr *files = gpc_phrase_count(tree->n_files, "file");
	gpc_autostr *size = gpc_phrase_size(tree->n_bytes);
	gpc_autostr *text = gpc_format("%s: %s, %s", from, files, size);
	item(c, "workdir", text);
	say_biggest(c, tree);
	say_excluded(c, tree);
	say_unreadable(c, tree);
	if (t->list_files)
		say_files(c, tree, "");
}

static void list_mount(struct gpc_cmd *c, const struct gpc_mount *m)
{
	gpc_autostr *size = gpc_phrase_size(m->tree.n_bytes);
	gpc_autostr *in = gpc_format("%s/", m->target);

	if (m->file)
		gpc_say(&c->talk, "    + %s  %s", m->target, size);
	else
		say_files(c, &m->tree, in);
}

static void say_local_mounts(struct gpc_cmd *c, const struct gpc_plan_text *t)
{
	for (size_t i = 0; i < t->sent->mounts.n; i++) {
		const struct gpc_mount *m = &t->sent->mounts.v[i];
		gpc_autostr *files = gpc_phrase_count(m->tree.n_files, "file");
		gpc_autostr *size = gpc_phrase_size(m->tree.n_bytes);
		gpc_autostr *text = gpc_format("%s -> %s: %s, %s", m->source,
			m->target, files, size);

		item(c, i ? "" : "mounts", text);
		say_unreadable(c, &m->tree);
		if (t->list_files)
			list_mount(c, m);
	}
}

/* What a mode does, for those who do not know its name. */
static const char *mode_text(const struct gpc_bucket_mount *m)
{
	if (m->mode == GPC_SPEC_MODE_COPY)
		return "copied to each node (COPY)";
	return m->only_read ? "copied to each node (MOUNT_CACHED, only read)" :
		"copied to each node, and changes are uploaded (MOUNT_CACHED)";
}

static void say_buckets(struct gpc_cmd *c, const struct gpc_plan_text *t)
{
	gpc_vec_each(m, &t->sent->buckets) {
		gpc_autostr *files = gpc_phrase_count(m->files, "file");
		gpc_autostr *size = gpc_phrase_size(m->bytes);
		gpc_autostr *source = one_line(m->source);
		gpc_autostr *text = gpc_format("%s -> %s: %s%s, %s, %s", source,
			m->target, m->complete ? "" : "at least ", files, size,
			mode_text(m));
		gpc_autostr *why = m->why ? gpc_format("instead of %s: %s",
			gpc_spec_mode_names[m->asked], m->why) : NULL;
		bool first = m == t->sent->buckets.v && !t->sent->mounts.n;

		item(c, first ? "mounts" : "", text);
		if (why)
			item(c, "", why);
	}
}

static void say_mounts(struct gpc_cmd *c, const struct gpc_plan_text *t)
{
	if (!t->sent)
		return;
	say_local_mounts(c, t);
	say_buckets(c, t);
}

/* --- what if it is lost ---------------------------------------------------- */
static void say_recovery(struct gpc_cmd *c, const struct gpc_spec *spec)
{
	const struct gpc_spec_checkpoint *k = &spec->checkpoint;

	if (spec->recovery.none) {
		item(c, "if lost", "the job ends (recovery is off)");
		return;
	}
	if (!k->path) {
		item(c, "if lost", "it starts over: no checkpoints "
			"(checkpoint.path)");
		return;
	}
	gpc_autostr *every = k->upload_every_ms ?
		gpc_phrase_duration(k->upload_every_ms) : NULL;
	gpc_autostr *text = gpc_format("it goes on from the newest checkpoint "
		"of %s%s%s", k->path, every ? ", looked at every " : "",
		every ? every : "");
	item(c, "if lost", text);
}

/* --- who comes first, and who is told ---------------------------------------- */
static void say_priority(struct gpc_cmd *c, const struct gpc_spec *spec)
{
	int n = gpc_spec_priority(spec);
	gpc_autostr *text = gpc_format("%d: %s waiting jobs of priority 0", n,
		n > 0 ? "bought before" : "bought after");

	if (n)
		item(c, "priority", text);
}

/* Commands that this spec has run on this machine, and who hears of the job: whoever
 * got it from somebody else must see them first. */
static void say_notify(struct gpc_cmd *c, const struct gpc_spec *spec)
{
	for (size_t i = 0; i < spec->notify.n; i++) {
		gpc_autostr *raw = gpc_notice_text(&spec->notify.v[i]);
		gpc_autostr *safe = one_line(raw);
		gpc_autostr *text = gpc_format("%s: %s",
			spec->notify.v[i].url ? "is told, from here" :
			"runs here, as you", safe);

		item(c, i ? "" : "notify", text);
	}
}

static void say_tether(struct gpc_cmd *c, const struct gpc_plan_text *t)
{
	gpc_autostr *time = gpc_phrase_duration(t->tether_ms);
	gpc_autostr *text = gpc_format("it ends when this client is interrupted "
		"or silent for %s", time);

	if (t->tether_ms)
		item(c, "tether", text);
}

void gpc_plan_say(struct gpc_cmd *c, const struct gpc_plan_text *t)
{
	if (c->talk.quiet)
		return;
	gpc_say(&c->talk, "Plan for %s:", t->spec->name ? t->spec->name :
		"this job");
	if (t->spec->original_name) {
		gpc_autostr *name = one_line(t->spec->original_name);

		gpc_say(&c->talk, "  (named \"%s\" in the spec)", name);
	}
	say_offer(c, t->plan);
	say_end(c, t);
	say_workspace(c, t);
	say_mounts(c, t);
	say_recovery(c, t->spec);
	say_priority(c, t->spec);
	say_notify(c, t->spec);
	say_tether(c, t);
	item(c, "supervisor", "a background process on this machine, until "
		"the job ends");
}

/* --- for programs ---------------------------------------------------------- */
static struct gpc_json *biggest_json(const struct gpc_tree *t)
{
	struct gpc_json *list = gpc_json_array();
	size_t at[BIGGEST], n = biggest(t, at);

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
	struct rule *counted = count_rules(t, &n);

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
	int64_t end = latest_end(t, &cause);

	gpc_json_set(j, "name", gpc_json_string(t->spec->name));
	gpc_json_set(j, "offer", gpc_offer_json(&p->offers.v[0]));
	gpc_json_set_int(j, "num_nodes", p->num_nodes);
	gpc_json_set(j, "rate_per_hour", amount_json(p->hourly, p->free));
	gpc_json_set_bool(j, "free", p->free);
	gpc_json_set(j, "ends_at", gpc_phrase_time_json(end));
	gpc_json_set_str(j, "ended_by", gpc_eq(cause, "limits.deadline") ?
		"deadline" : !end && t->spec->limits.time_ms > 0 ? "time" :
		causes[p->end_by]);
	gpc_json_set(j, "at_most", amount_json(p->at_most, p->free));
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
