/* Events as JSON: {v, n, id, type, at_ms, by, data, state}. The version and the
 * type are looked at first, so that what a newer gpucloud wrote is told from
 * what is broken. */
#include "model/event.h"

#include "base/str.h"
#include "dep/bind.h"

const char *const gpc_event_type_names[] = {
	[GPC_EVENT_SUBMITTED] = "submitted",
	[GPC_EVENT_ATTEMPT] = "attempt",
	[GPC_EVENT_INTENT] = "intent",
	[GPC_EVENT_VOID] = "void",
	[GPC_EVENT_CREATED] = "created",
	[GPC_EVENT_RATE] = "rate",
	[GPC_EVENT_READY] = "ready",
	[GPC_EVENT_PHASE] = "phase",
	[GPC_EVENT_LOST] = "lost",
	[GPC_EVENT_RELEASED] = "released",
	[GPC_EVENT_SUPERVISOR] = "supervisor",
	[GPC_EVENT_CHECKPOINT] = "checkpoint",
	[GPC_EVENT_CANCEL] = "cancel",
	[GPC_EVENT_SAVE] = "save",
	[GPC_EVENT_SIGNAL] = "signal",
	[GPC_EVENT_UPDATE] = "update",
	[GPC_EVENT_RESUME] = "resume",
	[GPC_EVENT_PRUNE] = "prune",
	[GPC_EVENT_PRUNING] = "pruning",
	[GPC_EVENT_PRUNED] = "pruned",
	[GPC_EVENT_ENDED] = "ended",
	[GPC_EVENT_SSH] = "ssh",
	[GPC_EVENT_OPENED] = "opened",
	[GPC_EVENT__COUNT] = NULL,
};

/* The members but the state, which has a reader of its own. */
static const struct gpc_bind fields[] = {
	GPC_BIND(gpc_event, v, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_event, n, I53, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_event, id, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_event, type, ENUM, .flags = GPC_BIND_REQUIRED,
		.names = gpc_event_type_names),
	GPC_BIND(gpc_event, at_ms, I53, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_event, by, STR),
	GPC_BIND(gpc_event, data, JSON),
	GPC_BIND_LAST
};

static bool is_known_type(const char *word)
{
	for (int i = 0; i < GPC_EVENT__COUNT; i++)
		if (gpc_eq(gpc_event_type_names[i], word))
			return true;
	return false;
}

/* Tells a newer event from a broken one. */
static int check_version(const struct gpc_json *j, struct gpc_error *err)
{
	int64_t v = gpc_json_get_int(j, "v", 0);
	const char *type = gpc_json_get_str(j, "type");
	gpc_autostr *shown = NULL;
	int r;

	if (v >= 1 && v <= GPC_EVENT_VERSION && (!type || is_known_type(type)))
		return 0;
	if (v < 1)
		return gpc_fail(err, GPC_EPROTO,
			"$.v: expected the version of an event");
	if (v > GPC_EVENT_VERSION) {
		r = gpc_fail(err, GPC_EUNSUPPORTED, "the event has version "
			"%lld, this gpucloud knows %d", (long long)v,
			GPC_EVENT_VERSION);
	} else {
		shown = gpc_str_printable(type, strnlen(type, 60));
		r = gpc_fail(err, GPC_EUNSUPPORTED,
			"the event is of the unknown type \"%s\"", shown);
	}
	gpc_hint(err, "a newer gpucloud wrote it: update this one");
	return r;
}

int gpc_event_parse(const char *text, size_t n, struct gpc_event *ret_e,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_auto(gpc_event) struct gpc_event e = {0};
	int r = gpc_json_parse(text, n, &j, err);

	if (r < 0)
		return r;
	if (!gpc_json_is_object(j))
		return gpc_fail(err, GPC_EPROTO, "$: expected an event");
	r = check_version(j, err);
	if (r < 0)
		return r;
	r = gpc_bind_read(j, fields, &e, err);
	if (r < 0)
		return r;
	if (!e.data)
		e.data = gpc_json_object();
	if (!gpc_json_is_object(e.data))
		return gpc_fail(err, GPC_EPROTO, "$.data: expected an object");
	r = gpc_job_state_read(gpc_json_get(j, "state"), &e.state, err);
	if (r < 0)
		return gpc_wrap(err, r, "$.state");
	if (e.n < 1 || e.state.n != e.n)
		return gpc_fail(err, GPC_EPROTO,
			"$.n: the event and its state have different numbers");
	*ret_e = e;
	e = (struct gpc_event){0};
	return 0;
}

struct gpc_json *gpc_event_write(const struct gpc_event *e)
{
	struct gpc_json *j = gpc_bind_write(fields, e);

	if (!gpc_json_get(j, "data"))
		gpc_json_set(j, "data", gpc_json_object());
	gpc_json_set(j, "state", gpc_job_state_write(&e->state));
	return j;
}

void gpc_event_clear(struct gpc_event *e)
{
	gpc_bind_clear(fields, e);
	gpc_job_state_clear(&e->state);
}
