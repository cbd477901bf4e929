/* Ignore rules: text up to a NUL byte, then paths, one a line, which they are
 * asked about. Where fnmatch(3) means the same, it must say the same. A slow
 * pattern ends in libFuzzer's time limit. */
#include "fuzz.h"

#include <fnmatch.h>

#include "snapshot/ignore.h"
#include "snapshot/wild.h"

/* fnmatch has no **, takes odd brackets in another way, and takes its time. */
static bool is_plain(const char *pattern, bool pathname)
{
	int stars = 0;

	for (const char *p = pattern; *p; p++) {
		stars += *p == '*';
		if (*p == '[' || *p == '\\' || (unsigned char)*p >= 0x80
			|| (pathname && p[0] == '*' && p[1] == '*'))
			return false;
	}
	return stars <= 3;
}

static bool is_ascii(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s >= 0x80)
			return false;
	return true;
}

static void match(struct gpc_str pattern, struct gpc_str text, bool pathname)
{
	gpc_autostr *p = gpc_strndup(pattern.ptr, pattern.len);
	gpc_autostr *t = gpc_strndup(text.ptr, text.len);
	struct gpc_wild w = {0};
	bool yes;

	gpc_wild_compile(p, strlen(p), pathname, &w);
	yes = gpc_wild_match(&w, t, strlen(t));
	if (is_plain(p, pathname) && is_ascii(t))
		fuzz_check(yes == (fnmatch(p, t, pathname ? FNM_PATHNAME : 0)
			== 0), "%s %s %s", p, yes ? "matches" : "does not match",
			t);
	gpc_wild_clear(&w);
}

/* The first rule by itself, against each path. */
static void ask_wild(struct gpc_str rules, struct fuzz_in paths)
{
	struct fuzz_in in = {(const uint8_t *)rules.ptr, rules.len};
	struct gpc_str pattern, path;

	if (!fuzz_part(&in, '\n', &pattern) || pattern.len > GPC_WILD_MAX)
		return;
	for (int i = 0; i < 20 && fuzz_part(&paths, '\n', &path); i++) {
		match(pattern, path, true);
		match(pattern, path, false);
	}
}

static void ask(const struct gpc_ignore *top, const struct gpc_ignore *sub,
	struct gpc_str path)
{
	gpc_autostr *p = gpc_strndup(path.ptr, strnlen(path.ptr, path.len));
	gpc_autostr *below = gpc_format("sub/%s", p);

	for (int dir = 0; dir < 2; dir++) {
		const struct gpc_ignore_rule *rule =
			gpc_ignore_find(top, p, dir);

		fuzz_check(rule || !gpc_ignore_excludes(rule),
			"no rule excludes %s", p);
		fuzz_check(!rule || gpc_starts_with(gpc_ignore_rule_str(rule),
			".gitignore:"), "a rule without a place");
		rule = gpc_ignore_find(sub, below, dir);
		fuzz_check(!rule || gpc_ignore_rule_str(rule)[0],
			"a rule without a place");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	gpc_autoptr(gpc_ignore) *top = NULL, *sub = NULL;
	struct fuzz_in in = {data, n};
	struct gpc_error err = {0};
	struct gpc_str rules, path;

	if (!fuzz_part(&in, '\0', &rules))
		return 0;
	ask_wild(rules, in);
	if (gpc_ignore_new(rules.ptr, rules.len, "", ".gitignore", NULL, &top,
		&err) < 0 || gpc_ignore_new(rules.ptr, rules.len, "sub/",
		"sub/.gitignore", top, &sub, &err) < 0) {
		fuzz_check(err.msg[0], "an error without a message");
		return 0;
	}
	while (fuzz_part(&in, '\n', &path))
		ask(top, sub, path);
	return 0;
}
