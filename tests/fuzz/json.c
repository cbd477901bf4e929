/* JSON text to trees and back: what is printed, plain or pretty, reads back the
 * same, also as YAML. */
#include "fuzz.h"

#include "dep/yaml.h"

static void read_back(const struct gpc_json *j, char *text)
{
	gpc_autoptr(gpc_json) *again = NULL;
	struct gpc_error err = {0};

	fuzz_check(gpc_json_parse(text, strlen(text), &again, &err) == 0,
		"what was printed cannot be read: %s\n%s", err.msg, text);
	fuzz_same_json(j, again, "JSON changed on the way");
	free(text);
}

static void as_yaml(const struct gpc_json *j)
{
	gpc_autoptr(gpc_json) *again = NULL;
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	struct gpc_error err = {0};

	if (gpc_yaml_print(j, &text, &err) < 0)
		return;
	if (gpc_yaml_parse(gpc_buf_str(&text), text.len, "yaml", &docs, &err)
		< 0)
		fuzz_die("YAML of JSON cannot be read: %s\n%s", err.msg,
			gpc_buf_str(&text));
	if (docs.n != 1 || !gpc_yaml_root(docs.v[0]))
		return;
	if (gpc_yaml_to_json(gpc_yaml_root(docs.v[0]), "yaml", &again, &err)
		== 0)
		fuzz_same_json(j, again, "JSON changed as YAML");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	gpc_autoptr(gpc_json) *j = NULL, *copy = NULL;
	struct gpc_error err = {0};

	if (gpc_json_parse((const char *)data, n, &j, &err) < 0) {
		fuzz_check(err.msg[0], "an error without a message");
		return 0;
	}
	read_back(j, gpc_json_print(j));
	read_back(j, gpc_json_print_pretty(j));
	copy = gpc_json_copy(j);
	fuzz_same_json(j, copy, "a copy differs");
	if (n < 10000)          /* YAML has closer limits */
		as_yaml(j);
	return 0;
}
