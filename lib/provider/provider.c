/* The registry of providers: meson's list of words becomes an X-list of ops
 * records, so adding one touches no code here. */
#include "provider/provider.h"

#include "base/str.h"

#define X(name) extern const struct gpc_provider_ops gpc_provider_##name;
#include "model/providers.inc"
#undef X

static const struct gpc_provider_ops *const all[] = {
#define X(name) &gpc_provider_##name,
#include "model/providers.inc"
#undef X
};
static const char *const names[] = {
#define X(name) #name,
#include "model/providers.inc"
#undef X
};
enum { N_ALL = sizeof(all) / sizeof(*all) };

const char *const *gpc_provider_names(size_t *ret_n)
{
	*ret_n = N_ALL;
	return names;
}

unsigned gpc_provider_caps(const char *name)
{
	for (size_t i = 0; i < N_ALL; i++) {
		if (gpc_eq(all[i]->name, name))
			return all[i]->caps;
	}
	return 0;
}

bool gpc_provider_is_callers(const char *name)
{
	return gpc_provider_caps(name) & GPC_PROVIDER_CALLERS;
}

static int unknown(const char *name, struct gpc_error *err)
{
	const char *near = gpc_nearest(name, names, N_ALL);
	gpc_auto(gpc_strv) struct gpc_strv known = {0};
	gpc_autostr *list = NULL;
	int r = gpc_fail(err, GPC_ENOTFOUND, "no provider is called \"%s\"", name);

	for (size_t i = 0; i < N_ALL; i++)
		gpc_strv_add(&known, names[i]);
	list = gpc_strv_join(&known, ", ");
	if (near)
		gpc_hint(err, "did you mean %s?", near);
	else
		gpc_hint(err, "known providers: %s", list);
	return r;
}

int gpc_provider_open(const char *name, const struct gpc_provider_context *ctx,
	struct gpc_provider **ret_p, struct gpc_error *err)
{
	for (size_t i = 0; i < N_ALL; i++) {
		struct gpc_provider *p;
		int r;

		if (!gpc_eq(all[i]->name, name))
			continue;
		p = gpc_alloc(sizeof(*p));
		p->ops = all[i];
		p->ctx = ctx;
		p->state = gpc_alloc(all[i]->state_size + 1);
		r = all[i]->open(p, err);
		if (r < 0) {
			free(p->state);
			free(p);
			return r;
		}
		*ret_p = p;
		return 0;
	}
	return unknown(name, err);
}

void gpc_provider_free(struct gpc_provider *p)
{
	if (!p)
		return;
	if (p->ops->close)
		p->ops->close(p);
	free(p->state);
	free(p);
}
