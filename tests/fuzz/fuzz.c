/* See fuzz.h. */
#include "fuzz.h"

#include <stdio.h>

#include "dep/crypto.h"
#include "snapshot/snapshot.h"

void fuzz_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("broken promise: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	abort();
}

uint8_t fuzz_byte(struct fuzz_in *in)
{
	if (in->n == 0)
		return 0;
	in->n--;
	return *in->p++;
}

unsigned fuzz_below(struct fuzz_in *in, unsigned n)
{
	return fuzz_byte(in) % n;
}

int64_t fuzz_int(struct fuzz_in *in)
{
	static const int64_t edges[] = {INT64_MIN, INT64_MAX, INT32_MIN,
		INT32_MAX, -1, (int64_t)1 << 53, -((int64_t)1 << 53), 100000,
		UINT32_MAX, 1000000000000, -1000000000000};
	uint8_t b = fuzz_byte(in);

	if (b < 200)
		return b % 20;
	if (b < 240)
		return (int64_t)b << 8 | fuzz_byte(in);
	return edges[b % COUNT(edges)];
}

struct gpc_str fuzz_bytes(struct fuzz_in *in, size_t max)
{
	size_t n = fuzz_byte(in);
	struct gpc_str s;

	if (max > 255)
		n = n << 8 | fuzz_byte(in);
	n = n > max ? max : n;
	n = n > in->n ? in->n : n;
	s = (struct gpc_str){(const char *)in->p, n};
	in->p += n;
	in->n -= n;
	return s;
}

char *fuzz_text(struct fuzz_in *in, size_t max)
{
	struct gpc_str s = fuzz_bytes(in, max);

	return gpc_strndup(s.ptr, strnlen(s.ptr, s.len));
}

bool fuzz_part(struct fuzz_in *in, char sep, struct gpc_str *ret_part)
{
	const uint8_t *end;
	size_t n;

	if (in->n == 0)
		return false;
	end = memchr(in->p, sep, in->n);
	n = end ? (size_t)(end - in->p) : in->n;
	*ret_part = (struct gpc_str){(const char *)in->p, n};
	in->p += n + (end != NULL);
	in->n -= n + (end != NULL);
	return true;
}

struct gpc_str fuzz_rest(struct fuzz_in *in)
{
	struct gpc_str s = {(const char *)in->p, in->n};

	in->n = 0;
	return s;
}

void fuzz_same(char *a, char *b, const char *what)
{
	if (!gpc_eq(a, b))
		fuzz_die("%s:\n%s\n%s", what, a, b);
	free(a);
	free(b);
}

void fuzz_same_json(const struct gpc_json *a, const struct gpc_json *b,
	const char *what)
{
	fuzz_same(gpc_json_print(a), gpc_json_print(b), what);
}

struct gpc_store *fuzz_store(void)
{
	struct gpc_error err = {0};
	struct gpc_store *s = NULL;

	if (gpc_store_open("mem://", GPC_STORE_CREATE, NULL, &s, &err) < 0)
		fuzz_die("no store in memory: %s", err.msg);
	return s;
}

bool fuzz_put(struct gpc_store *s, const char *key, const void *data, size_t n)
{
	struct gpc_error err = {0};

	return gpc_store_key_ok(key)
		&& gpc_store_put(s, key, data, n, 0, &err) == 0;
}

void fuzz_zstd(const void *data, size_t n, struct gpc_buf *out)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0};
	const uint8_t size[] = {(uint8_t)n, (uint8_t)(n >> 8),
		(uint8_t)(n >> 16), (uint8_t)(n >> 24)};
	const char *p = data;
	size_t left = n;

	gpc_buf_add(out, magic, sizeof(magic));
	gpc_buf_add(out, size, sizeof(size));
	do {
		size_t part = left < 65536 ? left : 65536;
		uint32_t head = (uint32_t)part << 3 | (part == left);
		const uint8_t bytes[] = {(uint8_t)head, (uint8_t)(head >> 8),
			(uint8_t)(head >> 16)};

		gpc_buf_add(out, bytes, sizeof(bytes));
		gpc_buf_add(out, p, part);
		p += part;
		left -= part;
	} while (left > 0);
}

void fuzz_put_blob(struct gpc_store *s, const void *data, size_t n,
	char ret_hex[65])
{
	char key[520];

	gpc_sha256_hex(data, n, ret_hex);
	gpc_blob_key("blobs/", ret_hex, key);
	fuzz_check(fuzz_put(s, key, data, n), "cannot put %s", key);
}

void fuzz_check_task(const struct gpc_spec *spec)
{
	gpc_autoptr(gpc_json) *a = gpc_spec_to_json(spec), *b = NULL;
	gpc_auto(gpc_spec) struct gpc_spec again = {0};
	struct gpc_error err = {0};

	fuzz_check(gpc_spec_from_json(a, "job.json", &again, NULL, &err) == 0,
		"the task does not read back: %s", err.msg);
	b = gpc_spec_to_json(&again);
	fuzz_same_json(a, b, "the task changed");
}
