/* A log is one stream of exact bytes and one of marks, which say whose bytes
 * they are. Agents write a mark before its bytes, and this reads bytes before
 * marks, so every byte read has its mark. */
#include "core/logs.h"

#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"
#include "record/keys.h"
#include "record/roll.h"
#include "record/stream.h"

#define CHUNK ((size_t)1 << 20)
#define MAX_PENDING ((size_t)64 << 10)  /* of an unfinished line */

struct source_line {            /* of one source: what line mode holds back */
	struct gpc_buf pending;
	bool inside;            /* a part of this line was delivered */
	int64_t wall_ms;
};
struct log_part {               /* one rank of one attempt */
	int attempt, rank;
	struct gpc_stream_reader *log, *marks;
	struct gpc_buf mark_bytes;
	GPC_VEC(struct gpc_mark) known;  /* from the current byte on */
	struct source_line lines[3];     /* by source */
	struct gpc_buf chunk;            /* read, and not yet delivered */
};
struct failed_rank { int attempt, rank; };
struct gpc_log_reader {
	struct gpc_session *session;
	char *job;
	struct gpc_log_options options;
	GPC_VEC(struct log_part *) parts;
	GPC_VEC(struct failed_rank) failed;      /* for options.lead */
};
struct log_out { gpc_log_fn *fn; void *arg; };

struct gpc_log_reader *gpc_log_reader_new(struct gpc_session *s,
	const char *job, const struct gpc_log_options *options)
{
	struct gpc_log_reader *r = gpc_alloc(sizeof(*r));

	r->session = s;
	r->job = gpc_strdup(job);
	r->options = *options;
	return r;
}

static void part_free(struct log_part *p)
{
	gpc_stream_reader_free(p->log);
	gpc_stream_reader_free(p->marks);
	gpc_buf_clear(&p->mark_bytes);
	gpc_buf_clear(&p->chunk);
	gpc_vec_free(&p->known);
	for (size_t i = 0; i < 3; i++)
		gpc_buf_clear(&p->lines[i].pending);
	free(p);
}

void gpc_log_reader_free(struct gpc_log_reader *r)
{
	if (!r)
		return;
	gpc_vec_each(p, &r->parts)
		part_free(*p);
	gpc_vec_free(&r->parts);
	gpc_vec_free(&r->failed);
	free(r->job);
	free(r);
}

/* --- which ranks -------------------------------------------------------------- */
bool gpc_log_leads(int num_nodes)
{
	return gpc_roll_is_kept(num_nodes);
}

char *gpc_log_leads_text(int num_nodes)
{
	return gpc_format("%d ranks: this is what rank 0 writes, and the rank that "
		"fails first; `logs --rank N` shows another one, `--all-ranks` all",
		num_nodes);
}

static bool has_failed(const struct gpc_log_reader *r, int attempt, int rank)
{
	gpc_vec_each(x, &r->failed)
		if (x->attempt == attempt && x->rank == rank)
			return true;
	return false;
}

static void note_failed(struct gpc_log_reader *r, int attempt, int rank,
	enum gpc_reason reason)
{
	if (reason == GPC_REASON_NONE || reason == GPC_REASON_COMPLETED ||
		has_failed(r, attempt, rank))
		return;
	*gpc_vec_push(&r->failed) = (struct failed_rank){ attempt, rank };
}

void gpc_log_note(struct gpc_log_reader *r, const struct gpc_job_state *st)
{
	gpc_vec_each(t, &st->tries)
		note_failed(r, t->n, t->rank, t->reason);
	if (gpc_job_status_is_end(st->status))
		note_failed(r, st->attempt, st->rank, st->reason);
}

static bool is_shown(const struct gpc_log_reader *r, int attempt, int rank)
{
	if (r->options.rank >= 0)
		return r->options.rank == rank;
	return !r->options.lead || rank == 0 || has_failed(r, attempt, rank);
}

/* --- marks ------------------------------------------------------------------ */
static void take_mark_lines(struct log_part *p)
{
	struct gpc_str rest = { p->mark_bytes.data, p->mark_bytes.len };
	size_t used = 0;

	while (rest.len > 0) {
		const char *nl = memchr(rest.ptr, '\n', rest.len);
		struct gpc_mark m;
		size_t n;

		if (!nl)
			break;
		n = (size_t)(nl - rest.ptr);
		if (gpc_mark_parse(rest.ptr, n, &m))
			*gpc_vec_push(&p->known) = m;
		rest.ptr += n + 1;
		rest.len -= n + 1;
		used += n + 1;
	}
	if (used > 0)
		gpc_buf_drop(&p->mark_bytes, used);
}

static int read_marks(struct log_part *p, struct gpc_error *err)
{
	size_t before;
	int r;

	do {
		before = p->mark_bytes.len;
		r = gpc_stream_read(p->marks, CHUNK, &p->mark_bytes, err);
		if (r == 0 && p->mark_bytes.len == before)
			break;
		take_mark_lines(p);
	} while (r == 0);
	return r;
}

/* The mark that covers offset; how many bytes from there it covers. Marks that
 * lie behind are dropped. */
static struct gpc_mark mark_at(struct log_part *p, uint64_t offset,
	uint64_t end, uint64_t *ret_n)
{
	struct gpc_mark m = { .offset = offset, .source = 1 };
	size_t i = 0;

	while (i + 1 < p->known.n && p->known.v[i + 1].offset <= offset)
		i++;
	if (i > 0) {
		memmove(p->known.v, p->known.v + i,
			(p->known.n - i) * sizeof(*p->known.v));
		p->known.n -= i;
	}
	*ret_n = end - offset;
	if (p->known.n > 0 && p->known.v[0].offset <= offset)
		m = p->known.v[0];
	for (i = 0; i < p->known.n; i++) {
		if (p->known.v[i].offset > offset && p->known.v[i].offset < end) {
			*ret_n = p->known.v[i].offset - offset;
			break;
		}
	}
	return m;
}

/* --- where to start ----------------------------------------------------------- */
static void folder_of(const struct gpc_log_reader *r, const struct log_part *p,
	const char *name, gpc_key key)
{
	gpc_key_rank(key, r->job, p->attempt, p->rank, name);
}

static bool is_wanted(const struct gpc_log_reader *r, int source)
{
	return source == 2 ? !r->options.only_stdout : !r->options.only_stderr;
}

struct tail_scan {
	int64_t lines, seen;
	size_t mark;            /* marks before this one cover what is left */
	bool inside;            /* a byte of the last line was met */
};

/* Goes backwards over data, which begins at offset from; true once ret_offset
 * lies behind the newline that precedes the last lines. */
static bool scan_back(const struct gpc_log_reader *r, const struct log_part *p,
	struct tail_scan *t, const struct gpc_buf *data, uint64_t from,
	uint64_t *ret_offset)
{
	for (size_t i = data->len; i-- > 0;) {
		while (t->mark > 0 && p->known.v[t->mark - 1].offset > from + i)
			t->mark--;
		if (!is_wanted(r, t->mark > 0 ?
			p->known.v[t->mark - 1].source : 1))
			continue;
		if (data->data[i] == '\n' && t->inside && ++t->seen == t->lines) {
			*ret_offset = from + i + 1;
			return true;
		}
		t->inside = true;
	}
	return false;
}

/* Where the last lines begin, of the streams that are wanted. */
static int find_tail(struct gpc_log_reader *r, struct log_part *p, int64_t lines,
	uint64_t *ret_offset, struct gpc_error *err)
{
	struct tail_scan t = { .lines = lines };
	uint64_t size = 0, end;
	gpc_key folder;
	int rc;

	folder_of(r, p, "log/", folder);
	rc = gpc_stream_size(r->session->store, folder, &size, err);
	if (rc == 0)
		rc = read_marks(p, err);
	if (rc < 0)
		return rc;
	t.mark = p->known.n;
	*ret_offset = lines > 0 ? 0 : size;
	for (end = size; lines > 0 && end > 0;) {
		uint64_t from = end > CHUNK ? end - CHUNK : 0;
		gpc_auto(gpc_buf) struct gpc_buf b = {0};
		gpc_autoptr(gpc_stream_reader) *sr = gpc_stream_reader_new(
			r->session->store, folder, from);

		rc = gpc_stream_read(sr, (size_t)(end - from), &b, err);
		if (rc < 0 || scan_back(r, p, &t, &b, from, ret_offset))
			return rc;
		end = from;
	}
	return 0;
}

/* The first byte of a run that is young enough, or the end. */
static int find_since(struct gpc_log_reader *r, struct log_part *p,
	uint64_t *ret_offset, struct gpc_error *err)
{
	gpc_key folder;

	gpc_vec_each(m, &p->known) {
		if (m->wall_ms >= r->options.since_ms) {
			*ret_offset = m->offset;
			return 0;
		}
	}
	folder_of(r, p, "log/", folder);
	return gpc_stream_size(r->session->store, folder, ret_offset, err);
}

/* May fail and be called again: it has begun when p->log is there. */
static int part_start(struct gpc_log_reader *r, struct log_part *p,
	struct gpc_error *err)
{
	uint64_t offset = 0, since = 0;
	gpc_key folder;
	int rc;

	folder_of(r, p, "marks/", folder);
	if (!p->marks)
		p->marks = gpc_stream_reader_new(r->session->store, folder, 0);
	rc = read_marks(p, err);
	if (rc == 0 && r->options.tail >= 0)
		rc = find_tail(r, p, r->options.tail, &offset, err);
	if (rc == 0 && r->options.since_ms > 0)
		rc = find_since(r, p, &since, err);
	if (rc < 0)
		return rc;
	folder_of(r, p, "log/", folder);
	p->log = gpc_stream_reader_new(r->session->store, folder,
		since > offset ? since : offset);
	return 0;
}

static struct log_part *find_part(struct gpc_log_reader *r, int attempt,
	int rank)
{
	struct log_part *p;

	gpc_vec_each(x, &r->parts) {
		if ((*x)->attempt == attempt && (*x)->rank == rank)
			return *x;
	}
	p = gpc_alloc(sizeof(*p));
	p->attempt = attempt;
	p->rank = rank;
	*gpc_vec_push(&r->parts) = p;
	return p;
}

/* --- delivery ------------------------------------------------------------------ */
static bool line_mode(const struct gpc_log_options *o)
{
	return o->prefix || o->timestamps;
}

static int deliver_line(struct gpc_log_reader *r, struct log_part *p, int source,
	const char *data, size_t n, const struct log_out *out,
	struct gpc_error *err)
{
	struct source_line *l = &p->lines[source];
	gpc_auto(gpc_buf) struct gpc_buf head = {0};
	char time[GPC_RFC3339_SIZE];
	int rc = 0;

	if (!l->inside && r->options.timestamps)
		gpc_buf_addf(&head, "%s ", gpc_format_rfc3339(l->wall_ms, time));
	if (!l->inside && r->options.prefix)
		gpc_buf_addf(&head, "[%d] ", p->rank);
	if (head.len > 0)
		rc = out->fn(out->arg, p->rank, source, head.data, head.len, err);
	l->inside = n > 0 && data[n - 1] != '\n';
	return rc ? rc : out->fn(out->arg, p->rank, source, data, n, err);
}

static int flush_pending(struct gpc_log_reader *r, struct log_part *p,
	int source, const struct log_out *out, struct gpc_error *err)
{
	struct source_line *l = &p->lines[source];
	int rc = 0;

	if (l->pending.len > 0)
		rc = deliver_line(r, p, source, l->pending.data, l->pending.len,
			out, err);
	gpc_buf_reset(&l->pending);
	return rc;
}

static int deliver_in_lines(struct gpc_log_reader *r, struct log_part *p,
	const struct gpc_mark *m, const char *data, size_t n,
	const struct log_out *out, struct gpc_error *err)
{
	struct source_line *l = &p->lines[m->source];
	int rc = 0;

	while (rc == 0 && n > 0) {
		const char *nl = memchr(data, '\n', n);
		size_t take = nl ? (size_t)(nl - data) + 1 : n;

		if (l->pending.len == 0 && !l->inside)
			l->wall_ms = m->wall_ms;
		gpc_buf_add(&l->pending, data, take);
		if (nl || l->pending.len > MAX_PENDING)
			rc = flush_pending(r, p, m->source, out, err);
		data += take;
		n -= take;
	}
	return rc;
}

static int deliver(struct gpc_log_reader *r, struct log_part *p,
	const struct gpc_mark *m, const char *data, size_t n,
	const struct log_out *out, struct gpc_error *err)
{
	if (!is_wanted(r, m->source))
		return 0;
	if (line_mode(&r->options))
		return deliver_in_lines(r, p, m, data, n, out, err);
	return out->fn(out->arg, p->rank, m->source, data, n, err);
}

static int deliver_chunk(struct gpc_log_reader *r, struct log_part *p,
	uint64_t offset, const struct gpc_buf *b, const struct log_out *out,
	struct gpc_error *err)
{
	uint64_t end = offset + b->len, at = offset;
	int rc = 0;

	while (rc == 0 && at < end) {
		uint64_t n = 0;
		struct gpc_mark m = mark_at(p, at, end, &n);

		if (m.source != 1 && m.source != 2)
			m.source = 1;
		rc = deliver(r, p, &m, b->data + (at - offset), (size_t)n, out,
			err);
		at += n;
	}
	return rc;
}

/* What was read stays in the chunk until its marks are known too, so that a
 * store which fails for a while costs no byte. */
static int pump_part(struct gpc_log_reader *r, struct log_part *p, bool at_end,
	const struct log_out *out, bool *ret_any, struct gpc_error *err)
{
	int rc = p->log ? 0 : part_start(r, p, err);

	while (rc == 0) {
		uint64_t offset;

		if (p->chunk.len < CHUNK)
			rc = gpc_stream_read(p->log, CHUNK - p->chunk.len,
				&p->chunk, err);
		if (rc == 0 && p->chunk.len > 0)
			rc = read_marks(p, err);
		if (rc < 0 || p->chunk.len == 0)
			break;
		*ret_any = true;
		offset = gpc_stream_reader_offset(p->log) - p->chunk.len;
		rc = deliver_chunk(r, p, offset, &p->chunk, out, err);
		gpc_buf_reset(&p->chunk);
	}
	for (int source = 1; rc == 0 && at_end && source <= 2; source++)
		rc = flush_pending(r, p, source, out, err);
	return rc;
}

int gpc_log_pump(struct gpc_log_reader *r, int attempt, int num_nodes,
	bool at_end, gpc_log_fn *fn, void *arg, bool *ret_any,
	struct gpc_error *err)
{
	const struct gpc_log_options *o = &r->options;
	struct log_out out = { fn, arg };
	int first = o->attempt > 0 ? o->attempt :
		o->from_attempt > 0 ? o->from_attempt : 1;
	int last = o->attempt > 0 ? o->attempt : attempt;
	int rc = 0;

	*ret_any = false;
	for (int a = first; rc == 0 && a <= last; a++) {
		for (int rank = 0; rc == 0 && rank < num_nodes; rank++) {
			if (!is_shown(r, a, rank))
				continue;
			rc = pump_part(r, find_part(r, a, rank),
				at_end || a < attempt, &out, ret_any, err);
		}
	}
	return rc;
}
