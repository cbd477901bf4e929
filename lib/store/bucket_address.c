/* The URL of a store in a bucket, taken apart strictly: a mistyped option would else
 * be a store in another place. */
#include "store/bucket_address.h"

#include <string.h>

#include "base/encode.h"
#include "base/str.h"

#define BUCKET_MIN 3
#define BUCKET_MAX 255                  /* old ones of S3; 63 since 2018 */

static int fail_option(const struct gpc_bucket_form *form, const char *name,
	const char *value, const char *want, struct gpc_error *err)
{
	gpc_autostr *shown = gpc_str_printable(value ? value : "",
		value ? strlen(value) : 0);

	return gpc_fail(err, GPC_ECONFIG, "%s://...?%s=%.100s: expected %s",
		form->scheme, name, shown, want);
}

static char *join(const char *const *words, const char *between)
{
	gpc_auto(gpc_strv) struct gpc_strv v = {0};

	for (; words && *words; words++)
		gpc_strv_add(&v, *words);
	return gpc_strv_join(&v, between);
}

int gpc_bucket_address_endpoint(struct gpc_bucket_address *a,
	const struct gpc_bucket_form *form, const char *url, const char *from,
	struct gpc_error *err)
{
	gpc_autostr *whole = gpc_format("%s%s", form->bare_hosts &&
		!strstr(url, "://") ? "https://" : "", url);
	size_t n;
	int r;

	gpc_url_clear(&a->endpoint);
	r = gpc_url_parse(whole, &a->endpoint, err);
	if (r < 0) {
		r = gpc_fail(err, GPC_ECONFIG,
			"the %s endpoint of %s is not a URL", form->scheme, from);
		gpc_hint(err, "it looks like %s", form->endpoint_like);
		return r;
	}
	n = strlen(a->endpoint.path);
	while (n && a->endpoint.path[n - 1] == '/')
		a->endpoint.path[--n] = '\0';
	gpc_pairs_clear(&a->endpoint.query);
	a->custom = true;
	return 0;
}

static int set_style(struct gpc_bucket_address *a,
	const struct gpc_bucket_form *form, const char *value,
	struct gpc_error *err)
{
	gpc_autostr *known = join(form->styles, " or ");

	for (int i = 0; form->styles[i]; i++)
		if (gpc_eq(form->styles[i], value)) {
			a->style = (enum gpc_bucket_style)(GPC_BUCKET_PATH + i);
			return 0;
		}
	return fail_option(form, "addressing", value, known, err);
}

static bool knows(const struct gpc_bucket_form *form, const char *name)
{
	for (const char *const *p = form->options; *p; p++)
		if (gpc_eq(*p, name))
			return true;
	return false;
}

static int fail_unknown(const struct gpc_bucket_form *form, const char *name,
	struct gpc_error *err)
{
	gpc_autostr *known = join(form->options, ", ");
	gpc_autostr *shown = gpc_str_printable(name, strlen(name));
	const char *near;
	size_t n = 0;
	int r = gpc_fail(err, GPC_ECONFIG, "%s://...: there is no option "
		"\"%.100s\"", form->scheme, shown);

	while (form->options[n])
		n++;
	near = gpc_nearest(name, form->options, n);
	if (near)
		gpc_hint(err, "did you mean %s?", near);
	else
		gpc_hint(err, "known: %s; of a store also journal", known);
	return r;
}

static int set_option(struct gpc_bucket_address *a,
	const struct gpc_bucket_form *form, const char *name, const char *value,
	struct gpc_error *err)
{
	if (!knows(form, name))
		return fail_unknown(form, name, err);
	if (!value || !*value)
		return fail_option(form, name, value, "a value", err);
	if (gpc_eq(name, "endpoint"))
		return gpc_bucket_address_endpoint(a, form, value,
			"the store's URL", err);
	if (gpc_eq(name, "addressing"))
		return set_style(a, form, value, err);
	gpc_set_str(gpc_eq(name, "region") ? &a->region : &a->profile, value);
	return 0;
}

static int read_options(struct gpc_bucket_address *a,
	const struct gpc_bucket_form *form, const char *query,
	struct gpc_error *err)
{
	gpc_autostr *text = gpc_format("http://x/?%s", query);
	gpc_auto(gpc_url) struct gpc_url u = {0};
	int r = gpc_url_parse(text, &u, err);

	if (r < 0)
		return gpc_fail(err, GPC_ECONFIG,
			"%s://...?%.200s is not a list of name=value",
			form->scheme, query);
	for (size_t i = 0; r == 0 && i < u.query.n; i++)
		r = set_option(a, form, u.query.v[i].key, u.query.v[i].value,
			err);
	return r;
}

static bool bucket_ok(const char *name)
{
	size_t n = strlen(name);

	if (n < BUCKET_MIN || n > BUCKET_MAX || name[0] == '.')
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") == n;
}

static int check_bucket(const struct gpc_bucket_form *form, const char *name,
	struct gpc_error *err)
{
	gpc_autostr *shown = NULL;
	int r;

	if (bucket_ok(name))
		return 0;
	shown = gpc_str_printable(name, strlen(name));
	r = gpc_fail(err, GPC_ECONFIG, "\"%.100s\" is not the name of a bucket",
		shown);
	gpc_hint(err, "write %s://BUCKET/PREFIX", form->scheme);
	return r;
}

int gpc_bucket_address_parse(const struct gpc_bucket_form *form,
	const char *where, struct gpc_bucket_address *ret_a,
	struct gpc_error *err)
{
	gpc_auto(gpc_bucket_address) struct gpc_bucket_address a = {0};
	const char *query = strchr(where, '?');
	gpc_autostr *path = query ? gpc_strndup(where, (size_t)(query - where)) :
		gpc_strdup(where);
	char *slash = strchr(path, '/');
	size_t n;
	int r;

	if (slash)
		*slash++ = '\0';
	while (slash && *slash == '/')
		slash++;
	r = check_bucket(form, path, err);
	if (r < 0)
		return r;
	a.bucket = gpc_strdup(path);
	n = slash ? strlen(slash) : 0;
	while (n && slash[n - 1] == '/')
		slash[--n] = '\0';
	a.prefix = n ? gpc_format("%s/", slash) : gpc_strdup("");
	if (query) {
		r = read_options(&a, form, query + 1, err);
		if (r < 0)
			return r;
	}
	*ret_a = a;
	memset(&a, 0, sizeof(a));
	return 0;
}

void gpc_bucket_address_clear(struct gpc_bucket_address *a)
{
	free(a->bucket);
	free(a->prefix);
	free(a->region);
	free(a->profile);
	gpc_url_clear(&a->endpoint);
	memset(a, 0, sizeof(*a));
}

void gpc_bucket_address_place(const struct gpc_bucket_address *a,
	enum gpc_bucket_style style, const char *key, struct gpc_url *u)
{
	gpc_auto(gpc_buf) struct gpc_buf path = {0};

	if (!gpc_eq(u->path, "/"))
		gpc_buf_adds(&path, u->path);
	if (style == GPC_BUCKET_PATH) {
		gpc_buf_addc(&path, '/');
		gpc_percent_encode(&path, a->bucket, strlen(a->bucket), "");
	} else if (style == GPC_BUCKET_VIRTUAL) {
		char *host = gpc_format("%s.%s", a->bucket, u->host);

		free(u->host);
		u->host = host;
	}
	if (key || style != GPC_BUCKET_PATH)
		gpc_buf_addc(&path, '/');
	if (key)
		gpc_percent_encode(&path, key, strlen(key), "/");
	gpc_set_str(&u->path, gpc_buf_str(&path));
}
