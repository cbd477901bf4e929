/* A job's journal as somebody else left it in the store: the input is divided by
 * NUL bytes into the head hint and the events 1, 2, 3 ... It is read, replayed,
 * brought up to date and written on. */
#include "fuzz.h"

#include "record/journal.h"
#include "record/keys.h"

#define JOB "train-abc234"

static int on_event(void *arg, const struct gpc_event *e)
{
	int64_t *last = arg;

	fuzz_check(e->n > *last, "event %lld after %lld", (long long)e->n,
		(long long)*last);
	*last = e->n;
	return 0;
}

static void go_on(struct gpc_journal *j)
{
	struct gpc_json *data = gpc_json_object();
	struct gpc_error err = {0};
	int64_t n = j->state.n;
	int r;

	gpc_json_set_str(data, "supervisor", "me");
	r = gpc_journal_append(j, GPC_EVENT_SUPERVISOR, data, &err);
	fuzz_check(r < 0 || j->state.n == n + 1, "an event was not counted");
	fuzz_check(r == 0 || err.msg[0], "an error without a message");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	gpc_autoptr(gpc_store) *s = fuzz_store();
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct fuzz_in in = {data, n};
	struct gpc_error err = {0};
	struct gpc_str part;
	int64_t last = 0;
	gpc_key key;

	if (fuzz_part(&in, '\0', &part) && part.len)
		fuzz_put(s, gpc_key_job_file(key, JOB, "head"), part.ptr,
			part.len);
	for (int i = 1; i < 30 && fuzz_part(&in, '\0', &part); i++)
		if (part.len)
			fuzz_put(s, gpc_key_event(key, JOB, i), part.ptr,
				part.len);
	if (gpc_journal_read(s, JOB, 0, on_event, &last, &err) < 0)
		fuzz_check(err.msg[0], "an error without a message");
	if (gpc_journal_verify(s, JOB, &err) < 0)
		fuzz_check(err.msg[0], "an error without a message");
	gpc_journal_init(&j, s, JOB, "fuzz");
	j.settle_ms = 0;
	if (gpc_journal_refresh(&j, NULL, &err) < 0) {
		fuzz_check(err.msg[0], "an error without a message");
		return 0;
	}
	if (!j.read_only)
		go_on(&j);
	return 0;
}
