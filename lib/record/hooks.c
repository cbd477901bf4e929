/* See hooks.h. */
#include "record/hooks.h"

#include <string.h>

#include "base/str.h"
#include "base/vec.h"
#include "dep/json.h"
#include "model/hook.h"
#include "net/url.h"
#include "record/keys.h"
#include "record/secrets.h"

#define VERSION 1
#define HOOK_MAX ((size_t)16 << 10)
#define FOLDER "secrets/"

static int put_one(struct gpc_store *s, const char *job, const char *url,
	struct gpc_error *err)
{
	gpc_auto(gpc_url) struct gpc_url u = {0};
	gpc_autoptr(gpc_json) *j = gpc_json_object();
	gpc_autostr *text = NULL, *shown = gpc_hook_shown(url);
	char hash[GPC_HOOK_HASH_SIZE];
	gpc_key key;

	/* What it says is not repeated. */
	if (gpc_hook_fault(url) || gpc_url_parse(url, &u, NULL) < 0)
		return gpc_fail(err, GPC_ECONFIG, "notify: the address %s is no "
			"URL", shown);
	gpc_json_set_int(j, "v", VERSION);
	gpc_json_set_str(j, "url", url);
	text = gpc_json_print(j);
	gpc_key_hook(key, job, gpc_hook_hash(url, hash));
	return gpc_wrap(err, gpc_secrets_put_text(s, key, text, err),
		"notify: the address %s", shown);
}

int gpc_hooks_put(struct gpc_store *s, const char *job,
	const struct gpc_spec_notify *list, struct gpc_error *err)
{
	int r = 0;

	gpc_vec_each(x, list)
		if (r == 0 && x->url && !gpc_hook_is_short(x->url))
			r = put_one(s, job, x->url, err);
	return r;
}

int gpc_hook_get(struct gpc_store *s, const char *job, const char *brief,
	char **ret_url, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	char hash[GPC_HOOK_HASH_SIZE];
	const char *url;
	gpc_key key;
	int r = gpc_store_get(s, gpc_key_hook(key, job, gpc_hook_hash(brief,
		hash)), HOOK_MAX, &b, err);

	if (r == 0)
		r = gpc_json_parse(gpc_buf_str(&b), b.len, &j, err);
	gpc_secrets_wipe(b.data, b.cap);
	if (r < 0)
		return r;
	if (gpc_json_get_int(j, "v", 0) != VERSION)
		return gpc_fail(err, GPC_EUNSUPPORTED,
			"written by another version of gpucloud");
	url = gpc_json_get_str(j, "url");
	if (!url || gpc_hook_is_short(url) || gpc_hook_fault(url))
		return gpc_fail(err, GPC_EPROTO, "what is kept is no address");
	*ret_url = gpc_strdup(url);
	return 0;
}

static int note(void *arg, const struct gpc_object *o)
{
	return gpc_strv_try_add(arg, o->key) ? 0 : GPC_LIST_NO_MEMORY;
}

int gpc_hooks_drop(struct gpc_store *s, const char *job, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};
	gpc_key prefix;
	int r = gpc_store_list(s, gpc_key_hook(prefix, job, NULL), NULL, note,
		&keys, err);

	for (size_t i = 0; r == 0 && i < keys.n; i++)
		r = gpc_secrets_drop(s, keys.v[i], err);
	return r;
}

char *gpc_hook_job(const char *key)
{
	const char *end = strstr(key, GPC_KEY_HOOK);

	if (!end || !gpc_starts_with(key, FOLDER))
		return NULL;
	key += strlen(FOLDER);
	return end > key ? gpc_strndup(key, (size_t)(end - key)) : NULL;
}
