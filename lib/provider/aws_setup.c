/* `setup aws`: the parts in their order, each looked at, made or taken away by the
 * files that know it. */
#include "provider/aws_setup.h"

#include <string.h>

#include "provider/aws_bucket.h"
#include "provider/aws_check.h"
#include "provider/aws_launch.h"
#include "provider/aws_regions.h"
#include "provider/provider.h"
#include "store/store.h"

#define FIRST_REGION "us-east-1"

static const struct { const char *kind, *what; } parts[GPC_AWS_PART__COUNT] = {
	[GPC_AWS_BUCKET] = {"bucket", "that the store is in"},
	[GPC_AWS_ACCESS] = {"public access block", "nobody can open it to the world"},
	[GPC_AWS_ENCRYPTION] = {"encryption", "of what is in it, by default"},
	[GPC_AWS_UPLOADS] = {"lifecycle rule", "uploads that nobody ended go after 7 "
		"days"},
	[GPC_AWS_ONCE] = {"bucket policy", "journal and checkpoints are written once"},
	[GPC_AWS_ROLE] = {"role", NULL},
	[GPC_AWS_ROLE_POLICY] = {"role policy", NULL},
	[GPC_AWS_PROFILE_OF] = {"instance profile", "by which machines have the role"},
};
static const char *const all_roles[] = { GPC_AWS_PROFILE, GPC_AWS_SUPERVISOR };

/* It is the first that the provider's state holds. */
static struct gpc_aws *aws_of(struct gpc_provider *p)
{
	return p->state;
}

static int find_account(struct gpc_provider *p, char **ret_account,
	struct gpc_error *err)
{
	gpc_auto(gpc_identity) struct gpc_identity who = {0};
	int r = gpc_creds_whoami(aws_of(p)->creds, &who, err);

	if (r < 0)
		return r;
	if (!who.account || strlen(who.account) != 12 ||
		strspn(who.account, "0123456789") != 12)
		return gpc_fail(err, GPC_EPROTO, "AWS names no account");
	*ret_account = gpc_steal(&who.account);
	return 0;
}

/* ask: the account, though no document names it. */
static int describe(struct gpc_provider *p, const struct gpc_setup_wish *wish,
	bool ask, struct gpc_aws_setup *s, struct gpc_error *err)
{
	gpc_autostr *region = NULL, *account = NULL;
	int r = gpc_creds_region(aws_of(p)->creds, &region, err);

	if (r == 0 && (ask || gpc_aws_setup_names_account(wish)))
		r = find_account(p, &account, err);
	if (r == 0)
		r = gpc_aws_setup_init(s, wish, region ? region : FIRST_REGION,
			account, err);
	if (r == 0)
		r = gpc_s3_address_settle(&s->address, aws_of(p)->creds, err);
	return r;
}

static struct gpc_setup_item *add(struct gpc_setup_items *to, enum gpc_aws_part part,
	int which, const char *name)
{
	struct gpc_setup_item *i = gpc_vec_push(to);

	i->kind = parts[part].kind;
	i->part = (int)part;
	i->which = which;
	i->name = gpc_strdup(name);
	i->detail = gpc_strdup(parts[part].what);
	return i;
}

/* --- making ------------------------------------------------------------------ */

static int look_at_bucket(struct gpc_aws *aws, struct gpc_aws_setup *s,
	struct gpc_setup_items *to, struct gpc_error *err)
{
	bool there = false;
	int r = gpc_aws_bucket_find(aws, s, &there, err);

	for (int part = GPC_AWS_BUCKET; r == 0 && part <= GPC_AWS_ONCE; part++) {
		struct gpc_setup_item *i = add(to, (enum gpc_aws_part)part, 0,
			s->address.bucket);

		i->state = there ? GPC_SETUP_THERE : GPC_SETUP_MISSING;
		if (part == GPC_AWS_BUCKET) {
			free(i->detail);
			i->detail = gpc_format("in %s", s->region);
		} else if (there) {
			r = gpc_aws_bucket_look(aws, s, (enum gpc_aws_part)part,
				&i->state, &i->detail, err);
		}
	}
	return r;
}

static char *detail_of(const struct gpc_aws_setup *s, const struct gpc_aws_role *role,
	enum gpc_aws_part part)
{
	if (part == GPC_AWS_ROLE)
		return gpc_strdup(role->title);
	return gpc_format("reaches s3://%s/%s%s", s->address.bucket,
		s->address.prefix, gpc_eq(role->name, GPC_AWS_SUPERVISOR) ?
		", and may buy and end nodes" : " alone");
}

static int look_at_role(struct gpc_aws *aws, const struct gpc_aws_setup *s, int which,
	struct gpc_setup_items *to, struct gpc_error *err)
{
	const struct gpc_aws_role *role = &s->roles[which];
	int r = 0;

	for (int part = GPC_AWS_ROLE; r == 0 && part <= GPC_AWS_PROFILE_OF; part++) {
		struct gpc_setup_item *i = add(to, (enum gpc_aws_part)part, which,
			role->name);

		if (!i->detail)
			i->detail = detail_of(s, role, (enum gpc_aws_part)part);
		r = gpc_aws_role_look(aws, s, role, (enum gpc_aws_part)part,
			&i->state, &i->detail, err);
	}
	return r;
}

static int look(struct gpc_provider *p, const struct gpc_setup_wish *wish,
	struct gpc_setup_items *ret, struct gpc_error *err)
{
	gpc_auto(gpc_aws_setup) struct gpc_aws_setup s = {0};
	int r = describe(p, wish, true, &s, err);

	if (r == 0)
		r = look_at_bucket(aws_of(p), &s, ret, err);
	for (size_t i = 0; r == 0 && i < s.n_roles; i++)
		r = look_at_role(aws_of(p), &s, (int)i, ret, err);
	return r;
}

static int make(struct gpc_provider *p, const struct gpc_setup_wish *wish,
	const struct gpc_setup_item *item, struct gpc_error *err)
{
	gpc_auto(gpc_aws_setup) struct gpc_aws_setup s = {0};
	enum gpc_aws_part part = (enum gpc_aws_part)item->part;
	bool there = false;
	int r = describe(p, wish, true, &s, err);

	if (r < 0)
		return r;
	if (part >= GPC_AWS_ROLE)
		return gpc_aws_role_make(aws_of(p), &s, &s.roles[item->which], part,
			err);
	/* Its region, above all. */
	r = gpc_aws_bucket_find(aws_of(p), &s, &there, err);
	return r < 0 ? r : gpc_aws_bucket_make(aws_of(p), &s, part, err);
}

/* --- taking away ------------------------------------------------------------- */

static int any(void *arg, const struct gpc_object *o)
{
	bool *found = arg;

	(void)o;
	*found = true;
	return 1;
}

/* The bucket as a store of its own, whatever part of it is the store. */
static int open_whole(struct gpc_provider *p, const char *url,
	struct gpc_store **ret_s, struct gpc_error *err)
{
	size_t n = strcspn(url + 5, "/?");
	const char *query = strchr(url, '?');
	gpc_autostr *whole = gpc_format("s3://%.*s%s", (int)n, url + 5,
		query ? query : "");
	int r = gpc_store_open(whole, 0, p->ctx->log, ret_s, err);

	if (r == 0) {
		(*ret_s)->cancel = p->ctx->cancel;
		(*ret_s)->ca_file = p->ctx->ca_file;
	}
	return r;
}

static int look_back_at_bucket(struct gpc_provider *p,
	const struct gpc_setup_wish *wish, struct gpc_aws_setup *s,
	struct gpc_setup_items *to, struct gpc_error *err)
{
	gpc_autoptr(gpc_store) *store = NULL;
	struct gpc_setup_item *i;
	bool there = false, ours = false, full = false;
	int r = gpc_aws_bucket_find(aws_of(p), s, &there, err);

	if (r < 0 || !there)
		return r;
	for (int part = GPC_AWS_UPLOADS; r == 0 && part <= GPC_AWS_ONCE; part++) {
		bool has = false;

		r = gpc_aws_bucket_has(aws_of(p), s, (enum gpc_aws_part)part, &has,
			err);
		if (r == 0 && has)
			add(to, (enum gpc_aws_part)part, 0, s->address.bucket);
	}
	if (r == 0)
		r = gpc_aws_bucket_is_ours(aws_of(p), s, &ours, err);
	if (r < 0 || !ours)
		return r;
	r = open_whole(p, wish->store_url, &store, err);
	if (r == 0)
		r = gpc_store_list(store, "", NULL, any, &full, err);
	i = add(to, GPC_AWS_BUCKET, 0, s->address.bucket);
	free(i->detail);
	i->detail = gpc_strdup(!full ? "it is empty" : wish->drop_objects ?
		"with all objects in it" : "it holds objects; with "
		"--delete-objects it goes with them");
	i->state = full && !wish->drop_objects ? GPC_SETUP_KEPT : GPC_SETUP_THERE;
	return r;
}

static int look_back_at_role(struct gpc_aws *aws, const struct gpc_aws_setup *s,
	int which, struct gpc_setup_items *to, struct gpc_error *err)
{
	static const enum gpc_aws_part order[] = { GPC_AWS_ROLE_POLICY,
		GPC_AWS_PROFILE_OF, GPC_AWS_ROLE };
	const char *name = all_roles[which];
	int r = 0;

	for (size_t k = 0; r == 0 && k < sizeof(order) / sizeof(*order); k++) {
		gpc_autostr *kept = NULL;
		struct gpc_setup_item *i;
		bool there = false;

		r = gpc_aws_role_look_back(aws, s, name, order[k], &there, &kept,
			err);
		if (r < 0 || !there)
			continue;
		i = add(to, order[k], which, name);
		if (!kept)
			continue;
		i->state = GPC_SETUP_KEPT;
		free(i->detail);
		i->detail = gpc_steal(&kept);
	}
	return r;
}

static int look_back(struct gpc_provider *p, const struct gpc_setup_wish *wish,
	struct gpc_setup_items *ret, struct gpc_error *err)
{
	gpc_auto(gpc_aws_setup) struct gpc_aws_setup s = {0};
	int r = describe(p, wish, true, &s, err);

	/* Nodes are looked for there as well, before anything of theirs goes. */
	if (r == 0)
		r = gpc_aws_regions_use(p->ctx->state_dir, GPC_AWS_OF_MACHINES,
			s.region, err);
	for (int i = 1; r == 0 && i >= 0; i--)
		r = look_back_at_role(aws_of(p), &s, i, ret, err);
	if (r == 0)
		r = look_back_at_bucket(p, wish, &s, ret, err);
	return r;
}

static int note_key(void *arg, const struct gpc_object *o)
{
	struct gpc_strv *keys = arg;

	gpc_strv_add(keys, o->key);
	return keys->n >= GPC_STORE_BATCH;
}

/* As many keys as one request deletes are in memory. */
static int empty_bucket(struct gpc_provider *p, const char *url,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_store) *store = NULL;
	bool more = true;
	int r = open_whole(p, url, &store, err);

	while (r == 0 && more) {
		gpc_auto(gpc_strv) struct gpc_strv keys = {0};

		r = gpc_store_list(store, "", NULL, note_key, &keys, err);
		more = keys.n > 0;
		for (size_t at = 0; r == 0 && at < keys.n;)
			r = gpc_store_del_next(store, &keys, &at, err);
	}
	return r;
}

static int unmake(struct gpc_provider *p, const struct gpc_setup_wish *wish,
	const struct gpc_setup_item *item, struct gpc_error *err)
{
	gpc_auto(gpc_aws_setup) struct gpc_aws_setup s = {0};
	enum gpc_aws_part part = (enum gpc_aws_part)item->part;
	bool there = false;
	int r = describe(p, wish, true, &s, err);

	if (r < 0)
		return r;
	if (part >= GPC_AWS_ROLE)
		return gpc_aws_role_unmake(aws_of(p), &s, all_roles[item->which],
			part, err);
	r = gpc_aws_bucket_find(aws_of(p), &s, &there, err);
	if (r < 0 || !there)
		return r;
	if (part == GPC_AWS_BUCKET && wish->drop_objects)
		r = empty_bucket(p, wish->store_url, err);
	return r < 0 ? r : gpc_aws_bucket_unmake(aws_of(p), &s, part, err);
}

/* --- the rest ---------------------------------------------------------------- */

static int export(struct gpc_provider *p, const struct gpc_setup_wish *wish,
	char **ret_text, struct gpc_error *err)
{
	gpc_auto(gpc_aws_setup) struct gpc_aws_setup s = {0};
	int r = describe(p, wish, false, &s, err);

	if (r == 0)
		*ret_text = gpc_aws_setup_template(&s);
	return r;
}

static int check(struct gpc_provider *p, const struct gpc_setup_wish *wish,
	struct gpc_check_lines *ret, struct gpc_error *err)
{
	return gpc_aws_check(p, aws_of(p), wish->store_url, ret, err);
}

const struct gpc_setup_ops gpc_aws_setup_ops = {
	.look = look,
	.make = make,
	.look_back = look_back,
	.unmake = unmake,
	.export = export,
	.check = check,
};
