/* YAML to a spec: parsed, printed as YAML and as JSON, and read again, it is the
 * same; so is one task through the JSON of job.json once it is resolved. */
#include "fuzz.h"

#include "base/vec.h"

static const char *lookup(const char *name, void *arg)
{
	(void)arg;
	return name[0] == 'H' ? "there" : NULL;
}

static int read_file(const char *path, char **ret_text, void *arg,
	struct gpc_error *err)
{
	(void)arg;
	if (strlen(path) > 20)
		return gpc_fail(err, GPC_ENOTFOUND, "%s: no such file", path);
	*ret_text = gpc_strdup("from-file\n");
	return 0;
}

static const struct gpc_spec_host host = {
	.cwd = "/home/me/project", .home = "/home/me", .script = "train.py",
	.lookup = lookup, .read_file = read_file,
};

static char *to_text(const struct gpc_spec_file *file)
{
	gpc_autoptr(gpc_json) *j = gpc_spec_file_to_json(file);

	return gpc_json_print(j);
}

static void check_text(const struct gpc_spec_file *file, const char *text)
{
	gpc_auto(gpc_spec_file) struct gpc_spec_file again = {0};
	struct gpc_error err = {0};

	fuzz_check(gpc_spec_parse(text, strlen(text), "again", &again, &err)
		== 0, "does not read back: %s\n%s", err.msg, text);
	fuzz_same(to_text(file), to_text(&again), "the spec changed");
}

static void check_file(const struct gpc_spec_file *file)
{
	gpc_auto(gpc_buf) struct gpc_buf yaml = {0};
	gpc_autostr *json = to_text(file);
	struct gpc_error err = {0};

	fuzz_check(gpc_spec_file_to_yaml(file, &yaml, &err) == 0,
		"cannot be printed: %s", err.msg);
	check_text(file, gpc_buf_str(&yaml));
	check_text(file, json);
}

static void ask(const struct gpc_spec *spec)
{
	bool ordered;
	size_t n = gpc_spec_candidates(spec, &ordered);

	for (size_t i = 0; i < n && i < 20; i++) {
		const struct gpc_resources *r = gpc_spec_candidate(spec, i);
		gpc_autostr *provider = gpc_resources_provider(r);

		fuzz_check(!provider || provider[0], "an empty provider");
		fuzz_check(gpc_resources_gpu_count(r) >= 0, "negative GPUs");
		for (size_t g = 0; g < r->gpus.n; g++) {
			gpc_autostr *s = gpc_gpu_format(&r->gpus.v[g]);

			fuzz_check(s[0], "a GPU without a name");
		}
	}
}

static void resolve(struct gpc_spec_file *file)
{
	bool whole = true;
	struct gpc_error err = {0};

	for (size_t i = 0; i < file->tasks.n; i++) {
		struct gpc_spec *spec = &file->tasks.v[i];
		gpc_autoptr(gpc_json) *a = NULL, *b = NULL;

		if (gpc_spec_resolve(spec, &host, &file->warnings, &err) < 0) {
			whole = false;
			continue;
		}
		fuzz_check_task(spec);
		ask(spec);
		a = gpc_spec_to_json(spec);
		fuzz_check(gpc_spec_resolve(spec, &host, NULL, &err) == 0,
			"cannot be resolved twice: %s", err.msg);
		b = gpc_spec_to_json(spec);
		fuzz_same_json(a, b, "resolving twice changes");
		if (gpc_spec_check_supported(spec, &file->warnings, NULL, &err) < 0)
			fuzz_check(err.msg[0], "an error without a message");
	}
	if (whole)
		check_file(file);
}
/* Going on after a mistake finds no other answer than stopping at it. */
static void check_all(const uint8_t *data, size_t n, bool wrong)
{
	gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
	struct gpc_errors others = {0};
	struct gpc_error err = {0};
	int r = gpc_spec_parse_all((const char *)data, n, "job.yaml", &file,
		&others, &err);

	fuzz_check((r < 0) == wrong, "all mistakes are other than the first: %s",
		err.msg);
	for (size_t i = 0; i < others.n; i++)
		fuzz_check(others.v[i].msg[0], "an error without a message");
	gpc_vec_free(&others);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
	struct gpc_error err = {0};

	if (gpc_spec_parse((const char *)data, n, "job.yaml", &file, &err) < 0) {
		fuzz_check(err.msg[0], "an error without a message");
		check_all(data, n, true);
		return 0;
	}
	check_all(data, n, false);
	fuzz_check(file.tasks.n > 0, "a file without a task");
	check_file(&file);
	if (gpc_spec_file_check_supported(&file, &err) < 0)
		fuzz_check(err.msg[0], "an error without a message");
	resolve(&file);
	return 0;
}
