/* What addresses are told: one event as JSON, the schema gpucloud.notice/1 of
 * gpucloud-json(5). */
#pragma once
#include "core/supervision.h"
#include "model/event.h"

/* Owned. word: what the event is called in `on`; reason: "" for none. */
char *gpc_notice_json(const struct gpc_supervision *sv,
	const struct gpc_event *e, const char *word, const char *reason);
