/* Identities as values: what holds secrets is wiped when it goes, and whatever
 * comes from outside is checked before it can reach a header. */
#include "creds/identity.h"

#include <string.h>

#include "base/str.h"
#include "creds/backend.h"

#define MAX_SECRET ((size_t)16 << 10)

static void drop(char **secret)
{
	gpc_wipe_str(*secret);
	free(*secret);
	*secret = NULL;
}

void gpc_identity_clear(struct gpc_identity *i)
{
	drop(&i->id);
	drop(&i->secret);
	drop(&i->token);
	drop(&i->bearer);
	free(i->source);
	free(i->account);
	free(i->name);
	free(i->quota_project);
	free(i->region);
	*i = (struct gpc_identity){0};
}

void gpc_identity_copy(struct gpc_identity *to, const struct gpc_identity *from)
{
	struct gpc_identity new = {
		.id = gpc_strdup(from->id),
		.secret = gpc_strdup(from->secret),
		.token = gpc_strdup(from->token),
		.bearer = gpc_strdup(from->bearer),
		.expires_ms = from->expires_ms,
		.source = gpc_strdup(from->source),
		.account = gpc_strdup(from->account),
		.name = gpc_strdup(from->name),
		.quota_project = gpc_strdup(from->quota_project),
		.region = gpc_strdup(from->region),
	};

	gpc_identity_clear(to);
	*to = new;
}

void gpc_creds_found_clear(struct gpc_creds_found *f)
{
	gpc_identity_clear(&f->identity);
	f->keeps = false;
}

int gpc_identity_check(const char *what, const char *value,
	struct gpc_error *err)
{
	size_t n = strnlen(value, MAX_SECRET + 1);

	if (n > MAX_SECRET)
		return gpc_fail(err, GPC_EPROTO, "%s is longer than %zu bytes",
			what, MAX_SECRET);
	for (size_t i = 0; i < n; i++)
		if (value[i] <= ' ' || value[i] > '~')
			return gpc_fail(err, GPC_EPROTO, "%s holds a space, a "
				"control character or something that is not "
				"ASCII", what);
	return 0;
}

int gpc_identity_time(const char *text, int64_t *ret_ms, struct gpc_error *err)
{
	size_t n = text ? strlen(text) : 0;
	gpc_autostr *zulu = NULL;
	int64_t ms;
	int r;

	if (n > 3 && n < 40 && strcmp(text + n - 3, "UTC") == 0)
		zulu = gpc_format("%.*sZ", (int)n - 3, text);
	r = gpc_parse_rfc3339(zulu ? zulu : text, &ms, err);
	if (!r && ms <= 0)      /* 0 says that there is no end */
		r = gpc_fail(err, GPC_EPROTO, "a time before 1970");
	if (!r)
		*ret_ms = ms;
	return r;
}

char *gpc_identity_time_text(int64_t ms, char out[GPC_RFC3339_SIZE])
{
	char *dot;

	gpc_format_rfc3339(ms, out);
	dot = strchr(out, '.');
	if (dot)
		memcpy(dot, "Z", 2);
	return out;
}

static int take(const struct gpc_json *j, const char *name, bool required,
	char **slot, struct gpc_error *err)
{
	const char *text = name ? gpc_json_get_str(j, name) : NULL;
	int r;

	if (!name)
		return 0;
	if (!text || !*text)
		return required ? gpc_fail(err, GPC_EPROTO, "%s is missing",
			name) : 0;
	r = gpc_identity_check(name, text, err);
	if (r)
		return r;
	drop(slot);
	*slot = gpc_strdup(text);
	return 0;
}

static int take_end(const struct gpc_json *j,
	const struct gpc_identity_names *names, int64_t now_ms,
	struct gpc_identity *i, struct gpc_error *err)
{
	const struct gpc_json *at = names->expires_at ?
		gpc_json_get(j, names->expires_at) : NULL;
	int64_t in = names->expires_in ?
		gpc_json_get_int(j, names->expires_in, 0) : 0;

	if (at && gpc_json_is_number(at)) {
		i->expires_ms = gpc_json_int_or(at, 0);
		if (i->expires_ms <= 0)
			return gpc_fail(err, GPC_EPROTO, "%s is no time",
				names->expires_at);
		return 0;
	}
	if (at && !gpc_json_is_null(at))
		return gpc_wrap(err, gpc_identity_time(gpc_json_str(at),
			&i->expires_ms, err), "%s", names->expires_at);
	if (in > 0 && in < INT64_C(10) * 366 * 86400) {
		i->expires_ms = now_ms + in * 1000;
		return 0;
	}
	i->expires_ms = 0;
	if (names->lasting || (!names->expires_at && !names->expires_in))
		return 0;
	return gpc_fail(err, GPC_EPROTO, "%s is missing", names->expires_at ?
		names->expires_at : names->expires_in);
}

int gpc_identity_read(const struct gpc_json *j,
	const struct gpc_identity_names *names, int64_t now_ms,
	struct gpc_identity *i, struct gpc_error *err)
{
	const struct gpc_json *account = names->account ?
		gpc_json_get(j, names->account) : NULL;
	int r;

	if (!gpc_json_is_object(j))
		return gpc_fail(err, GPC_EPROTO, "this is no JSON object");
	r = take(j, names->id, true, &i->id, err);
	if (!r)
		r = take(j, names->secret, true, &i->secret, err);
	if (!r)
		r = take(j, names->token, !names->no_token, &i->token, err);
	if (!r)
		r = take(j, names->bearer, true, &i->bearer, err);
	if (!r)
		r = take_end(j, names, now_ms, i, err);
	if (r)
		return r;
	if (gpc_json_str(account) && *gpc_json_str(account))
		gpc_set_str(&i->account, gpc_json_str(account));
	return 0;
}

int gpc_identity_parse(char *text, size_t n,
	const struct gpc_identity_names *names, int64_t now_ms,
	struct gpc_identity *i, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_error why = {0};
	int r = gpc_json_parse(text, n, &j, &why);

	/* What the parser says may show a part of the text. */
	if (r)
		r = gpc_fail(err, GPC_EPROTO, "this is no JSON");
	else
		r = gpc_identity_read(j, names, now_ms, i, err);
	gpc_wipe(text, n);
	return r;
}

int gpc_identity_set_keys(struct gpc_identity *i, const char *id,
	const char *secret, const char *token, const char *token_name,
	const char *where, struct gpc_error *err)
{
	int r = gpc_identity_check("the access key", id, err);

	if (!r)
		r = gpc_identity_check("the secret key", secret, err);
	if (!r && token)
		r = gpc_identity_check(token_name, token, err);
	if (r) {
		gpc_wrap(err, r, "%s", where);
		return gpc_recode(err, GPC_ECONFIG);
	}
	gpc_set_str(&i->id, id);
	gpc_set_str(&i->secret, secret);
	gpc_set_str(&i->token, token);
	return 0;
}
