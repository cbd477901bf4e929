/* Answers in XML. Services repeat the key in them that was asked for, as it is, and a key
 * may have control bytes, which XML 1.0 has no way to say: they write references that no
 * parser takes. Nobody needs that echo (lists, which do, come percent-encoded), so what
 * cannot be read becomes a question mark.
 */
#include <string.h>

#include "base/str.h"
#include "store/bucket_error.h"

/* Of answers that repeat a key, and tell nothing else that is long. */
#define ECHO_MAX ((size_t)64 << 10)

/* The number of a reference to a character ("#x1;" behind its &), and its length; 0:
 * it is none. */
static size_t read_reference(const char *text, uint32_t *ret_code)
{
	bool hex = text[0] == '#' && text[1] == 'x';
	const char *p = text + (hex ? 2 : 1);
	uint32_t code = 0;

	if (text[0] != '#')
		return 0;
	for (; code <= 0x10ffff; p++) {
		int digit = *p >= '0' && *p <= '9' ? *p - '0' :
			hex && *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 :
			hex && *p >= 'A' && *p <= 'F' ? *p - 'A' + 10 : -1;

		if (digit < 0)
			break;
		code = code * (hex ? 16 : 10) + (uint32_t)digit;
	}
	*ret_code = code;
	return *p == ';' ? (size_t)(p - text) + 1 : 0;
}

/* XML 1.0, production 2. */
static bool is_char(uint32_t c)
{
	return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c < 0xd800) ||
		(c >= 0xe000 && c < 0xfffe) || (c > 0xffff && c <= 0x10ffff);
}

/* What XML cannot hold, as it is or by a reference, becomes a question mark. */
static void leave_out_controls(const struct gpc_buf *body, struct gpc_buf *to)
{
	const char *text = body->data;

	for (size_t i = 0; i < body->len;) {
		uint32_t code = 0;
		size_t n = text[i] == '&' ? read_reference(text + i + 1, &code) : 0;

		if (n > 0 && !is_char(code)) {
			gpc_buf_addc(to, '?');
			i += n + 1;
		} else if (memcmp(text + i, "\xef\xbf", 2) == 0 &&
			(unsigned char)text[i + 2] >= 0xbe) {
			gpc_buf_addc(to, '?');
			i += 3;
		} else {
			gpc_buf_addc(to, is_char((unsigned char)text[i]) ?
				text[i] : '?');
			i++;
		}
	}
}

int gpc_bucket_xml(const struct gpc_reply *reply, struct gpc_xml **ret_root,
	struct gpc_error *err)
{
	const struct gpc_buf *body = &reply->body;
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	int r = gpc_xml_parse(gpc_buf_str(body), body->len, ret_root, err);

	if (r != -GPC_EPROTO || body->len > ECHO_MAX)
		return r;
	leave_out_controls(body, &text);
	return gpc_xml_parse(gpc_buf_str(&text), text.len, ret_root, NULL) == 0 ? 0 : r;
}

struct gpc_xml *gpc_bucket_xml_error(const struct gpc_reply *reply)
{
	gpc_autoptr(gpc_xml) *root = NULL;

	if (!reply->body.len || gpc_bucket_xml(reply, &root, NULL) < 0)
		return NULL;
	return gpc_eq(root->name, "Error") ? gpc_steal(&root) : NULL;
}
