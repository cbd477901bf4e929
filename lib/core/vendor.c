/* See vendor.h. What a job's settings change in its provider keeps vendors apart. */
#include "core/vendor.h"

#include "base/str.h"
#include "base/time.h"

#define FAILED_MS 1000          /* jobs themselves come again after two seconds */

struct gpc_vendors *gpc_vendors_new(void)
{
	return gpc_alloc(sizeof(struct gpc_vendors));
}

static void vendor_free(struct gpc_vendor *v)
{
	gpc_provider_free(v->provider);
	gpc_instances_clear(&v->instances);
	free(v);
}

void gpc_vendors_free(struct gpc_vendors *v)
{
	if (!v)
		return;
	gpc_vec_each(x, &v->all)
		vendor_free(*x);
	gpc_vec_free(&v->all);
	free(v);
}

/* The other fields of a context are the session's, which all its jobs share. */
static bool serves(const struct gpc_vendor *v, const char *name,
	const struct gpc_session_options *o)
{
	const struct gpc_provider_context *ctx = &v->ctx;

	return gpc_eq(v->provider->ops->name, name) &&
		ctx->user_home == o->local_user_home &&
		ctx->price_per_hour.micros == o->local_price.micros &&
		gpc_eq(ctx->price_per_hour.currency, o->local_price.currency);
}

int gpc_session_vendor(struct gpc_session *s, const char *name,
	struct gpc_vendor **ret_v, struct gpc_error *err)
{
	struct gpc_vendor *v;
	int r;

	gpc_vec_each(x, &s->vendors->all) {
		if (serves(*x, name, &s->options)) {
			*ret_v = *x;
			return 0;
		}
	}
	/* On the heap: the provider keeps a pointer to its context. */
	v = gpc_alloc(sizeof(*v));
	r = gpc_session_provider(s, name, &v->ctx, &v->provider, err);
	if (r < 0) {
		free(v);
		return r;
	}
	*gpc_vec_push(&s->vendors->all) = v;
	*ret_v = v;
	return 0;
}

static int failed(struct gpc_vendor *v, int r, const struct gpc_error *why,
	struct gpc_error *err)
{
	v->failed_ms = gpc_boot_ms();
	v->why = *why;
	if (err)
		*err = *why;
	return r;
}

int gpc_vendor_list(struct gpc_vendor *v, int64_t max_age_ms, int64_t after,
	struct gpc_error *err)
{
	gpc_auto(gpc_instances) struct gpc_instances found = {0};
	struct gpc_instances old;
	struct gpc_error why = {0};
	int64_t now = gpc_boot_ms();
	int r;

	if (v->lists > after && v->lists && now - v->began_ms < max_age_ms)
		return 0;
	if (v->failed_ms && now - v->failed_ms < FAILED_MS) {
		if (err)
			*err = v->why;
		return -(int)v->why.code;
	}
	r = v->provider->ops->list(v->provider, &found, &why);
	if (r < 0) {
		r = gpc_wrap(&why, r, "list the nodes of %s",
			v->provider->ops->name);
		return failed(v, r, &why, err);
	}
	old = v->instances;
	v->instances = found;
	found = old;
	v->lists++;
	v->failed_ms = 0;
	v->began_ms = now;
	v->shown_ms = gpc_wall_ms();
	return 0;
}
