/* Results into a folder: whole files, none outside of it, none half-made. */
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "core/fetch.h"
#include "core_lab.h"
#include "record/checkpoint.h"
#include "record/keys.h"
#include "snapshot/snapshot.h"

#define JOB "lab-abcdef"

static void put(struct lab *lab, const char *path, const char *text)
{
	struct gpc_store *s = lab_inner(lab);
	gpc_autostr *name = gpc_format("artifacts/%s", path);
	struct gpc_error err;
	gpc_key key;

	assert_ok(gpc_store_put(s, gpc_key_job_file(key, JOB, name), text,
		strlen(text), 0, &err));
}

static char *target(struct lab *lab)
{
	return gpc_path_join(lab->dir, "results");
}

static void assert_file(const char *dir, const char *name, const char *want)
{
	gpc_autostr *path = gpc_path_join(dir, name);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err;

	assert_ok(gpc_read_file(path, 1 << 20, &b, &err));
	assert_string_equal(gpc_buf_str(&b), want);
}

TEST(artifacts_come_down)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *dir = target(lab);
	struct gpc_fetched f = {0};
	struct gpc_error err;

	put(lab, "model.bin", "weights");
	put(lab, "plots/a/loss.csv", "1,2\n");
	put(lab, "empty", "");
	assert_ok(gpc_fetch_artifacts(lab->s, JOB, dir, false, &f, &err));
	assert_int_equal(f.files, 3);
	assert_int_equal(f.bytes, 11);
	assert_file(dir, "model.bin", "weights");
	assert_file(dir, "plots/a/loss.csv", "1,2\n");
	assert_file(dir, "empty", "");
	lab_free(lab);
}

TEST(existing_files_are_kept_unless_told)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *dir = target(lab);
	gpc_autostr *path = gpc_path_join(dir, "a");
	struct gpc_fetched f = {0};
	struct gpc_error err;

	put(lab, "a", "new");
	assert_ok(gpc_mkdirs(dir, 0700, &err));
	assert_ok(gpc_write_file(path, "old", 3, 0600, &err));
	assert_ok(gpc_fetch_artifacts(lab->s, JOB, dir, false, &f, &err));
	assert_int_equal(f.files, 0);
	assert_file(dir, "a", "old");
	assert_ok(gpc_fetch_artifacts(lab->s, JOB, dir, true, &f, &err));
	assert_int_equal(f.files, 1);
	assert_file(dir, "a", "new");
	lab_free(lab);
}

TEST(no_artifacts_are_no_error)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *dir = target(lab);
	struct gpc_fetched f = { .files = 9 };
	struct gpc_error err;

	assert_ok(gpc_fetch_artifacts(lab->s, JOB, dir, false, &f, &err));
	assert_int_equal(f.files, 0);
	lab_free(lab);
}

/* --- a store that says what no store should ------------------------------------ */

static const char *hostile_key;

static int hostile_list(struct gpc_store *s, const char *prefix,
	const char *after, gpc_list_fn *fn, void *arg, struct gpc_error *err)
{
	struct gpc_object o = { .size = 4 };

	(void)s;
	(void)after;
	(void)err;
	snprintf(o.key, sizeof(o.key), "%s%s", prefix, hostile_key);
	fn(arg, &o);
	return 0;
}

static int hostile_get(struct gpc_store *s, const char *key, int64_t offset,
	int64_t length, gpc_sink_fn *sink, void *arg, struct gpc_object *ret_o,
	struct gpc_error *err)
{
	(void)s;
	(void)key;
	(void)offset;
	(void)length;
	if (ret_o)
		*ret_o = (struct gpc_object){ .size = 4 };
	return sink(arg, "evil", 4, err);
}

static int opens(struct gpc_store *s, const char *where, unsigned flags,
	struct gpc_error *err)
{
	(void)s;
	(void)where;
	(void)flags;
	(void)err;
	return 0;
}

static void closes(struct gpc_store *s)
{
	(void)s;
}

TEST(hostile_keys_stay_inside)
{
	static const char *const keys[] = {
		"../evil", "a/../../evil", "/evil", "a//../../evil", "..",
		"./x/../../../evil", "a/.",
		/* fine as keys: only the names behind them lead out */
		"%2E%2E/evil", "a/%2E%2E/%2E%2E/evil", "%2E%2E%2Fevil",
	};
	static const struct gpc_store_ops ops = {
		.scheme = "hostile", .open = opens, .close = closes,
		.list = hostile_list, .get = hostile_get,
	};

	for (size_t i = 0; i < COUNT(keys); i++) {
		struct lab *lab = lab_new(0);
		gpc_autostr *dir = target(lab);
		gpc_autostr *evil = gpc_path_join(lab->dir, "evil");
		struct gpc_store *real = lab->s->store;
		struct gpc_fetched f = {0};
		struct gpc_error err;

		hostile_key = keys[i];
		assert_ok(gpc_store_open_ops(&ops, "x", 0, NULL, &lab->s->store,
			&err));
		assert_true(gpc_fetch_artifacts(lab->s, JOB, dir, true, &f,
			&err) < 0);
		assert_int_not_equal(access(evil, F_OK), 0);
		gpc_store_free(lab->s->store);
		lab->s->store = real;
		lab_free(lab);
	}
}

/* A link that lies in the folder already does not lead out of it. */
TEST(links_are_not_followed)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *dir = target(lab);
	gpc_autostr *outside = gpc_path_join(lab->dir, "outside");
	gpc_autostr *link = gpc_path_join(dir, "out");
	gpc_autostr *file = gpc_path_join(outside, "x");
	struct gpc_fetched f = {0};
	struct gpc_error err;

	assert_ok(gpc_mkdirs(dir, 0700, &err));
	assert_ok(gpc_mkdirs(outside, 0700, &err));
	assert_int_equal(symlink(outside, link), 0);
	put(lab, "out/x", "data");
	assert_true(gpc_fetch_artifacts(lab->s, JOB, dir, true, &f, &err) < 0);
	assert_has(err.msg, "out");
	assert_int_not_equal(access(file, F_OK), 0);
	lab_free(lab);
}

/* Whatever fails, no half file is left under its name or another. */
TEST(a_failure_leaves_no_half_file)
{
	for (unsigned nth = 1; nth < 3; nth++) {
		struct lab *lab = lab_new(LAB_FAULTY);
		gpc_autostr *dir = target(lab);
		struct gpc_fetched f = {0};
		gpc_auto(gpc_tree) struct gpc_tree tree = {0};
		struct gpc_scan_options all = {0};
		struct gpc_error err;

		put(lab, "a", "1");
		put(lab, "b", "2");
		gpc_store_fault_reset(lab->s->store);
		gpc_store_fault_add(lab->s->store, &(struct gpc_fault){
			.op = GPC_FAULT_GET, .how = GPC_FAULT_AFTER,
			.nth = nth });
		assert_true(gpc_fetch_artifacts(lab->s, JOB, dir, false, &f,
			&err) < 0);
		assert_ok(gpc_scan(dir, &all, &tree, &err));
		assert_int_equal(tree.n_files, nth - 1);
		assert_ok(gpc_fetch_artifacts(lab->s, JOB, dir, false, &f,
			&err));
		assert_file(dir, "a", "1");
		assert_file(dir, "b", "2");
		lab_free(lab);
	}
}

/* --- checkpoints ------------------------------------------------------------------ */

/* A folder with one file as the part of one rank. */
static void add_part(struct lab *lab, struct gpc_checkpoint *c, int rank)
{
	gpc_autostr *dir = gpc_format("%s/%s-%d", lab->dir, c->id, rank);
	gpc_autostr *file = gpc_path_join(dir, "state");
	gpc_autostr *text = gpc_format("%s of %d", c->id, rank);
	gpc_auto(gpc_tree) struct gpc_tree tree = {0};
	gpc_auto(gpc_save_result) struct gpc_save_result saved = {0};
	struct gpc_scan_options all = {0};
	struct gpc_save_options options = { .threads = 1 };
	struct gpc_checkpoint_part *part = gpc_vec_push(&c->parts);
	struct gpc_error err;
	gpc_key prefix;

	options.prefix = gpc_key_attempt(prefix, JOB, c->attempt, "blobs/");
	assert_ok(gpc_mkdirs(dir, 0700, &err));
	assert_ok(gpc_write_file(file, text, strlen(text), 0600, &err));
	assert_ok(gpc_scan(dir, &all, &tree, &err));
	assert_ok(gpc_snapshot_save(lab->s->store, &tree, &options, false,
		&saved, &err));
	part->rank = rank;
	part->head = gpc_json_copy(saved.head);
}

static void save(struct lab *lab, int attempt, int n, int ranks)
{
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = { .v = 1 };
	struct gpc_error err;

	c.id = gpc_format("%d-%d-auto", attempt, n);
	c.attempt = attempt;
	c.n = n;
	c.label = gpc_strdup("auto");
	c.at_ms = 1;
	for (int rank = 0; rank < ranks; rank++)
		add_part(lab, &c, rank);
	assert_ok(gpc_checkpoint_put(lab->s->store, JOB, &c, &err));
}

TEST(checkpoints_come_down)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *dir = target(lab);
	gpc_autostr *second = gpc_path_join(lab->dir, "second");
	gpc_autostr *third = gpc_path_join(lab->dir, "third");
	struct gpc_fetched f = {0};
	struct gpc_error err;

	assert_fails(gpc_fetch_checkpoint(lab->s, JOB, NULL, -1, dir, false, &f,
		&err), GPC_ENOTFOUND);
	save(lab, 1, 2, 1);
	save(lab, 1, 10, 1);
	save(lab, 2, 1, 2);
	/* The newest: two parts, each in a folder of its own. */
	assert_ok(gpc_fetch_checkpoint(lab->s, JOB, NULL, -1, dir, false, &f,
		&err));
	assert_int_equal(f.files, 2);
	assert_file(dir, "rank-0/state", "2-1-auto of 0");
	assert_file(dir, "rank-1/state", "2-1-auto of 1");
	assert_ok(gpc_fetch_checkpoint(lab->s, JOB, "1-10-auto", -1, second,
		false, &f, &err));
	assert_file(second, "state", "1-10-auto of 0");
	assert_ok(gpc_fetch_checkpoint(lab->s, JOB, "2-1-auto", 1, third, false,
		&f, &err));
	assert_file(third, "state", "2-1-auto of 1");
	assert_fails(gpc_fetch_checkpoint(lab->s, JOB, "2-1-auto", 7, third,
		false, &f, &err), GPC_ENOTFOUND);
	assert_has(err.msg, "rank 7");
	assert_fails(gpc_fetch_checkpoint(lab->s, JOB, "9-9-auto", -1, third,
		false, &f, &err), GPC_ENOTFOUND);
	assert_true(gpc_fetch_checkpoint(lab->s, JOB, "../../x", -1, third,
		false, &f, &err) < 0);
	lab_free(lab);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(artifacts_come_down),
		cmocka_unit_test(existing_files_are_kept_unless_told),
		cmocka_unit_test(no_artifacts_are_no_error),
		cmocka_unit_test(hostile_keys_stay_inside),
		cmocka_unit_test(links_are_not_followed),
		cmocka_unit_test(a_failure_leaves_no_half_file),
		cmocka_unit_test(checkpoints_come_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
