/* Amazon EC2 (API version 2016-11-15): on-demand and one-time spot machines.
 *
 * A node's id is "REGION/INSTANCE". What there is, the tags say; this machine only
 * remembers in which regions it bought (provider/aws_regions.h). */
#include "provider/provider.h"

#include <string.h>

#include "base/str.h"
#include "creds/creds.h"
#include "net/endpoint_aws.h"
#include "provider/authorities.h"
#include "provider/aws_call.h"
#include "provider/aws_console.h"
#include "provider/aws_figures.h"
#include "provider/aws_group.h"
#include "provider/aws_instances.h"
#include "provider/aws_launch.h"
#include "provider/aws_notice.h"
#include "provider/aws_offers.h"
#include "provider/aws_params.h"
#include "provider/aws_quota.h"
#include "provider/aws_regions.h"
#include "provider/aws_reserved.h"
#include "provider/aws_setup.h"
#include "provider/aws_side.h"
#include "catalog/prices.h"
#include "provider/aws_way.h"

#define FIRST_REGION "us-east-1"
#define AT_ONCE 1000            /* TerminateInstances takes so many ids */

struct state {
	struct gpc_aws aws;             /* first: aws_setup.c has it by p->state */
	struct gpc_strv shops;          /* regions to buy in; empty until asked for */
	struct gpc_strv known;          /* regions of nodes that are known */
	struct gpc_strv grouped;        /* and of groups */
	struct gpc_strv unstarted;      /* nodes that were ended while pending */
};

static int aws_open(struct gpc_provider *p, struct gpc_error *err)
{
	struct state *s = p->state;
	const struct gpc_net_settings settings = { .log = p->ctx->log,
		.cancel = p->ctx->cancel, .ca_file = p->ctx->ca_file };
	const struct gpc_creds_settings who = { .cloud = GPC_CLOUD_AWS,
		.cancel = p->ctx->cancel };

	(void)err;
	s->aws.net = gpc_net_new(&settings);
	s->aws.creds = gpc_creds_new(&who, s->aws.net);
	return 0;
}

static void aws_close(struct gpc_provider *p)
{
	struct state *s = p->state;

	gpc_creds_free(s->aws.creds);
	gpc_net_free(s->aws.net);
	gpc_aws_answers_clear(&s->aws.answers);
	gpc_strv_clear(&s->shops);
	gpc_strv_clear(&s->known);
	gpc_strv_clear(&s->grouped);
	gpc_strv_clear(&s->unstarted);
}

/* As configured, else the one that AWS's own tools would use. */
static int find_shops(struct gpc_provider *p, struct gpc_error *err)
{
	struct state *s = p->state;
	gpc_autostr *region = NULL;
	int r = 0;

	if (!s->shops.n)
		r = gpc_aws_regions_read(p->ctx->aws_regions, &s->shops, err);
	if (r == 0 && !s->shops.n)
		r = gpc_creds_region(s->aws.creds, &region, err);
	if (r == 0 && !s->shops.n)
		gpc_strv_add(&s->shops, region ? region : FIRST_REGION);
	return r;
}

static void add_once(struct gpc_strv *to, const char *region)
{
	if (!gpc_strv_has(to, region))
		gpc_strv_add(to, region);
}

/* Where nodes of ours were bought, as far as this machine knows. */
static int find_used(struct gpc_provider *p, struct gpc_strv *ret,
	struct gpc_error *err)
{
	const struct state *s = p->state;
	int r = gpc_aws_regions_used(p->ctx->state_dir, GPC_AWS_OF_MACHINES, ret,
		err);

	for (size_t i = 0; r == 0 && i < s->known.n; i++)
		add_once(ret, s->known.v[i]);
	return r;
}

typedef int place_fn(struct gpc_provider *p, const char *region, void *arg,
	struct gpc_error *err);

/* Where nodes of ours may be. None at all where AWS was never used: then nothing is
 * asked, and nobody needs credentials. A region that is only configured and knows nobody
 * is one that the account has not enabled, unless all say so. One that fails keeps
 * nobody from the others; the first failure is returned. */
static int in_each_place(struct gpc_provider *p, place_fn *fn, void *arg,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv places = {0}, used = {0};
	struct gpc_error why = {0};
	bool answered = false;
	int r = gpc_aws_regions_read(p->ctx->aws_regions, &places, &why);

	if (r == 0)
		r = find_used(p, &used, &why);
	for (size_t i = 0; i < used.n; i++)
		add_once(&places, used.v[i]);
	for (size_t i = 0; r != -GPC_ECANCELED && i < places.n; i++) {
		const char *region = places.v[i];
		struct gpc_error own = {0};
		int q = fn(p, region, arg, &own);

		answered |= q == 0;
		if (q == 0 || (!gpc_strv_has(&used, region) &&
			gpc_aws_is_stranger(q, &own) && (answered || i + 1 < places.n)))
			continue;
		if (r == 0 || q == -GPC_ECANCELED) {
			r = q;
			why = own;
		}
	}
	if (r < 0 && err)
		*err = why;
	return r;
}

static int aws_offers(struct gpc_provider *p, const struct gpc_ask *ask,
	struct gpc_offers *ret_offers, struct gpc_error *err)
{
	struct state *s = p->state;
	gpc_auto(gpc_strv) struct gpc_strv one = {0};
	int r = find_shops(p, err);

	if (r < 0)
		return r;
	if (ask->region && gpc_list_sells_in("aws", ask->region))
		gpc_strv_add(&one, ask->region);
	r = gpc_aws_offers(&s->aws, one.n ? &one : &s->shops,
		p->ctx->aws_reservations, ask, ret_offers, err);
	if (r == 0 && !one.n)
		gpc_aws_reserved_tell(p->ctx->aws_reservations, ret_offers,
			&s->shops, p->ctx->log);
	return r;
}

static int aws_prepare(struct gpc_provider *p, struct gpc_launch *l,
	struct gpc_error *err)
{
	struct state *s = p->state;
	int r = gpc_aws_regions_use(p->ctx->state_dir, GPC_AWS_OF_MACHINES,
		l->offer.region, err);

	if (r == 0 && p->ctx->ca_file && gpc_authorities_needed(l)) {
		gpc_autostr *pem = NULL;

		r = gpc_authorities_read(p->ctx->ca_file, &pem, err);
		gpc_json_set_str(l->rest, "ca", pem);
	}
	if (r == 0)
		r = gpc_aws_launch_prepare(&s->aws, l, err);
	if (r < 0)
		gpc_aws_answers_clear(&s->aws.answers);
	return r;
}

/* A node's or group's region is looked at from now on, configured or not. */
static void aws_knows(struct gpc_provider *p, const char *id)
{
	struct state *s = p->state;
	gpc_autostr *region = NULL;
	const char *name;

	if (gpc_aws_group_parts(id, &region, &name))
		add_once(&s->grouped, region);
	if (region || gpc_aws_node_parts(id, &region, &name))
		add_once(&s->known, region);
}

static int read_made(const struct gpc_xml *xml, const char *region,
	struct gpc_instances *to, struct gpc_error *err)
{
	const struct gpc_xml *x = gpc_xml_get(xml, "instancesSet/item");
	int r = 0;

	for (; r == 0 && x; x = gpc_xml_again(x))
		r = gpc_aws_instance_read(x, region, to, err);
	return r;
}

static int compare_ids(const void *a, const void *b)
{
	return strcmp(((const struct gpc_instance *)a)->id,
		((const struct gpc_instance *)b)->id);
}

/* A repeat may show them in another order. */
static void in_order(struct gpc_instances *x)
{
	if (x->n)
		qsort(x->v, x->n, sizeof(*x->v), compare_ids);
}

/* Not, where the answer is unclear: the same will be sent again. */
static bool is_refusal(int r)
{
	return r != -GPC_ERATE && r != -GPC_ETIMEOUT && r != -GPC_ENET &&
		r != -GPC_EIO && r != -GPC_ECANCELED;
}

/* What was made for a launch that came to nothing. What fails here is found by its
 * tags. */
static void end_unused(struct gpc_provider *p, const struct gpc_launch *l)
{
	struct state *s = p->state;
	const char *name = gpc_json_get_str(gpc_json_get(l->rest, GPC_AWS_REST),
		"side");
	struct gpc_error why;

	if (name && gpc_aws_side_end(&s->aws, l->offer.region,
		p->ctx->store_id, name, NULL, &why) < 0)
		gpc_log(p->ctx->log, GPC_VERBOSE, "%s", why.msg);
}

static int aws_create(struct gpc_provider *p, const struct gpc_launch *l,
	struct gpc_instances *ret, struct gpc_error *err)
{
	struct state *s = p->state;
	gpc_auto(gpc_pairs) struct gpc_pairs params = {0};
	gpc_auto(gpc_instances) struct gpc_instances made = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	const struct gpc_aws_call call = { .region = l->offer.region,
		.action = "RunInstances", .params = &params, .repeatable = true };
	int r = gpc_aws_params_launch(l, &params, err);

	if (r == 0)
		r = gpc_aws_ec2(&s->aws, &call, &xml, err);
	if (r < 0)
		gpc_aws_answers_clear(&s->aws.answers);
	if (r == -GPC_EQUOTA)
		gpc_aws_quota_look(&s->aws, l, err);
	if (r < 0 && is_refusal(r))
		end_unused(p, l);
	if (r == 0)
		r = read_made(xml, l->offer.region, &made, err);
	if (r == 0 && made.n != (size_t)l->count)
		r = gpc_fail(err, GPC_EPROTO, "asked for %d machines, %zu came",
			l->count, made.n);
	if (r < 0)
		return r;
	in_order(&made);
	aws_knows(p, made.v[0].id);
	*ret = made;
	made = (struct gpc_instances){0};
	return 0;
}

/* --- groups ------------------------------------------------------------------- */

static int aws_keep(struct gpc_provider *p, const struct gpc_launch *l,
	struct gpc_error *err)
{
	gpc_autostr *id = gpc_aws_group_id(l);
	int r = gpc_aws_regions_use(p->ctx->state_dir, GPC_AWS_OF_GROUPS,
		l->offer.region, err);

	aws_knows(p, id);
	return r < 0 ? r :
		gpc_aws_group_keep(&((struct state *)p->state)->aws, l, err);
}

static int aws_leave(struct gpc_provider *p, const char *group, const char *id,
	struct gpc_error *err)
{
	gpc_autostr *region = NULL, *there = NULL;
	const char *name, *instance;

	if (!gpc_aws_group_parts(group, &region, &name) ||
		!gpc_aws_node_parts(id, &there, &instance))
		return gpc_fail(err, GPC_EUSAGE, "bad group \"%s\"", group);
	return gpc_aws_group_leave(&((struct state *)p->state)->aws, region, name,
		instance, err);
}

/* Most users have none, nor the right to ask for them: where none is known they are
 * asked for when a machine shows that there is one, or when all has to be found. */
static int list_groups(struct gpc_provider *p, const char *region,
	const struct gpc_instances *machines, struct gpc_instances *to,
	struct gpc_error *err)
{
	struct state *s = p->state;
	gpc_auto(gpc_strv) struct gpc_strv used = {0};
	struct gpc_error why = {0};
	int r = gpc_aws_regions_used(p->ctx->state_dir, GPC_AWS_OF_GROUPS, &used,
		err);
	bool known = gpc_strv_has(&used, region) ||
		gpc_strv_has(&s->grouped, region), due = p->ctx->thorough;

	gpc_vec_each(x, machines)
		due |= x->state != GPC_INSTANCE_GONE &&
			gpc_aws_instance_is_grouped(x);
	if (r < 0 || (!known && !due))
		return r;
	r = gpc_aws_groups_list(&s->aws, region, p->ctx->store_id,
		p->ctx->thorough, to, &why);
	if (r < 0 && (known || why.code != GPC_EAUTH)) {
		if (err)
			*err = why;
		return r;
	}
	if (r < 0)
		gpc_log(p->ctx->log, GPC_WARN, "groups are not looked for: %s",
			why.msg);
	return 0;
}

/* What was told when they were ended: pending machines are not billed. */
static void mark_unstarted(const struct state *s, struct gpc_instances *machines)
{
	gpc_vec_each(x, machines)
		x->unpaid |= x->state == GPC_INSTANCE_GONE &&
			gpc_strv_has(&s->unstarted, x->id);
}

static void move_all(struct gpc_instances *from, struct gpc_instances *to)
{
	gpc_vec_each(x, from) {
		*gpc_vec_push(to) = *x;
		*x = (struct gpc_instance){0};
	}
}

static int list_place(struct gpc_provider *p, const char *region, void *arg,
	struct gpc_error *err)
{
	struct state *s = p->state;
	struct gpc_instances *found = arg;
	gpc_auto(gpc_instances) struct gpc_instances machines = {0};
	int r = gpc_aws_instances_list(&s->aws, region, p->ctx->store_id, &machines,
		err);

	mark_unstarted(s, &machines);
	if (r == 0)     /* before what they would start again */
		r = list_groups(p, region, &machines, found, err);
	move_all(&machines, found);
	return r;
}

static int aws_list(struct gpc_provider *p, struct gpc_instances *ret,
	struct gpc_error *err)
{
	gpc_auto(gpc_instances) struct gpc_instances found = {0};
	int r = in_each_place(p, list_place, &found, err);

	move_all(&found, ret);
	return r;
}

/* --- destroy ------------------------------------------------------------------ */

static const struct gpc_instance *find(const struct gpc_instances *in,
	const char *id)
{
	gpc_vec_each(x, in)
		if (gpc_eq(x->id, id))
			return x;
	return NULL;
}

static void note_side(const struct gpc_instance *x, struct gpc_strv *names)
{
	const char *name = gpc_pairs_get(&x->tags, GPC_AWS_SIDE_TAG);

	if (name && !gpc_strv_has(names, name))
		gpc_strv_add(names, name);
}

static bool is_in(const char *id, const char *region)
{
	gpc_autostr *place = gpc_format("%s/", region);

	return gpc_starts_with(id, place);
}

/* What lay beside machines that are gone; the last of them takes it along. */
static int end_sides(struct gpc_provider *p, const char *region,
	const struct gpc_strv *names, struct gpc_error *err)
{
	struct state *s = p->state;
	int r = 0;

	for (size_t i = 0; r == 0 && i < names->n; i++)
		r = gpc_aws_side_end(&s->aws, region, p->ctx->store_id,
			names->v[i], NULL, err);
	return r;
}

/* One unknown id would fail the whole call, and one of another store must not be
 * ended: only what a list shows as ours is named. */
static int end_in(struct gpc_provider *p, const char *region,
	const char *const *ids, size_t n, struct gpc_error *err)
{
	struct state *s = p->state;
	gpc_auto(gpc_instances) struct gpc_instances ours = {0};
	gpc_auto(gpc_pairs) struct gpc_pairs params = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	gpc_auto(gpc_strv) struct gpc_strv others = {0}, sides = {0};
	size_t named = 0;
	int r = gpc_aws_instances_list(&s->aws, region, p->ctx->store_id, &ours,
		err);

	for (size_t i = 0; r == 0 && i < n && named < AT_ONCE; i++) {
		const struct gpc_instance *x = find(&ours, ids[i]);
		gpc_autostr *name = gpc_format("InstanceId.%zu", named + 1);

		if (!x && is_in(ids[i], region) && strstr(ids[i], "/i-"))
			gpc_strv_add(&others, ids[i]);
		if (x && x->state == GPC_INSTANCE_GONE)
			note_side(x, &sides);
		if (!x || x->state == GPC_INSTANCE_GONE)
			continue;
		gpc_pairs_add(&params, name, strchr(x->id, '/') + 1);
		named++;
	}
	if (r == 0 && named)
		r = gpc_aws_ec2(&s->aws, &(struct gpc_aws_call){
			.region = region, .action = "TerminateInstances",
			.params = &params, .repeatable = true }, &xml, err);
	gpc_aws_instances_unstarted(xml, region, &s->unstarted);
	if (r == 0)
		r = end_sides(p, region, &sides, err);
	return r < 0 || !others.n ? r :
		gpc_aws_instances_foreign(&s->aws, region, &others, err);
}

static int aws_destroy(struct gpc_provider *p, const char *const *ids, size_t n,
	struct gpc_error *err)
{
	struct state *s = p->state;
	gpc_auto(gpc_strv) struct gpc_strv regions = {0};
	int first = 0;

	for (size_t i = 0; i < n; i++) {
		gpc_autostr *region = NULL;
		const char *instance;

		if (!ids[i][0] || strstr(ids[i], ".."))
			return gpc_fail(err, GPC_EUSAGE, "bad node id \"%s\"",
				ids[i]);
		if (gpc_aws_way_parts(ids[i], &region, &instance)) {
			int r = gpc_aws_way_close(&s->aws, region, instance, p->ctx->store_id,
				first < 0 ? NULL : err);

			first = first < 0 ? first : r;
			continue;
		}
		if (gpc_aws_group_parts(ids[i], &region, &instance)) {
			int r = gpc_aws_group_end(&s->aws, region, instance,
				p->ctx->store_id, first < 0 ? NULL : err);

			first = first < 0 ? first : r;
			continue;
		}
		/* What is no machine of EC2 is not there. */
		if (!gpc_aws_node_parts(ids[i], &region, &instance))
			continue;
		if (!gpc_strv_has(&regions, region))
			gpc_strv_take(&regions, gpc_steal(&region));
	}
	for (size_t i = 0; i < regions.n; i++) {
		int r = end_in(p, regions.v[i], ids, n, first < 0 ? NULL : err);

		first = first < 0 ? first : r;
	}
	return first;
}

static int aws_console(struct gpc_provider *p, const char *id,
	struct gpc_buf *ret_text, struct gpc_error *err)
{
	struct state *s = p->state;
	gpc_autostr *region = NULL;
	const char *instance;

	if (!gpc_aws_node_parts(id, &region, &instance))
		return gpc_fail(err, GPC_ENOTFOUND, "no machine of EC2 is called "
			"%s", id);
	return gpc_aws_console(&s->aws, region, instance, ret_text, err);
}

/* --- ways from outside -------------------------------------------------------- */

static int aws_caller(struct gpc_provider *p, char **ret_cidr,
	struct gpc_error *err)
{
	return gpc_aws_way_caller(&((struct state *)p->state)->aws, ret_cidr, err);
}

static int aws_open_way(struct gpc_provider *p, const char *id,
	const struct gpc_way *what, char **ret_address, struct gpc_error *err)
{
	struct gpc_aws_way way = { .store_id = p->ctx->store_id,
		.from = what->from, .ports = what->ports };
	gpc_autostr *region = NULL;

	if (!gpc_aws_node_parts(id, &region, &way.instance))
		return gpc_fail(err, GPC_EPROTO, "\"%s\" is no machine of EC2", id);
	way.region = region;
	return gpc_aws_way_open(&((struct state *)p->state)->aws, &way,
		ret_address, err);
}

static int ways_place(struct gpc_provider *p, const char *region, void *arg,
	struct gpc_error *err)
{
	return gpc_aws_way_list(&((struct state *)p->state)->aws, region,
		p->ctx->store_id, arg, err);
}

static int aws_ways(struct gpc_provider *p, struct gpc_instances *ret,
	struct gpc_error *err)
{
	gpc_auto(gpc_instances) struct gpc_instances found = {0};
	int r = in_each_place(p, ways_place, &found, err);

	if (r < 0)
		return r;
	*ret = found;
	found = (struct gpc_instances){0};
	return 0;
}

static int tidy_place(struct gpc_provider *p, const char *region, void *arg,
	struct gpc_error *err)
{
	return gpc_aws_side_end(&((struct state *)p->state)->aws, region,
		p->ctx->store_id, NULL, arg, err);
}

static int aws_tidy(struct gpc_provider *p, size_t *ret_n,
	struct gpc_error *err)
{
	*ret_n = 0;
	return in_each_place(p, tidy_place, ret_n, err);
}

static int aws_notice(struct gpc_provider *p, int64_t *ret_at_ms,
	struct gpc_error *err)
{
	struct state *s = p->state;

	return gpc_aws_notice(&s->aws, ret_at_ms, err);
}

/* In the node's own region. A batch that came twice would count twice: the call is not
 * repeated after an unclear answer. */
static int aws_publish(struct gpc_provider *p, const struct gpc_figures *f,
	struct gpc_error *err)
{
	struct state *s = p->state;
	gpc_auto(gpc_pairs) struct gpc_pairs params = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	gpc_autostr *region = NULL;
	const char *instance;

	if (!gpc_aws_node_parts(f->node, &region, &instance))
		return gpc_fail(err, GPC_ECONFIG, "bad node id \"%s\"", f->node);
	if (!gpc_aws_figures_params(f, &params))
		return 0;
	return gpc_aws_query(&s->aws, "cloudwatch", &(struct gpc_aws_call){
		.region = region, .action = "PutMetricData", .params = &params },
		&xml, err);
}

const struct gpc_provider_ops gpc_provider_aws = {
	.name = "aws",
	.title = "Amazon EC2",
	.caps = GPC_PROVIDER_SPOT | GPC_PROVIDER_KEEPS,
	.state_size = sizeof(struct state),
	.open = aws_open,
	.close = aws_close,
	.offers = aws_offers,
	.prepare = aws_prepare,
	.create = aws_create,
	.keep = aws_keep,
	.leave = aws_leave,
	.knows = aws_knows,
	.list = aws_list,
	.destroy = aws_destroy,
	.caller = aws_caller,
	.open_way = aws_open_way,
	.ways = aws_ways,
	.tidy = aws_tidy,
	.console = aws_console,
	.notice = aws_notice,
	.setup = &gpc_aws_setup_ops,
	.publish = aws_publish,
};
