/* Roles: what they may do, who may take them, and the instance profile of the same
 * name by which a machine does. A role is shared by the stores of an account, each of
 * which has an inline policy of its own in it. */
#include "provider/aws_bucket.h"

#include <string.h>

#include "base/encode.h"
#include "provider/aws_policy.h"

static int call(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const char *action, const struct gpc_pairs *params,
	struct gpc_xml **ret_xml, struct gpc_error *err)
{
	return gpc_aws_query(aws, "iam", &(struct gpc_aws_call){ .region = s->region,
		.action = action, .params = params, .repeatable = true },
		ret_xml, err);
}

/* A call whose answer says nothing; `fine`: the failure that is a success, too. */
static int order(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const char *action, const struct gpc_pairs *params, int fine,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_xml) *xml = NULL;
	int r = call(aws, s, action, params, &xml, err);

	return r == fine ? 0 : r;
}

/* Documents come percent-encoded. */
static int read_document(const char *text, struct gpc_json **ret_j,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int r = gpc_percent_decode(text, strlen(text), false, &b, err);

	return r < 0 ? r : gpc_json_parse(gpc_buf_str(&b), b.len, ret_j, err);
}

static bool has_tag(const struct gpc_xml *x)
{
	const struct gpc_xml *tag = gpc_xml_get(x, "Tags/member");

	while (tag && !gpc_eq(gpc_xml_text(tag, "Key"), GPC_AWS_SETUP_TAG))
		tag = gpc_xml_again(tag);
	return tag != NULL;
}

/* GPC_ENOTFOUND. */
static int get_role(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const char *name, struct gpc_xml **ret_xml, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};

	gpc_pairs_add(&p, "RoleName", name);
	return call(aws, s, "GetRole", &p, ret_xml, err);
}

static int get_profile(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const char *name, struct gpc_xml **ret_xml, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};

	gpc_pairs_add(&p, "InstanceProfileName", name);
	return call(aws, s, "GetInstanceProfile", &p, ret_xml, err);
}

#define ROLE_OF_PROFILE "GetInstanceProfileResult/InstanceProfile/Roles/member/RoleName"

/* --- looking ----------------------------------------------------------------- */

static int look_at_role(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const struct gpc_aws_role *role, enum gpc_setup_state *ret_state,
	char **ret_detail, struct gpc_error *err)
{
	gpc_autoptr(gpc_xml) *xml = NULL;
	gpc_autoptr(gpc_json) *trust = NULL;
	int r = get_role(aws, s, role->name, &xml, err);

	if (r == -GPC_ENOTFOUND) {
		*ret_state = GPC_SETUP_MISSING;
		return 0;
	}
	if (r == 0)
		r = read_document(gpc_xml_text(xml,
			"GetRoleResult/Role/AssumeRolePolicyDocument"), &trust, err);
	if (r < 0)
		return gpc_wrap(err, r, "role %s", role->name);
	*ret_state = gpc_aws_policy_equal(trust, s->trust) ? GPC_SETUP_THERE :
		GPC_SETUP_DIFFERS;
	if (*ret_state == GPC_SETUP_DIFFERS)
		gpc_set_str(ret_detail, has_tag(gpc_xml_get(xml,
			"GetRoleResult/Role")) ? "others than machines of EC2 may "
			"take it" : "a role of this name is there that setup did "
			"not make");
	return 0;
}

static int look_at_policy(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const struct gpc_aws_role *role, enum gpc_setup_state *ret_state,
	struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	gpc_autoptr(gpc_json) *policy = NULL;
	int r;

	gpc_pairs_add(&p, "RoleName", role->name);
	gpc_pairs_add(&p, "PolicyName", s->policy_name);
	r = call(aws, s, "GetRolePolicy", &p, &xml, err);
	if (r == -GPC_ENOTFOUND) {
		*ret_state = GPC_SETUP_MISSING;
		return 0;
	}
	if (r == 0)
		r = read_document(gpc_xml_text(xml,
			"GetRolePolicyResult/PolicyDocument"), &policy, err);
	if (r == 0)
		*ret_state = role->policy && gpc_aws_policy_equal(policy,
			role->policy) ? GPC_SETUP_THERE : GPC_SETUP_DIFFERS;
	return r;
}

static int look_at_profile(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const struct gpc_aws_role *role, enum gpc_setup_state *ret_state,
	char **ret_detail, struct gpc_error *err)
{
	gpc_autoptr(gpc_xml) *xml = NULL;
	int r = get_profile(aws, s, role->name, &xml, err);
	const char *has = gpc_xml_text(xml, ROLE_OF_PROFILE);

	if (r < 0 && r != -GPC_ENOTFOUND)
		return r;
	*ret_state = r < 0 ? GPC_SETUP_MISSING : gpc_eq(has, role->name) ?
		GPC_SETUP_THERE : GPC_SETUP_DIFFERS;
	if (*ret_state == GPC_SETUP_DIFFERS)
		gpc_set_str(ret_detail, *has ? "it has another role" :
			"it has no role");
	return 0;
}

int gpc_aws_role_look(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const struct gpc_aws_role *role, enum gpc_aws_part part,
	enum gpc_setup_state *ret_state, char **ret_detail, struct gpc_error *err)
{
	if (part == GPC_AWS_ROLE)
		return look_at_role(aws, s, role, ret_state, ret_detail, err);
	if (part == GPC_AWS_ROLE_POLICY)
		return look_at_policy(aws, s, role, ret_state, err);
	return look_at_profile(aws, s, role, ret_state, ret_detail, err);
}

/* --- making ------------------------------------------------------------------ */

static void add_tag(const char *value, struct gpc_pairs *p)
{
	gpc_pairs_add(p, "Tags.member.1.Key", GPC_AWS_SETUP_TAG);
	gpc_pairs_add(p, "Tags.member.1.Value", value);
}

/* Who may take a role that somebody else made is that one's matter. */
static int mend_trust(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const struct gpc_aws_role *role, const char *trust, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	gpc_autostr *detail = NULL;
	enum gpc_setup_state state;
	int r = look_at_role(aws, s, role, &state, &detail, err);

	if (r < 0 || state == GPC_SETUP_THERE)
		return r;
	r = get_role(aws, s, role->name, &xml, err);
	if (r < 0)
		return r;
	if (!has_tag(gpc_xml_get(xml, "GetRoleResult/Role"))) {
		r = gpc_fail(err, GPC_ECONFLICT, "there is a role %s already, which "
			"setup did not make and machines of EC2 may not take",
			role->name);
		gpc_hint(err, "rename or delete it, or let ec2 assume it");
		return r;
	}
	gpc_pairs_add(&p, "RoleName", role->name);
	gpc_pairs_add(&p, "PolicyDocument", trust);
	return order(aws, s, "UpdateAssumeRolePolicy", &p, 0, err);
}

static int make_role(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const struct gpc_aws_role *role, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	gpc_autostr *trust = gpc_json_print(s->trust);
	int r;

	gpc_pairs_add(&p, "RoleName", role->name);
	gpc_pairs_add(&p, "AssumeRolePolicyDocument", trust);
	add_tag(role->name, &p);
	r = call(aws, s, "CreateRole", &p, &xml, err);
	return r == -GPC_ECONFLICT ? mend_trust(aws, s, role, trust, err) : r;
}

static int make_policy(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const struct gpc_aws_role *role, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autostr *policy = gpc_json_print(role->policy);

	gpc_pairs_add(&p, "RoleName", role->name);
	gpc_pairs_add(&p, "PolicyName", s->policy_name);
	gpc_pairs_add(&p, "PolicyDocument", policy);
	return order(aws, s, "PutRolePolicy", &p, 0, err);
}

/* A profile holds one role. One that has another was made by somebody else. */
static int make_profile(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const struct gpc_aws_role *role, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0}, tagged = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	const char *has;
	int r;

	gpc_pairs_add(&p, "InstanceProfileName", role->name);
	gpc_pairs_copy(&tagged, &p);
	add_tag(role->name, &tagged);
	r = order(aws, s, "CreateInstanceProfile", &tagged, -GPC_ECONFLICT, err);
	if (r == 0)
		r = get_profile(aws, s, role->name, &xml, err);
	if (r < 0)
		return r;
	has = gpc_xml_text(xml, ROLE_OF_PROFILE);
	if (gpc_eq(has, role->name))
		return 0;
	if (*has) {
		r = gpc_fail(err, GPC_ECONFLICT, "instance profile %s has the role "
			"%s", role->name, has);
		gpc_hint(err, "take that out of it (aws iam remove-role-from-"
			"instance-profile)");
		return r;
	}
	gpc_pairs_add(&p, "RoleName", role->name);
	return order(aws, s, "AddRoleToInstanceProfile", &p, 0, err);
}

int gpc_aws_role_make(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const struct gpc_aws_role *role, enum gpc_aws_part part,
	struct gpc_error *err)
{
	if (part == GPC_AWS_ROLE)
		return make_role(aws, s, role, err);
	return part == GPC_AWS_ROLE_POLICY ? make_policy(aws, s, role, err) :
		make_profile(aws, s, role, err);
}

/* --- taking away ------------------------------------------------------------- */

/* Whether another policy than this store's is in it. */
static int is_shared(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const char *name, bool *ret_shared, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	const struct gpc_xml *x;
	int r;

	gpc_pairs_add(&p, "RoleName", name);
	r = call(aws, s, "ListRolePolicies", &p, &xml, err);
	*ret_shared = false;
	x = gpc_xml_get(xml, "ListRolePoliciesResult/PolicyNames/member");
	for (; x; x = gpc_xml_again(x))
		*ret_shared |= !gpc_eq(x->text, s->policy_name);
	return r;
}

int gpc_aws_role_look_back(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const char *name, enum gpc_aws_part part, bool *ret_there,
	char **ret_kept, struct gpc_error *err)
{
	const struct gpc_aws_role role = { .name = name };
	gpc_autoptr(gpc_xml) *xml = NULL;
	enum gpc_setup_state state = GPC_SETUP_MISSING;
	bool shared = false;
	const char *at = part == GPC_AWS_ROLE ? "GetRoleResult/Role" :
		"GetInstanceProfileResult/InstanceProfile";
	int r;

	*ret_there = false;
	if (part == GPC_AWS_ROLE_POLICY) {
		r = look_at_policy(aws, s, &role, &state, err);
		*ret_there = state != GPC_SETUP_MISSING;
		return r;
	}
	r = part == GPC_AWS_ROLE ? get_role(aws, s, name, &xml, err) :
		get_profile(aws, s, name, &xml, err);
	if (r == -GPC_ENOTFOUND)
		return 0;
	*ret_there = r == 0 && has_tag(gpc_xml_get(xml, at));
	if (*ret_there)
		r = is_shared(aws, s, name, &shared, err);
	/* A profile whose role is gone is of no use to anybody. */
	if (r == -GPC_ENOTFOUND)
		r = 0;
	if (shared)
		gpc_set_str(ret_kept, "other stores use it");
	return r;
}

static int drop_profile(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const char *name, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0}, with = {0};
	int r;

	gpc_pairs_add(&p, "InstanceProfileName", name);
	gpc_pairs_copy(&with, &p);
	gpc_pairs_add(&with, "RoleName", name);
	r = order(aws, s, "RemoveRoleFromInstanceProfile", &with, -GPC_ENOTFOUND,
		err);
	return r < 0 ? r : order(aws, s, "DeleteInstanceProfile", &p,
		-GPC_ENOTFOUND, err);
}

int gpc_aws_role_unmake(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	const char *name, enum gpc_aws_part part, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};

	if (part == GPC_AWS_PROFILE_OF)
		return drop_profile(aws, s, name, err);
	gpc_pairs_add(&p, "RoleName", name);
	if (part == GPC_AWS_ROLE_POLICY)
		gpc_pairs_add(&p, "PolicyName", s->policy_name);
	return order(aws, s, part == GPC_AWS_ROLE ? "DeleteRole" :
		"DeleteRolePolicy", &p, -GPC_ENOTFOUND, err);
}
