/* From what was written to what runs: values that must be given, substitution
 * of $V and ${V} where SkyPilot does it, absolute local paths, the job's name,
 * defaults, and checks across fields. Doing it twice changes nothing.
 *
 * Substitution is textual in workdir, file_mounts and service only. setup and
 * run get the same variables as environment, where the shell expands them: a
 * textual replacement there would also touch variables that scripts set. */
#include <ctype.h>
#include <signal.h>
#include <string.h>

#include "base/path.h"
#include "base/vec.h"
#include "model/job.h"
#include "model/spec_read.h"

struct resolver {
	struct gpc_spec *spec;
	const struct gpc_spec_host *host;
	struct gpc_strv *warnings;
	struct gpc_error *err;
	struct gpc_map envs;       /* for substitution */
	size_t made;               /* bytes that it made so far */
};

static gpc_printf(3, 4) int fail(struct resolver *r, const char *field,
	const char *fmt, ...)
{
	gpc_autostr *where = gpc_spec_where(r->spec, field), *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = gpc_vformat(fmt, ap);
	va_end(ap);
	return gpc_fail(r->err, GPC_ECONFIG, "%s: %s", where, text);
}

/* --- envs and secrets ------------------------------------------------------------ */

/* The same at the place of one name of envs or secrets. */
static gpc_printf(4, 5) int fail_name(struct resolver *r, const char *section,
	const char *name, const char *fmt, ...)
{
	gpc_autostr *field = gpc_format("%s.%s", section, name), *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = gpc_vformat(fmt, ap);
	va_end(ap);
	return fail(r, field, "%s", text);
}

static const char *look_up(const struct resolver *r, const char *name)
{
	return r->host && r->host->lookup
		? r->host->lookup(name, r->host->arg) : NULL;
}

static void fill(struct resolver *r, struct gpc_pairs *pairs,
	struct gpc_strv *missing)
{
	gpc_vec_each(p, pairs) {
		if (!p->value)
			p->value = gpc_strdup(look_up(r, p->key));
		if (!p->value)
			gpc_strv_add(missing, p->key);
	}
}

/* What is wrong is noted, and the next one looked at. */
static void note(struct resolver *r, struct gpc_errors *found, int e)
{
	if (e)
		gpc_errors_add(found, r->err);
}

/* env:NAME and file:PATH. */
static int read_reference(struct resolver *r, struct gpc_pair *p)
{
	char *text = NULL;
	size_t n;
	int e;

	if (gpc_starts_with(p->value, "env:")) {
		text = gpc_strdup(look_up(r, p->value + 4));
		if (!text)
			return fail_name(r, "secrets", p->key, "secrets.%s: %s "
				"is not set in your environment", p->key,
				p->value + 4);
	} else if (gpc_starts_with(p->value, "file:")) {
		if (!r->host || !r->host->read_file)
			return fail_name(r, "secrets", p->key, "secrets.%s: "
				"files cannot be read here", p->key);
		e = r->host->read_file(p->value + 5, &text, r->host->arg,
			r->err);
		if (e)
			return gpc_wrap(r->err, e, "secrets.%s", p->key);
		n = strlen(text);
		if (n && text[n - 1] == '\n')
			text[n - 1] = '\0';
	} else {
		return 0;
	}
	gpc_spec_wipe(p->value);
	free(p->value);
	p->value = text;
	return 0;
}

static int check_docker_login(struct resolver *r, const char *section,
	const struct gpc_pairs *pairs)
{
	static const char *const names[] = {
		"SKYPILOT_DOCKER_USERNAME", "SKYPILOT_DOCKER_PASSWORD",
		"SKYPILOT_DOCKER_SERVER",
	};
	int n = 0;

	for (size_t i = 0; i < 3; i++)
		n += gpc_pairs_has(pairs, names[i]);
	if (n == 0 || n == 3)
		return 0;
	return fail(r, section, "%s: SKYPILOT_DOCKER_USERNAME, _PASSWORD and "
		"_SERVER belong together", section);
}

static int fail_missing(struct resolver *r, const struct gpc_strv *envs,
	const struct gpc_strv *secrets)
{
	gpc_autostr *a = gpc_strv_join(envs, ", ");
	gpc_autostr *b = gpc_strv_join(secrets, ", ");

	fail_name(r, envs->n ? "envs" : "secrets", envs->n ? envs->v[0] :
		secrets->v[0], "no value for %s%s%s%s%s",
		envs->n ? "envs " : "", a, envs->n && secrets->n ? " and " : "",
		secrets->n ? "secrets " : "", b);
	if (envs->n)
		gpc_hint(r->err, "give --env %s=VALUE, or set it and give --env "
			"%s%s", envs->v[0], envs->v[0], secrets->n
			? "; secrets the same way with --secret" : "");
	else
		gpc_hint(r->err, "set it in your environment, or give --secret "
			"%s=@FILE", secrets->v[0]);
	return -GPC_ECONFIG;
}

static int check_names(struct resolver *r)
{
	struct gpc_spec *spec = r->spec;

	gpc_vec_each(p, &spec->envs) {
		if (gpc_pairs_has(&spec->secrets, p->key))
			return fail_name(r, "secrets", p->key, "%s stands under "
				"envs and under secrets", p->key);
		if (gpc_starts_with(p->key, "GPUCLOUD_") && r->warnings)
			gpc_strv_addf(r->warnings, "%s: envs.%s may be replaced: "
				"names that begin with GPUCLOUD_ are set for the "
				"job", spec->source ? spec->source : "spec",
				p->key);
	}
	return 0;
}

static void resolve_values(struct resolver *r, struct gpc_errors *found)
{
	gpc_auto(gpc_strv) struct gpc_strv envs = {0}, secrets = {0};
	struct gpc_spec *spec = r->spec;

	note(r, found, check_names(r));
	fill(r, &spec->envs, &envs);
	fill(r, &spec->secrets, &secrets);
	if (envs.n || secrets.n)
		note(r, found, fail_missing(r, &envs, &secrets));
	gpc_vec_each(p, &spec->secrets) {
		if (p->value)
			note(r, found, read_reference(r, p));
	}
	note(r, found, check_docker_login(r, "envs", &spec->envs));
	note(r, found, check_docker_login(r, "secrets", &spec->secrets));
}

/* --- $V and ${V} -------------------------------------------------------------------- */

static size_t name_length(const char *s)
{
	size_t n = 0;

	if (!isalpha((unsigned char)*s) && *s != '_')
		return 0;
	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n;
}

/* The value of the variable at s, which points at `$`; NULL when it is none of
 * ours, and then the text stays as it is. */
static const char *variable_at(const struct gpc_map *envs, const char *s,
	size_t *ret_length)
{
	bool brace = s[1] == '{';
	size_t n = name_length(s + 1 + brace);
	gpc_autostr *name = NULL;

	if (!n || (brace && s[2 + n] != '}'))
		return NULL;
	name = gpc_strndup(s + 1 + brace, n);
	*ret_length = 1 + n + (brace ? 2 : 0);
	return gpc_map_get(envs, name);
}

static int substitute(struct resolver *r, char **text)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	char *done = NULL;
	int e;

	if (!*text || !strchr(*text, '$'))
		return 0;
	gpc_buf_init(&b, GPC_SPEC_MAX_COPIED + 1 - r->made);
	for (const char *s = *text; *s && !b.overflow;) {
		size_t n = 1;
		const char *value = *s == '$'
			? variable_at(&r->envs, s, &n) : NULL;

		if (value)
			gpc_buf_adds(&b, value);
		else
			gpc_buf_addc(&b, *s);
		s += value ? n : 1;
	}
	r->made += b.len;
	e = gpc_buf_finish(&b, &done, r->err);
	if (e)
		return fail(r, "envs", "envs: the spec is larger than %zu MiB "
			"with their values put in", GPC_SPEC_MAX_COPIED >> 20);
	free(*text);
	*text = done ? done : gpc_strdup("");
	return 0;
}

static int substitute_json(struct resolver *r, const struct gpc_json *j,
	struct gpc_json **ret_j)
{
	gpc_autoptr(gpc_json) *copy = NULL;
	gpc_autostr *text = NULL;
	bool object = gpc_json_is_object(j);
	int e;

	if (gpc_json_is_string(j)) {
		text = gpc_strdup(gpc_json_str(j));
		e = substitute(r, &text);
		if (!e)
			*ret_j = gpc_json_string(text);
		return e;
	}
	if (!object && !gpc_json_is_array(j)) {
		*ret_j = gpc_json_copy(j);
		return 0;
	}
	copy = object ? gpc_json_object() : gpc_json_array();
	for (const struct gpc_json *m = gpc_json_first(j); m;
	     m = gpc_json_next(m)) {
		struct gpc_json *value = NULL;

		e = substitute_json(r, m, &value);
		if (e)
			return e;
		if (object)
			gpc_json_append(copy, gpc_json_key(m), value);
		else
			gpc_json_add(copy, value);
	}
	*ret_j = gpc_steal(&copy);
	return 0;
}

static int substitute_all(struct resolver *r)
{
	struct gpc_json *service = NULL;
	int e;

	gpc_vec_each(p, &r->spec->envs) {
		if (p->value)
			gpc_map_set(&r->envs, p->key, p->value);
	}
	e = substitute(r, &r->spec->workdir);
	if (!e)
		e = substitute(r, &r->spec->workdir_git.url);
	if (!e)
		e = substitute(r, &r->spec->workdir_git.ref);

	gpc_vec_each(m, &r->spec->file_mounts) {
		if (!e)
			e = substitute(r, &m->target);
		if (!e)
			e = substitute(r, &m->source);
		if (!e)
			e = substitute(r, &m->name);
		for (size_t i = 0; i < m->sources.n && !e; i++)
			e = substitute(r, &m->sources.v[i]);
	}
	if (e || !r->spec->service)
		return e;
	e = substitute_json(r, r->spec->service, &service);
	if (e)
		return e;
	gpc_json_free(r->spec->service);
	r->spec->service = service;
	return 0;
}

/* --- paths -------------------------------------------------------------------------- */

static int to_absolute(struct resolver *r, const char *field, char **path)
{
	const char *home = r->host ? r->host->home : NULL;
	const char *cwd = r->host ? r->host->cwd : NULL;
	gpc_autostr *joined = NULL;
	char *clean = NULL;
	int e;

	if (**path == '~' && ((*path)[1] == '/' || !(*path)[1])) {
		if (!home)
			return fail(r, field, "%s: your home folder is not known",
				field);
		joined = gpc_format("%s%s", home, *path + 1);
	} else if (**path == '/') {
		joined = gpc_strdup(*path);
	} else if (cwd) {
		joined = gpc_path_join(cwd, *path);
	} else {
		return fail(r, field, "%s: the current folder is not known, so "
			"'%s' leads nowhere", field, *path);
	}
	e = gpc_path_absolute(joined, &clean, r->err);
	if (e)
		return gpc_wrap(r->err, e, "%s", field);
	free(*path);
	*path = clean;
	return 0;
}

static int resolve_git(struct resolver *r)
{
	struct gpc_spec_git *git = &r->spec->workdir_git;
	struct gpc_error why = {0};

	if (gpc_spec_git_check(git, &why)) {
		fail(r, "workdir", "%s", why.msg);
		if (why.hint[0])
			gpc_hint(r->err, "%s", why.hint);
		return -GPC_ECONFIG;
	}
	return git->url && gpc_spec_git_is_path(git->url) ?
		to_absolute(r, "workdir.url", &git->url) : 0;
}

static int resolve_workdir(struct resolver *r)
{
	struct gpc_spec *spec = r->spec;
	const char *home = r->host ? r->host->home : NULL;
	int e;

	if (!spec->workdir || spec->workdir_git.ref)
		return resolve_git(r);
	e = to_absolute(r, "workdir", &spec->workdir);
	if (e)
		return e;
	if (gpc_eq(spec->workdir, "/") ||
	    (home && gpc_eq(spec->workdir, home))) {
		fail(r, "workdir", "workdir: %s would send %s to every node",
			spec->workdir, gpc_eq(spec->workdir, "/")
				? "this whole machine" : "your whole home");
		gpc_hint(r->err, "name the folder that the job needs");
		return -GPC_ECONFIG;
	}
	return 0;
}

/* A path on the node: absolute, ~/..., or below the workdir. Cleans it. */
static int node_path(struct resolver *r, const char *field, char **path,
	bool dot_ok)
{
	gpc_auto(gpc_strv) struct gpc_strv parts = {0};
	struct gpc_str rest = gpc_str_of(*path), part;
	bool absolute = **path == '/';
	gpc_autostr *joined = NULL;

	while (gpc_str_split(&rest, '/', &part)) {
		if (gpc_str_eq(part, ".."))
			return fail(r, field, "%s: '%s' holds `..`", field,
				*path);
		if (part.len && !gpc_str_eq(part, "."))
			gpc_strv_take(&parts, gpc_strndup(part.ptr, part.len));
	}
	if (!parts.n && (absolute || !dot_ok))
		return fail(r, field, "%s: '%s' names no folder of its own",
			field, *path);
	joined = gpc_strv_join(&parts, "/");
	free(*path);
	*path = absolute ? gpc_format("/%s", joined)
		: gpc_strdup(parts.n ? joined : ".");
	return 0;
}

/* A slash at the end stays: a single file goes below it then. */
static int mount_target(struct resolver *r, char **target)
{
	bool folder = gpc_ends_with(*target, "/");
	int e = node_path(r, "file_mounts", target, false);

	if (!e && folder) {
		gpc_autostr *slashed = gpc_format("%s/", *target);

		gpc_set_str(target, slashed);
	}
	return e;
}

static int resolve_source(struct resolver *r, char **source)
{
	char *path;
	int e;

	if (!*source || !gpc_spec_source_is_local(*source))
		return 0;
	path = gpc_strdup(gpc_spec_source_path(*source));
	e = *path ? to_absolute(r, "file_mounts", &path)
		: fail(r, "file_mounts", "file_mounts: '%s' names no file",
			*source);
	if (!e && gpc_starts_with(*source, "file://"))
		gpc_set_str(source, NULL), *source =
			gpc_format("file://%s", path);
	else if (!e)
		gpc_set_str(source, path);
	free(path);
	return e;
}

/* A program that is named by a path, not looked for on PATH, is a path of this
 * machine: where it is run later is another folder. */
static int resolve_notify(struct resolver *r)
{
	int e = 0;

	gpc_vec_each(x, &r->spec->notify) {
		if (!e && x->command.n && strchr(x->command.v[0], '/'))
			e = to_absolute(r, "notify", &x->command.v[0]);
	}
	return e;
}

static int resolve_paths(struct resolver *r)
{
	struct gpc_spec *spec = r->spec;
	int e = resolve_workdir(r);

	gpc_vec_each(m, &spec->file_mounts) {
		if (!e)
			e = mount_target(r, &m->target);
		if (!e)
			e = resolve_source(r, &m->source);
		for (size_t i = 0; i < m->sources.n && !e; i++)
			e = resolve_source(r, &m->sources.v[i]);
	}
	if (!e && spec->checkpoint.path)
		e = node_path(r, "checkpoint.path", &spec->checkpoint.path,
			false);
	gpc_vec_each(a, &spec->artifacts) {
		if (!e)
			e = node_path(r, "artifacts", &a->path, true);
	}
	return e ? e : resolve_notify(r);
}

/* --- name, defaults, checks across fields ---------------------------------------------- */

static void resolve_name(struct resolver *r)
{
	struct gpc_spec *spec = r->spec;
	gpc_autostr *name = NULL;
	char clean[GPC_JOB_NAME_MAX + 1];
	bool given = spec->name != NULL;

	if (given)
		name = gpc_strdup(spec->name);
	else if (spec->workdir)
		name = gpc_strdup(gpc_path_base(spec->workdir));
	else if (spec->workdir_git.url)
		name = gpc_spec_git_name(spec->workdir_git.url);
	else if (r->host && r->host->script)
		name = gpc_spec_script_name(r->host->script);
	else
		name = gpc_strdup("job");
	gpc_job_name_clean(name, clean);
	if (given && !gpc_eq(clean, spec->name))
		gpc_set_str(&spec->original_name, spec->name);
	gpc_set_str(&spec->name, clean);
}

static int check_money(struct resolver *r)
{
	struct gpc_spec_limits *l = &r->spec->limits;

	if (!*l->cost_each.currency)
		return 0;
	if (*l->cost.currency && !gpc_eq(l->cost.currency,
			l->cost_each.currency))
		return fail(r, "limits.cost_each",
			"limits: cost and cost_each are in two currencies");
	/* one job is its whole group */
	if (!r->spec->sweep && (!*l->cost.currency ||
			gpc_money_cmp(l->cost_each, l->cost) < 0))
		l->cost = l->cost_each;
	return 0;
}

static int check_ask(struct resolver *r)
{
	const struct gpc_spec_checkpoint *c = &r->spec->checkpoint;

	if (!c->ask_every_ms)
		return 0;
	if (!c->ask_signal || c->ask_signal == SIGTERM)
		return fail(r, "checkpoint.ask.every", "checkpoint.ask: every needs a "
			"signal that the program takes as a wish to save, such "
			"as SIGUSR1");
	return 0;
}

static void set_defaults(struct gpc_spec *spec)
{
	if (spec->checkpoint.path && !spec->checkpoint.grace_ms)
		spec->checkpoint.grace_ms = GPC_SPEC_GRACE_DEFAULT_MS;
	if (spec->limits.idle_gpu_below > 0 && !spec->limits.idle_for_ms)
		spec->limits.idle_for_ms = GPC_SPEC_IDLE_FOR_DEFAULT_MS;
}

int gpc_spec_resolve_rest(struct gpc_spec *spec,
	const struct gpc_spec_host *host, struct gpc_strv *warnings,
	struct gpc_errors *unset, struct gpc_error *err)
{
	gpc_auto(gpc_errors) struct gpc_errors found = {0};
	struct gpc_error why = {0};
	struct resolver r = {
		.spec = spec, .host = host, .warnings = warnings, .err = &why,
	};
	int e;

	resolve_values(&r, &found);
	if (found.n && !unset)
		return gpc_errors_take(&found, NULL, err);
	gpc_errors_add_all(unset, &found);
	e = substitute_all(&r);
	gpc_map_clear(&r.envs);
	if (!e)
		e = resolve_paths(&r);
	if (!e)
		e = check_money(&r);
	if (!e)
		e = check_ask(&r);
	if (e && err)
		*err = why;
	if (e)
		return e;
	resolve_name(&r);
	set_defaults(spec);
	return 0;
}

int gpc_spec_resolve(struct gpc_spec *spec, const struct gpc_spec_host *host,
	struct gpc_strv *warnings, struct gpc_error *err)
{
	return gpc_spec_resolve_rest(spec, host, warnings, NULL, err);
}
