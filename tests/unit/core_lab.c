/* The bench of the core's tests; see core_lab.h. */
#include "core_lab.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "model/spec.h"
#include "record/checkpoint.h"
#include "record/index.h"
#include "record/journal.h"
#include "record/keys.h"

/* --- clock ------------------------------------------------------------------ */
static atomic_llong offset_ms;
static atomic_bool real_sleep;
static struct { void (*turn)(void *arg); void *arg; } world;

int64_t __real_gpc_boot_ms(void);
int64_t __real_gpc_wall_ms(void);
void __real_gpc_sleep_ms(int64_t ms);
int64_t __wrap_gpc_boot_ms(void);
int64_t __wrap_gpc_wall_ms(void);
void __wrap_gpc_sleep_ms(int64_t ms);

int64_t __wrap_gpc_boot_ms(void)
{
	return __real_gpc_boot_ms() + offset_ms;
}

int64_t __wrap_gpc_wall_ms(void)
{
	return __real_gpc_wall_ms() + offset_ms;
}

void __wrap_gpc_sleep_ms(int64_t ms)
{
	if (real_sleep)
		__real_gpc_sleep_ms(ms);
	else if (ms > 0)
		offset_ms += ms;
	if (!real_sleep && world.turn)
		world.turn(world.arg);
}

void lab_advance(int64_t ms)
{
	offset_ms += ms;
}

void lab_real_sleep(bool on)
{
	real_sleep = on;
}

void lab_on_sleep(void (*turn)(void *arg), void *arg)
{
	world.turn = turn;
	world.arg = arg;
}

/* --- place ------------------------------------------------------------------ */
static void say(void *arg, enum gpc_level level, const char *line)
{
	(void)arg;
	(void)level;
	if (getenv("LAB_LOG"))
		print_message("  %s\n", line);
}

static void set_env(const char *name, const char *prefix, const char *dir,
	const char *below)
{
	gpc_autostr *value = gpc_format("%s%s%s", prefix, dir, below);

	assert_int_equal(setenv(name, value, 1), 0);
}

static void put_identity(const struct lab *lab)
{
	gpc_autostr *dir = gpc_path_join(lab->dir, "store");
	gpc_autostr *path = gpc_path_join(dir, "store.json");
	static const char text[] = "{\"v\":1,\"id\":\"labstore\","
		"\"journal_capable\":true,\"created_ms\":1}";
	struct gpc_error err;

	assert_ok(gpc_mkdirs(dir, 0700, &err));
	assert_ok(gpc_write_file(path, text, sizeof(text) - 1, 0600, &err));
}

struct lab *lab_new(unsigned flags)
{
	struct lab *lab = gpc_alloc(sizeof(*lab));

	offset_ms = 0;
	real_sleep = false;
	lab_on_sleep(NULL, NULL);
	lab->dir = scratch();
	lab->log = (struct gpc_log){ .level = GPC_TRACE, .sink = say };
	set_env("HOME", "", lab->dir, "/home");
	set_env("XDG_STATE_HOME", "", lab->dir, "/state");
	set_env("XDG_CACHE_HOME", "", lab->dir, "/cache");
	/* A name keeps mem:// shared; the folder's makes it this test's own. */
	set_env("LAB_STORE", flags & LAB_FILE ? "file://" : "mem://", lab->dir,
		"/store");
	if (flags & LAB_KNOWN)
		put_identity(lab);
	lab->s = lab_session(lab);
	if (flags & LAB_FAULTY) {
		lab->inner = lab->s->store;
		lab->s->store = gpc_store_fault_new(lab->inner);
		assert_non_null(lab->s->store);
	}
	return lab;
}

const struct gpc_fault lab_store_faults[] = {
	{ .op = GPC_FAULT_GET, .how = GPC_FAULT_BEFORE, .code = GPC_ENET },
	{ .op = GPC_FAULT_GET, .how = GPC_FAULT_BEFORE, .code = GPC_ERATE },
	{ .op = GPC_FAULT_HEAD, .how = GPC_FAULT_BEFORE, .code = GPC_ENET },
	{ .op = GPC_FAULT_LIST, .how = GPC_FAULT_BEFORE, .code = GPC_ENET },
	{ .op = GPC_FAULT_LIST, .how = GPC_FAULT_SHORT, .code = GPC_ENET },
	{ .op = GPC_FAULT_DEL, .how = GPC_FAULT_BEFORE, .code = GPC_ENET },
	{ .op = GPC_FAULT_DEL, .how = GPC_FAULT_AFTER, .code = GPC_ENET },
	{ .op = GPC_FAULT_PUT, .how = GPC_FAULT_BEFORE, .code = GPC_EIO },
	{ .op = GPC_FAULT_PUT, .how = GPC_FAULT_AFTER, .code = GPC_ETIMEOUT },
	{ .op = GPC_FAULT_PUT, .how = GPC_FAULT_DELAYED, .late_ms = 60000,
		.code = GPC_ENET },
	{ .op = GPC_FAULT_PUT, .how = GPC_FAULT_DELAYED, .late_ms = 3000,
		.code = GPC_ENET },
	{ .op = GPC_FAULT_PUT, .how = GPC_FAULT_DELAYED, .late_ms = 200,
		.code = GPC_ETIMEOUT },
	{ .code = GPC_OK },
};

struct gpc_store *lab_inner(struct lab *lab)
{
	return lab->inner ? lab->inner : lab->s->store;
}

struct gpc_session *lab_session(struct lab *lab)
{
	struct gpc_session_options options = {
		.log = &lab->log, .cancel = &lab->cancel, .owner = "lab",
		.store_url = getenv("LAB_STORE"), .self_path = "/bin/false",
		.create_store = true,
	};
	struct gpc_session *s = NULL;
	struct gpc_error err;

	assert_ok(gpc_session_open(&options, &s, &err));
	return s;
}

void lab_free(struct lab *lab)
{
	struct gpc_error err;

	gpc_session_free(lab->s);
	gpc_store_free(lab->inner);
	assert_ok(gpc_rmtree(lab->dir, &err));
	free(lab->dir);
	free(lab);
}

/* --- jobs ------------------------------------------------------------------- */
static struct gpc_json *spec_json(const char *members)
{
	gpc_autostr *text = gpc_format("{\"name\":\"lab\",\"run\":\"true\"%s%s%s}",
		strstr(members, "\"resources\"") ? "" :
		",\"resources\":{\"infra\":\"fake\"}",
		members[0] ? "," : "", members);
	struct gpc_json *j = NULL;
	struct gpc_error err;

	assert_ok(gpc_json_parse(text, strlen(text), &j, &err));
	return j;
}

void lab_spec(const char *members, struct gpc_spec *ret_spec)
{
	gpc_autoptr(gpc_json) *j = spec_json(members);
	struct gpc_error err;

	assert_ok(gpc_spec_from_json(j, "lab", ret_spec, NULL, &err));
	assert_ok(gpc_spec_resolve(ret_spec, &(struct gpc_spec_host){
		.cwd = "/nowhere", .home = "/home/nobody" }, NULL, &err));
}

static void put_json(struct lab *lab, const char *key, struct gpc_json *j)
{
	gpc_autoptr(gpc_json) *owned = j;
	gpc_autostr *text = gpc_json_print(owned);
	struct gpc_store *s = lab_inner(lab);
	struct gpc_error err;

	assert_ok(gpc_store_put(s, key, text, strlen(text), 0, &err));
}

char *lab_job(struct lab *lab, const char *members)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_job) struct gpc_job job = { .v = 1 };
	gpc_auto(gpc_journal) struct gpc_journal journal = {0};
	struct gpc_json *data = gpc_json_object();
	struct gpc_error err;
	char tail[7];
	gpc_key key;

	lab_spec(members, &spec);
	job.id = gpc_format("lab-%s", gpc_rand_base32(tail, 6));
	job.name = gpc_strdup("lab");
	job.kind = gpc_strdup("job");
	job.created_ms = gpc_wall_ms();
	job.owner.hash = gpc_strdup(lab->s->place.owner.hash);
	job.owner.user = gpc_strdup(lab->s->place.owner.user);
	job.owner.host = gpc_strdup(lab->s->place.owner.host);
	job.spec = gpc_spec_to_json(&spec);
	put_json(lab, gpc_key_job(key, job.id), gpc_job_write(&job));
	assert_ok(gpc_index_put_live(lab->s->store, &job, &err));
	gpc_journal_init(&journal, lab->s->store, job.id, "client lab");
	gpc_json_set_int(data, "num_nodes", spec.num_nodes);
	assert_ok(gpc_journal_append(&journal, GPC_EVENT_SUBMITTED, data, &err));
	return gpc_strdup(job.id);
}

/* --- the pretend cloud -------------------------------------------------------- */
static char *cloud(const struct lab *lab, const char *file)
{
	return gpc_format("%s/fake%s%s", lab->s->place.state_dir,
		file[0] ? "/" : "", file);
}

void lab_script(struct lab *lab, const char *json)
{
	gpc_autostr *dir = cloud(lab, ""), *path = cloud(lab, "script.json");
	struct gpc_error err;

	assert_ok(gpc_mkdirs(dir, 0700, &err));
	assert_ok(gpc_write_file(path, json, strlen(json), 0600, &err));
}

static void count_entry(struct lab_ledger *l, struct gpc_pairs *tokens,
	const struct gpc_json *e)
{
	const char *op = gpc_json_get_str(e, "op");
	const char *token = gpc_json_get_str(e, "token");
	int made = (int)gpc_json_get_int(e, "made", 0);

	l->creates += gpc_eq(op, "create");
	l->destroys += gpc_eq(op, "destroy");
	l->made += made;
	l->ended += (int)gpc_json_get_int(e, "ended", 0);
	if (!made)
		return;
	for (const char *t = gpc_pairs_get(tokens, token); t && *t; t++)
		made++;
	l->tokens += !gpc_pairs_has(tokens, token);
	gpc_pairs_setf(tokens, token, "%.*s", made,
		"****************************************");
	if (made > l->max_of_a_token)
		l->max_of_a_token = made;
}

struct lab_ledger lab_ledger(struct lab *lab)
{
	gpc_autostr *path = cloud(lab, "ledger");
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_auto(gpc_pairs) struct gpc_pairs tokens = {0};
	struct lab_ledger l = {0};
	struct gpc_str rest, line;
	struct gpc_error err;
	int r = gpc_read_file(path, (size_t)64 << 20, &b, &err);

	if (r == -GPC_ENOTFOUND)
		return l;
	assert_int_equal(r, 0);
	rest = (struct gpc_str){ b.data, b.len };
	while (gpc_str_split(&rest, '\n', &line)) {
		gpc_autoptr(gpc_json) *e = NULL;

		if (line.len == 0)
			continue;
		assert_ok(gpc_json_parse(line.ptr, line.len, &e, &err));
		count_entry(&l, &tokens, e);
	}
	return l;
}

int lab_running(struct lab *lab)
{
	struct gpc_provider_context ctx;
	gpc_autoptr(gpc_provider) *p = NULL;
	gpc_auto(gpc_instances) struct gpc_instances found = {0};
	struct gpc_error err;
	int n = 0;

	assert_ok(gpc_session_provider(lab->s, "fake", &ctx, &p, &err));
	assert_ok(p->ops->list(p, &found, &err));
	gpc_vec_each(x, &found)
		n += x->state != GPC_INSTANCE_GONE;
	return n;
}

void lab_leave(struct lab *lab, const char *job)
{
	struct gpc_provider_context ctx;
	gpc_autoptr(gpc_provider) *p = NULL;
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_error err;

	gpc_journal_init(&j, lab->s->store, job, "");
	assert_ok(gpc_journal_refresh(&j, NULL, &err));
	assert_ok(gpc_session_provider(lab->s, "fake", &ctx, &p, &err));
	gpc_vec_each(n, &j.state.nodes) {
		const char *id = n->id;

		assert_ok(p->ops->destroy(p, &id, 1, &err));
	}
}

/* --- agents ------------------------------------------------------------------- */
void lab_beat(struct lab *lab, const char *job, int attempt, int rank,
	enum gpc_phase phase)
{
	struct gpc_beat b = { .v = 1, .n = ++lab->beats, .phase = phase };
	gpc_key key;

	put_json(lab, gpc_key_beat(key, job, attempt, rank),
		gpc_beat_write(&b));
}

void lab_exit(struct lab *lab, const char *job, int attempt, int rank,
	enum gpc_reason reason, int code, int signal)
{
	struct gpc_exit x = { .v = 1, .phase = GPC_PHASE_RUN, .code = code,
		.signal = signal, .reason = reason, .rank = rank,
		.at_ms = gpc_wall_ms() };
	gpc_key key;

	put_json(lab, gpc_key_rank(key, job, attempt, rank, "exit.json"),
		gpc_exit_write(&x));
}

void lab_verdict(struct lab *lab, const char *job, int attempt, int rank,
	enum gpc_reason reason, int code)
{
	struct gpc_exit x = { .v = 1, .phase = GPC_PHASE_RUN, .code = code,
		.reason = reason, .rank = rank, .at_ms = gpc_wall_ms() };
	gpc_key key;

	put_json(lab, gpc_key_attempt(key, job, attempt, "verdict.json"),
		gpc_exit_write(&x));
}

void lab_log(struct lab *lab, const char *job, int attempt, int rank,
	const char *text)
{
	struct gpc_store *s = lab_inner(lab);
	struct gpc_error err;
	gpc_key key;

	gpc_key_rank(key, job, attempt, rank, "log/0000000000000000-1");
	assert_ok(gpc_store_put(s, key, text, strlen(text), 0, &err));
}

void lab_checkpoint(struct lab *lab, const char *job, int attempt, int n,
	const char *label)
{
	struct gpc_store *s = lab_inner(lab);
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = { .v = 1 };
	struct gpc_checkpoint_part *part = gpc_vec_push(&c.parts);
	struct gpc_error err;

	c.id = gpc_format("%d-%d-%s", attempt, n, label);
	c.attempt = attempt;
	c.n = n;
	c.label = gpc_strdup(label);
	c.at_ms = gpc_wall_ms();
	part->head = gpc_json_object();         /* of an empty folder */
	gpc_json_set_int(part->head, "v", 1);
	gpc_json_set(part->head, "lists", gpc_json_array());
	assert_ok(gpc_checkpoint_put(s, job, &c, &err));
}

/* --- the supervisor ------------------------------------------------------------- */
struct gpc_supervision *lab_supervise(struct gpc_session *s, const char *job)
{
	struct gpc_supervision *sv = NULL;
	struct gpc_error err;

	assert_ok(gpc_supervision_new(s, job, &sv, &err));
	return sv;
}

bool lab_step(struct gpc_supervision *sv)
{
	bool done = false;
	int64_t wake = 0;

	for (int i = 0; i < 100 && wake == 0 && !done; i++) {
		struct gpc_error err = {0};

		wake = 1;
		if (gpc_supervision_step(sv, &done, &wake, &err) < 0)
			return false;
	}
	return done;
}

void lab_finish(struct gpc_supervision *sv, int64_t ms)
{
	int64_t end = gpc_boot_ms() + ms;

	while (!lab_step(sv)) {
		if (gpc_boot_ms() >= end)
			fail_msg("still %s after %lld ms", gpc_job_status_to_str(
				lab_state(sv)->status), (long long)ms);
		lab_advance(1000);
	}
}

const struct gpc_job_state *lab_state(const struct gpc_supervision *sv)
{
	return gpc_supervision_state(sv);
}

void lab_play(struct lab *lab, const char *job,
	const struct gpc_job_state *st)
{
	for (int rank = 0; rank < st->num_nodes; rank++) {
		if (st->status == GPC_JOB_STARTING ||
			st->status == GPC_JOB_SETUP)
			lab_beat(lab, job, st->attempt, rank, GPC_PHASE_RUN);
		if (st->status == GPC_JOB_RUNNING) {
			lab_exit(lab, job, st->attempt, rank,
				GPC_REASON_COMPLETED, 0, 0);
			lab_beat(lab, job, st->attempt, rank, GPC_PHASE_DONE);
		}
	}
}

void lab_run(struct lab *lab, struct gpc_supervision *sv, const char *job,
	int attempt)
{
	for (int i = 0; i < 20 && (lab_state(sv)->attempt < attempt ||
		lab_state(sv)->status < GPC_JOB_STARTING ||
		lab_state(sv)->status > GPC_JOB_RUNNING); i++) {
		lab_step(sv);
		lab_advance(1000);
	}
	assert_status(sv, "STARTING");
	assert_int_equal(lab_state(sv)->attempt, attempt);
	for (int rank = 0; rank < lab_state(sv)->num_nodes; rank++)
		lab_beat(lab, job, attempt, rank, GPC_PHASE_RUN);
	lab_step(sv);
	assert_status(sv, "RUNNING");
}

struct count { const char *type; int n; };

static int count_event(void *arg, const struct gpc_event *e)
{
	struct count *c = arg;

	c->n += gpc_eq(gpc_event_type_names[e->type], c->type);
	return 0;
}

int lab_events(struct lab *lab, const char *job, const char *type)
{
	struct gpc_store *s = lab_inner(lab);
	struct count c = { .type = type };
	struct gpc_error err;

	assert_ok(gpc_journal_read(s, job, 0, count_event, &c, &err));
	return c.n;
}

void lab_check(struct lab *lab, const char *job, int nodes)
{
	struct gpc_store *s = lab_inner(lab);
	struct lab_ledger l = lab_ledger(lab);
	struct gpc_error err;

	assert_ok(gpc_journal_verify(s, job, &err));
	assert_int_equal(lab_running(lab), 0);
	assert_true(l.max_of_a_token <= nodes);
	assert_int_equal(l.made, l.ended);
}
