/* URLs: what is read can be written and read again, as the same, and holds nothing
 * that another reader could take for something else. Also Base64 and
 * percent-encoding, whose readers take only what their writers give. */
#include "fuzz.h"

#include "base/encode.h"
#include "net/url.h"

static void check_parts(const struct gpc_url *u)
{
	fuzz_check(gpc_eq(u->scheme, "http") || gpc_eq(u->scheme, "https"),
		"scheme %s", u->scheme);
	fuzz_check(u->port >= 1 && u->port <= 65535, "port %d", u->port);
	fuzz_check(u->host[0] && !strpbrk(u->host, "@/\\?#[] %"), "host %s",
		u->host);
	fuzz_check(u->path[0] == '/', "path %s", u->path);
	for (const char *p = u->path; *p; p++)
		fuzz_check(*p > ' ' && *p < 0x7f && *p != '?' && *p != '#',
			"path %s", u->path);
}

static void check_url(const char *text)
{
	gpc_auto(gpc_url) struct gpc_url u = {0}, back = {0};
	gpc_auto(gpc_buf) struct gpc_buf one = {0}, two = {0};
	struct gpc_error err = {0};

	if (gpc_url_parse(text, &u, &err) < 0) {
		fuzz_check(err.msg[0], "an error without a message");
		fuzz_check(!u.scheme && !u.host && !u.path && !u.query.n,
			"a refused URL left something");
		return;
	}
	check_parts(&u);
	gpc_url_format(&u, &one);
	if (gpc_url_parse(gpc_buf_str(&one), &back, &err) < 0) {
		/* Encoding may make it longer than is read. */
		fuzz_check(one.len > GPC_URL_MAX_BYTES, "\"%s\": %s",
			gpc_buf_str(&one), err.msg);
		return;
	}
	gpc_url_format(&back, &two);
	fuzz_check(gpc_eq(gpc_buf_str(&one), gpc_buf_str(&two)),
		"\"%s\" became \"%s\"", gpc_buf_str(&one), gpc_buf_str(&two));
	fuzz_check(back.query.n == u.query.n, "a part of the query got lost");
	fuzz_check(gpc_url_is_local(&u) == gpc_url_is_local(&back),
		"local once only");
}

static void check_base64(const char *text, size_t n)
{
	gpc_auto(gpc_buf) struct gpc_buf bytes = {0}, again = {0}, url = {0};
	struct gpc_error err = {0};

	if (gpc_unbase64(text, n, false, &bytes, &err) < 0) {
		fuzz_check(err.msg[0], "an error without a message");
		return;
	}
	gpc_base64(&again, gpc_buf_str(&bytes), bytes.len);
	fuzz_check(again.len == n && memcmp(gpc_buf_str(&again), text, n) == 0,
		"two texts for the same bytes");
	gpc_base64url(&url, gpc_buf_str(&bytes), bytes.len);
	gpc_buf_reset(&again);
	fuzz_check(gpc_unbase64(gpc_buf_str(&url), url.len, true, &again,
		&err) == 0 && again.len == bytes.len, "no way back");
}

static void check_percent(const char *text, size_t n)
{
	gpc_auto(gpc_buf) struct gpc_buf plain = {0}, coded = {0}, back = {0};
	struct gpc_error err = {0};

	if (gpc_percent_decode(text, n, false, &plain, &err) < 0) {
		fuzz_check(err.msg[0], "an error without a message");
		return;
	}
	fuzz_check(strlen(gpc_buf_str(&plain)) == plain.len, "a NUL");
	gpc_percent_encode(&coded, gpc_buf_str(&plain), plain.len, "");
	fuzz_check(gpc_percent_decode(gpc_buf_str(&coded), coded.len, true,
		&back, &err) == 0 && gpc_eq(gpc_buf_str(&plain),
		gpc_buf_str(&back)), "no way back");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	gpc_autostr *text = gpc_strndup((const char *)data, n);

	check_url(text);
	check_base64((const char *)data, n);
	check_percent((const char *)data, n);
	return 0;
}
