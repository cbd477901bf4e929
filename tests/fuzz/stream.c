/* A stream's objects as they lie in the store: the input is a row of objects,
 * each with a name that follows the one before, or any name at all, and bytes.
 * They are read from some offset in small parts: the reader ends, counts what it
 * delivers, and gives the true bytes where there is no gap. Then the same bytes
 * through a writer, and lines of `marks`. */
#include "fuzz.h"

#include <stdio.h>

#include "record/stream.h"

#define FOLDER "jobs/a-abc234/1/0/log/"

/* Puts the objects; b: what a reader from 0 has to find. */
static void put_objects(struct gpc_store *s, struct fuzz_in *in,
	struct gpc_buf *b)
{
	bool whole = true;

	for (int i = 0; i < 12 && in->n > 0; i++) {
		uint8_t how = fuzz_byte(in);
		gpc_autostr *odd = NULL;
		char key[520];
		struct gpc_str bytes;

		snprintf(key, sizeof(key), FOLDER "%016llx-%lld",
			(unsigned long long)b->len, (long long)1700000000000 + i);
		if (how >= 200) {
			odd = fuzz_text(in, 60);
			snprintf(key, sizeof(key), FOLDER "%s", odd);
			whole = false;
		} else if (how >= 180) {
			snprintf(key, sizeof(key), FOLDER "%016llx-%d",
				(unsigned long long)fuzz_int(in), i);
			whole = false;
		}
		bytes = fuzz_bytes(in, 255);
		whole = fuzz_put(s, key, bytes.ptr, bytes.len) && whole
			&& (bytes.len > 0 || b->len == 0);
		gpc_buf_add(b, bytes.ptr, bytes.len);
	}
	if (!whole)
		gpc_buf_reset(b);
}

static void read_back(struct gpc_store *s, uint64_t offset, size_t part,
	const struct gpc_buf *want)
{
	gpc_autoptr(gpc_stream_reader) *r =
		gpc_stream_reader_new(s, FOLDER, offset);
	gpc_auto(gpc_buf) struct gpc_buf got = {0};
	struct gpc_error err = {0};
	size_t before;
	int rc;

	do {
		before = got.len;
		rc = gpc_stream_read(r, part, &got, &err);
		fuzz_check(got.len - before <= part, "more than asked for");
		fuzz_check(rc == 0 || err.msg[0], "an error without a message");
		fuzz_check(gpc_stream_reader_offset(r) == offset + got.len,
			"bytes were miscounted");
		fuzz_check(got.len < 10000 + want->len,
			"the stream does not end");
	} while (rc == 0 && got.len > before);
	if (want->len > 0 && offset <= want->len)
		fuzz_check(got.len == want->len - offset
			&& (got.len == 0 || memcmp(got.data, want->data + offset,
			got.len) == 0), "read %zu bytes of %zu at %llu", got.len,
			want->len, (unsigned long long)offset);
}

static void write_all(struct gpc_str bytes, size_t part)
{
	gpc_autoptr(gpc_store) *s = fuzz_store();
	gpc_autoptr(gpc_stream_writer) *w =
		gpc_stream_writer_new(s, FOLDER, 1000);
	struct gpc_buf want = {.data = (char *)(uintptr_t)bytes.ptr,
		.len = bytes.len};
	struct gpc_error err = {0};
	int64_t now = 0, next = 0;
	uint64_t size = 0;

	for (size_t at = 0; at < bytes.len; at += part) {
		size_t n = bytes.len - at < part ? bytes.len - at : part;

		if (gpc_stream_write(w, bytes.ptr + at, n, &err) < 0
			|| gpc_stream_tick(w, now, &next, &err) < 0)
			fuzz_die("write: %s", err.msg);
		now = next < now + 100000 ? next : now + 1000;
	}
	fuzz_check(gpc_stream_flush(w, &err) == 0, "flush: %s", err.msg);
	fuzz_check(gpc_stream_acked(w) == bytes.len, "not all is durable");
	if (gpc_stream_size(s, FOLDER, &size, &err) < 0 || size != bytes.len)
		fuzz_die("%zu bytes became %llu", bytes.len,
			(unsigned long long)size);
	read_back(s, 0, 4096, &want);
}

static void marks(struct fuzz_in in)
{
	struct gpc_str line;

	while (fuzz_part(&in, '\n', &line)) {
		gpc_auto(gpc_buf) struct gpc_buf b = {0};
		struct gpc_mark m, again;

		if (!gpc_mark_parse(line.ptr, line.len, &m))
			continue;
		gpc_mark_format(&m, &b);
		fuzz_check(b.len > 0 && gpc_mark_parse(b.data, b.len - 1,
			&again) && again.offset == m.offset
			&& again.wall_ms == m.wall_ms
			&& again.source == m.source, "a mark changed: %s",
			gpc_buf_str(&b));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	gpc_autoptr(gpc_store) *s = fuzz_store();
	gpc_auto(gpc_buf) struct gpc_buf want = {0};
	struct fuzz_in in = {data, n};
	struct gpc_error err = {0};
	uint8_t how = fuzz_byte(&in);
	size_t part = 1 + fuzz_byte(&in);
	uint64_t offset = (uint64_t)fuzz_int(&in), size;

	if (how == 'm') {
		marks((struct fuzz_in){data, n});
		return 0;
	}
	if (how == 'w') {
		write_all(fuzz_rest(&in), part);
		return 0;
	}
	put_objects(s, &in, &want);
	read_back(s, offset, part, &want);
	read_back(s, 0, part, &want);
	if (gpc_stream_size(s, FOLDER, &size, &err) < 0)
		fuzz_die("size: %s", err.msg);
	return 0;
}
