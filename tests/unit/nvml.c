/* GPUs: what the library says, the offer made of it, who gets which one, what
 * the job sees, and the rule for idle ones. The library is fake_nvml.c.
 */
#include "agent_bed.h"

#include "agent/facts.h"
#include "agent/gpus.h"
#include "dep/nvml.h"
#include "model/boot_failure.h"

TEST(the_library_is_read)
{
	struct gpc_nvml *n = NULL;
	struct gpc_gpu_info info;
	struct gpc_gpu_sample s;
	char version[96];

	assert_ok(gpc_nvml_open(&n, &err));
	assert_int_equal(gpc_nvml_count(n), 2);
	assert_ok(gpc_nvml_info(n, 1, &info, &err));
	assert_string_equal(info.name, "NVIDIA A100-SXM4-40GB");
	assert_string_equal(info.uuid, "GPU-1");
	assert_true(info.memory_bytes == (uint64_t)40 << 30);
	assert_ok(gpc_nvml_sample(n, 1, &s, &err));
	assert_int_equal(s.utilization, 90);
	assert_int_equal(s.power_mw, 61000);
	assert_int_equal(s.temperature_c, -1);   /* not offered by this one */
	assert_fails(gpc_nvml_info(n, 2, &info, &err), GPC_ENOTFOUND);
	assert_ok(gpc_nvml_driver(n, version, &err));
	assert_string_equal(version, "535.104.05");
	gpc_nvml_free(n);
}

static char *offer_for(struct bed *b, const char *name, double count)
{
	struct gpc_ask ask = {0};
	struct gpc_gpu_ask *g = gpc_vec_push(&ask.gpus);
	struct gpc_offers o = {0};
	char *text;

	g->name = gpc_strdup(name);
	g->count = count;
	assert_ok(b->p->ops->offers(b->p, &ask, &o, &err));
	text = o.v[0].why_not ? gpc_strdup(o.v[0].why_not)
		: gpc_format("%d x %s", o.v[0].gpus, o.v[0].gpu);
	gpc_offers_clear(&o);
	gpc_ask_clear(&ask);
	return text;
}

TEST(the_offer_tells_what_is_here)
{
	static const struct { const char *name; double count; const char *want; }
	cases[] = {
		{ "A100-40GB", 2, "2 x NVIDIA A100-SXM4-40GB" },
		{ "A100-40GB", 0.5, "1 x NVIDIA A100-SXM4-40GB" },
		{ "A100-40GB", 3, "asks for 3 GPUs A100-40GB; this machine has "
			"2 NVIDIA A100-SXM4-40GB" },
		{ "H100-SXM", 1, "asks for 1 GPU H100-SXM; this machine has "
			"2 NVIDIA A100-SXM4-40GB" },
	};
	struct bed b;

	bed_open(&b);
	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autostr *text = offer_for(&b, cases[i].name, cases[i].count);

		assert_string_equal(text, cases[i].want);
	}
	bed_close(&b);
}

/* Two nodes with a GPU each, none for a third; it is free again afterwards. */
TEST(a_gpu_has_one_node)
{
	struct bed b;
	struct gpc_launch l = { .v = 1, .attempt = 1, .count = 1, .gpus = 1 };
	struct gpc_instances x = {0};
	char *ids[2];
	gpc_autostr *busy = NULL;
	char run[9];

	gpc_rand_base32(run, 8);
	bed_open(&b);
	l.job = gpc_strdup(JOB);
	l.store_url = gpc_strdup(b.url);
	gpc_pairs_set(&l.tags, "gpucloud-store", b.store->id);
	/* Unanswered intents keep the nodes waiting for their birth. */
	bed_put_job(&b, "run: echo x\n", NULL);
	bed_append(&b, GPC_EVENT_SUBMITTED, json_of("{'num_nodes': 3}"));
	bed_append(&b, GPC_EVENT_ATTEMPT, json_of("{'attempt': 1}"));
	for (int i = 0; i < 3; i++) {
		struct gpc_json *data = gpc_json_object();
		gpc_autostr *token = gpc_format("%s-%d", run, i);

		gpc_json_set_int(data, "attempt", 1);
		gpc_json_set_str(data, "token", token);
		gpc_json_set(data, "request", gpc_json_object());
		bed_append(&b, GPC_EVENT_INTENT, data);
	}
	for (int i = 0; i < 2; i++) {
		gpc_autostr *dir = NULL;
		struct gpc_node_file n = {0};

		free(l.token);
		l.token = gpc_format("%s-%d", run, i);
		assert_ok(b.p->ops->create(b.p, &l, &x, &err));
		dir = gpc_format("%s/nodes/%s-%d", b.dir, run, i);
		assert_ok(gpc_node_file_read(dir, &n, &err));
		assert_int_equal(gpc_json_int_or(gpc_json_first(n.gpus), -1), i);
		gpc_node_file_clear(&n);
		gpc_instances_clear(&x);
		ids[i] = gpc_format("%s-%d", run, i);
	}
	free(l.token);
	l.token = gpc_format("%s-2", run);
	assert_fails(b.p->ops->create(b.p, &l, &x, &err), GPC_ECAPACITY);
	busy = gpc_format("%s/nodes/%s-2", b.dir, run);
	assert_int_equal(access(busy, F_OK), -1);    /* all or none */
	assert_ok(b.p->ops->destroy(b.p, (const char *const *)ids, 1, &err));
	assert_ok(b.p->ops->create(b.p, &l, &x, &err));
	gpc_instances_clear(&x);
	free(ids[0]);
	free(ids[1]);
	gpc_launch_clear(&l);
	bed_close(&b);
}

TEST(the_job_sees_its_gpus_and_their_figures)
{
	struct bed b;
	struct gpc_exit x = {0};
	struct gpc_buf log = {0}, metrics = {0};
	struct gpc_json *data = gpc_json_object();

	bed_open(&b);
	b.gpus = 1;
	bed_put_job(&b, "run: |\n  echo cuda=$CUDA_VISIBLE_DEVICES "
		"n=$GPUCLOUD_GPUS_PER_NODE $SKYPILOT_NUM_GPUS_PER_NODE "
		"p=$PET_NPROC_PER_NODE\n  sleep 1000\n"
		"limits: {idle: {gpu_below: 10, for: 1s}}\n", NULL);
	gpc_json_set_int(data, "num_nodes", 1);
	bed_append(&b, GPC_EVENT_SUBMITTED, data);
	bed_attempt(&b, NULL, 0, true);
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_IDLE);
	bed_stream(&b, 0, "log/", &log);
	assert_has(gpc_buf_str(&log), "cuda=0 n=1 1 p=1");
	bed_wait_gone(&b, 0);
	bed_stream(&b, 0, "metrics/", &metrics);
	assert_has(gpc_buf_str(&metrics),
		"\"name\":\"gpu0.utilization\",\"value\":3");
	gpc_buf_clear(&log);
	gpc_buf_clear(&metrics);
	gpc_exit_clear(&x);
	bed_close(&b);
}

/* --- what a job needs ---------------------------------------------------------- */

TEST(versions_compare_by_numbers)
{
	static const struct { const char *has, *least; bool enough; } cases[] = {
		{"535.104.05", "535.104.05", true}, {"535.104.05", "535.104", true},
		{"535.104.05", "535", true}, {"535", "535.0", true},
		{"535", "535.0.1", false}, {"535.104.05", "535.104.06", false},
		{"535.104.05", "535.1000", false}, {"535.104.05", "550", false},
		{"1000.1", "999.9", true}, {"99", "100", false},
		{"535.104.5", "535.104.05", true}, {"", "1", false},
		{"99999999999999999999", "535", true}, {"535.104.05-beta", "535.104", true},
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		if (gpc_gpus_version_at_least(cases[i].has, cases[i].least) !=
			cases[i].enough)
			fail_msg("%s and %s", cases[i].has, cases[i].least);
}

/* On a machine of a cloud, which is all the job's own. */
TEST(a_machine_that_cannot_serve_is_told)
{
	static const struct {
		const char *driver, *least;
		int n_gpus;
		const char *word, *said;
	} cases[] = {
		{"535.104.05", NULL, 2, NULL, NULL},
		{"535.104.05", "535.104", 1, NULL, NULL},
		{"none", NULL, 1, "no_driver", "not loaded"},
		{"none", NULL, 0, NULL, NULL},
		{"none", "550", 0, NULL, NULL},
		{"", "550", 1, "no_driver", "does not tell"},
		{"535.104.05", NULL, 4, "few_gpus", "2 of 4"},
		{"535.104.05", "550.54", 2, "old_driver", "535.104.05, asked for is 550.54"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct gpc_node_file node = { .n_gpus = cases[i].n_gpus };
		struct gpc_agent a = { .node = &node };
		int r;

		setenv("FAKE_NVML_DRIVER", cases[i].driver, 1);
		a.spec.min_driver = (char *)cases[i].least;
		r = gpc_gpus_open(&a, &err);
		assert_int_equal(r < 0, cases[i].word != NULL);
		if (r < 0) {
			assert_string_equal(a.boot->word, cases[i].word);
			assert_has(err.msg, cases[i].said);
			assert_has(err.msg, a.boot->advice);
		} else {
			assert_int_equal(gpc_agent_gpus(&a), cases[i].n_gpus ? 2 : 0);
		}
		gpc_nvml_free(a.nvml);
		gpc_json_free(a.gpus);
	}
	unsetenv("FAKE_NVML_DRIVER");
}

TEST(an_old_driver_ends_the_job)
{
	struct bed b;
	struct gpc_exit x = {0};
	struct gpc_json *data = gpc_json_object();

	bed_open(&b);
	b.gpus = 1;
	bed_put_job(&b, "run: echo never\nmin_driver: 550.54\n", NULL);
	gpc_json_set_int(data, "num_nodes", 1);
	bed_append(&b, GPC_EVENT_SUBMITTED, data);
	bed_attempt(&b, NULL, 0, true);
	bed_exit(&b, -1, &x);
	assert_int_equal(x.reason, GPC_REASON_SPEC_INVALID);
	assert_string_equal(x.boot, "old_driver");
	assert_has(x.detail, "535.104.05");
	gpc_exit_clear(&x);
	bed_wait_gone(&b, 0);
	bed_close(&b);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_library_is_read),
		cmocka_unit_test(the_offer_tells_what_is_here),
		cmocka_unit_test(a_gpu_has_one_node),
		cmocka_unit_test(the_job_sees_its_gpus_and_their_figures),
		cmocka_unit_test(versions_compare_by_numbers),
		cmocka_unit_test(a_machine_that_cannot_serve_is_told),
		cmocka_unit_test(an_old_driver_ends_the_job),
	};
	int status;

	if (bed_main(argc, argv, &status))
		return status;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	free(self);
	return status;
}
