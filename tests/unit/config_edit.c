/* Changing a configuration file: what people write stays as it is, byte for
 * byte, and what cannot be changed safely is refused. */
#include "test.h"

#include "base/str.h"
#include "dep/yaml.h"
#include "model/config_edit.h"

#define REFUSED NULL

struct edit_case {
	const char *key, *value;       /* value NULL: remove */
	const char *before, *after;
	const char *profile;
};

static const struct edit_case sets[] = {
	/* a new key */
	{"store", "/s", "", "store: /s\n"},
	{"store", "/s", "# mine\n", "# mine\nstore: /s\n"},
	{"store", "/s", "# mine", "# mine\nstore: /s\n"},
	{"store", "/s", "---\n", "---\nstore: /s\n"},
	{"store", "/s", "color: auto\n\n# end\n",
		"color: auto\n\n# end\nstore: /s\n"},
	{"store", "/s", "color: auto", "color: auto\nstore: /s\n"},
	{"store", "/s", "color: auto\r\n", "color: auto\r\nstore: /s\r\n"},
	{"store", "/s", "\xef\xbb\xbf" "color: auto\n",
		"\xef\xbb\xbf" "color: auto\nstore: /s\n"},
	{"store", "/s", "\xef\xbb\xbf", "\xef\xbb\xbf" "store: /s\n"},
	{"store", "/s", "  color: auto\n", "  color: auto\n  store: /s\n"},
	{"store", "/s", "color: auto\n...\n", "color: auto\nstore: /s\n...\n"},
	{"store", "/s", "{}", "{store: /s}"},
	{"store", "/s", "{color: auto}\n", "{color: auto, store: /s}\n"},
	{"store", "/s", "{color: auto, }", "{color: auto, store: /s }"},
	{"store", "/s", "{\n  color: auto,\n}\n",
		"{\n  color: auto, store: /s\n}\n"},
	{"local.home", "user", "", "local:\n  home: user\n"},
	{"local.home", "user", "local:\n  enabled: no # why\n# x\ncolor: auto\n",
		"local:\n  enabled: no # why\n  home: user\n# x\ncolor: auto\n"},
	{"local.home", "user", "local:\n    enabled: no",
		"local:\n    enabled: no\n    home: user\n"},
	{"local.home", "user", "local.enabled: no\n",
		"local.enabled: no\nlocal.home: user\n"},
	{"local.home", "user", "local: {enabled: no}\n",
		"local: {enabled: no, home: user}\n"},
	{"local.home", "user", "local: {}\n", "local: {home: user}\n"},
	{"local.home", "user", "local:\ncolor: auto\n",
		"local:\n  home: user\ncolor: auto\n"},
	{"local.home", "user", "local:   # mine\n  # note\ncolor: auto\n",
		"local:   # mine\n  home: user\n  # note\ncolor: auto\n"},
	{"local.home", "user", "local: ~\n", "local: {home: user}\n"},
	{"local.home", "user", "local:", "local:\n  home: user\n"},
	/* a key that is there */
	{"store", "/b", "store: /a\n", "store: /b\n"},
	{"store", "/b", "store:   /a   # where\ncolor: auto\n",
		"store:   /b   # where\ncolor: auto\n"},
	{"store", "/b", "store: '/a b'\n", "store: /b\n"},
	{"store", "/b", "store: \"/a\n  b\"\n# x\n", "store: /b\n# x\n"},
	{"store", "/b", "store:\n  /a\n  /x\n# x\n", "store:\n  /b\n# x\n"},
	{"store", "/b", "store: |\n  /a\n# x\n", "store: /b\n# x\n"},
	{"store", "/b", "store:\ncolor: auto\n", "store: /b\ncolor: auto\n"},
	{"store", "/b", "store:  # c\n", "store: /b  # c\n"},
	{"store", "/b", "store: ~\n", "store: /b\n"},
	{"store", "/b", "\"store\": /a\n", "\"store\": /b\n"},
	{"store", "/b", "{store: /a, color: auto}", "{store: /b, color: auto}"},
	{"store", "/b", "owner: \xc3\xa9\nstore: \xc3\xa9 # \xc3\xa9\n",
		"owner: \xc3\xa9\nstore: /b # \xc3\xa9\n"},
	{"store", "/b", "{owner: \xc3\xa9, store: \xe2\x82\xac}",
		"{owner: \xc3\xa9, store: /b}"},
	{"store", "/b", "store: !!str /a\n", "store: /b\n"},
	{"local.home", "user", "local:\n  home: own # x\n",
		"local:\n  home: user # x\n"},
	{"local.home", "user", "local.home: own\n", "local.home: user\n"},
	{"store", "/b", "store: /b # same\n", "store: /b # same\n"},
	/* what a value needs */
	{"owner", "a: b", "", "owner: \"a: b\"\n"},
	{"owner", "a #b", "", "owner: \"a #b\"\n"},
	{"owner", "say \"hi\"\\\n\tx\x01", "",
		"owner: \"say \\\"hi\\\"\\\\\\n\\tx\\x01\"\n"},
	{"owner", "~", "", "owner: \"~\"\n"},
	{"owner", "null", "", "owner: \"null\"\n"},
	{"owner", "a, b", "{}", "{owner: \"a, b\"}"},
	{"owner", "", "", "owner: \"\"\n"},
	{"owner", "\xc3\xa9", "", "owner: \"\xc3\xa9\"\n"},
	{"confirm_above", "4.20 CNY", "", "confirm_above: 4.20 CNY\n"},
	/* profiles */
	{"store", "/b", "", "profiles:\n  big:\n    store: /b\n", "big"},
	{"local.home", "own", "store: /a\n", "store: /a\nprofiles:\n  big:\n"
		"    local:\n      home: own\n", "big"},
	{"store", "/b", "profiles:\n  a:\n    store: /x\n  big:\n"
		"    color: auto\n# end\n", "profiles:\n  a:\n    store: /x\n"
		"  big:\n    color: auto\n    store: /b\n# end\n", "big"},
	{"store", "/b", "profiles:\n  a:\n    store: /x\n\ncolor: auto\n",
		"profiles:\n  a:\n    store: /x\n  big:\n    store: /b\n\n"
		"color: auto\n", "big"},
	{"store", "/b", "profiles: {big: {store: /a}}\n",
		"profiles: {big: {store: /b}}\n", "big"},
	{"local.home", "own", "profiles: {}\n",
		"profiles: {big: {local: {home: own}}}\n", "big"},
	{"store", "/b", "profiles:\n  big:\n", "profiles:\n  big:\n"
		"    store: /b\n", "big"},
	/* anchors */
	{"store", "/b", "x: &a {store: /a}\n<<: *a\n",
		"x: &a {store: /a}\n<<: *a\nstore: /b\n"},
	{"store", "/b", "owner: &o me\nstore: *o\n", REFUSED},
	{"owner", "you", "owner: &o me\nstore: *o\n", REFUSED},
	{"local.home", "own", "local: 3\n", REFUSED},
	{"local.home", "own", "local.home: user\nlocal: {home: own}\n", REFUSED},
	{"store", "/b", "store: {a: b}\n", REFUSED},
	{"store", "/b", "? store\n: /a\n", "? store\n: /b\n"},
	/* removing */
	{"store", NULL, "store: /a\n", ""},
	{"store", NULL, "# a\nstore: /a # b\n# c\ncolor: auto\n",
		"# a\n# c\ncolor: auto\n"},
	{"store", NULL, "color: auto\nstore: /a", "color: auto\n"},
	{"store", NULL, "store: |\n  /a\n  b\ncolor: auto\n", "color: auto\n"},
	{"store", NULL, "store: \"/a\n  b\" # x\ncolor: auto\n",
		"color: auto\n"},
	{"store", NULL, "{store: /a, color: auto}", "{color: auto}"},
	{"store", NULL, "{color: auto, store: /a}", "{color: auto}"},
	{"store", NULL, "{store: /a}", "{}"},
	{"local.home", NULL, "a: 1\nlocal:\n  home: own\nb: 2\n",
		"a: 1\nb: 2\n"},
	{"local.home", NULL, "local:\n  # why\n  home: own\nb: 2\n",
		"local:\n  # why\nb: 2\n"},
	{"local.home", NULL, "local: # mine\n  home: own\nb: 2\n",
		"local: # mine\nb: 2\n"},
	{"local.home", NULL, "local:\n  home: own\n  enabled: no\n",
		"local:\n  enabled: no\n"},
	{"local.home", NULL, "local: {home: own}\n", "local: {}\n"},
	{"store", NULL, "profiles:\n  big:\n    store: /a\ncolor: auto\n",
		"color: auto\n", "big"},
	{"store", NULL, "store: /x\nprofiles:\n  big:\n    store: /a\n  c:\n"
		"    store: /c\n", "store: /x\nprofiles:\n  c:\n"
		"    store: /c\n", "big"},
	{"store", NULL, "owner: &o me\nstore: *o\ncolor: auto\n",
		"owner: &o me\ncolor: auto\n"},
	{"store", NULL, "x: &a {store: /a}\n<<: *a\n", REFUSED},
};

static int change(const struct edit_case *k, struct gpc_buf *out,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv items = {0};
	struct gpc_config_change c = {.profile = k->profile, .key = k->key};

	if (k->value) {
		gpc_strv_add(&items, k->value);
		c.items = &items;
	}
	return gpc_config_edit(k->before, strlen(k->before), "c.yaml", &c, out,
		err);
}

TEST(test_sets)
{
	for (size_t i = 0; i < COUNT(sets); i++) {
		gpc_auto(gpc_buf) struct gpc_buf out = {0};
		const struct edit_case *k = &sets[i];
		struct gpc_error err = {0};
		int r = change(k, &out, &err);

		if (!k->after) {
			if (r != -GPC_EUNSUPPORTED || out.len)
				fail_msg("case %zu is not refused: %s", i,
					gpc_buf_str(&out));
			continue;
		}
		if (r)
			fail_msg("case %zu: %s: %s", i, k->before, err.msg);
		if (strcmp(gpc_buf_str(&out), k->after))
			fail_msg("case %zu: got\n%s\nwant\n%s", i,
				gpc_buf_str(&out), k->after);
	}
}

TEST(test_lists)
{
	static const struct { const char *before, *after; } cases[] = {
		{"", "submit:\n  env: [A=1, \"B=x y,z\"]\n"},
		{"submit:\n  env:\n    - C=3\n    - D # no\ncolor: auto\n",
			"submit:\n  env: [A=1, \"B=x y,z\"] # no\ncolor: auto\n"},
		{"submit: {env: [C=3], spot: true}\n",
			"submit: {env: [A=1, \"B=x y,z\"], spot: true}\n"},
		{"submit.env: C=3 # x\n",
			"submit.env: [A=1, \"B=x y,z\"] # x\n"},
	};
	gpc_auto(gpc_strv) struct gpc_strv items = {0};
	struct gpc_config_change c = {
		.key = "submit.env", .items = &items, .list = true,
	};
	struct gpc_error err = {0};

	gpc_strv_add(&items, "A=1");
	gpc_strv_add(&items, "B=x y,z");
	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_buf) struct gpc_buf out = {0};

		assert_ok(gpc_config_edit(cases[i].before,
			strlen(cases[i].before), "c.yaml", &c, &out, &err));
		assert_string_equal(gpc_buf_str(&out), cases[i].after);
	}
}

TEST(test_not_there)
{
	gpc_auto(gpc_buf) struct gpc_buf out = {0};
	struct gpc_error err = {0};

	assert_fails(change(&(struct edit_case){"store", NULL, "color: auto\n",
		NULL, NULL}, &out, &err), GPC_ENOTFOUND);
	assert_fails(change(&(struct edit_case){"store", "x", "a: {", NULL,
		NULL}, &out, &err), GPC_ECONFIG);
	assert_has(err.msg, "c.yaml:2:");
	assert_fails(change(&(struct edit_case){"store", "x", "- a\n", NULL,
		NULL}, &out, &err), GPC_ECONFIG);
	assert_fails(change(&(struct edit_case){"store", "x", "a: 1\n---\nb: 1\n",
		NULL, NULL}, &out, &err), GPC_ECONFIG);
	assert_int_equal(out.len, 0);
}

/* Pieces put together at random, broken or not: each edit is right, or refused
 * with nothing written. (The function itself reads its result again; here its
 * callers' view is checked.) */
TEST(test_random)
{
	static const char *const pieces[] = {
		"store: /a\n", "store:\n", "local:\n", "  home: own\n",
		"  enabled: no # x\n", "# note\n", "\n", "profiles:\n",
		"  big:\n", "    store: |\n      x\n", "{", "}", ", ", "a: &x 1\n",
		"owner: *x\n", "<<: {store: /m}\n", "local: {home: own}\n",
		"\t", "- 1\n", "'", "\"", "submit.env: [a, b]\n", "...\n",
		"---\n", "? store\n", ": /q\n", "\xc3\xa9", "\r\n",
	};
	int done = 0;

	for (int round = 0; round < 4000; round++) {
		gpc_auto(gpc_buf) struct gpc_buf text = {0}, out = {0}, back = {0};
		gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
		struct gpc_error err = {0};
		struct edit_case k = {"local.home", "user", NULL, NULL, NULL};
		uint64_t r;

		r = gpc_hash64(&round, sizeof(round));
		for (int i = 0; i < 1 + round % 9; i++, r /= 28)
			gpc_buf_adds(&text, pieces[r % COUNT(pieces)]);
		k.key = round % 2 ? "local.home" : "store";
		k.profile = round % 5 ? NULL : "big";
		k.before = gpc_buf_str(&text);
		if (change(&k, &out, &err)) {
			assert_int_equal(out.len, 0);
			continue;
		}
		done++;
		assert_ok(gpc_yaml_parse(out.data, out.len, "c", &docs, &err));
		k.before = gpc_buf_str(&out);
		k.value = NULL;
		if (!change(&k, &back, &err))
			assert_null(strstr(gpc_buf_str(&back), "home: user"));
	}
	assert_true(done > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
