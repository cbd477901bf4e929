/* Telling others what becomes of a job: commands and addresses of the spec's notify,
 * by the supervisor that drives it, one at a time and in the order of the journal.
 *
 * jobs/<job>/notified holds the number of the newest event that has been told,
 * so a supervisor that comes later goes on behind it. It is put when all items of
 * an event have been told: after a crash between, they are told again. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "core/notify_post.h"
#include "core/notify_run.h"
#include "core/session.h"
#include "model/spec.h"

struct gpc_supervision;

struct gpc_news {
	int64_t n;                    /* event; 0 = there is nothing to tell */
	unsigned what;                /* of enum gpc_notify_on */
	const char *word;
	struct gpc_strv env;          /* NAME=VALUE that its commands get */
	char *json;                   /* what its addresses get */
};
struct gpc_notifier {
	bool loaded;                  /* what `notified` says */
	bool has_items;
	struct gpc_spec_notify items; /* as of event items_n, 0 = the spec */
	int64_t items_n;
	int64_t read_n;               /* events up to this one were looked at */
	int64_t put_n;                /* and up to this one are known as told */
	int64_t retry_ms;             /* boot clock: after trouble with the store */
	struct gpc_news news;
	size_t next;                  /* which item hears it next */
	struct gpc_notice_run run;
	struct gpc_notice_post *post; /* one of both at most */
	char *failed;                 /* what went wrong last, for people */
};
/* Whether something has happened that somebody is to be told. */
bool gpc_notify_look(struct gpc_supervision *sv);
/* Goes on telling, without waiting; false when all is told. Trouble is logged
 * and never holds the job up. */
bool gpc_notify_step(struct gpc_supervision *sv);
void gpc_notify_clear(struct gpc_supervision *sv);
/* What went wrong when it was told last; NULL = nothing. Owned. */
char *gpc_notify_failure(struct gpc_session *s, const char *job);
