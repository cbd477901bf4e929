/* What a machine said of its boot, where no agent of it ever wrote to the store.
 *
 * Its console is asked for once it is gone, or silent for longer than machines take
 * to boot. Providers show a console late, so that a gone one is asked a few times;
 * a silent one rarely. Whatever goes wrong with that changes nothing: then the
 * node is lost, as one that died without a word. */
#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "core/supervision.h"
#include "model/boot_failure.h"

#define CONSOLE_MAX (256 * 1024)
#define SILENT_MS 120000        /* so long it may boot before anybody asks */
#define SILENT_AGAIN_MS 180000
#define GONE_ASKS 3
#define GONE_AGAIN_MS 5000      /* the first pause; each is as long as all before */

static bool is_due(struct gpc_pulse *p, bool gone)
{
	int64_t now = gpc_boot_ms();

	if (gone && !p->gone_ms) {
		p->gone_ms = now;
		p->console_due_ms = now;
		p->consoles = 0;
	}
	if (!gone && !p->console_due_ms)
		p->console_due_ms = p->changed_ms + SILENT_MS;
	return now >= p->console_due_ms;
}

/* *ret_text stays empty when there is nothing (yet). */
static int ask(struct gpc_supervision *sv, const struct gpc_node *n,
	struct gpc_buf *ret_text, bool *ret_can, struct gpc_error *err)
{
	struct gpc_source *s = NULL;
	int r = gpc_supervision_source(sv, n->provider, &s, err);

	*ret_can = r == 0 && s->provider->ops->console;
	if (*ret_can)
		r = s->provider->ops->console(s->provider, n->id, ret_text, err);
	return r;
}

static void put(struct gpc_exit *x, const struct gpc_boot_failure *f,
	const char *said)
{
	gpc_autostr *text = gpc_boot_failure_text(f, said);

	x->reason = f->reason;
	free(x->detail);
	x->detail = gpc_format("rank %d: %s", x->rank, text);
	gpc_set_str(&x->boot, f->word);
}

bool gpc_supervision_last_words(struct gpc_supervision *sv,
	const struct gpc_node *n, bool gone, struct gpc_exit *x, bool *ret_wait)
{
	struct gpc_pulse *p = gpc_supervision_pulse(sv, n->attempt, n->rank);
	gpc_auto(gpc_buf) struct gpc_buf text = { .max = CONSOLE_MAX };
	const struct gpc_boot_failure *f = NULL;
	gpc_autostr *said = NULL;
	struct gpc_error why = {0};
	bool can = false;

	*ret_wait = false;
	/* Who has shown a sign of life has booted. */
	if (p->beat_n >= 0 || n->status == GPC_NODE_READY)
		return false;
	if (!is_due(p, gone)) {
		*ret_wait = gone;
		return false;
	}
	if (ask(sv, n, &text, &can, &why) < 0) {
		gpc_log(sv->session->log, GPC_INFO, "%s: the console of %s: %s",
			sv->job.id, n->id, why.msg);
		can = false;
	}
	p->consoles++;
	p->console_due_ms = gpc_boot_ms() + (gone ?
		(int64_t)GONE_AGAIN_MS << (p->consoles - 1) : SILENT_AGAIN_MS);
	if (text.len)
		f = gpc_boot_failure_read(text.data, text.len, &said);
	if (f)
		put(x, f, said);
	else
		*ret_wait = gone && can && !text.len && p->consoles < GONE_ASKS;
	return f != NULL;
}
