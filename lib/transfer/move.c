/* The life of a move: it is opened, its pieces are moved, its end is made sure of, and
 * it is told; or it fails, and nothing of it stays; or it is cut short. */
#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "transfer/move.h"

enum { AGAIN_MAX = 3 };

void gpc_transfer_item_clear(struct gpc_transfer_item *item)
{
	free((char *)item->from.path);
	free((char *)item->from.key);
	free((char *)item->to.path);
	free((char *)item->to.below);
	free((char *)item->to.key);
	memset(item, 0, sizeof(*item));
}

static const struct gpc_move_way *way_of(const struct gpc_transfer_item *item)
{
	if (item->from.path)
		return item->to.path ? &gpc_move_here : &gpc_move_up;
	return item->to.path ? &gpc_move_down : &gpc_move_across;
}

struct gpc_move *gpc_move_new(struct gpc_transfer *t, struct gpc_transfer_item *owned)
{
	struct gpc_move *m = gpc_alloc(sizeof(*m));

	m->t = t;
	m->item = *owned;
	memset(owned, 0, sizeof(*owned));
	m->way = way_of(&m->item);
	m->source.fd = m->notes.fd = -1;
	m->told_size = m->item.size > 0 ? (uint64_t)m->item.size : 0;
	m->before = t->last_move;
	if (m->before)
		m->before->next = m;
	else
		t->moves = m;
	t->last_move = m;
	t->n_moves++;
	return m;
}

static void take_out(struct gpc_move *m)
{
	struct gpc_transfer *t = m->t;

	if (m->before)
		m->before->next = m->next;
	else
		t->moves = m->next;
	if (m->next)
		m->next->before = m->before;
	else
		t->last_move = m->before;
	t->n_moves--;
}

void gpc_move_free(struct gpc_move *m)
{
	take_out(m);
	for (int i = 0; m->pieces && i < m->n; i++)
		free(m->pieces[i].etag);
	free(m->pieces);
	free(m->parts);
	free(m->upload);
	free(m->stale);
	free(m->source.version);
	gpc_close(&m->source.fd);
	gpc_place_close(&m->place);
	gpc_notes_close(&m->notes);
	gpc_transfer_item_clear(&m->item);
	free(m);
}

/* --- its end ----------------------------------------------------------------- */

static void count_end(struct gpc_move *m)
{
	struct gpc_transfer_counts *c = &m->t->counts;

	if (m->r == 0) {
		c->files++;
		return;
	}
	c->failed++;
	c->bytes -= m->counted;
	c->resumed -= m->resumed;
}

static void tell(struct gpc_move *m)
{
	gpc_autostr *from = m->r < 0 ? gpc_move_from(m) : NULL;
	struct gpc_transfer *t = m->t;

	gpc_notes_drop(&m->notes);
	gpc_place_drop(&m->place);      /* what has its name is no temporary */
	count_end(m);
	if (m->r < 0)
		m->r = gpc_wrap(&m->err, m->r, "%s", from);
	if (t->set.done)
		t->set.done(t->set.arg, &m->item, m->r, &m->err);
	t->told++;
	if (t->next)
		gpc_net_loop_wake(t->loop);
	gpc_move_free(m);
}

/* What the service forgot of an earlier try is moved again. */
static bool is_forgotten(const struct gpc_move *m, int r)
{
	return r == -GPC_ENOTFOUND && m->upload && m->resumed > 0;
}

void gpc_move_fail(struct gpc_move *m, int r, const struct gpc_error *err)
{
	if (m->r < 0 || m->again)
		return;
	if (r == -GPC_ECANCELED && gpc_transfer_canceled(m->t))
		return;                 /* it is no failure of the item's */
	if (is_forgotten(m, r)) {
		m->again = true;
		return;
	}
	m->err = *err;
	m->r = m->way->failed ? m->way->failed(m, r, &m->err) : r;
	/* Nobody asked a service: there are no credentials for any other either. */
	if (r == -GPC_EAUTH && err->http == 0)
		gpc_transfer_stop(m->t, r, err);
}

/* Takes back what was counted; ends stay open. */
static void open_again(struct gpc_move *m)
{
	struct gpc_transfer_counts *c = &m->t->counts;
	struct gpc_error err = {0};

	m->again = false;
	c->bytes -= m->counted;
	c->resumed -= m->resumed;
	m->counted = m->resumed = 0;
	free(m->parts);
	m->parts = NULL;
	gpc_set_str(&m->upload, NULL);
	if (++m->again_n > AGAIN_MAX) {
		(void)gpc_fail(&err, GPC_ECONFLICT,
			"it changes again and again while it is moved");
		gpc_move_fail(m, -GPC_ECONFLICT, &err);
		return;
	}
	gpc_move_open(m);
}

static void end(struct gpc_move *m)
{
	struct gpc_error err = {0};
	int r = m->way->end(m, &err);

	if (r < 0)
		gpc_move_fail(m, r, &err);
	else if (r == 0)
		m->ended = true;
}

void gpc_move_settle(struct gpc_move *m)
{
	if (m->running > 0 || m->t->cut || gpc_transfer_canceled(m->t))
		return;
	if (m->r == 0 && m->again) {
		open_again(m);          /* settles it */
		return;
	}
	if (m->r == 0 && m->left == 0 && !m->ended)
		end(m);
	if (m->running == 0 && m->r < 0 && m->upload && !m->dropping) {
		m->dropping = true;
		gpc_move_drop(m, m->upload, m->t->loop);
	}
	if (m->running == 0 && (m->r < 0 || m->ended))
		tell(m);
	else if (m->running == 0 && m->again)
		gpc_move_settle(m);
}

void gpc_move_cut(struct gpc_move *m, struct gpc_net_loop *loop)
{
	/* What an earlier try left and nobody has looked at yet is as good as it was. */
	bool some = !m->begun && gpc_notes_size(&m->notes) > 0;

	for (int i = 0; m->n > 1 && i < m->n; i++)
		some |= m->pieces[i].done > 0;
	if (m->notes.fd < 0 || !some || m->r < 0) {
		gpc_notes_drop(&m->notes);
		gpc_place_drop(&m->place);
		if (m->upload)
			gpc_move_drop(m, m->upload, loop);
	}
	if (m->stale)
		gpc_move_drop(m, m->stale, loop);
}

/* --- its beginning ----------------------------------------------------------- */

void gpc_move_open(struct gpc_move *m)
{
	struct gpc_error err = {0};
	int r = m->way->open(m, &err);

	if (r < 0)
		gpc_move_fail(m, r, &err);
	else if (r == 1)
		m->ended = true;
	else if (m->stale)
		gpc_move_drop(m, m->stale, m->t->loop);
	gpc_move_settle(m);
}

static bool has_room(const struct gpc_move *m, int piece)
{
	const struct gpc_transfer *t = m->t;

	return !m->way->memory || t->held == 0 ||
		m->way->memory(m, piece) <= t->set.memory - t->held;
}

bool gpc_move_ready(struct gpc_move *m, int *ret_piece)
{
	if (m->r < 0 || m->again || m->ended || (m->alone && m->running > 0))
		return false;
	while (m->at < m->n && (m->pieces[m->at].over || m->pieces[m->at].taken))
		m->at++;
	if (m->at == m->n || !has_room(m, m->at))
		return false;
	*ret_piece = m->at;
	return true;
}

void gpc_move_start(struct gpc_move *m, int piece)
{
	struct gpc_error err = {0};
	int r = m->way->start(m, piece, &err);

	if (r < 0) {
		gpc_move_fail(m, r, &err);
		gpc_move_settle(m);
	}
}
