/* Copies on this machine: a file into a temporary beside its place, as a download lands,
 * with the times and permissions that it has. No request is made; the pump is given back
 * after every slice, so that a signal is heard and progress is told. What was written is
 * read again: it must be what was read. What an earlier try has left counts only if it
 * still has the checksum that was noted of it. */
#include <errno.h>
#include <string.h>

#include "base/body.h"
#include "base/crc.h"
#include "base/fd.h"
#include "transfer/move.h"

#define SLICE ((uint64_t)4 << 20)       /* per call */
#define BLOCK ((uint64_t)512 << 10)     /* in memory */

static int fail_damaged(const struct gpc_move *m, struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_EIO, "%s: what is read from there is not what was "
		"written", m->place.shown);

	gpc_hint(err, "the disk or its file system is damaged: see dmesg");
	return r;
}

/* The checksum of n bytes of the temporary. */
static int sum_place(const struct gpc_move *m, uint64_t at, uint64_t n, char *memory,
	uint32_t *ret_sum, struct gpc_error *err)
{
	const struct gpc_body place = { .fd = m->place.fd, .size = at + n };
	uint64_t done = 0;
	uint32_t sum = 0;

	while (done < n) {
		size_t k = 0;
		int r = gpc_body_read(&place, at + done, memory,
			(size_t)(n - done < BLOCK ? n - done : BLOCK), &k, err);

		if (r < 0)
			return gpc_wrap(err, r, "%s", m->place.shown);
		sum = gpc_crc32c(sum, memory, k);
		done += k;
	}
	*ret_sum = sum;
	return 0;
}

static char *take_memory(uint64_t size, struct gpc_error *err)
{
	char *memory = gpc_try_grow(NULL, (size_t)(size < BLOCK ? size + 1 : BLOCK), 1);

	if (!memory)
		(void)gpc_fail_memory(err, "a copy");
	return memory;
}

/* A piece that is not what was noted is copied again. */
static int check_resumed(struct gpc_move *m, struct gpc_error *err)
{
	char *memory = m->resumed > 0 ? take_memory(BLOCK, err) : NULL;
	int r = m->resumed > 0 && !memory ? -GPC_EIO : 0;

	for (int i = 0; r == 0 && m->resumed > 0 && i < m->n; i++) {
		struct gpc_piece *p = &m->pieces[i];
		uint32_t sum = 0;

		if (p->done == 0)
			continue;
		if (sum_place(m, gpc_move_piece_at(m, i), p->done, memory, &sum,
			NULL) == 0 && sum == p->read_sum)
			continue;
		gpc_move_piece_undo(m, i);
	}
	free(memory);
	return r;
}

static int here_open(struct gpc_move *m, struct gpc_error *err)
{
	int r = gpc_move_open_file(m, err);

	if (r == 0)
		r = gpc_move_open_place(m, err);
	return r < 0 ? r : check_resumed(m, err);
}

static int copy_block(struct gpc_move *m, struct gpc_piece *p, uint64_t at,
	uint64_t most, char *memory, struct gpc_error *err)
{
	const struct gpc_body file = { .fd = m->source.fd, .size = m->size };
	uint32_t back = 0, sum;
	size_t n = 0;
	int r = gpc_body_read(&file, at, memory, (size_t)most, &n, err), changed;

	if (r < 0) {
		/* it may have become shorter */
		changed = gpc_move_check_file(m, err);
		return changed < 0 ? changed : r;
	}
	sum = gpc_crc32c(0, memory, n);
	p->read_sum = gpc_crc32c_join((uint32_t)p->read_sum, sum, n);
	r = gpc_place_write(&m->place, memory, n, at, err);
	if (r == 0)
		r = sum_place(m, at, n, memory, &back, err);
	if (r == 0 && back != sum)
		r = fail_damaged(m, err);
	if (r == 0) {
		p->done += n;
		gpc_move_count(m, n);
	}
	return r;
}

static int here_start(struct gpc_move *m, int piece, struct gpc_error *err)
{
	struct gpc_piece *p = &m->pieces[piece];
	uint64_t size = gpc_move_piece_size(m, piece), begin = p->done;
	char *memory = take_memory(size, err);
	int r = memory ? 0 : -GPC_EIO;

	while (r == 0 && p->done < size && p->done - begin < SLICE)
		r = copy_block(m, p, gpc_move_piece_at(m, piece) + p->done,
			size - p->done < BLOCK ? size - p->done : BLOCK, memory,
			err);
	free(memory);
	if (r < 0 && (err->sys == ENOSPC || err->sys == EDQUOT))
		gpc_transfer_stop(m->t, r, err);
	if (r == 0 && p->done == size) {
		gpc_move_piece_done(m, piece);
		gpc_move_settle(m);     /* it may be gone then */
	}
	return r;
}

static int here_end(struct gpc_move *m, struct gpc_error *err)
{
	int r = gpc_move_check_file(m, err);

	return r < 0 ? r : gpc_place_commit(&m->place, m->source.mtime_ns / 1000000,
		m->source.mode, err);
}

const struct gpc_move_way gpc_move_here = {
	.to_file = true,
	.here = true,
	.open = here_open,
	.start = here_start,
	.end = here_end,
};
