/* Drawing in place with the few sequences that every terminal knows: up,
 * to the left, clear to the end. Nothing is switched on that a killed process
 * would have to switch off, and what was drawn last stays.
 */
#include "cmd/screen.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"

int gpc_terminal_width(int fd)
{
	struct gpc_screen s = { .fd = fd };

	if (isatty(fd))
		gpc_screen_measure(&s);
	return s.width;
}

bool gpc_screen_measure(struct gpc_screen *s)
{
	struct winsize size = {0};
	bool known = ioctl(s->fd, TIOCGWINSZ, &size) == 0;
	int width = known ? size.ws_col : 0, height = known ? size.ws_row : 0;
	bool changed = width != s->width || height != s->height;

	s->resized |= changed && s->drawn > 0;
	s->width = width;
	s->height = height;
	return changed;
}

/* How many bytes the character or control sequence at p has, and how many
 * columns it takes. */
static size_t step(const char *p, const char *end, size_t *ret_columns)
{
	char one[8] = "";
	size_t n = 1;

	*ret_columns = 0;
	if (*p == '\033') {
		while (p + n < end && !((p[n] >= 'a' && p[n] <= 'z') ||
			(p[n] >= 'A' && p[n] <= 'Z')))
			n++;
		return p + n < end ? n + 1 : n;
	}
	while (p + n < end && n < 4 && ((unsigned char)p[n] & 0xc0) == 0x80)
		n++;
	for (size_t i = 0; i < n; i++)
		one[i] = p[i];
	*ret_columns = gpc_utf8_width(one);
	return n;
}

static size_t width_of(struct gpc_str line)
{
	const char *end = line.ptr + line.len;
	size_t all = 0, columns;

	for (const char *p = line.ptr; p < end; all += columns)
		p += step(p, end, &columns);
	return all;
}

/* One line, cut before the last column, with … where it was: a line that fills
 * the whole width leaves the cursor where terminals differ. */
static void add_line(const struct gpc_screen *s, struct gpc_buf *b,
	struct gpc_str line)
{
	const char *p = line.ptr, *end = line.ptr + line.len;
	size_t room = s->width > 1 ? (size_t)s->width - 1 : 1000, used = 0;
	bool plain = true, cut = width_of(line) > room;

	gpc_buf_adds(b, "\033[K");
	room -= cut;
	while (p < end) {
		size_t columns, n = step(p, end, &columns);

		if (used + columns > room)
			break;
		plain &= *p != '\033';
		gpc_buf_add(b, p, n);
		used += columns;
		p += n;
	}
	if (cut)
		gpc_buf_adds(b, "…");
	gpc_buf_adds(b, plain ? "\n" : "\033[0m\n");
}

static int count_lines(struct gpc_str text)
{
	struct gpc_str line;
	int n = 0;

	while (gpc_str_split(&text, '\n', &line))
		n++;
	return n;
}

/* The cursor needs a line too. */
static int lines_that_fit(const struct gpc_screen *s, int n)
{
	int most = s->height > 1 ? s->height - 1 : 1000;

	return n <= most ? n : most > 1 ? most - 1 : 1;
}

int gpc_screen_draw(struct gpc_screen *s, struct gpc_out *o, const char *text,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_str rest = gpc_str_of(text), line;
	int n, fit, drawn = 0;

	if (gpc_ends_with(text, "\n"))
		rest.len--;
	n = rest.len ? count_lines(rest) : 0;
	fit = lines_that_fit(s, n);
	if (s->resized)
		gpc_buf_adds(&b, "\033[H\033[2J");
	else if (s->drawn > 0)
		gpc_buf_addf(&b, "\r\033[%dA", s->drawn);
	while (drawn < fit && gpc_str_split(&rest, '\n', &line)) {
		add_line(s, &b, line);
		drawn++;
	}
	if (drawn < n && s->height > 2) {
		gpc_autostr *more = gpc_format("... %d more lines: this window "
			"is too low", n - drawn);

		add_line(s, &b, gpc_str_of(more));
		drawn++;
	}
	gpc_buf_adds(&b, "\033[J");
	s->drawn = drawn;
	s->resized = false;
	return gpc_out_write(o, b.data, b.len, err);
}
