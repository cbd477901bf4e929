/* Uploads: a file in one request, or in parts that are read from their place when they
 * are sent. A file that changes meanwhile is not what anybody asked for: it fails, and
 * nothing of it stays. So what goes in one request is read before, since that request
 * already takes the place of what was there. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"
#include "transfer/move.h"

#define USUAL ((uint64_t)16 << 20)

static int64_t ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* O_NONBLOCK: a pipe that nobody writes to would never open. */
int gpc_move_open_file(struct gpc_move *m, struct gpc_error *err)
{
	struct gpc_move_source *s = &m->source;
	const char *path = m->item.from.path;
	struct stat st;
	int r = s->fd >= 0 ? 0 : gpc_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0,
		&s->fd, err);

	if (r < 0)
		return r;
	if (fstat(s->fd, &st) < 0)
		return gpc_fail_sys(err, errno, "cannot look at it");
	if (!S_ISREG(st.st_mode))
		return gpc_fail(err, GPC_ECONFIG, S_ISDIR(st.st_mode) ?
			"it is a folder" : "it is no regular file");
	s->ino = (uint64_t)st.st_ino;
	s->dev = (uint64_t)st.st_dev;
	s->mtime_ns = ns(&st.st_mtim);
	s->ctime_ns = ns(&st.st_ctim);
	s->mode = (unsigned)st.st_mode & 0777;
	s->seen = true;
	m->item.size = (int64_t)st.st_size;
	return 0;
}

int gpc_move_check_file(const struct gpc_move *m, struct gpc_error *err)
{
	struct stat st;
	int r;

	if (fstat(m->source.fd, &st) < 0)
		return gpc_fail_sys(err, errno, "cannot look at it");
	if ((uint64_t)st.st_size == m->size && ns(&st.st_mtim) == m->source.mtime_ns)
		return 0;
	r = gpc_fail(err, GPC_ECONFLICT, "the file was changed while it was read: "
		"nothing of it was kept");
	gpc_hint(err, "run the same again when nobody writes to it");
	return r;
}

static int up_open(struct gpc_move *m, struct gpc_error *err)
{
	uint64_t size, part;
	int r = gpc_move_open_file(m, err);

	if (r < 0)
		return r;
	size = (uint64_t)m->item.size;
	part = gpc_move_part_size(m, size, USUAL);
	r = gpc_move_plan(m, size, size > 2 * part || size > m->t->set.memory ?
		part : 0, err);
	if (r < 0 || m->n == 1)
		return r;
	if (m->notes.fd < 0)
		gpc_move_open_notes(m);
	if (m->again_n == 0)
		r = gpc_move_resume(m, err);
	return r < 0 ? r : 0;
}

static int read_all(struct gpc_ask *a, struct gpc_error *err)
{
	struct gpc_move *m = a->m;
	size_t n = (size_t)m->size, at = 0, k = 1;
	const struct gpc_body file = { .fd = m->source.fd, .size = m->size };
	int r = gpc_ask_hold(a, m->size, err);

	while (r == 0 && at < n) {
		r = gpc_body_read(&file, at, a->memory + at, n - at, &k, err);
		at += k;
	}
	a->body = (struct gpc_body){ .data = a->memory, .size = m->size };
	return r < 0 ? r : gpc_move_check_file(m, err);
}

static int up_start(struct gpc_move *m, int piece, struct gpc_error *err)
{
	struct gpc_ask *a;
	int r = 0;

	if (m->n > 1 && !m->upload)
		return gpc_move_begin(m, err);
	a = gpc_ask_new(m, piece);
	a->body = (struct gpc_body){ .fd = m->source.fd,
		.offset = (int64_t)gpc_move_piece_at(m, piece),
		.size = gpc_move_piece_size(m, piece) };
	if (m->n == 1)
		r = read_all(a, err);
	if (r == 0)
		return gpc_move_put(a, err);
	gpc_ask_free(a);
	return r;
}

static int up_end(struct gpc_move *m, struct gpc_error *err)
{
	int r = m->n == 1 ? 0 : gpc_move_check_file(m, err);

	return r < 0 || m->n == 1 ? r : gpc_move_end_parts(m, err);
}

/* Parts are in nobody's memory but the system's. */
static uint64_t up_memory(const struct gpc_move *m, int piece)
{
	return m->n == 1 ? gpc_move_piece_size(m, piece) : 0;
}

/* Bytes that somebody writes to are not those that were summed up, or are gone: that
 * is the reason, whatever the service makes of it. */
static int up_failed(const struct gpc_move *m, int r, struct gpc_error *err)
{
	struct gpc_error own = {0};

	if ((r != -GPC_ENET && r != -GPC_EIO && r != -GPC_EPROTO) ||
		!m->source.seen || gpc_move_check_file(m, &own) != -GPC_ECONFLICT)
		return r;
	own.http = err->http;
	memcpy(own.request_id, err->request_id, sizeof(own.request_id));
	*err = own;
	return -GPC_ECONFLICT;
}

const struct gpc_move_way gpc_move_up = {
	.open = up_open,
	.start = up_start,
	.end = up_end,
	.memory = up_memory,
	.failed = up_failed,
};
