/* Keys come percent-encoded with + for a space (encoding-type=url), because XML
 * cannot carry every byte that a key may have; the token of the next page is plain
 * text. */
#include "store/s3_list.h"

#include <string.h>

#include "base/encode.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/xml.h"

void gpc_s3_page_clear(struct gpc_s3_page *p)
{
	free(p->token);
	memset(p, 0, sizeof(*p));
}

static int read_key(const char *text, bool encoded, size_t skip,
	struct gpc_object *o, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf key = {0};
	int r = 0;

	if (encoded)
		r = gpc_percent_decode(text, strlen(text), true, &key, err);
	else
		gpc_buf_adds(&key, text);
	if (r < 0)
		return r;
	if (key.len <= skip || key.len - skip >= sizeof(o->key))
		return 0;
	memcpy(o->key, key.data + skip, key.len - skip + 1);
	return 0;
}

static int read_object(const struct gpc_xml *x, bool encoded, size_t skip,
	struct gpc_object *o, struct gpc_error *err)
{
	int64_t size;
	int r = read_key(gpc_xml_text(x, "Key"), encoded, skip, o, err);

	if (r < 0)
		return r;
	if (gpc_parse_i64(gpc_xml_text(x, "Size"), 0, INT64_MAX, "Size", &size,
		NULL) < 0)
		return gpc_fail(err, GPC_EPROTO,
			"an object in a list has no size");
	o->size = (uint64_t)size;
	if (gpc_parse_rfc3339(gpc_xml_text(x, "LastModified"), &o->modified_ms,
		NULL) < 0)
		o->modified_ms = 0;
	return 0;
}

static int read_objects(const struct gpc_xml *root, size_t skip,
	int64_t now_ms, gpc_list_fn *fn, void *arg, struct gpc_s3_page *p,
	struct gpc_error *err)
{
	bool encoded = gpc_eq(gpc_xml_text(root, "EncodingType"), "url");
	const struct gpc_xml *x = gpc_xml_get(root, "Contents");

	for (; x && !p->stopped; x = gpc_xml_again(x)) {
		struct gpc_object o = { .now_ms = now_ms };
		int r = read_object(x, encoded, skip, &o, err);

		if (r < 0)
			return r;
		if (gpc_store_key_ok(o.key))
			p->stopped = fn(arg, &o) != 0;
	}
	return 0;
}

int gpc_s3_read_page(const char *xml, size_t n, size_t skip, int64_t now_ms,
	gpc_list_fn *fn, void *arg, struct gpc_s3_page *ret_p,
	struct gpc_error *err)
{
	gpc_auto(gpc_s3_page) struct gpc_s3_page p = {0};
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
	r = read_objects(root, skip, now_ms, fn, arg, &p, err);
	if (r < 0)
		return r;
	*ret_p = p;
	memset(&p, 0, sizeof(p));
	return 0;
}
