#include "cmd/follow_pieces.h"

#include <string.h>

#include "base/buf.h"
#include "cmd/follow_say.h"

static struct gpc_piece *piece_of(struct gpc_pieces *p, int rank, int source)
{
	struct gpc_piece *x;

	gpc_vec_each(k, p)
		if (k->rank == rank && k->source == source)
			return k;
	x = gpc_vec_push(p);
	x->rank = rank;
	x->source = source;
	return x;
}

/* Bytes at the end that may be the start of a UTF-8 character. */
static size_t open_tail(const unsigned char *p, size_t n)
{
	for (size_t k = 1; k < GPC_PIECE_OPEN && k <= n; k++) {
		unsigned char b = p[n - k];

		if ((b & 0xc0) == 0x80)
			continue;
		size_t need = b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : b >= 0xc0 ? 2 : 1;
		return need > k ? k : 0;
	}
	return 0;
}

static int print(const struct gpc_piece *x, const char *job, struct gpc_out *out,
	const char *data, size_t n, struct gpc_error *err)
{
	if (!n)
		return 0;
	return gpc_out_event(out, "event",
		gpc_follow_log_json(job, x->rank, x->source, data, n), err);
}

int gpc_pieces_put(struct gpc_pieces *p, const char *job, struct gpc_out *out,
	int rank, int source, struct gpc_str data, bool last, struct gpc_error *err)
{
	struct gpc_piece *x = piece_of(p, rank, source);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	gpc_buf_add(&b, x->open, x->n);
	gpc_buf_add(&b, data.ptr, data.len);
	x->n = last ? 0 : open_tail((const unsigned char *)b.data, b.len);
	b.len -= x->n;
	memcpy(x->open, b.data + b.len, x->n);
	return print(x, job, out, b.data, b.len, err);
}

int gpc_pieces_flush(struct gpc_pieces *p, const char *job, struct gpc_out *out,
	struct gpc_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n; i++) {
		struct gpc_piece *x = &p->v[i];

		r = print(x, job, out, x->open, x->n, err);
		x->n = 0;
	}
	return r;
}
