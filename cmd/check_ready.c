/* What jobs at a cloud rest on: permissions, profile, image, network, quotas, asked by
 * the provider itself. */
#include "cmd/check_store.h"

#include "cmd/session_open.h"
#include "provider/setup.h"

static const enum gpc_check_state as_row[] = {
	[GPC_LINE_GOOD] = GPC_CHECK_OK,
	[GPC_LINE_WARNING] = GPC_CHECK_WARNING,
	[GPC_LINE_MISSING] = GPC_CHECK_FAILED,
};

static void take(const char *provider, struct gpc_check_line *l,
	struct gpc_check_row *row)
{
	row->name = row->own_name = gpc_format("%s %s%s%s", provider, l->what,
		l->where ? " " : "", l->where ? l->where : "");
	row->found = gpc_steal(&l->found);
	if (l->state != GPC_LINE_GOOD)
		gpc_check_failed(row, &l->why);
	row->state = as_row[l->state];
}

void gpc_check_ready(struct gpc_cmd *c, const char *provider,
	struct gpc_check_rows *rows)
{
	gpc_auto(gpc_check_lines) struct gpc_check_lines lines = {0};
	gpc_autoptr(gpc_session) *s = NULL;
	gpc_autoptr(gpc_provider) *p = NULL;
	const struct gpc_setup_wish wish = { .store_url = c->store_url };
	struct gpc_provider_context ctx;
	struct gpc_error why = {0};
	int r;

	if (!gpc_provider_caps(provider))
		return;
	r = gpc_cmd_session(c, GPC_STORE_UNSEEN, &s, &why);
	if (r == 0)
		r = gpc_session_provider(s, provider, &ctx, &p, &why);
	if (r == 0 && p->ops->setup)
		r = p->ops->setup->check(p, &wish, &lines, &why);
	gpc_vec_each(l, &lines)
		take(provider, l, gpc_vec_push(rows));
	if (r < 0) {
		struct gpc_check_row *row = gpc_vec_push(rows);

		row->name = provider;
		gpc_check_failed(row, &why);
	}
}
