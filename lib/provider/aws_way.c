/* See aws_way.h. The group is attached beside those that the machine has, which stay:
 * what they let through already goes on. */
#include "provider/aws_way.h"

#include <string.h>

#include "base/cidr.h"
#include "base/parse.h"
#include "base/str.h"
#include "net/endpoint_aws.h"
#include "provider/aws_instances.h"
#include "provider/aws_params.h"
#include "provider/aws_side.h"

#define TAG_STORE "gpucloud-store"
#define TAG_JOB "gpucloud-job"
#define TAG_EXPIRES "gpucloud-expires"
#define OURS "gpucloud-"
#define PAGE "1000"
#define CHECKIP "https://checkip.amazonaws.com/"
#define CHECKIP_MS 20000
#define ANSWER_MAX 256

/* --- the machine ------------------------------------------------------------ */

struct machine {
	struct gpc_xml *xml;            /* the answer, which the rest points into */
	const char *vpc, *address, *state;
	const char *card;               /* its first network interface */
	struct gpc_strv groups;         /* of that */
	struct gpc_pairs tags;
};

static void machine_clear(struct machine *m)
{
	gpc_xml_free(m->xml);
	gpc_strv_clear(&m->groups);
	gpc_pairs_clear(&m->tags);
}
GPC_CLEANUP_VALUE(machine);

static void read_card(const struct gpc_xml *item, struct machine *m)
{
	const struct gpc_xml *x = gpc_xml_get(item, "networkInterfaceSet/item");
	const struct gpc_xml *first = x, *g;

	for (; x; x = gpc_xml_again(x))
		if (gpc_eq(gpc_xml_text(x, "attachment/deviceIndex"), "0") &&
			(!*gpc_xml_text(x, "attachment/networkCardIndex") ||
			gpc_eq(gpc_xml_text(x, "attachment/networkCardIndex"), "0")))
			first = x;
	m->card = gpc_xml_text(first, "networkInterfaceId");
	for (g = gpc_xml_get(first, "groupSet/item"); g; g = gpc_xml_again(g))
		gpc_strv_add(&m->groups, gpc_xml_text(g, "groupId"));
}

static int find_machine(struct gpc_aws *aws, const struct gpc_aws_way *way,
	struct machine *m, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	const struct gpc_xml *item, *t;
	int r;

	gpc_pairs_add(&p, "InstanceId.1", way->instance);
	r = gpc_aws_ec2(aws, &(struct gpc_aws_call){ .region = way->region,
		.action = "DescribeInstances", .params = &p, .repeatable = true },
		&m->xml, err);
	if (r < 0)
		return r;
	item = gpc_xml_get(m->xml, "reservationSet/item/instancesSet/item");
	m->vpc = gpc_xml_text(item, "vpcId");
	m->address = gpc_xml_text(item, *gpc_xml_text(item, "ipAddress") ?
		"ipAddress" : "privateIpAddress");
	m->state = gpc_xml_text(item, "instanceState/name");
	t = gpc_xml_get(item, "tagSet/item");
	for (; t; t = gpc_xml_again(t))
		gpc_pairs_set(&m->tags, gpc_xml_text(t, "key"),
			gpc_xml_text(t, "value"));
	read_card(item, m);
	if (!gpc_eq(gpc_pairs_get(&m->tags, TAG_STORE), way->store_id) ||
		!gpc_pairs_get(&m->tags, TAG_JOB))
		return gpc_fail(err, GPC_ECONFLICT, "machine %s belongs to another "
			"store", way->instance);
	if (!gpc_eq(m->state, "running") || !*m->vpc || !*m->address ||
		!*m->card)
		return gpc_fail(err, GPC_ECONFLICT, "machine %s is %s and cannot "
			"be reached", way->instance, *m->state ? m->state : "gone");
	return 0;
}

/* --- its job's group --------------------------------------------------------- */

static bool is_side(const struct gpc_xml *group)
{
	const struct gpc_xml *t = gpc_xml_get(group, "tagSet/item");

	for (; t; t = gpc_xml_again(t))
		if (gpc_eq(gpc_xml_text(t, "key"), GPC_AWS_SIDE_TAG))
			return true;
	return false;
}

struct group {
	struct gpc_xml *xml;            /* the answer that shows it, or NULL: it is new */
	const struct gpc_xml *item;     /* of that */
	char *id;                       /* NULL = there is none */
};

static void group_clear(struct group *g)
{
	gpc_xml_free(g->xml);
	free(g->id);
}
GPC_CLEANUP_VALUE(group);

static int find_group(struct gpc_aws *aws, const struct gpc_aws_way *way,
	const struct machine *m, struct group *g, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	const struct gpc_xml *item;
	const char *id;
	int r;

	gpc_pairs_add(&p, "Filter.1.Name", "vpc-id");
	gpc_pairs_add(&p, "Filter.1.Value.1", m->vpc);
	gpc_pairs_add(&p, "Filter.2.Name", "tag:" TAG_STORE);
	gpc_pairs_add(&p, "Filter.2.Value.1", way->store_id);
	gpc_pairs_add(&p, "Filter.3.Name", "tag:" TAG_JOB);
	gpc_pairs_add(&p, "Filter.3.Value.1", gpc_pairs_get(&m->tags, TAG_JOB));
	r = gpc_aws_ec2(aws, &(struct gpc_aws_call){ .region = way->region,
		.action = "DescribeSecurityGroups", .params = &p,
		.repeatable = true }, &xml, err);
	if (r < 0)
		return r;
	/* Within the group for EFA nobody from outside is let in. */
	item = gpc_xml_get(xml, "securityGroupInfo/item");
	while (item && is_side(item))
		item = gpc_xml_again(item);
	id = gpc_xml_text(item, "groupId");
	if (gpc_starts_with(id, "sg-")) {
		g->id = gpc_strdup(id);
		g->item = item;
		g->xml = gpc_steal(&xml);
	}
	return 0;
}

/* Of the machine's own tags those that are ours. */
static void add_tags(const struct machine *m, struct gpc_pairs *to)
{
	gpc_auto(gpc_pairs) struct gpc_pairs ours = {0};

	gpc_vec_each(tag, &m->tags)
		if (gpc_starts_with(tag->key, OURS))
			gpc_pairs_add(&ours, tag->key, tag->value);
	gpc_aws_params_tag_list("security-group", &ours, to);
}

/* Its name is the job's, so that of two who make it at a time one makes it; it bears
 * its tags from the first moment. */
static int make_group(struct gpc_aws *aws, const struct gpc_aws_way *way,
	const struct machine *m, struct group *g, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	gpc_autostr *name = gpc_format("gpucloud-%s-%s", way->store_id,
		gpc_pairs_get(&m->tags, TAG_JOB));
	const char *id;
	int r;

	gpc_pairs_add(&p, "GroupName", name);
	gpc_pairs_add(&p, "GroupDescription", "gpucloud: who may reach this job");
	gpc_pairs_add(&p, "VpcId", m->vpc);
	add_tags(m, &p);
	r = gpc_aws_ec2(aws, &(struct gpc_aws_call){ .region = way->region,
		.action = "CreateSecurityGroup", .params = &p, .repeatable = true },
		&xml, err);
	if (r == -GPC_ECONFLICT)        /* by another one, or by our lost call */
		return find_group(aws, way, m, g, err);
	if (r < 0)
		return r;
	id = gpc_xml_text(xml, "groupId");
	if (!gpc_starts_with(id, "sg-"))
		return gpc_fail(err, GPC_EPROTO, "CreateSecurityGroup in %s names "
			"no group", way->region);
	g->id = gpc_strdup(id);
	return 0;
}

/* --- its rules --------------------------------------------------------------- */

/* One port or range, and one network. */
struct rule { struct gpc_port_range ports; const char *cidr; };
struct rules { struct rule *v; size_t n, cap; };
static void rules_clear(struct rules *x)
{
	gpc_vec_free(x);
}
GPC_CLEANUP_VALUE(rules);

static bool lets_in(const struct gpc_xml *permission, const char *cidr)
{
	bool v6 = gpc_cidr_is_v6(cidr);
	const struct gpc_xml *x = gpc_xml_get(permission, v6 ?
		"ipv6Ranges/item" : "ipRanges/item");

	for (; x; x = gpc_xml_again(x))
		if (gpc_eq(gpc_xml_text(x, v6 ? "cidrIpv6" : "cidrIp"), cidr))
			return true;
	return false;
}

static bool has_rule(const struct group *g, const struct rule *rule)
{
	const struct gpc_xml *x = gpc_xml_get(g->item, "ipPermissions/item");
	gpc_autostr *first = gpc_format("%d", rule->ports.first);
	gpc_autostr *last = gpc_format("%d", rule->ports.last);

	for (; x; x = gpc_xml_again(x))
		if (gpc_eq(gpc_xml_text(x, "ipProtocol"), "tcp") &&
			gpc_eq(gpc_xml_text(x, "fromPort"), first) &&
			gpc_eq(gpc_xml_text(x, "toPort"), last) &&
			lets_in(x, rule->cidr))
			return true;
	return false;
}

/* What is asked for, and not there already as far as it is seen. */
static void find_missing(const struct group *g, const struct gpc_aws_way *way,
	struct rules *to)
{
	gpc_vec_each(ports, way->ports) {
		for (size_t i = 0; i < way->from->n; i++) {
			struct rule rule = { *ports, way->from->v[i] };

			if (!has_rule(g, &rule))
				*gpc_vec_push(to) = rule;
		}
	}
}

static int authorize(struct gpc_aws *aws, const char *region,
	const char *group, const struct rule *rules, size_t n,
	struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;

	gpc_pairs_add(&p, "GroupId", group);
	for (size_t i = 0; i < n; i++) {
		gpc_autostr *at = gpc_format("IpPermissions.%zu.", i + 1);
		gpc_autostr *protocol = gpc_format("%sIpProtocol", at);
		gpc_autostr *first = gpc_format("%sFromPort", at);
		gpc_autostr *last = gpc_format("%sToPort", at);
		gpc_autostr *who = gpc_format("%s%s", at,
			gpc_cidr_is_v6(rules[i].cidr) ? "Ipv6Ranges.1.CidrIpv6" :
			"IpRanges.1.CidrIp");

		gpc_pairs_add(&p, protocol, "tcp");
		gpc_pairs_setf(&p, first, "%d", rules[i].ports.first);
		gpc_pairs_setf(&p, last, "%d", rules[i].ports.last);
		gpc_pairs_add(&p, who, rules[i].cidr);
	}
	return gpc_aws_ec2(aws, &(struct gpc_aws_call){ .region = region,
		.action = "AuthorizeSecurityGroupIngress", .params = &p,
		.repeatable = true }, &xml, err);
}

/* All at once, or none: if one is there that was not seen yet (by our own call whose
 * answer was lost, or by somebody else's), each for itself. */
static int allow(struct gpc_aws *aws, const struct gpc_aws_way *way,
	const struct group *g, struct gpc_error *err)
{
	gpc_auto(rules) struct rules missing = {0};
	int r = 0;

	find_missing(g, way, &missing);
	if (missing.n)
		r = authorize(aws, way->region, g->id, missing.v, missing.n, err);
	if (r != -GPC_ECONFLICT || missing.n == 1)
		return r == -GPC_ECONFLICT ? 0 : r;
	r = 0;
	for (size_t i = 0; r == 0 && i < missing.n; i++) {
		r = authorize(aws, way->region, g->id, &missing.v[i], 1, err);
		if (r == -GPC_ECONFLICT)
			r = 0;
	}
	return r;
}

static int attach(struct gpc_aws *aws, const struct gpc_aws_way *way,
	const struct machine *m, const char *group, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;

	if (gpc_strv_has(&m->groups, group))
		return 0;
	gpc_pairs_add(&p, "NetworkInterfaceId", m->card);
	for (size_t i = 0; i < m->groups.n; i++) {
		gpc_autostr *name = gpc_format("SecurityGroupId.%zu", i + 1);

		gpc_pairs_add(&p, name, m->groups.v[i]);
	}
	{
		gpc_autostr *name = gpc_format("SecurityGroupId.%zu",
			m->groups.n + 1);

		gpc_pairs_add(&p, name, group);
	}
	return gpc_aws_ec2(aws, &(struct gpc_aws_call){ .region = way->region,
		.action = "ModifyNetworkInterfaceAttribute", .params = &p,
		.repeatable = true }, &xml, err);
}

int gpc_aws_way_open(struct gpc_aws *aws, const struct gpc_aws_way *way,
	char **ret_address, struct gpc_error *err)
{
	gpc_auto(machine) struct machine m = {0};
	gpc_auto(group) struct group group = {0};
	int r = find_machine(aws, way, &m, err);

	if (r == 0)
		r = find_group(aws, way, &m, &group, err);
	if (r == 0 && !group.id)
		r = make_group(aws, way, &m, &group, err);
	if (r == 0 && !group.id)
		r = gpc_fail(err, GPC_ENET, "the security group of this job is "
			"there and not to be seen yet");
	if (r == 0)
		r = allow(aws, way, &group, err);
	if (r == 0)
		r = attach(aws, way, &m, group.id, err);
	if (r == 0)
		*ret_address = gpc_strdup(m.address);
	return r;
}

/* --- all of them -------------------------------------------------------------- */

struct pages { const char *region; struct gpc_instances *to; };

static void drop_last(struct gpc_instances *to)
{
	gpc_auto(gpc_instances) struct gpc_instances gone = {0};

	*gpc_vec_push(&gone) = to->v[--to->n];
}

static int read_page(void *arg, const struct gpc_xml *page, struct gpc_error *err)
{
	const struct pages *p = arg;
	const struct gpc_xml *x = gpc_xml_get(page, "securityGroupInfo/item");

	for (; x; x = gpc_xml_again(x)) {
		const struct gpc_xml *t = gpc_xml_get(x, "tagSet/item");
		const char *id = gpc_xml_text(x, "groupId"), *expires;
		struct gpc_instance *i;
		int64_t expires_s = 0;

		if (!gpc_starts_with(id, "sg-"))
			return gpc_fail(err, GPC_EPROTO, "a group without an id");
		i = gpc_vec_push(p->to);
		i->id = gpc_aws_node_id(p->region, id);
		i->token = gpc_strdup("");
		i->state = GPC_INSTANCE_RUNNING;
		for (; t; t = gpc_xml_again(t))
			gpc_pairs_set(&i->tags, gpc_xml_text(t, "key"),
				gpc_xml_text(t, "value"));
		/* That is no way from outside, and goes with its machines. */
		if (gpc_pairs_has(&i->tags, GPC_AWS_SIDE_TAG)) {
			drop_last(p->to);
			continue;
		}
		expires = gpc_pairs_get(&i->tags, TAG_EXPIRES);
		if (expires && gpc_parse_i64(expires, 0, INT64_MAX / 1000,
			TAG_EXPIRES, &expires_s, NULL) == 0)
			i->expires_ms = expires_s * 1000;
	}
	return 0;
}

int gpc_aws_way_list(struct gpc_aws *aws, const char *region,
	const char *store_id, struct gpc_instances *to, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	struct pages pages = { region, to };

	gpc_pairs_add(&p, "Filter.1.Name", "tag:" TAG_STORE);
	gpc_pairs_add(&p, "Filter.1.Value.1", store_id);
	gpc_pairs_add(&p, "MaxResults", PAGE);
	return gpc_aws_ec2_pages(aws, region, "DescribeSecurityGroups", &p,
		read_page, &pages, err);
}

bool gpc_aws_way_parts(const char *id, char **ret_region, const char **ret_group)
{
	const char *slash = strchr(id, '/');
	gpc_autostr *region = slash ? gpc_strndup(id, (size_t)(slash - id)) : NULL;

	if (!region || !gpc_aws_region_valid(region) ||
		!gpc_starts_with(slash, "/sg-"))
		return false;
	*ret_region = gpc_steal(&region);
	*ret_group = slash + 1;
	return true;
}

int gpc_aws_way_close(struct gpc_aws *aws, const char *region,
	const char *group, const char *store_id, struct gpc_error *err)
{
	gpc_auto(gpc_instances) struct gpc_instances ours = {0};
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	gpc_autostr *id = gpc_aws_node_id(region, group);
	bool found = false;
	int r = gpc_aws_way_list(aws, region, store_id, &ours, err);

	gpc_vec_each(x, &ours)
		found = found || gpc_eq(x->id, id);
	if (r < 0 || !found)            /* gone, or never ours */
		return r;
	gpc_pairs_add(&p, "GroupId", group);
	r = gpc_aws_ec2(aws, &(struct gpc_aws_call){ .region = region,
		.action = "DeleteSecurityGroup", .params = &p, .repeatable = true },
		&xml, err);
	return r == -GPC_ECONFLICT ? 0 : r;     /* a machine has it still */
}

/* --- who asks ----------------------------------------------------------------- */

int gpc_aws_way_caller(struct gpc_aws *aws, char **ret_cidr,
	struct gpc_error *err)
{
	gpc_autostr *set = gpc_creds_setting(aws->creds, "checkip", "endpoint_url");
	gpc_auto(gpc_request) struct gpc_request request = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	const struct gpc_call call = { .request = &request, .repeatable = true,
		.total_ms = CHECKIP_MS, .max_body = ANSWER_MAX };
	gpc_autostr *said = NULL;
	char cidr[GPC_CIDR_SIZE];
	struct gpc_str word;
	int r;

	gpc_request_init(&request, "GET");
	r = gpc_url_parse(set ? set : CHECKIP, &request.url, err);
	if (r == 0)
		r = gpc_net_call(aws->net, &call, &reply, err);
	word = gpc_str_trim(gpc_str_of(gpc_buf_str(&reply.body)));
	said = gpc_strndup(word.ptr, word.len);
	if (r == 0 && (strchr(said, '/') || gpc_cidr_parse(said, cidr, err) < 0))
		r = gpc_fail(err, GPC_EPROTO, "%s tells no address",
			set ? set : CHECKIP);
	if (r < 0) {
		gpc_hint(err, "--allow ADDRESS says who may reach the node");
		return gpc_wrap(err, r, "by which address this machine is seen");
	}
	*ret_cidr = gpc_strdup(cidr);
	return 0;
}
