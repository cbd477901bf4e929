/* See metadata.h. */
#include "creds/metadata.h"

#include <string.h>

#include "creds/token.h"

#define TOKEN_SECONDS "21600"

void gpc_metadata_clear(struct gpc_metadata *m)
{
	free(m->base);
	gpc_pairs_wipe(&m->headers);
	memset(m, 0, sizeof(*m));
}

bool gpc_metadata_is_disabled(const struct gpc_creds_look *look,
	const char *variable)
{
	if (gpc_creds_env_true(variable)) {
		gpc_creds_saw(look, "%s is set", variable);
		return true;
	}
	if (!atomic_load(look->no_metadata) || look->renew)
		return false;
	gpc_creds_saw(look, "instance metadata does not answer");
	return true;
}

int gpc_metadata_ask(struct gpc_metadata *m, const char *method,
	const char *path, struct gpc_reply *ret_reply, struct gpc_error *err)
{
	gpc_autostr *url = gpc_format("%s%s", m->base, path);
	const struct gpc_fetch f = {
		.what = "instance metadata", .method = method, .url = url,
		.headers = &m->headers, .timeout_ms = m->timeout_ms,
		.max_tries = m->tries, .direct = true,
	};
	int r = gpc_fetch(m->look->net, &f, ret_reply, err);

	gpc_buf_str(&ret_reply->body);
	return r;
}

int gpc_metadata_open(struct gpc_metadata *m, bool *ret_answered,
	struct gpc_error *err)
{
	gpc_autostr *lifetime = gpc_format("%s-ttl-seconds", m->token_header);
	struct gpc_reply reply = {0};
	int r;

	gpc_pairs_set(&m->headers, lifetime, TOKEN_SECONDS);
	r = gpc_metadata_ask(m, "PUT", "/latest/api/token", &reply, err);
	gpc_pairs_unset(&m->headers, lifetime);
	*ret_answered = r == 0;
	if (!r)
		r = gpc_token_check("the token of instance metadata",
			reply.body.data, err);
	if (!r)
		gpc_pairs_set(&m->headers, m->token_header, reply.body.data);
	gpc_fetch_forget(&reply);
	return r;
}

bool gpc_metadata_is_absent(int r, const struct gpc_error *err)
{
	return (r == -GPC_ENET || r == -GPC_ETIMEOUT) && !err->http;
}

int gpc_metadata_say_absent(struct gpc_metadata *m)
{
	atomic_store(m->look->no_metadata, true);
	gpc_creds_saw(m->look, "instance metadata at %s does not answer",
		m->base);
	return 0;
}
