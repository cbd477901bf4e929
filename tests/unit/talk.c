/* Talk and progress: one line at a time, hostile bytes harmless, nothing drawn
 * where nobody looks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/time.h"
#include "cmd/progress.h"
#include "cmd/talk.h"
#include "cmd/wrap.h"

struct capture { char *text; size_t n; struct gpc_talk t; };

static void begin(struct capture *c, bool tty)
{
	memset(c, 0, sizeof(*c));
	c->t.to = open_memstream(&c->text, &c->n);
	assert_non_null(c->t.to);
	c->t.tty = tty;
	c->t.width = 40;
}

static char *end(struct capture *c)
{
	fclose(c->t.to);
	return c->text;
}

static void test_say(void **state)
{
	struct capture c;

	(void)state;
	begin(&c, false);
	gpc_say(&c.t, "two\nlines %s", "\033[2J");
	c.t.quiet = true;
	gpc_say(&c.t, "unheard");
	gpc_talk_log(&c.t, GPC_WARN, "warning: \033[33mready made\033[0m");
	gpc_talk_log(&c.t, GPC_INFO, "told");
	char *text = end(&c);
	assert_string_equal(text, "two\nlines \\x1b[2J\n"
		"warning: \033[33mready made\033[0m\ngpucloud: told\n");
	free(text);
}

/* A terminal gets whole words, commands to copy stay whole if they can, later lines hang. */
static void test_say_objects(void **state)
{
	struct capture c;

	(void)state;
	begin(&c, true);
	c.t.json = true;
	gpc_say(&c.t, "gpucloud: a \"b\"\n\n  hint: %s", "\033[2J");
	c.t.quiet = true;
	gpc_say(&c.t, "unheard");
	char *text = end(&c);
	char *second = strchr(text, '\n') + 1;
	assert_memory_equal(text, "{\"time\":\"2", 10);
	assert_memory_equal(strstr(text, "\"level\""),
		"\"level\":\"info\",\"msg\":\"a \\\"b\\\"\"}\n{",
		strlen("\"level\":\"info\",\"msg\":\"a \\\"b\\\"\"}\n{"));
	assert_string_equal(strstr(second, "\"level\""),
		"\"level\":\"info\",\"msg\":\"hint: \\\\x1b[2J\"}\n");
	free(text);
}

static void test_wraps_for_terminals(void **state)
{
	struct capture c;

	(void)state;
	begin(&c, true);
	gpc_say(&c.t, "gpucloud: one two three four five six seven eight nine");
	gpc_say(&c.t, "  hint: pass this one, `gpucloud status --all-users`, now");
	gpc_say(&c.t, "  hint: `gpucloud status --all-users -o wide` and more");
	gpc_say(&c.t, "  price       nothing at all, since this machine is yours");
	gpc_talk_log(&c.t, GPC_WARN, "\033[33mwarning: 45678901234567890 234567890"
		"\033[0m");
	char *text = end(&c);
	assert_string_equal(text,
		"gpucloud: one two three four five six\n"
		"  seven eight nine\n"
		"  hint: pass this one,\n"
		"        `gpucloud status --all-users`,\n"
		"        now\n"
		"  hint: `gpucloud status --all-users -o\n"
		"        wide` and more\n"
		"  price       nothing at all, since this\n"
		"              machine is yours\n"
		"\033[33mwarning: 45678901234567890 234567890\033[0m\n");
	free(text);
}

static void test_no_terminal_no_question(void **state)
{
	struct capture c;

	(void)state;
	begin(&c, false);
	assert_false(gpc_can_ask(&c.t));
	assert_false(gpc_ask(&c.t, "spend it?"));
	char *text = end(&c);
	assert_string_equal(text, "");
	free(text);
}

static void test_progress_hidden(void **state)
{
	struct capture c;

	(void)state;
	for (int i = 0; i < 2; i++) {
		begin(&c, i == 1);
		c.t.quiet = i == 1;
		struct gpc_progress *p = gpc_progress_new(&c.t, "packing", 10);
		gpc_progress_bytes(p, 5, 10);
		gpc_progress_text(p, "x");
		gpc_progress_free(p);
		char *text = end(&c);
		assert_string_equal(text, "");
		free(text);
	}
	gpc_progress_bytes(NULL, 1, 2);
	gpc_progress_free(NULL);
}

static void test_progress_shown(void **state)
{
	struct capture c;

	(void)state;
	begin(&c, true);
	struct gpc_progress *p = gpc_progress_new(&c.t, "packing", 0);
	gpc_progress_bytes(p, 1 << 20, 2 << 20);
	gpc_progress_bytes(p, 2 << 20, 2 << 20);   /* too soon to be drawn */
	gpc_say(&c.t, "a word between");
	gpc_sleep_ms(120);
	gpc_progress_text(p, "and a text that does not fit into forty columns");
	gpc_progress_free(p);
	char *text = end(&c);
	assert_string_equal(text,
		"\r\033[K| packing  50%  1 MiB of 2 MiB"
		"\r\033[Ka word between\n"
		"\r\033[K/ packing 100%  2 MiB of 2 MiB and a te"
		"\r\033[K");
	free(text);
}

static void test_wrap(void **state)
{
	static const struct { const char *in, *out; } cases[] = {
		{"", "\n"},
		{"one two", "one two\n"},
		{"one two three four", "one two\n  three four\n"},
		{"averyveryverylongword x", "averyveryverylongword\n  x\n"},
		{"a\nb", "a\n  b\n"},
		{"a\n\nb", "a\n\n  b\n"},
		{"größe größe x", "größe größe\n  x\n"},
		{"a\n  kept  as it  is, long", "a\n    kept  as it  is, long\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		gpc_auto(gpc_buf) struct gpc_buf b = {0};

		gpc_wrap_text(cases[i].in, 0, 2, 12, &b);
		assert_string_equal(gpc_buf_str(&b), cases[i].out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_say),
		cmocka_unit_test(test_say_objects),
		cmocka_unit_test(test_wraps_for_terminals),
		cmocka_unit_test(test_no_terminal_no_question),
		cmocka_unit_test(test_progress_hidden),
		cmocka_unit_test(test_progress_shown),
		cmocka_unit_test(test_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
