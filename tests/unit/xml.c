/* XML as services send it, and as attackers would. */
#include "test.h"

#include "base/buf.h"
#include "base/str.h"
#include "dep/xml.h"

static int parse(const char *text, struct gpc_xml **ret_x,
	struct gpc_error *err)
{
	return gpc_xml_parse(text, strlen(text), ret_x, err);
}

TEST(reads_a_list)
{
	static const char text[] =
		"\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/\">\n"
		"  <!-- a comment --><?pi nothing?>\n"
		"  <Name>b</Name><IsTruncated>false</IsTruncated>\n"
		"  <Contents><Key>a &amp; b &lt;&#65;&#x20AC;</Key>"
		"<Size>1</Size></Contents>\n"
		"  <Contents><Key> <![CDATA[<x>&amp;]]> </Key></Contents>\n"
		"  <Other/><Contents a='1'><Owner><ID>z</ID></Owner></Contents>\n"
		"</ListBucketResult>\n";
	gpc_autoptr(gpc_xml) *root = NULL;
	struct gpc_error err = {0};
	const struct gpc_xml *x;

	assert_ok(gpc_xml_parse(text, sizeof(text) - 1, &root, &err));
	assert_string_equal(root->name, "ListBucketResult");
	assert_string_equal(gpc_xml_text(root, "Name"), "b");
	assert_string_equal(gpc_xml_text(root, "None"), "");
	assert_string_equal(gpc_xml_text(root, "Name/None"), "");
	assert_string_equal(gpc_xml_text(root, "Other"), "");
	x = gpc_xml_get(root, "Contents");
	assert_string_equal(gpc_xml_text(x, "Key"), "a & b <A\xe2\x82\xac");
	x = gpc_xml_again(x);
	assert_string_equal(gpc_xml_text(x, "Key"), " <x>&amp; ");
	x = gpc_xml_again(x);
	assert_string_equal(gpc_xml_text(x, "Owner/ID"), "z");
	assert_null(gpc_xml_again(x));
	/* found behind the first of its name */
	assert_string_equal(gpc_xml_text(root, "Contents/Owner/ID"), "z");
	assert_null(gpc_xml_get(root, "Conten"));
	assert_null(gpc_xml_get(root, "Contents2"));
	assert_null(gpc_xml_get(root, ""));
	assert_null(gpc_xml_get(NULL, "a"));
	assert_string_equal(gpc_xml_text(NULL, "a"), "");
	assert_null(gpc_xml_again(NULL));
}

TEST(drops_namespaces_and_joins_text)
{
	gpc_autoptr(gpc_xml) *root = NULL;
	struct gpc_error err = {0};

	assert_ok(parse("<s:a xmlns:s='u'>1<s:b>2</s:b>3<b/>4</s:a>", &root,
		&err));
	assert_string_equal(root->name, "a");
	assert_string_equal(root->text, "134");
	assert_string_equal(gpc_xml_text(root, "b"), "2");
	assert_string_equal(gpc_xml_again(root->first)->text, "");
}

TEST(refuses_what_is_no_plain_utf8_xml)
{
	static const struct { const char *text, *why; } cases[] = {
		{"", "no element found"},
		{" ", "no element found"},
		{"text", "syntax error"},
		{"{\"a\":1}", "well-formed"},
		{"<a>", "no element found"},
		{"<a><b></a>", "mismatched tag"},
		{"<a/><b/>", "junk after"},
		{"<a>&nbsp;</a>", "undefined entity"},
		{"<a>&#0;</a>", "invalid character"},
		{"<a>&#xFFFFFFFF;</a>", "invalid character"},
		{"<a>\x01</a>", "not well-formed"},
		{"<a>\xff</a>", "not UTF-8"},
		{"<a>\xc0\x80</a>", "not UTF-8"},
		{"<a>\xed\xa0\x80</a>", "not UTF-8"},
		{"<\xe4/>", "not UTF-8"},
		{"<?xml version='1.0' encoding='ISO-8859-1'?><a/>",
			"an encoding other than UTF-8"},
		{"<?xml version='1.0' encoding='UTF-16'?><a/>",
			"an encoding other than UTF-8"},
		{"<!DOCTYPE a><a/>", "document type"},
		{"<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
			"document type"},
		{"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]>"
			"<a>&b;</a>", "document type"},
		{"<!DOCTYPE l [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'>"
			"<!ENTITY c '&b;&b;&b;&b;'>]><l>&c;</l>",
			"document type"},
		{"<html><head><meta charset=\"utf-8\"><br></html>",
			"mismatched tag"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_autoptr(gpc_xml) *root = NULL;
		struct gpc_error err = {0};

		assert_fails(parse(cases[i].text, &root, &err), GPC_EPROTO);
		assert_has(err.msg, cases[i].why);
		assert_null(root);
	}
}

TEST(takes_text_that_names_ascii)
{
	gpc_autoptr(gpc_xml) *root = NULL;
	struct gpc_error err = {0};

	assert_ok(parse("<?xml version='1.0' encoding='us-ascii'?><a>b</a>",
		&root, &err));
	assert_string_equal(root->text, "b");
}

TEST(refuses_a_nul)
{
	gpc_autoptr(gpc_xml) *root = NULL;
	struct gpc_error err = {0};

	assert_fails(gpc_xml_parse("<a>x\0y</a>", 10, &root, &err), GPC_EPROTO);
	assert_fails(gpc_xml_parse("<a\0/>", 5, &root, &err), GPC_EPROTO);
	assert_fails(gpc_xml_parse("<a/>\0", 5, &root, &err), GPC_EPROTO);
}

static void repeat(struct gpc_buf *b, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		gpc_buf_adds(b, text);
}

TEST(limits_depth)
{
	for (size_t depth = GPC_XML_MAX_DEPTH; depth <= GPC_XML_MAX_DEPTH + 1;
		depth++) {
		gpc_auto(gpc_buf) struct gpc_buf b = {0};
		gpc_autoptr(gpc_xml) *root = NULL;
		struct gpc_error err = {0};
		int r;

		repeat(&b, "<a>", depth);
		repeat(&b, "</a>", depth);
		r = gpc_xml_parse(b.data, b.len, &root, &err);
		if (depth <= GPC_XML_MAX_DEPTH) {
			assert_int_equal(r, 0);
			continue;
		}
		assert_int_equal(r, -GPC_EPROTO);
		assert_has(err.msg, "nested too deeply");
	}
}

/* None takes longer than its bytes deserve. */
TEST(survives_the_huge)
{
	static const struct {
		const char *before, *again, *after, *why;
		size_t n;
	} cases[] = {
		{"", "<a>", "", "nested too deeply", 1 << 20},
		{"<a ", "b", "='1'/>", NULL, 8 << 20},
		{"<a b='", "&lt;", "'/>", NULL, 2 << 20},
		{"<", "a", "/>", NULL, 8 << 20},
		{"<a>", "<b/>", "</a>", "too many elements", 1 << 20},
		{"<a>", "<b/>", "</a>", NULL, (1 << 20) - 1},
		{"<a>", "&amp;x", "</a>", NULL, 4 << 20},
		{"<a>", "]]", "</a>", NULL, 1 << 20},
		{"<a><!--", "- ", "--></a>", NULL, 1 << 20},
		{"<a>", "x", "</a>", "longer than", GPC_XML_MAX_BYTES},
		{"<a ", "b", "", "unclosed token", 8 << 20},
	};

	for (size_t i = 0; i < COUNT(cases); i += stride(4)) {
		gpc_auto(gpc_buf) struct gpc_buf b = {0};
		gpc_autoptr(gpc_xml) *root = NULL;
		struct gpc_error err = {0};
		int r;

		gpc_buf_adds(&b, cases[i].before);
		repeat(&b, cases[i].again, cases[i].n);
		gpc_buf_adds(&b, cases[i].after);
		r = gpc_xml_parse(b.data, b.len, &root, &err);
		if (!cases[i].why) {
			if (r < 0)
				fail_msg("%zu: %s", i, err.msg);
			continue;
		}
		assert_int_equal(r, -GPC_EPROTO);
		assert_has(err.msg, cases[i].why);
	}
}

/* A reply that was cut anywhere is never taken for a whole one. */
TEST(refuses_every_cut)
{
	static const char text[] = "<?xml version=\"1.0\"?><a><b>x&amp;</b>"
		"<![CDATA[y]]><c d=\"e\"/><!-- f --></a>";

	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		gpc_autoptr(gpc_xml) *root = NULL;
		gpc_autostr *exact = gpc_strndup(text, n);
		struct gpc_error err = {0};

		assert_fails(gpc_xml_parse(exact, n, &root, &err), GPC_EPROTO);
		assert_null(root);
	}
}

TEST(names_the_place)
{
	gpc_autoptr(gpc_xml) *root = NULL;
	struct gpc_error err = {0};

	assert_fails(parse("<a>\n  <b></c></a>", &root, &err), GPC_EPROTO);
	assert_has(err.msg, "line 2, column 8");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_list),
		cmocka_unit_test(drops_namespaces_and_joins_text),
		cmocka_unit_test(refuses_what_is_no_plain_utf8_xml),
		cmocka_unit_test(takes_text_that_names_ascii),
		cmocka_unit_test(refuses_a_nul),
		cmocka_unit_test(limits_depth),
		cmocka_unit_test(survives_the_huge),
		cmocka_unit_test(refuses_every_cut),
		cmocka_unit_test(names_the_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
