/* Buying nodes exactly once: the intent, with its token and the whole request,
 * is durable before the call; a repeat sends the same bytes; whatever the call
 * made is recorded at once. */
#include <stdio.h>
#include <string.h>

#include "base/crash.h"
#include "base/str.h"
#include "base/time.h"
#include "core/bundle_send.h"
#include "core/cost.h"
#include "core/plan.h"
#include "core/supervision.h"
#include "dep/crypto.h"
#include "record/created.h"
#include "record/keys.h"
#include "record/recover.h"
#include "store/words.h"

#define UNCLEAR_RETRY_MS 2000
#define STUCK_MS 60000

/* A UUID (version 8: our own content) from a hash of the store, the job and the
 * number of the intent's own event: a new intent always has a new token. */
static void make_token(const struct gpc_supervision *sv, int64_t n,
	char ret_token[37])
{
	gpc_autostr *text = gpc_format("gpucloud intent %s %s %lld",
		sv->session->store->id, sv->job.id, (long long)n);
	char h[GPC_SHA256_HEX];

	gpc_sha256_hex(text, strlen(text), h);
	snprintf(ret_token, 37, "%.8s-%.4s-8%.3s-8%.3s-%.12s", h, h + 8,
		h + 12, h + 15, h + 18);
}

static int count_missing(const struct gpc_job_state *st)
{
	int missing = st->num_nodes;

	gpc_vec_each(n, &st->nodes) {
		if (n->attempt == st->attempt && n->status != GPC_NODE_RELEASED)
			missing--;
	}
	gpc_vec_each(i, &st->intents) {
		if (i->attempt == st->attempt || gpc_intent_is_group(i))
			missing -= (int)gpc_json_get_int(i->request, "count", 0);
	}
	return missing;
}

static void fill_limits(const struct gpc_supervision *sv, struct gpc_launch *l)
{
	const struct gpc_resources *r = gpc_spec_candidate(&sv->spec,
		gpc_plan_candidate(&l->offer));

	l->cpus = r->cpus;
	l->cpus_at_least = r->cpus_at_least;
	l->memory_bytes = (int64_t)r->memory_bytes;
	l->memory_at_least = r->memory_at_least;
	l->gpus = gpc_resources_gpu_count(r);
}

static const char *const end_by_reasons[] = {
	[GPC_END_NEVER] = "", [GPC_END_TIME] = "time_limit",
	[GPC_END_LIFETIME] = "lifetime", [GPC_END_COST] = "cost_limit",
};

/* What a machine of a cloud begins with, and what its provider looks up. */
static int complete_launch(struct gpc_supervision *sv, struct gpc_plan *plan,
	struct gpc_launch *l, struct gpc_error *err)
{
	const struct gpc_resources *res = gpc_spec_candidate(&sv->spec,
		gpc_plan_candidate(&l->offer));
	struct gpc_source *source = NULL;
	struct gpc_json *bundle = NULL;
	char text[GPC_MONEY_SIZE];
	const char *image;
	int r = gpc_supervision_source(sv, l->provider, &source, err);

	if (r < 0 || !source->provider->ops->prepare)
		return r;
	r = gpc_bundle_address(sv->session, &sv->job, gpc_offer_arch(&l->offer),
		&bundle, err);
	if (r < 0)
		return r;
	gpc_json_set(l->rest, "bundle", bundle);
	gpc_json_set_int(l->rest, "life_s", plan->life_ms / 1000);
	image = res->image_ids.n && l->offer.region ? gpc_pairs_get(
		&res->image_ids, l->offer.region) : res->image_id;
	if (image)
		gpc_json_set_str(l->rest, "image", image);
	if (sv->job.supervisor.profile)
		gpc_json_set_str(l->rest, "profile", sv->job.supervisor.profile);
	if (res->disk_bytes)
		gpc_json_set_int(l->rest, "disk_bytes", (int64_t)res->disk_bytes);
	if (res->network_tier)
		gpc_json_set_str(l->rest, "network_tier", res->network_tier ==
			GPC_SPEC_NETWORK_BEST ? "best" : "standard");
	gpc_json_set_int(l->rest, "num_nodes", sv->journal.state.num_nodes);
	if (res->max_hourly_cost.currency[0])
		gpc_json_set_str(l->rest, "max_hourly",
			gpc_money_decimal(res->max_hourly_cost, text));
	return source->provider->ops->prepare(source->provider, l, err);
}

/* As a node reaches it. A profile is one of this machine's: machines elsewhere have an
 * identity of their own. */
static char *node_url(const struct gpc_launch *l, const char *url)
{
	return gpc_provider_caps(l->provider) & GPC_PROVIDER_THIS_HOST ?
		gpc_strdup(url) : gpc_store_without_word(url, "profile=");
}

static void fill_launch(struct gpc_supervision *sv, struct gpc_plan *plan,
	int count, struct gpc_launch *l)
{
	const struct gpc_job_state *st = &sv->journal.state;
	char token[37];

	make_token(sv, st->n + 1, token);
	l->v = 1;
	l->token = gpc_strdup(token);
	l->job = gpc_strdup(sv->job.id);
	l->name = gpc_format("gpucloud-%s-%d", sv->job.id, st->attempt);
	l->attempt = st->attempt;
	l->count = count;
	l->provider = gpc_strdup(plan->offers.v[0].provider);
	l->store_url = node_url(l, gpc_store_of_nodes(
		sv->session->store)->url);
	gpc_vec_each(b, &sv->job.buckets)
		gpc_strv_add(&l->buckets, b->source);
	l->expires_ms = plan->life_ms > 0 ? gpc_wall_ms() + plan->life_ms : 0;
	/* The offer moves over; the plan keeps an empty one. */
	l->offer = plan->offers.v[0];
	plan->offers.v[0] = (struct gpc_offer) {0};
	fill_limits(sv, l);
	gpc_pairs_set(&l->tags, "gpucloud-store", sv->session->store->id);
	gpc_pairs_set(&l->tags, "gpucloud-job", sv->job.id);
	gpc_pairs_set(&l->tags, "gpucloud-owner", sv->job.owner.hash);
	gpc_pairs_setf(&l->tags, "gpucloud-expires", "%lld",
		(long long)(l->expires_ms / 1000));
	l->rest = gpc_json_object();
	gpc_json_set_str(l->rest, GPC_EXPIRES_REASON, end_by_reasons[plan->end_by]);
	if (sv->spec.recovery.by == GPC_SPEC_BY_CLOUD)
		gpc_json_set_str(l->rest, GPC_LAUNCH_GROUP, "");
}

/* With what a person can do about it, which no other place would tell. */
static void note_failure(struct gpc_supervision *sv, const char *what,
	const struct gpc_error *why)
{
	gpc_autostr *said = gpc_error_words(why);

	gpc_supervision_note(sv, "%s: %s%s%s%s", what, said,
		why->hint[0] ? " (" : "", why->hint, why->hint[0] ? ")" : "");
}

static int end_waiting(struct gpc_supervision *sv, enum gpc_code code,
	bool *progressed, struct gpc_error *err)
{
	return gpc_supervision_end(sv, code == GPC_EQUOTA ? GPC_REASON_QUOTA :
		code == GPC_ENOTFOUND ? GPC_REASON_SPEC_INVALID :
		GPC_REASON_NO_CAPACITY, 0, 0, 0, progressed, err);
}

/* Capacity comes and goes: wait as long as the spec says, else for ever, unless
 * waiting cannot help. Each round of asking is journalled, so the rounds become
 * rare. */
static int wait_for_capacity(struct gpc_supervision *sv, bool *progressed,
	const struct gpc_error *why, struct gpc_error *err)
{
	int64_t now = gpc_boot_ms();
	int64_t limit = sv->spec.recovery.wait_capacity_ms;
	bool hopeless;

	if (!sv->wait_since_ms)
		sv->wait_since_ms = now;
	hopeless = sv->refused.n > 0 && !sv->may_wait;
	gpc_pairs_clear(&sv->refused);  /* the next round asks for all again */
	sv->may_wait = false;
	gpc_row_refused(sv, sv->refused_code == GPC_EQUOTA ? GPC_EQUOTA :
		GPC_ECAPACITY, limit > 0 ? sv->wait_since_ms + limit : 0);
	if (hopeless)
		note_failure(sv, "cannot start", why);
	if (hopeless || (limit > 0 && now - sv->wait_since_ms >= limit))
		return end_waiting(sv, sv->refused_code, progressed, err);
	note_failure(sv, "waits for capacity", why);
	sv->note_waits = true;
	return 0;
}

/* Others ask first, or it was asked a moment ago. What they are refused counts
 * for this job too, and so does its own patience. */
static int wait_in_row(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err)
{
	const struct gpc_row *row = sv->row;
	int64_t now = gpc_boot_ms();
	int64_t limit = sv->spec.recovery.wait_capacity_ms;

	if (!row->refused_ms || gpc_eq(row->asker, sv->job.id))
		return 0;
	if (!sv->wait_since_ms)
		sv->wait_since_ms = now;
	if (limit > 0 && now - sv->wait_since_ms >= limit)
		return end_waiting(sv, row->code, progressed, err);
	gpc_supervision_note(sv, "waits for capacity, behind jobs that want the "
		"same and come first");
	sv->note_waits = true;
	return 0;
}

static bool is_used_up(const struct gpc_supervision *sv)
{
	struct gpc_money cap = sv->spec.limits.cost;

	return cap.currency[0] && gpc_cost_spent(&sv->journal.state,
		gpc_wall_ms()).micros >= cap.micros;
}

/* Waiting helps while somebody is about to make room, and not for ever. */
static bool is_stuck(struct gpc_supervision *sv, const struct gpc_error *why)
{
	int64_t now = gpc_boot_ms();

	if (why->code != GPC_ENOROOM)
		sv->stuck_since_ms = 0;
	else if (!sv->stuck_since_ms)
		sv->stuck_since_ms = now;
	return sv->stuck_since_ms && now - sv->stuck_since_ms >= STUCK_MS;
}

static int cannot_buy(struct gpc_supervision *sv, bool *progressed,
	const struct gpc_error *why, struct gpc_error *err)
{
	switch (why->code) {
	case GPC_EOVERCAP:
		note_failure(sv, "cannot start", why);
		return gpc_supervision_end(sv, is_used_up(sv) ?
			GPC_REASON_COST_LIMIT : GPC_REASON_PRICE_ABOVE_CAP,
			0, 0, 0, progressed, err);
	case GPC_ECONFIG:
	case GPC_EUNSUPPORTED:
	case GPC_ENOTFOUND:
		note_failure(sv, "cannot start", why);
		return gpc_supervision_end(sv, GPC_REASON_SPEC_INVALID, 0, 0, 0,
			progressed, err);
	case GPC_EAUTH:
		note_failure(sv, "cannot start", why);
		return gpc_supervision_end(sv, GPC_REASON_AUTH, 0, 0, 0,
			progressed, err);
	case GPC_ECAPACITY:
		return wait_for_capacity(sv, progressed, why, err);
	default:
		if (is_stuck(sv, why)) {
			note_failure(sv, "cannot start", why);
			return gpc_supervision_end(sv, GPC_REASON_DISK_FULL,
				0, 0, 0, progressed, err);
		}
		sv->retry_ms = gpc_boot_ms() + UNCLEAR_RETRY_MS;
		note_failure(sv, "tries again", why);
		sv->note_waits = true;
		return 0;
	}
}

/* What was passed over, for the intent's event. */
static void note_passed(const struct gpc_offer *o, const struct gpc_error *why,
	struct gpc_json *passed)
{
	gpc_autostr *key = gpc_plan_offer_key(o), *said = gpc_error_words(why);
	struct gpc_json *j = gpc_json_object();

	gpc_json_set_str(j, "offer", key);
	gpc_json_set_str(j, "why", said);
	gpc_json_add(passed, j);
}

/* The best offer that is left, looked up whole. What its place or region cannot have is
 * passed over, as if it had been refused, and added to passed. */
static int choose(struct gpc_supervision *sv, int count, struct gpc_json *passed,
	struct gpc_launch *ret_l, struct gpc_error *why)
{
	const struct gpc_job_state *st = &sv->journal.state;
	int r;

	do {
		gpc_auto(gpc_plan) struct gpc_plan plan = {0};

		gpc_launch_clear(ret_l);
		*why = (struct gpc_error){0};
		r = gpc_plan_make_without(sv->session, &sv->spec,
			gpc_cost_spent(st, gpc_wall_ms()), st->ran_ms,
			&sv->refused, &plan, why);
		if (r < 0)
			return r;
		fill_launch(sv, &plan, count, ret_l);
		r = complete_launch(sv, &plan, ret_l, why);
		if (r != -GPC_ECAPACITY && r != -GPC_ENOTFOUND)
			break;
		note_passed(&ret_l->offer, why, passed);
		gpc_supervision_refuse(sv, &ret_l->offer, why);
	} while (true);
	return r;
}

int gpc_supervision_intend(struct gpc_supervision *sv, bool *progressed,
	struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	gpc_auto(gpc_launch) struct gpc_launch launch = {0};
	gpc_autoptr(gpc_json) *passed = gpc_json_array();
	struct gpc_error why = {0};
	struct gpc_json *data;
	int count = count_missing(st);

	if (count <= 0)
		return 0;
	if (!gpc_row_is_next(sv, count))
		return wait_in_row(sv, progressed, err);
	if (choose(sv, count, passed, &launch, &why) < 0)
		return cannot_buy(sv, progressed, &why, err);
	data = gpc_json_object();
	gpc_json_set_int(data, "attempt", st->attempt);
	gpc_json_set_str(data, "token", launch.token);
	gpc_json_set(data, "request", gpc_launch_write(&launch));
	if (gpc_json_first(passed))
		gpc_json_set(data, "passed", gpc_steal(&passed));
	return gpc_supervision_append(sv, GPC_EVENT_INTENT, data, progressed,
		err);
}

static int give_up(struct gpc_supervision *sv, size_t intent,
	const struct gpc_offer *o, const struct gpc_error *why,
	bool *progressed, struct gpc_error *err)
{
	const struct gpc_intent *x = &sv->journal.state.intents.v[intent];
	gpc_autostr *key = o ? gpc_plan_offer_key(o) : NULL;
	gpc_autostr *said = o ? gpc_error_words(why) : NULL;
	struct gpc_json *data;
	bool gone = true;
	int r = gpc_intent_is_group(x) ?
		gpc_supervision_end_group(sv, x, &gone, err) : 0;

	if (r < 0 || !gone)
		return r;
	data = gpc_json_object();
	gpc_json_set_int(data, "intent", x->n);
	if (o) {
		gpc_json_set_str(data, "offer", key);
		gpc_json_set_str(data, "detail", said);
	}
	return gpc_supervision_append(sv, GPC_EVENT_VOID, data, progressed, err);
}

int gpc_supervision_void(struct gpc_supervision *sv, size_t intent,
	bool *progressed, struct gpc_error *err)
{
	return give_up(sv, intent, NULL, NULL, progressed, err);
}

/* Ranks that no node of this attempt has, in order. */
static int next_free_rank(const struct gpc_job_state *st, int from)
{
	for (int rank = from; rank < st->num_nodes; rank++) {
		bool taken = false;

		gpc_vec_each(n, &st->nodes)
			taken |= n->attempt == st->attempt && n->rank == rank &&
				n->status != GPC_NODE_RELEASED;
		if (!taken)
			return rank;
	}
	return st->num_nodes;
}

static struct gpc_json *created_payload(const struct gpc_job_state *st,
	const struct gpc_intent *intent, const struct gpc_launch *l,
	const struct gpc_instances *made)
{
	struct gpc_json *nodes = gpc_json_array();
	int rank = -1;

	gpc_vec_each(x, made) {
		struct gpc_json *n;

		rank = next_free_rank(st, rank + 1);
		n = gpc_created_node(l, intent, x, rank);
		gpc_supervision_name_offer(&l->offer, n);
		gpc_json_add(nodes, n);
	}
	return gpc_created(l, intent, nodes);
}

/* After an unclear answer the same launch is sent again. A refusal gives the
 * intent up, so that what is bought next is planned anew. */
int gpc_supervision_create_failed(struct gpc_supervision *sv, size_t intent,
	const struct gpc_launch *l, bool *progressed,
	const struct gpc_error *why, struct gpc_error *err)
{
	int r;

	switch (why->code) {
	case GPC_ERATE:
	case GPC_ETIMEOUT:
	case GPC_ENET:
	case GPC_EIO:
	case GPC_ENOROOM:
		if (is_stuck(sv, why)) {
			r = gpc_supervision_void(sv, intent, progressed, err);
			return r < 0 ? r : cannot_buy(sv, progressed, why, err);
		}
		sv->retry_ms = gpc_boot_ms() +
			(why->retry_after_ms > UNCLEAR_RETRY_MS ?
			why->retry_after_ms : UNCLEAR_RETRY_MS);
		note_failure(sv, "tries again", why);
		sv->note_waits = true;
		return 0;
	case GPC_EAUTH:
	case GPC_ECONFIG:
		r = give_up(sv, intent, &l->offer, why, progressed, err);
		return r < 0 ? r : cannot_buy(sv, progressed, why, err);
	default:
		gpc_supervision_refuse(sv, &l->offer, why);
		return give_up(sv, intent, &l->offer, why, progressed, err);
	}
}

/* A machine that does not find its intent where it reads the journal gives itself
 * up. */
static bool can_read_intent(struct gpc_supervision *sv, int64_t n)
{
	struct gpc_error why = {0};
	gpc_key key;

	if (gpc_store_follow(sv->session->store, gpc_key_event(key, sv->job.id,
		n), &why) == 0)
		return true;
	sv->retry_ms = gpc_boot_ms() + UNCLEAR_RETRY_MS;
	note_failure(sv, "tries again", &why);
	sv->note_waits = true;
	return false;
}

int gpc_supervision_created(struct gpc_supervision *sv,
	const struct gpc_intent *x, const struct gpc_launch *l,
	const struct gpc_instances *made, bool *progressed, struct gpc_error *err)
{
	gpc_row_got(sv);
	sv->stuck_since_ms = 0;         /* patience and refusals: once it runs */
	gpc_supervision_note(sv, NULL);
	return gpc_supervision_append(sv, GPC_EVENT_CREATED,
		created_payload(&sv->journal.state, x, l, made), progressed, err);
}

int gpc_supervision_is_current(struct gpc_supervision *sv, bool *ret_current,
	bool *progressed, struct gpc_error *err)
{
	int r = gpc_journal_is_current(&sv->journal, ret_current, err);

	if (r < 0 || *ret_current)
		return r;
	*progressed = true;
	return gpc_journal_refresh(&sv->journal, NULL, err);
}

int gpc_supervision_create(struct gpc_supervision *sv, size_t intent,
	bool *progressed, struct gpc_error *err)
{
	const struct gpc_intent *x = &sv->journal.state.intents.v[intent];
	gpc_auto(gpc_launch) struct gpc_launch launch = {0};
	gpc_auto(gpc_instances) struct gpc_instances made = {0};
	struct gpc_source *source = NULL;
	struct gpc_error why = {0};
	bool current = false;
	int r;

	if (gpc_boot_ms() < sv->retry_ms || !can_read_intent(sv, x->n))
		return 0;
	r = gpc_launch_read(x->request, &launch, err);
	if (r == 0 && gpc_intent_is_group(x))
		return gpc_supervision_keep(sv, intent, &launch, progressed, err);
	if (r == 0)
		r = gpc_supervision_source(sv, launch.provider, &source, err);
	if (r == 0)
		r = gpc_supervision_is_current(sv, &current, progressed, err);
	if (r < 0 || !current)
		return r;
	GPC_CRASH("buy.asks");
	if (source->provider->ops->create(source->provider, &launch, &made,
		&why) < 0)
		return gpc_supervision_create_failed(sv, intent, &launch,
			progressed, &why, err);
	GPC_CRASH("buy.answered");
	gpc_source_spoil(source);
	return gpc_supervision_created(sv, x, &launch, &made, progressed, err);
}
