/* See entry.h. Lines are written without a JSON tree, 200,000 of them being
 * common, and read with one, because what is read is hostile.
 */
#include "snapshot/entry.h"

#include <string.h>

#include "base/parse.h"
#include "base/path.h"
#include "base/str.h"

void gpc_line_clear(struct gpc_line *l)
{
	free(l->path);
	free(l->target);
	gpc_vec_free(&l->chunks);
	memset(l, 0, sizeof(*l));
}

/* --- writing ----------------------------------------------------------- */
static void add_hex(struct gpc_buf *b, const void *bytes, size_t n)
{
	char *p = gpc_buf_reserve(b, 2 * n + 1);

	if (!p)
		return;
	gpc_hex(bytes, n, p);
	b->len += 2 * n;
}

static void add_quoted(struct gpc_buf *b, const char *s, size_t n)
{
	size_t plain = 0;

	gpc_buf_addc(b, '"');
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		gpc_buf_add(b, s + plain, i - plain);
		plain = i + 1;
		if (c < 0x20)
			gpc_buf_addf(b, "\\u%04x", c);
		else
			gpc_buf_addf(b, "\\%c", c);
	}
	gpc_buf_add(b, s + plain, n - plain);
	gpc_buf_addc(b, '"');
}

/* A member for bytes that need not be text: key, or key + "b" in hex. */
static void add_bytes(struct gpc_buf *b, const char *key, const char *s)
{
	size_t n = strlen(s);

	if (gpc_utf8_valid(s, n)) {
		gpc_buf_addf(b, "\"%s\":", key);
		add_quoted(b, s, n);
		return;
	}
	gpc_buf_addf(b, "\"%sb\":\"", key);
	add_hex(b, s, n);
	gpc_buf_addc(b, '"');
}

static void add_chunks(const struct gpc_line *l, struct gpc_buf *b)
{
	unsigned long long hole = 0;
	const char *comma = "";

	gpc_buf_adds(b, ",\"c\":[");
	for (size_t i = 0; i < l->chunks.n; i++) {
		const struct gpc_chunk *c = &l->chunks.v[i];

		if (c->kind == GPC_CHUNK_HOLE) {
			hole += c->size ? c->size : 1;
			if (i + 1 < l->chunks.n
				&& c[1].kind == GPC_CHUNK_HOLE)
				continue;
			gpc_buf_addf(b, "%s%llu", comma, hole);
			hole = 0;
		} else {
			gpc_buf_addf(b, "%s\"%s:", comma,
				c->kind == GPC_CHUNK_ZSTD ? "zstd" : "raw");
			add_hex(b, c->sum, sizeof(c->sum));
			gpc_buf_addf(b, ":%lu\"", (unsigned long)c->size);
		}
		comma = ",";
	}
	gpc_buf_addc(b, ']');
}

static void add_file(const struct gpc_line *l, struct gpc_buf *b)
{
	gpc_buf_addf(b, ",\"s\":%llu", (unsigned long long)l->size);
	if (l->chunked) {
		add_chunks(l, b);
		return;
	}
	gpc_buf_adds(b, ",\"h\":\"");
	add_hex(b, l->hash, sizeof(l->hash));
	gpc_buf_adds(b, "\",\"k\":\"");
	add_hex(b, l->pack, sizeof(l->pack));
	gpc_buf_addf(b, "\",\"ks\":%lu", (unsigned long)l->pack_size);
}

void gpc_line_format(const struct gpc_line *l, struct gpc_buf *b)
{
	static const char kinds[] = {'f', 'd', 'l'};
	long long s = l->mtime_ns / 1000000000, ns = l->mtime_ns % 1000000000;

	if (ns < 0) {
		ns += 1000000000;
		s--;
	}
	gpc_buf_addc(b, '{');
	add_bytes(b, "p", l->path);
	gpc_buf_addf(b, ",\"t\":\"%c\",\"m\":\"%o\",\"mt\":%lld",
		kinds[l->kind], (unsigned)l->mode, s);
	if (ns)
		gpc_buf_addf(b, ",\"ns\":%lld", ns);
	if (l->kind == GPC_ENTRY_FILE)
		add_file(l, b);
	if (l->kind == GPC_ENTRY_LINK) {
		gpc_buf_addc(b, ',');
		add_bytes(b, "l", l->target);
	}
	gpc_buf_adds(b, "}\n");
}

/* --- reading ----------------------------------------------------------- */
static int bad(struct gpc_error *err, const char *what)
{
	return gpc_fail(err, GPC_EPROTO, "%s", what);
}

static bool get_sum(const char *hex, uint8_t ret_sum[GPC_SHA256_SIZE])
{
	return hex && gpc_is_hex(hex, 2 * GPC_SHA256_SIZE)
		&& gpc_unhex(hex, ret_sum, GPC_SHA256_SIZE);
}

/* The owned bytes of member key, or of key + "b"; NULL when bad. */
static char *get_bytes(const struct gpc_json *j, const char *key)
{
	gpc_autostr *hex_key = gpc_format("%sb", key);
	const char *text = gpc_json_get_str(j, key);
	const char *hex = gpc_json_get_str(j, hex_key);
	gpc_autostr *bytes = NULL;
	size_t n;

	if (!hex)
		return gpc_strdup(text);
	n = strlen(hex) / 2;
	bytes = gpc_alloc(n + 1);
	if (strlen(hex) % 2 || !gpc_unhex(hex, bytes, n) || strlen(bytes) != n)
		return NULL;
	return gpc_steal(&bytes);
}

static bool get_blob_size(int64_t size, uint32_t *ret_size)
{
	if (size <= 0 || size > (int64_t)GPC_BLOB_MAX_BYTES)
		return false;
	*ret_size = (uint32_t)size;
	return true;
}

/* "zstd:SHA256:SIZE" or "raw:SHA256:SIZE" */
static bool get_chunk(const char *text, struct gpc_chunk *c)
{
	struct gpc_str rest = gpc_str_of(text), kind, sum, size;
	char hex[GPC_SHA256_HEX];
	int64_t bytes;

	if (!gpc_str_split(&rest, ':', &kind) || !gpc_str_split(&rest, ':', &sum)
		|| !gpc_str_split(&rest, ':', &size)
		|| sum.len != 2 * GPC_SHA256_SIZE)
		return false;
	memcpy(hex, sum.ptr, sum.len);
	hex[sum.len] = '\0';
	c->kind = gpc_str_eq(kind, "zstd") ? GPC_CHUNK_ZSTD
		: gpc_str_eq(kind, "raw") ? GPC_CHUNK_RAW : GPC_CHUNK_UNKNOWN;
	return c->kind != GPC_CHUNK_UNKNOWN && get_sum(hex, c->sum)
		&& gpc_parse_i64(size.ptr, 1, (int64_t)GPC_BLOB_MAX_BYTES, "size",
			&bytes, NULL) == 0
		&& get_blob_size(bytes, &c->size);
}

static int parse_chunks(const struct gpc_json *list, struct gpc_line *l,
	struct gpc_error *err)
{
	uint64_t want = (l->size + GPC_CHUNK_BYTES - 1) / GPC_CHUNK_BYTES;
	uint64_t have = 0;

	l->chunked = true;
	for (const struct gpc_json *m = gpc_json_first(list); m;
		m = gpc_json_next(m)) {
		struct gpc_chunk *c = gpc_vec_try_push(&l->chunks);
		const char *text = gpc_json_str(m);

		if (!c)
			return gpc_fail_memory(err, "the pieces of a file");
		if (text) {
			if (!get_chunk(text, c))
				return bad(err, "a piece is malformed");
			have++;
		} else {
			int64_t n = gpc_json_int_or(m, 0);

			if (n <= 0 || n > (int64_t)want)
				return bad(err, "a hole is malformed");
			c->kind = GPC_CHUNK_HOLE;
			c->size = (uint32_t)n;
			have += (uint64_t)n;
		}
	}
	return have == want ? 0 : bad(err, "the pieces do not add up");
}

static int parse_file(const struct gpc_json *j, struct gpc_line *l,
	struct gpc_error *err)
{
	int64_t size = gpc_json_get_int(j, "s", -1);
	const struct gpc_json *chunks = gpc_json_get(j, "c");

	if (size < 0 || size > (int64_t)GPC_FILE_MAX_BYTES)
		return bad(err, "a size is missing or too large");
	l->size = (uint64_t)size;
	if (gpc_json_is_array(chunks))
		return parse_chunks(chunks, l, err);
	if (l->size > GPC_BLOB_MAX_BYTES)
		return bad(err, "a packed file is too large");
	if (!get_sum(gpc_json_get_str(j, "h"), l->hash)
		|| !get_sum(gpc_json_get_str(j, "k"), l->pack)
		|| !get_blob_size(gpc_json_get_int(j, "ks", 0), &l->pack_size))
		return bad(err, "a file names neither pack nor pieces");
	return 0;
}

static bool parse_mode(const char *text, uint16_t *ret_mode)
{
	unsigned mode = 0;

	if (!text || !text[0] || strlen(text) > 4)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '7')
			return false;
		mode = mode * 8 + (unsigned)(*text - '0');
	}
	*ret_mode = mode & 0777;        /* no setuid, setgid, sticky bit */
	return true;
}

static bool parse_time(const struct gpc_json *j, int64_t *ret_ns)
{
	int64_t s = gpc_json_get_int(j, "mt", 0);
	int64_t ns = gpc_json_get_int(j, "ns", 0);

	if (s < -9000000000 || s > 9000000000 || ns < 0 || ns > 999999999)
		return false;
	*ret_ns = s * 1000000000 + ns;
	return true;
}

static int parse_line(const struct gpc_json *j, struct gpc_line *l,
	struct gpc_error *err)
{
	const char *kind = gpc_json_get_str(j, "t");

	l->path = get_bytes(j, "p");
	if (!l->path || strlen(l->path) > GPC_PATH_MAX_BYTES
		|| !gpc_path_is_inside(l->path))
		return bad(err, "a path is missing or leaves the target folder");
	if (!parse_mode(gpc_json_get_str(j, "m"), &l->mode)
		|| !parse_time(j, &l->mtime_ns))
		return bad(err, "a mode or time is malformed");
	if (gpc_eq(kind, "f"))
		return parse_file(j, l, err);
	if (gpc_eq(kind, "d")) {
		l->kind = GPC_ENTRY_DIR;
		return 0;
	}
	if (!gpc_eq(kind, "l"))
		return bad(err, "an entry of unknown kind");
	l->kind = GPC_ENTRY_LINK;
	l->target = get_bytes(j, "l");
	if (!l->target || !l->target[0]
		|| strlen(l->target) > GPC_PATH_MAX_BYTES)
		return bad(err, "a link has no target");
	return 0;
}

int gpc_line_parse(const char *text, size_t n, struct gpc_line *ret_l,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_auto(gpc_line) struct gpc_line l = {0};
	int r = gpc_json_parse(text, n, &j, err);

	if (r == 0)
		r = parse_line(j, &l, err);
	if (r < 0 && l.path) {
		gpc_autostr *shown = gpc_str_printable(l.path, strlen(l.path));

		return gpc_wrap(err, r, "entry \"%.200s\"", shown);
	}
	if (r < 0)
		return r;
	*ret_l = l;
	memset(&l, 0, sizeof(l));
	return 0;
}
