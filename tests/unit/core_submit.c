/* Submitting: job.json is the commit, every prefix of the puts before it is
 * harmless, and --once makes one job however often it is cut short. */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "core/request.h"
#include "core/submit.h"
#include "core/view.h"
#include "core_lab.h"
#include "record/index.h"
#include "record/journal.h"
#include "record/keys.h"
#include "store_keys.h"

static const char spec_text[] = "\"num_nodes\":2";

static int submit(struct gpc_session *s, const char *members,
	const char *workdir, const char *once, struct gpc_submit_result *ret_r,
	struct gpc_error *err)
{
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	gpc_auto(gpc_tree) struct gpc_tree tree = {0};
	gpc_auto(gpc_mounts) struct gpc_mounts mounts = {0};
	struct gpc_submit_options options = { .once_key = once };
	int r;

	lab_spec(members, &spec);
	gpc_set_str(&spec.workdir, workdir);
	gpc_pairs_set(&spec.secrets, "TOKEN", "very-secret");
	r = gpc_submit_scan(s, &spec, false, false, &tree, err);
	if (r == 0)
		r = gpc_mounts_scan(s, &spec, false, &mounts, err);
	return r < 0 ? r : gpc_submit(s, &spec, &tree, &mounts, &options, ret_r,
		err);
}

static char *workdir(struct lab *lab)
{
	char *dir = gpc_path_join(lab->dir, "work");
	gpc_autostr *file = gpc_path_join(dir, "train.py");
	struct gpc_error err;

	assert_ok(gpc_mkdirs(dir, 0700, &err));
	assert_ok(gpc_write_file(file, "print(1)\n", 9, 0600, &err));
	return dir;
}

TEST(everything_is_there_after_it)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *dir = workdir(lab);
	struct gpc_submit_result r = {0};
	gpc_auto(gpc_view) struct gpc_view v = {0};
	gpc_auto(gpc_buf) struct gpc_buf secret = {0};
	gpc_auto(gpc_buf) struct gpc_buf job = {0};
	struct gpc_error err;
	gpc_key key;

	assert_ok(submit(lab->s, spec_text, dir, NULL, &r, &err));
	assert_false(r.existed);
	assert_int_equal(r.files, 1);
	assert_int_equal(r.bytes, 9);
	assert_true(gpc_starts_with(r.job, "lab-"));
	assert_int_equal(strlen(r.job), 4 + 6);
	assert_ok(gpc_view_load(lab->s, r.job, &v, &err));
	assert_int_equal(v.state.status, GPC_JOB_PENDING);
	assert_int_equal(v.state.num_nodes, 2);
	assert_non_null(v.job.workspace);
	assert_string_equal(v.job.workdir, dir);
	assert_int_equal(v.job.secrets.n, 1);
	assert_int_equal(count_keys(lab->s->store, "index/live/", r.job), 1);
	/* The secret is in its own object and nowhere else. */
	assert_ok(gpc_store_get(lab->s->store, gpc_key_secrets(key, r.job, NULL),
		1000, &secret, &err));
	assert_has(gpc_buf_str(&secret), "very-secret");
	assert_ok(gpc_store_get(lab->s->store, gpc_key_job(key, r.job), 1 << 20,
		&job, &err));
	assert_null(strstr(gpc_buf_str(&job), "very-secret"));
	/* Each submit is a job of its own. */
	assert_ok(submit(lab->s, spec_text, dir, NULL, &r, &err));
	assert_int_equal(count_keys(lab->s->store, "index/live/", NULL), 2);
	lab_free(lab);
}

TEST(once_is_once)
{
	struct lab *lab = lab_new(0);
	struct gpc_submit_result a = {0}, b = {0}, c = {0};
	struct gpc_error err;

	assert_ok(submit(lab->s, "", NULL, "key 1", &a, &err));
	assert_false(a.existed);
	assert_ok(submit(lab->s, "", NULL, "key 1", &b, &err));
	assert_true(b.existed);
	assert_string_equal(a.job, b.job);
	assert_ok(submit(lab->s, "", NULL, "key 2", &c, &err));
	assert_false(c.existed);
	assert_string_not_equal(a.job, c.job);
	assert_int_equal(count_keys(lab->s->store, "jobs/", "job.json"), 2);
	lab_free(lab);
}

TEST(a_bad_claim_is_named)
{
	static const char *const bad[] = { "", " ", "\n", "a b c", "x -1",
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" };

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct lab *lab = lab_new(0);
		struct gpc_submit_result r = {0};
		struct gpc_error err;
		gpc_key key;

		gpc_key_once(key, lab->s->place.owner.hash, "k");
		assert_ok(gpc_store_put(lab->s->store, key, bad[i],
			strlen(bad[i]), 0, &err));
		assert_true(submit(lab->s, "", NULL, "k", &r, &err) < 0);
		assert_int_equal(count_keys(lab->s->store, "jobs/", NULL), 0);
		lab_free(lab);
	}
}

TEST(a_missing_workdir_makes_nothing)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *dir = gpc_path_join(lab->dir, "absent");
	struct gpc_submit_result r = {0};
	struct gpc_error err;

	assert_fails(submit(lab->s, "", dir, NULL, &r, &err), GPC_ENOTFOUND);
	assert_has(err.msg, "workdir");
	assert_has(err.msg, dir);
	assert_int_equal(count_keys(lab->s->store, "jobs/", NULL), 0);
	assert_int_equal(count_keys(lab->s->store, "index/", NULL), 0);
	lab_free(lab);
}

static void shell(const char *command, const char *dir)
{
	gpc_autostr *text = gpc_format("cd '%s' && %s", dir, command);

	assert_int_equal(system(text), 0);
}

static void restore(struct lab *lab, const char *head, const char *to)
{
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_error err;

	assert_ok(gpc_snapshot_get_head(lab->s->store, "blobs/", head, &j,
		&err));
	assert_ok(gpc_snapshot_restore(lab->s->store, j, "blobs/", to, NULL,
		&err));
}

/* A folder whole, a file by its name, a link to a file as that file. */
TEST(mounts_are_taken_as_they_are)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *dir = workdir(lab);
	gpc_autostr *members = NULL;
	struct gpc_submit_result r = {0};
	gpc_auto(gpc_view) struct gpc_view v = {0};
	struct gpc_error err;

	shell("mkdir -p d/.git out && echo old >d/f && echo '*' >d/.gitignore "
		"&& echo g >d/.git/g && ln -s f d/l && ln -s d/f to-f", dir);
	members = gpc_format("\"file_mounts\":{\"~/data\":\"%s/d\","
		"\"one\":\"file://%s/to-f\",\"many\":{\"source\":[\"%s/d\","
		"\"%s/to-f\"],\"mode\":\"COPY\"}}", dir, dir, dir, dir);
	assert_ok(submit(lab->s, members, NULL, NULL, &r, &err));
	assert_int_equal(r.files, 3 + 1 + 3 + 1);
	shell("echo new >d/f && rm -r d/.git", dir);
	assert_ok(gpc_view_load(lab->s, r.job, &v, &err));
	assert_null(v.job.workspace);
	assert_int_equal(v.job.mounts.n, 4);
	assert_string_equal(v.job.mounts.v[0].target, "~/data");
	assert_null(v.job.mounts.v[0].file);
	assert_string_equal(v.job.mounts.v[1].target, "one");
	assert_string_equal(v.job.mounts.v[1].file, "f");
	assert_string_equal(v.job.mounts.v[2].target, "many");
	assert_string_equal(v.job.mounts.v[3].target, "many/to-f");
	for (size_t i = 0; i < v.job.mounts.n; i++) {
		gpc_autostr *to = gpc_format("%s/out/%zu", dir, i);

		restore(lab, v.job.mounts.v[i].head, to);
		shell("[ $(cat f) = old ]", to);
	}
	shell("[ $(readlink out/0/l) = f ] && [ $(cat out/0/.git/g) = g ]", dir);
	shell("[ $(ls -A out/1) = f ]", dir);
	lab_free(lab);
}

TEST(a_mount_that_cannot_be_read_makes_nothing)
{
	static const struct { const char *source, *says; int code; } bad[] = {
		{ "/nowhere/at/all", "cannot read /nowhere/at/all",
			GPC_ENOTFOUND },
		{ "/dev/null", "neither a file nor a folder", GPC_ECONFIG },
		{ "/proc/self/mem/x", "cannot read /proc/self/mem/x", 0 },
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct lab *lab = lab_new(0);
		gpc_autostr *members = gpc_format(
			"\"file_mounts\":{\"data\":\"%s\"}", bad[i].source);
		struct gpc_submit_result r = {0};
		struct gpc_error err;
		int rc = submit(lab->s, members, NULL, NULL, &r, &err);

		assert_true(rc < 0);
		if (bad[i].code)
			assert_int_equal(rc, -bad[i].code);
		assert_has(err.msg, "file_mounts.data");
		assert_has(err.msg, bad[i].says);
		assert_int_equal(count_keys(lab->s->store, "jobs/", NULL), 0);
		assert_int_equal(count_keys(lab->s->store, "index/", NULL), 0);
		lab_free(lab);
	}
}

/* Answers of puts that are lost: one job, and the submit succeeds. */
TEST(a_lost_answer_at_each_put)
{
	for (int once = 0; once < 2; once++) {
		for (unsigned nth = 1;; nth++) {
			struct lab *lab = lab_new(LAB_FAULTY);
			gpc_autostr *dir = workdir(lab);
			struct gpc_submit_result r = {0};
			struct gpc_error err;
			int rc;

			gpc_store_fault_reset(lab->s->store);
			gpc_store_fault_add(lab->s->store, &(struct gpc_fault){
				.op = GPC_FAULT_PUT, .how = GPC_FAULT_AFTER,
				.nth = nth });
			rc = submit(lab->s, "", dir, once ? "k" : NULL, &r, &err);
			/* Before the commit it may give up, and nothing is there. */
			if (rc < 0)
				assert_int_equal(count_keys(lab->inner, "jobs/",
					"job.json"), 0);
			else
				assert_false(r.existed);
			if (rc < 0)
				assert_ok(submit(lab->s, "", dir,
					once ? "k" : NULL, &r, &err));
			assert_int_equal(count_keys(lab->inner, "jobs/", "job.json"),
				1);
			assert_int_equal(count_keys(lab->inner, "jobs/",
				"00000001.json"), 1);
			rc = (int)gpc_store_fault_count(lab->s->store,
				GPC_FAULT_PUT);
			lab_free(lab);
			if (nth > (unsigned)rc)
				break;
		}
	}
}

static void die(void *arg)
{
	(void)arg;
	_exit(77);
}

/* A submit is killed before each put in turn: what is there is no job, or it is
 * a whole one; the repeat with the same key finishes it. */
TEST(a_kill_at_each_put)
{
	for (unsigned nth = 1;; nth++) {
		struct lab *lab = lab_new(LAB_FILE | LAB_FAULTY);
		gpc_autostr *dir = workdir(lab);
		struct gpc_submit_result r = {0};
		char found[GPC_JOB_ID_SIZE];
		gpc_auto(gpc_index) struct gpc_index index = {0};
		struct gpc_supervision *sv;
		struct gpc_error err;
		bool ended;
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			gpc_store_fault_reset(lab->s->store);
			gpc_store_fault_add(lab->s->store, &(struct gpc_fault){
				.op = GPC_FAULT_PUT, .how = GPC_FAULT_CALL,
				.nth = nth, .call = die });
			_exit(submit(lab->s, "", dir, "k", &r, &err) != 0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		/* Nobody takes a half-made one for a job. */
		if (count_keys(lab->inner, "jobs/", "job.json") == 0)
			assert_fails(gpc_job_find(lab->s, NULL, false, found,
				&err), GPC_ENOTFOUND);
		/* Another second: the entry must not get another name. */
		lab_advance(5000);
		assert_ok(submit(lab->s, "", dir, "k", &r, &err));
		assert_ok(gpc_job_find(lab->s, NULL, false, found, &err));
		assert_string_equal(found, r.job);
		assert_int_equal(count_keys(lab->inner, "jobs/", "job.json"), 1);
		assert_int_equal(count_keys(lab->inner, "index/live/", NULL), 1);
		sv = lab_supervise(lab->s, r.job);
		assert_ok(gpc_request_cancel(lab->s, r.job, true, &ended, &err));
		lab_finish(sv, MINUTE);
		assert_status(sv, "CANCELLED");
		assert_int_equal(count_keys(lab->inner, "secrets/", NULL), 0);
		assert_ok(gpc_index_list(lab->s->store, 0, &index, &err));
		assert_int_equal(index.n, 1);
		assert_false(index.v[0].live);
		gpc_supervision_free(sv);
		lab_free(lab);
		if (WEXITSTATUS(status) == 0)
			break;
		assert_int_equal(WEXITSTATUS(status), 77);
	}
}

/* job.json without its first event is a job: the supervisor adds the event. */
TEST(a_job_without_its_first_event_runs)
{
	struct lab *lab = lab_new(0);
	struct gpc_submit_result r = {0};
	struct gpc_supervision *sv;
	gpc_auto(gpc_view) struct gpc_view v = {0};
	struct gpc_error err;
	gpc_key key;

	assert_ok(submit(lab->s, spec_text, NULL, NULL, &r, &err));
	assert_ok(gpc_store_del(lab->s->store, gpc_key_event(key, r.job, 1),
		&err));
	assert_ok(gpc_store_del(lab->s->store, gpc_key_job_file(key, r.job,
		"head"), &err));
	assert_ok(gpc_view_load(lab->s, r.job, &v, &err));
	assert_int_equal(v.state.status, GPC_JOB_PENDING);
	sv = lab_supervise(lab->s, r.job);
	lab_step(sv);
	assert_status(sv, "STARTING");
	assert_int_equal(lab_state(sv)->num_nodes, 2);
	gpc_supervision_free(sv);
	lab_free(lab);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_there_after_it),
		cmocka_unit_test(once_is_once),
		cmocka_unit_test(a_bad_claim_is_named),
		cmocka_unit_test(a_missing_workdir_makes_nothing),
		cmocka_unit_test(mounts_are_taken_as_they_are),
		cmocka_unit_test(a_mount_that_cannot_be_read_makes_nothing),
		cmocka_unit_test(a_lost_answer_at_each_put),
		cmocka_unit_test(a_kill_at_each_put),
		cmocka_unit_test(a_job_without_its_first_event_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
