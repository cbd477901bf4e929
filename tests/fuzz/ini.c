/* Ini files of the clouds' tools: what was read is found again by its names, and
 * what is wrong says where, without what stands there. Each value is also split as
 * a command, and so are the names of sections. */
#include "fuzz.h"

#include "creds/ini.h"
#include "creds/process.h"

static void split(const char *command)
{
	gpc_auto(gpc_strv) struct gpc_strv argv = {0};
	struct gpc_error err = {0};

	if (gpc_process_split(command, &argv, &err) < 0) {
		fuzz_check(err.msg[0], "an error without a message");
		return;
	}
	fuzz_check(argv.n > 0 && argv.v[0][0], "a command of no words");
	for (size_t i = 0; i < argv.n; i++)
		fuzz_check(strlen(argv.v[i]) <= strlen(command),
			"a word is longer than its command");
}

static void look_up(const struct gpc_ini *ini)
{
	for (size_t i = 0; i < ini->sections.n; i++) {
		const struct gpc_ini_section *s = gpc_ini_find(ini,
			ini->sections.entries[i].key);

		fuzz_check(s && s->line > 0, "a section got lost");
		split(s->name);
		for (size_t k = 0; k < s->values.n; k++) {
			const struct gpc_ini_value *v = gpc_ini_get(s,
				s->values.entries[k].key);

			fuzz_check(v && v->line > s->line - 1,
				"a key got lost");
			split(v->text);
			free(gpc_ini_sub(v, "endpoint_url"));
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	gpc_auto(gpc_ini) struct gpc_ini ini = {0};
	struct gpc_error err = {0};

	if (gpc_ini_parse((const char *)data, n, "f", &ini, &err) < 0) {
		fuzz_check(strncmp(err.msg, "f:", 2) == 0 || n >
			GPC_INI_MAX_BYTES, "\"%s\" names no line", err.msg);
		fuzz_check(!ini.path && ini.sections.n == 0,
			"a refused file left something");
		return 0;
	}
	look_up(&ini);
	return 0;
}
