/* Small texts: numbers, money, times, ids, paths, keys of the index, words of a
 * command line. The first byte says which of them the rest is; what has a form
 * of its own is written in it and read again. */
#include "fuzz.h"

#include <limits.h>

#include "base/money.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/time.h"
#include "cmd/opt.h"
#include "record/checkpoint.h"
#include "record/index.h"
#include "record/keys.h"

static void numbers(const char *s)
{
	gpc_autostr *again = NULL;
	struct gpc_error err = {0};
	int64_t n, back;
	double x;
	bool b;

	if (gpc_parse_i64(s, -1000, INT64_MAX, "n", &n, &err) == 0) {
		fuzz_check(n >= -1000, "%s is out of range", s);
		again = gpc_format("%lld", (long long)n);
		fuzz_check(gpc_parse_i64(again, n, n, "n", &back, &err) == 0,
			"%s: %s", s, err.msg);
	}
	if (gpc_parse_double(s, 0, 1e9, "x", &x, &err) == 0)
		fuzz_check(x >= 0 && x <= 1e9, "%s is out of range", s);
	if (gpc_parse_bool(s, "b", &b, &err) < 0)
		fuzz_check(err.msg[0], "no message for %s", s);
}

static void amounts(const char *s)
{
	char shown[64];
	struct gpc_error err = {0};
	uint64_t bytes, back_bytes;
	int64_t ms;

	if (gpc_parse_size(s, 1 << 30, "size", &bytes, &err) == 0) {
		gpc_format_size(bytes, shown, sizeof(shown));
		fuzz_check(gpc_parse_size(shown, 1, "size", &back_bytes, &err)
			== 0, "%s shown as %s: %s", s, shown, err.msg);
	}
	if (gpc_parse_duration(s, 1000, "time", &ms, &err) == 0) {
		fuzz_check(ms >= 0, "%s is negative", s);
		gpc_format_duration(ms, shown, sizeof(shown));
		fuzz_check(gpc_parse_duration(shown, 1, "time", &ms, &err) == 0,
			"%s shown as %s: %s", s, shown, err.msg);
	}
}

static void money(const char *s)
{
	char text[GPC_MONEY_SIZE];
	struct gpc_error err = {0};
	struct gpc_money m, back, sum = {0};

	if (gpc_money_parse(s, "USD", "cost", &m, &err) < 0)
		return;
	fuzz_check(m.micros >= 0 && m.currency[0], "%s: bad money", s);
	gpc_money_decimal(m, text);
	fuzz_check(gpc_money_parse(text, m.currency, "cost", &back, &err) == 0
		&& back.micros == m.micros && gpc_eq(back.currency, m.currency),
		"%s became %s", s, text);
	gpc_money_format(m, text);
	fuzz_check(gpc_money_parse(text, "USD", "cost", &back, &err) == 0,
		"%s shown as %s: %s", s, text, err.msg);
	if (gpc_money_add(&sum, m, &err) < 0
		|| (gpc_money_add(&sum, m, &err) == 0
		&& m.micros < INT64_MAX / 2 && sum.micros / 2 != m.micros))
		fuzz_die("%s: two times is %lld", s, (long long)sum.micros);
	fuzz_check(gpc_money_for(m, 3600000).micros == m.micros,
		"%s for an hour is more", s);
	fuzz_check(gpc_money_lasts(m, m) >= 3599999, "%s lasts less", s);
}

static void times(const char *s)
{
	char text[GPC_RFC3339_SIZE];
	struct gpc_error err = {0};
	int64_t ms, back;

	if (gpc_parse_rfc3339(s, &ms, &err) < 0) {
		fuzz_check(err.msg[0], "no message for %s", s);
		return;
	}
	gpc_format_rfc3339(ms, text);
	fuzz_check(gpc_parse_rfc3339(text, &back, &err) == 0,
		"%s shown as %s: %s", s, text, err.msg);
	/* a leap second at the end of the last year that has four digits */
	fuzz_check(back / 1000 == ms / 1000 || ms == 253402300800000,
		"%s became %s", s, text);
}

static void paths(const char *s)
{
	gpc_autostr *key = gpc_key_escape(s);
	gpc_autostr *back = gpc_key_unescape(key), *plain = NULL;
	gpc_autostr *path = NULL, *again = NULL, *dir = gpc_path_dir(s);
	struct gpc_error err = {0};

	fuzz_check(gpc_eq(back, s), "%s became %s", s, key);
	fuzz_check(dir[0], "%s is in no folder", s);
	plain = gpc_key_unescape(s);
	if (gpc_path_is_inside(s) && strlen(key) < 250)
		fuzz_check(gpc_store_key_ok(key), "%s is no key", key);
	if (gpc_path_absolute(s, &path, &err) < 0) {
		fuzz_check(err.msg[0], "no message for %s", s);
		return;
	}
	fuzz_check(path[0] == '/' && !strstr(path, "//")
		&& !strstr(path, "/../") && !strstr(path, "/./"),
		"%s became %s", s, path);
	if (gpc_path_absolute(path, &again, &err) < 0 || !gpc_eq(path, again))
		fuzz_die("%s became %s", path, again ? again : err.msg);
	fuzz_check(!gpc_path_is_inside(s) || s[0] == '~'
		|| gpc_ends_with(path, s), "%s became %s", s, path);
}

static void ids(const char *s)
{
	char label[25], name[GPC_JOB_NAME_MAX + 1], again[GPC_JOB_NAME_MAX + 1];
	gpc_autostr *id = NULL;
	int attempt, n;

	if (gpc_checkpoint_id_parse(s, &attempt, &n, label)) {
		id = gpc_format("%d-%d-%s", attempt, n, label);
		fuzz_check(gpc_eq(id, s), "checkpoint %s became %s", s, id);
	}
	gpc_job_name_clean(s, name);
	fuzz_check(name[0] >= 'a' && name[0] <= 'z', "%s became %s", s, name);
	gpc_job_name_clean(name, again);
	fuzz_check(gpc_eq(name, again), "%s became %s", name, again);
}

static void shown(const char *s)
{
	static const char *const words[] = {"status", "submit", "supervise", ""};
	gpc_autostr *clean = gpc_str_printable(s, strlen(s));
	gpc_autostr *quoted = gpc_shell_quote(s);

	fuzz_check(gpc_utf8_valid(clean, strlen(clean)), "not UTF-8: %s",
		clean);
	for (const char *p = clean; *p; p++)
		fuzz_check((unsigned char)*p >= 0x20 && *p != 0x7f,
			"a control byte is shown");
	fuzz_check(gpc_utf8_width(s) <= 2 * strlen(s), "%s is too wide", s);
	fuzz_check(quoted[0], "nothing quoted");
	if (strlen(s) < 200)
		gpc_nearest(s, words, COUNT(words));
}

/* --- the index: keys, one a line, then the word that is looked for --------- */
static void find(struct gpc_store *s, const char *word)
{
	gpc_auto(gpc_index) struct gpc_index found = {0};
	struct gpc_error err = {0};
	bool ambiguous = false;

	if (gpc_index_find(s, word, "0123456789abcdef", &found, &ambiguous,
		&err) < 0)
		fuzz_check(err.msg[0], "no message for %s", word);
	else
		fuzz_check(found.n > 0, "%s is found and is not there", word);
}

static void index_keys(const char *text)
{
	gpc_autoptr(gpc_store) *s = fuzz_store();
	gpc_auto(gpc_index) struct gpc_index all = {0};
	struct fuzz_in in = {(const uint8_t *)text, strlen(text)};
	struct gpc_error err = {0};
	struct gpc_str line;
	gpc_autostr *last = NULL;

	while (fuzz_part(&in, '\n', &line)) {
		gpc_autostr *key = NULL;

		free(last);
		last = gpc_strndup(line.ptr, line.len);
		key = gpc_format("index/%.400s", last);
		fuzz_put(s, key, "{\"v\":1,\"name\":\"other\"}", 22);
	}
	if (gpc_index_list(s, 0, &all, &err) < 0)
		fuzz_die("cannot be listed: %s", err.msg);
	gpc_vec_each(x, &all) {
		fuzz_check(x->job[0] && (unsigned)x->status < GPC_JOB__COUNT
			&& (unsigned)x->reason < GPC_REASON__COUNT,
			"job %s is strange", x->job);
		find(s, x->job);
	}
	find(s, last ? last : "");
	find(s, "@");
}

/* --- a command line: words, one a line -------------------------------------- */
enum shape { ROUND, SQUARE };
static const char *const shapes[] = {"round", "square", NULL};
struct options {
	bool follow;
	enum gpc_tri color;
	const char *name;
	struct gpc_strv env;
	int verbose, tail;
	uint64_t size;
	int64_t wait, tether, since;
	struct gpc_money cost;
	enum shape shape;
};
static const struct gpc_opt rows[] = {
	GPC_OPT_FLAG('f', "follow", struct options, follow, "go on"),
	GPC_OPT_TRI(0, "color", struct options, color, "colours"),
	GPC_OPT_STR('n', "name", struct options, name, "NAME", "the name"),
	GPC_OPT_LIST('e', "env", struct options, env, "K=V", "environment"),
	GPC_OPT_COUNT('v', "verbose", struct options, verbose, "say more"),
	GPC_OPT_INT(0, "tail", struct options, tail, "N", "last lines",
		.min = 1, .max = 1000),
	GPC_OPT_SIZE(0, "size", struct options, size, "SIZE", "how big"),
	GPC_OPT_DURATION(0, "wait", struct options, wait, "TIME", "how long",
		.preset = "5m"),
	GPC_OPT_DURATION(0, "tether", struct options, tether, "TIME",
		"end with the client", .implied = "10m", .negatable = true),
	GPC_OPT_TIME(0, "since", struct options, since, "TIME", "from when"),
	GPC_OPT_MONEY(0, "max-cost", struct options, cost, "MONEY", "at most"),
	GPC_OPT_ENUM(0, "shape", struct options, shape, "SHAPE", shapes, "shape"),
	GPC_OPT_END
};

static void command_line(const char *text)
{
	struct options o = {0};
	const struct gpc_opt_set set = {rows, &o};
	gpc_auto(gpc_opt_args) struct gpc_opt_args args = {0};
	gpc_auto(gpc_strv) struct gpc_strv words = {0};
	struct fuzz_in in = {(const uint8_t *)text, strlen(text)};
	struct gpc_error err = {0};
	struct gpc_str line;

	while (words.n < 50 && fuzz_part(&in, '\n', &line))
		gpc_strv_take(&words, gpc_strndup(line.ptr, line.len));
	if (words.n == 0)
		return;
	if (gpc_opt_parse(&set, 1, (int)words.n - 1, words.v + 1,
		(unsigned)strlen(words.v[0]) & 3, &args, &err) < 0) {
		fuzz_check(err.msg[0], "no message for %s", text);
	} else {
		fuzz_check(args.argc >= 0 && args.argc + args.n_rest
			< (int)words.n, "words came from nowhere");
		fuzz_check((unsigned)o.shape <= SQUARE && o.tail >= 0
			&& o.tail <= 1000 && o.wait >= 0, "out of range");
	}
	gpc_opt_release(rows, &o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static void (*const parsers[])(const char *text) = {
		numbers, amounts, money, times, paths, ids, shown, index_keys,
		command_line,
	};
	struct fuzz_in in = {data, n};
	unsigned which = fuzz_byte(&in) - '0';
	struct gpc_str rest = fuzz_rest(&in);
	gpc_autostr *text = gpc_strndup(rest.ptr, strnlen(rest.ptr, rest.len));

	if (which < COUNT(parsers))
		parsers[which](text);
	return 0;
}
