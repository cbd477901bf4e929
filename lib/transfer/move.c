/* The life of a move: it is opened, its pieces are moved, its end is made sure of, and
 * it is told; or it fails, and nothing of it stays, unless it can go on when what was out
 * of reach is back; or it is cut short. */
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
	gpc_strv_clear(&m->strays);
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
	if (m->stays)
		c->kept += m->counted;
}

/* Whether the next try can build on something. What an earlier one left and nobody has
 * looked at yet is as good as it was. */
static bool can_go_on(const struct gpc_move *m)
{
	bool some = !m->begun && gpc_notes_size(&m->notes) > 0;

	for (int i = 0; m->n > 1 && i < m->n; i++)
		some |= m->pieces[i].done > 0;
	return m->notes.fd >= 0 && some;
}

void gpc_move_end_notes(struct gpc_move *m)
{
	if (m->stays || (m->upload && !m->ended)) {
		gpc_notes_close(&m->notes);
	} else if (m->strays.n) {
		gpc_set_str(&m->upload, NULL);
		gpc_move_begin_notes(m);
		gpc_notes_close(&m->notes);
	} else {
		gpc_notes_drop(&m->notes);
	}
}

static void tell(struct gpc_move *m)
{
	gpc_autostr *from = m->r < 0 ? gpc_move_from(m) : NULL;
	struct gpc_transfer *t = m->t;

	gpc_move_end_notes(m);
	if (!m->stays)                  /* what has its name is no temporary */
		gpc_place_drop(&m->place);
	count_end(m);
	if (m->stays)
		gpc_hint_then(&m->err, "the same command goes on where this "
			"one was");
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

/* There are no credentials for any other either, or nobody to ask. */
static bool is_for_all(const struct gpc_move *m, int r, const struct gpc_error *err)
{
	struct gpc_net_outage o;

	if (r == -GPC_EAUTH)
		return err->http == 0 || err->passes;
	return err->passes && gpc_net_outage(m->t->net, &o) && o.over;
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
	if (is_for_all(m, r, err))
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
		gpc_hint(&err, "repeat this when nobody writes it, or move a copy of it");
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
	if (m->running == 0 && m->r < 0 && !m->dropping)
		m->stays = m->err.passes && can_go_on(m);
	if (m->running == 0 && m->r < 0 && m->upload && !m->stays && !m->dropping) {
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
	m->stays = can_go_on(m) && (m->r == 0 || m->err.passes);
	if (!m->stays) {
		gpc_place_drop(&m->place);
		if (m->upload)
			gpc_move_drop(m, m->upload, loop);
	}
	gpc_move_drop_strays(m, loop);
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
	else
		gpc_move_drop_strays(m, m->t->loop);
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
