/* What goes over the wire, for -vv: method, URL, headers, sizes and times, each try
 * with a number, since many run at once. Bodies are never shown, because tokens and
 * keys come in them; of headers and queries what may be a secret is masked, by a
 * rule that rather masks too much. */
#include <inttypes.h>
#include <string.h>

#include "base/encode.h"
#include "base/parse.h"
#include "base/time.h"
#include "net/net_parts.h"

#define MASK "***"

bool gpc_net_traces(const struct gpc_net *net)
{
	return net->set.log && net->set.log->level >= GPC_TRACE;
}

bool gpc_net_is_secret(const char *name)
{
	static const char *const parts[] = {"signature", "token", "credential",
		"secret", "passw", "passphrase", "pwd", "auth", "cookie",
		"accesskey", "access-key", "access_key", "customer-key",
		"apikey", "api-key", "api_key", "jwt", "private"};
	/* Of Google: API keys, grants, and uploads that need nothing else. */
	static const char *const words[] = {"key", "sig", "code", "assertion",
		"upload_id"};
	gpc_autostr *lower = gpc_strdup(name);

	for (char *p = lower; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(lower, parts[i]))
			return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (gpc_eq(lower, words[i]))
			return true;
	return false;
}

char *gpc_net_name(const struct gpc_net_task *t)
{
	const struct gpc_request *r = t->request.url.host ? &t->request :
		t->call.request;
	gpc_autostr *host = gpc_url_host(&r->url);

	return gpc_format("%s %s", r->method, host);
}

static char *masked_url(const struct gpc_url *u, bool all)
{
	gpc_auto(gpc_pairs) struct gpc_pairs none = {0};
	char hidden[] = "/" MASK;
	struct gpc_url bare = *u;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	char *text = NULL;

	bare.query = none;
	if (all && !gpc_eq(u->path, "/"))
		bare.path = hidden;
	gpc_url_format(&bare, &b);
	for (size_t i = 0; i < u->query.n; i++) {
		const struct gpc_pair *p = &u->query.v[i];

		gpc_buf_addc(&b, i > 0 ? '&' : '?');
		gpc_percent_encode(&b, p->key, strlen(p->key), "");
		if (!p->value)
			continue;
		gpc_buf_addc(&b, '=');
		if (all || gpc_net_is_secret(p->key))
			gpc_buf_adds(&b, MASK);
		else
			gpc_percent_encode(&b, p->value, strlen(p->value),
				"/:,;");
	}
	return gpc_buf_finish(&b, &text, NULL) == 0 ? text : gpc_strdup("?");
}

static void trace_header(const struct gpc_log *log, uint64_t number,
	char direction, bool hushed, const struct gpc_pair *p)
{
	const char *value = p->value ? p->value : "";
	/* A place to go to may hold a signature. */
	size_t shown = strstr(value, "://") ? strcspn(value, "?") :
		strlen(value);

	if (hushed || gpc_net_is_secret(p->key))
		gpc_log(log, GPC_TRACE, "[%" PRIu64 "] %c %s: " MASK, number,
			direction, p->key);
	else
		gpc_log(log, GPC_TRACE, "[%" PRIu64 "] %c %s: %.*s%s", number,
			direction, p->key, (int)shown, value,
			value[shown] ? "?" MASK : "");
}

void gpc_net_trace_request(const struct gpc_net_task *t)
{
	const struct gpc_net *net = t->loop->net;
	const struct gpc_log *log = net->set.log;
	gpc_autostr *url = NULL;

	if (!gpc_net_traces(net))
		return;
	url = masked_url(&t->request.url, t->call.hushed);
	gpc_log(log, GPC_TRACE, "[%" PRIu64 "] > %s %s (try %d)", t->number,
		t->request.method, url, t->tries);
	for (size_t i = 0; i < t->request.headers.n; i++)
		trace_header(log, t->number, '>', t->call.hushed,
			&t->request.headers.v[i]);
	if (t->request.body.size > 0)
		gpc_log(log, GPC_TRACE, "[%" PRIu64 "] > %" PRIu64 " bytes",
			t->number, t->request.body.size);
}

void gpc_net_trace_reply(const struct gpc_net_task *t, int r,
	const struct gpc_error *err)
{
	const struct gpc_net *net = t->loop->net;
	const struct gpc_log *log = net->set.log;
	const char *id = gpc_net_request_id(&t->reply);
	int64_t ms = gpc_boot_ms() - t->began_ms;

	if (!gpc_net_traces(net))
		return;
	if (r != 0)
		gpc_log(log, GPC_TRACE, "[%" PRIu64 "] < failed after %" PRId64
			" ms: %s", t->number, ms, err->msg);
	if (t->reply.status == 0)
		return;
	gpc_log(log, GPC_TRACE, "[%" PRIu64 "] < %d after %" PRId64 " ms, %"
		PRIu64 " bytes%s%s", t->number, t->reply.status, ms,
		t->x.received, id ? ", request id " : "", id ? id : "");
	for (size_t i = 0; i < t->reply.headers.n; i++)
		trace_header(log, t->number, '<', false,
			&t->reply.headers.v[i]);
}
