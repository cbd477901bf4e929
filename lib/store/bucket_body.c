/* What is to be sent, read by whoever computes something of it before. */
#include "store/bucket.h"

#include "base/encode.h"
#include "dep/crypto.h"

int gpc_bucket_bytes(const struct gpc_body *body, uint64_t at, void *part,
	size_t n, const void **ret_data, struct gpc_error *err)
{
	size_t done = 0;

	*ret_data = body->data ? (const char *)body->data + at : part;
	while (!body->data && done < n) {
		size_t k;
		int r = gpc_body_read(body, at + done, (char *)part + done,
			n - done, &k, err);

		if (r < 0)
			return r;
		done += k;
	}
	return 0;
}

int gpc_bucket_sum(const struct gpc_bucket_rules *rules,
	const struct gpc_body *body, struct gpc_sha256 *h, const atomic_bool *stop,
	uint64_t *ret_sum, struct gpc_error *err)
{
	char part[65536];
	uint64_t sum = 0;

	for (uint64_t at = 0; at < body->size;) {
		size_t n = body->size - at < sizeof(part) ?
			(size_t)(body->size - at) : sizeof(part);
		const void *data;
		int r = gpc_bucket_bytes(body, at, part, n, &data, err);

		if (r < 0)
			return r;
		if (stop && atomic_load(stop))
			return gpc_fail(err, GPC_ECANCELED, "interrupted");
		sum = rules->sum(sum, data, n);
		if (h)
			gpc_sha256_add(h, data, n);
		at += n;
	}
	*ret_sum = sum;
	return 0;
}

bool gpc_bucket_read_sum(const char *text, size_t n, size_t n_sum,
	uint64_t *ret_sum)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	uint64_t sum = 0;

	if (gpc_unbase64(text, n, false, &b, NULL) < 0 || b.len != n_sum)
		return false;
	for (size_t i = 0; i < b.len; i++)
		sum = sum << 8 | (unsigned char)b.data[i];
	*ret_sum = sum;
	return true;
}

int gpc_bucket_add_md5(struct gpc_request *r, struct gpc_error *err)
{
	gpc_autoptr(gpc_md5) *h = NULL;
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	uint8_t sum[GPC_MD5_SIZE];
	char part[65536];

	if (gpc_md5_new(&h, NULL) < 0)
		return 0;
	for (uint64_t at = 0; at < r->body.size;) {
		size_t n = r->body.size - at < sizeof(part) ?
			(size_t)(r->body.size - at) : sizeof(part);
		const void *data;
		int q = gpc_bucket_bytes(&r->body, at, part, n, &data, err);

		if (q < 0)
			return q;
		gpc_md5_add(h, data, n);
		at += n;
	}
	gpc_md5_end(h, sum);
	gpc_base64(&text, sum, sizeof(sum));
	gpc_pairs_set(&r->headers, "content-md5", gpc_buf_str(&text));
	return 0;
}
