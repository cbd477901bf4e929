/* Specs: the cases of tests/vectors/spec, the way out and back in YAML and in
 * JSON, what the command line changes, and what must stay secret. */
#include "test.h"

#include <dirent.h>

#include "base/fd.h"
#include "base/str.h"
#include "base/vec.h"
#include "dep/yaml.h"
#include "model/gpu_alias.h"
#include "model/spec.h"
#include "model/templates.h"

#define FOLDER GPC_TEST_SOURCE "/tests/vectors/spec"

static const char *lookup(const char *name, void *arg)
{
	static const char *const env[][2] = {
		{"HERE", "there"}, {"TOKEN", "t0ken"}, {"ALSO", "too"},
	};

	(void)arg;
	for (size_t i = 0; i < COUNT(env); i++)
		if (gpc_eq(name, env[i][0]))
			return env[i][1];
	return NULL;
}

static int read_file(const char *path, char **ret_text, void *arg,
	struct gpc_error *err)
{
	(void)arg;
	if (!gpc_eq(path, "/etc/token"))
		return gpc_fail(err, GPC_ENOTFOUND, "%s: no such file", path);
	*ret_text = gpc_strdup("from-file\n");
	return 0;
}

static const struct gpc_spec_host host = {
	.cwd = "/home/me/project", .home = "/home/me", .lookup = lookup,
	.read_file = read_file,
};

static int parse(const char *text, struct gpc_spec_file *file,
	struct gpc_error *err)
{
	return gpc_spec_parse(text, strlen(text), "job.yaml", file, err);
}

/* --- cases --------------------------------------------------------------- */

static int apply(struct gpc_spec *spec, const char *option,
	struct gpc_strv *warnings, struct gpc_error *err)
{
	gpc_autostr *word = gpc_strndup(option, strcspn(option, "="));
	const char *value = strchr(option, '=');

	if (gpc_starts_with(option, "env:"))
		return gpc_spec_env(spec, option + 4, &host, err);
	if (gpc_starts_with(option, "secret:"))
		return gpc_spec_secret(spec, option + 7, &host, NULL, err);
	return gpc_spec_override(spec, word, value ? value + 1 : NULL, warnings,
		err);
}

static int apply_line(struct gpc_spec_file *file, const char *text,
	struct gpc_error *err)
{
	struct gpc_str rest = {text, strcspn(text, "\n")}, word;

	if (!gpc_starts_with(text, "# with: "))
		return 0;
	rest.ptr += strlen("# with: ");
	rest.len -= strlen("# with: ");
	while (gpc_str_split(&rest, ' ', &word)) {
		gpc_autostr *option = gpc_strndup(word.ptr, word.len);

		for (size_t i = 0; i < file->tasks.n; i++) {
			int e = apply(&file->tasks.v[i], option, &file->warnings,
				err);

			if (e)
				return e;
		}
	}
	return 0;
}

static int resolve(const char *text, size_t n, struct gpc_spec_file *file,
	struct gpc_error *err)
{
	int e = gpc_spec_parse(text, n, "job.yaml", file, err);

	if (!e)
		e = apply_line(file, text, err);
	for (size_t i = 0; i < file->tasks.n && !e; i++)
		e = gpc_spec_resolve(&file->tasks.v[i], &host, &file->warnings,
			err);
	return e;
}

static void add_support(const struct gpc_spec_file *file, struct gpc_buf *out)
{
	struct gpc_error err = {0};
	gpc_auto(gpc_strv) struct gpc_strv warnings = {0};

	gpc_strv_copy(&warnings, &file->warnings);
	if (gpc_spec_file_check_supported(file, &err))
		gpc_buf_addf(out, "# refused: %s\n", err.msg);
	for (size_t i = 0; i < file->tasks.n; i++) {
		gpc_auto(gpc_errors) struct gpc_errors others = {0};

		if (!gpc_spec_check_supported(&file->tasks.v[i], &warnings,
			&others, &err))
			continue;
		gpc_buf_addf(out, "# refused: %s\n", err.msg);
		gpc_vec_each(x, &others)
			gpc_buf_addf(out, "# and: %s\n", x->msg);
	}
	for (size_t i = 0; i < warnings.n; i++)
		gpc_buf_addf(out, "# warning: %s\n", warnings.v[i]);
}

static char *to_json_text(const struct gpc_spec_file *file)
{
	gpc_autoptr(gpc_json) *j = gpc_spec_file_to_json(file);

	return gpc_json_print(j);
}

/* parse(print(x)) == x, by YAML, by JSON text, and by JSON trees. */
static void check_round_trip(const char *name, const struct gpc_spec_file *file)
{
	gpc_autostr *json = to_json_text(file);
	gpc_auto(gpc_buf) struct gpc_buf yaml = {0};
	const char *texts[2];
	struct gpc_error err = {0};

	assert_ok(gpc_spec_file_to_yaml(file, &yaml, &err));
	texts[0] = gpc_buf_str(&yaml);
	texts[1] = json;
	for (size_t i = 0; i < 2; i++) {
		gpc_auto(gpc_spec_file) struct gpc_spec_file again = {0};
		gpc_autostr *json2 = NULL;

		if (parse(texts[i], &again, &err))
			fail_msg("%s: does not read back: %s\n%s", name, err.msg,
				texts[i]);
		json2 = to_json_text(&again);
		if (!gpc_eq(json, json2))
			fail_msg("%s: changed on the way:\n%s\n%s", name, json,
				json2);
	}
	for (size_t i = 0; i < file->tasks.n; i++) {
		gpc_auto(gpc_spec) struct gpc_spec spec = {0};
		gpc_autoptr(gpc_json) *a =
			gpc_spec_to_json(&file->tasks.v[i]);
		gpc_autoptr(gpc_json) *b = NULL;
		gpc_autostr *ta = gpc_json_print(a), *tb = NULL;

		assert_ok(gpc_spec_from_json(a, "job.json", &spec, NULL, &err));
		b = gpc_spec_to_json(&spec);
		tb = gpc_json_print(b);
		assert_string_equal(ta, tb);
	}
}

static void check_idempotent(const char *name, struct gpc_spec_file *file)
{
	gpc_autostr *before = to_json_text(file), *after = NULL;
	struct gpc_error err = {0};

	for (size_t i = 0; i < file->tasks.n; i++)
		if (gpc_spec_resolve(&file->tasks.v[i], &host, NULL, &err))
			fail_msg("%s: second resolve: %s", name, err.msg);
	after = to_json_text(file);
	assert_string_equal(before, after);
}

/* The result of a case; *ret_end is the file that holds it. */
static char *run(const char *name, const struct gpc_buf *input,
	const char **ret_end)
{
	gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
	gpc_auto(gpc_buf) struct gpc_buf out = {0};
	struct gpc_error err = {0};
	char *text;

	*ret_end = ".err";
	if (resolve(gpc_buf_str(input), input->len, &file, &err)) {
		gpc_buf_addf(&out, "%s\n", err.msg);
		if (*err.hint)
			gpc_buf_addf(&out, "%s\n", err.hint);
	} else {
		*ret_end = ".out";
		assert_ok(gpc_spec_file_to_yaml(&file, &out, &err));
		check_round_trip(name, &file);
		add_support(&file, &out);
		check_idempotent(name, &file);
	}
	assert_ok(gpc_buf_finish(&out, &text, &err));
	return text;
}

static void run_case(const char *name)
{
	gpc_autostr *path = gpc_format(FOLDER "/%s.yaml", name);
	gpc_auto(gpc_buf) struct gpc_buf input = {0}, want = {0};
	gpc_autostr *got = NULL, *expected = NULL;
	struct gpc_error err = {0};
	const char *end;

	assert_ok(gpc_read_file(path, 1 << 20, &input, &err));
	got = run(name, &input, &end);
	expected = gpc_format(FOLDER "/%s%s", name, end);
	if (getenv("GOLDEN_UPDATE")) {
		assert_ok(gpc_write_file(expected, got, strlen(got), 0644,
			&err));
		return;
	}
	if (gpc_read_file(expected, 1 << 20, &want, &err))
		fail_msg("%s: not expected:\n%s", expected, got);
	if (!gpc_eq(gpc_buf_str(&want), got))
		fail_msg("%s: expected\n%s\ngot\n%s", name, gpc_buf_str(&want),
			got);
}

TEST(cases)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	DIR *d = opendir(FOLDER);
	const struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		if (gpc_ends_with(e->d_name, ".yaml"))
			gpc_strv_take(&names, gpc_strndup(e->d_name,
				strlen(e->d_name) - strlen(".yaml")));
	closedir(d);
	gpc_strv_sort(&names);
	assert_true(names.n >= 100);
	for (size_t i = 0; i < names.n; i++)
		run_case(names.v[i]);
	print_message("%zu cases\n", names.n);
}

/* --- typed values ---------------------------------------------------------- */

TEST(reads_typed_values)
{
	static const char text[] =
		"num_nodes: 3\nstrict: true\nrun: x\n"
		"resources:\n  accelerators: [L4:2, A10G:4]\n  cpus: 4+\n"
		"  memory: 1.5\n  max_hourly_cost: 2.5\n  disk_size: 1.5TB\n"
		"checkpoint: {path: c, ask: {signal: USR1, every: 5m}, "
		"ranks: all}\n"
		"limits: {cost: 80 CNY, time: 90m, idle: {gpu_below: 5}}\n"
		"recovery: {restarts: 3, on_exit: [7, 9], barrier: true}\n"
		"file_mounts: {d: {source: [a, b], mode: COPY}}\n";
	gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
	const struct gpc_resources *r;
	const struct gpc_spec *s;
	struct gpc_error err;

	assert_ok(parse(text, &file, &err));
	s = &file.tasks.v[0];
	r = &s->resources;
	assert_int_equal(s->num_nodes, 3);
	assert_true(s->strict);
	assert_int_equal(r->gpus.n, 2);
	assert_true(r->gpus_ordered);
	assert_string_equal(r->gpus.v[1].name, "A10G");
	assert_int_equal(gpc_resources_gpu_count(r), 4);
	assert_true(r->cpus == 4.0 && r->cpus_at_least);
	assert_int_equal(r->memory_bytes, (uint64_t)3 << 29);
	assert_int_equal(r->max_hourly_cost.micros, 2500000);
	assert_int_equal(r->disk_bytes, (uint64_t)1536 << 30);
	assert_int_equal(s->checkpoint.ask_every_ms, 300000);
	assert_true(s->checkpoint.ask_signal > 0 && s->checkpoint.all_ranks);
	assert_int_equal(s->checkpoint.keep, 2);
	assert_string_equal(s->limits.cost.currency, "CNY");
	assert_int_equal(s->limits.time_ms, 5400000);
	assert_true(s->limits.idle_gpu_below == 5.0);
	assert_int_equal(s->recovery.restarts, 3);
	assert_int_equal(s->recovery.on_exit.v[1], 9);
	assert_true(s->recovery.barrier && !s->recovery.none);
	assert_int_equal(s->file_mounts.v[0].sources.n, 2);
	assert_string_equal(s->file_mounts.v[0].source, "a");
}

TEST(folds_job_recovery)
{
	gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
	struct gpc_error err;

	assert_ok(parse("run: x\nresources: {any_of: [{infra: local}, "
		"{infra: aws}], job_recovery: {strategy: none, "
		"max_restarts_on_errors: 2, recover_on_exit_codes: 33}}\n",
		&file, &err));
	assert_true(file.tasks.v[0].recovery.none);
	assert_int_equal(file.tasks.v[0].recovery.restarts, 2);
	assert_int_equal(file.tasks.v[0].recovery.on_exit.v[0], 33);
	assert_int_equal(gpc_spec_candidates(&file.tasks.v[0], NULL), 2);
	assert_string_equal(gpc_spec_candidate(&file.tasks.v[0], 1)->infra,
		"aws");
}

TEST(keeps_every_text)
{
	static const char *const texts[] = {
		"3.10", "010", "NO", "1:30", "2026-01-01", "0x10", "1e3", "a b",
		"+1", ".5", "1_000", "true",
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
		gpc_autostr *text = gpc_format("run: x\nenvs: {V: %s}\n",
			texts[i]);
		struct gpc_error err;

		assert_ok(parse(text, &file, &err));
		assert_string_equal(gpc_pairs_get(&file.tasks.v[0].envs, "V"),
			texts[i]);
		assert_int_equal(file.warnings.n, 0);
	}
}

/* --- secrets ----------------------------------------------------------------- */

TEST(never_writes_secrets)
{
	gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
	gpc_auto(gpc_buf) struct gpc_buf yaml = {0};
	gpc_autostr *json = NULL;
	struct gpc_error err;
	struct gpc_spec *s;
	bool in_argv = false;

	assert_ok(parse("run: x\nsecrets: {A: hunter2, B: 'env:TOKEN', "
		"C: 'file:/etc/token', D: , E: }\n", &file, &err));
	s = &file.tasks.v[0];
	assert_ok(gpc_spec_secret(s, "D=hunter3", &host, &in_argv, &err));
	assert_true(in_argv);
	assert_ok(gpc_spec_secret(s, "E=@/etc/token", &host, &in_argv, &err));
	assert_false(in_argv);
	assert_ok(gpc_spec_secret(s, "TOKEN", &host, &in_argv, &err));
	assert_false(in_argv);
	assert_ok(gpc_spec_resolve(s, &host, NULL, &err));
	assert_string_equal(gpc_pairs_get(&s->secrets, "A"), "hunter2");
	assert_string_equal(gpc_pairs_get(&s->secrets, "B"), "t0ken");
	assert_string_equal(gpc_pairs_get(&s->secrets, "C"), "from-file");
	assert_string_equal(gpc_pairs_get(&s->secrets, "E"), "from-file");
	assert_string_equal(gpc_pairs_get(&s->secrets, "TOKEN"), "t0ken");
	assert_ok(gpc_spec_file_to_yaml(&file, &yaml, &err));
	json = to_json_text(&file);
	for (size_t i = 0; i < s->secrets.n; i++) {
		assert_null(strstr(json, s->secrets.v[i].value));
		assert_null(strstr(gpc_buf_str(&yaml), s->secrets.v[i].value));
	}
	assert_has(json, "\"D\":null");
}

TEST(keeps_secrets_out_of_errors)
{
	struct gpc_spec s;
	struct gpc_error err;

	gpc_spec_init(&s);
	assert_fails(gpc_spec_secret(&s, "1A=hunter2", &host, NULL, &err),
		GPC_EUSAGE);
	assert_null(strstr(err.msg, "hunter2"));
	assert_fails(gpc_spec_secret(&s, "A=@/nowhere", &host, NULL, &err),
		GPC_ENOTFOUND);
	assert_fails(gpc_spec_secret(&s, "NOT_SET", &host, NULL, &err),
		GPC_EUSAGE);
	assert_int_equal(s.secrets.n, 0);
	gpc_spec_clear(&s);
}

/* --- the command line ---------------------------------------------------------- */

TEST(reads_env_files)
{
	static const char text[] =
		"# comment\n\nA=1\nexport B = two words # tail\r\n"
		"C='# kept'\nD=\"a\\nb \\\"q\\\" \\$X\"\nE=\nS=hidden\nF=a#b";
	gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
	struct gpc_error err;
	struct gpc_spec *s;

	assert_ok(parse("run: x\nsecrets: {S: }\n", &file, &err));
	s = &file.tasks.v[0];
	assert_ok(gpc_spec_env_file(s, text, strlen(text), ".env", &err));
	assert_string_equal(gpc_pairs_get(&s->envs, "A"), "1");
	assert_string_equal(gpc_pairs_get(&s->envs, "B"), "two words");
	assert_string_equal(gpc_pairs_get(&s->envs, "C"), "# kept");
	assert_string_equal(gpc_pairs_get(&s->envs, "D"), "a\nb \"q\" $X");
	assert_string_equal(gpc_pairs_get(&s->envs, "E"), "");
	assert_string_equal(gpc_pairs_get(&s->envs, "F"), "a#b");
	assert_false(gpc_pairs_has(&s->envs, "S"));
	assert_string_equal(gpc_pairs_get(&s->secrets, "S"), "hidden");
	assert_fails(gpc_spec_env_file(s, "A=1\n2B=3\n", 9, ".env", &err),
		GPC_ECONFIG);
	assert_has(err.msg, ".env:2: ");
	assert_fails(gpc_spec_env_file(s, "A='1\n", 5, ".env", &err),
		GPC_ECONFIG);
}

TEST(makes_a_spec_of_a_command)
{
	static const char *const argv[] = {
		"python3", "-u", "exp/train it.py", "--lr=0.1",
	};
	gpc_auto(gpc_spec) struct gpc_spec s;
	struct gpc_error err;

	gpc_spec_init_command(&s, argv, COUNT(argv));
	assert_string_equal(s.run, "python3 -u 'exp/train it.py' --lr=0.1");
	assert_ok(gpc_spec_resolve(&s, &host, NULL, &err));
	assert_string_equal(s.name, "train-it");
	assert_ok(gpc_spec_check_supported(&s, NULL, NULL, &err));
}

TEST(names_a_job_without_name)
{
	static const struct { const char *text, *script, *name, *original; } t[] = {
		{"run: x\nworkdir: My_Project\n", "a.yaml", "my-project", NULL},
		{"run: x\n", "dir/Fine Tune.yaml", "fine-tune", NULL},
		{"run: x\n", NULL, "job", NULL},
		{"run: x\nname: ok-1\n", "a.yaml", "ok-1", NULL},
		{"run: x\nname: Not_OK\n", "a.yaml", "not-ok", "Not_OK"},
	};

	for (size_t i = 0; i < COUNT(t); i++) {
		gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
		struct gpc_spec_host h = host;
		struct gpc_error err;

		h.script = t[i].script;
		assert_ok(parse(t[i].text, &file, &err));
		assert_ok(gpc_spec_resolve(&file.tasks.v[0], &h, NULL, &err));
		assert_string_equal(file.tasks.v[0].name, t[i].name);
		assert_true(gpc_eq(file.tasks.v[0].original_name,
			t[i].original));
	}
}

/* What a dry run prints gives the same name and the same original again. */
TEST(original_name_round_trip)
{
	gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0}, again = {0};
	gpc_auto(gpc_buf) struct gpc_buf yaml = {0};
	struct gpc_error err = {0};
	gpc_autoptr(gpc_json) *j = NULL;

	assert_ok(parse("run: x\nname: My Train\n", &file, &err));
	assert_ok(gpc_spec_resolve(&file.tasks.v[0], &host, NULL, &err));
	assert_ok(gpc_spec_file_to_yaml(&file, &yaml, &err));
	assert_ok(parse(gpc_buf_str(&yaml), &again, &err));
	assert_ok(gpc_spec_resolve(&again.tasks.v[0], &host, NULL, &err));
	assert_string_equal(again.tasks.v[0].name, "my-train");
	assert_string_equal(again.tasks.v[0].original_name, "My Train");
	/* A name that was given later counts. */
	gpc_set_str(&again.tasks.v[0].name, "other");
	j = gpc_spec_to_json(&again.tasks.v[0]);
	assert_string_equal(gpc_json_get_str(j, "name"), "other");
}

TEST(options_match_fields)
{
	const struct gpc_spec_option *options;
	const struct gpc_spec_field *fields;
	size_t n, n_fields;

	options = gpc_spec_options(&n);
	fields = gpc_spec_fields(&n_fields);
	for (size_t i = 0; i < n; i++) {
		bool found = false;

		for (size_t k = 0; k < n_fields; k++) {
			gpc_autostr *name = gpc_format("%s.%s",
				fields[k].section, fields[k].name);

			found |= gpc_eq(name, options[i].field);
		}
		if (!found)
			fail_msg("--%s: no field %s", options[i].word,
				options[i].field);
	}
	assert_true(n >= 20);
}

TEST(manual_names_every_field)
{
	gpc_auto(gpc_buf) struct gpc_buf page = {0};
	const struct gpc_spec_field *fields;
	struct gpc_error err;
	size_t n;

	assert_ok(gpc_read_file(GPC_TEST_SOURCE "/man/gpucloud-spec.5.scd",
		1 << 20, &page, &err));
	fields = gpc_spec_fields(&n);
	for (size_t i = 0; i < n; i++) {
		gpc_autostr *word = gpc_format("*%s*", fields[i].name);

		if (fields[i].state != GPC_SPEC_INTERNAL &&
		    !strstr(page.data, word))
			fail_msg("gpucloud-spec(5) lacks %s of %s",
				fields[i].name, fields[i].section);
		assert_non_null(fields[i].forms);
		assert_non_null(fields[i].help);
	}
}

/* --- GPUs ------------------------------------------------------------------------- */

TEST(knows_gpu_names)
{
	static const struct { const char *name, *canonical; } t[] = {
		{"A100", "A100-40GB"}, {"a100-80gb", "A100-80GB"},
		{"H100", "H100-SXM"}, {"V100", "V100-16GB"}, {"t4", "T4"},
		{"rtx 4090", "RTX4090"}, {"tpu-v5p", "TPU-v5p"},
		{"A10", "A10"}, {"A10G", "A10G"}, {"A1000", NULL}, {"", NULL},
	};
	static const struct { const char *device; int gb; const char *name; } d[] = {
		{"NVIDIA H200", 140, "H200"},
		{"NVIDIA A100-SXM4-40GB", 40, "A100-40GB"},
		{"NVIDIA A100-SXM4-80GB", 80, "A100-80GB"},
		{"NVIDIA A100 80GB PCIe", 80, "A100-80GB"},
		{"NVIDIA H100 80GB HBM3", 80, "H100-SXM"},
		{"NVIDIA H100 PCIe", 80, "H100-PCIe"},
		{"Tesla V100-SXM2-32GB", 32, "V100-32GB"},
		{"Tesla T4", 15, "T4"}, {"NVIDIA L40S", 45, "L40S"},
		{"NVIDIA GeForce RTX 4090", 24, "RTX4090"},
		{"Unknown", 1, NULL},
	};

	for (size_t i = 0; i < COUNT(t); i++) {
		const struct gpc_gpu_model *m = gpc_gpu_find(t[i].name);

		assert_true(gpc_eq(m ? m->name : NULL, t[i].canonical));
	}
	for (size_t i = 0; i < COUNT(d); i++) {
		const struct gpc_gpu_model *m = gpc_gpu_of_device(d[i].device,
			(uint64_t)d[i].gb << 30);

		if (!gpc_eq(m ? m->name : NULL, d[i].name))
			fail_msg("%s: got %s", d[i].device, m ? m->name : "none");
	}
}

/* --- templates ---------------------------------------------------------------------- */

TEST(templates_work)
{
	size_t n = 0;

	for (const struct gpc_template *t = gpc_templates; t->name; t++, n++) {
		gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
		struct gpc_error err;

		assert_ptr_equal(gpc_template_find(t->name), t);
		assert_ok(parse(t->text, &file, &err));
		assert_int_equal(file.warnings.n, 0);
		for (size_t i = 0; i < file.tasks.n; i++) {
			assert_ok(gpc_spec_resolve(&file.tasks.v[i], &host,
				NULL, &err));
			assert_ok(gpc_spec_check_supported(&file.tasks.v[i],
				&file.warnings, NULL, &err));
		}
		assert_int_equal(file.warnings.n, 0);
	}
	assert_true(n >= 4);
	assert_null(gpc_template_find("nonsense"));
}

/* --- hostile input -------------------------------------------------------------------- */

/* Every prefix of a rich spec ends in a value or an error, never in a crash,
 * and so does each spec with one byte changed. */
TEST(survives_damage)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err;

	assert_ok(gpc_read_file(FOLDER "/everything.yaml", 1 << 20, &b, &err));
	for (size_t n = 0; n < b.len; n += 3) {
		gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};

		if (!gpc_spec_parse(b.data, n, "job.yaml", &file, &err))
			assert_true(file.tasks.n > 0);
	}
	for (size_t at = 0; at < b.len; at += 2) {
		static const char bytes[] = "{[:-#\n\"&*!\t0~\x01";
		char saved = b.data[at];
		gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};

		b.data[at] = bytes[at / 2 % (sizeof(bytes) - 1)];
		if (!gpc_spec_parse(b.data, b.len, "job.yaml", &file, &err))
			check_round_trip("damaged", &file);
		b.data[at] = saved;
	}
}

TEST(bounds_large_input)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
	struct gpc_error err;

	gpc_buf_adds(&b, "run: x\nresources:\n  any_of:\n");
	for (int i = 0; i < 300; i++)
		gpc_buf_adds(&b, "    - {infra: local}\n");
	assert_fails(gpc_spec_parse(b.data, b.len, "job.yaml", &file, &err),
		GPC_ECONFIG);
	assert_has(err.msg, "more than 256 entries");
	gpc_buf_reset(&b);
	for (int i = 0; i < 1001; i++)
		gpc_buf_adds(&b, "---\nrun: x\n");
	assert_fails(gpc_spec_parse(b.data, b.len, "job.yaml", &file, &err),
		GPC_ECONFIG);
	assert_has(err.msg, "more than 1000 tasks");
	gpc_buf_reset(&b);
	gpc_buf_adds(&b, "resources:\n  labels: {a: ");
	for (int i = 0; i < 100000; i++)
		gpc_buf_adds(&b, "xy");
	gpc_buf_adds(&b, "}\n  any_of:\n");
	for (int i = 0; i < 200; i++)
		gpc_buf_adds(&b, "    - {infra: local}\n");
	assert_fails(gpc_spec_parse(b.data, b.len, "job.yaml", &file, &err),
		GPC_ECONFIG);
	assert_has(err.msg, "too long to repeat");
}

/* Adds the first mistake after the others. */
static void parse_all(const char *text, struct gpc_errors *others, int code)
{
	gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
	struct gpc_error err = {0};
	int e = gpc_spec_parse_all(text, strlen(text), "job.yaml", &file, others,
		&err);

	assert_int_equal(e, -code);
	assert_true(!e || err.msg[0]);
	if (e)
		*gpc_vec_push(others) = err;
}

/* Lists, alternatives and several tasks go on too; nothing is told twice, and what
 * is only not built is told beside mistakes alone. */
TEST(tells_all_mistakes)
{
	static const struct { const char *text; int code; size_t n; } rows[] = {
		{"run: x\nlauncher: torchrun\n", 0, 0},
		{"run: x\nlauncher: none\nnum_nodes: x\n", GPC_ECONFIG, 1},
		{"run: x\nlauncher: torchrun\nnum_nodes: x\n",
			GPC_EUNSUPPORTED, 2},
		{"run: x\nservice: {replicas: x, ports: []}\n",
			GPC_EUNSUPPORTED, 1},
		{"run: [x]\n---\nrun: x\n---\nname: [x]\nrun: {a: b}\n",
			GPC_ECONFIG, 3},
		{"resources:\n  any_of:\n  - {cpus: x, memory: y}\n  - z\n"
			"  - {infra: local}\n", GPC_ECONFIG, 3},
		{"artifacts:\n- {to: x}\n- y\n- {path: a, to: b}\n- {pth: a}\n",
			GPC_ECONFIG, 3},
		{"envs: {a-b: x, c: [d], e: f}\nlimits: {idle: {for: 3, x: 1}}\n",
			GPC_ECONFIG, 4},
		{"run: x\nrun: y\nz: 1\n", GPC_ECONFIG, 1},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gpc_errors all = {0};

		parse_all(rows[i].text, &all, rows[i].code);
		if (all.n != rows[i].n)
			print_message("%s", rows[i].text);
		for (size_t k = 0; k < all.n && all.n != rows[i].n; k++)
			print_message("%s\n", all.v[k].msg);
		assert_int_equal(all.n, rows[i].n);
		gpc_vec_free(&all);
	}
}

TEST(bounds_substitution)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
	struct gpc_error err;

	gpc_buf_adds(&b, "run: x\nenvs: {A: ");
	for (int i = 0; i < 50000; i++)
		gpc_buf_adds(&b, "xy");
	gpc_buf_adds(&b, "}\nfile_mounts:\n");
	for (int i = 0; i < 5000; i++)
		gpc_buf_addf(&b, "  m%d: $A\n", i);
	assert_ok(gpc_spec_parse(b.data, b.len, "job.yaml", &file, &err));
	assert_fails(gpc_spec_resolve(&file.tasks.v[0], &host, NULL, &err),
		GPC_ECONFIG);
	assert_has(err.msg, "job.yaml:2:1: envs: the spec is larger");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases),
		cmocka_unit_test(reads_typed_values),
		cmocka_unit_test(folds_job_recovery),
		cmocka_unit_test(keeps_every_text),
		cmocka_unit_test(never_writes_secrets),
		cmocka_unit_test(keeps_secrets_out_of_errors),
		cmocka_unit_test(reads_env_files),
		cmocka_unit_test(makes_a_spec_of_a_command),
		cmocka_unit_test(names_a_job_without_name),
		cmocka_unit_test(original_name_round_trip),
		cmocka_unit_test(options_match_fields),
		cmocka_unit_test(manual_names_every_field),
		cmocka_unit_test(knows_gpu_names),
		cmocka_unit_test(templates_work),
		cmocka_unit_test(survives_damage),
		cmocka_unit_test(bounds_large_input),
		cmocka_unit_test(bounds_substitution),
		cmocka_unit_test(tells_all_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
