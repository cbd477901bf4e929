/* Pieces of a move, what is counted of them, and what is noted. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/encode.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "transfer/move.h"

#define MIB ((uint64_t)1 << 20)

uint64_t gpc_move_part_size(const struct gpc_move *m, uint64_t size, uint64_t usual)
{
	uint64_t asked = m->t->set.part_size;
	uint64_t least = size / GPC_OBJECT_PARTS + 1;
	uint64_t part = asked ? asked : usual;

	if (part < GPC_OBJECT_PART_MIN)
		part = GPC_OBJECT_PART_MIN;
	if (part < least)
		part = (least + MIB - 1) / MIB * MIB;
	return part;
}

static void forget_pieces(struct gpc_move *m)
{
	for (int i = 0; m->pieces && i < m->n; i++)
		free(m->pieces[i].etag);
	free(m->pieces);
	m->pieces = NULL;
	m->n = m->at = m->left = 0;
}

int gpc_move_plan(struct gpc_move *m, uint64_t size, uint64_t part_size,
	struct gpc_error *err)
{
	uint64_t n = part_size && size > part_size ?
		(size + part_size - 1) / part_size : 1;

	forget_pieces(m);
	gpc_move_tell_size(m, size);
	m->size = size;
	m->part_size = n > 1 ? part_size : size;
	if (n > GPC_OBJECT_PARTS)
		return gpc_fail(err, GPC_EPROTO, "it is too large: %" PRIu64
			" bytes", size);
	m->n = m->left = (int)n;
	m->pieces = gpc_array((size_t)n, sizeof(*m->pieces));
	return 0;
}

uint64_t gpc_move_piece_at(const struct gpc_move *m, int i)
{
	return (uint64_t)i * m->part_size;
}

uint64_t gpc_move_piece_size(const struct gpc_move *m, int i)
{
	uint64_t left = m->size - gpc_move_piece_at(m, i);

	return left < m->part_size ? left : m->part_size;
}

void gpc_move_piece_done(struct gpc_move *m, int i)
{
	m->pieces[i].done = gpc_move_piece_size(m, i);
	m->pieces[i].over = true;
	m->left--;
	if (m->n > 1)
		gpc_move_note(m, i);
}

/* --- counts ------------------------------------------------------------------ */

void gpc_move_tell_size(struct gpc_move *m, uint64_t size)
{
	m->t->counts.all_bytes += size - m->told_size;
	m->told_size = size;
}

void gpc_move_count(struct gpc_move *m, uint64_t bytes)
{
	m->counted += bytes;
	m->t->counts.bytes += bytes;
	m->t->moved += bytes;
}

/* --- notes ------------------------------------------------------------------- */

/* The same from every folder. */
static char *full_name(const struct gpc_transfer_end *e)
{
	gpc_autostr *joined = NULL;
	char *full = NULL;

	if (e->objects)
		return gpc_objects_name(e->objects, e->key);
	joined = e->below ? gpc_path_join(e->path, e->below) : gpc_strdup(e->path);
	if (gpc_path_absolute(joined, &full, NULL) < 0)
		full = gpc_steal(&joined);
	return full;
}

static void add_line(struct gpc_buf *b, const char *word, const char *text)
{
	gpc_buf_addf(b, "%s ", word);
	if (text)
		gpc_percent_encode(b, text, strlen(text), "/:");
	gpc_buf_addc(b, '\n');
}

char *gpc_move_identity(const struct gpc_move *m)
{
	const struct gpc_move_source *s = &m->source;
	gpc_autostr *from = full_name(&m->item.from);
	gpc_autostr *to = full_name(&m->item.to);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	char boot[64];

	gpc_buf_adds(&b, GPC_NOTES_FIRST);
	add_line(&b, "from", from);
	add_line(&b, "to", to);
	add_line(&b, "class", m->t->storage_class);
	add_line(&b, "version", s->version);
	gpc_buf_addf(&b, "file %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 "\n",
		s->dev, s->ino, s->mtime_ns, s->ctime_ns);
	gpc_buf_addf(&b, "size %" PRIu64 "\npart %" PRIu64 "\nsum %d\n", m->size,
		m->part_size, s->has_sum);
	if (m->way->to_file) {
		add_line(&b, "boot", gpc_boot_id(boot));
		gpc_buf_addf(&b, "place %" PRIu64 "\n", gpc_place_number(&m->place));
	}
	return gpc_strdup(gpc_buf_str(&b));
}

static struct gpc_notes_shape shape_of(const struct gpc_move *m, const char *identity)
{
	return (struct gpc_notes_shape){ .identity = identity, .size = m->size,
		.part_size = m->part_size, .n = m->n,
		.parts = !m->way->to_file };
}

static void count_resumed(struct gpc_move *m)
{
	for (int i = 0; i < m->n; i++) {
		if (m->pieces[i].over)
			m->left--;
		m->resumed += m->pieces[i].done;
	}
	m->counted += m->resumed;
	m->t->counts.bytes += m->resumed;
	m->t->counts.resumed += m->resumed;
}

void gpc_move_piece_undo(struct gpc_move *m, int i)
{
	struct gpc_piece *p = &m->pieces[i];

	m->left += p->over;
	m->resumed -= p->done;
	m->counted -= p->done;
	m->t->counts.bytes -= p->done;
	m->t->counts.resumed -= p->done;
	p->over = false;
	p->done = p->read_sum = 0;
}

/* Notes of parts that fit no longer name an upload that should not stay. */
int gpc_move_resume(struct gpc_move *m, struct gpc_error *err)
{
	gpc_autostr *identity = gpc_move_identity(m);
	const struct gpc_notes_shape s = shape_of(m, identity);
	gpc_autostr *upload = NULL;
	bool ok;

	gpc_strv_clear(&m->strays);
	ok = gpc_notes_read(&m->notes, &s, m->pieces, &upload, &m->strays);
	m->begun = true;
	if (ok && (upload != NULL) == s.parts) {
		m->upload = gpc_steal(&upload);
		count_resumed(m);
		return 1;
	}
	if (!s.parts)
		gpc_strv_clear(&m->strays);
	return gpc_move_plan(m, m->size, m->n > 1 ? m->part_size : 0, err);
}

void gpc_move_begin_notes(struct gpc_move *m)
{
	gpc_autostr *identity = gpc_move_identity(m);

	gpc_notes_begin(&m->notes, identity, m->upload, &m->strays);
	m->begun = true;
}

void gpc_move_note(struct gpc_move *m, int i)
{
	gpc_notes_add(&m->notes, i, &m->pieces[i]);
}

void gpc_move_open_notes(struct gpc_move *m)
{
	gpc_autostr *from = full_name(&m->item.from);
	gpc_autostr *to = full_name(&m->item.to);
	gpc_autostr *both = gpc_format("%s\n%s", from, to);
	char name[40];

	if (m->t->state_dir < 0)
		return;
	snprintf(name, sizeof(name), "%016" PRIx64 ".notes",
		gpc_hash64(both, strlen(both)));
	gpc_notes_open(&m->notes, m->t->state_dir, name);
}
