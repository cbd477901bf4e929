/* notify: the items of a spec that say who is told what becomes of the job. */
#pragma once
#include "model/spec.h"

/* Names of the bits of enum gpc_notify_on, lowest first; NULL-terminated. */
extern const char *const gpc_notify_words[];
struct gpc_json *gpc_notify_on_json(unsigned on);
/* "notify-send done (on start, end)", for people; owned, may hold any bytes. */
char *gpc_notice_text(const struct gpc_spec_notice *x);
/* The list as job.json and `update` events have it, and back: addresses are in
 * their short form there. */
struct gpc_json *gpc_spec_notify_json(const struct gpc_spec_notify *list);
/* The same for programs: with every member. */
struct gpc_json *gpc_notify_json(const struct gpc_spec_notify *list);
int gpc_spec_notify_read(const struct gpc_json *j, const char *name,
	struct gpc_spec_notify *ret_list, struct gpc_error *err) gpc_must_check;
/* GPC_ECONFIG for what a new spec cannot mean: an address in its short form. */
int gpc_spec_notify_check(const struct gpc_spec *spec, struct gpc_error *err)
	gpc_must_check;
