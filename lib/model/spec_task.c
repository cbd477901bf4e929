/* Fields of a task with forms of their own: workdir, envs and secrets,
 * file_mounts, artifacts, metrics and version numbers. */
#include <ctype.h>
#include <regex.h>
#include <string.h>

#include "base/vec.h"
#include "model/spec_read.h"

#define N(a) (sizeof(a) / sizeof(*(a)))
#define MAX_REGEX 4096
#define MAX_GROUPS 100
#define MAX_REPEATS 1000

/* --- workdir: the slot is the whole spec ------------------------------------------ */

static int read_workdir(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	const char *text = gpc_spec_text(node);
	struct gpc_spec *spec = slot;
	struct gpc_spec_git git = {0};
	int e;

	if (node->kind == GPC_YAML_MAP) {
		e = gpc_spec_read_section(r, "workdir", node, &git);
		if (!e && spec) {
			gpc_kind_workdir.clear(f, spec);
			spec->workdir_git = git;
		} else {
			gpc_spec_clear_section("workdir", &git);
		}
		return e;
	}
	if (!text)
		return gpc_spec_expected(r, f, node, "a path, or {url, ref}");
	if (spec) {
		gpc_kind_workdir.clear(f, spec);
		spec->workdir = *text ? gpc_strdup(text) : NULL;
	}
	return 0;
}

static struct gpc_json *write_workdir(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct gpc_spec *spec = slot;
	struct gpc_json *object;

	(void)f;
	if (spec->workdir)
		return gpc_json_string(spec->workdir);
	if (!spec->workdir_git.url)
		return NULL;
	object = gpc_json_object();
	gpc_spec_write_section("workdir", &spec->workdir_git, object);
	return object;
}

static void clear_workdir(const struct gpc_spec_field *f, void *slot)
{
	struct gpc_spec *spec = slot;

	(void)f;
	gpc_set_str(&spec->workdir, NULL);
	gpc_spec_clear_section("workdir", &spec->workdir_git);
}

const struct gpc_spec_kind gpc_kind_workdir = {
	read_workdir, write_workdir, clear_workdir,
};

/* --- envs and secrets --------------------------------------------------------------- */

static int read_envs(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	gpc_auto(gpc_pairs) struct gpc_pairs pairs = {0};
	int e = gpc_spec_read_pairs(r, f, node, true, true, GPC_SPEC_MAX_PAIRS,
		slot ? slot : &pairs);

	if (!e && slot)
		gpc_spec_note_names(r, f, node);
	return e;
}

static struct gpc_json *write_envs(const struct gpc_spec_field *f,
	const void *slot)
{
	(void)f;
	return gpc_spec_write_pairs(slot);
}

static void clear_envs(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	gpc_pairs_clear(slot);
}

const struct gpc_spec_kind gpc_kind_envs = {read_envs, write_envs, clear_envs};

/* Overwrites what the compiler may not think needless. */
void gpc_spec_wipe(char *s)
{
	volatile char *p = s;

	while (p && *p)
		*p++ = '\0';
}

static void clear_secrets(const struct gpc_spec_field *f, void *slot)
{
	struct gpc_spec *spec = slot;

	(void)f;
	gpc_vec_each(p, &spec->secrets)
		gpc_spec_wipe(p->value);
	gpc_pairs_clear(&spec->secrets);
}

/* The slot is the whole spec: a list of names is managed_secrets. */
static int read_secrets(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	gpc_auto(gpc_pairs) struct gpc_pairs pairs = {0};
	struct gpc_spec *spec = slot;
	int e;

	if (node->kind == GPC_YAML_LIST)
		return gpc_kind_managed_secrets.read(r, f, node,
			spec ? &spec->managed_secrets : NULL);
	e = gpc_spec_read_pairs(r, f, node, true, true, GPC_SPEC_MAX_PAIRS, &pairs);
	if (e || !spec)
		return e;
	gpc_spec_note_names(r, f, node);
	clear_secrets(f, spec);
	spec->secrets = pairs;
	pairs = (struct gpc_pairs){0};
	return 0;
}

static struct gpc_json *write_secrets(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct gpc_spec *spec = slot;
	struct gpc_json *object;

	(void)f;
	if (!spec->secrets.n)
		return NULL;
	object = gpc_json_object();
	gpc_vec_each(p, &spec->secrets)
		gpc_json_set(object, p->key, gpc_json_null());
	return object;
}

const struct gpc_spec_kind gpc_kind_secrets = {
	read_secrets, write_secrets, clear_secrets,
};

/* --- file_mounts ------------------------------------------------------------------------ */

struct mounts { struct gpc_spec_mount *v; size_t n, cap; };

static void clear_mount(struct gpc_spec_mount *m)
{
	gpc_spec_clear_section("mount", m);
	free(m->target);
	free(m->source);
	*m = (struct gpc_spec_mount){0};
}

static void mounts_clear(struct mounts *m)
{
	for (size_t i = 0; i < m->n; i++)
		clear_mount(&m->v[i]);
	gpc_vec_free(m);
}
GPC_CLEANUP_VALUE(mounts);

/* "s3" of s3://bucket; NULL for paths. Owned. */
static char *scheme_of(const char *source)
{
	const char *end = strstr(source, "://");

	if (!end || end == source)
		return NULL;
	for (const char *s = source; s < end; s++) {
		if (!isalnum((unsigned char)*s) && *s != '+' && *s != '-')
			return NULL;
	}
	return gpc_strndup(source, (size_t)(end - source));
}

bool gpc_spec_source_is_local(const char *source)
{
	gpc_autostr *scheme = scheme_of(source);

	return !scheme || gpc_eq(scheme, "file");
}

const char *gpc_spec_source_path(const char *source)
{
	return gpc_starts_with(source, "file://")
		? source + strlen("file://") : source;
}

static int check_source(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *node, const char *source)
{
	static const char *const schemes[] = {
		"file", "job", "s3", "gs", "oss", "r2", "cw", "vastdata",
		"cos", "oci", "nebius", "https",
	};
	gpc_autostr *scheme = scheme_of(source);
	const char *near;

	if (!scheme)
		return 0;
	for (size_t i = 0; i < N(schemes); i++) {
		if (gpc_eq(scheme, schemes[i]))
			return 0;
	}
	near = gpc_nearest(scheme, schemes, N(schemes));
	return gpc_spec_fail(r, node, "file_mounts: unknown kind of source "
		"'%s://'%s%s%s", scheme, near ? "; did you mean '" : "",
		near ? near : "", near ? "://'?" : "");
}

static int check_object(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *node, const struct gpc_spec_mount *m)
{
	for (size_t i = 0; i < m->sources.n; i++) {
		int e = check_source(r, gpc_yaml_get(node, "source"),
			m->sources.v[i]);

		if (e)
			return e;
		if (m->sources.n > 1 &&
		    !gpc_spec_source_is_local(m->sources.v[i]))
			return gpc_spec_fail(r, gpc_yaml_get(node, "source"),
				"file_mounts: a list of sources holds local "
				"paths only");
	}
	if (!m->sources.n && !m->name)
		return gpc_spec_fail(r, node,
			"this file_mounts entry needs 'source' or 'name'");
	if (m->type && m->mode && m->mode != GPC_SPEC_MODE_MOUNT_CACHED)
		return gpc_spec_fail(r, gpc_yaml_get(node, "type"),
			"file_mounts: type goes with mode MOUNT_CACHED only");
	return 0;
}

static int read_mount(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *key, const struct gpc_yaml_node *value,
	struct gpc_spec_mount *m)
{
	const char *text = gpc_spec_text(value);
	int e;

	if (!*key->text)
		return gpc_spec_fail(r, key, "file_mounts: an empty path");
	m->target = gpc_strdup(key->text);
	m->persistent = true;
	if (value->kind == GPC_YAML_MAP) {
		m->object = true;
		e = gpc_spec_read_section(r, "mount", value, m);
		if (!e)
			e = check_object(r, value, m);
		if (!e && m->sources.n)
			m->source = gpc_strdup(m->sources.v[0]);
		if (m->sources.n < 2)
			gpc_strv_clear(&m->sources);
		return e;
	}
	if (!text || !*text || gpc_spec_is_null(value))
		return gpc_spec_expected(r, f, value,
			"a path, a URI or a map for '%s'", key->text);
	m->source = gpc_strdup(text);
	return check_source(r, value, text);
}

static int read_mounts(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	gpc_auto(mounts) struct mounts list = {0};
	struct gpc_spec_reader inner = *r;
	int first = 0;

	if (node->kind != GPC_YAML_MAP)
		return gpc_spec_expected(r, f, node,
			"a map of node path to source");
	inner.spec = NULL;
	for (size_t i = 0; i < node->n; i++) {
		size_t before = gpc_spec_wrong(r);
		int e = read_mount(&inner, f, node->keys[i], node->items[i],
			gpc_vec_push(&list));

		if (!gpc_spec_goes_on(r, before, e, &first))
			return first;
	}
	if (first)
		return first;
	if (slot) {
		mounts_clear(slot);
		*(struct mounts *)slot = list;
		list = (struct mounts){0};
	}
	return 0;
}

static struct gpc_json *write_mount(const struct gpc_spec_mount *m)
{
	struct gpc_json *object;

	if (!m->object)
		return gpc_json_string(m->source);
	object = gpc_json_object();
	if (m->source && !m->sources.n)
		gpc_json_set_str(object, "source", m->source);
	gpc_spec_write_section("mount", m, object);
	return object;
}

static struct gpc_json *write_mounts(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct mounts *list = slot;
	struct gpc_json *object;

	(void)f;
	if (!list->n)
		return NULL;
	object = gpc_json_object();
	for (size_t i = 0; i < list->n; i++)
		gpc_json_set(object, list->v[i].target,
			write_mount(&list->v[i]));
	return object;
}

static void clear_mounts(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	mounts_clear(slot);
}

const struct gpc_spec_kind gpc_kind_mounts = {
	read_mounts, write_mounts, clear_mounts,
};

/* --- artifacts ------------------------------------------------------------------------ */

struct artifacts { struct gpc_spec_artifact *v; size_t n, cap; };

static void artifacts_clear(struct artifacts *a)
{
	for (size_t i = 0; i < a->n; i++)
		gpc_spec_clear_section("artifact", &a->v[i]);
	gpc_vec_free(a);
}
GPC_CLEANUP_VALUE(artifacts);

static int read_artifact(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *node, struct gpc_spec_artifact *a)
{
	const char *text = gpc_spec_text(node);
	int e;

	if (text && *text && !gpc_spec_is_null(node)) {
		a->path = gpc_strdup(text);
		return 0;
	}
	e = gpc_spec_read_section(r, "artifact", node, a);
	if (!e && !a->path)
		e = gpc_spec_fail(r, node, "this artifact needs 'path'");
	if (!e && a->to) {
		gpc_autostr *scheme = scheme_of(a->to);

		if (!scheme)
			e = gpc_spec_fail(r, gpc_yaml_get(node, "to"),
				"artifacts.to: expected a URL such as "
				"file:///data/out or s3://bucket/out");
	}
	return e;
}

static int read_artifacts(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	gpc_auto(artifacts) struct artifacts list = {0};
	struct gpc_spec_reader inner = *r;
	int first = 0;

	inner.spec = NULL;
	if (node->kind != GPC_YAML_LIST)
		return gpc_spec_expected(r, f, node,
			"a list such as [{path: out/model.pt}]");
	for (size_t i = 0; i < node->n; i++) {
		size_t before = gpc_spec_wrong(r);
		int e = read_artifact(&inner, node->items[i],
			gpc_vec_push(&list));

		if (!gpc_spec_goes_on(r, before, e, &first))
			return first;
	}
	if (first)
		return first;
	if (slot) {
		artifacts_clear(slot);
		*(struct artifacts *)slot = list;
		list = (struct artifacts){0};
	}
	return 0;
}

static struct gpc_json *write_artifacts(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct artifacts *list = slot;
	struct gpc_json *array;

	(void)f;
	if (!list->n)
		return NULL;
	array = gpc_json_array();
	for (size_t i = 0; i < list->n; i++) {
		struct gpc_json *object = gpc_json_object();

		gpc_spec_write_section("artifact", &list->v[i], object);
		gpc_json_add(array, object);
	}
	return array;
}

static void clear_artifacts(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	artifacts_clear(slot);
}

const struct gpc_spec_kind gpc_kind_artifacts = {
	read_artifacts, write_artifacts, clear_artifacts,
};

/* --- metrics, versions ------------------------------------------------------------------ */

/* The greatest number between { and }; 1 when it is no repetition. */
static unsigned long repeats(const char *p)
{
	unsigned long most = 1, n = 0;

	for (; isdigit((unsigned char)*p) || *p == ','; p++) {
		n = *p == ',' ? 0 : n * 10 + (unsigned long)(*p - '0');
		most = n > most ? n : most;
		if (most > MAX_REPEATS)
			break;
	}
	return most;
}

/* regcomp recurses over groups and copies what is repeated, without a bound. */
static bool is_costly(const char *text)
{
	unsigned long groups = 0, copies = 1;

	if (strlen(text) > MAX_REGEX)
		return true;
	for (const char *p = text; *p; p++) {
		/* matching a back reference takes exponential time */
		if (*p == '\\' && p[1] >= '1' && p[1] <= '9')
			return true;
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '(')
			groups++;
		else if (*p == '{')
			copies *= repeats(p + 1);
		if (groups > MAX_GROUPS || copies > MAX_REPEATS)
			return true;
	}
	return false;
}

static int check_regex(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *node, const char *name, const char *text)
{
	char why[200];
	regex_t regex;
	size_t groups;
	int e;

	if (is_costly(text))
		return gpc_spec_fail(r, node, "metrics.%s: too costly an "
			"expression: at most %d characters, %d groups and %d "
			"repetitions (nested ones multiplied), and no back "
			"reference such as \\1", name, MAX_REGEX, MAX_GROUPS,
			MAX_REPEATS);
	e = regcomp(&regex, text, REG_EXTENDED);
	if (e) {
		regerror(e, &regex, why, sizeof(why));
		return gpc_spec_fail(r, node, "metrics.%s: not a POSIX extended "
			"regular expression: %s", name, why);
	}
	groups = regex.re_nsub;
	regfree(&regex);
	if (strstr(text, "\\d") || strstr(text, "(?")) {
		gpc_spec_fail(r, node, "metrics.%s: \\d and (?...) are not part "
			"of POSIX extended regular expressions", name);
		gpc_hint(r->err, "write [0-9] and plain groups, such as "
			"loss=([0-9.]+)");
		return -GPC_ECONFIG;
	}
	if (groups)
		return 0;
	return gpc_spec_fail(r, node, "metrics.%s: expected one group around "
		"the number, such as loss=([0-9.]+)", name);
}

static int read_metrics(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	gpc_auto(gpc_pairs) struct gpc_pairs pairs = {0};
	int e = gpc_spec_read_pairs(r, f, node, false, false, 256, &pairs);

	for (size_t i = 0; i < pairs.n && !e; i++)
		e = check_regex(r, gpc_yaml_get(node, pairs.v[i].key),
			pairs.v[i].key, pairs.v[i].value);
	if (!e && slot) {
		gpc_pairs_clear(slot);
		*(struct gpc_pairs *)slot = pairs;
		pairs = (struct gpc_pairs){0};
	}
	return e;
}

const struct gpc_spec_kind gpc_kind_metrics = {
	read_metrics, write_envs, clear_envs,
};

static int read_version(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *slot)
{
	const char *text = gpc_spec_text(node);
	bool ok = text && isdigit((unsigned char)*text) &&
		!text[strspn(text, "0123456789.")] && !strstr(text, "..") &&
		!gpc_ends_with(text, ".") && strlen(text) < 32;

	if (!ok)
		return gpc_spec_expected(r, f, node, "a version such as 535.104");
	if (slot)
		gpc_set_str(slot, text);
	return 0;
}

static struct gpc_json *write_version(const struct gpc_spec_field *f,
	const void *slot)
{
	const char *text = *(char *const *)slot;

	(void)f;
	return text ? gpc_json_string(text) : NULL;
}

static void clear_version(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	gpc_set_str(slot, NULL);
}

const struct gpc_spec_kind gpc_kind_version = {
	read_version, write_version, clear_version,
};
