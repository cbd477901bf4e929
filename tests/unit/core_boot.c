/* Machines that never come so far as to show a sign of life: what their console says
 * becomes the job's reason, and no machine is bought again and again. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "core/supervision.h"
#include "core_lab.h"
#include "model/boot_failure.h"

/* How often a call was made. */
static int calls(struct lab *lab, const char *op)
{
	gpc_autostr *path = gpc_path_join(lab->s->place.state_dir, "fake/ledger");
	gpc_autostr *want = gpc_format("\"op\":\"%s\"", op);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err;
	int n = 0;

	assert_ok(gpc_read_file(path, 1 << 20, &b, &err));
	for (const char *c = gpc_buf_str(&b); (c = strstr(c, want)); c++)
		n++;
	return n;
}

/* Each machine is gone after ms, with this on its console. */
static void all_die(struct lab *lab, int64_t ms, const char *line)
{
	gpc_autostr *script = gpc_format("{\"gone_ms\":600000,\"faults\":[{\"op\":"
		"\"create\",\"fault\":\"die\",\"ms\":%lld,\"times\":-1,\"text\":"
		"\"%s\"}]}", (long long)ms, line);

	lab_script(lab, script);
}

static void check_failure(const struct gpc_boot_failure *f)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	const struct gpc_job_state *st = lab_state(sv);
	gpc_autostr *line = gpc_format("cloud-init[9]: " GPC_BOOT_MARK
		"%s: seen just so", f->word);
	bool again = !f->final &&
		gpc_reason_retry(f->reason) == GPC_RETRY_RECOVER;

	all_die(lab, 1000, line);
	lab_finish(sv, 5 * MINUTE);
	assert_status(sv, "FAILED");
	assert_reason(sv, gpc_reason_to_str(f->reason));
	if (lab_ledger(lab).made != (again ? 2 : 1))
		fail_msg("%s: %d machines", f->word, lab_ledger(lab).made);
	assert_has(st->detail, f->what);
	assert_has(st->detail, "seen just so");
	assert_has(st->detail, f->advice);
	assert_string_equal(st->tries.v[st->tries.n - 1].boot, f->word);
	assert_true(calls(lab, "console") <= 2);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(each_failure_has_its_reason)
{
	for (const struct gpc_boot_failure *f = gpc_boot_failures; f->word; f++)
		check_failure(f);
}

/* It could not switch itself off: that is found out long before it is given up. */
TEST(a_silent_machine_is_asked)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	all_die(lab, 1000 * MINUTE, GPC_BOOT_MARK "no_profile: none");
	lab_step(sv);
	lab_advance(MINUTE);
	lab_step(sv);
	assert_status(sv, "STARTING");
	assert_int_equal(calls(lab, "console"), 0);
	lab_finish(sv, 2 * MINUTE);
	assert_reason(sv, "auth");
	assert_int_equal(lab_ledger(lab).made, 1);
	assert_int_equal(calls(lab, "console"), 1);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* Clouds show a console some time after a machine is gone. */
TEST(a_console_that_comes_late_is_waited_for)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	lab_script(lab, "{\"gone_ms\":600000,\"faults\":[{\"op\":\"create\","
		"\"fault\":\"die\",\"ms\":1000,\"text\":\"" GPC_BOOT_MARK
		"no_bucket: 404\"},{\"op\":\"console\",\"fault\":\"hide\","
		"\"times\":2}]}");
	lab_finish(sv, MINUTE);
	assert_reason(sv, "store_unreachable");
	assert_int_equal(calls(lab, "console"), 3);
	assert_int_equal(lab_ledger(lab).made, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

static void say_nothing(const char *fault, int asked)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);
	gpc_autostr *script = gpc_format("{\"gone_ms\":600000,\"faults\":[{\"op\":"
		"\"create\",\"fault\":\"die\",\"ms\":1000,\"times\":2},%s]}", fault);

	lab_script(lab, script);
	lab_finish(sv, 2 * MINUTE);
	assert_reason(sv, "no_progress");
	assert_int_equal(lab_state(sv)->tries.v[0].reason, GPC_REASON_NODE_LOST);
	assert_null(lab_state(sv)->tries.v[0].boot);
	assert_int_equal(calls(lab, "console"), asked);
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

TEST(a_console_that_does_not_help_changes_nothing)
{
	say_nothing("{\"op\":\"console\",\"fault\":\"auth\",\"times\":-1}", 2);
	say_nothing("{\"op\":\"console\",\"fault\":\"hide\",\"times\":-1}", 6);
	say_nothing("{\"op\":\"offers\",\"fault\":\"none\"}", 2);
}

/* What ran has booted: its console is nobody's business. */
TEST(who_has_shown_a_sign_of_life_is_not_asked)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	lab_run(lab, sv, job, 1);
	lab_script(lab, "{\"faults\":[{\"op\":\"list\",\"fault\":\"die\",\"text\":\""
		GPC_BOOT_MARK "no_space: full\"}]}");
	lab_advance(2000);
	lab_step(sv);
	assert_int_equal(lab_state(sv)->tries.v[0].reason, GPC_REASON_NODE_LOST);
	assert_int_equal(calls(lab, "console"), 0);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* Told before it counts as lost, and no longer once it is heard of again. */
TEST(a_silent_node_is_told)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	lab_run(lab, sv, job, 1);
	for (int i = 0; i < 2; i++) {
		lab_advance(MINUTE);
		lab_step(sv);
		assert_null(sv->node_note);
		lab_advance(20000);
		lab_step(sv);
		assert_non_null(sv->node_note);
		assert_has(sv->node_note, "rank 0 has shown no sign of life");
		lab_beat(lab, job, 1, 0, GPC_PHASE_RUN);
		lab_step(sv);
		assert_null(sv->node_note);
	}
	assert_status(sv, "RUNNING");
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* Another failure than before may be another trouble; the same one is not. */
TEST(only_the_same_twice_ends_it_so)
{
	struct lab *lab = lab_new(0);
	gpc_autostr *job = lab_job(lab, "");
	struct gpc_supervision *sv = lab_supervise(lab->s, job);

	lab_script(lab, "{\"gone_ms\":600000,\"faults\":[{\"op\":\"create\","
		"\"fault\":\"die\",\"ms\":1000,\"text\":\"" GPC_BOOT_MARK
		"no_network: x\"}]}");
	for (int i = 0; i < 60 && lab_state(sv)->attempt < 2; i++) {
		lab_step(sv);
		lab_advance(1000);
	}
	lab_run(lab, sv, job, 2);
	assert_string_equal(lab_state(sv)->tries.v[0].boot, "no_network");
	lab_exit(lab, job, 2, 0, GPC_REASON_COMPLETED, 0, 0);
	lab_beat(lab, job, 2, 0, GPC_PHASE_DONE);
	lab_finish(sv, MINUTE);
	assert_status(sv, "SUCCEEDED");
	lab_check(lab, job, 1);
	gpc_supervision_free(sv);
	lab_free(lab);
}

/* --- reading a console -------------------------------------------------------- */

TEST(a_console_is_any_bytes)
{
	static const struct { const char *text, *word, *said; } cases[] = {
		{"", NULL, NULL},
		{"gpucloud: boot failed: ", NULL, NULL},
		{"gpucloud: boot failed:", NULL, NULL},
		{"gpucloud: boot failed: no_such_word: x", NULL, NULL},
		{"gpucloud: boot failed: no_spaceship: x", NULL, NULL},
		{"gpucloud: boot failed: no_space", "no_space", ""},
		{"[  9.1] cloud-init[7]: gpucloud: boot failed: no_space: full: /var\r\n"
			"login:", "no_space", "full: /var"},
		{"gpucloud: boot failed: no_space: a\ngpucloud: boot failed: no_python:"
			"   b\n", "no_python", "b"},
		{"gpucloud: boot failed: no_space: \033[31mred", "no_space",
			"\\x1b[31mred"},
		/* what the agent said of itself counts, and its script came after it */
		{"gpucloud: boot failed: no_bundle: a\n"
			"gpucloud: error: gpucloud: boot failed: access_denied: b\n"
			"gpucloud: boot failed: agent_died: c\n", "access_denied", "b"},
		{"gpucloud: boot failed: what: b\ngpucloud: boot failed: agent_died: c",
			"agent_died", "c"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autostr *said = NULL;
		const struct gpc_boot_failure *f = gpc_boot_failure_read(
			cases[i].text, strlen(cases[i].text), &said);

		if (!gpc_eq(f ? f->word : NULL, cases[i].word) ||
			!gpc_eq(said, cases[i].said))
			fail_msg("case %zu: %s \"%s\"", i, f ? f->word : "-",
				said ? said : "-");
	}
}

TEST(an_agent_says_what_kept_it_from_its_job)
{
	static const struct { struct gpc_error why; const char *word; } cases[] = {
		{{ .code = GPC_EAUTH, .http = 403 }, "access_denied"},
		{{ .code = GPC_ENET }, "no_network"},
		{{ .code = GPC_ENET, .http = 503 }, "store_error"},
		{{ .code = GPC_ETIMEOUT }, "no_network"},
		{{ .code = GPC_EIO, .sys = ENOSPC }, "no_space"},
		{{ .code = GPC_EIO, .sys = EACCES }, "agent_died"},
		{{ .code = GPC_EPROTO }, "store_error"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *word = gpc_boot_failure_word(&cases[i].why);

		assert_string_equal(word, cases[i].word);
		assert_non_null(gpc_boot_failure_find(word));
	}
}

TEST(what_it_says_is_cut)
{
	gpc_autostr *said = NULL;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	gpc_buf_adds(&b, GPC_BOOT_MARK "no_space: ");
	for (int i = 0; i < 100000; i++)
		gpc_buf_addc(&b, 'x');
	assert_non_null(gpc_boot_failure_read(b.data, b.len, &said));
	assert_true(strlen(said) < 300);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_failure_has_its_reason),
		cmocka_unit_test(a_silent_machine_is_asked),
		cmocka_unit_test(a_console_that_comes_late_is_waited_for),
		cmocka_unit_test(a_console_that_does_not_help_changes_nothing),
		cmocka_unit_test(who_has_shown_a_sign_of_life_is_not_asked),
		cmocka_unit_test(a_silent_node_is_told),
		cmocka_unit_test(only_the_same_twice_ends_it_so),
		cmocka_unit_test(a_console_is_any_bytes),
		cmocka_unit_test(an_agent_says_what_kept_it_from_its_job),
		cmocka_unit_test(what_it_says_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
