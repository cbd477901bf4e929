#include "provider_lab.h"

#include "base/path.h"
#include "base/proc.h"
#include "base/time.h"

struct lab *lab_new(const char *provider)
{
	struct lab *lab = gpc_alloc(sizeof(*lab));
	struct gpc_error err;

	lab->state_dir = scratch();
	lab->self_path = gpc_proc_self();
	lab->ctx = (struct gpc_provider_context){
		.log = &lab->log, .store_id = "store-one",
		.state_dir = lab->state_dir, .self_path = lab->self_path,
		.price_per_hour = { 250000, "USD" },
	};
	lab->other_ctx = lab->ctx;
	lab->other_ctx.store_id = "store-two";
	assert_ok(gpc_provider_open(provider, &lab->ctx, &lab->p, &err));
	assert_ok(gpc_provider_open(provider, &lab->other_ctx, &lab->other,
		&err));
	return lab;
}

static void end_all(struct gpc_provider *p)
{
	gpc_auto(gpc_instances) struct gpc_instances x = {0};
	struct gpc_error err;

	assert_ok(p->ops->list(p, &x, &err));
	gpc_vec_each(i, &x) {
		const char *id = i->id;

		assert_ok(p->ops->destroy(p, &id, 1, &err));
	}
}

void lab_free(struct lab *lab)
{
	struct gpc_error err;

	end_all(lab->p);
	end_all(lab->other);
	gpc_provider_free(lab->p);
	gpc_provider_free(lab->other);
	assert_ok(gpc_rmtree(lab->state_dir, &err));
	free(lab->state_dir);
	free(lab->self_path);
	free(lab);
}

/* The first offer that fits, moved into l. */
static void first_offer(struct gpc_provider *p, struct gpc_launch *l)
{
	gpc_auto(gpc_offers) struct gpc_offers offers = {0};
	struct gpc_ask ask = { .num_nodes = 1 };
	struct gpc_error err;

	assert_ok(p->ops->offers(p, &ask, &offers, &err));
	gpc_vec_each(o, &offers) {
		if (o->why_not)
			continue;
		l->offer = *o;
		*o = (struct gpc_offer){0};
		return;
	}
	fail_msg("nothing fits an empty ask");
}

void launch_fill(struct gpc_launch *l, struct gpc_provider *p,
	const char *token, int count)
{
	l->v = 1;
	l->token = gpc_strdup(token);
	l->job = gpc_strdup("job-abcdef");
	l->name = gpc_strdup("gpucloud-job-abcdef-1");
	l->attempt = 1;
	l->count = count;
	l->provider = gpc_strdup(p->ops->name);
	l->store_url = gpc_strdup("mem://conformance");
	first_offer(p, l);
	gpc_pairs_set(&l->tags, "gpucloud-store", p->ctx->store_id);
	gpc_pairs_set(&l->tags, "gpucloud-job", "job-abcdef");
	gpc_pairs_set(&l->tags, "gpucloud-owner", "0123456789abcdef");
	gpc_pairs_set(&l->tags, "gpucloud-expires", "0");
}

void complete(struct gpc_launch *l, struct gpc_provider *p)
{
	struct gpc_json *bundle = gpc_json_object();
	struct gpc_error err;

	if (!p->ops->prepare) {
		gpc_json_free(bundle);
		return;
	}
	gpc_json_set_str(bundle, "url", "http://127.0.0.1:1/bundle");
	gpc_json_set_str(bundle, "region", "us-east-1");
	gpc_json_set_str(bundle, "sha256", "00");
	if (!l->rest)
		l->rest = gpc_json_object();
	gpc_json_set(l->rest, "bundle", bundle);
	assert_ok(p->ops->prepare(p, l, &err));
}

void buy(struct gpc_provider *p, const char *token, int count,
	struct gpc_instances *ret)
{
	gpc_auto(gpc_launch) struct gpc_launch l = {0};
	struct gpc_error err;

	launch_fill(&l, p, token, count);
	complete(&l, p);
	assert_ok(p->ops->create(p, &l, ret, &err));
	assert_int_equal(ret->n, count);
}

const struct gpc_instance *find(const struct gpc_instances *x,
	const char *id)
{
	gpc_vec_each(i, x) {
		if (gpc_eq(i->id, id))
			return i;
	}
	return NULL;
}

bool runs(struct gpc_provider *p, const char *id)
{
	gpc_auto(gpc_instances) struct gpc_instances x = {0};
	struct gpc_error err;
	const struct gpc_instance *i;

	assert_ok(p->ops->list(p, &x, &err));
	i = find(&x, id);
	return i && i->state != GPC_INSTANCE_GONE;
}

bool ends(struct gpc_provider *p, const char *id)
{
	for (int i = 0; i < 600; i++) {
		if (!runs(p, id))
			return true;
		gpc_sleep_ms(100);
	}
	return false;
}

size_t count_running(struct gpc_provider *p)
{
	gpc_auto(gpc_instances) struct gpc_instances x = {0};
	struct gpc_error err;
	size_t n = 0;

	assert_ok(p->ops->list(p, &x, &err));
	gpc_vec_each(i, &x)
		n += i->state != GPC_INSTANCE_GONE;
	return n;
}
