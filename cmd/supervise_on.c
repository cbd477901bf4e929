/* See supervise_on.h and core/machine.h. */
#include "cmd/supervise_on.h"

#include "cmd/attach.h"
#include "cmd/leave.h"
#include "cmd/phrase.h"
#include "cmd/plan_print.h"
#include "cmd/session_open.h"
#include "cmd/spec_load.h"
#include "core/machine.h"
#include "core/submit.h"

/* --- what it is ------------------------------------------------------------ */

int gpc_cmd_supervise_on_check(const char *infra, struct gpc_error *err)
{
	gpc_autostr *name = gpc_strndup(infra, strcspn(infra, "/"));
	int r;

	if (gpc_eq(name, "aws"))
		return 0;
	r = gpc_fail(err, GPC_EUNSUPPORTED, "supervise --on %s: so far such a "
		"machine can be had of aws alone", infra);
	gpc_hint(err, "gpucloud supervise --on aws");
	return r;
}

/* A folder here is nothing that another machine reaches, and its role is for one store:
 * a journal that is kept apart is not there. */
static int check_store(const struct gpc_session *s, struct gpc_error *err)
{
	int r;

	if (gpc_store_is_far(s->store) && gpc_store_of_nodes(s->store) == s->store)
		return 0;
	r = gpc_fail(err, GPC_ECONFIG, "%s, or its journal, is on this machine or in "
		"another store: a machine elsewhere could not write its jobs",
		s->store->url);
	gpc_hint(err, "jobs that are to go on without this machine need a store "
		"in a bucket: --store s3://BUCKET/PREFIX");
	return r;
}

/* It works for this owner, and by this configuration of its cloud. */
static void fill_envs(const struct gpc_cmd *c, struct gpc_pairs *to)
{
	const char *owner = gpc_config_str(&c->config, GPC_CONFIG_OWNER);
	gpc_autostr *me = owner ? gpc_strdup(owner) : gpc_session_owner_default();
	gpc_autostr *as = gpc_config_env_name(
		gpc_config_fields[GPC_CONFIG_OWNER].name);

	gpc_pairs_set(to, as, me);
	for (int i = 0; i < GPC_CONFIG__COUNT; i++) {
		enum gpc_config_key key = (enum gpc_config_key)i;
		const char *name = gpc_config_fields[i].name;
		gpc_autostr *env = gpc_config_env_name(name);

		if (gpc_starts_with(name, "aws.") &&
			gpc_config_origin(&c->config, key) != GPC_FROM_DEFAULT &&
			gpc_config_str(&c->config, key))
			gpc_pairs_set(to, env, gpc_config_str(&c->config, key));
	}
}

static int make_spec(struct gpc_cmd *c, const struct gpc_supervise_on *o,
	struct gpc_spec *ret_spec, struct gpc_error *err)
{
	gpc_auto(gpc_spec_host_owned) struct gpc_spec_host_owned h;
	gpc_auto(gpc_pairs) struct gpc_pairs envs = {0};
	const struct gpc_machine_wish wish = { .infra = o->infra,
		.cost = o->max_cost, .envs = &envs };
	int r;

	gpc_spec_host_init(&h, c->cancel);
	fill_envs(c, &envs);
	gpc_machine_spec(&wish, ret_spec);
	ret_spec->life_ms = o->life_ms ? o->life_ms : GPC_MACHINE_LIFE_MS;
	r = gpc_spec_resolve(ret_spec, &h.host, NULL, err);
	return r ? r : gpc_spec_check_supported(ret_spec, NULL, NULL, err);
}

/* --- making it --------------------------------------------------------------- */

static int submit(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_spec *spec, struct gpc_submit_result *ret_res,
	struct gpc_error *err)
{
	const struct gpc_job_supervisor as = {
		.profile = (char *)gpc_config_str(&c->config,
			GPC_CONFIG_AWS_SUPERVISOR_PROFILE),
		.life_ms = spec->life_ms,
	};
	const struct gpc_submit_options how = { .supervisor = &as };
	const struct gpc_tree nothing = {0};
	const struct gpc_mounts none = {0};
	int r = gpc_submit(s, spec, &nothing, &none, &how, ret_res, err);

	if (r)
		return r;
	gpc_machine_remember(s, ret_res->job);
	gpc_cmd_ensure_supervisor(c, s);
	return gpc_out_print(&c->out, err, "%s\n", ret_res->job);
}

static void say_runs(struct gpc_cmd *c, const char *job)
{
	gpc_say(&c->talk, "gpucloud: %s stands by: it moves the jobs when no "
		"process of this machine does\n"
		"  ends        with the last job\n"
		"  end it      gpucloud cancel %s", job, job);
}

/* Until it runs, nobody but this machine would move the jobs. */
static int watch(struct gpc_cmd *c, struct gpc_session *s, const char *job,
	struct gpc_error *err)
{
	const struct gpc_follow_options how = { .fresh = true,
		.until_runs = true };
	gpc_autoptr(gpc_follow) *f = NULL;
	int r = gpc_follow_new(c, s, job, &how, &f, err);

	if (!r)
		r = gpc_follow_run(f, 0, err);
	if (r == -GPC_ECANCELED) {
		gpc_follow_detach(f);
		c->exit_status = 128 + c->cancel->signal;
		return 0;
	}
	if (r)
		return r;
	if (gpc_job_status_is_end(gpc_follow_view(f)->state.status))
		c->exit_status = gpc_follow_end(f);
	else
		say_runs(c, job);
	return 0;
}

static int plan(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_spec *spec, const struct gpc_supervise_on *o,
	struct gpc_error *err)
{
	gpc_auto(gpc_plan) struct gpc_plan p = {0};
	int r = gpc_plan_make(s, spec, (struct gpc_money){0}, 0, &p, err);

	if (r)
		return r;
	gpc_plan_say(c, &(struct gpc_plan_text){ .spec = spec, .plan = &p,
		.supervisor = "itself, and a background process on this machine "
		"while there is one" });
	return o->dry_run ? 0 : gpc_leave_ask(c, spec, &p, o->yes, err);
}

int gpc_cmd_supervise_on(struct gpc_cmd *c, struct gpc_session *s,
	const struct gpc_supervise_on *o, struct gpc_error *err)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	struct gpc_submit_result res = {0};
	struct gpc_machine_look look;
	int r = check_store(s, err);

	if (!r)
		r = gpc_machine_look(s, &look, err);
	if (r)
		return r;
	if (look.machine[0]) {
		gpc_say(&c->talk, "gpucloud: %s supervises already", look.machine);
		gpc_machine_remember(s, look.machine);
		return gpc_out_print(&c->out, err, "%s\n", look.machine);
	}
	if (!look.jobs && !o->dry_run) {
		gpc_say(&c->talk, "gpucloud: there is no job that it could move: "
			"submit one first");
		return 0;
	}
	r = make_spec(c, o, &spec, err);
	if (!r)
		r = plan(c, s, &spec, o, err);
	if (r || o->dry_run)
		return r;
	r = submit(c, s, &spec, &res, err);
	return r ? r : watch(c, s, res.job, err);
}
