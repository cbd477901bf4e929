/* `gpucloud submit`: from a spec to a running job, and by default on to its end.
 *
 * Until job.json exists nothing was made and an interrupt leaves nothing; from
 * then on the job lives by itself, and all that an interrupt ends is our
 * looking on.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "cmd/attach.h"
#include "cmd/command.h"
#include "cmd/leave.h"
#include "cmd/obstacles.h"
#include "cmd/phrase.h"
#include "cmd/plan_print.h"
#include "cmd/sent.h"
#include "cmd/session_open.h"
#include "cmd/spec_load.h"
#include "core/bundle_send.h"
#include "core/disk_room.h"
#include "core/machine.h"
#include "core/plan.h"
#include "core/ports.h"
#include "core/submit.h"

struct submit {
	struct gpc_spec_cli spec;
	bool detach, wait, dry_run, yes, with_git, skip_unreadable;
	const char *pull, *once;
	enum gpc_credentials credentials;
	int64_t tether;
};

static const struct gpc_opt options[] = {
	GPC_OPT_FLAG('d', "detach", struct submit, detach,
		"print the job's id and return when it is handed over",
		.unless = "wait"),
	GPC_OPT_FLAG(0, "wait", struct submit, wait,
		"wait for the end, but do not show the job's output",
		.unless = "detach"),
	GPC_OPT_FLAG('n', "dry-run", struct submit, dry_run,
		"show the plan and the resolved spec; make nothing",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG('y', "yes", struct submit, yes,
		"do not ask before money is spent", .guarded = true),
	GPC_OPT_STR(0, "pull", struct submit, pull, "DIR",
		"fetch the artifacts into DIR at the end",
		.complete = GPC_COMPLETE_DIR, .guarded = true),
	GPC_OPT_STR(0, "once", struct submit, once, "KEY",
		"a second submit with this KEY gives the first one's job",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_TETHER(struct submit, tether),
	GPC_OPT_FLAG(0, "with-git", struct submit, with_git,
		"send the folder .git too", .guarded = true),
	GPC_OPT_FLAG(0, "skip-unreadable", struct submit, skip_unreadable,
		"leave out files that cannot be read"),
	GPC_OPT_ENUM(0, "credentials", struct submit, credentials, "WHAT",
		gpc_credentials_words,
		"of files that look like credentials", .guarded = true),
	GPC_OPT_GROUP(struct submit, spec, struct gpc_spec_cli,
		gpc_spec_cli_options, .key = "submit"),
	GPC_OPT_END
};

static bool as_json(const struct gpc_cmd *c)
{
	return c->out.format == GPC_OUT_JSON;
}

/* --- dry run --------------------------------------------------------------- */
static int print_yaml(struct gpc_cmd *c, const struct gpc_spec_file *file,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int r = gpc_spec_file_to_yaml(file, &b, err);

	if (!r)
		r = gpc_buf_check(&b, err);
	return r ? r : gpc_out_write(&c->out, b.data, b.len, err);
}

/* Takes plans. */
static int print_spec(struct gpc_cmd *c, const struct gpc_spec_file *file,
	struct gpc_json *plans, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *owned = plans;
	struct gpc_json *j;

	if (!as_json(c))
		return print_yaml(c, file, err);
	j = gpc_json_object();
	gpc_json_set(j, "spec", gpc_spec_file_to_json(file));
	gpc_json_set(j, "plans", gpc_steal(&owned));
	return gpc_out_json(&c->out, "plan", j, err);
}

/* Legal, and of no use: nothing there can idle. */
static void warn_idle(struct gpc_cmd *c, const struct gpc_spec *spec,
	const struct gpc_plan *plan)
{
	gpc_autostr *where = NULL;

	if (spec->limits.idle_gpu_below <= 0 || plan->offers.v[0].gpus > 0)
		return;
	where = gpc_spec_where(spec, "limits.idle");
	gpc_log(&c->log, GPC_WARN, "%s: limits.idle never ends this job: it "
		"looks at GPUs, and the machine has none", where);
}

/* Bytes between regions are billed, and take longer. */
static void warn_region(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_plan *plan)
{
	const struct gpc_offer *o = &plan->offers.v[0];
	gpc_autostr *url = NULL, *region = NULL;

	if (!gpc_eq(o->provider, "aws") || !s->store ||
		!gpc_starts_with(s->store->url, "s3:") ||
		gpc_store_address(s->store, "store.json", &url, &region, NULL) < 0)
		return;
	if (region && !gpc_eq(region, o->region))
		gpc_log(&c->log, GPC_WARN, "the store is in %s and the machine in "
			"%s: AWS bills what is sent between regions", region,
			o->region);
}

/* Elsewhere it is the size that the disk is made with; this machine has the one that it
 * has. */
static void warn_disk(struct gpc_cmd *c, const struct gpc_session *s,
	const struct gpc_spec *spec, const struct gpc_plan *plan)
{
	const struct gpc_resources *r = gpc_spec_candidate(spec,
		gpc_plan_candidate(&plan->offers.v[0]));
	uint64_t room = gpc_disk_room(s, plan);
	gpc_autostr *where = gpc_spec_where(spec, "resources.disk_size");
	gpc_autostr *want = gpc_phrase_size(r->disk_bytes);
	gpc_autostr *have = gpc_phrase_size(room);

	if (room && r->disk_bytes > room)
		gpc_log(&c->log, GPC_WARN, "%s: resources.disk_size asks for %s, "
			"and this machine has %s free%s: the job may fill its "
			"disk", where, want, have, plan->num_nodes > 1 ?
			" for each node" : "");
}

/* Whatever listens there already answers in the job's place, or keeps it from it. */
static void warn_ports(struct gpc_cmd *c, const struct gpc_spec *spec,
	const struct gpc_plan *plan)
{
	gpc_auto(gpc_strv) struct gpc_strv taken = {0};
	gpc_autostr *where = gpc_spec_where(spec, "resources.ports");
	gpc_autostr *list = NULL;
	bool here;

	gpc_ports_taken(spec, plan->offers.v[0].provider, &here, &taken);
	list = gpc_strv_join(&taken, ", ");
	if (taken.n)
		gpc_log(&c->log, GPC_WARN, "%s: resources.ports: %s %s taken on "
			"this machine already: `ss -ltnp` shows by whom", where,
			list, taken.n > 1 ? "are" : "is");
}

/* What is made of a plan, once there is one. */
static void say_plan(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_spec *spec, const struct gpc_tether *tether,
	const struct gpc_sent *sent, const struct gpc_plan *plan)
{
	const struct submit *o = c->ctx;
	/* what runs for long should not be preceded by pages */
	bool list_files = c->global.verbose > (o->dry_run ? 0 : 1);
	gpc_autostr *machine = s->store ? gpc_machine_standby(s) : NULL;
	gpc_autostr *who = machine ? gpc_format("a background process on this "
		"machine, until the job ends; %s, when it is gone", machine) :
		NULL;

	gpc_plan_say(c, &(struct gpc_plan_text){ .spec = spec, .sent = sent,
		.plan = plan, .list_files = list_files, .supervisor = who,
		.tether_ms = tether->within_ms });
	gpc_sent_warn(c, sent);
	warn_idle(c, spec, plan);
	warn_disk(c, s, spec, plan);
	warn_ports(c, spec, plan);
	warn_region(c, s, plan);
}

static bool make_plan(struct gpc_session *s, const struct gpc_spec *spec,
	struct gpc_plan *plan, struct gpc_errors *found)
{
	struct gpc_error why = {0};

	return gpc_obstacles_can_plan(spec) && gpc_obstacle(found,
		gpc_plan_make(s, spec, (struct gpc_money){0}, 0, plan, &why),
		&why);
}

/* A dry run goes on although something is in the way, with what needs nothing of
 * that; has_files: all that is to be sent is there. True with a whole plan. */
static bool plan_one(struct gpc_cmd *c, struct gpc_session *s,
	struct gpc_spec *spec, const struct gpc_tether *tether, bool has_files,
	struct gpc_sent *sent, struct gpc_plan *plan, struct gpc_errors *found)
{
	const struct submit *o = c->ctx;
	const struct gpc_sent_options how = {
		.with_git = o->with_git,
		.skip_unreadable = o->skip_unreadable,
		.credentials = o->credentials,
	};
	struct gpc_error why = {0};
	/* What needs nobody to be asked comes first: this machine is at hand, and so is
	 * the workdir, but buckets and clouds are not. */
	bool here = !gpc_bundle_is_needed(spec);
	bool planned = here && make_plan(s, spec, plan, found);

	if (has_files && (!found->n || o->dry_run))
		gpc_obstacle(found, gpc_sent_scan(c, s, spec, &how, sent, &why),
			&why);
	if (!here && (!found->n || o->dry_run))
		planned = make_plan(s, spec, plan, found);
	if (!planned || !has_files || found->n)
		return false;
	if (gpc_obstacle(found, gpc_bucket_mounts_plan(s, spec, plan,
			&sent->buckets, &why), &why))
		gpc_obstacle(found, gpc_ports_allow_caller(s, spec, plan, &why),
			&why);
	if (found->n)
		return false;
	say_plan(c, s, spec, tether, sent, plan);
	return true;
}

static void warn_all(struct gpc_cmd *c, const struct gpc_strv *warnings)
{
	for (size_t i = 0; i < warnings->n; i++)
		gpc_log(&c->log, GPC_WARN, "%s", warnings->v[i]);
}

static void try_one(struct gpc_cmd *c, struct gpc_session *s,
	struct gpc_spec *spec, const struct gpc_tether *tether, bool unset,
	struct gpc_json *plans, struct gpc_errors *found)
{
	gpc_auto(gpc_strv) struct gpc_strv warnings = {0};
	gpc_auto(gpc_sent) struct gpc_sent sent = {0};
	gpc_auto(gpc_plan) struct gpc_plan plan = {0};
	gpc_auto(gpc_errors) struct gpc_errors own = {0};

	gpc_obstacles_at_hand(spec, unset, &warnings, &own);
	warn_all(c, &warnings);
	if (plan_one(c, s, spec, tether, !unset && !own.n, &sent, &plan, &own))
		gpc_json_add(plans, gpc_plan_json(&(struct gpc_plan_text){
			.spec = spec, .sent = &sent, .plan = &plan,
			.tether_ms = tether->within_ms }));
	gpc_errors_add_all(found, &own);
}

/* A store that cannot be reached keeps nobody from looking at the rest. */
static int dry_session(struct gpc_cmd *c, struct gpc_errors *found,
	struct gpc_session **ret_s, struct gpc_error *err)
{
	struct gpc_error why = {0};

	if (gpc_obstacle(found, gpc_cmd_session(c, GPC_STORE_MAY_LACK, ret_s,
			&why), &why))
		return 0;
	return gpc_cmd_session(c, GPC_STORE_UNSEEN, ret_s, err);
}

/* Everything is shown, also what could not run yet: then the end is an error
 * that says so, and further ones. */
static int dry_run(struct gpc_cmd *c, struct gpc_spec_file *file,
	const struct gpc_tether *tether, struct gpc_errors *found,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_session) *s = NULL;
	struct gpc_json *plans = gpc_json_array();
	struct gpc_error late = {0};
	bool unset = found->n > 0;
	int r = dry_session(c, found, &s, err), printed;

	for (size_t i = 0; !r && i < file->tasks.n; i++)
		try_one(c, s, &file->tasks.v[i], tether, unset, plans, found);
	printed = print_spec(c, file, plans, &late);
	if (!r && gpc_canceled(c->cancel))
		return gpc_fail(err, GPC_ECANCELED, "interrupted");
	if (!r)
		r = gpc_errors_take(found, &c->also, err);
	if (!r && printed)
		*err = late;
	return r ? r : printed;
}

/* --- submitting ------------------------------------------------------------ */
static void show_progress(void *arg, uint64_t done, uint64_t total)
{
	gpc_progress_bytes(arg, done, total);
}

static int hand_over(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_spec *spec, const struct gpc_sent *sent,
	const struct gpc_plan *plan, struct gpc_tether *tether, struct gpc_submit_result *ret_r,
	struct gpc_error *err)
{
	const struct submit *o = c->ctx;
	gpc_autoptr(gpc_progress) *p = gpc_progress_new(&c->talk, "packing",
		sent->tree.n_bytes);
	struct gpc_submit_options how = {
		.once_key = o->once,
		.archs = gpc_plan_archs(plan),
		.tether = tether->within_ms ? tether : NULL,
		.progress = show_progress, .progress_arg = p,
		.buckets = &sent->buckets,
		.git = &sent->git,
	};
	int r = gpc_submit(s, spec, &sent->tree, &sent->mounts, &how,
		ret_r, err);

	if (!r)
		gpc_cmd_ensure_supervisor(c, s);
	else if (r == -GPC_ECANCELED)
		gpc_hint(err, "no job was made");
	return r;
}

static void say_submitted(struct gpc_cmd *c,
	const struct gpc_submit_result *res)
{
	if (res->existed) {
		gpc_say(&c->talk, "gpucloud: %s was submitted before with this "
			"--once key", res->job);
		return;
	}
	gpc_autostr *sent = gpc_phrase_size(res->sent_bytes);
	if (res->sent_bytes)
		gpc_say(&c->talk, "gpucloud: submitted %s (%s sent)", res->job,
			sent);
	else
		gpc_say(&c->talk, "gpucloud: submitted %s%s", res->job,
			res->files ? " (nothing new to send)" : "");
}

static int print_result(struct gpc_cmd *c, const struct gpc_submit_result *res,
	struct gpc_error *err)
{
	struct gpc_json *j;

	if (!as_json(c))
		return gpc_out_print(&c->out, err, "%s\n", res->job);
	j = gpc_json_object();
	gpc_json_set_str(j, "job", res->job);
	gpc_json_set_bool(j, "existed", res->existed);
	gpc_json_set_int(j, "files", (int64_t)res->files);
	gpc_json_set_int(j, "size_bytes", (int64_t)res->bytes);
	gpc_json_set_int(j, "sent_bytes", (int64_t)res->sent_bytes);
	return gpc_out_json(&c->out, "submit", j, err);
}

/* Whoever does not get the id must learn it from the error: the job is there. */
static int print_id(struct gpc_cmd *c, const struct gpc_submit_result *res,
	struct gpc_error *err)
{
	int r = print_result(c, res, err);

	if (!r)
		r = gpc_out_finish(&c->out, err);
	if (r)
		gpc_attach_hint(res->job, err);
	return gpc_wrap(err, r, "%s is submitted, but", res->job);
}

/* Before the store is made. */
static int check_now(struct gpc_cmd *c, const struct gpc_spec *spec,
	struct gpc_errors *found, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv warnings = {0};

	gpc_obstacles_at_hand(spec, found->n > 0, &warnings, found);
	warn_all(c, &warnings);
	return gpc_errors_take(found, &c->also, err);
}

static int submit_one(struct gpc_cmd *c, struct gpc_spec *spec,
	const struct gpc_tether *tether, struct gpc_errors *found,
	struct gpc_error *err)
{
	const struct submit *o = c->ctx;
	gpc_auto(gpc_sent) struct gpc_sent sent = {0};
	gpc_auto(gpc_plan) struct gpc_plan plan = {0};
	struct gpc_submit_result res = {0};
	struct gpc_attach how = {
		.follow = { .log = !o->wait, .json = as_json(c) },
		.tether = *tether,
		.pull = o->pull,
	};
	gpc_autoptr(gpc_session) *s = NULL;
	int r = check_now(c, spec, found, err);

	if (!r)
		r = gpc_cmd_session(c, GPC_STORE_MAKE, &s, err);
	if (!r && !plan_one(c, s, spec, tether, true, &sent, &plan, found))
		r = gpc_errors_take(found, &c->also, err);
	if (!r)
		r = gpc_leave_ask(c, spec, &plan, o->yes, err);
	if (!r)
		r = hand_over(c, s, spec, &sent, &plan, &how.tether, &res,
			err);
	gpc_git_tree_clear(&sent.git);  /* what it holds is in the store */
	if (r)
		return r;
	if (o->detach)
		return print_id(c, &res, err);
	say_submitted(c, &res);
	how.existed = res.existed;
	how.follow.fresh = !res.existed;
	return gpc_attach(c, s, res.job, &how, err);
}

static int check_options(const struct gpc_cmd *c, struct gpc_error *err)
{
	const struct submit *o = c->ctx;
	int r;

	if (c->argc == 0 && !c->rest) {
		r = gpc_fail(err, GPC_EUSAGE, "submit: which spec or program?");
		gpc_hint(err, "gpucloud submit job.yaml, or gpucloud submit "
			"--workdir . -- python3 train.py; `gpucloud init` writes "
			"a spec");
		return r;
	}
	if (c->rest && c->n_rest == 0)
		return gpc_fail(err, GPC_EUSAGE,
			"submit: no program after --");
	if (o->detach && (o->wait || o->pull))
		return gpc_fail(err, GPC_EUSAGE, "-d returns at once; %s waits "
			"for the end", o->wait ? "--wait" : "--pull");
	return 0;
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct submit *o = c->ctx;
	gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
	gpc_auto(gpc_errors) struct gpc_errors found = {0};
	struct gpc_tether tether = {0};
	int r = check_options(c, err);

	if (!r)
		r = gpc_attach_tether(c, o->tether, !o->detach, &tether, err);
	if (!r)
		r = gpc_spec_load(c, &o->spec, c->argc ? c->argv[0] : NULL,
			c->rest, c->n_rest, &file, &found, err);
	if (r)
		return r;
	if (o->dry_run)
		return dry_run(c, &file, &tether, &found, err);
	r = gpc_spec_file_check_supported(&file, err);
	return r ? r : submit_one(c, &file.tasks.v[0], &tether, &found, err);
}

const struct gpc_command gpc_command_submit = {
	.name = "submit",
	.summary = "run a job, and by default watch it to its end",
	.usage = "[OPTION]... SPEC [-- PROGRAM [ARGUMENT]...]\n"
		"[OPTION]... -- PROGRAM [ARGUMENT]...",
	.about = "Sends a snapshot of the workdir, makes the job that SPEC "
		"(a YAML file, or - for stdin) or PROGRAM describes, and shows "
		"its output until it ends; the exit status is then the job's. "
		"Ctrl-C only stops the watching: the job runs on, and a "
		"background supervisor moves it forward.",
	.group = GPC_GROUP_LIFE,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT | GPC_CMD_REST,
	.options = options,
	.ctx_size = sizeof(struct submit),
	.max_args = 1,
	.complete = GPC_COMPLETE_FILE,
	.run = run,
};
