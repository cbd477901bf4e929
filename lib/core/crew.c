/* See crew.h. Rounds of asking become rarer for a row as a whole, however many
 * jobs wait in it; one that joins, and a place that is freed, bring the next
 * round forward. */
#include "core/crew.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "core/supervision.h"
#include "record/update.h"

#define FIRST_PAUSE_MS 5000
#define MAX_PAUSE_MS 300000

void gpc_crew_clear(struct gpc_crew *c)
{
	gpc_vec_free(&c->waiting);
}

/* --- order ------------------------------------------------------------------ */

static int priority(const struct gpc_supervision *sv)
{
	return gpc_update_priority(&sv->spec, &sv->journal.state);
}

bool gpc_crew_before(const struct gpc_supervision *a,
	const struct gpc_supervision *b)
{
	int x = priority(a), y = priority(b);
	int64_t s = a->journal.state.submitted_ms;
	int64_t t = b->journal.state.submitted_ms;

	if (x != y)
		return x > y;
	return s != t ? s < t : strcmp(a->job.id, b->job.id) < 0;
}

/* --- what is wanted ----------------------------------------------------------- */

static void without_priority(struct gpc_json *resources)
{
	static const char *const lists[] = {"any_of", "ordered"};

	gpc_json_unset(resources, "priority");
	for (size_t i = 0; i < 2; i++) {
		const struct gpc_json *list = gpc_json_get(resources, lists[i]);
		struct gpc_json *copy = gpc_json_array();

		for (const struct gpc_json *m = gpc_json_first(list); m;
			m = gpc_json_next(m)) {
			struct gpc_json *one = gpc_json_copy(m);

			gpc_json_unset(one, "priority");
			gpc_json_add(copy, one);
		}
		if (list)
			gpc_json_set(resources, lists[i], copy);
		else
			gpc_json_free(copy);
	}
}

static char *wants(const struct gpc_supervision *sv, int count)
{
	gpc_autoptr(gpc_json) *spec = gpc_spec_to_json(&sv->spec);
	const struct gpc_json *resources = gpc_json_get(spec, "resources");
	gpc_autoptr(gpc_json) *j = resources ? gpc_json_copy(resources) :
		gpc_json_object();
	gpc_autostr *text = NULL;

	without_priority(j);
	text = gpc_json_print(j);
	return gpc_format("%d %s", count, text);
}

static bool wants_gpus(const struct gpc_spec *spec)
{
	for (size_t i = 0; i < gpc_spec_candidates(spec, NULL); i++) {
		if (gpc_resources_gpu_count(gpc_spec_candidate(spec, i)) > 0)
			return true;
	}
	return false;
}

/* Machines with GPUs and those without come from different stocks, as do those
 * of different providers. A job may name several of these. */
static bool share_provider(const struct gpc_spec *a, const struct gpc_spec *b)
{
	for (size_t i = 0; i < gpc_spec_candidates(a, NULL); i++) {
		gpc_autostr *x = gpc_resources_provider(gpc_spec_candidate(a, i));

		for (size_t k = 0; k < gpc_spec_candidates(b, NULL); k++) {
			gpc_autostr *y = gpc_resources_provider(
				gpc_spec_candidate(b, k));

			if (!x || !y || gpc_eq(x, y))
				return true;
		}
	}
	return false;
}

static bool compete(const struct gpc_spec *a, const struct gpc_spec *b)
{
	return wants_gpus(a) == wants_gpus(b) && share_provider(a, b);
}

/* --- rows --------------------------------------------------------------------- */

static void bring_forward(struct gpc_row *row, int64_t at_ms)
{
	if (at_ms >= row->retry_ms)
		return;
	row->retry_ms = at_ms;
	row->early = true;
}

static struct gpc_row *find_row(struct gpc_crew *c, const char *text)
{
	gpc_vec_each(o, &c->waiting) {
		if (gpc_eq((*o)->row->wants, text))
			return (*o)->row;
	}
	return NULL;
}

static void join(struct gpc_supervision *sv, int count)
{
	struct gpc_crew *c = sv->crew;
	char *text;

	sv->wants_more = true;
	if (sv->row && sv->row_count == count)
		return;
	gpc_row_leave(sv);
	text = wants(sv, count);
	sv->wants_more = true;
	sv->row = find_row(c, text);
	if (sv->row) {
		free(text);
		bring_forward(sv->row, sv->row->refused_ms + FIRST_PAUSE_MS);
	} else {
		sv->row = gpc_alloc(sizeof(*sv->row));
		sv->row->wants = text;
	}
	sv->row->jobs++;
	sv->row_count = count;
	sv->row_round = c->round;
	*gpc_vec_push(&c->waiting) = sv;
}

void gpc_row_leave(struct gpc_supervision *sv)
{
	struct gpc_row *row = sv->row;

	sv->wants_more = false;
	if (!row)
		return;
	sv->row = NULL;
	for (size_t i = 0; i < sv->crew->waiting.n; i++) {
		if (sv->crew->waiting.v[i] != sv)
			continue;
		gpc_vec_remove(&sv->crew->waiting, i);
		break;
	}
	if (--row->jobs > 0)
		return;
	free(row->wants);
	free(row->asker);
	free(row);
}

/* Whether o, which comes before sv, has to ask first. One whose provider did
 * not answer clearly waits on its own and holds nobody up. */
static bool holds_up(struct gpc_supervision *o, struct gpc_supervision *sv,
	int64_t now)
{
	struct gpc_row *theirs = o->row;

	if (o->retry_ms > now)
		return false;
	if (theirs == sv->row)
		return true;
	if (priority(o) <= priority(sv) || !compete(&o->spec, &sv->spec) ||
		theirs->refused_ms >= sv->row->due_ms)
		return false;
	bring_forward(theirs, theirs->refused_ms + FIRST_PAUSE_MS);
	return true;
}

bool gpc_row_is_next(struct gpc_supervision *sv, int count)
{
	int64_t now = gpc_boot_ms();

	join(sv, count);
	/* All have to say what they want before the first one gets it. */
	if (sv->crew->round && sv->row_round == sv->crew->round)
		return false;
	if (now < sv->row->retry_ms || now < sv->retry_ms)
		return false;
	if (!sv->row->due_ms)
		sv->row->due_ms = now;
	gpc_vec_each(o, &sv->crew->waiting) {
		if (*o != sv && gpc_crew_before(*o, sv) &&
			holds_up(*o, sv, now))
			return false;
	}
	return true;
}

void gpc_row_refused(struct gpc_supervision *sv, enum gpc_code code,
	int64_t ends_ms)
{
	struct gpc_row *row = sv->row;
	int64_t now = gpc_boot_ms();

	if (!row)
		return;
	if (!row->pause_ms)
		row->pause_ms = FIRST_PAUSE_MS;
	else if (!row->early)
		row->pause_ms = row->pause_ms > MAX_PAUSE_MS / 2 ? MAX_PAUSE_MS :
			2 * row->pause_ms;
	row->early = false;
	row->due_ms = 0;
	row->refused_ms = now;
	row->code = code;
	gpc_set_str(&row->asker, sv->job.id);
	row->retry_ms = now + row->pause_ms;
	if (ends_ms > now && row->retry_ms > ends_ms)
		row->retry_ms = ends_ms;
}

void gpc_row_got(struct gpc_supervision *sv)
{
	struct gpc_row *row = sv->row;

	if (!row)
		return;
	row->pause_ms = row->retry_ms = row->refused_ms = row->due_ms = 0;
	row->early = false;
	gpc_row_leave(sv);      /* the next one is stepped in this same round */
}

void gpc_crew_freed(struct gpc_crew *c)
{
	int64_t now = gpc_boot_ms();

	gpc_vec_each(o, &c->waiting)
		bring_forward((*o)->row, now);
}
