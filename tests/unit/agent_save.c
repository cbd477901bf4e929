/* What a job leaves behind: checkpoints that the next attempt goes on from,
 * artifacts, metrics; and what it finds: mounted files.
 */
#include "store_keys.h"   /* before a static err */
#include "agent_bed.h"

#include "record/prune.h"

static void get_checkpoint(struct bed *b, const char *id,
	struct gpc_checkpoint *ret_c)
{
	assert_ok(gpc_checkpoint_get(b->store, JOB, id, ret_c, &err));
}

/* The newest one with this label; waits for it. Owned. */
static char *wait_checkpoint(struct bed *b, const char *label)
{
	int64_t end = gpc_boot_ms() + BED_WAIT_MS;

	for (;;) {
		struct gpc_checkpoint_ids ids = {0};
		char *found = NULL;

		bed_checkpoints(b, &ids);
		for (size_t i = ids.n; i > 0 && !found; i--)
			if (gpc_ends_with(ids.v[i - 1].id, label))
				found = gpc_strdup(ids.v[i - 1].id);
		gpc_checkpoint_ids_clear(&ids);
		if (found)
			return found;
		if (gpc_boot_ms() > end)
			bed_fail(b, label);
		gpc_sleep_ms(20);
	}
}

static void lose(struct bed *b)
{
	bed_append(b, GPC_EVENT_LOST, json_of(
		"{'attempt': 1, 'rank': 0, 'reason': 'node_lost'}"));
}

/* kill -9 of the node, then the next attempt finds the newest save. */
TEST(the_next_attempt_goes_on_from_the_save)
{
	struct bed b;
	struct gpc_exit x = {0};
	struct gpc_buf log = {0};
	struct gpc_node_file n = {0};
	gpc_autostr *id = NULL;

	bed_start(&b, "run: |\n"
		"  if [ -n \"${GPUCLOUD_RESUME_FROM:-}\" ]; then\n"
		"    echo resumed $(cat $GPUCLOUD_RESUME_FROM/deep/n) because"
		" $GPUCLOUD_RESTART_REASON attempt $GPUCLOUD_ATTEMPT\n"
		"    exit 0\n  fi\n"
		"  mkdir -p $GPUCLOUD_CHECKPOINT_DIR/deep\n"
		"  echo 41 > $GPUCLOUD_CHECKPOINT_DIR/deep/n\n"
		"  echo ready\n  sleep 1000\n"
		"checkpoint: {path: ck, upload_every: 1s}\n");
	id = wait_checkpoint(&b, "auto");
	assert_string_equal(id, "1-1-auto");
	bed_node(&b, 0, &n);
	assert_int_equal(kill(-n.pid, SIGKILL), 0);
	gpc_node_file_clear(&n);
	lose(&b);
	bed_attempt(&b, id, 0, true);
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_COMPLETED);
	bed_stream(&b, 0, "log/", &log);
	assert_has(gpc_buf_str(&log), "resumed 41 because node_lost attempt 2");
	gpc_buf_clear(&log);
	gpc_exit_clear(&x);
	bed_close(&b);
}

/* What a `prune` asks for is done between saves and told; one that no agent saw
 * is done by the first agent that comes after it. */
TEST(a_prune_is_served_once)
{
	struct bed b;
	struct gpc_exit x = {0};
	struct gpc_prune_fact f = {0};
	struct gpc_checkpoint_ids ids = {0};
	gpc_autostr *id = NULL;
	gpc_key key;

	bed_start(&b, "run: |\n  cd $GPUCLOUD_CHECKPOINT_DIR\n"
		"  trap 'exit 0' USR1\n  echo 1 > n\n  echo ready\n"
		"  while :; do sleep 0.05; done\n"
		"checkpoint: {path: ck, upload_every: 1h, keep: 9}\n");
	bed_wait_log(&b, 0, "ready");
	for (int i = 0; i < 5; i++) {
		gpc_autostr *text = gpc_format("{'label': 'mine%d'}", i);
		gpc_autostr *label = gpc_format("mine%d", i);

		bed_append(&b, GPC_EVENT_SAVE, json_of(text));
		free(id);
		id = wait_checkpoint(&b, label);
	}
	bed_append(&b, GPC_EVENT_PRUNE, json_of("{'keep': 4}"));
	gpc_key_rank(key, JOB, 1, 0, "prune.json");
	bed_wait_key(&b, key);
	assert_ok(gpc_prune_fact_get(b.store, JOB, 1, &f, &err));
	assert_int_equal(f.request, b.j.state.n);
	assert_int_equal(f.removed.n, 1);
	assert_string_equal(f.removed.v[0], "1-1-mine0");
	assert_int_equal(bed_checkpoints(&b, &ids), 4);
	gpc_checkpoint_ids_clear(&ids);
	gpc_prune_fact_clear(&f);
	/* Asked for while nobody is there; the pinned one is kept. */
	lose(&b);
	bed_append(&b, GPC_EVENT_PRUNE, json_of("{'keep': 2}"));
	bed_attempt(&b, "1-2-mine1", 0, true);
	gpc_key_rank(key, JOB, 2, 0, "prune.json");
	bed_wait_key(&b, key);
	assert_int_equal(bed_checkpoints(&b, &ids), 3);
	assert_string_equal(ids.v[0].id, "1-2-mine1");
	assert_string_equal(ids.v[1].id, "1-4-mine3");
	gpc_checkpoint_ids_clear(&ids);
	bed_append(&b, GPC_EVENT_SIGNAL, json_of("{'signal': 'USR1'}"));
	bed_exit(&b, -1, &x);
	gpc_exit_clear(&x);
	bed_close(&b);
}

/* A save by request is committed and bears the request's number, also when
 * nothing changed; old ones go, with their blobs; the end saves once more. */
TEST(saves_are_kept_and_pruned)
{
	struct bed b;
	struct gpc_exit x = {0};
	struct gpc_checkpoint c = {0};
	struct gpc_checkpoint_ids ids = {0};
	gpc_autostr *id = NULL, *final = NULL;

	bed_start(&b, "run: |\n  cd $GPUCLOUD_CHECKPOINT_DIR\n"
		"  trap 'echo last > end; exit 0' USR1\n"
		"  head -c 300000 /dev/urandom > big\n  echo ready\n"
		"  while :; do sleep 0.05; done\n"
		"checkpoint: {path: ck, upload_every: 1h}\n");
	bed_wait_log(&b, 0, "ready");
	for (int i = 0; i < 4; i++) {
		gpc_autostr *label = gpc_format("mine%d", i);
		struct gpc_json *data = gpc_json_object();
		int64_t number;

		gpc_json_set_str(data, "label", label);
		bed_append(&b, GPC_EVENT_SAVE, data);
		number = b.j.state.n;
		id = wait_checkpoint(&b, label);
		get_checkpoint(&b, id, &c);
		assert_int_equal(gpc_json_get_int(c.rest, "request", 0), number);
		assert_int_equal(c.n, i + 1);
		assert_true(c.quiet);
		assert_int_equal(c.files, 1);
		gpc_checkpoint_clear(&c);
		free(id);
		id = NULL;
	}
	bed_append(&b, GPC_EVENT_SIGNAL, json_of("{'signal': 'USR1'}"));
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_COMPLETED);
	final = wait_checkpoint(&b, "final");
	assert_string_equal(final, "1-5-final");
	bed_wait_gone(&b, 0);
	assert_int_equal(bed_checkpoints(&b, &ids), 2);
	assert_string_equal(ids.v[0].id, "1-4-mine3");
	get_checkpoint(&b, final, &c);
	assert_int_equal(c.files, 2);
	/* A list and a pack or two of each that is left. */
	assert_in_range(count_keys(b.store, "jobs/" JOB "/1/blobs/", NULL), 2, 5);
	gpc_checkpoint_clear(&c);
	gpc_checkpoint_ids_clear(&ids);
	gpc_exit_clear(&x);
	bed_close(&b);
}

TEST(a_notice_lets_the_program_save)
{
	struct bed b;
	struct gpc_exit x = {0};
	gpc_autostr *id = NULL;

	bed_start(&b, "run: |\n  cd $GPUCLOUD_CHECKPOINT_DIR\n"
		"  trap 'echo saved > n; exit 143' TERM\n  echo ready\n"
		"  while :; do sleep 0.05; done\n");
	bed_wait_log(&b, 0, "ready");
	bed_append(&b, GPC_EVENT_SIGNAL, json_of("{'signal': 'interrupt'}"));
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_SPOT_INTERRUPTED);
	id = wait_checkpoint(&b, "notice");
	assert_string_equal(id, "1-1-notice");
	bed_wait_gone(&b, 0);
	gpc_exit_clear(&x);
	bed_close(&b);
}

/* SIGKILL in the middle of writing: a half-written file is no checkpoint. */
TEST(a_file_that_was_being_written_is_not_saved)
{
	struct bed b;
	struct gpc_exit x = {0};
	struct gpc_checkpoint_ids ids = {0};

	bed_start(&b, "run: |\n  cd $GPUCLOUD_CHECKPOINT_DIR\n"
		"  trap '' TERM\n  exec 9> half\n  echo ready\n"
		"  while :; do echo x >&9; sleep 0.1; done\n"
		"checkpoint: {path: ck, upload_every: 1h, grace: 1s}\n");
	bed_wait_log(&b, 0, "ready");
	bed_append(&b, GPC_EVENT_CANCEL, json_of("{'now': false}"));
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_CANCELLED);
	bed_wait_gone(&b, 0);
	assert_int_equal(bed_checkpoints(&b, &ids), 0);
	gpc_checkpoint_ids_clear(&ids);
	gpc_exit_clear(&x);
	bed_close(&b);
}

TEST(every_rank_saves_its_part)
{
	struct bed b;
	struct gpc_exit x = {0};
	struct gpc_checkpoint c = {0};
	struct gpc_buf log = {0};
	gpc_autostr *id = NULL;

	bed_start(&b, "num_nodes: 2\nrun: |\n"
		"  if [ -n \"${GPUCLOUD_RESUME_FROM:-}\" ]; then\n"
		"    echo found $(cat $GPUCLOUD_RESUME_FROM/shard); exit 0\n"
		"  fi\n"
		"  echo part $GPUCLOUD_NODE_RANK > $GPUCLOUD_CHECKPOINT_DIR/shard\n"
		"  echo ready\n  sleep 1000\n"
		"checkpoint: {path: ck, upload_every: 1h, ranks: all}\n");
	bed_wait_log(&b, 0, "ready");
	bed_wait_log(&b, 1, "ready");
	bed_append(&b, GPC_EVENT_SAVE, json_of("{}"));
	id = wait_checkpoint(&b, "user");
	get_checkpoint(&b, id, &c);
	assert_int_equal(c.parts.n, 2);
	assert_int_equal(c.parts.v[0].rank, 0);
	assert_int_equal(c.parts.v[1].rank, 1);
	assert_int_equal(c.files, 2);
	lose(&b);
	bed_wait_gone(&b, 0);
	bed_wait_gone(&b, 1);
	bed_attempt(&b, id, 0, true);
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_COMPLETED);
	bed_stream(&b, 0, "log/", &log);
	assert_has(gpc_buf_str(&log), "found part 0");
	gpc_buf_clear(&log);
	bed_stream(&b, 1, "log/", &log);
	assert_has(gpc_buf_str(&log), "found part 1");
	gpc_buf_clear(&log);
	gpc_checkpoint_clear(&c);
	gpc_exit_clear(&x);
	bed_close(&b);
}

TEST(artifacts_and_metrics_arrive)
{
	static const char *const want[] = {
		"\"name\":\"loss\",\"value\":0.5", "\"name\":\"loss\",\"value\":0.25",
		"\"name\":\"acc\",\"value\":91", "\"name\":\"lr\",\"value\":0.001",
	};
	struct bed b;
	struct gpc_exit x = {0};
	struct gpc_buf metrics = {0}, text = {0};
	gpc_key key;

	bed_start(&b, "run: |\n  mkdir -p out/deep\n"
		"  echo one > out/a; echo two > 'out/deep/b c'\n"
		"  ln -s /etc/passwd out/escape\n"
		"  echo model > best.pt; echo x > worst.bin\n"
		"  echo step=1 loss=0.5\n  sleep 0.3\n"
		"  printf 'step=2 loss=0.25\\r'\n"
		"  echo '{\"acc\": 91, \"note\": \"x\"}' >> $GPUCLOUD_METRICS\n"
		"  echo '{\"name\": \"lr\", \"value\": 0.001}' >>"
		" $GPUCLOUD_METRICS\n"
		"metrics:\n  loss: 'loss=([0-9.]+)'\n"
		"artifacts: [out, '*.pt', 'none*']\n");
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_COMPLETED);
	assert_true(bed_has(&b, gpc_key_job_file(key, JOB, "artifacts/out/a")));
	assert_true(bed_has(&b, gpc_key_job_file(key, JOB,
		"artifacts/out/deep/b%20c")));
	assert_true(bed_has(&b, gpc_key_job_file(key, JOB,
		"artifacts/best.pt")));
	assert_false(bed_has(&b, gpc_key_job_file(key, JOB,
		"artifacts/out/escape")));
	assert_ok(gpc_store_get(b.store, gpc_key_job_file(key, JOB,
		"artifacts/out/a"), 100, &text, &err));
	assert_string_equal(gpc_buf_str(&text), "one\n");
	bed_wait_gone(&b, 0);
	bed_stream(&b, 0, "metrics/", &metrics);
	for (size_t i = 0; i < COUNT(want); i++)
		assert_has(gpc_buf_str(&metrics), want[i]);
	gpc_buf_clear(&metrics);
	gpc_buf_clear(&text);
	gpc_exit_clear(&x);
	bed_close(&b);
}

TEST(mounted_files_are_there)
{
	struct bed b;
	struct gpc_exit x = {0};
	struct gpc_buf log = {0};
	gpc_autostr *src = scratch();
	gpc_autostr *yaml = NULL, *cmd = NULL;

	cmd = gpc_format("mkdir %s/sub && echo in > %s/sub/f && "
		"ln -s f %s/sub/l && echo one > %s/one && "
		"chmod 640 %s/one", src, src, src, src, src);
	assert_int_equal(system(cmd), 0);
	yaml = gpc_format("file_mounts:\n  ~/data: %s/sub\n  cfg/x.txt: %s/one\n"
		"run: |\n  cat ~/data/f ~/data/l cfg/x.txt\n"
		"  readlink ~/data/l; ls cfg; stat -c %%a cfg/x.txt\n", src,
		src);
	bed_start(&b, yaml);
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_COMPLETED);
	bed_stream(&b, 0, "log/", &log);
	assert_string_equal(gpc_buf_str(&log), "in\nin\none\nf\nx.txt\n640\n");
	gpc_buf_clear(&log);
	gpc_exit_clear(&x);
	bed_close(&b);
	assert_ok(gpc_rmtree(src, &err));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_attempt_goes_on_from_the_save),
		cmocka_unit_test(saves_are_kept_and_pruned),
		cmocka_unit_test(a_prune_is_served_once),
		cmocka_unit_test(a_notice_lets_the_program_save),
		cmocka_unit_test(a_file_that_was_being_written_is_not_saved),
		cmocka_unit_test(every_rank_saves_its_part),
		cmocka_unit_test(artifacts_and_metrics_arrive),
		cmocka_unit_test(mounted_files_are_there),
	};
	int status;

	if (bed_main(argc, argv, &status))
		return status;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	free(self);
	return status;
}
