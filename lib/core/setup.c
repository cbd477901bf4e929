/* Services of identity show for a while what was there before: what needs a thing that
 * was made a moment ago is tried again, and a setup is over when it is seen. */
#include "core/setup.h"

#include "base/time.h"

#define YOUNG_MS 60000
#define STEP_MS 500

static int pause_unless(const struct gpc_setup_work *w, int64_t until_ms, int r,
	struct gpc_error *err)
{
	if (gpc_canceled(w->cancel))
		return gpc_fail(err, GPC_ECANCELED, "interrupted; the same command "
			"goes on from here");
	if (gpc_boot_ms() >= until_ms)
		return r;
	gpc_sleep_ms(STEP_MS);
	return 0;
}

static int make_one(const struct gpc_setup_work *w,
	const struct gpc_setup_item *item, struct gpc_error *err)
{
	int64_t until = gpc_boot_ms() + YOUNG_MS;
	int r;

	for (;;) {
		r = w->p->ops->setup->make(w->p, w->wish, item, err);
		if (r != -GPC_ENOTFOUND)
			return r;
		r = pause_unless(w, until, r, err);
		if (r < 0)
			return r;
	}
}

/* ret_item: the first that is not seen yet; owned by items. */
static int look(const struct gpc_setup_work *w, struct gpc_setup_items *items,
	const struct gpc_setup_item **ret_item, struct gpc_error *err)
{
	int r = w->p->ops->setup->look(w->p, w->wish, items, err);

	*ret_item = NULL;
	gpc_vec_each(i, items)
		if (r == 0 && !*ret_item && i->state != GPC_SETUP_THERE)
			*ret_item = i;
	return r;
}

static int wait_until_seen(const struct gpc_setup_work *w, struct gpc_error *err)
{
	int64_t until = gpc_boot_ms() + YOUNG_MS;

	for (;;) {
		gpc_auto(gpc_setup_items) struct gpc_setup_items now = {0};
		const struct gpc_setup_item *missing;
		int r = look(w, &now, &missing, err);

		if (r < 0 || !missing)
			return r;
		r = gpc_fail(err, GPC_ETIMEOUT, "%s %s was made, and is not as it "
			"shall be", missing->kind, missing->name);
		r = pause_unless(w, until, r, err);
		if (r < 0)
			return r;
	}
}

int gpc_setup_make(const struct gpc_setup_work *w,
	const struct gpc_setup_items *items, struct gpc_error *err)
{
	bool any = false;

	gpc_vec_each(i, items) {
		struct gpc_error why = {0};
		int r;

		if (i->state == GPC_SETUP_THERE)
			continue;
		any = true;
		w->tell(w->arg, i, 1, NULL);
		r = make_one(w, i, &why);
		w->tell(w->arg, i, r, &why);
		if (r < 0) {
			if (err)
				*err = why;
			return gpc_wrap(err, r, "%s %s", i->kind, i->name);
		}
	}
	return any ? wait_until_seen(w, err) : 0;
}

int gpc_setup_unmake(const struct gpc_setup_work *w,
	const struct gpc_setup_items *items, struct gpc_error *err)
{
	gpc_vec_each(i, items) {
		struct gpc_error why = {0};
		int r;

		if (i->state == GPC_SETUP_KEPT)
			continue;
		w->tell(w->arg, i, 1, NULL);
		r = w->p->ops->setup->unmake(w->p, w->wish, i, &why);
		w->tell(w->arg, i, r, &why);
		if (r < 0) {
			if (err)
				*err = why;
			return gpc_wrap(err, r, "%s %s", i->kind, i->name);
		}
	}
	return 0;
}

int gpc_setup_may_unmake(struct gpc_provider *p, struct gpc_error *err)
{
	gpc_auto(gpc_instances) struct gpc_instances held = {0};
	int r = p->ops->list(p, &held, err);
	size_t n = 0;
	const char *first = NULL;

	gpc_vec_each(i, &held) {
		if (i->state == GPC_INSTANCE_GONE)
			continue;
		n++;
		first = first ? first : i->id;
	}
	if (r < 0 || !n)
		return r;
	r = gpc_fail(err, GPC_ECONFLICT, "%zu node%s of this store %s held (%s), "
		"which %s what setup made to save work and to end", n,
		n == 1 ? "" : "s", n == 1 ? "is" : "are", first,
		n == 1 ? "needs" : "need");
	gpc_hint(err, "`gpucloud release --all` ends them");
	return r;
}
