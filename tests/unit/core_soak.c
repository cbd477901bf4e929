/* A supervisor that lives through thousands of jobs must end as small as it
 * began. Time is compressed: between two of its rounds the world (clients,
 * agents, the cloud) has its turn and the clock moves on. Of jobs that are over
 * nothing stays: no byte of memory, no descriptor, no object, no file.
 *
 * What is compared are bytes in use, each time that only one and the same job
 * is left: after a third of the jobs, when every table has its size, and at the
 * end. GPUCLOUD_TEST_LONG=1 makes it 10,000 jobs. */
#include <dirent.h>
#include <ftw.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "core/cost.h"
#include "core/logs.h"
#include "core/prune.h"
#include "core/remove.h"
#include "core/request.h"
#include "core/view.h"
#include "core_lab.h"
#include "provider/fake_book.h"
#include "record/index.h"
#include "record/journal.h"

enum kind { SUCCESS, FAILURE, CANCEL, CANCEL_NOW, LOST, GANG, RESUMED, PRUNED,
	SILENT, KEEPER, KINDS };
enum { SLOTS = 6, TURN_MS = 1000, QUIET_TURNS = 20,
	SLACK = 512 };          /* numbers get longer; two thirds of the jobs would
	                         * leave more than that */

/* How many of 20 jobs are of a kind, and how they end. */
static const struct {
	int share;
	const char *members;
	enum gpc_job_status end;
} kinds[KINDS] = {
	[SUCCESS] = { 5, "", GPC_JOB_SUCCEEDED },
	[FAILURE] = { 3, "\"recovery\":{\"restarts\":1}", GPC_JOB_FAILED },
	[CANCEL] = { 2, "", GPC_JOB_CANCELLED },
	[CANCEL_NOW] = { 1, "", GPC_JOB_CANCELLED },
	[LOST] = { 3, "\"checkpoint\":{\"path\":\"c\"}", GPC_JOB_SUCCEEDED },
	[GANG] = { 2, "\"num_nodes\":3", GPC_JOB_SUCCEEDED },
	[RESUMED] = { 2, "\"checkpoint\":{\"path\":\"c\"}", GPC_JOB_SUCCEEDED },
	[PRUNED] = { 2, "\"checkpoint\":{\"path\":\"c\",\"keep\":2}",
		GPC_JOB_SUCCEEDED },
	[SILENT] = { 0, "", GPC_JOB_SUCCEEDED },  /* one of a hundred */
	[KEEPER] = { 0, "", GPC_JOB_SUCCEEDED },
};

struct size { size_t bytes; int descriptors, objects, files; };
struct slot {
	char *job;                    /* NULL = free */
	enum kind kind;
	struct gpc_journal journal;
	struct gpc_log_reader *reader;
	int attempt;                  /* whose first acts are done */
	bool asked, resumed;
};
struct soak {
	struct lab *lab;
	struct slot slots[SLOTS], keeper;
	int jobs, begun, ended;
	int quiet;                    /* turns with the keeper alone */
	struct size third, end;
};

static struct gpc_error err;

/* --- sizes ------------------------------------------------------------------ */
static int count_object(void *arg, const struct gpc_object *o)
{
	(void)o;
	++*(int *)arg;
	return 0;
}

static int n_files;

static int count_file(const char *path, const struct stat *st, int type,
	struct FTW *at)
{
	(void)st;
	(void)at;
	n_files += type == FTW_F;
	if (type == FTW_F && getenv("LAB_LOG"))
		print_message("  %s\n", path);
	return 0;
}

static int count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static struct size measure(struct lab *lab)
{
	struct size x = { .descriptors = count_descriptors() };

#ifdef __GLIBC__
	x.bytes = mallinfo2().uordblks;
#endif
	assert_ok(gpc_store_list(lab->s->store, "", NULL, count_object,
		&x.objects, &err));
	n_files = 0;
	assert_int_equal(nftw(lab->dir, count_file, 16, FTW_PHYS), 0);
	x.files = n_files;
	return x;
}

static void show(const char *when, const struct size *x)
{
	print_message("%s: %zu bytes, %d descriptors, %d objects, %d files\n",
		when, x->bytes, x->descriptors, x->objects, x->files);
}

/* --- one job's world --------------------------------------------------------- */
static void begin(struct soak *k, struct slot *x, enum kind kind)
{
	const struct gpc_log_options everything = { .rank = -1, .tail = -1 };

	*x = (struct slot){ .kind = kind };
	x->job = lab_job(k->lab, kinds[kind].members);
	x->reader = gpc_log_reader_new(k->lab->s, x->job, &everything);
	gpc_journal_init(&x->journal, k->lab->s->store, x->job, "world");
}

static int hear(void *arg, int rank, int source, const void *data, size_t n,
	struct gpc_error *e)
{
	(void)arg;
	(void)rank;
	(void)source;
	(void)data;
	(void)n;
	(void)e;
	return 0;
}

/* Somebody looks: status, cost, and what of the log is new. */
static void look_at(struct soak *k, struct slot *x, bool at_end)
{
	gpc_auto(gpc_view) struct gpc_view v = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	bool any;

	assert_ok(gpc_view_load(k->lab->s, x->job, &v, &err));
	j = gpc_view_json(k->lab->s, &v);
	assert_non_null(j);
	assert_ok(gpc_log_pump(x->reader, v.state.attempt, v.state.num_nodes,
		at_end, hear, NULL, &any, &err));
}

/* Its machines switch themselves off: no call to the cloud that could fail. */
static void leaves(struct soak *k, const struct slot *x)
{
	gpc_autostr *dir = gpc_path_join(k->lab->s->place.state_dir, "fake");
	gpc_auto(gpc_fake_nodes) struct gpc_fake_nodes nodes = {0};

	assert_ok(gpc_fake_nodes_read(dir, &nodes, &err));
	gpc_vec_each(n, &nodes) {
		if (!gpc_eq(gpc_pairs_get(&n->tags, "gpucloud-job"), x->job) ||
			n->gone_boot_ms)
			continue;
		n->gone_boot_ms = gpc_boot_ms();
		gpc_set_str(&n->why, "it switched itself off");
		assert_ok(gpc_fake_node_write(dir, n, &err));
	}
}

static void ends(struct soak *k, struct slot *x, enum gpc_reason reason,
	int code)
{
	const struct gpc_job_state *st = &x->journal.state;

	for (int rank = 0; rank < st->num_nodes; rank++) {
		lab_exit(k->lab, x->job, st->attempt, rank, reason, code, 0);
		lab_beat(k->lab, x->job, st->attempt, rank, GPC_PHASE_DONE);
	}
	leaves(k, x);
}

static void checkpoints(struct soak *k, struct slot *x, int n)
{
	for (int i = 1; i <= n; i++)
		lab_checkpoint(k->lab, x->job, x->journal.state.attempt, i,
			"auto");
}

static void cancel(struct soak *k, struct slot *x)
{
	bool ended;

	if (!x->asked)
		assert_ok(gpc_request_cancel(k->lab->s, x->job,
			x->kind == CANCEL_NOW, &ended, &err));
	x->asked = true;
}

/* The first turn of an attempt that runs. */
static void acts(struct soak *k, struct slot *x)
{
	bool again = x->journal.state.attempt > 1;

	lab_log(k->lab, x->job, x->journal.state.attempt, 0, "step 1\n");
	look_at(k, x, false);
	if (x->kind == KEEPER)
		return;
	switch (again ? SUCCESS : x->kind) {
	case CANCEL:
	case CANCEL_NOW:
		cancel(k, x);
		return;
	case LOST:
		checkpoints(k, x, 2);
		leaves(k, x);
		return;
	case SILENT:
		return;
	case PRUNED:
		checkpoints(k, x, 5);
		break;
	case RESUMED:
		checkpoints(k, x, 1);
		break;
	default:
		break;
	}
	if (x->kind == FAILURE || (x->kind == RESUMED && !x->resumed))
		ends(k, x, GPC_REASON_EXIT_CODE, 3);
	else
		ends(k, x, GPC_REASON_COMPLETED, 0);
}

static void beats(struct soak *k, struct slot *x)
{
	const struct gpc_job_state *st = &x->journal.state;

	for (int rank = 0; rank < st->num_nodes; rank++)
		lab_beat(k->lab, x->job, st->attempt, rank, GPC_PHASE_RUN);
}

/* --- a job that has ended ----------------------------------------------------- */
static bool is_closed(struct soak *k, struct slot *x)
{
	gpc_auto(gpc_view) struct gpc_view v = {0};
	bool done = false, live = true;

	assert_ok(gpc_view_load(k->lab->s, x->job, &v, &err));
	assert_ok(gpc_index_look(k->lab->s->store, &v.job, &v.state, &done,
		&live, &err));
	return gpc_view_is_over(&v) && done && !live;
}

static void prune(struct soak *k, struct slot *x)
{
	gpc_auto(gpc_prune_result) struct gpc_prune_result pruned = {0};
	const struct gpc_prune_options how = { .keep = 2 };

	assert_ok(gpc_prune_checkpoints(k->lab->s, x->job, &how, &pruned,
		&err));
	assert_int_equal(pruned.removed.n, 3);
}

/* The pretend cloud remembers each token that ever bought something. */
static void forget_machines(struct soak *k)
{
	gpc_autostr *dir = gpc_path_join(k->lab->s->place.state_dir, "fake");
	gpc_autostr *ledger = gpc_path_join(dir, "ledger");
	gpc_auto(gpc_fake_nodes) struct gpc_fake_nodes nodes = {0};

	assert_ok(gpc_fake_nodes_read(dir, &nodes, &err));
	gpc_vec_each(n, &nodes) {
		if (n->gone_boot_ms)
			assert_ok(gpc_fake_node_remove(dir, n->id, &err));
	}
	remove(ledger);
}

static void is_over(struct soak *k, struct slot *x)
{
	gpc_auto(gpc_removals) struct gpc_removals gone = {0};
	const struct gpc_remove_options now = {0};
	struct gpc_cost cost = {0};
	struct gpc_removal *r;

	if (!is_closed(k, x))
		return;
	look_at(k, x, true);
	assert_ok(gpc_cost_job(k->lab->s, x->job, &cost, &err));
	gpc_cost_clear(&cost);
	if (x->kind == RESUMED && !x->resumed) {
		assert_int_equal(x->journal.state.status, GPC_JOB_FAILED);
		assert_ok(gpc_request_resume(k->lab->s, x->job, NULL, NULL,
			&err));
		x->resumed = true;
		return;
	}
	if (x->journal.state.status != kinds[x->kind].end)
		fail_msg("a job of kind %d is %s", x->kind,
			gpc_job_status_to_str(x->journal.state.status));
	if (x->kind == PRUNED)
		prune(k, x);
	assert_ok(gpc_journal_verify(k->lab->s->store, x->job, &err));
	r = gpc_vec_push(&gone);
	memcpy(r->job, x->job, strlen(x->job) + 1);
	assert_ok(gpc_remove_job(k->lab->s, &now, r, &err));
	assert_true(r->done);
	gpc_journal_clear(&x->journal);
	gpc_log_reader_free(x->reader);
	free(x->job);
	*x = (struct slot){0};
	k->ended++;
}

static void play(struct soak *k, struct slot *x)
{
	const struct gpc_job_state *st = &x->journal.state;

	if (!x->job)
		return;
	assert_ok(gpc_journal_refresh(&x->journal, NULL, &err));
	if (gpc_job_status_is_end(st->status)) {
		is_over(k, x);
	} else if (st->status == GPC_JOB_STARTING) {
		beats(k, x);
	} else if (st->status == GPC_JOB_RUNNING && x->attempt < st->attempt) {
		x->attempt = st->attempt;
		acts(k, x);
	} else if (st->status == GPC_JOB_STOPPING) {
		ends(k, x, GPC_REASON_CANCELLED, 0);
	} else if (st->status == GPC_JOB_RUNNING && x->kind == KEEPER) {
		beats(k, x);
	}
}

/* --- all jobs ------------------------------------------------------------------ */
static enum kind kind_of(int number)
{
	int place = number % 20;
	int kind = 0;

	if (number % 100 == 50)
		return SILENT;
	while (place >= kinds[kind].share)
		place -= kinds[kind++].share;
	return (enum kind)kind;
}

/* What clouds do now and then. */
static void misfortune(struct soak *k)
{
	static const char *const scripts[] = {
		"create\",\"fault\":\"lost_answer", "create\",\"fault\":\"error",
		"list\",\"fault\":\"unreachable", "destroy\",\"fault\":\"throttle",
		"create\",\"fault\":\"no_capacity", "offers\",\"fault\":\"error",
	};
	gpc_autostr *script = NULL;

	if (k->begun % 10 != 9)
		return;
	script = gpc_format("{\"faults\":[{\"op\":\"%s\"}]}",
		scripts[(size_t)k->begun / 10 % COUNT(scripts)]);
	lab_script(k->lab, script);
}

/* There is a pause after a third, when the keeper shall be alone. */
static int until(const struct soak *k)
{
	return k->third.descriptors ? k->jobs : k->jobs / 3;
}

static void refill(struct soak *k)
{
	for (int i = 0; i < SLOTS && k->begun < until(k); i++) {
		if (k->slots[i].job)
			continue;
		misfortune(k);
		begin(k, &k->slots[i], kind_of(k->begun++));
	}
}

/* Whether the keeper has been alone for long enough that all has settled. */
static bool is_quiet(struct soak *k)
{
	if (k->ended < k->begun || k->begun < until(k)) {
		k->quiet = 0;
		return false;
	}
	if (k->quiet++ == 0)
		lab_script(k->lab, "{}");
	return k->quiet == QUIET_TURNS;
}

static void look_around(struct soak *k)
{
	if (!is_quiet(k))
		return;
	forget_machines(k);
	if (!k->third.descriptors) {
		k->third = measure(k->lab);
	} else {
		k->end = measure(k->lab);
		ends(k, &k->keeper, GPC_REASON_COMPLETED, 0);
	}
}

static void turn(void *arg)
{
	struct soak *k = arg;

	lab_advance(TURN_MS);
	for (int i = 0; i < SLOTS; i++)
		play(k, &k->slots[i]);
	play(k, &k->keeper);
	if (k->ended % 20 == 19)
		forget_machines(k);
	refill(k);
	look_around(k);
}

static void compare(const struct size *a, const struct size *b)
{
	show("after a third", a);
	show("at the end", b);
	assert_true(a->descriptors > 0 && b->descriptors > 0);
	assert_int_equal(a->descriptors, b->descriptors);
	assert_int_equal(a->objects, b->objects);
	assert_int_equal(a->files, b->files);
	assert_true(b->bytes <= a->bytes + SLACK);
}

TEST(a_supervisor_stays_small)
{
	struct soak k = {0};
	struct size before, after;

	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);    /* nothing to wait for */
	k.lab = lab_new(0);
	before = measure(k.lab);
	k.jobs = getenv("GPUCLOUD_TEST_LONG") ? 10000 :
		1500 / (int)stride(6);  /* a third shows what buffers grow to */
	begin(&k, &k.keeper, KEEPER);
	lab_on_sleep(turn, &k);
	assert_ok(gpc_supervise_run(k.lab->s, &(struct gpc_supervise_how){0}, &err));
	lab_on_sleep(NULL, NULL);
	play(&k, &k.keeper);
	assert_null(k.keeper.job);
	assert_int_equal(k.ended, k.jobs + 1);
	compare(&k.third, &k.end);
	forget_machines(&k);
	after = measure(k.lab);
	show("before", &before);
	show("after", &after);
	assert_int_equal(after.descriptors, before.descriptors);
	assert_int_equal(after.objects, before.objects);
	assert_int_equal(lab_running(k.lab), 0);
	lab_free(k.lab);
}

/* glibc counts what a thread keeps for its next calls as used; without that the
 * bytes can be compared exactly. It reads this before main. */
static void without_caches_of_threads(char **argv)
{
	static const char name[] = "GLIBC_TUNABLES";

	if (getenv(name))
		return;
	setenv(name, "glibc.malloc.tcache_count=0", 1);
	execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_supervisor_stays_small),
	};

	(void)argc;
	without_caches_of_threads(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
