/* A range of an object. What breaks off goes on from where it was, as long as the
 * object is the same; what was read from its first byte to its last is held against
 * the checksum that the service tells. */
#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "store/objects_task.h"

struct download {
	struct gpc_objects_task t;
	struct gpc_object_get get;
	int64_t delivered;
	char *version;                  /* of the object whose bytes come */
	bool begun;                     /* its info was seen */
	bool told;
	uint64_t told_sum, sum;
};

static void clear(struct gpc_objects_task *t)
{
	free(((struct download *)t)->version);
}

static void set_range(struct gpc_request *r, int64_t from, int64_t length)
{
	if (length >= 0 && from <= INT64_MAX - length)
		gpc_pairs_setf(&r->headers, "range",
			"bytes=%" PRId64 "-%" PRId64, from, from + length - 1);
	else if (from > 0)
		gpc_pairs_setf(&r->headers, "range", "bytes=%" PRId64 "-", from);
}

static bool is_whole(const struct download *d)
{
	return d->get.offset == 0 && d->get.length < 0;
}

static int64_t place_of(const struct download *d)
{
	return (int64_t)d->get.offset + d->delivered;
}

static int fail_range(struct gpc_error *err)
{
	return gpc_fail(err, GPC_EPROTO, "the server sends other bytes of an "
		"object than the range that was asked for");
}

static int deliver(void *arg, const void *data, size_t n, struct gpc_error *err)
{
	struct download *d = arg;

	if ((uint64_t)n > (uint64_t)(INT64_MAX - place_of(d)) ||
		(d->get.length >= 0 &&
		(uint64_t)n > (uint64_t)(d->get.length - d->delivered)))
		return fail_range(err);
	d->delivered += (int64_t)n;
	if (d->told)
		d->sum = d->t.bucket->rules->sum(d->sum, data, n);
	return d->get.sink(d->get.arg, data, n, err);
}

/* Whether what comes begins where it should. */
static int check_range(const struct download *d, const struct gpc_reply *reply,
	struct gpc_error *err)
{
	const char *range = gpc_reply_header(reply, "content-range");
	int64_t from = place_of(d), begins = 0;
	gpc_autostr *first = NULL;

	if (reply->status == 206 && range && gpc_starts_with(range, "bytes ")) {
		range += strlen("bytes ");
		first = gpc_strndup(range, strspn(range, "0123456789"));
		if (gpc_parse_i64(first, 0, INT64_MAX, "range", &begins, NULL) < 0)
			return fail_range(err);
	} else if (reply->status == 206) {
		return 0;
	}
	return begins == from ? 0 : fail_range(err);
}

static int fail_changed(const struct download *d, struct gpc_error *err)
{
	return gpc_fail(err, GPC_ECONFLICT, "%s: another object took its place",
		d->t.what);
}

/* Lists and headers may quote an ETag or not. What is not told may be the same. */
static bool same_version(const char *a, const char *b)
{
	size_t n, k;

	if (!a || !b)
		return true;
	a += *a == '"';
	b += *b == '"';
	n = strcspn(a, "\"");
	k = strcspn(b, "\"");
	return n == k && memcmp(a, b, n) == 0;
}

static int see(void *arg, const struct gpc_reply *reply, struct gpc_error *err)
{
	struct download *d = arg;
	struct gpc_object_info *i = &d->t.result.info;
	int r = check_range(d, reply, err);

	if (r < 0)
		return r;
	/* some servers know no if-match */
	if (!same_version(d->version, gpc_reply_header(reply,
		d->t.bucket->rules->version))) {
		if (d->get.pin || d->delivered > 0 || d->get.head)
			return fail_changed(d, err);
		d->begun = false;       /* nobody has seen anything of the other */
		gpc_set_str(&d->version, NULL);
	}
	if (d->begun)
		return 0;
	r = gpc_bucket_describe(d->t.bucket->rules, reply, i, err);
	if (r < 0)
		return r;
	gpc_objects_keep(i, &d->t.keep);
	if (i->version && !d->version)
		d->version = gpc_strdup(i->version);
	d->told = is_whole(d) && i->has_sum;
	d->told_sum = i->sum;
	d->begun = true;
	return d->get.head ? d->get.head(d->get.arg, i, err) : 0;
}

/* Another object may be there by now: its bytes must not follow the first's. */
static int go_on(void *arg, struct gpc_request *r, struct gpc_error *err)
{
	struct download *d = arg;

	if (!d->version)
		return gpc_fail(err, GPC_ENET, "the download broke off, and "
			"nothing tells whether the object is still the same");
	d->t.bucket->rules->pin(r, d->version);
	set_range(r, place_of(d),
		d->get.length < 0 ? -1 : d->get.length - d->delivered);
	return 0;
}

/* The range lies behind the end, or there is nothing in it. */
static void looked(void *arg, int r, const struct gpc_object_result *result,
	const struct gpc_error *err)
{
	struct download *d = arg;
	struct gpc_object_info *i = &d->t.result.info;
	struct gpc_error own;

	if (r == 0) {
		*i = result->info;
		gpc_objects_keep(i, &d->t.keep);
		memcpy(d->t.result.request_id, result->request_id,
			sizeof(result->request_id));
		err = &own;
	}
	if (r == 0 && d->get.pin && !same_version(d->get.pin, i->version))
		r = fail_changed(d, &own);
	if (r == 0 && d->get.head)
		r = d->get.head(d->get.arg, i, &own);
	gpc_objects_task_end(&d->t, r, err);
}

static int look(struct download *d, struct gpc_error *err)
{
	const struct gpc_objects o = { .bucket = d->t.bucket };

	return gpc_objects_look(&o, d->t.loop, d->t.key, looked, d, err);
}

/* What came is not what its server has: the caller must not keep it. */
static int check_sum(const struct download *d, struct gpc_error *err)
{
	if (!d->told || d->sum == d->told_sum)
		return 0;
	(void)gpc_fail(err, GPC_ENET, "%s: the bytes that came do not have the "
		"checksum that the server tells", d->t.what);
	gpc_hint(err, "%s", GPC_OBJECT_DAMAGED);
	return -GPC_ENET;
}

static void loaded(void *arg, int r, const struct gpc_reply *reply,
	const struct gpc_error *err)
{
	struct download *d = arg;
	struct gpc_error own = {0};

	if (r < 0 && reply->status == 416 && d->delivered == 0) {
		r = look(d, &own);
		gpc_objects_task_went_on(&d->t, r, &own);
		return;
	}
	if (r == -GPC_ECONFLICT) {              /* pinned */
		own = *err;
		r = gpc_wrap(&own, r, "another object took its place");
		err = &own;
	}
	if (r == 0) {
		r = check_sum(d, &own);
		err = &own;
	}
	if (r == 0)
		gpc_objects_task_tell_request(&d->t, reply);
	else if (err == &own)
		gpc_net_name_request(reply, &own);
	gpc_objects_task_end(&d->t, r, err);
}

static int start(struct download *d, struct gpc_error *err)
{
	const struct gpc_bucket_rules *rules = d->t.bucket->rules;
	struct gpc_bucket_op *op = &d->t.op;
	int r = gpc_objects_task_op(&d->t, "GET", d->t.key, err);

	if (r < 0)
		return r;
	if (rules->reads)
		rules->reads(&op->request, is_whole(d));
	if (d->version)
		rules->pin(&op->request, d->version);
	set_range(&op->request, (int64_t)d->get.offset, d->get.length);
	op->sink = deliver;
	op->head = see;
	op->rewind = go_on;
	op->arg = d;
	return gpc_objects_task_send(&d->t, loaded, err);
}

int gpc_objects_get(struct gpc_objects *o, struct gpc_net_loop *loop,
	const struct gpc_object_get *get, gpc_object_done_fn *done, void *arg,
	struct gpc_error *err)
{
	struct download *d;
	int r;

	if (get->offset > INT64_MAX)
		return gpc_fail(err, GPC_EPROTO, "no object has a byte %" PRIu64,
			get->offset);
	r = gpc_objects_task_new(o, loop, sizeof(*d), "reading", get->key, done,
		arg, &d, err);
	if (r < 0)
		return r;
	d->t.clear = clear;
	d->get = *get;
	d->get.key = d->t.key;
	d->version = gpc_strdup(get->pin);
	d->get.pin = d->version;
	r = get->length == 0 ? look(d, err) : start(d, err);
	return gpc_objects_task_started(&d->t, r);
}
