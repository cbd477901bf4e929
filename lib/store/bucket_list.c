/* Pages of lists, and what asks for them. In XML keys come percent-encoded with + for a space
 * (encoding-type=url), because XML cannot carry every byte that a key may have. */
#include "store/bucket_list.h"

#include <string.h>

#include "base/encode.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/xml.h"
#include "store/objects_task.h"

void gpc_bucket_page_clear(struct gpc_bucket_page *p)
{
	free(p->token);
	free(p->last);
	gpc_strv_clear(&p->prefixes);
	memset(p, 0, sizeof(*p));
}

/* Whoever asked takes the rest of a key for granted. */
static int fail_outside(const struct gpc_bucket_listing *l, const char *key, size_t n,
	struct gpc_error *err)
{
	gpc_autostr *shown = gpc_str_printable(key, n);

	return gpc_fail(err, GPC_EPROTO, "the list has \"%.200s\", which was not asked "
		"for: it does not begin with \"%.200s\"", shown, l->prefix);
}

/* One entry, in the order of keys. i is NULL for a common prefix. */
static int give(struct gpc_bucket_page *p, const struct gpc_bucket_listing *l,
	const char *key, size_t n, const struct gpc_object_info *i,
	struct gpc_error *err)
{
	/* a page that begins behind a common prefix may name it again */
	bool again = !i && gpc_eq(key, l->before);
	struct gpc_object o = {0};
	int r;

	if (l->prefix && !gpc_starts_with(key, l->prefix))
		return fail_outside(l, key, n, err);
	free(p->last);
	p->last = gpc_strndup(key, n);
	if (l->each) {
		if (again || (l->after && strcmp(key, l->after) <= 0))
			return 0;
		r = l->each(l->arg, key, i);
		p->stopped = r != 0;
		return r == GPC_LIST_NO_MEMORY ? gpc_fail_memory(err,
			"the list of objects") : 0;
	}
	if (!i || n <= l->skip || n - l->skip >= sizeof(o.key))
		return 0;
	memcpy(o.key, key + l->skip, n - l->skip + 1);
	o.size = i->size;
	o.modified_ms = i->modified_ms;
	o.now_ms = l->now_ms;
	if (l->after && strcmp(o.key, l->after) <= 0)
		return 0;
	if (gpc_store_key_ok(o.key))
		p->stopped = l->fn(l->arg, &o) != 0;
	return 0;
}

/* The common prefixes before a key, or all for NULL. */
static int give_prefixes(struct gpc_bucket_page *p,
	const struct gpc_bucket_listing *l, const char *key,
	struct gpc_error *err)
{
	int r = 0;

	while (r == 0 && !p->stopped && p->n_given < p->prefixes.n) {
		const char *prefix = p->prefixes.v[p->n_given];

		if (key && strcmp(prefix, key) > 0)
			break;
		p->n_given++;
		r = give(p, l, prefix, strlen(prefix), NULL, err);
	}
	return r;
}

int gpc_bucket_page_add(struct gpc_bucket_page *p,
	const struct gpc_bucket_listing *l, const char *key, size_t n,
	const struct gpc_object_info *i, struct gpc_error *err)
{
	int r = give_prefixes(p, l, key, err);

	return r < 0 || p->stopped ? r : give(p, l, key, n, i, err);
}

int gpc_bucket_page_end(struct gpc_bucket_page *p,
	const struct gpc_bucket_listing *l, struct gpc_error *err)
{
	return p->stopped ? 0 : give_prefixes(p, l, NULL, err);
}

/* --- XML ---------------------------------------------------------------------- */

static int read_key(const char *text, bool encoded, struct gpc_buf *to,
	struct gpc_error *err)
{
	if (encoded)
		return gpc_percent_decode(text, strlen(text), true, to, err);
	gpc_buf_adds(to, text);
	return 0;
}

static int read_object(const struct gpc_xml *x, bool encoded,
	const struct gpc_bucket_listing *l, struct gpc_bucket_page *p,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf key = {0};
	struct gpc_object_info i = { .now_ms = l->now_ms };
	const char *etag = gpc_xml_text(x, "ETag");
	const char *storage_class = gpc_xml_text(x, "StorageClass");
	int64_t size;
	int r = read_key(gpc_xml_text(x, "Key"), encoded, &key, err);

	if (r < 0)
		return r;
	if (gpc_parse_i64(gpc_xml_text(x, "Size"), 0, INT64_MAX, "Size", &size,
		NULL) < 0)
		return gpc_fail(err, GPC_EPROTO,
			"an object in a list has no size");
	i.size = (uint64_t)size;
	if (gpc_parse_rfc3339(gpc_xml_text(x, "LastModified"), &i.modified_ms,
		NULL) < 0)
		i.modified_ms = 0;
	i.version = *etag ? etag : NULL;
	i.storage_class = *storage_class ? storage_class : NULL;
	return gpc_bucket_page_add(p, l, gpc_buf_str(&key), key.len, &i, err);
}

static int read_prefixes(const struct gpc_xml *root, bool encoded,
	struct gpc_bucket_page *p, struct gpc_error *err)
{
	const struct gpc_xml *x = gpc_xml_get(root, "CommonPrefixes");
	int r = 0;

	for (; r == 0 && x; x = gpc_xml_again(x)) {
		gpc_auto(gpc_buf) struct gpc_buf key = {0};

		r = read_key(gpc_xml_text(x, "Prefix"), encoded, &key, err);
		if (r == 0 && !gpc_strv_try_add(&p->prefixes, gpc_buf_str(&key)))
			r = gpc_fail_memory(err, "the list of objects");
	}
	return r;
}

static int read_objects(const struct gpc_xml *root,
	const struct gpc_bucket_listing *l, struct gpc_bucket_page *p,
	struct gpc_error *err)
{
	bool encoded = gpc_eq(gpc_xml_text(root, "EncodingType"), "url");
	const struct gpc_xml *x = gpc_xml_get(root, "Contents");
	int r = read_prefixes(root, encoded, p, err);

	for (; r == 0 && x && !p->stopped; x = gpc_xml_again(x))
		r = read_object(x, encoded, l, p, err);
	return r < 0 ? r : gpc_bucket_page_end(p, l, err);
}

int gpc_bucket_read_xml(const char *xml, size_t n,
	const struct gpc_bucket_listing *l, struct gpc_bucket_page *ret_p,
	struct gpc_error *err)
{
	gpc_auto(gpc_bucket_page) struct gpc_bucket_page p = {0};
	gpc_autoptr(gpc_xml) *root = NULL;
	const char *truncated;
	int r = gpc_xml_parse(xml, n, &root, err);

	if (r < 0)
		return r;
	if (!gpc_eq(root->name, "ListBucketResult"))
		return gpc_fail(err, GPC_EPROTO,
			"expected a ListBucketResult, not <%.40s>", root->name);
	truncated = gpc_xml_text(root, "IsTruncated");
	p.more = gpc_eq(truncated, "true");
	if (!p.more && !gpc_eq(truncated, "false"))
		return gpc_fail(err, GPC_EPROTO,
			"a list does not say whether it is all");
	p.token = gpc_strdup(gpc_xml_text(root, "NextContinuationToken"));
	if (p.more && !*p.token)
		return gpc_fail(err, GPC_EPROTO,
			"a list says that it goes on, but not where");
	r = read_objects(root, l, &p, err);
	if (r < 0)
		return r;
	*ret_p = p;
	memset(&p, 0, sizeof(p));
	return 0;
}

/* --- whole lists ---------------------------------------------------------------- */

int gpc_bucket_list(struct gpc_store *s, const char *prefix, const char *after,
	gpc_list_fn *fn, void *arg, struct gpc_error *err)
{
	struct gpc_bucket *b = s->state;
	const char *root = b->address.prefix;
	gpc_autostr *whole = gpc_format("%s%s", root, prefix);
	gpc_autostr *from = after ? gpc_format("%s%s", root, after) : NULL;
	gpc_auto(gpc_bucket_page) struct gpc_bucket_page page = {
		.prefix = whole, .after = from };
	struct gpc_bucket_listing l = { .prefix = whole, .skip = strlen(root),
		.after = after, .fn = fn, .arg = arg };

	return gpc_bucket_walk(b, &l, &page, err);
}

int gpc_objects_list(struct gpc_objects *o, const char *prefix, const char *after,
	const char *delimiter, gpc_objects_fn *fn, void *arg, struct gpc_error *err)
{
	gpc_auto(gpc_bucket_page) struct gpc_bucket_page page = {
		.prefix = prefix ? prefix : "", .delimiter = delimiter,
		.after = after && *after ? after : NULL, .all = true };
	struct gpc_bucket_listing l = { .prefix = page.prefix,
		.after = page.after, .each = fn, .arg = arg };

	return gpc_bucket_walk(o->bucket, &l, &page, err);
}

struct first {
	const char *prefix;
	bool any, is_one;
	struct gpc_object_info info;
};

/* What is exactly the prefix comes before all that is longer. */
static int stop_at_first(void *arg, const char *key,
	const struct gpc_object_info *info)
{
	struct first *f = arg;

	f->any = true;
	f->is_one = gpc_eq(key, f->prefix);
	f->info = *info;
	f->info.version = f->info.storage_class = NULL;
	return 1;
}

int gpc_objects_first(struct gpc_objects *o, const char *prefix, bool *ret_any,
	bool *ret_is_one, struct gpc_object_info *ret_i, struct gpc_error *err)
{
	struct first f = { .prefix = prefix };
	int r = gpc_objects_list(o, prefix, NULL, NULL, stop_at_first, &f, err);

	if (r < 0)
		return r;
	*ret_any = f.any;
	*ret_is_one = f.is_one;
	if (f.is_one && ret_i)
		*ret_i = f.info;
	return 0;
}
