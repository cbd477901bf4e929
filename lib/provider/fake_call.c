/* See fake_call.h. Two things here are for tests alone: a provider never sleeps (the
 * fault `slow` does), and a fault is asked for before each call. */
#include "provider/fake_call.h"

#include <sys/stat.h>

#include "base/fd.h"
#include "base/time.h"
#include "provider/own_disk.h"

bool gpc_fake_exists(const char *dir)
{
	struct stat st;

	return stat(dir, &st) == 0;
}

int gpc_fake_call_begin(struct gpc_fake_call *c, const char *dir,
	enum gpc_fake_op op, const char *zone, struct gpc_error *err)
{
	int r;

	*c = (struct gpc_fake_call){ .dir = dir, .op = op, .lock = -1 };
	r = gpc_fake_lock(c->dir, &c->lock, err);
	if (r == 0)
		r = gpc_fake_take_fault(c->dir, op, zone, &c->fault, err);
	if (r == 0 && c->fault.fault == GPC_FAKE_SLOW) {
		gpc_close(&c->lock);
		gpc_sleep_ms(c->fault.ms);
		r = gpc_fake_lock(c->dir, &c->lock, err);
	}
	c->now = gpc_boot_ms();
	c->entry = gpc_json_object();
	gpc_json_set_str(c->entry, "op", gpc_fake_op_names[op]);
	if (c->fault.fault)
		gpc_json_set_str(c->entry, "fault",
			gpc_fake_how_names[c->fault.fault]);
	return r;
}

/* This is also the table of how a provider classifies what goes wrong: the
 * codes decide what core does next. */
int gpc_fake_call_refused(const struct gpc_fake_call *c, struct gpc_error *err)
{
	const char *op = gpc_fake_op_names[c->op];
	const char *text = c->fault.text;

	switch (c->fault.fault) {
	case GPC_FAKE_NO_CAPACITY:
		return gpc_fail(err, GPC_ECAPACITY, "fake %s: %s", op,
			text ? text : "no such machine is free now");
	case GPC_FAKE_QUOTA:
		return gpc_fail(err, GPC_EQUOTA, "fake %s: %s", op,
			text ? text : "the account may not have more of these");
	case GPC_FAKE_FULL:
		return gpc_fail(err, GPC_ENOROOM, "fake %s: %s", op,
			text ? text : "no room for its disk");
	case GPC_FAKE_AUTH:
		return gpc_fail(err, GPC_EAUTH, "fake %s: %s", op,
			text ? text : "the credentials were refused");
	case GPC_FAKE_REFUSED:
		return gpc_fail(err, GPC_ECONFIG, "fake %s: %s", op,
			text ? text : "such a request can never work");
	case GPC_FAKE_LACKS:
		return gpc_fail(err, GPC_ENOTFOUND, "fake %s: %s", op,
			text ? text : "this region has no network");
	case GPC_FAKE_ERROR:
		return gpc_fail(err, GPC_EPROTO, "fake %s: %s", op,
			text ? text : "an error of an unknown kind");
	case GPC_FAKE_UNREACHABLE:
		return gpc_fail(err, GPC_ENET, "fake %s: %s", op,
			text ? text : "no connection");
	case GPC_FAKE_THROTTLE:
		gpc_fail(err, GPC_ERATE, "fake %s: %s", op,
			text ? text : "too many requests");
		if (err)
			err->retry_after_ms = (int)c->fault.ms;
		return -GPC_ERATE;
	default:
		return 0;
	}
}

int gpc_fake_call_end(struct gpc_fake_call *c, int r, struct gpc_error *err)
{
	struct gpc_error why = {0};

	if (r == 0 && c->fault.fault == GPC_FAKE_LOST_ANSWER)
		r = gpc_fail(err, GPC_ETIMEOUT, "fake %s: the answer was lost",
			gpc_fake_op_names[c->op]);
	if (c->entry && gpc_fake_ledger_add(c->dir, c->entry, r, &why) < 0 &&
		r == 0) {
		if (err)
			*err = why;
		r = -(int)why.code;
	}
	gpc_json_free(c->entry);
	gpc_fake_fault_clear(&c->fault);
	gpc_close(&c->lock);
	return c->op == GPC_FAKE_OFFERS || c->op == GPC_FAKE_CREATE ?
		gpc_own_disk_error(r, err) : r;
}
