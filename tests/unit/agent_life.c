/* The life of a job on its node: birth, phases, logs byte for byte, ends of all
 * kinds, several ranks, and that nothing is ever left running.
 */
#include "agent_bed.h"
#include "record/secrets.h"

TEST(output_arrives_byte_for_byte)
{
	struct bed b;
	struct gpc_exit x = {0};
	struct gpc_buf log = {0}, marks = {0}, out = {0}, errs = {0};
	struct gpc_str rest, line;
	struct gpc_mark m, last = {0};

	bed_start(&b, "run: |\n"
		"  printf 'a\\0b\\r50%%\\r100%%\\n'\n"
		"  sleep 0.3\n"
		"  printf 'to stderr\\n' >&2\n"
		"  sleep 0.3\n"
		"  printf '\\377\\376 no newline at the end'\n"
		"  exit 7\n");
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_EXIT_CODE);
	assert_int_equal(x.code, 7);
	assert_int_equal(x.rank, 0);
	assert_true(x.run_started_ms > 0);
	bed_stream(&b, 0, "log/", &log);
	bed_stream(&b, 0, "marks/", &marks);
	/* marks tell the two apart again */
	rest = gpc_str_of(gpc_buf_str(&marks));
	while (gpc_str_split(&rest, '\n', &line)) {
		if (line.len == 0)
			continue;
		assert_true(gpc_mark_parse(line.ptr, line.len, &m));
		if (last.source)
			gpc_buf_add(last.source == 1 ? &out : &errs,
				log.data + last.offset, m.offset - last.offset);
		last = m;
	}
	gpc_buf_add(last.source == 1 ? &out : &errs, log.data + last.offset,
		log.len - last.offset);
	assert_int_equal(out.len, 13 + 24);
	assert_memory_equal(out.data, "a\0b\r50%\r100%\n\377\376 no newline at "
		"the end", 13 + 24);
	assert_string_equal(gpc_buf_str(&errs), "to stderr\n");
	bed_wait_gone(&b, 0);
	gpc_buf_clear(&log);
	gpc_buf_clear(&marks);
	gpc_buf_clear(&out);
	gpc_buf_clear(&errs);
	gpc_exit_clear(&x);
	bed_close(&b);
}

TEST(setup_then_run_in_one_environment)
{
	static const char *const want[] = {
		"setup GPUCLOUD_JOB_ID=" JOB, "run GPUCLOUD_JOB_ID=" JOB,
		"run GPUCLOUD_ATTEMPT=1", "run GPUCLOUD_NODE_RANK=0",
		"run GPUCLOUD_NUM_NODES=1", "run GPUCLOUD_NODE_IPS=127.0.0.1",
		"run GPUCLOUD_MASTER_ADDR=127.0.0.1", "run PET_NNODES=1",
		"run SKYPILOT_NODE_RANK=0", "run SKYPILOT_TASK_ID=" JOB,
		"run PYTHONUNBUFFERED=1", "run COLOR=3.10", "run TOKEN=s3cret",
		"setup TOKEN=s3cret", "from setup: hello",
		"cwd sky_workdir", "run GPUCLOUD_METRICS=/",
		"run GPUCLOUD_CHECKPOINT_DIR=/", "on PATH",
	};
	struct bed b;
	struct gpc_exit x = {0};
	struct gpc_buf log = {0};
	struct gpc_json *data = gpc_json_object();
	struct gpc_pairs secrets = {0};

	bed_open(&b);
	gpc_pairs_set(&secrets, "TOKEN", "s3cret");
	bed_put_job(&b, "envs:\n  COLOR: 3.10\n"
		"setup: |\n  env | sed 's/^/setup /'\n  echo hello > note\n"
		"run: |\n  env | sed 's/^/run /'\n"
		"  echo from setup: $(cat note)\n"
		"  echo cwd $(basename $PWD)\n"
		"  echo ${GPUCLOUD_RESUME_FROM-nothing to resume}\n"
		"  command -v gpucloud >/dev/null && echo on PATH\n", &secrets);
	assert_ok(gpc_secrets_put(b.store, JOB, NULL, &secrets, &err));
	gpc_json_set_int(data, "num_nodes", 1);
	bed_append(&b, GPC_EVENT_SUBMITTED, data);
	bed_attempt(&b, NULL, 0, true);
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_COMPLETED);
	bed_stream(&b, 0, "log/", &log);
	for (size_t i = 0; i < COUNT(want); i++)
		assert_has(gpc_buf_str(&log), want[i]);
	assert_has(gpc_buf_str(&log), "nothing to resume");
	/* The secret lies nowhere on the node's disk. */
	{
		gpc_autostr *dir = bed_node_dir(&b, 0);
		gpc_autostr *cmd = gpc_format("grep -rqs s3cret '%s'", dir);

		bed_wait_gone(&b, 0);
		assert_int_not_equal(system(cmd), 0);
	}
	gpc_pairs_clear(&secrets);
	gpc_buf_clear(&log);
	gpc_exit_clear(&x);
	bed_close(&b);
}

/* Ends of one rank, each with what it must give. */
TEST(ends_have_their_reasons)
{
	static const struct {
		const char *yaml;
		enum gpc_reason reason;
		int code, signal;
		const char *detail;
	} cases[] = {
		{ "run: exit 0\n", GPC_REASON_COMPLETED, 0, 0, NULL },
		{ "run: false; true\n", GPC_REASON_COMPLETED, 0, 0, NULL },
		{ "strict: true\nrun: |\n  false | cat\n  true\n",
			GPC_REASON_EXIT_CODE, 1, 0, NULL },
		{ "run: kill -9 $$\n", GPC_REASON_EXIT_CODE, 0, 9, NULL },
		{ "setup: exit 3\nrun: echo never\n", GPC_REASON_SETUP_FAILED,
			3, 0, NULL },
		{ "run: sleep 1000\nlimits: {time: 1s}\n",
			GPC_REASON_TIME_LIMIT, 0, 15, "limits.time of 1s" },
		{ "setup: sleep 1000\nrun: x\nlimits: {setup: 1s}\n",
			GPC_REASON_TIME_LIMIT, 0, 15, "limits.setup of 1s" },
		{ "run: sleep 1000\nlimits: {cost: 1.5}\n",
			GPC_REASON_COST_LIMIT, 0, 15, "limits.cost of $1.50" },
		/* a folder is where the file should be */
		{ "file_mounts: {a: /etc/hostname, a/b: /etc/hostname}\nrun: x\n",
			GPC_REASON_SPEC_INVALID, 0, 0, "file_mounts.a/b" },
		{ "file_mounts: {/etc/x: /etc/hostname}\nrun: x\n",
			GPC_REASON_SPEC_INVALID, 0, 0, "/etc/x" },
		/* a shell that ignores SIGTERM meets SIGKILL after its grace */
		{ "run: |\n  trap '' TERM\n  while :; do sleep 0.1; done\n"
			"limits: {time: 1s}\n"
			"checkpoint: {path: c, grace: 1s}\n",
			GPC_REASON_TIME_LIMIT, 0, 9, NULL },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bed b;
		struct gpc_exit x = {0};

		bed_start(&b, cases[i].yaml);
		bed_exit(&b, -1, &x);
		if (x.reason != cases[i].reason || x.code != cases[i].code
			|| x.signal != cases[i].signal)
			fail_msg("case %zu: %s, code %d, signal %d, %s", i,
				gpc_reason_to_str(x.reason), x.code, x.signal,
				x.detail ? x.detail : "");
		if (cases[i].detail)
			assert_has(x.detail ? x.detail : "", cases[i].detail);
		bed_wait_gone(&b, 0);
		gpc_exit_clear(&x);
		bed_close(&b);
	}
}

TEST(a_huge_environment_is_an_error_of_the_spec)
{
	struct bed b;
	struct gpc_exit x = {0};
	struct gpc_buf yaml = {0};

	if (getenv("GPUCLOUD_TEST_VALGRIND"))
		skip();         /* it dies of an execve that fails */
	gpc_buf_adds(&yaml, "run: 'true'\nenvs:\n  BIG: ");
	for (int i = 0; i < 200000; i++)
		gpc_buf_addc(&yaml, 'x');
	gpc_buf_addc(&yaml, '\n');
	bed_start(&b, gpc_buf_str(&yaml));
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_SPEC_INVALID);
	assert_has(x.detail, "environment");
	assert_has(x.detail, "too large");
	gpc_buf_clear(&yaml);
	gpc_exit_clear(&x);
	bed_close(&b);
}

/* What a program started and left behind, in whatever session, is ended. */
TEST(nothing_outlives_the_program)
{
	struct bed b;
	struct gpc_exit x = {0};

	bed_start(&b, "run: |\n  setsid sleep 1000 &\n  sleep 1000 &\n"
		"  (trap '' TERM; setsid bash -c 'trap \"\" TERM; sleep 999' &)\n"
		"  sleep 0.2\n  echo done\n");
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_COMPLETED);
	assert_int_equal(bed_marked(b.ids.v[0]), 0);
	bed_wait_gone(&b, 0);
	gpc_exit_clear(&x);
	bed_close(&b);
}

/* kill -9 of the agent alone: its launcher ends the job and the node. */
TEST(a_killed_agent_leaves_nothing)
{
	struct bed b;
	struct gpc_node_file n = {0};
	gpc_key key;

	bed_start(&b, "run: |\n  setsid sleep 1000 &\n  echo ready\n"
		"  sleep 1000\n");
	bed_wait_log(&b, 0, "ready");
	assert_true(bed_marked(b.ids.v[0]) >= 3);
	assert_int_equal(kill(bed_agent(&b, 0), SIGKILL), 0);
	bed_wait_gone(&b, 0);
	bed_node(&b, 0, &n);
	assert_has(n.why, "signal 9");
	assert_false(bed_has(&b, gpc_key_rank(key, JOB, 1, 0, "exit.json")));
	gpc_node_file_clear(&n);
	bed_close(&b);
}

/* kill -9 of launcher and agent together: destroy ends what they left. */
TEST(a_killed_node_is_cleaned_by_destroy)
{
	struct bed b;
	struct gpc_node_file n = {0};
	const char *id;

	bed_start(&b, "run: |\n  setsid sleep 1000 &\n  echo ready\n"
		"  sleep 1000\n");
	bed_wait_log(&b, 0, "ready");
	bed_node(&b, 0, &n);
	assert_int_equal(kill(-n.pid, SIGKILL), 0);
	while (gpc_node_file_alive(&n))
		gpc_sleep_ms(5);
	id = b.ids.v[0];
	assert_ok(b.p->ops->destroy(b.p, &id, 1, &err));
	assert_int_equal(bed_marked(id), 0);
	gpc_node_file_clear(&n);
	bed_close(&b);
}

TEST(a_node_without_a_name_in_the_journal_ends)
{
	struct bed b;
	struct gpc_json *data = gpc_json_object();
	gpc_key key;

	bed_open(&b);
	bed_put_job(&b, "run: echo must not run\n", NULL);
	gpc_json_set_int(data, "num_nodes", 1);
	bed_append(&b, GPC_EVENT_SUBMITTED, data);
	bed_attempt(&b, NULL, 0, false);
	gpc_sleep_ms(1500);           /* it waits for the answer ... */
	assert_int_equal(kill(bed_agent(&b, 0), 0), 0);
	data = gpc_json_object();
	gpc_json_set_int(data, "intent", b.j.state.n);
	bed_append(&b, GPC_EVENT_VOID, data);
	bed_wait_gone(&b, 0);         /* ... and this is one */
	assert_false(bed_has(&b, gpc_key_beat(key, JOB, 1, 0)));
	bed_close(&b);
}

/* A machine's console, where it has one, shows the same line. */
TEST(who_cannot_read_its_job_says_so)
{
	struct bed b;
	struct gpc_json *data = gpc_json_object();
	gpc_auto(gpc_buf) struct gpc_buf said = {0};
	gpc_autostr *dir = NULL, *path = NULL;
	gpc_key key;

	bed_open(&b);
	bed_put_job(&b, "run: echo must not run\n", NULL);
	gpc_json_set_int(data, "num_nodes", 1);
	bed_append(&b, GPC_EVENT_SUBMITTED, data);
	assert_ok(gpc_store_put(b.store, gpc_key_job(key, JOB), "{", 1, 0, &err));
	bed_attempt(&b, NULL, 0, true);
	bed_wait_gone(&b, 0);
	dir = bed_node_dir(&b, 0);
	path = gpc_path_join(dir, GPC_NODE_LOG);
	assert_ok(gpc_read_file(path, 65536, &said, &err));
	assert_has(gpc_buf_str(&said), "gpucloud: boot failed: store_error: ");
	assert_false(bed_has(&b, gpc_key_rank(key, JOB, 1, 0, "beat")));
	bed_close(&b);
}

TEST(the_lifetime_is_kept_by_the_launcher)
{
	struct bed b;
	struct gpc_json *data = gpc_json_object();
	struct gpc_node_file n = {0};
	struct gpc_exit x = {0};

	bed_open(&b);
	bed_put_job(&b, "run: |\n  trap '' TERM\n  echo ready\n"
		"  while :; do sleep 0.1; done\n"
		"checkpoint: {path: c, grace: 1h}\n", NULL);
	gpc_json_set_int(data, "num_nodes", 1);
	bed_append(&b, GPC_EVENT_SUBMITTED, data);
	bed_attempt(&b, NULL, gpc_wall_ms() + 8000, true);
	bed_wait_gone(&b, 0);
	bed_node(&b, 0, &n);
	assert_has(n.why, "lifetime");
	gpc_node_file_clear(&n);
	gpc_exit_clear(&x);
	bed_close(&b);
}

TEST(cancel_and_signals_reach_the_program)
{
	struct bed b;
	struct gpc_exit x = {0};
	struct gpc_buf log = {0};

	bed_start(&b, "run: |\n  trap 'echo got usr1' USR1\n"
		"  trap 'echo got term; exit 5' TERM\n  echo ready\n"
		"  while :; do sleep 0.05; done\n");
	bed_wait_log(&b, 0, "ready");
	bed_append(&b, GPC_EVENT_SIGNAL, json_of("{'signal': 'USR1'}"));
	bed_wait_log(&b, 0, "got usr1");
	bed_append(&b, GPC_EVENT_CANCEL, json_of("{'now': false}"));
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_CANCELLED);
	assert_int_equal(x.code, 5);
	bed_stream(&b, 0, "log/", &log);
	assert_has(gpc_buf_str(&log), "got term");
	bed_wait_gone(&b, 0);
	gpc_buf_clear(&log);
	gpc_exit_clear(&x);
	bed_close(&b);
}

/* --- several ranks ----------------------------------------------------------- */

TEST(two_ranks_meet)
{
	struct bed b;
	struct gpc_exit x = {0};
	struct gpc_buf text = {0}, log = {0};
	struct gpc_peers p = {0};
	gpc_key key;

	bed_start(&b, "num_nodes: 2\nrun: |\n"
		"  echo rank $GPUCLOUD_NODE_RANK of $GPUCLOUD_NUM_NODES\n"
		"  echo ips $(echo \"$SKYPILOT_NODE_IPS\" | tr '\\n' ' ')\n"
		"  echo port $GPUCLOUD_MASTER_PORT\n");
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_COMPLETED);
	assert_ok(gpc_store_get(b.store, gpc_key_attempt(key, JOB, 1,
		"peers.json"), 1 << 20, &text, &err));
	assert_ok(gpc_peers_parse(text.data, text.len, &p, &err));
	assert_int_equal(p.nodes.n, 2);
	assert_string_equal(p.nodes.v[0].address, "127.0.0.1");
	assert_string_equal(p.nodes.v[1].address, "127.0.0.2");
	assert_true(p.master_port > 0);
	bed_stream(&b, 1, "log/", &log);
	assert_has(gpc_buf_str(&log), "rank 1 of 2");
	assert_has(gpc_buf_str(&log), "ips 127.0.0.1 127.0.0.2");
	bed_wait_gone(&b, 0);
	bed_wait_gone(&b, 1);
	gpc_buf_clear(&text);
	gpc_buf_clear(&log);
	gpc_peers_clear(&p);
	gpc_exit_clear(&x);
	bed_close(&b);
}

TEST(the_first_failing_rank_ends_the_others)
{
	for (int failing = 0; failing < 2; failing++) {
		struct bed b;
		struct gpc_exit x = {0};
		gpc_autostr *yaml = gpc_format("num_nodes: 2\nrun: |\n"
			"  [ $GPUCLOUD_NODE_RANK = %d ] && exit 9\n"
			"  sleep 1000\n", failing);

		bed_start(&b, yaml);
		bed_exit(&b, -1, &x);
		assert_int_equal(x.reason, GPC_REASON_EXIT_CODE);
		assert_int_equal(x.rank, failing);
		assert_int_equal(x.code, 9);
		bed_wait_gone(&b, 0);
		bed_wait_gone(&b, 1);
		gpc_exit_clear(&x);
		bed_close(&b);
	}
}

TEST(survivors_leave_when_a_rank_is_lost)
{
	struct bed b;

	bed_start(&b, "num_nodes: 2\nrun: |\n  echo ready\n  sleep 1000\n");
	bed_wait_log(&b, 0, "ready");
	bed_wait_log(&b, 1, "ready");
	assert_int_equal(kill(bed_agent(&b, 1), SIGKILL), 0);
	bed_wait_gone(&b, 1);
	bed_append(&b, GPC_EVENT_LOST, json_of(
		"{'attempt': 1, 'rank': 1, 'reason': 'node_lost'}"));
	bed_wait_gone(&b, 0);
	bed_close(&b);
}

/* A signal is for those who handle it; the tools beside them live on. */
TEST(a_signal_finds_its_handler)
{
	struct bed b;
	struct gpc_exit x = {0};
	struct gpc_buf log = {0};

	bed_start(&b, "run: |\n"
		"  setsid bash -c 'trap \"echo deep got it; exit 0\" USR2;"
		" while :; do sleep 0.05; done' &\n"
		"  echo ready\n  sleep 3\n  echo sleep gave $?\n");
	bed_wait_log(&b, 0, "ready");
	gpc_sleep_ms(300);
	bed_append(&b, GPC_EVENT_SIGNAL, json_of("{'signal': 'USR2'}"));
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_COMPLETED);
	bed_stream(&b, 0, "log/", &log);
	assert_has(gpc_buf_str(&log), "deep got it");
	assert_has(gpc_buf_str(&log), "sleep gave 0");
	gpc_buf_clear(&log);
	gpc_exit_clear(&x);
	bed_close(&b);
}

/* recovery.barrier: no rank runs before the slowest setup is through. */
TEST(a_barrier_holds_the_fast_ranks)
{
	struct bed b;
	struct gpc_exit x = {0};
	struct gpc_buf log = {0};
	gpc_autostr *flag = NULL;
	gpc_autostr *yaml = NULL;
	gpc_autostr *dir = scratch();

	flag = gpc_format("%s/ready", dir);
	yaml = gpc_format("num_nodes: 2\nrecovery: {barrier: true}\n"
		"setup: |\n  [ $GPUCLOUD_NODE_RANK = 0 ] || "
		"{ sleep 1.5; touch %s; }\n"
		"run: |\n  test -e %s && echo after the slowest\n", flag, flag);
	bed_start(&b, yaml);
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_COMPLETED);
	bed_stream(&b, 0, "log/", &log);
	assert_has(gpc_buf_str(&log), "after the slowest");
	gpc_buf_clear(&log);
	gpc_exit_clear(&x);
	bed_close(&b);
	assert_ok(gpc_rmtree(dir, &err));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_arrives_byte_for_byte),
		cmocka_unit_test(setup_then_run_in_one_environment),
		cmocka_unit_test(ends_have_their_reasons),
		cmocka_unit_test(a_huge_environment_is_an_error_of_the_spec),
		cmocka_unit_test(nothing_outlives_the_program),
		cmocka_unit_test(a_killed_agent_leaves_nothing),
		cmocka_unit_test(a_killed_node_is_cleaned_by_destroy),
		cmocka_unit_test(a_node_without_a_name_in_the_journal_ends),
		cmocka_unit_test(who_cannot_read_its_job_says_so),
		cmocka_unit_test(the_lifetime_is_kept_by_the_launcher),
		cmocka_unit_test(cancel_and_signals_reach_the_program),
		cmocka_unit_test(two_ranks_meet),
		cmocka_unit_test(the_first_failing_rank_ends_the_others),
		cmocka_unit_test(survivors_leave_when_a_rank_is_lost),
		cmocka_unit_test(a_signal_finds_its_handler),
		cmocka_unit_test(a_barrier_holds_the_fast_ranks),
	};
	int status;

	if (bed_main(argc, argv, &status))
		return status;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	free(self);
	return status;
}
