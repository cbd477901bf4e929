/* Objects as targets: in one request, or an upload in parts that becomes visible with
 * its last one. */
#include <string.h>

#include "base/str.h"
#include "transfer/move.h"

static int begun(struct gpc_ask *a, const struct gpc_object_result *result,
	struct gpc_error *err)
{
	struct gpc_move *m = a->m;

	if (!result->text || !*result->text)
		return gpc_fail(err, GPC_EPROTO,
			"the server began an upload but did not name it");
	m->upload = gpc_strdup(result->text);
	m->alone = false;
	gpc_move_begin_notes(m);
	return 0;
}

int gpc_move_begin(struct gpc_move *m, struct gpc_error *err)
{
	struct gpc_ask *a = gpc_ask_new(m, -1);
	int r;

	a->over = begun;
	m->alone = true;
	r = gpc_objects_begin(m->item.to.objects, m->t->loop, m->item.to.key,
		&a->options, gpc_ask_done, a, err);
	if (r < 0)
		gpc_ask_free(a);
	return r;
}

static int is_put(struct gpc_ask *a, const struct gpc_object_result *result,
	struct gpc_error *err)
{
	struct gpc_move *m = a->m;
	struct gpc_piece *p = &m->pieces[a->piece];

	p->sum = result->sum;
	if (m->upload && (!result->text || !*result->text))
		return gpc_fail(err, GPC_EPROTO,
			"the server took a part without an ETag");
	if (m->upload)
		p->etag = gpc_strdup(result->text);
	gpc_move_count(m, a->body.size);
	gpc_move_piece_done(m, a->piece);
	return 0;
}

int gpc_move_put(struct gpc_ask *a, struct gpc_error *err)
{
	struct gpc_move *m = a->m;
	struct gpc_objects *o = m->item.to.objects;
	const char *key = m->item.to.key;
	int r;

	a->over = is_put;
	if (m->upload)
		r = gpc_objects_part(o, m->t->loop, key, m->upload, a->piece + 1,
			&a->body, gpc_ask_done, a, err);
	else
		r = gpc_objects_put(o, m->t->loop, key, &a->body, &a->options,
			gpc_ask_done, a, err);
	if (r < 0)
		gpc_ask_free(a);
	return r;
}

static int is_ended(struct gpc_ask *a, const struct gpc_object_result *result,
	struct gpc_error *err)
{
	(void)result;
	(void)err;
	a->m->ended = true;
	return 0;
}

int gpc_move_end_parts(struct gpc_move *m, struct gpc_error *err)
{
	struct gpc_ask *a = gpc_ask_new(m, -1);
	int r;

	m->parts = gpc_array((size_t)m->n, sizeof(*m->parts));
	for (int i = 0; i < m->n; i++)
		m->parts[i] = (struct gpc_object_part){ .etag = m->pieces[i].etag,
			.size = gpc_move_piece_size(m, i),
			.sum = m->pieces[i].sum };
	a->over = is_ended;
	r = gpc_objects_end(m->item.to.objects, m->t->loop, m->item.to.key,
		m->upload, m->parts, m->n, &a->options, gpc_ask_done, a, err);
	if (r < 0)
		gpc_ask_free(a);
	return r < 0 ? r : 1;
}

/* --- uploads that are not wanted ------------------------------------------------ */

static void say_left(const struct gpc_move *m, const char *upload,
	const struct gpc_error *err)
{
	gpc_autostr *to = gpc_move_to(m);

	gpc_log(m->t->set.log, GPC_WARN, "parts of an upload to %s may stay, and cost, "
		"until they are removed%s: %s (upload %s)", to, m->notes.fd >= 0 ?
		", as the same transfer will do when it is begun again" : "",
		err->msg, gpc_objects_upload_id(upload, NULL));
}

static void forget(struct gpc_move *m, const char *upload)
{
	if (gpc_eq(m->upload, upload))
		gpc_set_str(&m->upload, NULL);
	for (size_t i = m->strays.n; i-- > 0;)
		if (gpc_eq(m->strays.v[i], upload))
			gpc_strv_remove(&m->strays, i);
}

/* What fails here does not count instead of what went wrong before. */
static void dropped(void *arg, int r, const struct gpc_object_result *result,
	const struct gpc_error *err)
{
	struct gpc_ask *a = arg;

	if (r < 0)
		say_left(a->m, a->memory, err);
	else
		forget(a->m, a->memory);
	gpc_ask_done(a, 0, result, err);
}

void gpc_move_drop(struct gpc_move *m, const char *upload, struct gpc_net_loop *loop)
{
	struct gpc_ask *a = gpc_ask_new(m, -1);
	struct gpc_error err = {0};
	int r;

	a->memory = gpc_strdup(upload);
	r = gpc_objects_drop(m->item.to.objects, loop, m->item.to.key, upload,
		dropped, a, &err);
	if (r < 0) {
		say_left(m, upload, &err);
		gpc_ask_free(a);
	}
}

void gpc_move_drop_strays(struct gpc_move *m, struct gpc_net_loop *loop)
{
	for (size_t i = 0; i < m->strays.n; i++)
		gpc_move_drop(m, m->strays.v[i], loop);
}

static char *name_of(const struct gpc_transfer_end *e)
{
	gpc_autostr *name = e->objects ? gpc_objects_name(e->objects, e->key) : NULL;

	return name ? gpc_str_brief(name, GPC_PLACE_SHOWN) :
		gpc_place_shown(e->path, e->below);
}

char *gpc_move_from(const struct gpc_move *m)
{
	return name_of(&m->item.from);
}

char *gpc_move_to(const struct gpc_move *m)
{
	return name_of(&m->item.to);
}
