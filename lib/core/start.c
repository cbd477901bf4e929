/* Which checkpoint an attempt goes on from. A machine that finds it damaged is
 * paid for nothing, so it is looked at before: quickly, as a rule, and all bytes
 * of it once an attempt could not restore it. What is damaged is passed over for
 * the newest whole one that led to it; the `attempt` event says so, and fixes it.
 * With none left the job ends: to begin anew would lose work that somebody may
 * still bring back. */
#include "base/crash.h"
#include "base/str.h"
#include "base/time.h"
#include "core/supervision.h"
#include "record/checkpoint.h"
#include "record/whole.h"

/* Other jobs wait meanwhile, and after 60 s they would get another supervisor. */
#define DEEP_MS 20000

struct start {
	struct gpc_supervision *sv;
	int64_t deep_until_ms;          /* 0 = only quickly */
	struct gpc_strv damaged;        /* newest first */
	char *damage;                   /* of the first one */
};

static void start_clear(struct start *x)
{
	gpc_strv_clear(&x->damaged);
	free(x->damage);
}
GPC_CLEANUP_VALUE(start);

/* Whether the last attempt failed between its start and its program, for which
 * the checkpoint that it was to restore may be the reason. */
static bool is_suspect(struct gpc_job_state *st)
{
	const struct gpc_try *t = gpc_job_state_try(st, st->attempt);

	return t && t->reason == GPC_REASON_AGENT_FAILED && !t->running_ms_at &&
		gpc_eq(t->resume_from, st->checkpoint);
}

/* *ret_whole: it can be tried. What is not damage but hides what it is, such as
 * a record of a newer version, the node may know better. */
static int look(struct start *x, const char *id, bool *ret_whole,
	struct gpc_error *err)
{
	struct gpc_supervision *sv = x->sv;
	struct gpc_error why = {0};
	int r = gpc_whole_look_until(sv->session->store, sv->job.id, id,
		x->deep_until_ms, sv->session->cancel, &why);

	*ret_whole = r != -GPC_EPROTO && r != -GPC_ENOTFOUND;
	if (!*ret_whole) {
		gpc_strv_add(&x->damaged, id);
		if (!x->damage)
			gpc_set_str(&x->damage, why.msg);
		return 0;
	}
	if (r == -GPC_EIO || r == -GPC_ECANCELED ||
		(r < 0 && gpc_code_retryable(why.code))) {
		*err = why;
		return gpc_wrap(err, r, "checkpoint %s", id);
	}
	return 0;
}

/* The place in the line of checkpoints that led to one: which attempt, and up to
 * which of its own. */
struct place { int attempt, n; };

static bool set_place(struct place *p, const char *id)
{
	char label[25];

	return id && gpc_checkpoint_id_parse(id, &p->attempt, &p->n, label);
}

/* Whether x stands in the line at or before *p, which moves with it. What an
 * attempt did not go on from is not in the line: a person may have gone back
 * beyond it. */
static bool leads_to(struct gpc_job_state *st,
	const struct gpc_checkpoint_id *x, struct place *p)
{
	while (x->attempt < p->attempt) {
		const struct gpc_try *t = gpc_job_state_try(st, p->attempt);
		struct place from;

		if (!t || !set_place(&from, t->resume_from) ||
			from.attempt >= p->attempt)
			return false;
		*p = from;
	}
	return x->attempt == p->attempt && x->n <= p->n;
}

/* The newest whole one before the damaged one; NULL: there is none. */
static int find_other(struct start *x, const char *damaged, char **ret_id,
	struct gpc_error *err)
{
	struct gpc_job_state *st = &x->sv->journal.state;
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	struct place p;
	int r = gpc_checkpoint_list(x->sv->session->store, x->sv->job.id, &ids,
		err);

	if (r < 0 || !set_place(&p, damaged))
		return r;
	p.n--;
	for (size_t i = ids.n; r == 0 && i-- > 0;) {
		bool whole = false;

		if (!leads_to(st, &ids.v[i], &p))
			continue;
		r = look(x, ids.v[i].id, &whole, err);
		if (r == 0 && whole) {
			*ret_id = gpc_strdup(ids.v[i].id);
			return 0;
		}
	}
	return r;
}

static int choose(struct start *x, char **ret_id, struct gpc_error *err)
{
	struct gpc_job_state *st = &x->sv->journal.state;
	bool whole = false;
	int r;

	if (!st->checkpoint)
		return 0;
	if (is_suspect(st))
		x->deep_until_ms = gpc_boot_ms() + DEEP_MS;
	r = look(x, st->checkpoint, &whole, err);
	if (r == 0 && whole)
		*ret_id = gpc_strdup(st->checkpoint);
	else if (r == 0)
		r = find_other(x, st->checkpoint, ret_id, err);
	return r;
}

static int end_damaged(const struct start *x, bool *progressed,
	struct gpc_error *err)
{
	gpc_supervision_note(x->sv, "checkpoint %s is damaged (%s)%s, and to "
		"begin anew would lose what was done", x->damaged.v[0],
		x->damage, x->damaged.n > 1 ? ", those before it are as well" :
		", there is none before it");
	return gpc_supervision_end(x->sv, GPC_REASON_CHECKPOINT_DAMAGED, 0, 0, 0,
		progressed, err);
}

static struct gpc_json *payload(const struct start *x, const char *from,
	bool uncounted)
{
	const struct gpc_job_state *st = &x->sv->journal.state;
	struct gpc_json *data = gpc_json_object();

	gpc_json_set_int(data, "attempt", st->attempt + 1);
	if (from)
		gpc_json_set_str(data, "resume_from", from);
	if (uncounted)
		gpc_json_set_bool(data, "uncounted", true);
	if (x->damaged.n == 0)
		return data;
	gpc_json_set(data, "damaged", gpc_json_strings(&x->damaged));
	gpc_json_set_str(data, "damage", x->damage);
	return data;
}

int gpc_supervision_attempt(struct gpc_supervision *sv, bool uncounted,
	bool *progressed, struct gpc_error *err)
{
	const struct gpc_job_state *st = &sv->journal.state;
	gpc_auto(start) struct start x = { .sv = sv };
	gpc_autostr *from = NULL;
	int64_t before = st->n;
	int r = gpc_supervision_note_checkpoint(sv, progressed, err);

	if (r < 0 || st->n != before)
		return r;
	r = choose(&x, &from, err);
	if (r < 0) {
		gpc_supervision_note(sv, "tries again: %s", err->msg);
		return r;
	}
	GPC_CRASH("attempt.chosen");
	if (x.damaged.n > 0 && !from)
		return end_damaged(&x, progressed, err);
	r = gpc_supervision_append(sv, GPC_EVENT_ATTEMPT, payload(&x, from,
		uncounted), progressed, err);
	GPC_CRASH("attempt.begun");
	return r;
}
