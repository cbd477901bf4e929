/* `gpucloud checkpoint prune`: removes old checkpoints of a job. One that lives
 * does it itself when it is asked; of one that has ended this process does it.
 */
#include "cmd/checkpoint_verbs.h"

#include "base/time.h"
#include "cmd/pause.h"
#include "cmd/phrase.h"
#include "cmd/session_open.h"
#include "core/prune.h"
#include "core/release.h"
#include "core/view.h"
#include "record/keys.h"

enum { PAUSE_MS = 100, ENSURE_MS = 2000, RELEASE_MS = 60000 };

struct pruning {
	struct gpc_cmd *c;
	struct gpc_session *s;
	const char *job;
	struct gpc_progress *progress;
	struct gpc_prune_options how;
	struct gpc_prune_result x;
};

/* Its end is in sight when its nodes are: they may still save until then. */
static int wait_released(struct pruning *p, struct gpc_error *err)
{
	gpc_auto(gpc_view) struct gpc_view v = {0};
	int r = gpc_view_load(p->s, p->job, &v, err);

	if (r || !gpc_job_status_is_end(v.state.status) ||
		gpc_view_is_over(&v) || gpc_cmd_inside_job())
		return r;
	gpc_progress_text(p->progress, "waiting for its nodes to be released");
	return gpc_release_wait(p->s, p->job, RELEASE_MS, err);
}

/* Until an agent has told that it is done. A job that ends before is pruned by
 * us after all. */
static int wait_served(struct pruning *p, bool *ret_ended,
	struct gpc_error *err)
{
	const struct checkpoint *o = p->c->ctx;
	struct gpc_pace pace = { GPC_PAUSE_BUSY_MS, GPC_PAUSE_BUSY_MOST_MS, 0 };
	int64_t start = gpc_boot_ms(), ensured = 0;
	gpc_key folder;

	gpc_key_job_file(folder, p->job, "");

	for (;;) {
		gpc_auto(gpc_view) struct gpc_view v = {0};
		int64_t now = gpc_boot_ms();
		bool served = false;
		int r = gpc_prune_served(p->s, p->job, p->x.event, &served,
			&p->x, err);

		if (r || served)
			return r;
		r = gpc_view_load(p->s, p->job, &v, err);
		*ret_ended = !r && gpc_job_status_is_end(v.state.status) &&
			!v.derived;
		if (r || *ret_ended)
			return r;
		if (now - ensured >= ENSURE_MS) {
			ensured = now;
			gpc_cmd_ensure_supervisor(p->c, p->s);
		}
		if (gpc_canceled(p->c->cancel))
			return gpc_fail(err, GPC_ECANCELED, "interrupted; %s "
				"does it all the same", p->job);
		if (o->timeout && now - start >= o->timeout)
			return gpc_fail(err, GPC_ETIMEOUT, "%s has not done it "
				"yet; it is %s", p->job, gpc_job_status_to_str(
				v.state.status));
		gpc_progress_text(p->progress,
			gpc_job_status_to_str(v.state.status));
		gpc_cmd_pause(p->c, p->s, folder, PAUSE_MS, &pace, false);
	}
}

static int work(struct pruning *p, struct gpc_error *err)
{
	bool ended = true;
	int r = 0;

	while (!r && ended) {
		ended = false;
		r = p->how.dry_run ? 0 : wait_released(p, err);
		if (!r)
			r = gpc_prune_checkpoints(p->s, p->job, &p->how, &p->x,
				err);
		if (!r && p->x.how == GPC_PRUNE_ASKED)
			r = wait_served(p, &ended, err);
		if (ended)
			gpc_prune_result_clear(&p->x);
	}
	return r;
}

static int print_json(const struct pruning *p, struct gpc_error *err)
{
	struct gpc_json *j = gpc_json_object();

	gpc_json_set_str(j, "job", p->job);
	gpc_json_set_bool(j, "dry_run", p->how.dry_run);
	gpc_json_set(j, "removed", gpc_json_strings(&p->x.removed));
	gpc_json_set_int(j, "blobs", (int64_t)p->x.swept.blobs);
	gpc_json_set_int(j, "temporary_files", (int64_t)p->x.temps);
	gpc_json_set_int(j, "size_bytes", (int64_t)p->x.swept.bytes);
	return gpc_out_json(&p->c->out, "pruned", j, err);
}

static int print(const struct pruning *p, struct gpc_error *err)
{
	gpc_autostr *count = gpc_phrase_count(p->x.removed.n, "checkpoint");
	gpc_autostr *size = gpc_phrase_size(p->x.swept.bytes);
	gpc_autostr *files = gpc_phrase_count(p->x.temps, "temporary file");
	gpc_autostr *temps = p->x.temps ? gpc_format(", %s of killed writers",
		files) : gpc_strdup("");
	bool dry = p->how.dry_run;
	int r = 0;

	if (p->c->out.format == GPC_OUT_JSON)
		return print_json(p, err);
	for (size_t i = 0; !r && i < p->x.removed.n; i++)
		r = gpc_out_print(&p->c->out, err, "%s\n", p->x.removed.v[i]);
	if (r || p->c->out.format == GPC_OUT_NAME)
		return r;
	if (p->x.how == GPC_PRUNE_NOTHING)
		gpc_say(&p->c->talk, "gpucloud: %s has nothing to prune",
			p->job);
	else if (dry)
		gpc_say(&p->c->talk, "gpucloud: %s%s would go, and %s with "
			"them%s", count, temps, size, p->x.swept.bytes ? "" :
			" that can be told from here");
	else
		gpc_say(&p->c->talk, "gpucloud: %s%s removed, %s freed", count,
			temps, size);
	return 0;
}

int gpc_checkpoint_prune_check(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct checkpoint *o = c->ctx;
	int r;

	if (!gpc_cmd_given(c, "keep") || o->keep >= GPC_PRUNE_KEEP_MIN)
		return 0;
	r = gpc_fail(err, GPC_EUSAGE, "--keep %d: the newest %d always stay",
		o->keep, GPC_PRUNE_KEEP_MIN);
	gpc_hint(err, "`gpucloud prune` removes whole jobs that have ended");
	return r;
}

int gpc_checkpoint_prune(struct gpc_cmd *c, struct gpc_session *s,
	const char *job, struct gpc_error *err)
{
	const struct checkpoint *o = c->ctx;
	gpc_autoptr(gpc_progress) *progress = gpc_progress_new(&c->talk,
		"pruning", 0);
	struct pruning p = {.c = c, .s = s, .job = job, .progress = progress,
		.how = {.keep = gpc_cmd_given(c, "keep") ? o->keep : 0,
			.dry_run = o->dry_run}};
	int r = work(&p, err);

	gpc_talk_clear_line(&c->talk);
	if (!r)
		r = print(&p, err);
	gpc_prune_result_clear(&p.x);
	return r;
}
