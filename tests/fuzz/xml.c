/* XML of services to trees: within the limits, with text that is whole, and found
 * again by the paths of its own names. */
#include "fuzz.h"

#include "dep/xml.h"

static void check(const struct gpc_xml *x, int depth, size_t *n)
{
	fuzz_check(depth <= GPC_XML_MAX_DEPTH, "too deep");
	for (; x; x = x->next) {
		const struct gpc_xml *same = gpc_xml_again(x);

		fuzz_check(++*n <= GPC_XML_MAX_ELEMENTS, "too many");
		fuzz_check(x->name && x->name[0], "no name");
		fuzz_check(x->text != NULL, "no text");
		fuzz_check(gpc_utf8_valid(x->text, strlen(x->text)),
			"not UTF-8");
		fuzz_check(!same || gpc_eq(same->name, x->name),
			"not the same name");
		if (x->first && !strchr(x->first->name, '/'))
			fuzz_check(gpc_xml_get(x, x->first->name) == x->first,
				"not found: %s", x->first->name);
		check(x->first, depth + 1, n);
		if (depth == 1)
			break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	gpc_autoptr(gpc_xml) *root = NULL;
	struct gpc_error err = {0};
	size_t elements = 0;

	if (gpc_xml_parse((const char *)data, n, &root, &err) < 0) {
		fuzz_check(err.msg[0], "an error without a message");
		fuzz_check(!root, "half a tree");
		return 0;
	}
	check(root, 1, &elements);
	return 0;
}
