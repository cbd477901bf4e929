/* What the command line makes of a spec: each line of the input is one change,
 * `WORD VALUE` for an option, `env NAME=VALUE`, `secret NAME`, or `file` with the
 * lines of an environment file; the task must still read back the same. */
#include "fuzz.h"

static const char base[] =
	"name: a\nrun: echo\nenvs: {A: 1}\nsecrets: {S: x}\n"
	"resources:\n  any_of:\n  - {infra: local}\n  - {accelerators: A100}\n";

static const char *lookup(const char *name, void *arg)
{
	(void)arg;
	return name[0] == 'H' ? "there" : NULL;
}

static const struct gpc_spec_host host = {
	.cwd = "/home/me", .home = "/home/me", .lookup = lookup,
};

static int change(struct gpc_spec *spec, const char *line,
	struct gpc_strv *warnings, struct gpc_error *err)
{
	gpc_autostr *word = gpc_strndup(line, strcspn(line, " "));
	const char *value = line + strlen(word);
	bool in_argv = false;

	value = *value ? value + 1 : NULL;
	if (gpc_eq(word, "env"))
		return gpc_spec_env(spec, value ? value : "", &host, err);
	if (gpc_eq(word, "secret"))
		return gpc_spec_secret(spec, value ? value : "", &host,
			&in_argv, err);
	return gpc_spec_override(spec, word, value, warnings, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
	struct fuzz_in in = {data, n};
	struct gpc_error err = {0};
	struct gpc_str line;
	struct gpc_spec *spec;

	fuzz_check(gpc_spec_parse(base, sizeof(base) - 1, "base", &file, &err)
		== 0, "the base: %s", err.msg);
	spec = &file.tasks.v[0];
	while (fuzz_part(&in, '\n', &line)) {
		gpc_autostr *text = gpc_strndup(line.ptr,
			strnlen(line.ptr, line.len));
		int r;

		if (gpc_eq(text, "file")) {
			struct gpc_str rest = fuzz_rest(&in);

			r = gpc_spec_env_file(spec, rest.ptr, rest.len,
				"job.env", &err);
		} else {
			r = change(spec, text, &file.warnings, &err);
		}
		fuzz_check(r == 0 || err.msg[0], "no message for %s", text);
		if (r < 0)
			return 0;
	}
	fuzz_check_task(spec);
	if (gpc_spec_resolve(spec, &host, &file.warnings, &err) == 0)
		fuzz_check_task(spec);
	return 0;
}
