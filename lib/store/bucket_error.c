/* Refusals of object stores, in the words of our errors. Texts of servers are made
 * printable and cut. */
#include "store/bucket_error.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

static const struct gpc_bucket_known by_status[] = {
	{"401", GPC_NET_RENEW, GPC_EAUTH, NULL},
	{"403", GPC_NET_FAILED, GPC_EAUTH, NULL},
	{"404", GPC_NET_FAILED, GPC_ENOTFOUND, NULL},
	{"408", GPC_NET_RETRY, GPC_ETIMEOUT, NULL},
	{"409", GPC_NET_RETRY, GPC_ENET, NULL},
	{"410", GPC_NET_FAILED, GPC_ENOTFOUND, NULL},
	{"412", GPC_NET_FAILED, GPC_ECONFLICT, NULL},
	{"416", GPC_NET_FAILED, GPC_EPROTO, NULL},
	{"429", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"500", GPC_NET_RETRY, GPC_ENET, NULL},
	{"501", GPC_NET_FAILED, GPC_EUNSUPPORTED, NULL},
	{"502", GPC_NET_RETRY, GPC_ENET, NULL},
	{"503", GPC_NET_THROTTLED, GPC_ERATE, NULL},
	{"504", GPC_NET_RETRY, GPC_ETIMEOUT, NULL},
};
static const struct gpc_bucket_known unknown = {"", GPC_NET_FAILED, GPC_EPROTO,
	NULL};

static const struct gpc_bucket_known *find(const struct gpc_bucket_known *table,
	size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (gpc_eq(table[i].code, word))
			return &table[i];
	return NULL;
}

static const struct gpc_bucket_known *classify(
	const struct gpc_bucket_refusal *how, int status)
{
	const struct gpc_bucket_known *k = find(how->known, how->n_known,
		how->code);
	char word[12];

	if (k)
		return k;
	snprintf(word, sizeof(word), "%d", status);
	k = find(by_status, sizeof(by_status) / sizeof(*by_status), word);
	return k ? k : &unknown;
}

static bool begins_nocase(const char *text, const char *word)
{
	return strncasecmp(text, word, strlen(word)) == 0;
}

bool gpc_bucket_is_page(const struct gpc_reply *reply)
{
	const char *type = gpc_reply_header(reply, "content-type");
	const char *text = gpc_buf_str(&reply->body);

	/* an answer to HEAD has no body; stores name their requests there too */
	if (!reply->body.len)
		return reply->status >= 400 && type &&
			begins_nocase(type, "text/html") &&
			!gpc_net_request_id(reply);
	text += gpc_starts_with(text, "\xef\xbb\xbf") ? 3 : 0;
	text += strspn(text, " \t\r\n");
	return begins_nocase(text, "<!doctype html") || begins_nocase(text, "<html");
}

/* Nothing that speaks like the service answers: who then, nobody knows. Redirects have
 * their own words. */
static bool is_strange(const struct gpc_reply *reply,
	const struct gpc_bucket_refusal *how)
{
	if (*how->code || (reply->status >= 300 && reply->status < 400))
		return false;
	return gpc_bucket_is_page(reply) || (how->has_form && reply->body.len &&
		reply->status >= 400 && !gpc_net_request_id(reply));
}

#define HINT_ENDPOINT "check the endpoint (?endpoint= and the settings of the cloud's own " \
	"tools), and what stands between, such as a proxy"

/* One that says nothing of its own trouble, and asks for no login, is in the wrong
 * place. */
static enum gpc_net_verdict refuse_strange(const struct gpc_reply *reply,
	const struct gpc_bucket_refusal *how, struct gpc_error *err)
{
	bool busy = reply->status == 429 || (reply->status >= 500 &&
		reply->status != 501);
	const struct gpc_bucket_known *k = busy || reply->status == 401 ?
		classify(how, reply->status) : NULL;

	gpc_fail(err, k ? k->as : GPC_ECONFIG, "%s in bucket %s: the server answers "
		"%d%s, as no object store does", how->what, how->bucket,
		reply->status, gpc_bucket_is_page(reply) ? " with a web page" : "");
	if (busy)
		gpc_hint(err, "what stands before the object store has trouble of its "
			"own: try again later, or check the endpoint");
	else
		gpc_hint(err, "%s%s" HINT_ENDPOINT, k ? how->hint_keys : "",
			k ? "; " : "");
	return k ? k->verdict : GPC_NET_FAILED;
}

enum gpc_net_verdict gpc_bucket_refuse(const struct gpc_reply *reply,
	const struct gpc_bucket_refusal *how, struct gpc_error *err)
{
	bool good = reply->status >= 200 && reply->status < 300;
	/* an error that came with 200 is one of the server's own */
	const struct gpc_bucket_known *k = classify(how,
		good ? 500 : reply->status);
	gpc_autostr *shown = gpc_str_printable(how->message,
		strlen(how->message));
	gpc_autostr *word = gpc_str_printable(how->code, strlen(how->code));
	gpc_autostr *action = how->action ? gpc_str_printable(how->action,
		strlen(how->action)) : gpc_strdup("");
	const char *hint = k->hint;
	bool redirect = !hint && reply->status >= 300 && reply->status < 400;

	if (is_strange(reply, how))
		return refuse_strange(reply, how, err);
	if (!*word) {
		free(word);
		word = gpc_format("the server answers %d", reply->status);
	}
	gpc_fail(err, redirect ? GPC_ECONFIG : k->as,
		"%s in bucket %s: %.64s%s%.300s%s%.64s", how->what, how->bucket, word, *shown ? ": " : "", shown,
		*action ? " It needs the permission " : "", action);
	if (redirect)
		hint = "redirects are not followed: check the endpoint, and "
			"what stands between";
	if (!hint && k->as == GPC_EAUTH)
		hint = how->hint_keys;
	if (hint)
		gpc_hint(err, "%s", hint);
	return k->verdict;
}
