/* `config set` and `config unset`: one value, checked first, written in place.
 */
#include <string.h>

#include "cmd/config_load.h"
#include "cmd/config_options.h"
#include "cmd/config_trust.h"
#include "cmd/config_verbs.h"
#include "model/config_edit.h"
#include "store/store.h"

enum { MAX_TRIES = 50 };

struct key {
	int index;                     /* in the table, or -1 */
	struct gpc_config_extra extra;
	bool guarded;
};

static int find_key(const char *name, struct key *ret_key,
	struct gpc_error *err)
{
	struct gpc_config c = {.extension = &gpc_config_options};
	struct key k = {.index = gpc_config_find(name)};

	if (k.index >= 0)
		k.guarded = gpc_config_fields[k.index].user_only;
	else if (!gpc_config_options.find(name, &k.extra))
		return gpc_config_unknown(&c, "config set", name, err);
	else
		k.guarded = k.extra.guarded;
	*ret_key = k;
	return 0;
}

static int check_place(const struct gpc_cmd *c, const char *name,
	const struct key *k, struct gpc_error *err)
{
	const struct gpc_config_cli *o = c->ctx;
	int r;

	if (o->project && c->global.profile)
		return gpc_fail(err, GPC_EUSAGE, "--project and --profile "
			"exclude each other: a project's file has no profiles");
	if (!o->project || !k->guarded)
		return 0;
	r = gpc_fail(err, GPC_ECONFIG, "a project's file may not set %s unless "
		"its readers trust it", name);
	gpc_hint(err, "leave --project out; or write it by `gpucloud config edit "
		"--project`, and `gpucloud config trust` it");
	return r;
}

/* What no command could use. Nothing is asked of the store itself. */
static int check_store(const char *url, struct gpc_error *err)
{
	gpc_autoptr(gpc_store) *s = NULL;
	struct gpc_error why = {0};
	int r = gpc_store_open(url, 0, NULL, &s, &why);

	if (r != -GPC_ECONFIG && r != -GPC_EUSAGE)
		return 0;
	*err = why;
	return gpc_wrap(err, r, "config set: store");
}

static int check_values(const char *name, const struct key *k,
	const struct gpc_strv *items, struct gpc_error *err)
{
	int r = 0;

	if (items->n != 1 && !k->extra.list)
		return gpc_fail(err, GPC_EUSAGE, "%s takes one value, not %zu",
			name, items->n);
	for (size_t i = 0; i < items->n && !r; i++) {
		/* the file is YAML, which holds nothing else */
		if (!gpc_utf8_valid(items->v[i], strlen(items->v[i])))
			r = gpc_fail(err, GPC_ECONFIG, "config set: %s: \"%s\" is "
				"not UTF-8", name, items->v[i]);
	}
	for (size_t i = 0; i < items->n && !r; i++)
		r = k->index >= 0 ? gpc_config_check(
			(enum gpc_config_key)k->index, items->v[i],
			"config set", err) :
			gpc_config_options.check(&k->extra, items->v[i], name,
				err);
	if (!r && k->index == GPC_CONFIG_STORE)
		r = check_store(items->v[0], err);
	return r;
}

/* A file that was trusted stays so when it is us who change it. */
static void renew_trust(struct gpc_cmd *c, const struct gpc_config_file *f,
	const struct gpc_buf *text)
{
	const struct gpc_config_cli *o = c->ctx;
	struct gpc_error why = {0};

	if (!o->project ||
		!gpc_trust_holds(f->shown, f->text.data, f->text.len))
		return;
	if (gpc_trust_set(f->shown, gpc_buf_str(text), text->len, &why))
		gpc_log(&c->log, GPC_WARN, "%s is not trusted any more: %s",
			f->shown, why.msg);
}

/* Somebody who sets a key wonders when nothing happens. */
static void say_hidden(struct gpc_cmd *c, const char *name,
	const struct key *k)
{
	const struct gpc_config_cli *o = c->ctx;
	const struct gpc_config_more *m = gpc_config_find_more(&c->config, name);
	enum gpc_config_origin mine = o->project ? GPC_FROM_PROJECT :
		c->global.profile ? GPC_FROM_PROFILE : GPC_FROM_USER;
	enum gpc_config_origin origin = m ? m->origin : GPC_FROM_DEFAULT;
	const char *where = m ? m->where : "";

	if (k->index >= 0) {
		origin = gpc_config_origin(&c->config,
			(enum gpc_config_key)k->index);
		where = gpc_config_where(&c->config,
			(enum gpc_config_key)k->index);
	}
	if (origin > mine)
		gpc_log(&c->log, GPC_WARN, "%s: another value holds here, from "
			"%s", name, where);
}

static int change_once(struct gpc_cmd *c,
	const struct gpc_config_change *change, struct gpc_error *err)
{
	const struct gpc_config_cli *o = c->ctx;
	gpc_auto(gpc_config_file) struct gpc_config_file f = {0};
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	struct gpc_error why = {0};
	int r = gpc_config_file_read(o->project, &f, err);

	if (!r)
		r = gpc_config_edit(gpc_buf_str(&f.text), f.text.len, f.shown,
			change, &text, err);
	if (r)
		return r;
	gpc_buf_str(&text);
	/* what was wrong before does not stand in the way of mending it */
	if (gpc_config_file_check(&f, o->project, gpc_buf_str(&text), text.len,
		&why)) {
		if (!gpc_config_file_check(&f, o->project,
			gpc_buf_str(&f.text), f.text.len, NULL)) {
			*err = why;
			return -(int)why.code;
		}
		gpc_log(&c->log, GPC_WARN, "%s", why.msg);
	}
	r = gpc_config_file_write(&f, gpc_buf_str(&text), text.len, err);
	if (r)
		return r;
	renew_trust(c, &f, &text);
	return 0;
}

/* Of several at once one succeeds each time; the others begin again. */
static int change(struct gpc_cmd *c, const struct gpc_config_change *change,
	struct gpc_error *err)
{
	int r = -GPC_ECONFLICT;

	for (int i = 0; i < MAX_TRIES && r == -GPC_ECONFLICT; i++)
		r = change_once(c, change, err);
	return r;
}

int gpc_config_set_verb(struct gpc_cmd *c, const char *const *argv, int argc,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv items = {0};
	struct key k;
	int r;

	for (int i = 1; i < argc; i++)
		gpc_strv_add(&items, argv[i]);
	r = find_key(argv[0], &k, err);
	if (!r)
		r = check_place(c, argv[0], &k, err);
	if (!r)
		r = check_values(argv[0], &k, &items, err);
	if (r)
		return r;
	const struct gpc_config_change set = {
		.profile = c->global.profile, .key = argv[0], .items = &items,
		.list = k.extra.list,
	};
	r = change(c, &set, err);
	if (!r)
		say_hidden(c, argv[0], &k);
	return r;
}

/* Any key, also one that is not known: it may be what is wrong. */
int gpc_config_unset_verb(struct gpc_cmd *c, const char *key,
	struct gpc_error *err)
{
	const struct gpc_config_cli *o = c->ctx;

	if (o->project && c->global.profile)
		return gpc_fail(err, GPC_EUSAGE, "--project and --profile "
			"exclude each other: a project's file has no profiles");
	return change(c, &(const struct gpc_config_change){
		.profile = c->global.profile, .key = key}, err);
}
