/* What the store lets us do, found by doing it: reading its name, putting an object
 * that nobody looks at, taking that away again, and the races that show whether
 * journals may live there. A store that was not made yet is only looked at where
 * that makes nothing: a folder that is not there stays so.
 */
#include "cmd/check_store.h"

#include <string.h>

#include "base/rand.h"
#include "store/store.h"

#define KEY_MAX 40

void gpc_check_failed(struct gpc_check_row *row, const struct gpc_error *why)
{
	if (row->state == GPC_CHECK_FAILED)
		return;
	row->state = GPC_CHECK_FAILED;
	row->why = *why;
	gpc_set_str(&row->problem, why->msg);
	gpc_set_str(&row->hint, why->hint[0] ? why->hint : NULL);
}

void gpc_check_absent(struct gpc_check_row *row, const struct gpc_error *why)
{
	gpc_check_failed(row, why);
	row->state = GPC_CHECK_ABSENT;
	row->searched = gpc_steal(&row->problem);
}

/* Put, read back, deleted. */
static void try_writes(struct gpc_store *s, struct gpc_check_row *row)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error why = {0};
	char key[KEY_MAX] = "probe/", text[25];
	int r;

	gpc_rand_base32(key + strlen(key), 20);
	gpc_rand_base32(text, 24);
	if (gpc_store_put(s, key, text, strlen(text), 0, &why) < 0) {
		gpc_wrap(&why, -(int)why.code, "it cannot be written");
		gpc_check_failed(row, &why);
		return;
	}
	r = gpc_store_get(s, key, sizeof(text), &b, &why);
	if (!r && strcmp(gpc_buf_str(&b), text) != 0)
		r = gpc_fail(&why, GPC_EPROTO, "%s: what was just put reads "
			"back as something else", s->url);
	if (r)
		gpc_check_failed(row, &why);
	else
		gpc_strv_add(&row->may, "read");
	gpc_strv_add(&row->may, "write");
	if (gpc_store_del(s, key, &why) < 0) {
		gpc_wrap(&why, -(int)why.code, "%s cannot be deleted again",
			key);
		gpc_check_failed(row, &why);
	} else {
		gpc_strv_add(&row->may, "delete");
	}
}

static void try_journal(struct gpc_store *s, struct gpc_check_row *row)
{
	struct gpc_error why = {0};
	bool capable = false;

	if (gpc_store_probe(s, &capable, &why) < 0)
		gpc_check_failed(row, &why);
	else if (capable)
		gpc_strv_add(&row->may, "journal");
}

void gpc_check_store(struct gpc_cmd *c, struct gpc_check_row *row)
{
	gpc_autoptr(gpc_store) *s = NULL;
	struct gpc_error why = {0};
	int r = gpc_store_open(c->store_url, 0, &c->log, &s, &why);

	gpc_set_str(&row->source, c->store_url);
	if (r == -GPC_ENOTFOUND) {
		if (!why.hint[0])
			gpc_hint(&why, "the first `gpucloud submit` makes it");
		gpc_check_absent(row, &why);
		return;
	}
	if (r) {
		gpc_check_failed(row, &why);
		return;
	}
	s->cancel = c->cancel;
	s->ca_file = c->ca_file;
	/* One without a name is a store to be. */
	r = gpc_store_identify(s, 0, &why);
	if (r && r != -GPC_ENOTFOUND)
		gpc_check_failed(row, &why);
	else if (!r)
		gpc_set_str(&row->identity, s->id);
	if (row->state == GPC_CHECK_OK)
		try_writes(s, row);
	if (row->state == GPC_CHECK_OK)
		try_journal(s, row);
}
