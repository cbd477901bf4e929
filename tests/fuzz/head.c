/* Heads of replies, line by line: no more than the limit, and nothing in a name or
 * a value that could be taken for the end of a line. Values, and lines alone, are
 * also read as dates and waits, and as headers to send. */
#include "fuzz.h"

#include "dep/http_parts.h"
#include "net/net_parts.h"

struct seen { struct gpc_reply reply; int status; };

static bool has_control(const char *s)
{
	for (; *s; s++)
		if (((unsigned char)*s < ' ' && *s != '\t') || *s == 0x7f)
			return true;
	return false;
}

static int on_status(void *arg, int status, struct gpc_error *err)
{
	struct seen *s = arg;

	(void)err;
	fuzz_check(status >= 200 && status <= 599, "status %d", status);
	s->status = status;
	gpc_pairs_clear(&s->reply.headers);
	return 0;
}

static int on_header(void *arg, const char *name, const char *value,
	struct gpc_error *err)
{
	struct seen *s = arg;

	(void)err;
	fuzz_check(s->status != 0, "a header before its status");
	fuzz_check(name[0] && !strpbrk(name, " :\t") && !has_control(name),
		"name \"%s\"", name);
	for (const char *p = name; *p; p++)
		fuzz_check(*p < 'A' || *p > 'Z', "name \"%s\"", name);
	fuzz_check(!has_control(value), "a control byte in \"%s\"", name);
	gpc_pairs_add(&s->reply.headers, name, value);
	return 0;
}

static void check_sendable(const char *line)
{
	gpc_auto(gpc_strv) struct gpc_strv one = {0}, lines = {0};
	struct gpc_error err = {0};

	gpc_strv_add(&one, line);
	if (gpc_http_lines(&one, false, &lines, &err) < 0) {
		fuzz_check(err.msg[0], "an error without a message");
		return;
	}
	fuzz_check(lines.n >= 2 && !has_control(lines.v[0]),
		"a control byte would be sent");
}

/* A line as it stands: every date that is read is one of four-digit years, and a
 * wait is what is read as one. */
static void check_values(const char *line)
{
	static const char *const names[] = {"retry-after", "x-acs-retry-after",
		"retry-after-ms"};
	const int64_t year_10000_ms = INT64_C(253402300800000);
	int64_t date_ms = gpc_http_date_ms(line);

	fuzz_check(date_ms >= 0 && date_ms < year_10000_ms, "a date of %lld",
		(long long)date_ms);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		gpc_auto(gpc_reply) struct gpc_reply reply = {
			.date_ms = date_ms };
		int wait;

		gpc_pairs_add(&reply.headers, names[i], line);
		wait = gpc_net_retry_after(&reply, 0);
		fuzz_check(wait >= 0 && wait <= 60000, "a wait of %d ms", wait);
		/* Until now is no time. */
		fuzz_check(!date_ms || !wait, "a wait of %d ms", wait);
	}
}

static void check_reply(struct seen *s)
{
	int wait = gpc_net_retry_after(&s->reply, 0);

	fuzz_check(s->reply.headers.n <= GPC_HTTP_HEADERS_MAX, "too many");
	fuzz_check(wait >= 0 && wait <= 60000, "a wait of %d ms", wait);
	for (size_t i = 0; i < s->reply.headers.n; i++)
		fuzz_check(gpc_http_date_ms(s->reply.headers.v[i].value) >= 0,
			"a date before 1970");
	(void)gpc_net_request_id(&s->reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct fuzz_in in = {data, n};
	struct gpc_http_head head = {0};
	struct seen seen = {0};
	const struct gpc_http_head_fns fns = {on_status, on_header, &seen};
	struct gpc_error err = {0};
	struct gpc_str part;
	int r = 0;

	while (r == 0 && fuzz_part(&in, '\n', &part)) {
		gpc_autostr *line = gpc_strndup(part.ptr ? part.ptr : "",
			part.len);

		check_sendable(line);
		check_values(line);
		r = gpc_http_head_line(&head, part.ptr, part.len, &fns, &err);
	}
	if (r != 0)
		fuzz_check(r == -GPC_EPROTO && err.msg[0], "%d", r);
	check_reply(&seen);
	gpc_http_head_clear(&head);
	gpc_reply_clear(&seen.reply);
	return 0;
}
