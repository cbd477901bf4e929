/* See location.h. */
#define _XOPEN_SOURCE 700               /* realpath */
#include "transfer/location.h"

#include <stdlib.h>
#include <string.h>

#include "base/encode.h"
#include "base/path.h"
#include "base/str.h"

/* --- reading ----------------------------------------------------------------- */

/* "SCHEME://" at the start, as RFC 3986 has it: its length, or 0. */
static size_t scheme_of(const char *word)
{
	size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789+.-");

	return n && gpc_starts_with(word + n, "://") ? n + 3 : 0;
}

/* file:///PATH, percent-encoded as in every other file URL. */
static int read_file_url(const char *word, char **ret_path,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf path = {0};
	const char *rest = word + strlen("file://");

	if (gpc_starts_with(rest, "localhost/"))
		rest += strlen("localhost");
	if (*rest != '/' || gpc_percent_decode(rest, strlen(rest), false, &path,
		NULL) < 0)
		return gpc_fail(err, GPC_EUSAGE, "%.200s: expected file:///PATH, "
			"percent-encoded", word);
	return gpc_buf_finish(&path, ret_path, err);
}

static int fail_scheme(const char *word, struct gpc_error *err)
{
	gpc_autostr *shown = gpc_str_printable(word, strlen(word));
	int r = gpc_fail(err, GPC_EUSAGE, "%.300s: not a URL that can be used "
		"here", shown);

	gpc_hint(err, "known: s3://, oss://, gs:// and file:///PATH; a file of "
		"such a name is ./%.100s", shown);
	return r;
}

int gpc_location_open(const char *word, struct gpc_net *net,
	const struct gpc_log *log, const struct gpc_cancel *cancel,
	struct gpc_location *ret_l, struct gpc_error *err)
{
	gpc_auto(gpc_location) struct gpc_location l = {0};
	int r = 0;

	if (!*word)
		return gpc_fail(err, GPC_EUSAGE, "an empty word names nothing");
	l.word = gpc_strdup(word);
	if (gpc_objects_is_url(word))
		r = gpc_objects_open(word, net, log, cancel, &l.objects, &l.key,
			err);
	else if (gpc_starts_with(word, "file://"))
		r = read_file_url(word, &l.path, err);
	else if (scheme_of(word) || gpc_store_lacks_slashes(word))
		r = fail_scheme(word, err);
	else
		l.path = gpc_strdup(word);
	if (r)
		return r;
	*ret_l = l;
	l = (struct gpc_location){0};
	return 0;
}

void gpc_location_clear(struct gpc_location *l)
{
	free(l->word);
	free(l->path);
	free(l->key);
	gpc_objects_free(l->objects);
	*l = (struct gpc_location){0};
}

/* --- folders ----------------------------------------------------------------- */

bool gpc_location_says_folder(const struct gpc_location *l)
{
	if (l->path)
		return gpc_ends_with(l->path, "/");
	return !*l->key || gpc_ends_with(l->key, "/");
}

void gpc_location_make_folder(struct gpc_location *l)
{
	char *key;

	if (l->path || gpc_location_says_folder(l))
		return;
	key = gpc_format("%s/", l->key);
	free(l->key);
	l->key = key;
}

char *gpc_location_base(const struct gpc_location *l)
{
	const char *text = l->path ? l->path : l->key;
	size_t n = strlen(text), start;

	while (n && text[n - 1] == '/')
		n--;
	start = n;
	while (start && text[start - 1] != '/')
		start--;
	return gpc_strndup(text + start, n - start);
}

char *gpc_location_at(const struct gpc_location *l, const char *below)
{
	const char *text = l->path ? l->path : l->key;

	if (!below)
		return gpc_strdup(text);
	return l->path && !gpc_ends_with(text, "/") ?
		gpc_format("%s/%s", text, below) :
		gpc_format("%s%s", text, below);
}

char *gpc_location_name(const struct gpc_location *l, const char *below)
{
	gpc_autostr *at = gpc_location_at(l, below);

	return l->path ? gpc_steal(&at) : gpc_objects_name(l->objects, at);
}

/* --- one object -------------------------------------------------------------- */

int gpc_location_fail_nothing(const struct gpc_location *l, const struct gpc_error *why,
	struct gpc_error *err)
{
	gpc_autostr *name = gpc_location_name(l, NULL);
	int r = gpc_fail(err, GPC_ENOTFOUND, "%s: nothing is there", name);

	gpc_hint(err, "`gpucloud data ls` shows what a bucket has");
	if (err && why) {
		memcpy(err->request_id, why->request_id, sizeof(err->request_id));
		err->http = why->http;
	}
	return r;
}

int gpc_location_look(const struct gpc_location *l, uint64_t *ret_size,
	int64_t *ret_modified_ms, struct gpc_error *err)
{
	struct gpc_object_info info;
	struct gpc_error refused = {0}, why = {0};
	gpc_autostr *keep = NULL;
	bool any, is_one = true;
	int r = gpc_objects_head(l->objects, l->key, &info, &keep, &why);

	if (r == -GPC_EAUTH) {
		refused = why;
		r = gpc_objects_first(l->objects, l->key, &any, &is_one, &info,
			&why);
		if (r == 0 && !is_one)
			return gpc_location_fail_nothing(l, &refused, err);
	}
	if (r == -GPC_ENOTFOUND)
		return gpc_location_fail_nothing(l, &why, err);
	if (r < 0 && err)
		*err = why;
	if (r < 0)
		return r;
	*ret_size = info.size;
	*ret_modified_ms = info.modified_ms;
	return 0;
}

/* --- two of them ------------------------------------------------------------- */

/* What follows the key in a URL: "?endpoint=..." or nothing. */
static const char *options_of(const struct gpc_location *l, const char *name)
{
	size_t n = strlen(name);

	return strncmp(l->word, name, n) == 0 && l->word[n] == '?' ?
		l->word + n : "";
}

/* The same bucket: a bucket of that name at another endpoint is another one. */
static bool same_bucket(const struct gpc_location *a,
	const struct gpc_location *b)
{
	gpc_autostr *whole_a = gpc_objects_name(a->objects, a->key);
	gpc_autostr *whole_b = gpc_objects_name(b->objects, b->key);
	gpc_autostr *name_a = gpc_objects_name(a->objects, "");
	gpc_autostr *name_b = gpc_objects_name(b->objects, "");

	return gpc_eq(name_a, name_b) && gpc_eq(options_of(a, whole_a),
		options_of(b, whole_b));
}

/* Where a path leads, of which the last parts need not be there. */
static char *real_path(const char *path)
{
	char *real = realpath(path, NULL), *full = NULL;
	gpc_autostr *dir = NULL, *real_dir = NULL;

	if (real)
		return real;
	if (gpc_path_absolute(path, &full, NULL) < 0)
		return gpc_strdup(path);
	if (gpc_eq(full, "/"))
		return full;
	dir = gpc_path_dir(full);
	real_dir = real_path(dir);
	real = gpc_path_join(real_dir, gpc_path_base(full));
	free(full);
	return real;
}

static bool overlap_here(const char *a, const char *b)
{
	gpc_autostr *real_a = real_path(a), *real_b = real_path(b);

	return gpc_path_contains(real_a, real_b) ||
		gpc_path_contains(real_b, real_a);
}

static char *folder_of(const struct gpc_location *l, const char *below)
{
	gpc_autostr *at = gpc_location_at(l, below);

	return gpc_format("%s%s", at, !*at || gpc_ends_with(at, "/") ? "" : "/");
}

bool gpc_location_overlap(const struct gpc_location *a,
	const struct gpc_location *b, const char *below)
{
	gpc_autostr *in_a = folder_of(a, NULL), *in_b = folder_of(b, below);

	if (a->path && b->path)
		return overlap_here(in_a, in_b);
	if (a->path || b->path || !same_bucket(a, b))
		return false;
	return gpc_starts_with(in_a, in_b) || gpc_starts_with(in_b, in_a);
}
