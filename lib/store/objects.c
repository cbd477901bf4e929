/* The bucket behind objects is that of a store without a prefix: what a service needs
 * is said once, in its store's rules. */
#include "store/objects.h"

#include <string.h>

#include "base/str.h"
#include "store/objects_task.h"

bool gpc_objects_is_url(const char *url)
{
	const struct gpc_store_ops *ops = strstr(url, "://") ?
		gpc_store_find(url) : NULL;

	return ops && ops->bucket;
}

static bool begins_option(const struct gpc_bucket_form *form, const char *text)
{
	for (const char *const *p = form->options; *p; p++)
		if (gpc_starts_with(text, *p) && text[strlen(*p)] == '=')
			return true;
	return false;
}

/* Where the options begin ("?..."), or the end. */
static const char *find_options(const struct gpc_bucket_form *form,
	const char *where)
{
	const char *p = strchr(where, '?');

	for (; p; p = strchr(p + 1, '?'))
		if (begins_option(form, p + 1))
			return p;
	return where + strlen(where);
}

/* A key may hold a `?`; what looks like a mistyped option is one all the same, but
 * worth a word. */
static void warn_like_option(const struct gpc_bucket_form *form, const char *where,
	const struct gpc_log *log)
{
	const char *p = strrchr(where, '?'), *near;
	gpc_autostr *name = NULL, *shown = NULL;
	size_t n = 0;

	if (!p || !p[strcspn(p, "=")])
		return;
	while (form->options[n])
		n++;
	name = gpc_strndup(p + 1, strcspn(p + 1, "="));
	near = gpc_nearest(name, form->options, n);
	shown = gpc_str_printable(p, strnlen(p, 60));
	if (near)
		gpc_log(log, GPC_WARN, "%s is a part of the key; was %s= meant?", shown,
			near);
}

int gpc_objects_open(const char *url, struct gpc_net *net,
	const struct gpc_log *log, const struct gpc_cancel *cancel,
	struct gpc_objects **ret_o, char **ret_key, struct gpc_error *err)
{
	gpc_autoptr(gpc_objects) *o = NULL;
	gpc_autostr *shown = gpc_str_printable(url, strlen(url)), *where = NULL;
	const char *rest, *options;
	size_t bucket;
	int r;

	if (!gpc_objects_is_url(url)) {
		r = gpc_fail(err, GPC_ECONFIG, "%.200s names no bucket", shown);
		gpc_hint(err, "it looks like s3://BUCKET/KEY, oss://BUCKET/KEY or "
			"gs://BUCKET/KEY");
		return r;
	}
	rest = strstr(url, "://") + 3;
	options = find_options(gpc_store_find(url)->bucket->form, rest);
	bucket = strcspn(rest, "/?");
	/* a `?` behind the bucket's name can only be meant as an option */
	if (rest[bucket] == '?')
		options = rest + bucket;
	else if (!*options)
		warn_like_option(gpc_store_find(url)->bucket->form, rest, log);
	where = gpc_format("%.*s%s", (int)bucket, rest, options);
	o = gpc_alloc(sizeof(*o));
	r = gpc_store_open_ops(gpc_store_find(url), where, 0, log, &o->store, err);
	if (r < 0)
		return r;
	o->store->cancel = cancel;
	o->bucket = o->store->state;
	o->bucket->net = net;
	o->bucket->net_is_lent = true;
	*ret_key = rest[bucket] == '/' ? gpc_strndup(rest + bucket + 1,
		(size_t)(options - rest) - bucket - 1) : gpc_strdup("");
	*ret_o = gpc_steal(&o);
	return 0;
}

void gpc_objects_free(struct gpc_objects *o)
{
	if (!o)
		return;
	gpc_store_free(o->store);
	free(o);
}

char *gpc_objects_name(const struct gpc_objects *o, const char *key)
{
	return gpc_format("%s://%s/%s", o->bucket->rules->form->scheme,
		o->bucket->address.bucket, key);
}

bool gpc_objects_sums(const struct gpc_objects *o)
{
	return o->bucket->rules->sum && o->bucket->rules->join;
}

uint64_t gpc_objects_sum(const struct gpc_objects *o, uint64_t sum,
	const void *data, size_t n)
{
	return o->bucket->rules->sum ? o->bucket->rules->sum(sum, data, n) : 0;
}

uint64_t gpc_objects_sum_join(const struct gpc_objects *o, uint64_t a, uint64_t b,
	uint64_t n_b)
{
	return o->bucket->rules->join ? o->bucket->rules->join(a, b, n_b) : 0;
}

/* --- at once ---------------------------------------------------------------- */

int gpc_objects_head(struct gpc_objects *o, const char *key,
	struct gpc_object_info *ret_i, char **keep, struct gpc_error *err)
{
	gpc_auto(gpc_objects_once) struct gpc_objects_once once = {0};
	int r = gpc_objects_once_init(&once, o->bucket, err);

	if (r == 0)
		r = gpc_objects_look(o, once.loop, key, gpc_objects_once_done,
			&once, err);
	r = gpc_objects_once_wait(&once, r, err);
	if (r < 0)
		return r;
	*ret_i = once.result.info;
	*keep = gpc_steal(&once.keep);
	return 0;
}
