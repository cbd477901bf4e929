/* Strict in both directions: what is written has one form, and what is read in
 * another form is refused, because two readings of the same bytes are how
 * signatures are fooled. */
#include "base/encode.h"

#include <stdint.h>
#include <string.h>

#include "base/str.h"

static const char standard[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char for_urls[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void encode(struct gpc_buf *to, const uint8_t *p, size_t n,
	const char *alphabet, bool pad)
{
	for (; n >= 3; p += 3, n -= 3) {
		uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
		char four[4] = {alphabet[v >> 18], alphabet[v >> 12 & 63],
			alphabet[v >> 6 & 63], alphabet[v & 63]};

		gpc_buf_add(to, four, 4);
	}
	if (n > 0) {
		uint32_t v = (uint32_t)p[0] << 16 |
			(n > 1 ? (uint32_t)p[1] << 8 : 0);
		char four[4] = {alphabet[v >> 18], alphabet[v >> 12 & 63],
			n > 1 ? alphabet[v >> 6 & 63] : '=', '='};

		gpc_buf_add(to, four, pad ? 4 : n + 1);
	}
}

void gpc_base64(struct gpc_buf *to, const void *bytes, size_t n)
{
	encode(to, bytes, n, standard, true);
}

void gpc_base64url(struct gpc_buf *to, const void *bytes, size_t n)
{
	encode(to, bytes, n, for_urls, false);
}

/* 0 to 63, or -1. */
static int sextet(char c, bool url)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || (url && c == '-'))
		return 62;
	if (c == '/' || (url && c == '_'))
		return 63;
	return -1;
}

static int fail_base64(struct gpc_error *err, const char *why)
{
	/* Never the text: it may be a secret. */
	return gpc_fail(err, GPC_EPROTO, "not valid Base64: %s", why);
}

/* The length of text without its padding; less than 0 when that is wrong. */
static int unpad(const char *text, size_t n, bool url, size_t *ret_n,
	struct gpc_error *err)
{
	size_t pads = 0;

	while (pads < 2 && pads < n && text[n - 1 - pads] == '=')
		pads++;
	n -= pads;
	if (n % 4 == 1 || (pads > 0 && (n + pads) % 4 != 0) ||
		(pads == 0 && !url && n % 4 != 0))
		return fail_base64(err, "wrong length");
	*ret_n = n;
	return 0;
}

int gpc_unbase64(const char *text, size_t n, bool url, struct gpc_buf *to,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = SIZE_MAX };
	uint32_t bits = 0;
	int n_bits = 0, r = unpad(text, n, url, &n, err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		int v = sextet(text[i], url);

		if (v < 0)
			return fail_base64(err, "a character that it has not");
		bits = (bits << 6 | (uint32_t)v) & 0xffff;
		n_bits += 6;
		if (n_bits >= 8) {
			n_bits -= 8;
			gpc_buf_addc(&b, (char)(bits >> n_bits & 0xff));
		}
	}
	if (r < 0)
		return r;
	if ((bits & ((1U << n_bits) - 1)) != 0)
		return fail_base64(err, "bits after its end");
	return gpc_buf_try_add(to, b.data, b.len, err);
}

static bool is_unreserved(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		(c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
		c == '~';
}

void gpc_percent_encode(struct gpc_buf *to, const char *text, size_t n,
	const char *keep)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < n; i++) {
		uint8_t c = (uint8_t)text[i];
		char three[3] = {'%', digits[c >> 4], digits[c & 15]};

		if (is_unreserved(text[i]) || (c && strchr(keep, c)))
			gpc_buf_addc(to, text[i]);
		else
			gpc_buf_add(to, three, 3);
	}
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int gpc_percent_decode(const char *text, size_t n, bool plus,
	struct gpc_buf *to, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = SIZE_MAX };

	for (size_t i = 0; i < n; i++) {
		int high, low;

		if (text[i] == '\0')
			return gpc_fail(err, GPC_EPROTO, "a NUL in a URL");
		if (text[i] != '%') {
			gpc_buf_addc(&b, plus && text[i] == '+' ? ' ' : text[i]);
			continue;
		}
		high = i + 1 < n ? digit(text[i + 1]) : -1;
		low = i + 2 < n ? digit(text[i + 2]) : -1;
		if (high < 0 || low < 0)
			return gpc_fail(err, GPC_EPROTO, "a %% without two "
				"hexadecimal digits after it");
		if (high == 0 && low == 0)
			return gpc_fail(err, GPC_EPROTO, "%%00 stands for a "
				"NUL, which no name may hold");
		gpc_buf_addc(&b, (char)(high << 4 | low));
		i += 2;
	}
	return gpc_buf_try_add(to, b.data, b.len, err);
}
