/* Refusals of object stores, in the words of our errors. Texts of servers are made
 * printable and cut. */
#include "store/bucket_error.h"

#include <stdio.h>
#include <string.h>

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

	if (!*word) {
		free(word);
		word = gpc_format("the server answers %d", reply->status);
	}
	gpc_fail(err, k->as, "%s in bucket %s: %.64s%s%.300s%s%.64s", how->what,
		how->bucket, word, *shown ? ": " : "", shown,
		*action ? " It needs the permission " : "", action);
	if (!hint && reply->status >= 300 && reply->status < 400)
		hint = "redirects are not followed: check the endpoint, and "
			"what stands between";
	if (!hint && k->as == GPC_EAUTH)
		hint = how->hint_keys;
	if (hint)
		gpc_hint(err, "%s", hint);
	return k->verdict;
}
