/* The records that others write into the store: the first byte says which, the
 * rest is its JSON. What can be read is written and read again unchanged. */
#include "fuzz.h"

#include "model/event.h"
#include "model/job.h"
#include "model/node.h"
#include "model/offer.h"
#include "record/checkpoint.h"
#include "record/keys.h"
#include "record/secrets.h"

#define PARSED(name, type) \
	static void name##_record(struct gpc_str text) \
	{ \
		gpc_auto(type) struct type x = {0}, again = {0}; \
		gpc_autoptr(gpc_json) *a = NULL, *b = NULL; \
		gpc_autostr *printed = NULL; \
		struct gpc_error err = {0}; \
		if (type##_parse(text.ptr, text.len, &x, &err) < 0) { \
			fuzz_check(err.msg[0], #name ": no message"); \
			return; \
		} \
		a = type##_write(&x); \
		printed = gpc_json_print(a); \
		fuzz_check(type##_parse(printed, strlen(printed), &again, \
			&err) == 0, #name ": does not read back: %s\n%s", \
			err.msg, printed); \
		b = type##_write(&again); \
		fuzz_same_json(a, b, #name " changed"); \
	}
#define READ(name, type) \
	static void name##_record(struct gpc_str text) \
	{ \
		gpc_auto(type) struct type x = {0}, again = {0}; \
		gpc_autoptr(gpc_json) *j = NULL, *a = NULL, *b = NULL; \
		struct gpc_error err = {0}; \
		if (gpc_json_parse(text.ptr, text.len, &j, &err) < 0 \
			|| type##_read(j, &x, &err) < 0) { \
			fuzz_check(err.msg[0], #name ": no message"); \
			return; \
		} \
		a = type##_write(&x); \
		fuzz_check(type##_read(a, &again, &err) == 0, \
			#name ": does not read back: %s", err.msg); \
		b = type##_write(&again); \
		fuzz_same_json(a, b, #name " changed"); \
	}

PARSED(job, gpc_job)
PARSED(beat, gpc_beat)
PARSED(exit, gpc_exit)
PARSED(peers, gpc_peers)
PARSED(event, gpc_event)
READ(launch, gpc_launch)
READ(offer, gpc_offer)
READ(state, gpc_job_state)

#define JOB "train-abc234"

static void checkpoint_record(struct gpc_str text)
{
	gpc_autoptr(gpc_store) *s = fuzz_store();
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = {0}, again = {0};
	struct gpc_error err = {0};
	gpc_key key;

	fuzz_put(s, gpc_key_checkpoint(key, JOB, "1-1-auto"), text.ptr,
		text.len);
	if (gpc_checkpoint_get(s, JOB, "1-1-auto", &c, &err) < 0) {
		fuzz_check(err.msg[0], "checkpoint: no message");
		return;
	}
	fuzz_check(gpc_eq(c.id, "1-1-auto"), "checkpoint %s is another", c.id);
	if (gpc_store_del(s, key, &err) < 0
		|| gpc_checkpoint_put(s, JOB, &c, &err) < 0)
		fuzz_die("checkpoint: cannot be put: %s", err.msg);
	fuzz_check(gpc_checkpoint_get(s, JOB, c.id, &again, &err) == 0,
		"checkpoint: does not read back: %s", err.msg);
	fuzz_check(c.parts.n == again.parts.n && c.bytes == again.bytes
		&& c.n == again.n, "checkpoint changed");
}

static void secrets_record(struct gpc_str text)
{
	gpc_autoptr(gpc_store) *s = fuzz_store();
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0}, again = {0};
	struct gpc_error err = {0};
	gpc_key key;

	fuzz_put(s, gpc_key_secrets(key, JOB, NULL), text.ptr, text.len);
	if (gpc_secrets_get(s, JOB, NULL, &p, &err) < 0 || p.n == 0)
		return;
	fuzz_check(gpc_secrets_put(s, "other", NULL, &p, &err) == 0
		&& gpc_secrets_get(s, "other", NULL, &again, &err) == 0,
		"secrets do not read back: %s", err.msg);
	fuzz_check(again.n == p.n, "%zu secrets became %zu", p.n, again.n);
	for (size_t i = 0; i < p.n && i < 100; i++)
		fuzz_check(gpc_eq(p.v[i].value,
			gpc_pairs_get(&again, p.v[i].key)), "a secret changed");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static void (*const records[])(struct gpc_str text) = {
		job_record, beat_record, exit_record, peers_record,
		event_record, launch_record, offer_record, state_record,
		checkpoint_record, secrets_record,
	};
	struct fuzz_in in = {data, n};
	unsigned which = fuzz_byte(&in) - '0';

	if (which < COUNT(records))
		records[which](fuzz_rest(&in));
	return 0;
}
