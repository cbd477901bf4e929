/* The progress line: what, how far, how fast, how long still. It is drawn over
 * itself at most ten times a second, so callers may report every block.
 */
#include "cmd/progress.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "cmd/screen.h"

enum { REDRAW_MS = 100, RATE_WINDOW_MS = 3000 };

struct gpc_progress {
	struct gpc_talk *talk;
	char *what, *text;
	uint64_t done, total;
	bool bytes;
	int64_t drawn_ms;
	/* the rate is that of the last window, so a stall shows */
	int64_t window_ms;
	uint64_t window_done, rate;
	unsigned turn;
};

struct gpc_progress *gpc_progress_new(struct gpc_talk *t, const char *what,
	uint64_t total_bytes)
{
	struct gpc_progress *p = gpc_alloc(sizeof(*p));

	p->talk = t;
	p->what = gpc_strdup(what);
	p->total = total_bytes;
	p->window_ms = gpc_boot_ms();
	return p;
}

static void add_bytes(struct gpc_progress *p, struct gpc_buf *b)
{
	char done[32], total[32], rate[32], left[32];

	gpc_format_size(p->done, done, sizeof(done));
	if (p->total) {
		uint64_t percent = p->done >= p->total ? 100 :
			(uint64_t)((double)p->done * 100 / (double)p->total);
		gpc_buf_addf(b, " %3" PRIu64 "%%  %s of %s", percent, done,
			gpc_format_size(p->total, total, sizeof(total)));
	} else {
		gpc_buf_addf(b, " %s", done);
	}
	if (!p->rate)
		return;
	gpc_buf_addf(b, "  %s/s", gpc_format_size(p->rate, rate, sizeof(rate)));
	if (p->total > p->done) {
		int64_t s = (int64_t)((p->total - p->done) / p->rate);
		gpc_buf_addf(b, "  %s left", gpc_format_duration(s * 1000, left,
			sizeof(left)));
	}
}

/* A window may be made narrower meanwhile. */
static size_t room(struct gpc_progress *p)
{
	int width = gpc_terminal_width(fileno(p->talk->to));

	if (width > 0)
		p->talk->width = width;
	return p->talk->width > 1 ? (size_t)p->talk->width - 1 : 79;
}

static void draw(struct gpc_progress *p)
{
	static const char wheel[] = "|/-\\";
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int64_t now = gpc_boot_ms();

	if (p->drawn_ms && now - p->drawn_ms < REDRAW_MS)
		return;
	p->drawn_ms = now;
	if (now - p->window_ms >= RATE_WINDOW_MS ||
		(!p->rate && now - p->window_ms >= 500)) {
		uint64_t more = p->done > p->window_done ?
			p->done - p->window_done : 0;
		p->rate = more * 1000 / (uint64_t)(now - p->window_ms);
		p->window_ms = now;
		p->window_done = p->done;
	}
	gpc_buf_addf(&b, "%c %s", wheel[p->turn++ % 4], p->what);
	if (p->bytes)
		add_bytes(p, &b);
	if (p->text)
		gpc_buf_addf(&b, " %s", p->text);
	gpc_autostr *safe = gpc_str_printable(b.data, b.len);
	/* a line that wraps cannot be drawn over; bytes bound columns above */
	size_t most = room(p), n = strlen(safe);
	if (n > most) {
		n = most;
		while (n && ((unsigned char)safe[n] & 0xc0) == 0x80)
			n--;
	}
	fprintf(p->talk->to, "\r\033[K%.*s", (int)n, safe);
	fflush(p->talk->to);
	p->talk->line_shown = true;
}

static bool visible(const struct gpc_progress *p)
{
	return p && p->talk->tty && !p->talk->dumb && !p->talk->quiet;
}

void gpc_progress_bytes(struct gpc_progress *p, uint64_t done, uint64_t total)
{
	if (!visible(p))
		return;
	p->bytes = true;
	p->done = done;
	p->total = total;
	draw(p);
}

void gpc_progress_text(struct gpc_progress *p, const char *text)
{
	if (!visible(p))
		return;
	if (text)
		gpc_set_str(&p->text, text);
	draw(p);
}

void gpc_progress_free(struct gpc_progress *p)
{
	if (!p)
		return;
	gpc_talk_clear_line(p->talk);
	free(p->what);
	free(p->text);
	free(p);
}
