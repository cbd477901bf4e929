/* Values pass through here and leave no copy behind in our own buffers. */
#include "record/secrets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/parse.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"
#include "dep/json.h"
#include "record/keys.h"

#define SECRETS_VERSION 1
#define PUT_TRIES 4
#define PAUSE_MS 100
#define SECRETS_MAX ((size_t)4 << 20)
#define FOLDER "secrets/"
#define NAME_RANDOM 8
#define NUMBER_MAX 18         /* digits that an int64_t takes whatever they are */

void gpc_secrets_wipe(char *text, size_t n)
{
	volatile char *p = text;

	for (size_t i = 0; p && i < n; i++)
		p[i] = 0;
}

int gpc_secrets_put_text(struct gpc_store *s, const char *key, char *text,
	struct gpc_error *err)
{
	int r = 0;

	/* A plain put of the same bytes may be repeated after any answer. */
	for (int i = 0; i < PUT_TRIES; i++) {
		r = gpc_store_put(s, key, text, strlen(text), 0, err);
		if (r == 0 || !gpc_code_retryable((enum gpc_code)-r))
			break;
		gpc_sleep_ms(PAUSE_MS << i);
	}
	gpc_secrets_wipe(text, strlen(text));
	return r;
}

int gpc_secrets_drop(struct gpc_store *s, const char *key,
	struct gpc_error *err)
{
	struct gpc_error why = {0};
	int r = gpc_store_del(s, key, &why);

	/* A sticky folder answers so, and only to another's. */
	if (r == -GPC_EAUTH && why.sys == EPERM)
		return 0;
	if (r < 0 && err)
		*err = why;
	return r;
}

/* --- names ---------------------------------------------------------------- */

const char *gpc_secrets_name(int64_t n, char out[GPC_SECRETS_NAME_SIZE])
{
	char tail[NAME_RANDOM + 1];

	snprintf(out, GPC_SECRETS_NAME_SIZE, "%08" PRId64 "-%s", n,
		gpc_rand_base32(tail, NAME_RANDOM));
	return out;
}

bool gpc_secrets_name_parse(const char *name, int64_t *ret_n)
{
	size_t digits = strspn(name, "0123456789");
	char number[NUMBER_MAX + 1] = "";
	const char *tail = name + digits + 1;

	if (digits == 0 || digits > NUMBER_MAX || name[digits] != '-' ||
		strlen(tail) != NAME_RANDOM || gpc_base32_span(tail) != NAME_RANDOM)
		return false;
	memcpy(number, name, digits);
	return gpc_parse_i64(number, 1, INT64_MAX, "number", ret_n, NULL) == 0;
}

char *gpc_secrets_job(const char *key, const char **ret_name)
{
	const char *job = key + strlen(FOLDER);
	const char *end = strstr(job, GPC_KEY_RESUME);

	*ret_name = end ? end + strlen(GPC_KEY_RESUME) : NULL;
	return gpc_strndup(job, end ? (size_t)(end - job) : strlen(job));
}

/* --- values --------------------------------------------------------------- */

int gpc_secrets_put(struct gpc_store *s, const char *job, const char *name,
	const struct gpc_pairs *secrets, struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = gpc_json_object();
	struct gpc_json *values = gpc_json_object();
	gpc_autostr *text = NULL;
	gpc_key key;

	gpc_vec_each(p, secrets)
		gpc_json_append(values, p->key, gpc_json_string(p->value));
	gpc_json_set_int(j, "v", SECRETS_VERSION);
	gpc_json_set(j, "secrets", values);
	if (!secrets->n)
		return 0;
	text = gpc_json_print(j);
	return gpc_wrap(err, gpc_secrets_put_text(s,
		gpc_key_secrets(key, job, name), text, err), "secrets");
}

static int take(const struct gpc_json *j, struct gpc_pairs *ret_secrets,
	struct gpc_error *err)
{
	bool first = ret_secrets->n == 0;
	const struct gpc_json *m;

	if (gpc_json_get_int(j, "v", 0) != SECRETS_VERSION)
		return gpc_fail(err, GPC_EUNSUPPORTED,
			"written by another version of gpucloud");
	for (m = gpc_json_first(gpc_json_get(j, "secrets")); m;
		m = gpc_json_next(m)) {
		if (gpc_json_str(m))
			(first ? gpc_pairs_add : gpc_pairs_set)(ret_secrets,
				gpc_json_key(m), gpc_json_str(m));
	}
	return 0;
}

int gpc_secrets_get(struct gpc_store *s, const char *job, const char *name,
	struct gpc_pairs *ret_secrets, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	int64_t n;
	gpc_key key;
	int r;

	if (name && !gpc_secrets_name_parse(name, &n))
		return gpc_fail(err, GPC_EPROTO, "secrets: the journal names "
			"them by what is no name");
	r = gpc_store_get(s, gpc_key_secrets(key, job, name), SECRETS_MAX, &b,
		err);
	if (r == 0)
		r = gpc_json_parse(b.data, b.len, &j, err);
	if (r == 0)
		r = take(j, ret_secrets, err);
	gpc_secrets_wipe(b.data, b.cap);
	return gpc_wrap(err, r, "secrets");
}

/* --- deleting ------------------------------------------------------------- */

static int note(void *arg, const struct gpc_object *o)
{
	return gpc_strv_try_add(arg, o->key) ? 0 : GPC_LIST_NO_MEMORY;
}

int gpc_secrets_drop_all(struct gpc_store *s, const char *job, int64_t n,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};
	gpc_key key;
	int r = gpc_store_list(s, gpc_key_secrets(key, job, ""), NULL, note,
		&keys, err);

	for (size_t i = 0; r == 0 && i < keys.n; i++) {
		int64_t of = n;

		if (gpc_secrets_name_parse(keys.v[i] + strlen(key), &of) &&
			of > n)
			continue;
		r = gpc_secrets_drop(s, keys.v[i], err);
	}
	return r < 0 ? r : gpc_secrets_drop(s, gpc_key_secrets(key, job, NULL),
		err);
}
