/* Requests under way, whatever they are: what each holds, and what happens when it is
 * over. */
#include "transfer/move.h"

struct gpc_ask *gpc_ask_new(struct gpc_move *m, int piece)
{
	struct gpc_transfer *t = m->t;
	struct gpc_ask *a = gpc_alloc(sizeof(*a));

	a->m = m;
	a->piece = piece;
	a->body.fd = -1;
	a->options.storage_class = t->storage_class;
	a->next = t->asks;
	if (a->next)
		a->next->before = a;
	t->asks = a;
	m->running++;
	t->running++;
	if (piece >= 0)
		m->pieces[piece].taken = true;
	return a;
}

void gpc_ask_free(struct gpc_ask *a)
{
	struct gpc_transfer *t = a->m->t;

	if (a->before)
		a->before->next = a->next;
	else
		t->asks = a->next;
	if (a->next)
		a->next->before = a->before;
	a->m->running--;
	t->running--;
	if (a->piece >= 0)
		a->m->pieces[a->piece].taken = false;
	t->held -= a->held;
	free(a->memory);
	free(a);
}

int gpc_ask_hold(struct gpc_ask *a, uint64_t bytes, struct gpc_error *err)
{
	if (bytes > SIZE_MAX)
		return gpc_fail_memory(err, "a part");
	a->memory = gpc_try_grow(NULL, bytes ? (size_t)bytes : 1, 1);
	if (!a->memory)
		return gpc_fail_memory(err, "a part");
	a->held = bytes;
	a->m->t->held += bytes;
	return 0;
}

/* What a piece of a download has got so far can be built on. */
void gpc_ask_cut(struct gpc_ask *a)
{
	struct gpc_move *m = a->m;

	if (m->way == &gpc_move_down && a->piece >= 0 && m->n > 1 && a->got > 0 &&
		(m->r == 0 || m->err.passes) && !m->again)
		gpc_move_note(m, a->piece);
	gpc_ask_free(a);
}

void gpc_ask_done(void *arg, int r, const struct gpc_object_result *result,
	const struct gpc_error *err)
{
	struct gpc_ask *a = arg;
	struct gpc_move *m = a->m;
	struct gpc_transfer *t = m->t;
	struct gpc_error own = {0};
	bool goes_on;

	if (r < 0 && gpc_transfer_canceled(t)) {
		gpc_ask_cut(a);         /* the rest is gpc_transfer_cut's */
		return;
	}
	if (r == 0 && a->over) {
		r = a->over(a, result, &own);
		err = &own;
	}
	goes_on = r < 0 ? err->passes : m->r < 0;
	if (goes_on)
		gpc_ask_cut(a);
	else
		gpc_ask_free(a);
	if (r < 0)
		gpc_move_fail(m, r, err);
	gpc_move_settle(m);
	gpc_transfer_pump(t);
}
