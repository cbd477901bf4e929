/* The loop of --watch. A command prints as it always does; here it prints into
 * memory, and what came out is drawn in place or passed on when it is news.
 */
#include "cmd/watch.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "cmd/phrase.h"
#include "cmd/screen.h"

#define LEAST_MS 100
#define SLICE_MS 100            /* how soon a new size or an end is noticed */

struct watch {
	struct gpc_cmd *c;
	int64_t every_ms;
	gpc_watch_fn *fn;
	void *arg;
	struct gpc_screen screen;
	bool in_place, over;
	char *mark;                 /* of what was shown last; NULL = nothing */
	char *complaint;            /* what was warned about last */
};

static void watch_clear(struct watch *w)
{
	free(w->mark);
	free(w->complaint);
}
GPC_CLEANUP_VALUE(watch);

static bool can_draw(const struct gpc_cmd *c)
{
	return isatty(STDOUT_FILENO) && c->out.format <= GPC_OUT_WIDE &&
		!gpc_eq(getenv("TERM"), "dumb");
}

/* What fn prints, as text. Owned. */
static int look(struct watch *w, char **ret_text, struct gpc_buf *mark,
	struct gpc_error *err)
{
	struct gpc_out *out = &w->c->out;
	FILE *real = out->to;
	char *text = NULL;
	size_t n = 0;
	FILE *memory = open_memstream(&text, &n);
	int r;

	if (!memory)
		return gpc_fail_sys(err, errno, "cannot prepare the output");
	if (w->in_place)
		out->width = w->screen.width > 1 ? w->screen.width - 1 : 0;
	out->to = memory;
	r = w->fn(w->c, w->arg, mark, &w->over, err);
	out->to = real;
	if (fclose(memory) && !r)
		r = gpc_fail_sys(err, errno, "cannot prepare the output");
	*ret_text = text;
	return r;
}

static int draw(struct watch *w, const char *text, struct gpc_error *err)
{
	gpc_autostr *every = gpc_phrase_duration(w->every_ms);
	gpc_autostr *all = w->over ? gpc_strdup(text) :
		gpc_format("%s\n(again every %s; Ctrl-C ends)\n", text, every);

	return gpc_screen_draw(&w->screen, &w->c->out, all, err);
}

static int show(struct watch *w, const char *text, struct gpc_buf *mark,
	struct gpc_error *err)
{
	bool first = !w->mark, table = w->c->out.format <= GPC_OUT_WIDE;
	int r = 0;

	if (w->in_place)
		return draw(w, text, err);
	if (!first && gpc_eq(w->mark, gpc_buf_str(mark)))
		return 0;
	gpc_set_str(&w->mark, gpc_buf_str(mark));
	if (!first && table && *text)
		r = gpc_out_print(&w->c->out, err, "\n");
	return r ? r : gpc_out_write(&w->c->out, text, strlen(text), err);
}

/* An error that may pass is said once and waited out. */
static int complain(struct watch *w, int r, struct gpc_error *err)
{
	if (!gpc_code_retryable((enum gpc_code)-r))
		return r;
	if (!gpc_eq(w->complaint, err->msg)) {
		gpc_log(&w->c->log, GPC_WARN, "%s", err->msg);
		w->screen.drawn = 0;    /* the next table stands below it */
	}
	gpc_set_str(&w->complaint, err->msg);
	return 0;
}

static int once(struct watch *w, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf mark = {0};
	gpc_autostr *text = NULL;
	struct gpc_error why = {0};
	int r = look(w, &text, &mark, &why);

	if (r) {
		r = complain(w, r, &why);
		if (r && err)
			*err = why;
		return r;
	}
	gpc_set_str(&w->complaint, NULL);
	return show(w, text, &mark, err);
}

/* False: there is nothing more to show, or nobody to show it to. */
static bool pause_for(struct watch *w)
{
	int64_t until = gpc_boot_ms() + w->every_ms, now;

	while ((now = gpc_boot_ms()) < until) {
		struct pollfd out = {.fd = STDOUT_FILENO};
		int64_t left = until - now;

		if (gpc_canceled(w->c->cancel))
			return false;
		poll(&out, 1, (int)(left < SLICE_MS ? left : SLICE_MS));
		if (out.revents & (POLLERR | POLLHUP | POLLNVAL)) {
			w->c->out.broken = true;
			return false;
		}
		if (w->in_place && gpc_screen_measure(&w->screen))
			return true;
	}
	return !gpc_canceled(w->c->cancel);
}

int gpc_watch(struct gpc_cmd *c, int64_t every_ms, gpc_watch_fn *fn, void *arg,
	struct gpc_error *err)
{
	gpc_auto(watch) struct watch w = {.c = c, .every_ms = every_ms,
		.fn = fn, .arg = arg, .screen = {.fd = STDOUT_FILENO},
		.in_place = can_draw(c)};
	int r;

	if (every_ms < LEAST_MS)
		return gpc_fail(err, GPC_EUSAGE, "--watch: expected at least "
			"0.1 seconds");
	if (w.in_place)
		gpc_screen_measure(&w.screen);
	do
		r = once(&w, err);
	while (!r && !w.over && pause_for(&w));
	if (!r && gpc_canceled(c->cancel)) {
		c->exit_status = 128 + c->cancel->signal;
		if (w.in_place)         /* the terminal has shown ^C */
			r = gpc_out_write(&c->out, "\n", 1, err);
	}
	return r;
}
