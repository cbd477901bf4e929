/* A pretend cloud, in files: it sells machines by the hour, forgets nothing,
 * and fails on command. It is the tool of the fault tests, and the model for
 * new providers: what a real one asks of a web API, this asks of its folder.
 *
 * Read it from the end: the ops record names what a provider can be asked.
 * What each of them promises is in provider.h; the same promises are tested for
 * all providers by tests/conformance/provider.c. It costs nothing and is used
 * only when a spec says `infra: fake`. Its files: provider/fake_book.h; each call
 * of it: provider/fake_call.h. */
#include "provider/provider.h"

#include <string.h>
#include <sys/stat.h>

#include "base/crash.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/time.h"
#include "provider/fake_book.h"
#include "provider/fake_boot.h"
#include "provider/fake_call.h"
#include "provider/fake_offers.h"
#include "provider/fake_ways.h"

#define TAG_STORE "gpucloud-store"

/* What lives as long as the open provider: nothing global, nothing static. */
struct fake { char *dir; };           /* <state>/fake */

static const char *dir_of(const struct gpc_provider *p)
{
	return ((const struct fake *)p->state)->dir;
}

/* Opening is cheap and changes nothing: every command that lists what is held
 * opens every provider. A real one finds its credentials here, and gives
 * GPC_EAUTH when there are none. */
static int fake_open(struct gpc_provider *p, struct gpc_error *err)
{
	struct fake *f = p->state;

	(void)err;
	f->dir = gpc_path_join(p->ctx->state_dir, "fake");
	return 0;
}

static void fake_close(struct gpc_provider *p)
{
	free(((struct fake *)p->state)->dir);
}

static struct gpc_json *ids_of(const struct gpc_instances *x)
{
	struct gpc_json *ids = gpc_json_array();

	gpc_vec_each(i, x)
		gpc_json_add(ids, gpc_json_string(i->id));
	return ids;
}

/* --- offers ----------------------------------------------------------------- */

static int fake_offers(struct gpc_provider *p, const struct gpc_ask *ask,
	struct gpc_offers *ret_offers, struct gpc_error *err)
{
	gpc_auto(gpc_fake_script) struct gpc_fake_script script = {0};
	gpc_auto(gpc_offers) struct gpc_offers found = {0};
	struct gpc_fake_call c;
	int r;

	/* Looking at prices is no reason to make a folder. */
	if (!gpc_fake_exists(dir_of(p)))
		return gpc_fake_offers(NULL, ask, ret_offers, err);
	r = gpc_fake_call_begin(&c, dir_of(p), GPC_FAKE_OFFERS, NULL, err);
	if (r == 0)
		r = gpc_fake_call_refused(&c, err);
	if (r == 0)
		r = gpc_fake_script_read(c.dir, &script, err);
	if (r == 0)
		r = gpc_fake_offers(script.offers, ask, &found, err);
	r = gpc_fake_call_end(&c, r, err);
	if (r < 0)
		return r;
	gpc_vec_each(o, &found) {
		*gpc_vec_push(ret_offers) = *o;
		*o = (struct gpc_offer){0};
	}
	return 0;
}

/* --- nodes ------------------------------------------------------------------ */

/* Why a node is no more; NULL while it runs. */
static const char *gone_why(const struct gpc_fake_node *n, const char *dir,
	int64_t now)
{
	if (n->gone_boot_ms)
		return n->why;
	if (n->stillborn)
		return "no such machine was free after all";
	if (n->dies_boot_ms && now >= n->dies_boot_ms)
		return "its host failed";
	if (n->ends_boot_ms && now >= n->ends_boot_ms)
		return "its lifetime was over";
	if (n->booted && !gpc_fake_boot_alive(dir, n->id))
		return "it switched itself off";
	return NULL;
}

static void add_instance(const struct gpc_fake_node *n, const char *dir,
	int64_t now, struct gpc_instances *to)
{
	struct gpc_instance *x = gpc_vec_push(to);
	const char *why = gone_why(n, dir, now);

	x->id = gpc_strdup(n->id);
	x->token = gpc_strdup(n->token);
	x->address = gpc_format("127.0.0.%d", 1 + n->index);
	x->state = why ? GPC_INSTANCE_GONE : GPC_INSTANCE_RUNNING;
	gpc_pairs_copy(&x->tags, &n->tags);
	x->created_ms = n->created_ms;
	x->expires_ms = n->expires_ms;
	x->why = gpc_strdup(why);
	x->never_ran = n->stillborn ? GPC_ECAPACITY : GPC_OK;
	x->unpaid = n->stillborn;
}

static struct gpc_fake_node *find_node(struct gpc_fake_nodes *nodes,
	const char *id)
{
	gpc_vec_each(n, nodes) {
		if (gpc_eq(n->id, id))
			return n;
	}
	return NULL;
}

static bool is_ours(const struct gpc_fake_node *n, const struct gpc_provider *p)
{
	return gpc_eq(gpc_pairs_get(&n->tags, TAG_STORE), p->ctx->store_id);
}

/* --- create ----------------------------------------------------------------- */

/* A token becomes part of a file's name. A web API takes any text; it is the
 * caller's own hash, so this only catches mistakes. */
static int check_launch(const struct gpc_launch *l, struct gpc_error *err)
{
	if (!l->token || !gpc_path_is_inside(l->token) ||
		strchr(l->token, '/') || l->token[0] == '.' || l->count < 1)
		return gpc_fail(err, GPC_ECONFIG, "bad token \"%s\" or count %d",
			l->token ? l->token : "", l->count);
	return 0;
}

static void dies_at(struct gpc_fake_node *n, int64_t boot_ms,
	const struct gpc_fake_fault *f)
{
	n->dies_boot_ms = boot_ms;
	gpc_set_str(&n->console, f->text);
}

static void fill_node(struct gpc_fake_node *n, const struct gpc_launch *l,
	int index, const struct gpc_fake_call *c)
{
	const struct gpc_fake_fault *f = &c->fault;

	n->v = 1;
	n->id = gpc_format("fake-%s-%d", l->token, index);
	n->token = gpc_strdup(l->token);
	n->index = index;
	gpc_pairs_copy(&n->tags, &l->tags);
	n->zone = gpc_strdup(l->offer.zone);
	n->created_ms = gpc_wall_ms();
	n->expires_ms = l->expires_ms;
	if (l->expires_ms)
		n->ends_boot_ms = c->now + (l->expires_ms - n->created_ms);
	n->stillborn = f->fault == GPC_FAKE_STILLBORN;
	if (f->fault == GPC_FAKE_HIDE)
		n->hidden_boot_ms = c->now + f->ms;
	if (f->fault == GPC_FAKE_DIE && (!f->index || f->index == index + 1))
		dies_at(n, c->now + f->ms, f);
}

/* Makes node `index` unless this token has it already. */
static int make_node(struct gpc_provider *p, const struct gpc_launch *l,
	int index, bool boot, const struct gpc_fake_call *c, struct gpc_fake_nodes *nodes,
	struct gpc_instances *to, int *made, struct gpc_error *err)
{
	gpc_auto(gpc_fake_node) struct gpc_fake_node fresh = {0};
	const struct gpc_fake_node *n;
	int r = 0;

	fill_node(&fresh, l, index, c);
	fresh.booted = boot;
	n = find_node(nodes, fresh.id);
	if (!n) {
		r = gpc_fake_node_write(c->dir, &fresh, err);
		GPC_CRASH("fake.bought");
		n = &fresh;
		*made += r == 0;
	}
	if (r == 0 && n->booted && !n->gone_boot_ms)
		r = gpc_fake_boot_start(c->dir, p->ctx, l, n, err);
	GPC_CRASH("fake.booted");
	if (r == 0)
		add_instance(n, c->dir, c->now, to);
	return r;
}

/* All or none: what a create that fails has made so far is taken back. */
static void unmake(const struct gpc_fake_call *c, const struct gpc_launch *l,
	const struct gpc_fake_nodes *before)
{
	for (int i = 0; i < l->count; i++) {
		gpc_autostr *id = gpc_format("fake-%s-%d", l->token, i);
		bool was_there = false;

		gpc_vec_each(n, before)
			was_there |= gpc_eq(n->id, id);
		if (was_there || gpc_fake_boot_stop(c->dir, id, NULL) < 0)
			continue;
		if (gpc_fake_node_remove(c->dir, id, NULL) < 0)
			return;
	}
}

static int make_all(struct gpc_provider *p, const struct gpc_launch *l,
	const struct gpc_fake_call *c, struct gpc_instances *ret, struct gpc_error *err)
{
	gpc_auto(gpc_fake_script) struct gpc_fake_script script = {0};
	gpc_auto(gpc_fake_nodes) struct gpc_fake_nodes nodes = {0};
	bool known = false;
	int made = 0;
	int r = gpc_fake_script_read(c->dir, &script, err);

	if (r == 0)
		r = gpc_fake_nodes_read(c->dir, &nodes, err);
	known = r == 0;
	for (int i = 0; r == 0 && i < l->count; i++)
		r = make_node(p, l, i, script.boot, c, &nodes, ret, &made, err);
	/* Who cannot tell what was there before takes nothing back. */
	if (r < 0 && known)
		unmake(c, l, &nodes);
	/* What was to die is still to come. */
	if (c->fault.fault == GPC_FAKE_DIE && (r < 0 || !made)) {
		int back = gpc_fake_return_fault(c->dir, &c->fault,
			r < 0 ? NULL : err);

		r = r < 0 ? r : back;
	}
	gpc_json_set_int(c->entry, "made", r < 0 ? 0 : made);
	return r;
}

static int fake_create(struct gpc_provider *p, const struct gpc_launch *l,
	struct gpc_instances *ret, struct gpc_error *err)
{
	gpc_auto(gpc_instances) struct gpc_instances made = {0};
	struct gpc_fake_call c;
	int r = check_launch(l, err);

	if (r < 0)
		return r;
	r = gpc_fake_call_begin(&c, dir_of(p), GPC_FAKE_CREATE, l->offer.zone, err);
	if (r == 0)
		r = gpc_fake_call_refused(&c, err);
	if (r == 0)
		r = make_all(p, l, &c, &made, err);
	if (c.entry) {
		gpc_json_set_str(c.entry, "token", l->token);
		gpc_json_set_str(c.entry, "zone", l->offer.zone);
		gpc_json_set(c.entry, "ids", ids_of(&made));
	}
	r = gpc_fake_call_end(&c, r, err);
	if (r < 0)
		return r;
	*ret = made;
	made = (struct gpc_instances){0};
	return 0;
}

/* --- list ------------------------------------------------------------------- */

static bool is_shown(const struct gpc_fake_node *n, int64_t gone_ms,
	int64_t now)
{
	if (now < n->hidden_boot_ms)
		return false;
	return !n->gone_boot_ms || now < n->gone_boot_ms + gone_ms;
}

/* The fault `die` of a list: what runs now is gone, and this list says so. */
static int let_die(const struct gpc_fake_call *c, struct gpc_fake_node *n,
	struct gpc_error *err)
{
	const struct gpc_fake_fault *f = &c->fault;

	if (f->fault != GPC_FAKE_DIE || (f->index && f->index != n->index + 1) ||
		gone_why(n, c->dir, c->now))
		return 0;
	dies_at(n, c->now, f);
	if (n->booted && gpc_fake_boot_stop(c->dir, n->id, err) < 0)
		return -GPC_ETIMEOUT;
	return gpc_fake_node_write(c->dir, n, err);
}

static int fake_list(struct gpc_provider *p, struct gpc_instances *ret,
	struct gpc_error *err)
{
	gpc_auto(gpc_fake_script) struct gpc_fake_script script = {0};
	gpc_auto(gpc_fake_nodes) struct gpc_fake_nodes nodes = {0};
	gpc_auto(gpc_instances) struct gpc_instances found = {0};
	struct gpc_fake_call c;
	int r;

	if (!gpc_fake_exists(dir_of(p)))
		return 0;
	r = gpc_fake_call_begin(&c, dir_of(p), GPC_FAKE_LIST, NULL, err);
	if (r == 0)
		r = gpc_fake_call_refused(&c, err);
	if (r == 0)
		r = gpc_fake_script_read(c.dir, &script, err);
	if (r == 0)
		r = gpc_fake_nodes_read(c.dir, &nodes, err);
	for (size_t i = 0; r == 0 && i < nodes.n; i++) {
		struct gpc_fake_node *n = &nodes.v[i];

		if (!is_ours(n, p) || !is_shown(n, script.gone_ms, c.now))
			continue;
		r = let_die(&c, n, err);
		if (r == 0)
			add_instance(n, c.dir, c.now, &found);
	}
	r = gpc_fake_call_end(&c, r, err);
	if (r < 0)
		return r;
	gpc_vec_each(x, &found) {
		*gpc_vec_push(ret) = *x;
		*x = (struct gpc_instance){0};
	}
	return 0;
}

/* --- destroy ---------------------------------------------------------------- */

/* The node's file stays: a token that was used once buys nothing again. */
static int end_node(struct gpc_provider *p, const struct gpc_fake_call *c,
	struct gpc_fake_nodes *nodes, const char *id, int *ended,
	struct gpc_error *err)
{
	struct gpc_fake_node *n = find_node(nodes, id);
	const char *why;
	bool was_way = false;
	int r = gpc_fake_close_way(c->dir, p->ctx->store_id, id, &was_way, err);

	if (r < 0 || was_way)
		return r;
	/* Clouds say "no such machine" of one that they do not show yet. */
	if (!n || c->now < n->hidden_boot_ms || n->gone_boot_ms)
		return 0;
	if (!is_ours(n, p))
		return gpc_fail(err, GPC_ECONFLICT,
			"node %s belongs to another store", id);
	if (n->booted)
		r = gpc_fake_boot_stop(c->dir, id, err);
	GPC_CRASH("fake.stopped");
	if (r < 0)
		return r;
	why = gone_why(n, c->dir, c->now);
	gpc_set_str(&n->why, why ? why : "it was released");
	n->gone_boot_ms = c->now;
	r = gpc_fake_node_write(c->dir, n, err);
	GPC_CRASH("fake.ended");
	*ended += r == 0;
	return r;
}

/* Does all that it can and gives the first error. */
static int end_all(struct gpc_provider *p, const struct gpc_fake_call *c,
	const char *const *ids, size_t n, struct gpc_error *err)
{
	gpc_auto(gpc_fake_nodes) struct gpc_fake_nodes nodes = {0};
	struct gpc_json *names = gpc_json_array();
	int ended = 0;
	int first = gpc_fake_nodes_read(c->dir, &nodes, err);

	for (size_t i = 0; nodes.n > 0 && i < n; i++) {
		int r = end_node(p, c, &nodes, ids[i], &ended,
			first < 0 ? NULL : err);

		if (first == 0)
			first = r;
	}
	for (size_t i = 0; i < n; i++)
		gpc_json_add(names, gpc_json_string(ids[i]));
	gpc_json_set(c->entry, "ids", names);
	gpc_json_set_int(c->entry, "ended", ended);
	return first;
}

static int fake_destroy(struct gpc_provider *p, const char *const *ids,
	size_t n, struct gpc_error *err)
{
	struct gpc_fake_call c;
	int r;

	for (size_t i = 0; i < n; i++) {
		if (!gpc_path_is_inside(ids[i]) || strchr(ids[i], '/'))
			return gpc_fail(err, GPC_EUSAGE, "bad node id \"%s\"",
				ids[i]);
	}
	if (!gpc_fake_exists(dir_of(p)))
		return 0;
	r = gpc_fake_call_begin(&c, dir_of(p), GPC_FAKE_DESTROY, NULL, err);
	if (r == 0)
		r = gpc_fake_call_refused(&c, err);
	if (r == 0)
		r = end_all(p, &c, ids, n, err);
	return gpc_fake_call_end(&c, r, err);
}

/* --- console ---------------------------------------------------------------- */

/* All machines say that they boot; HIDE: the console is shown later. */
static int fake_console(struct gpc_provider *p, const char *id,
	struct gpc_buf *ret_text, struct gpc_error *err)
{
	gpc_auto(gpc_fake_nodes) struct gpc_fake_nodes nodes = {0};
	const struct gpc_fake_node *n = NULL;
	struct gpc_fake_call c;
	int r = gpc_fake_call_begin(&c, dir_of(p), GPC_FAKE_CONSOLE, NULL, err);

	if (r == 0)
		r = gpc_fake_call_refused(&c, err);
	if (r == 0)
		r = gpc_fake_nodes_read(c.dir, &nodes, err);
	if (r == 0)
		n = find_node(&nodes, id);
	if (r == 0 && (!n || !is_ours(n, p)))
		r = gpc_fail(err, GPC_ENOTFOUND, "no machine %s", id);
	if (r == 0 && c.fault.fault != GPC_FAKE_HIDE)
		gpc_buf_addf(ret_text, "fake: boots\n%s\n",
			n->console ? n->console : "");
	return gpc_fake_call_end(&c, r, err);
}

/* --- ways from outside -------------------------------------------------------- */

static int fake_caller(struct gpc_provider *p, char **ret_cidr,
	struct gpc_error *err)
{
	return gpc_fake_caller(dir_of(p), ret_cidr, err);
}

static int fake_open_way(struct gpc_provider *p, const char *id,
	const struct gpc_way *way, char **ret_address, struct gpc_error *err)
{
	return gpc_fake_open_way(dir_of(p), p->ctx->store_id, id, way,
		ret_address, err);
}

static int fake_ways(struct gpc_provider *p, struct gpc_instances *ret,
	struct gpc_error *err)
{
	return gpc_fake_ways(dir_of(p), p->ctx->store_id, ret, err);
}

/* THIS_HOST: its nodes, when they boot, reach a file:// store. No FREE: what is
 * paid by the hour gets a lifetime, a question before it is bought, and caps. */
const struct gpc_provider_ops gpc_provider_fake = {
	.name = "fake",
	.title = "A pretend cloud, for tests",
	.caps = GPC_PROVIDER_SPOT | GPC_PROVIDER_THIS_HOST,
	.state_size = sizeof(struct fake),
	.open = fake_open,
	.close = fake_close,
	.offers = fake_offers,
	.create = fake_create,
	.list = fake_list,
	.destroy = fake_destroy,
	.caller = fake_caller,
	.open_way = fake_open_way,
	.ways = fake_ways,
	.console = fake_console,
};
