/* What killed writers left of a job that is over goes, and nothing of one that is
 * gone on with. */
#include <stdio.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "core/prune.h"
#include "core/remains.h"
#include "core_jobs.h"
#include "record/journal.h"
#include "record/keys.h"
#include "store/fault.h"

static struct gpc_error err;

/* A file of a write that ended in the middle: name is below the job. Owned path. */
static char *leave(struct lab *lab, const char *job, const char *name)
{
	char *path = gpc_format("%s/store/jobs/%s/%s", lab->dir, job, name);
	gpc_autostr *dir = gpc_strndup(path, (size_t)(strrchr(path, '/') - path));

	assert_ok(gpc_mkdirs(dir, 0700, &err));
	assert_ok(gpc_write_file(path, "half", 4, 0600, &err));
	return path;
}

static bool is_there(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

static void open_journal(struct lab *lab, const char *job,
	struct gpc_journal *j)
{
	gpc_journal_init(j, lab->s->store, job, "test");
	assert_ok(gpc_journal_refresh(j, NULL, &err));
}

TEST(temporary_files_go)
{
	struct lab *lab = lab_new(LAB_FILE | LAB_KNOWN);
	static const char *const names[] = {
		"1/blobs/aa/.tmp-x", "1/0/.tmp-x", "checkpoints/.tmp-x",
		"artifacts/a/.tmp-x", "events/.tmp-x", ".tmp-x",
	};
	char job[GPC_JOB_ID_SIZE];
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_remains x = {0};
	gpc_autostr *kept = NULL;
	bool current = false;

	lab_ended(lab, 2, job);
	kept = leave(lab, job, "artifacts/a/tmp-x");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		free(leave(lab, job, names[i]));
	open_journal(lab, job, &j);
	assert_ok(gpc_remains_temps(lab->s, &j, true, &current, &x, &err));
	assert_int_equal(x.temps, sizeof(names) / sizeof(*names));
	assert_int_equal(x.temp_bytes, 4 * x.temps);
	x = (struct gpc_remains){0};
	assert_ok(gpc_remains_temps(lab->s, &j, false, &current, &x, &err));
	assert_true(current);
	assert_int_equal(x.temps, sizeof(names) / sizeof(*names));
	x = (struct gpc_remains){0};
	assert_ok(gpc_remains_temps(lab->s, &j, false, &current, &x, &err));
	assert_int_equal(x.temps, 0);
	assert_true(is_there(kept));
	assert_whole(lab, job, 1, true);
	lab_free(lab);
}

/* Right after the look somebody resumes the job, and its node begins to save. */
struct other { struct lab *lab; const char *job; char *path; };

static void go_on(void *arg)
{
	struct other *o = arg;

	if (o->path)
		return;
	assert_ok(lab_resume(o->lab->s, o->job, NULL, &err));
	lab_attempt(o->lab, o->job, 2);
	o->path = leave(o->lab, o->job, "checkpoints/.tmp-live");
}

TEST(what_is_gone_on_with_is_left_alone)
{
	struct lab *lab = lab_new(LAB_FILE | LAB_KNOWN | LAB_FAULTY);
	char job[GPC_JOB_ID_SIZE];
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct other o = { .lab = lab, .job = job };
	struct gpc_fault f = { .op = GPC_FAULT_HEAD, .how = GPC_FAULT_CALL,
		.call = go_on, .arg = &o };
	struct gpc_remains x = {0};
	gpc_autostr *dead = NULL;
	gpc_key next;
	bool current = true;

	lab_ended(lab, 2, job);
	dead = leave(lab, job, "checkpoints/.tmp-dead");
	open_journal(lab, job, &j);
	gpc_key_event(next, job, j.state.n + 1);
	f.prefix = next;
	gpc_store_fault_add(lab->s->store, &f);
	assert_ok(gpc_remains_close(lab->s, &j, true, &current, &x, &err));
	assert_non_null(o.path);
	assert_false(current);
	assert_int_equal(x.temps, 0);
	assert_true(is_there(o.path));
	assert_true(is_there(dead));    /* goes with the next closing */
	free(o.path);
	lab_free(lab);
}

/* The same file system, one after the other: what was listed before the look is
 * all that goes. */
TEST(what_comes_after_the_list_stays)
{
	struct lab *lab = lab_new(LAB_FILE | LAB_KNOWN | LAB_FAULTY);
	char job[GPC_JOB_ID_SIZE];
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	gpc_autostr *live = NULL, *dead = NULL;
	struct gpc_remains x = {0};
	bool current;

	lab_ended(lab, 1, job);
	dead = leave(lab, job, "checkpoints/.tmp-dead");
	open_journal(lab, job, &j);
	assert_ok(gpc_remains_temps(lab->s, &j, false, &current, &x, &err));
	live = leave(lab, job, "checkpoints/.tmp-live");
	assert_false(is_there(dead));
	assert_true(is_there(live));
	assert_ok(lab_resume(lab->s, job, NULL, &err));
	x = (struct gpc_remains){0};
	assert_ok(gpc_remains_temps_of_all(lab->s, false, &x, &err));
	assert_int_equal(x.temps, 0);   /* the job lives */
	assert_true(is_there(live));
	lab_free(lab);
}

static void put_blob(struct lab *lab, const char *job, int attempt)
{
	gpc_key key;

	gpc_key_attempt(key, job, attempt, "blobs/ab/ab01");
	assert_ok(gpc_store_put(lab_inner(lab), key, "lost", 4, 0, &err));
}

static bool has_blob(struct lab *lab, const char *job, int attempt)
{
	gpc_key key;

	gpc_key_attempt(key, job, attempt, "blobs/ab/ab01");
	return gpc_store_head(lab_inner(lab), key, NULL, &err) == 0;
}

static void end_as(struct lab *lab, const char *job, const char *reason,
	bool said)
{
	gpc_autostr *text = gpc_format("{\"reason\":\"%s\"}", reason);

	lab_exit(lab, job, 1, 0, GPC_REASON_CANCELLED, 0, 0);
	lab_beat(lab, job, 1, 0, said ? GPC_PHASE_DONE : GPC_PHASE_SAVE);
	lab_event(lab, job, GPC_EVENT_ENDED, text);
}

TEST(blobs_of_killed_nodes_go)
{
	static const struct {
		const char *reason; bool said, saves, goes;
	} cases[] = {
		{"node_lost", true, true, true},
		{"agent_failed", true, true, true},
		{"cancelled", false, true, true},
		{"completed", false, true, true},
		{"cancelled", true, true, false},       /* nothing to look for */
		{"completed", true, true, false},
		{"node_lost", false, false, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct lab *lab = lab_new(0);
		gpc_autostr *dir = lab_folder(lab, "work", "first");
		char job[GPC_JOB_ID_SIZE];
		gpc_auto(gpc_journal) struct gpc_journal j = {0};
		struct gpc_remains x = {0};
		bool current;

		assert_ok(lab_submit(lab->s, dir, NULL, job, &err));
		lab_attempt(lab, job, 1);
		lab_save(lab, job, 1, 1);
		put_blob(lab, job, 1);
		put_blob(lab, job, 2);  /* of one that nobody knows of */
		end_as(lab, job, cases[i].reason, cases[i].said);
		open_journal(lab, job, &j);
		assert_ok(gpc_remains_close(lab->s, &j, cases[i].saves,
			&current, &x, &err));
		assert_true(current);
		assert_int_equal(x.swept.blobs, cases[i].goes ? 1 : 0);
		assert_int_equal(has_blob(lab, job, 1), !cases[i].goes);
		assert_true(has_blob(lab, job, 2));
		assert_whole(lab, job, 1, cases[i].goes);
		lab_free(lab);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(temporary_files_go),
		cmocka_unit_test(what_is_gone_on_with_is_left_alone),
		cmocka_unit_test(what_comes_after_the_list_stays),
		cmocka_unit_test(blobs_of_killed_nodes_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
