/* Bytes as compressed archives. The first byte says how they are read: as they
 * are or inside a zstd stream that is right, as tar or as one stream. What is
 * delivered stays within what was announced. */
#include "fuzz.h"

#include "dep/archive.h"

enum { MAX_BYTES = 1 << 20 };

struct source { struct gpc_str rest; size_t part; };

static int on_in(void *arg, const void **ret_data, size_t *ret_n,
	struct gpc_error *err)
{
	struct source *x = arg;
	size_t n = x->rest.len < x->part ? x->rest.len : x->part;

	(void)err;
	*ret_data = x->rest.ptr;
	*ret_n = n;
	x->rest.ptr += n;
	x->rest.len -= n;
	return 0;
}

/* *left: so that a few bytes which unpack to many do not take long. */
static int drain(struct gpc_archive_reader *r, uint64_t max, size_t *left,
	struct gpc_error *err)
{
	char part[4096];
	uint64_t all = 0;
	size_t n = 1;
	int rc = 0;

	while (rc == 0 && n > 0 && *left > 0) {
		rc = gpc_archive_read(r, part, sizeof(part), &n, err);
		if (rc < 0)
			break;
		fuzz_check(n <= sizeof(part), "more than asked for");
		all += n;
		*left -= n < *left ? n : *left;
	}
	fuzz_check(all <= max, "%llu bytes of %llu", (unsigned long long)all,
		(unsigned long long)max);
	return rc;
}

static void read_tar(struct source *x)
{
	gpc_autoptr(gpc_archive_reader) *r = NULL;
	struct gpc_error err = {0};
	size_t left = MAX_BYTES;
	const char *path;
	uint64_t size;
	int rc = gpc_tar_reader_new(on_in, x, &r, &err);

	for (int i = 0; rc == 0 && i < 200 && left > 0; i++) {
		rc = gpc_archive_next(r, &path, &size, &err);
		if (rc < 0 || !path)
			break;
		if (strlen(path) % 2 == 0)
			rc = drain(r, size, &left, &err);
	}
	fuzz_check(rc == 0 || err.msg[0], "an error without a message");
}

static void read_stream(struct source *x)
{
	gpc_autoptr(gpc_archive_reader) *r = NULL;
	struct gpc_error err = {0};
	size_t left = MAX_BYTES;
	int rc = gpc_zstd_reader_new(on_in, x, &r, &err);

	if (rc == 0)
		rc = drain(r, UINT64_MAX, &left, &err);
	fuzz_check(rc == 0 || err.msg[0], "an error without a message");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	gpc_auto(gpc_buf) struct gpc_buf wrapped = {0};
	struct fuzz_in in = {data, n};
	uint8_t how = fuzz_byte(&in);
	struct source x = {.part = how & 4 ? 7 : 65536};

	x.rest = fuzz_rest(&in);
	if (how & 2) {
		fuzz_zstd(x.rest.ptr, x.rest.len, &wrapped);
		x.rest = (struct gpc_str){wrapped.data, wrapped.len};
	}
	if (how & 1)
		read_stream(&x);
	else
		read_tar(&x);
	return 0;
}
