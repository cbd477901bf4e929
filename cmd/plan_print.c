/* What submitting would do, said before it is done: where, until when, for how
 * much, with which files, and what happens when the node is lost. Everything a
 * user could regret stands here.
 */
#include "cmd/plan_print.h"

#include <inttypes.h>
#include <string.h>

#include "base/time.h"
#include "cmd/phrase.h"
#include "cmd/plan_facts.h"
#include "cmd/wrap.h"
#include "model/spec_notify.h"
#include "model/spec_ports.h"
#include "provider/provider.h"

enum { RULES = 6 };

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
		gpc_provider_is_callers(o->provider) ? " (this machine)" : "", machine,
		nodes);
	gpc_autostr *rate = gpc_phrase_rate(p->hourly);
	gpc_autostr *parts = gpc_phrase_bill(&p->hourly_bill);
	bool old = o->price_ms && gpc_wall_ms() - o->price_ms > 60000;
	gpc_autostr *age = old ? gpc_phrase_age(o->price_ms) : NULL;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	item(c, "runs on", text);
	if (p->hourly.micros == 0) {
		gpc_buf_adds(&b, "free");
		if (gpc_eq(o->market, "reserved") && o->price_source)
			gpc_buf_addf(&b, " (%s)", o->price_source);
		item(c, "price", b.data);
		return;
	}
	gpc_buf_adds(&b, rate);
	if (p->num_nodes > 1)
		gpc_buf_addf(&b, " for all %d nodes", p->num_nodes);
	if (parts)
		gpc_buf_addf(&b, ": %s", parts);
	if (o->price_source && *o->price_source)
		gpc_buf_addf(&b, " (%s%s%s)", o->price_source, age ? ", " : "",
			age ? age : "");
	item(c, "price", b.data);
}

static void say_end(struct gpc_cmd *c, const struct gpc_plan_text *t)
{
	const struct gpc_plan *p = t->plan;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	const char *cause;
	int64_t end = gpc_plan_latest_end(t, &cause);

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
		gpc_autostr *parts = gpc_phrase_bill(&p->at_most_bill);

		gpc_buf_addf(&b, "; costs at most %s", most);
		if (parts)
			gpc_buf_addf(&b, " (%s)", parts);
	} else if (p->hourly.micros) {
		gpc_buf_adds(&b, "; no limit of cost (--max-cost)");
	}
	item(c, "ends", b.data);
}

/* --- what is sent ---------------------------------------------------------- */
/* A name with a newline in it must not look like a line of the plan. Owned. */
static char *one_line(const char *name)
{
	return gpc_str_printable(name, strlen(name));
}

static void say_biggest(struct gpc_cmd *c, const struct gpc_tree *t)
{
	gpc_auto(gpc_strv) struct gpc_strv list = {0};
	size_t at[GPC_PLAN_BIGGEST], n = gpc_plan_biggest(t, at);

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

static void say_excluded(struct gpc_cmd *c, const struct gpc_tree *t)
{
	size_t n;
	struct gpc_plan_rule *rules = gpc_plan_rules(t, &n);

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
	const char *by = spec->recovery.by == GPC_SPEC_BY_CLOUD ?
		"the cloud starts another machine by itself; " : "";

	if (spec->recovery.none) {
		item(c, "if lost", "the job ends (recovery is off)");
		return;
	}
	if (!k->path) {
		gpc_autostr *over = gpc_format("%sit starts over: no checkpoints "
			"(checkpoint.path)", by);

		item(c, "if lost", over);
		return;
	}
	gpc_autostr *every = k->upload_every_ms ?
		gpc_phrase_duration(k->upload_every_ms) : NULL;
	gpc_autostr *text = gpc_format("%sit goes on from the newest checkpoint "
		"of %s%s%s", by, k->path, every ? ", looked at every " : "",
		every ? every : "");
	item(c, "if lost", text);
}

/* --- who may reach it ---------------------------------------------------------- */
static void say_ports(struct gpc_cmd *c, const struct gpc_plan_text *t)
{
	gpc_auto(gpc_strv) struct gpc_strv ports = {0}, allow = {0};
	gpc_autostr *list = NULL, *who = NULL, *text = NULL;

	gpc_spec_port_words(t->spec, &ports);
	gpc_spec_allowed(t->spec, &allow);
	if (!ports.n)
		return;
	list = gpc_strv_join(&ports, ", ");
	who = gpc_strv_join(&allow, ", ");
	if (gpc_provider_is_callers(t->plan->offers.v[0].provider))
		text = gpc_format("%s of this machine, as they are", list);
	else
		text = gpc_format("%s of each node, for %s alone", list,
			allow.n ? who : "this machine's address");
	item(c, "ports", text);
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
	say_ports(c, t);
	say_recovery(c, t->spec);
	say_priority(c, t->spec);
	say_notify(c, t->spec);
	say_tether(c, t);
	item(c, "supervisor", t->supervisor ? t->supervisor : "a background "
		"process on this machine, until the job ends");
}
