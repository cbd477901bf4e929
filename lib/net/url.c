/* Taking URLs apart and putting them together. Everything that two programs might
 * read in two ways is refused rather than guessed at (numbers as hosts, users,
 * backslashes), because what we sign, what we show and what libcurl dials must be
 * the same.
 */
#include "net/url.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/encode.h"
#include "base/parse.h"
#include "base/str.h"

enum { HOST_MAX = 253, SHOWN = 200 };

static gpc_printf(3, 4) int refuse(struct gpc_error *err, const char *text,
	const char *fmt, ...)
{
	size_t n = strnlen(text, SHOWN + 1);
	/* What follows a question mark may be a signature. */
	size_t shown = strcspn(text, "?");
	gpc_autostr *why = NULL, *show = NULL;
	va_list ap;

	va_start(ap, fmt);
	why = gpc_vformat(fmt, ap);
	va_end(ap);
	if (shown > n)
		shown = n;
	if (memchr(text, '@', shown))
		return gpc_fail(err, GPC_EPROTO, "this URL %s", why);
	show = gpc_str_printable(text, shown > SHOWN ? SHOWN : shown);
	return gpc_fail(err, GPC_EPROTO, "the URL \"%s%s\" %s", show,
		text[shown] ? "..." : "", why);
}

static char to_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char *lowered(const char *s, size_t n)
{
	char *copy = gpc_strndup(s, n);

	for (char *p = copy; *p; p++)
		*p = to_lower(*p);
	return copy;
}

/* The scheme, and what follows "://". */
static const char *take_scheme(const char *text, char **ret_scheme)
{
	static const char *const schemes[] = {"http", "https"};
	size_t n = strcspn(text, ":");

	for (size_t i = 0; i < 2; i++) {
		gpc_autostr *scheme = lowered(text, n);

		if (gpc_eq(scheme, schemes[i]) &&
			gpc_starts_with(text + n, "://")) {
			*ret_scheme = gpc_steal(&scheme);
			return text + n + 3;
		}
	}
	return NULL;
}

/* Hosts of digits are addresses to some readers, in ways that differ. */
static bool host_ok(const char *host)
{
	const char *last = strrchr(host, '.');
	struct in_addr address;
	size_t n = strlen(host);

	if (n == 0 || n > HOST_MAX || strchr(".-", host[0]) || strstr(host, ".."))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_digit(host[i]) && !(host[i] >= 'a' && host[i] <= 'z') &&
			!strchr("-._", host[i]))
			return false;
	last = last ? last + 1 : host;
	if (!*last)                     /* "host." */
		return !is_digit(host[n - 2]);
	return !is_digit(*last) || inet_pton(AF_INET, host, &address) == 1;
}

/* In the one form that RFC 5952 gives an address. */
static char *take_ipv6(const char *text, size_t n)
{
	gpc_autostr *host = lowered(text, n);
	char shown[INET6_ADDRSTRLEN];
	struct in6_addr address;

	if (inet_pton(AF_INET6, host, &address) != 1 ||
		!inet_ntop(AF_INET6, &address, shown, sizeof(shown)))
		return NULL;
	return gpc_strdup(shown);
}

static int take_port(const char *text, const char *at, size_t n,
	struct gpc_url *u, struct gpc_error *err)
{
	gpc_autostr *digits = gpc_strndup(at, n);
	int64_t port;

	if (!is_digit(*digits) || gpc_parse_i64(digits, 1, 65535, "port", &port,
		NULL) < 0)
		return refuse(err, text, "has no port from 1 to 65535 behind "
			"its colon");
	u->port = (int)port;
	return 0;
}

/* n bytes of host and port at `at`. */
static int take_authority(const char *text, const char *at, size_t n,
	struct gpc_url *u, struct gpc_error *err)
{
	const char *end = at + n, *colon;

	if (memchr(at, '@', n))
		return refuse(err, text, "holds a user or a password, which "
			"would end up in logs");
	if (n > 0 && *at == '[') {
		const char *close = memchr(at, ']', n);

		u->host = close ? take_ipv6(at + 1, (size_t)(close - at) - 1) :
			NULL;
		colon = close ? close + 1 : end;
	} else {
		colon = memchr(at, ':', n);
		colon = colon ? colon : end;
		u->host = lowered(at, (size_t)(colon - at));
		if (!host_ok(u->host))
			gpc_set_str(&u->host, NULL);
	}
	if (!u->host || (colon < end && *colon != ':'))
		return refuse(err, text, "has no valid host name or address");
	u->port = gpc_eq(u->scheme, "https") ? 443 : 80;
	return colon < end ? take_port(text, colon + 1,
		(size_t)(end - colon) - 1, u, err) : 0;
}

static int take_path(const char *text, const char *at, size_t n,
	struct gpc_url *u, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	/* Only to see that it can be read. */
	if (gpc_percent_decode(at, n, false, &b, err) < 0)
		return refuse(err, text, "has a broken %% in its path");
	u->path = n > 0 ? gpc_strndup(at, n) : gpc_strdup("/");
	return 0;
}

static int take_query(const char *text, const char *at, struct gpc_url *u,
	struct gpc_error *err)
{
	struct gpc_str rest = gpc_str_of(at), part;

	while (gpc_str_split(&rest, '&', &part)) {
		gpc_auto(gpc_buf) struct gpc_buf name = {0}, value = {0};
		const char *equals = part.len ?
			memchr(part.ptr, '=', part.len) : NULL;
		size_t n = equals ? (size_t)(equals - part.ptr) : part.len;

		if (part.len == 0)
			continue;
		if (gpc_percent_decode(part.ptr, n, false, &name, err) < 0 ||
			(equals && gpc_percent_decode(equals + 1,
				part.len - n - 1, false, &value, err) < 0))
			return refuse(err, text, "has a broken %% in its query");
		gpc_pairs_add(&u->query, gpc_buf_str(&name),
			equals ? gpc_buf_str(&value) : NULL);
	}
	return 0;
}

static int check_bytes(const char *text, struct gpc_error *err)
{
	size_t n = strnlen(text, GPC_URL_MAX_BYTES + 1);

	if (n > GPC_URL_MAX_BYTES)
		return gpc_fail(err, GPC_EPROTO, "a URL of more than %d bytes",
			GPC_URL_MAX_BYTES);
	for (size_t i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] >= 0x7f)
			return refuse(err, text, "holds a byte that must be "
				"percent-encoded (at %zu)", i);
	if (strchr(text, '#'))
		return refuse(err, text, "has a fragment, which no service "
			"gets to see");
	return 0;
}

int gpc_url_parse(const char *text, struct gpc_url *ret_u,
	struct gpc_error *err)
{
	gpc_auto(gpc_url) struct gpc_url u = {0};
	const char *at, *path, *query;
	int r;

	text = text ? text : "";
	r = check_bytes(text, err);
	if (r < 0)
		return r;
	at = take_scheme(text, &u.scheme);
	if (!at)
		return refuse(err, text, "does not begin with http:// or "
			"https://");
	path = at + strcspn(at, "/?");
	query = path + strcspn(path, "?");
	r = take_authority(text, at, (size_t)(path - at), &u, err);
	if (r == 0)
		r = take_path(text, path, (size_t)(query - path), &u, err);
	if (r == 0)
		r = take_query(text, *query ? query + 1 : query, &u, err);
	if (r < 0)
		return r;
	*ret_u = u;
	u = (struct gpc_url){0};
	return 0;
}

void gpc_url_clear(struct gpc_url *u)
{
	if (!u)
		return;
	free(u->scheme);
	free(u->host);
	free(u->path);
	gpc_pairs_clear(&u->query);
	*u = (struct gpc_url){0};
}

void gpc_url_copy(struct gpc_url *to, const struct gpc_url *from)
{
	if (to == from)
		return;
	gpc_set_str(&to->scheme, from->scheme);
	gpc_set_str(&to->host, from->host);
	gpc_set_str(&to->path, from->path);
	to->port = from->port;
	gpc_pairs_copy(&to->query, &from->query);
}

char *gpc_url_host(const struct gpc_url *u)
{
	bool v6 = strchr(u->host, ':') != NULL;
	const char *open = v6 ? "[" : "", *close = v6 ? "]" : "";

	if (u->port == (gpc_eq(u->scheme, "https") ? 443 : 80))
		return gpc_format("%s%s%s", open, u->host, close);
	return gpc_format("%s%s%s:%d", open, u->host, close, u->port);
}

void gpc_url_query(const struct gpc_pairs *query, struct gpc_buf *to)
{
	for (size_t i = 0; i < query->n; i++) {
		const struct gpc_pair *p = &query->v[i];

		if (i > 0)
			gpc_buf_addc(to, '&');
		gpc_percent_encode(to, p->key, strlen(p->key), "");
		if (!p->value)
			continue;
		gpc_buf_addc(to, '=');
		gpc_percent_encode(to, p->value, strlen(p->value), "");
	}
}

void gpc_url_format(const struct gpc_url *u, struct gpc_buf *to)
{
	gpc_autostr *host = gpc_url_host(u);

	gpc_buf_addf(to, "%s://%s", u->scheme, host);
	gpc_buf_adds(to, u->path);
	if (u->query.n == 0)
		return;
	gpc_buf_addc(to, '?');
	gpc_url_query(&u->query, to);
}

static bool is_local_v4(const uint8_t a[4])
{
	static const uint8_t alibaba[4] = {100, 100, 100, 200};

	return a[0] == 127 || a[0] == 0 || (a[0] == 169 && a[1] == 254) ||
		memcmp(a, alibaba, 4) == 0;
}

static bool is_local_v6(const uint8_t a[16])
{
	static const uint8_t zeros[15];
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	static const uint8_t amazon[4] = {0xfd, 0x00, 0x0e, 0xc2};

	if (memcmp(a, mapped, 12) == 0)
		return is_local_v4(a + 12);
	return (memcmp(a, zeros, 15) == 0 && a[15] <= 1) ||
		(a[0] == 0xfe && (a[1] & 0xc0) == 0x80) ||
		memcmp(a, amazon, 4) == 0;
}

bool gpc_url_is_local(const struct gpc_url *u)
{
	static const char *const names[] = {"localhost",
		"metadata.google.internal"};
	gpc_autostr *host = gpc_strdup(u->host);
	uint8_t address[16];
	size_t n = strlen(host);

	if (inet_pton(AF_INET, host, address) == 1)
		return is_local_v4(address);
	if (inet_pton(AF_INET6, host, address) == 1)
		return is_local_v6(address);
	if (n > 0 && host[n - 1] == '.')
		host[n - 1] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (gpc_eq_nocase(host, names[i]))
			return true;
	return gpc_ends_with(host, ".localhost");
}
