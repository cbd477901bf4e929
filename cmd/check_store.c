/* What the store lets us do, found by doing it: reading its name, putting an object
 * that nobody looks at, taking that away again, and the races that show whether
 * journals may live there. A store that was not made yet is only looked at where
 * that makes nothing: a folder that is not there stays so.
 */
#include "cmd/check_store.h"

#include <string.h>

#include "base/rand.h"
#include "core/session.h"
#include "store/store.h"

#define KEY_MAX 40
#define PROBES "probe/"                 /* what is put as a trial */
#define OLD_MS ((int64_t)60 * 60 * 1000)
enum { SWEPT_MOST = 1000 };

void gpc_check_failed(struct gpc_check_row *row, const struct gpc_error *why)
{
	const char *advice = gpc_error_advice(why);

	if (row->state == GPC_CHECK_FAILED)
		return;
	row->state = GPC_CHECK_FAILED;
	row->why = *why;
	gpc_set_str(&row->problem, why->msg);
	gpc_set_str(&row->hint, *advice ? advice : NULL);
}

void gpc_check_absent(struct gpc_check_row *row, const struct gpc_error *why)
{
	gpc_check_failed(row, why);
	row->state = GPC_CHECK_ABSENT;
	row->searched = gpc_steal(&row->problem);
}

/* A step of which the failure is told; the others are tried all the same. */
static void note(struct gpc_check_row *row, const char *word, int r,
	const struct gpc_error *why)
{
	if (r < 0)
		gpc_check_failed(row, why);
	else if (!gpc_strv_has(&row->may, word))
		gpc_strv_add(&row->may, word);
}

static int read_back(struct gpc_store *s, const char *key, const char *text,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int r = gpc_store_get(s, key, strlen(text) + 1, &b, err);

	if (!r && strcmp(gpc_buf_str(&b), text) != 0)
		r = gpc_fail(err, GPC_EPROTO, "%s: what was just put reads "
			"back as something else", s->url);
	return r;
}

struct search { const char *key; bool found; };

static int compare(void *arg, const struct gpc_object *o)
{
	struct search *x = arg;

	x->found = gpc_eq(o->key, x->key);
	return x->found;
}

static int find(struct gpc_store *s, const char *key, struct gpc_error *err)
{
	struct search x = { .key = key };
	int r = gpc_store_list(s, key, NULL, compare, &x, err);

	if (!r && !x.found)
		r = gpc_fail(err, GPC_EPROTO, "%s: what was just put is not "
			"in its list", s->url);
	return r;
}

static int ignore(void *arg, const struct gpc_object *o)
{
	(void)arg;
	(void)o;
	return 1;
}

/* What may be done all the same where nothing can be put: that something is not there
 * is an answer. */
static void try_reads(struct gpc_store *s, const char *key, struct gpc_check_row *row)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error why = {0};
	int r = s->id[0] ? 0 : gpc_store_get(s, key, 1, &b, &why);

	note(row, "read", r == -GPC_ENOTFOUND ? 0 : r, &why);
	note(row, "list", gpc_store_list(s, PROBES, NULL, ignore, NULL, &why), &why);
}

/* Put, read back, found in a list, deleted. */
static void try_writes(struct gpc_store *s, struct gpc_check_row *row)
{
	struct gpc_error why = {0};
	char key[KEY_MAX] = PROBES, text[25];
	int r;

	gpc_rand_base32(key + strlen(key), 20);
	gpc_rand_base32(text, 24);
	r = gpc_store_put(s, key, text, strlen(text), 0, &why);
	note(row, "write", gpc_wrap(&why, r, "it cannot be written"), &why);
	if (r < 0) {
		try_reads(s, key, row);
		return;
	}
	note(row, "read", read_back(s, key, text, &why), &why);
	note(row, "list", find(s, key, &why), &why);
	r = gpc_store_del(s, key, &why);
	if (r < 0)
		gpc_hint(&why, "%s%sthe object stays until a check by somebody who may "
			"delete, an hour later or more", why.hint, *why.hint ? "; " :
			"");
	note(row, "delete", gpc_wrap(&why, r, "%s cannot be deleted again",
		key), &why);
}

static int note_old(void *arg, const struct gpc_object *o)
{
	struct gpc_strv *old = arg;

	if (o->modified_ms && o->now_ms - o->modified_ms > OLD_MS)
		gpc_strv_add(old, o->key);
	return old->n == SWEPT_MOST;
}

/* What an earlier check, or the making of the store, could not take away. Others may be
 * at it just now: only what is old goes. */
static void sweep(struct gpc_store *s)
{
	gpc_auto(gpc_strv) struct gpc_strv old = {0};
	struct gpc_error why;

	if (gpc_store_list(s, PROBES, NULL, note_old, &old, &why) == 0)
		for (size_t i = 0; i < old.n; i++)
			if (gpc_store_del(s, old.v[i], &why) == 0)
				gpc_log(s->log, GPC_VERBOSE, "deleted %s, which an "
					"earlier check has left", old.v[i]);
}

static void try_journal(struct gpc_store *s, struct gpc_check_row *row)
{
	struct gpc_error why = {0};
	bool capable = false;

	if (gpc_store_probe(s, &capable, &why) < 0)
		gpc_check_failed(row, &why);
	else if (capable)
		gpc_strv_add(&row->may, "journal");
	else if (gpc_session_holds_data_only(s, &why) < 0)
		gpc_check_failed(row, &why);
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
	if (r == -GPC_EAUTH && gpc_store_list(s, PROBES, NULL, ignore, NULL, NULL) == 0)
		gpc_strv_add(&row->may, "list");
	if (!r)
		gpc_set_str(&row->identity, s->id);
	if (row->state == GPC_CHECK_OK && gpc_store_of_nodes(s) != s)
		try_writes(gpc_store_of_nodes(s), row);
	if (row->state == GPC_CHECK_OK)
		try_writes(s, row);
	if (row->state == GPC_CHECK_OK)
		try_journal(s, row);
	if (row->state == GPC_CHECK_OK)
		sweep(s);
}
