/* Lists, page by page. In XML keys come percent-encoded with + for a space
 * (encoding-type=url), because XML cannot carry every byte that a key may have. */
#include "store/bucket_list.h"

#include <string.h>

#include "base/encode.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/xml.h"
#include "store/bucket.h"

#define PAGE_MAX_BYTES ((size_t)8 << 20)

void gpc_bucket_page_clear(struct gpc_bucket_page *p)
{
	free(p->token);
	free(p->last);
	memset(p, 0, sizeof(*p));
}

void gpc_bucket_page_add(struct gpc_bucket_page *p,
	const struct gpc_bucket_listing *l, const char *key, size_t n,
	struct gpc_object *o)
{
	free(p->last);
	p->last = gpc_strndup(key, n);
	if (n <= l->skip || n - l->skip >= sizeof(o->key))
		return;
	memcpy(o->key, key + l->skip, n - l->skip + 1);
	o->now_ms = l->now_ms;
	if (l->after && strcmp(o->key, l->after) <= 0)
		return;
	if (gpc_store_key_ok(o->key))
		p->stopped = l->fn(l->arg, o) != 0;
}

/* --- XML ---------------------------------------------------------------------- */

static int read_object(const struct gpc_xml *x, bool encoded,
	const struct gpc_bucket_listing *l, struct gpc_bucket_page *p,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf key = {0};
	const char *text = gpc_xml_text(x, "Key");
	struct gpc_object o = {0};
	int64_t size;
	int r = 0;

	if (encoded)
		r = gpc_percent_decode(text, strlen(text), true, &key, err);
	else
		gpc_buf_adds(&key, text);
	if (r < 0)
		return r;
	if (gpc_parse_i64(gpc_xml_text(x, "Size"), 0, INT64_MAX, "Size", &size,
		NULL) < 0)
		return gpc_fail(err, GPC_EPROTO,
			"an object in a list has no size");
	o.size = (uint64_t)size;
	if (gpc_parse_rfc3339(gpc_xml_text(x, "LastModified"), &o.modified_ms,
		NULL) < 0)
		o.modified_ms = 0;
	gpc_bucket_page_add(p, l, gpc_buf_str(&key), key.len, &o);
	return 0;
}

static int read_objects(const struct gpc_xml *root,
	const struct gpc_bucket_listing *l, struct gpc_bucket_page *p,
	struct gpc_error *err)
{
	bool encoded = gpc_eq(gpc_xml_text(root, "EncodingType"), "url");
	const struct gpc_xml *x = gpc_xml_get(root, "Contents");
	int r = 0;

	for (; r == 0 && x && !p->stopped; x = gpc_xml_again(x))
		r = read_object(x, encoded, l, p, err);
	return r;
}

int gpc_bucket_read_xml(const char *xml, size_t n,
	const struct gpc_bucket_listing *l, struct gpc_bucket_page *ret_p,
	struct gpc_error *err)
{
	gpc_auto(gpc_bucket_page) struct gpc_bucket_page p = {0};
	gpc_autoptr(gpc_xml) *root = NULL;
	int r = gpc_xml_parse(xml, n, &root, err);

	if (r < 0)
		return r;
	if (!gpc_eq(root->name, "ListBucketResult"))
		return gpc_fail(err, GPC_EPROTO,
			"expected a ListBucketResult, not <%.40s>", root->name);
	p.more = gpc_eq(gpc_xml_text(root, "IsTruncated"), "true");
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

/* Makes the page that was read that from which the next one is asked for. */
static int go_on(struct gpc_bucket_page *page, struct gpc_bucket_page *next,
	struct gpc_error *err)
{
	int r = 0;

	if (next->more && gpc_eq(next->token, page->token))
		r = gpc_fail(err, GPC_EPROTO, "the same page came twice");
	if (!next->last)
		next->last = gpc_steal(&page->last);
	next->prefix = page->prefix;
	next->after = page->after;
	gpc_bucket_page_clear(page);
	*page = *next;
	return r;
}

static int list_page(struct gpc_bucket *b, struct gpc_bucket_listing *l,
	struct gpc_bucket_page *page, struct gpc_error *err)
{
	gpc_auto(gpc_bucket_op) struct gpc_bucket_op op = {0};
	gpc_auto(gpc_reply) struct gpc_reply reply = {0};
	struct gpc_bucket_page next = {0};
	int r = gpc_bucket_op_init(&op, b, "GET", "listing objects", NULL, err);

	if (r < 0)
		return r;
	b->rules->asks_page(&op.request, page);
	op.max_body = PAGE_MAX_BYTES;
	r = gpc_bucket_send(&op, &reply, err);
	if (r < 0)
		return r;
	l->now_ms = reply.date_ms;
	r = b->rules->reads_page(gpc_buf_str(&reply.body), reply.body.len, l,
		&next, err);
	if (r == 0)
		r = go_on(page, &next, err);
	return gpc_wrap(err, r, "listing objects in bucket %s",
		b->address.bucket);
}

int gpc_bucket_list(struct gpc_store *s, const char *prefix, const char *after,
	gpc_list_fn *fn, void *arg, struct gpc_error *err)
{
	struct gpc_bucket *b = s->state;
	const char *root = b->address.prefix;
	gpc_autostr *whole = gpc_format("%s%s", root, prefix);
	gpc_autostr *from = after ? gpc_format("%s%s", root, after) : NULL;
	gpc_auto(gpc_bucket_page) struct gpc_bucket_page page = {
		.prefix = whole, .after = from };
	struct gpc_bucket_listing l = { .skip = strlen(root), .after = after,
		.fn = fn, .arg = arg };
	int r;

	do {
		r = list_page(b, &l, &page, err);
	} while (r == 0 && page.more && !page.stopped);
	return r;
}
