/* Canonical forms. A signature is over text that both sides compute for
 * themselves, so each byte here is the cloud's, not ours; what differs between
 * clouds is said by arguments, and the rest of each scheme is in its own file.
 */
#include "net/canon.h"

#include <string.h>

#include "base/encode.h"
#include "base/str.h"
#include "base/time.h"
#include "dep/crypto.h"

void gpc_canon_time(int64_t ms, char ret_time[GPC_CANON_TIME])
{
	char text[GPC_RFC3339_SIZE];
	size_t n = 0;

	/* "2015-08-30T12:36:00.000Z" */
	gpc_format_rfc3339(ms, text);
	for (const char *p = text; *p != '.'; p++)
		if (*p != '-' && *p != ':')
			ret_time[n++] = *p;
	ret_time[n++] = 'Z';
	ret_time[n] = '\0';
}

static bool is_word(const char *s)
{
	for (; *s; s++)
		if (*s <= ' ' || *s >= 0x7f)
			return false;
	return true;
}

int gpc_canon_check_keys(const struct gpc_keys *keys, struct gpc_error *err)
{
	if (!keys->id || !keys->id[0] || !keys->secret || !keys->secret[0])
		return gpc_fail(err, GPC_EAUTH, "no key to sign a request with");
	if (!is_word(keys->id) || strpbrk(keys->id, "/,"))
		return gpc_fail(err, GPC_EAUTH,
			"the id of the access key holds what no id has");
	if (keys->token && !is_word(keys->token))
		return gpc_fail(err, GPC_EAUTH,
			"the session token holds what no token has");
	return 0;
}

int gpc_canon_check_word(const char *word, const char *what,
	struct gpc_error *err)
{
	if (word && word[0] && is_word(word) && !strpbrk(word, "/,"))
		return 0;
	if (!word || !word[0])
		return gpc_fail(err, GPC_ECONFIG, "no %s to sign a request for",
			what);
	return gpc_fail(err, GPC_ECONFIG, "no %s is called like this one", what);
}

int gpc_canon_check_expires(int expires_s, struct gpc_error *err)
{
	if (expires_s >= 1 && expires_s <= GPC_CANON_MAX_EXPIRES_S)
		return 0;
	return gpc_fail(err, GPC_EUSAGE, "a signed URL is good for 1 to %d "
		"seconds (7 days), not %d", GPC_CANON_MAX_EXPIRES_S, expires_s);
}

/* A name and its value, and where they came. */
struct item { const char *name, *value; size_t at; };

static int by_name_then_value(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->value, y->value);
}

static int by_name_then_place(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* A NUL ends each in b. */
static size_t encode(struct gpc_buf *b, const char *text)
{
	size_t at = b->len;

	text = text ? text : "";
	gpc_percent_encode(b, text, strlen(text), "");
	gpc_buf_addc(b, '\0');
	return at;
}

void gpc_canon_query(const struct gpc_pairs *query, bool bare,
	struct gpc_buf *to)
{
	gpc_auto(gpc_buf) struct gpc_buf texts = {0};
	struct item *items;

	if (query->n == 0)
		return;
	items = gpc_array(query->n, sizeof(*items));
	for (size_t i = 0; i < query->n; i++) {
		items[i].at = encode(&texts, query->v[i].key);
		encode(&texts, query->v[i].value);
	}
	for (size_t i = 0; i < query->n; i++) {
		items[i].name = texts.data + items[i].at;
		items[i].value = items[i].name + strlen(items[i].name) + 1;
	}
	qsort(items, query->n, sizeof(*items), by_name_then_value);
	for (size_t i = 0; i < query->n; i++) {
		if (i > 0)
			gpc_buf_addc(to, '&');
		gpc_buf_adds(to, items[i].name);
		if (!bare || items[i].value[0])
			gpc_buf_addc(to, '=');
		gpc_buf_adds(to, items[i].value);
	}
	free(items);
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void add_value(struct gpc_buf *to, const char *value, bool collapse)
{
	size_t n = value ? strlen(value) : 0;

	while (n > 0 && is_space(value[n - 1]))
		n--;
	while (n > 0 && is_space(*value)) {
		value++;
		n--;
	}
	if (!collapse) {
		gpc_buf_add(to, value, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (!is_space(value[i]))
			gpc_buf_addc(to, value[i]);
		else if (!is_space(value[i + 1]))
			gpc_buf_addc(to, ' ');
}

static void add_headers(const struct item *items, size_t n, bool collapse,
	struct gpc_buf *lines, struct gpc_buf *names)
{
	for (size_t i = 0; i < n; i++) {
		bool again = i > 0 && gpc_eq(items[i].name, items[i - 1].name);

		if (again) {
			gpc_buf_addc(lines, ',');
		} else {
			gpc_buf_adds(names, i > 0 ? ";" : "");
			gpc_buf_adds(names, items[i].name);
			gpc_buf_adds(lines, i > 0 ? "\n" : "");
			gpc_buf_adds(lines, items[i].name);
			gpc_buf_addc(lines, ':');
		}
		add_value(lines, items[i].value, collapse);
	}
	if (n > 0)
		gpc_buf_addc(lines, '\n');
}

static char *host_of(const struct gpc_url *u, const struct gpc_canon_rule *rule)
{
	struct gpc_url bare = {.scheme = u->scheme, .host = u->host,
		.port = gpc_eq(u->scheme, "https") ? 443 : 80};

	return rule->host ? gpc_url_host(rule->no_port ? &bare : u) : NULL;
}

void gpc_canon_headers(const struct gpc_request *r,
	const struct gpc_canon_rule *rule, struct gpc_buf *lines,
	struct gpc_buf *names)
{
	gpc_autostr *host = host_of(&r->url, rule);
	struct item *items = gpc_array(r->headers.n + 1, sizeof(*items));
	size_t n = 0;

	if (host)
		items[n++] = (struct item){.name = "host", .value = host};
	for (size_t i = 0; i < r->headers.n; i++) {
		const struct gpc_pair *p = &r->headers.v[i];

		if (!gpc_eq(p->key, "host") && rule->is_signed(p->key))
			items[n++] = (struct item){p->key, p->value, i};
	}
	qsort(items, n, sizeof(*items), by_name_then_place);
	add_headers(items, n, rule->collapse, lines, names);
	free(items);
}

void gpc_canon_scope(const struct gpc_canon_scope *s, struct gpc_buf *to)
{
	const char *const words[] = {s->region, s->service, s->end};

	gpc_buf_add(to, s->time, 8);
	for (size_t i = 0; i < 3; i++) {
		gpc_buf_addc(to, '/');
		gpc_buf_adds(to, words[i]);
	}
}

static void add_text(struct gpc_sha256 *h, const struct gpc_canon_scope *s,
	const struct gpc_buf *canonical, struct gpc_buf *to)
{
	char hex[GPC_SHA256_HEX];

	gpc_sha256_add(h, gpc_buf_str(canonical), canonical->len);
	gpc_sha256_end_hex(h, hex);
	gpc_buf_adds(to, s->algorithm);
	gpc_buf_addc(to, '\n');
	gpc_buf_adds(to, s->time);
	gpc_buf_addc(to, '\n');
	gpc_canon_scope(s, to);
	gpc_buf_addc(to, '\n');
	gpc_buf_adds(to, hex);
}

void gpc_canon_to_sign(const struct gpc_canon_scope *s,
	const struct gpc_buf *canonical, struct gpc_buf *to)
{
	gpc_autoptr(gpc_sha256) *h = gpc_sha256_new();

	add_text(h, s, canonical, to);
}

void gpc_canon_mac(const struct gpc_canon_scope *s, const char *prefix,
	const char *secret, const struct gpc_buf *canonical,
	char ret_hex[GPC_CANON_HEX])
{
	const char *const words[] = {s->region, s->service, s->end};
	gpc_autoptr(gpc_sha256) *h = gpc_sha256_new();
	gpc_auto(gpc_buf) struct gpc_buf text = {0};
	gpc_autostr *first = gpc_format("%s%s", prefix, secret);
	uint8_t key[GPC_SHA256_SIZE];

	add_text(h, s, canonical, &text);
	gpc_sha256_hmac(h, first, strlen(first), s->time, 8, key);
	for (size_t i = 0; i < 3; i++)
		gpc_sha256_hmac(h, key, sizeof(key), words[i], strlen(words[i]),
			key);
	gpc_sha256_hmac(h, key, sizeof(key), gpc_buf_str(&text), text.len, key);
	gpc_hex(key, sizeof(key), ret_hex);
	gpc_wipe_str(first);
}
