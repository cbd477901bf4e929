/* The metadata server of Compute Engine. What answers must say that it is it, by a
 * header, since other networks have somebody else at that address. Most machines
 * are elsewhere: that nothing answers within a second, once, is no error and is
 * remembered for this process; where the firmware says Google, it is waited for. */
#include <string.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/str.h"
#include "creds/gcp_parts.h"

#define BASE "/computeMetadata/v1/"
#define ACCOUNT "instance/service-accounts/default/"
#define FIRMWARE "/sys/class/dmi/id/product_name"

static bool is_google_machine(void)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error ignored;

	return gpc_read_file(FIRMWARE, 4096, &b, &ignored) == 0 &&
		gpc_starts_with(gpc_buf_str(&b), "Google");
}

static const char *host(void)
{
	const char *set = gpc_creds_env("GCE_METADATA_HOST");

	return set ? set : gpc_creds_env("GCE_METADATA_ROOT");
}

/* A number of a variable. */
static int number(const char *name, int otherwise, int max)
{
	const char *text = gpc_creds_env(name);
	int64_t n = otherwise;
	struct gpc_error ignored;

	return text && gpc_parse_i64(text, 1, max, name, &n, &ignored) < 0 ?
		otherwise : (int)n;
}

static int ask(const struct gpc_creds_look *look, const char *where,
	const char *path, struct gpc_reply *ret_reply, struct gpc_error *err)
{
	bool sure = host() || is_google_machine();
	gpc_auto(gpc_pairs) struct gpc_pairs headers = {0};
	gpc_autostr *url = gpc_format("http://%s%s", where, path);
	const struct gpc_fetch f = {
		.what = "the metadata server", .method = "GET", .url = url,
		.headers = &headers,
		.timeout_ms = 1000 * number("GCE_METADATA_TIMEOUT",
			sure ? 3 : 1, 60),
		.max_tries = number("GCE_METADATA_DETECT_RETRIES",
			sure ? 3 : 1, 10),
		.direct = true,
	};
	int r;

	gpc_pairs_set(&headers, "metadata-flavor", "Google");
	r = gpc_fetch(look->net, &f, ret_reply, err);
	gpc_buf_str(&ret_reply->body);
	return r;
}

static bool is_flavored(const struct gpc_reply *reply)
{
	return gpc_eq_nocase(gpc_reply_header(reply, "metadata-flavor"),
		"Google");
}

static bool is_known_absent(const struct gpc_creds_look *look)
{
	if (!atomic_load(look->no_metadata) || look->renew)
		return false;
	gpc_creds_saw(look, "no metadata server answers");
	return true;
}

static int say_absent(const struct gpc_creds_look *look, const char *why)
{
	atomic_store(look->no_metadata, true);
	gpc_creds_saw(look, "the metadata server %s", why);
	return 0;
}

/* Whether it is there. */
static bool probe(const struct gpc_creds_look *look)
{
	const char *ip = gpc_creds_env("GCE_METADATA_IP");
	const char *set = host();
	struct gpc_reply reply = {0};
	struct gpc_error why = {0};
	bool there;

	if (is_known_absent(look))
		return false;
	if (gpc_creds_env_true("NO_GCE_CHECK"))
		return true;
	there = ask(look, set ? set : ip ? ip : "169.254.169.254", "/", &reply,
		&why) == 0 && is_flavored(&reply);
	if (!there)
		say_absent(look, why.http || why.code == GPC_OK ?
			"is not Google's" : "does not answer");
	gpc_fetch_forget(&reply);
	return there;
}

static int fetch(const struct gpc_creds_look *look, const char *path,
	struct gpc_reply *reply, bool *ret_there, struct gpc_error *err)
{
	gpc_autostr *full = gpc_format(BASE "%s", path);
	const char *set = host();
	struct gpc_error why = {0};
	int r = ask(look, set ? set : "metadata.google.internal", full, reply,
		&why);

	*ret_there = r == 0 && is_flavored(reply);
	if (r == 0 && !*ret_there)
		return say_absent(look, "is not Google's");
	if (r && !why.http && (r == -GPC_ENET || r == -GPC_ETIMEOUT))
		return say_absent(look, "does not answer");
	if (why.http == 404) {
		gpc_creds_saw(look, "the metadata server has no %s", path);
		return 0;
	}
	if (r && err)
		*err = why;
	return r;
}

int gpc_gcp_metadata(const struct gpc_creds_look *look, const char *path,
	char **ret_text, struct gpc_error *err)
{
	struct gpc_reply reply = {0};
	bool there = false;
	int r = probe(look) ? fetch(look, path, &reply, &there, err) : 0;

	if (!r && there) {
		struct gpc_str text = gpc_str_trim(
			gpc_str_of(reply.body.data));

		if (text.len && text.len < 1024)
			*ret_text = gpc_str_printable(text.ptr, text.len);
	}
	gpc_fetch_forget(&reply);
	return r;
}

int gpc_gcp_from_metadata(const struct gpc_creds_look *look,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	static const struct gpc_identity_names names = {
		.bearer = "access_token", .expires_in = "expires_in",
	};
	struct gpc_identity *i = &ret_f->identity;
	struct gpc_reply reply = {0};
	struct gpc_error ignored;
	bool there = false;
	int r = probe(look) ? fetch(look, ACCOUNT "token", &reply, &there, err) :
		0;

	if (!r && there)
		r = gpc_wrap(err, gpc_identity_parse(reply.body.data,
			reply.body.len, &names, gpc_net_now_ms(look->net), i,
			err), "the metadata server");
	gpc_fetch_forget(&reply);
	if (r || !i->bearer)
		return r;
	/* Nice to have: without them the token is as good. */
	if (gpc_gcp_metadata(look, ACCOUNT "email", &i->name, &ignored) < 0)
		i->name = NULL;
	gpc_set_str(&i->source, "the metadata server");
	ret_f->keeps = true;
	return 0;
}
