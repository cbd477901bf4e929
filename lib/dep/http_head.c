/* The head of a reply, and what may stand in that of a request. Strict about bytes
 * that could make two readers see different headers: control bytes never pass in
 * either direction. */
#include <string.h>

#include "base/str.h"
#include "dep/http_parts.h"

enum { SHOWN = 40 };

static bool is_token(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char c = s[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
			!(c >= '0' && c <= '9') &&
			(!c || !strchr("!#$%&'*+-.^_`|~", c)))
			return false;
	}
	return n > 0;
}

/* A tab is what a value may hold of the bytes below a space. */
static bool has_control(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)s[i] < ' ' && s[i] != '\t') ||
			s[i] == 0x7f)
			return true;
	return false;
}

int gpc_http_check_header(const char *line, struct gpc_error *err)
{
	size_t n = strcspn(line, ":");
	gpc_autostr *shown = gpc_str_printable(line, n < SHOWN ? n : SHOWN);

	if (!line[n] || !is_token(line, n))
		return gpc_fail(err, GPC_EPROTO,
			"\"%s\" is no name of a header", shown);
	/* Never the value: it may be a secret. */
	if (has_control(line + n, strlen(line + n)))
		return gpc_fail(err, GPC_EPROTO, "the value of the header %s "
			"holds a control byte", shown);
	return 0;
}

static bool has_header(const struct gpc_strv *headers, const char *name)
{
	for (size_t i = 0; headers && i < headers->n; i++) {
		size_t n = strcspn(headers->v[i], ":");
		gpc_autostr *its = gpc_strndup(headers->v[i], n);

		if (gpc_eq_nocase(its, name))
			return true;
	}
	return false;
}

int gpc_http_lines(const struct gpc_strv *headers, bool expect,
	struct gpc_strv *ret_lines, struct gpc_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && headers && i < headers->n; i++) {
		const char *line = headers->v[i];
		const char *value = strchr(line, ':');

		r = gpc_http_check_header(line, err);
		if (r < 0)
			break;
		if (value[1 + strspn(value + 1, " \t")])
			gpc_strv_add(ret_lines, line);
		else
			gpc_strv_addf(ret_lines, "%.*s;", (int)(value - line),
				line);
	}
	if (!has_header(headers, "accept"))
		gpc_strv_add(ret_lines, "Accept:");
	if (!has_header(headers, "content-type"))
		gpc_strv_add(ret_lines, "Content-Type:");
	if (!expect)
		gpc_strv_add(ret_lines, "Expect:");
	return r;
}

int gpc_http_check_method(const char *method, struct gpc_error *err)
{
	gpc_autostr *shown = NULL;

	if (method && is_token(method, strlen(method)))
		return 0;
	shown = gpc_str_printable(method ? method : "",
		method ? strnlen(method, SHOWN) : 0);
	return gpc_fail(err, GPC_EPROTO, "\"%s\" is no HTTP method", shown);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "HTTP/1.1 200 OK", "HTTP/2 200" */
static int read_status(const char *line, size_t n)
{
	const char *space = memchr(line, ' ', n);
	size_t at = space ? (size_t)(space - line) + 1 : n;

	if (at + 3 > n || (at + 3 < n && line[at + 3] != ' '))
		return 0;
	for (size_t i = at; i < at + 3; i++)
		if (!is_digit(line[i]))
			return 0;
	return (line[at] - '0') * 100 + (line[at + 1] - '0') * 10 +
		line[at + 2] - '0';
}

static void forget_header(struct gpc_http_head *h)
{
	gpc_buf_reset(&h->name);
	gpc_buf_reset(&h->value);
}

static int begin(struct gpc_http_head *h, const char *line, size_t n,
	const struct gpc_http_head_fns *fns, struct gpc_error *err)
{
	h->status = read_status(line, n);
	h->n_headers = 0;
	forget_header(h);
	if (h->status < 100 || h->status > 599)
		return gpc_fail(err, GPC_EPROTO,
			"the reply begins with no status from 100 to 599");
	return h->status >= 200 && fns->status ?
		fns->status(fns->arg, h->status, err) : 0;
}

/* What was held back, because it might have gone on. */
static int deliver(struct gpc_http_head *h,
	const struct gpc_http_head_fns *fns, struct gpc_error *err)
{
	struct gpc_str value = gpc_str_trim((struct gpc_str){
		gpc_buf_str(&h->value), h->value.len});
	gpc_autostr *text = NULL;
	int r = 0;

	if (h->name.len == 0)
		return 0;
	text = gpc_strndup(value.ptr, value.len);
	if (h->status >= 200 && fns->header)
		r = fns->header(fns->arg, gpc_buf_str(&h->name), text, err);
	forget_header(h);
	return r;
}

static int take_header(struct gpc_http_head *h, const char *line, size_t n,
	struct gpc_error *err)
{
	const char *colon = memchr(line, ':', n);
	size_t n_name = colon ? (size_t)(colon - line) : 0;

	if (!is_token(line, n_name))
		return gpc_fail(err, GPC_EPROTO,
			"the reply has a header line without a name");
	if (++h->n_headers > GPC_HTTP_HEADERS_MAX)
		return gpc_fail(err, GPC_EPROTO, "the reply has more than %d "
			"headers", GPC_HTTP_HEADERS_MAX);
	for (size_t i = 0; i < n_name; i++)
		gpc_buf_addc(&h->name, line[i] >= 'A' && line[i] <= 'Z' ?
			(char)(line[i] - 'A' + 'a') : line[i]);
	gpc_buf_add(&h->value, colon + 1, n - n_name - 1);
	return 0;
}

static size_t without_end(const char *line, size_t n)
{
	if (n > 0 && line[n - 1] == '\n')
		n--;
	if (n > 0 && line[n - 1] == '\r')
		n--;
	return n;
}

int gpc_http_head_line(struct gpc_http_head *h, const char *line, size_t n,
	const struct gpc_http_head_fns *fns, struct gpc_error *err)
{
	int r;

	h->n_bytes += n;
	if (h->n_bytes > GPC_HTTP_HEAD_MAX)
		return gpc_fail(err, GPC_EPROTO, "the reply has more than "
			"%zu KiB of headers", GPC_HTTP_HEAD_MAX >> 10);
	n = without_end(line, n);
	if (has_control(line, n))
		return gpc_fail(err, GPC_EPROTO,
			"a header of the reply holds a control byte");
	if (h->done)
		return 0;               /* trailers */
	if (n >= 5 && memcmp(line, "HTTP/", 5) == 0)
		return begin(h, line, n, fns, err);
	if (h->status == 0)
		return gpc_fail(err, GPC_EPROTO,
			"the reply begins with no status line");
	if (n > 0 && (line[0] == ' ' || line[0] == '\t')) {
		gpc_buf_addc(&h->value, ' ');
		gpc_buf_add(&h->value, line + 1, n - 1);
		return 0;
	}
	r = deliver(h, fns, err);
	if (r != 0)
		return r;
	if (n == 0) {
		h->done = h->status >= 200;
		return 0;
	}
	return take_header(h, line, n, err);
}

void gpc_http_head_clear(struct gpc_http_head *h)
{
	gpc_buf_clear(&h->name);
	gpc_buf_clear(&h->value);
	*h = (struct gpc_http_head){0};
}
