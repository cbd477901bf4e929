/* See list.h. */
#include "snapshot/list.h"

#include <string.h>

#include "base/str.h"

enum {
	MIN_LINES = 2048, MAX_LINES = 32768, CUT = 4096,
	BATCH = 64 << 10,
	MAX_LISTS = 1 << 16,
};
#define LIST_MAX_BYTES ((int64_t)1 << 32)      /* of the text of one list */

/* --- writing ----------------------------------------------------------- */
void gpc_list_writer_init(struct gpc_list_writer *w, struct gpc_sender *sender,
	struct gpc_spool *spool)
{
	memset(w, 0, sizeof(*w));
	w->sender = sender;
	w->spool = spool;
	w->lists = gpc_json_array();
	w->text.max = GPC_LINE_MAX_BYTES + BATCH;
}

void gpc_list_writer_clear(struct gpc_list_writer *w)
{
	gpc_archive_writer_free(w->zstd);
	gpc_json_free(w->lists);
	gpc_buf_clear(&w->text);
	memset(w, 0, sizeof(*w));
}

static int compress_text(struct gpc_list_writer *w, struct gpc_error *err)
{
	int r = gpc_buf_check(&w->text, err);

	if (r == 0)
		r = gpc_archive_write(w->zstd, w->text.data, w->text.len, err);
	w->bytes += w->text.len;
	gpc_buf_reset(&w->text);
	return r;
}

static int end_list(struct gpc_list_writer *w, struct gpc_error *err)
{
	uint8_t sum[GPC_SHA256_SIZE];
	char hex[GPC_SHA256_HEX];
	struct gpc_body body;
	struct gpc_json *about;
	int r = compress_text(w, err);

	if (r == 0)
		r = gpc_archive_finish(w->zstd, err);
	if (r < 0)
		return r;
	gpc_archive_writer_free(w->zstd);
	w->zstd = NULL;
	gpc_spool_end(w->spool, sum);
	gpc_hex(sum, sizeof(sum), hex);
	body = gpc_spool_body(w->spool);
	r = gpc_sender_put(w->sender, sum, &body, err);
	if (r < 0)
		return r;
	about = gpc_json_object();
	gpc_json_set_str(about, "sha256", hex);
	gpc_json_set_int(about, "size", (int64_t)body.size);
	gpc_json_set_int(about, "bytes", (int64_t)w->bytes);
	gpc_json_set_int(about, "lines", (int64_t)w->lines);
	gpc_json_add(w->lists, about);
	w->lines = w->bytes = 0;
	return 0;
}

int gpc_list_add(struct gpc_list_writer *w, const struct gpc_line *line,
	struct gpc_error *err)
{
	int r = 0;

	if (!w->zstd) {
		gpc_spool_reset(w->spool, 0);
		r = gpc_zstd_writer_new(gpc_spool_add, w->spool, &w->zstd, err);
		if (r < 0)
			return r;
	}
	gpc_line_format(line, &w->text);
	w->lines++;
	if (w->text.len >= BATCH)
		r = compress_text(w, err);
	if (r < 0 || w->lines < MIN_LINES)
		return r;
	if (w->lines < MAX_LINES
		&& gpc_hash64(line->path, strlen(line->path)) % CUT != 0)
		return 0;
	return end_list(w, err);
}

int gpc_list_finish(struct gpc_list_writer *w, struct gpc_json **ret_lists,
	struct gpc_error *err)
{
	int r = w->zstd ? end_list(w, err) : 0;

	if (r == 0)
		*ret_lists = gpc_steal(&w->lists);
	return r;
}

/* --- reading ----------------------------------------------------------- */
struct reading {
	struct gpc_store *store;
	const char *prefix;
	gpc_blob_fn *on_list;
	gpc_line_fn *on_line;
	void *arg;
	struct gpc_spool spool;
	struct gpc_buf text;
	char *last;             /* path before, for the order */
	uint64_t lines, bytes;
};

static void reading_clear(struct reading *r)
{
	gpc_spool_clear(&r->spool);
	gpc_buf_clear(&r->text);
	free(r->last);
}
GPC_CLEANUP_VALUE(reading);

static int take_line(struct reading *in, const char *text, size_t n,
	struct gpc_error *err)
{
	gpc_auto(gpc_line) struct gpc_line line = {0};
	gpc_autostr *path = NULL;
	int r = gpc_line_parse(text, n, &line, err);

	if (r < 0)
		return r;
	if (in->last && strcmp(in->last, line.path) >= 0)
		return gpc_fail(err, GPC_EPROTO, "paths are not in order");
	path = gpc_strdup(line.path);
	r = in->on_line(in->arg, &line, err);
	free(in->last);
	in->last = gpc_steal(&path);
	in->lines++;
	return r;
}

/* Takes all whole lines of the text. */
static int take_lines(struct reading *in, struct gpc_error *err)
{
	const char *p = in->text.data, *end = p + in->text.len, *newline;
	int r = 0;

	while (r == 0 && p < end
		&& (newline = memchr(p, '\n', (size_t)(end - p)))) {
		r = take_line(in, p, (size_t)(newline - p), err);
		p = newline + 1;
	}
	if (p > in->text.data)
		gpc_buf_drop(&in->text, (size_t)(p - in->text.data));
	return r;
}

static int read_text(struct reading *in, int64_t max, struct gpc_error *err)
{
	gpc_autoptr(gpc_archive_reader) *zstd = NULL;
	int r = gpc_zstd_reader_new(gpc_spool_read, &in->spool, &zstd, err);
	size_t n = 1;

	while (r == 0 && n > 0) {
		char *to = gpc_buf_try_reserve(&in->text, BATCH);

		if (!to && in->text.no_memory)
			return gpc_buf_check(&in->text, err);
		if (!to)
			return gpc_fail(err, GPC_EPROTO, "a line is too long");
		r = gpc_archive_read(zstd, to, BATCH, &n, err);
		if (r < 0)
			return r;
		in->text.len += n;
		in->bytes += n;
		if (in->bytes > (uint64_t)max)
			return gpc_fail(err, GPC_EPROTO,
				"more text than was announced");
		if (memchr(to, '\n', n))
			r = take_lines(in, err);
	}
	return r;
}

static int read_list(struct reading *in, const struct gpc_json *about,
	struct gpc_error *err)
{
	const char *hex = gpc_json_get_str(about, "sha256");
	int64_t size = gpc_json_get_int(about, "size", 0);
	int64_t bytes = gpc_json_get_int(about, "bytes", LIST_MAX_BYTES);
	int64_t lines = gpc_json_get_int(about, "lines", -1);
	uint8_t sum[GPC_SHA256_SIZE];
	int r;

	if (!hex || !gpc_is_hex(hex, 2 * GPC_SHA256_SIZE) || size <= 0
		|| size > (int64_t)GPC_BLOB_MAX_BYTES || bytes < 0
		|| bytes > LIST_MAX_BYTES)
		return gpc_fail(err, GPC_EPROTO,
			"the snapshot's head names a list wrongly");
	gpc_unhex(hex, sum, sizeof(sum));
	r = in->on_list ? in->on_list(in->arg, hex, (uint64_t)size, err) : 0;
	if (r == 0)
		r = gpc_blob_get(in->store, in->prefix, sum, (uint64_t)size,
			&in->spool, err);
	if (r < 0 || !in->on_line)
		return r;
	in->lines = in->bytes = 0;
	r = read_text(in, bytes, err);
	if (r == 0 && (in->text.len > 0 || (lines >= 0
		&& in->lines != (uint64_t)lines)))
		r = gpc_fail(err, GPC_EPROTO, "it ends early");
	return r < 0 ? gpc_wrap(err, r, "list %s", hex) : 0;
}

int gpc_lists_read(struct gpc_store *store, const struct gpc_json *head,
	const char *prefix, gpc_blob_fn *on_list, gpc_line_fn *on_line,
	void *arg, struct gpc_error *err)
{
	struct gpc_spool_budget budget = {.left = 4 << 20};
	gpc_auto(reading) struct reading in = {.store = store, .prefix = prefix,
		.on_list = on_list, .on_line = on_line, .arg = arg};
	const struct gpc_json *lists = gpc_json_get(head, "lists");
	int64_t v = gpc_json_get_int(head, "v", 0);
	int n = 0, r = 0;

	if (v > 1) {
		r = gpc_fail(err, GPC_EUNSUPPORTED,
			"the snapshot has format %lld, this program knows 1",
			(long long)v);
		gpc_hint(err, "use a newer gpucloud");
		return r;
	}
	if (v != 1 || !gpc_json_is_array(lists))
		return gpc_fail(err, GPC_EPROTO, "this is no snapshot's head");
	gpc_spool_init(&in.spool, &budget);
	in.text.max = GPC_LINE_MAX_BYTES;
	for (const struct gpc_json *m = gpc_json_first(lists); m && r == 0;
		m = gpc_json_next(m)) {
		if (++n > MAX_LISTS)
			return gpc_fail(err, GPC_EPROTO, "too many lists");
		r = read_list(&in, m, err);
	}
	return r;
}
