/* The queue, and the loop that all requests run on. Requests begin wherever one has
 * ended, as many as the width allows: the oldest item first, so that few are under way
 * at a time. */
#include "transfer/transfer.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/time.h"
#include "transfer/move.h"

enum {
	WAITING_MOST = 512, WAITING_LEAST = 256,
	SLICE_MS = 200,                 /* between two tellings of progress */
	HERE_MS = 50,                   /* of copying on this machine, at a time */
	LAST_MS = 5000,                 /* for what is to be removed at the end */
	MOVES_MORE = 8,                 /* open beyond the width */
};
#define MEMORY ((uint64_t)64 << 20)

static int open_state(const char *path)
{
	int fd = -1;

	if (!path || gpc_mkdirs(path, 0700, NULL) < 0 ||
		gpc_open(path, O_RDONLY | O_DIRECTORY, 0, &fd, NULL) < 0)
		return -1;
	return fd;
}

struct gpc_transfer *gpc_transfer_new(const struct gpc_transfer_settings *settings)
{
	const struct gpc_net_settings net = { .ca_file = settings->ca_file,
		.cancel = settings->cancel, .log = settings->log,
		.patience_ms = settings->patience_ms };
	struct gpc_transfer *t = gpc_alloc(sizeof(*t));

	t->set = *settings;
	if (t->set.memory == 0)
		t->set.memory = MEMORY;
	t->storage_class = gpc_strdup(settings->storage_class);
	t->ca_file = gpc_strdup(settings->ca_file);
	t->state_dir = open_state(settings->state_dir);
	t->net = gpc_net_new(&net);
	t->loop = gpc_net_loop_new(t->net);
	t->counts.began_ms = t->told_ms = gpc_boot_ms();
	gpc_width_init(&t->width, settings->at_once, t->told_ms);
	return t;
}

struct gpc_net *gpc_transfer_net(struct gpc_transfer *t)
{
	return t->net;
}

bool gpc_transfer_canceled(const struct gpc_transfer *t)
{
	return gpc_canceled(t->set.cancel);
}

/* --- the queue --------------------------------------------------------------- */

static struct gpc_transfer_end copy_end(const struct gpc_transfer_end *e)
{
	return (struct gpc_transfer_end){ .path = gpc_strdup(e->path),
		.below = gpc_strdup(e->below), .objects = e->objects,
		.key = gpc_strdup(e->key) };
}

static void put_last(struct gpc_transfer *t, const struct gpc_transfer_item *item)
{
	struct gpc_waiting *w = gpc_alloc(sizeof(*w));

	w->item = *item;
	w->item.from = copy_end(&item->from);
	w->item.to = copy_end(&item->to);
	if (t->last)
		t->last->next = w;
	else
		t->first = w;
	t->last = w;
	t->n_waiting++;
	t->counts.all_files++;
	t->counts.all_bytes += item->size > 0 ? (uint64_t)item->size : 0;
}

static struct gpc_waiting *take_first(struct gpc_transfer *t)
{
	struct gpc_waiting *w = t->first;

	t->first = w->next;
	if (!t->first)
		t->last = NULL;
	t->n_waiting--;
	return w;
}

static void open_first(struct gpc_transfer *t)
{
	struct gpc_waiting *w = take_first(t);
	struct gpc_move *m = gpc_move_new(t, &w->item);

	free(w);
	gpc_move_open(m);
}

static struct gpc_move *find_ready(struct gpc_transfer *t, int *ret_piece)
{
	for (struct gpc_move *m = t->moves; m; m = m->next)
		if (gpc_move_ready(m, ret_piece))
			return m;
	return NULL;
}

void gpc_transfer_stop(struct gpc_transfer *t, int r, const struct gpc_error *err)
{
	if (t->stop_r == 0) {
		t->stop_r = r;
		t->stop = *err;
	}
}

void gpc_transfer_pump(struct gpc_transfer *t)
{
	int64_t began = gpc_boot_ms();
	struct gpc_move *m;
	bool here = false;
	int piece;

	if (t->pumping || t->cut)
		return;
	t->pumping = true;
	t->more_here = false;
	while (t->running < t->width.now && !gpc_transfer_canceled(t)) {
		t->more_here = here && gpc_boot_ms() - began >= HERE_MS;
		if (t->more_here)
			break;
		m = find_ready(t, &piece);
		here |= m && m->way->here;
		if (m)
			gpc_move_start(m, piece);
		else if (t->first && t->stop_r == 0 &&
			t->n_moves < t->width.now + MOVES_MORE)
			open_first(t);
		else
			break;
	}
	t->pumping = false;
	if (t->more_here || (t->full && t->n_waiting <= WAITING_LEAST))
		gpc_net_loop_wake(t->loop);
}

/* --- turns ------------------------------------------------------------------- */

void gpc_transfer_expect(struct gpc_transfer *t, uint64_t files, uint64_t bytes)
{
	t->expected_files += files;
	t->expected_bytes += bytes;
}

void gpc_transfer_counts(const struct gpc_transfer *t, struct gpc_transfer_counts *ret_c)
{
	*ret_c = t->counts;
	ret_c->at_once = t->running;
	if (t->loop)
		ret_c->bytes += gpc_net_loop_sending(t->loop);
	if (ret_c->all_files < t->expected_files)
		ret_c->all_files = t->expected_files;
	if (ret_c->all_bytes < t->expected_bytes)
		ret_c->all_bytes = t->expected_bytes;
	if (ret_c->bytes > ret_c->all_bytes)
		ret_c->bytes = ret_c->all_bytes;
}

static void tell(struct gpc_transfer *t)
{
	struct gpc_transfer_counts c;

	if (!t->set.progress)
		return;
	gpc_transfer_counts(t, &c);
	t->set.progress(t->set.arg, &c);
}

static void look_at_width(struct gpc_transfer *t)
{
	struct gpc_net_counts net;

	gpc_net_counts(t->net, &net);
	gpc_width_look(&t->width, gpc_boot_ms(), t->running,
		t->moved + gpc_net_loop_sending(t->loop), net.throttled);
}

static int fail_canceled(struct gpc_transfer *t, struct gpc_error *err)
{
	gpc_transfer_cut(t);
	return gpc_fail(err, GPC_ECANCELED, "interrupted");
}

static int turn(struct gpc_transfer *t, int ms, struct gpc_error *err)
{
	int64_t now;
	int r;

	if (gpc_transfer_canceled(t))
		return fail_canceled(t, err);
	gpc_transfer_pump(t);
	if (t->running == 0 && t->moves && !t->more_here && !gpc_transfer_canceled(t))
		return gpc_fail(err, GPC_EIO, "nothing moves, which must not happen");
	r = gpc_net_loop_run(t->loop, ms, NULL, err);
	if (gpc_transfer_canceled(t))
		return fail_canceled(t, err);
	now = gpc_boot_ms();
	look_at_width(t);
	if (now - t->told_ms >= SLICE_MS) {
		t->told_ms = now;
		tell(t);
	}
	return r;
}

static int fail_stopped(struct gpc_transfer *t, struct gpc_error *err)
{
	if (err)
		*err = t->stop;
	return t->stop_r;
}

int gpc_transfer_add(struct gpc_transfer *t, const struct gpc_transfer_item *item,
	struct gpc_error *err)
{
	int r = 0;

	if (t->cut)
		return gpc_fail(err, GPC_ECANCELED, "the transfer has ended");
	put_last(t, item);
	t->full = t->n_waiting >= WAITING_MOST;
	while (r == 0 && t->full && t->stop_r == 0) {
		r = turn(t, SLICE_MS, err);
		t->full = t->n_waiting > WAITING_LEAST;
	}
	return r < 0 ? r : t->stop_r ? fail_stopped(t, err) : 0;
}

int gpc_transfer_step(struct gpc_transfer *t, int timeout_ms, struct gpc_error *err)
{
	int r = 0;

	if (t->cut)
		return gpc_fail(err, GPC_ECANCELED, "the transfer has ended");
	if (t->moves || (t->first && t->stop_r == 0))
		r = turn(t, timeout_ms, err);
	return r < 0 ? r : t->stop_r ? fail_stopped(t, err) : 0;
}

int gpc_transfer_next(struct gpc_transfer *t, struct gpc_error *err)
{
	uint64_t told = t->told;
	int r = 0;

	t->next = true;
	while (r == 0 && t->told == told && (t->moves || t->first))
		r = gpc_transfer_step(t, SLICE_MS, err);
	t->next = false;
	return r;
}

int gpc_transfer_finish(struct gpc_transfer *t, struct gpc_error *err)
{
	int r = 0;

	if (t->cut)
		return gpc_fail(err, GPC_ECANCELED, "the transfer has ended");
	while (r == 0 && (t->moves || (t->first && t->stop_r == 0)))
		r = turn(t, SLICE_MS, err);
	tell(t);
	if (r < 0)
		gpc_transfer_cut(t);
	return r < 0 ? r : t->stop_r ? fail_stopped(t, err) : 0;
}

/* --- its end ----------------------------------------------------------------- */

/* The loop is gone, and nobody tells of these any more. */
static void end_asks(struct gpc_transfer *t)
{
	while (t->asks)
		gpc_ask_cut(t->asks);
}

/* What is removed goes by a net that was not cancelled, and not for long. */
static void cut_moves(struct gpc_transfer *t)
{
	const struct gpc_net_settings s = { .ca_file = t->ca_file,
		.log = t->set.log, .max_tries = 2 };
	gpc_autoptr(gpc_net) *net = gpc_net_new(&s);
	struct gpc_net_loop *loop = gpc_net_loop_new(net);
	struct gpc_error err;

	for (struct gpc_move *m = t->moves; m; m = m->next)
		gpc_move_cut(m, loop);
	if (t->running > 0 && gpc_net_loop_run(loop, LAST_MS, NULL, &err) < 0)
		gpc_log(t->set.log, GPC_WARN, "parts of uploads may stay: %s",
			err.msg);
	if (t->running > 0)
		gpc_log(t->set.log, GPC_WARN, "parts of %d uploads may stay, and "
			"cost, until they are removed", t->running);
	gpc_net_loop_free(loop);
	while (t->asks)
		gpc_ask_free(t->asks);
	while (t->moves) {
		gpc_move_end_notes(t->moves);
		gpc_move_free(t->moves);
	}
}

void gpc_transfer_cut(struct gpc_transfer *t)
{
	if (t->cut)
		return;
	t->cut = true;
	gpc_net_loop_free(t->loop);
	t->loop = NULL;
	end_asks(t);
	if (t->moves)
		cut_moves(t);
	while (t->first) {
		struct gpc_waiting *w = take_first(t);

		gpc_transfer_item_clear(&w->item);
		free(w);
	}
}

void gpc_transfer_free(struct gpc_transfer *t)
{
	if (!t)
		return;
	gpc_transfer_cut(t);
	gpc_net_free(t->net);
	gpc_place_top_clear(&t->top);
	gpc_close(&t->state_dir);
	free(t->storage_class);
	free(t->ca_file);
	free(t);
}
