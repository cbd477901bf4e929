/* What object services answer, as XML and as JSON: pages of lists give keys that a
 * store can have, each once and in the form that the server sent, and refusals become
 * errors whose words can be printed. */
#include "fuzz.h"

#include "store/gs_reply.h"
#include "store/oss_error.h"
#include "store/s3_error.h"

static int see(void *arg, const struct gpc_object *o)
{
	int *n = arg;

	fuzz_check(gpc_store_key_ok(o->key), "a key that is none");
	fuzz_check(strcmp(o->key, "b") > 0, "a key before the list's beginning");
	return ++*n == 1000;
}

static int see_any(void *arg, const char *key, const struct gpc_object_info *i)
{
	int *n = arg;

	fuzz_check(strcmp(key, "b") > 0, "a key before the list's beginning");
	fuzz_check(!i || !i->version || *i->version, "a version without a name");
	return ++*n == 1000;
}

typedef int read_fn(const char *text, size_t n,
	const struct gpc_bucket_listing *l, struct gpc_bucket_page *ret_p,
	struct gpc_error *err);

static void read_page(read_fn *read, bool stores, const char *text, size_t n)
{
	gpc_auto(gpc_bucket_page) struct gpc_bucket_page p = {0};
	struct gpc_error err = {0};
	int seen = 0;
	const struct gpc_bucket_listing l = { .skip = 2, .after = "b",
		.fn = stores ? see : NULL, .each = stores ? NULL : see_any,
		.arg = &seen };
	int r = read(text, n, &l, &p, &err);

	fuzz_check(r == 0 || (err.code && err.msg[0]), "no message");
	fuzz_check(r == 0 || !p.token, "half a page");
	fuzz_check(r != 0 || !p.more || (p.token && *p.token), "no token");
}

static void check_verdict(enum gpc_net_verdict v, const struct gpc_error *err)
{
	fuzz_check(v == GPC_NET_DONE || (err->code && err->msg[0]), "no error");
	for (const char *p = err->msg; *p; p++)
		fuzz_check((unsigned char)*p >= 0x20 && *p != 0x7f,
			"a control character");
}

static void judge(int status, const char *text, size_t n)
{
	gpc_auto(gpc_reply) struct gpc_reply reply = { .status = status };
	gpc_autostr *region = NULL;
	struct gpc_error err = {0};
	uint64_t sum;

	gpc_buf_add(&reply.body, text, n);
	check_verdict(gpc_s3_judge(&reply, "reading", "bucket", &region, &err),
		&err);
	check_verdict(gpc_oss_judge(&reply, "reading", "bucket", &region, &err),
		&err);
	check_verdict(gpc_gs_judge(&reply, "reading", "bucket", false, &err),
		&err);
	(void)gpc_gs_told_sum(&reply, &sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *text = (const char *)data;
	static const int statuses[] = { 200, 308, 400, 403, 404, 412, 503 };

	for (int stores = 0; stores < 2; stores++) {
		read_page(gpc_bucket_read_xml, stores, text, n);
		read_page(gpc_gs_read_page, stores, text, n);
	}
	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++)
		judge(statuses[i], text, n);
	return 0;
}
