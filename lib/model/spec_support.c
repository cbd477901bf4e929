/* What this version can do with a spec that is right. A field that would
 * change the meaning and is not built yet is refused by name; one that is only
 * a hint is named in a warning; nothing is dropped in silence. */
#include <string.h>

#include "base/cidr.h"
#include "base/vec.h"
#include "model/spec_notify.h"
#include "model/spec_ports.h"
#include "model/spec_read.h"

struct checker {
	const struct gpc_spec *spec;
	struct gpc_strv *warnings;
	struct gpc_errors *found;
};

static gpc_printf(3, 4) int refuse(struct checker *c, const char *field,
	const char *fmt, ...)
{
	gpc_autostr *where = gpc_spec_where(c->spec, field), *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = gpc_vformat(fmt, ap);
	va_end(ap);
	return gpc_fail(gpc_vec_push(c->found), GPC_EUNSUPPORTED, "%s: %s", where,
		text);
}

/* The one that was refused last. */
static struct gpc_error *refused(struct checker *c)
{
	return &c->found->v[c->found->n - 1];
}

/* With a refusal no warning is of use any more. */
static gpc_printf(3, 4) void add_warning(struct checker *c, const char *field,
	const char *fmt, ...)
{
	gpc_autostr *where = gpc_spec_where(c->spec, field), *text = NULL;
	gpc_autostr *line = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = gpc_vformat(fmt, ap);
	va_end(ap);
	line = gpc_format("%s: %s", where, text);
	if (c->warnings && !c->found->n && !gpc_strv_has(c->warnings, line))
		gpc_strv_add(c->warnings, line);
}

static bool is_given(const struct gpc_spec_field *f, const void *base)
{
	const struct gpc_spec_kind *kind = gpc_spec_kind_of(f);
	gpc_autoptr(gpc_json) *value = NULL;

	if ((f->flags & GPC_FIELD_NO_SLOT) || !kind || !kind->write)
		return false;
	value = kind->write(f, (const char *)base + f->offset);
	return value != NULL;
}

/* `launcher: none` is what happens anyway. */
static bool is_harmless(const struct gpc_spec_field *f, const void *base)
{
	const struct gpc_spec *spec = base;

	return gpc_eq(f->section, "task") && gpc_eq(f->name, "launcher") &&
		gpc_eq(spec->launcher, "none");
}

bool gpc_spec_is_unbuilt(const struct gpc_spec_field *f, const void *base)
{
	return f->state == GPC_SPEC_REFUSED && is_given(f, base) &&
		!is_harmless(f, base);
}

static char *field_name(const struct gpc_spec_field *f)
{
	if (gpc_eq(f->section, "task"))
		return gpc_strdup(f->name);
	return gpc_format("%s.%s", f->section, f->name);
}

static void check_section(struct checker *c, const char *section,
	const void *base)
{
	const struct gpc_spec_field *fields;
	size_t n;

	fields = gpc_spec_fields(&n);
	for (size_t i = 0; i < n; i++) {
		const struct gpc_spec_field *f = &fields[i];
		gpc_autostr *name = NULL;

		if (!gpc_eq(f->section, section) ||
		    (f->state != GPC_SPEC_REFUSED && f->state != GPC_SPEC_HINT) ||
		    !is_given(f, base) || is_harmless(f, base))
			continue;
		name = field_name(f);
		if (f->state == GPC_SPEC_REFUSED)
			refuse(c, name, "%s is not built yet (%s)", name, f->help);
		else
			add_warning(c, name, "%s has no effect here (%s)", name,
				f->help);
	}
}

/* --- where ---------------------------------------------------------------------- */

static bool is_built(const char *provider)
{
	static const char *const built[] = {
#define X(name) #name,
#include "model/providers.inc"
#undef X
	};

	for (size_t i = 0; i < sizeof(built) / sizeof(*built); i++)
		if (gpc_eq(built[i], provider))
			return true;
	return false;
}

static void check_infra(struct checker *c, const struct gpc_resources *r)
{
	gpc_autostr *provider = gpc_resources_provider(r);

	if (!r->infra || is_built(provider))
		return;
	if (provider)
		refuse(c, "resources.infra", "provider '%s' is not built yet",
			provider);
	else
		refuse(c, "resources.infra", "infra '%s': no provider that is "
			"built has regions", r->infra);
	gpc_hint(refused(c), "--infra local runs the job on this machine");
}

/* Machines that are bought start from one; this one runs as it is. */
static void check_image(struct checker *c, const struct gpc_resources *r)
{
	gpc_autostr *provider = gpc_resources_provider(r);
	bool docker = gpc_starts_with(r->image_id ? r->image_id : "", "docker:");

	if ((!r->image_id && !r->image_ids.n) ||
		(gpc_eq(provider, "aws") && !docker))
		return;
	refuse(c, "resources.image_id", "resources.image_id is not built yet %s",
		docker ? "for containers" : "but for infra: aws");
}

static void check_one(struct checker *c, const struct gpc_resources *r)
{
	check_infra(c, r);
	check_image(c, r);
	check_section(c, "resources", r);
}

int gpc_resources_check_supported(const struct gpc_resources *r,
	struct gpc_errors *others, struct gpc_error *err)
{
	const struct gpc_spec nowhere = { .source = (char *)"infra" };
	gpc_auto(gpc_errors) struct gpc_errors found = {0};
	struct checker c = {.spec = &nowhere, .found = &found};

	check_one(&c, r);
	return gpc_errors_take(&found, others, err);
}

/* One that can be done is enough; of none the first counts. */
static void check_resources(struct checker *c)
{
	size_t n = gpc_spec_candidates(c->spec, NULL), usable = 0;
	gpc_auto(gpc_errors) struct gpc_errors first = {0};
	gpc_auto(gpc_strv) struct gpc_strv skipped = {0};

	for (size_t i = 0; i < n; i++) {
		gpc_auto(gpc_errors) struct gpc_errors found = {0};
		struct checker one = *c;

		one.found = &found;
		check_one(&one, gpc_spec_candidate(c->spec, i));
		usable += !found.n;
		if (found.n)
			gpc_strv_addf(&skipped, "alternative %zu is left out: %s",
				i + 1, found.v[0].msg);
		if (i == 0)
			gpc_errors_add_all(&first, &found);
	}
	if (!usable)
		gpc_errors_add_all(c->found, &first);
	for (size_t i = 0; i < skipped.n && c->warnings && !c->found->n; i++)
		gpc_strv_add(c->warnings, skipped.v[i]);
}

/* --- file_mounts ----------------------------------------------------------------- */

static int check_source(struct checker *c, const struct gpc_spec_mount *m)
{
	size_t n;

	if (!m->source || gpc_spec_source_is_local(m->source) ||
		gpc_spec_source_is_bucket(m->source))
		return 0;
	n = strcspn(m->source, ":");
	if (gpc_starts_with(m->source, "job://"))
		return refuse(c, "file_mounts", "file_mounts '%s': job:// needs "
			"a pipeline, which is not built yet", m->target);
	return refuse(c, "file_mounts", "file_mounts '%s': sources of kind "
		"%.*s:// are not built yet", m->target, (int)n, m->source);
}

/* Paths of this machine are only copied. */
static int check_local(struct checker *c, const struct gpc_spec_mount *m)
{
	const char *extra = m->name ? "name" : m->store ? "store" :
		m->type ? "type" : m->config ? "config" : NULL;

	if (extra && (m->name || m->store))
		return refuse(c, "file_mounts", "file_mounts '%s': %s asks for a "
			"new bucket, which is not built yet", m->target, extra);
	if (m->mode != GPC_SPEC_MODE_COPY) {
		refuse(c, "file_mounts", "file_mounts '%s': mode %s needs a "
			"bucket as its source", m->target,
			gpc_spec_mode_names[gpc_spec_mount_mode(m)]);
		gpc_hint(refused(c), "mode: COPY copies the files");
		return -GPC_EUNSUPPORTED;
	}
	if (extra)
		return refuse(c, "file_mounts", "file_mounts '%s': %s is for "
			"what is in a bucket", m->target, extra);
	return 0;
}

/* `store` may say again what the URI says. */
static bool store_fits(const struct gpc_spec_mount *m)
{
	if (!m->store)
		return true;
	return (gpc_eq(m->store, "s3") && gpc_starts_with(m->source, "s3://")) ||
		(gpc_eq(m->store, "gcs") && gpc_starts_with(m->source, "gs://"));
}

/* So may `name`, as in SkyPilot. */
static bool name_fits(const struct gpc_spec_mount *m)
{
	const char *bucket = strstr(m->source, "://") + strlen("://");
	size_t n = strcspn(bucket, "/?");

	return !m->name || (strlen(m->name) == n &&
		strncmp(m->name, bucket, n) == 0);
}

/* Of one section of config: what is not built is refused or named. */
static int check_config(struct checker *c, const struct gpc_spec_mount *m,
	const char *section, const struct gpc_json *config)
{
	const struct gpc_spec_field *fields;
	size_t n;

	fields = gpc_spec_fields(&n);
	for (size_t i = 0; i < n; i++) {
		const struct gpc_spec_field *f = &fields[i];

		if (!gpc_eq(f->section, section) ||
			!gpc_json_get(config, f->name))
			continue;
		if (f->state == GPC_SPEC_REFUSED)
			return refuse(c, "file_mounts", "file_mounts '%s': "
				"config.%s is not built yet (%s)", m->target,
				f->name, f->help);
		if (f->state == GPC_SPEC_HINT)
			add_warning(c, "file_mounts", "file_mounts '%s': %s has "
				"no effect here (%s)", m->target, f->name,
				f->help);
	}
	return 0;
}

static int check_bucket(struct checker *c, const struct gpc_spec_mount *m)
{
	int e;

	if (!name_fits(m)) {
		refuse(c, "file_mounts", "file_mounts '%s': name %s is another "
			"bucket than %s", m->target, m->name, m->source);
		gpc_hint(refused(c), "leave name out");
		return -GPC_EUNSUPPORTED;
	}
	if (!store_fits(m))
		return refuse(c, "file_mounts", "file_mounts '%s': store %s is "
			"not where %s is", m->target, m->store, m->source);
	if (!m->persistent)
		add_warning(c, "file_mounts", "file_mounts '%s': persistent has "
			"no effect here: a bucket that was there stays",
			m->target);
	e = check_config(c, m, "mount_config", m->config);
	if (!e)
		e = check_config(c, m, "mount_plain",
			gpc_json_get(m->config, "mount"));
	return e ? e : check_config(c, m, "mount_cached",
		gpc_json_get(m->config, "mount_cached"));
}

static int check_mount(struct checker *c, const struct gpc_spec_mount *m)
{
	int e = check_source(c, m);

	if (e || !m->object)
		return e;
	if (!m->source)
		return refuse(c, "file_mounts", "file_mounts '%s': new buckets "
			"are not built yet", m->target);
	return gpc_spec_source_is_bucket(m->source) ? check_bucket(c, m) :
		check_local(c, m);
}

/* --- the whole ---------------------------------------------------------------------- */

static void check_run(struct checker *c)
{
	if (c->spec->run)
		return;
	refuse(c, "run", "the task has no 'run': there is nothing to do");
	gpc_hint(refused(c), "add run: with the command of the job");
	refused(c)->code = GPC_ECONFIG;
}

static bool has_place(const struct gpc_spec *spec, const char *field)
{
	gpc_vec_each(p, &spec->places)
		if (gpc_eq(p->field, field))
			return true;
	return false;
}

/* Whom it lets in is a person's to know, before anything listens there. */
static void check_ports(struct checker *c)
{
	gpc_auto(gpc_strv) struct gpc_strv ports = {0}, allow = {0};
	gpc_autostr *list = NULL;

	gpc_spec_port_words(c->spec, &ports);
	gpc_spec_allowed(c->spec, &allow);
	list = gpc_strv_join(&ports, ", ");
	/* A default of the configuration is no mistake. */
	if (allow.n && !ports.n && has_place(c->spec, "resources.allow"))
		add_warning(c, "resources.allow", "resources.allow has no effect "
			"without resources.ports");
	for (size_t i = 0; i < allow.n && ports.n; i++)
		if (gpc_cidr_is_everybody(allow.v[i]))
			add_warning(c, "resources.allow", "resources.allow: %s is "
				"everybody on the Internet: who finds port %s may "
				"use what listens there, unless that asks for a "
				"password itself", allow.v[i], list);
}

static void check_recovery(struct checker *c)
{
	const struct gpc_spec *s = c->spec;
	gpc_auto(gpc_strv) struct gpc_strv ports = {0};

	if (s->recovery.by != GPC_SPEC_BY_CLOUD)
		return;
	if (s->num_nodes > 1)
		refuse(c, "recovery.by", "recovery.by: cloud is for jobs of one "
			"node: %d nodes go on together only by a supervisor",
			s->num_nodes);
	gpc_spec_port_words(s, &ports);
	if (ports.n)
		refuse(c, "resources.ports", "resources.ports with recovery.by: "
			"cloud: nobody opens the ports of a machine that the "
			"cloud starts by itself");
	if (!s->checkpoint.path)
		add_warning(c, "recovery.by", "recovery.by: cloud without a "
			"checkpoint.path: each machine begins anew");
}

static void check_artifact(struct checker *c, const struct gpc_spec_artifact *a)
{
	if (a->to && !gpc_starts_with(a->to, "file://"))
		refuse(c, "artifacts", "artifacts.to '%s': only file:// is built "
			"yet", a->to);
}

int gpc_spec_check_supported(const struct gpc_spec *spec,
	struct gpc_strv *warnings, struct gpc_errors *others,
	struct gpc_error *err)
{
	gpc_auto(gpc_errors) struct gpc_errors found = {0};
	struct checker c = {.spec = spec, .warnings = warnings, .found = &found};
	struct gpc_error why = {0};

	check_run(&c);
	check_recovery(&c);
	check_ports(&c);
	gpc_vec_each(m, &spec->file_mounts)
		(void)check_mount(&c, m);
	gpc_vec_each(a, &spec->artifacts)
		check_artifact(&c, a);
	check_section(&c, "task", spec);
	check_resources(&c);
	check_section(&c, "limits", &spec->limits);
	if (gpc_spec_notify_check(spec, &why) < 0)
		gpc_errors_add(&found, &why);
	return gpc_errors_take(&found, others, err);
}

int gpc_spec_file_check_supported(const struct gpc_spec_file *file,
	struct gpc_error *err)
{
	if (file->tasks.n == 1)
		return 0;
	gpc_fail(err, GPC_EUNSUPPORTED, "%zu tasks in one file: %s are not built "
		"yet", file->tasks.n, file->execution == GPC_SPEC_PARALLEL
			? "job groups" : "pipelines");
	gpc_hint(err, "--dry-run checks and shows them; submit each on its own");
	return -GPC_EUNSUPPORTED;
}
