/* Drawing in place: what is sent to the terminal, byte for byte. */
#include "cmd/screen.h"

#include <stdio.h>

#include "test.h"

struct drawing { char *text; size_t n; struct gpc_out out; };

static void drawing_open(struct drawing *d)
{
	*d = (struct drawing){0};
	d->out.to = open_memstream(&d->text, &d->n);
	assert_non_null(d->out.to);
}

/* What one draw sends. */
static void draws(struct gpc_screen *s, const char *text, const char *want)
{
	struct gpc_error err;
	struct drawing d;

	drawing_open(&d);
	assert_ok(gpc_screen_draw(s, &d.out, text, &err));
	fclose(d.out.to);
	assert_string_equal(d.text, want);
	free(d.text);
}

TEST(the_second_replaces_the_first)
{
	struct gpc_screen s = {.width = 20, .height = 10};

	draws(&s, "one\ntwo\n", "\033[Kone\n\033[Ktwo\n\033[J");
	assert_int_equal(s.drawn, 2);
	draws(&s, "x\n", "\r\033[2A\033[Kx\n\033[J");
	assert_int_equal(s.drawn, 1);
	draws(&s, "", "\r\033[1A\033[J");
	assert_int_equal(s.drawn, 0);
	draws(&s, "a\n\nb", "\033[Ka\n\033[K\n\033[Kb\n\033[J");
	assert_int_equal(s.drawn, 3);
}

/* The last column stays free; colours take no room and are ended; characters of
 * several bytes or columns are kept whole. */
TEST(wide_lines_are_cut)
{
	struct gpc_screen s = {.width = 5, .height = 10};

	draws(&s, "123456\n", "\033[K123…\n\033[J");
	s.drawn = 0;
	draws(&s, "1234\n", "\033[K1234\n\033[J");
	s.drawn = 0;
	draws(&s, "\033[1mAB\033[0m CDE\n", "\033[K\033[1mAB\033[0m …\033[0m\n\033[J");
	s.drawn = 0;
	draws(&s, "\303\244\303\266\303\274\303\237x\n",
		"\033[K\303\244\303\266\303\274…\n\033[J");
	s.drawn = 0;
	draws(&s, "abc\346\227\245\n", "\033[Kabc…\n\033[J");
	s.drawn = 0;
	draws(&s, "a\033[", "\033[Ka\033[\033[0m\n\033[J");
}

TEST(high_texts_are_cut)
{
	struct gpc_screen s = {.width = 80, .height = 4};

	draws(&s, "1\n2\n3\n", "\033[K1\n\033[K2\n\033[K3\n\033[J");
	s.drawn = 0;
	draws(&s, "1\n2\n3\n4\n5\n", "\033[K1\n\033[K2\n"
		"\033[K... 3 more lines: this window is too low\n\033[J");
	assert_int_equal(s.drawn, 3);
	s = (struct gpc_screen){.width = 80, .height = 2};
	draws(&s, "1\n2\n3\n", "\033[K1\n\033[J");
	s = (struct gpc_screen){0};       /* the size is not known */
	draws(&s, "1\n2\n", "\033[K1\n\033[K2\n\033[J");
}

TEST(another_size_begins_anew)
{
	struct gpc_screen s = {.width = 80, .height = 10};

	draws(&s, "1\n", "\033[K1\n\033[J");
	s.resized = true;
	draws(&s, "1\n", "\033[H\033[2J\033[K1\n\033[J");
	draws(&s, "1\n", "\r\033[1A\033[K1\n\033[J");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_replaces_the_first),
		cmocka_unit_test(wide_lines_are_cut),
		cmocka_unit_test(high_texts_are_cut),
		cmocka_unit_test(another_size_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
