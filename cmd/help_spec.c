/* What can stand in a spec, for people at a prompt. The manual page has the
 * prose; here are only the rows of the reader's own table, so they cannot be
 * behind it. A field is named by where it stands: "resources.cpus".
 */
#include "cmd/help_spec.h"

#include <string.h>

#include "base/str.h"
#include "cmd/wrap.h"
#include "model/spec.h"

enum { COLUMN = 38, BELOW = 6, TWO_COLUMNS = 70, INDENT = 2 };

/* Where the fields of a section stand, when the section's name does not say. */
static const char *const places[][2] = {
	{"task", ""},
	{"header", "header"},
	{"accelerator_args", "resources.accelerator_args"},
	{"autostop", "resources.autostop"},
	{"job_recovery", "resources.job_recovery"},
	{"node_volumes", "resources.volumes"},
	{"mount", "file_mounts"},
	{"mount_config", "file_mounts.config"},
	{"mount_plain", "file_mounts.config.mount"},
	{"mount_cached", "file_mounts.config.mount_cached"},
	{"ask", "checkpoint.ask"},
	{"artifact", "artifacts"},
	{"notice", "notify"},
	{"idle", "limits.idle"},
	{"volume", "volumes"},
	{"readiness_probe", "service.readiness_probe"},
	{"replica_policy", "service.replica_policy"},
	{"tls", "service.tls"},
};

static char *path_of(const struct gpc_spec_field *f)
{
	const char *place = f->section;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (gpc_eq(f->section, places[i][0]))
			place = places[i][1];
	}
	return *place ? gpc_format("%s.%s", place, f->name) :
		gpc_strdup(f->name);
}

static const char *state_word(const struct gpc_spec_field *f)
{
	switch (f->state) {
	case GPC_SPEC_HINT:
		return "no effect yet";
	case GPC_SPEC_REFUSED:
		return "refused for now";
	default:
		return NULL;
	}
}

void gpc_help_spec_each(gpc_help_field_fn *fn, void *arg)
{
	size_t n;
	const struct gpc_spec_field *fields = gpc_spec_fields(&n);

	for (size_t i = 0; i < n; i++) {
		if (fields[i].state == GPC_SPEC_INTERNAL)
			continue;
		gpc_autostr *path = path_of(&fields[i]);
		fn(arg, path, fields[i].help);
	}
}

/* --- the list -------------------------------------------------------------- */
static void add_line(const struct gpc_spec_field *f, const char *path,
	size_t width, struct gpc_buf *out)
{
	const char *state = state_word(f);
	gpc_autostr *text = gpc_format("%s%s%s%s", f->help, state ? " (" : "",
		state ? state : "", state ? ")" : "");
	size_t column = INDENT + strlen(path);
	size_t at = width < TWO_COLUMNS ? BELOW : COLUMN;

	gpc_buf_addf(out, "%*s%s", INDENT, "", path);
	if (column + 2 > at) {
		gpc_buf_addc(out, '\n');
		column = 0;
	}
	gpc_buf_addf(out, "%*s", (int)(at - column), "");
	gpc_wrap_text(text, at, at, width, out);
}

/* below NULL: all of them; else those that stand below that path. */
static size_t add_list(const char *below, size_t width, struct gpc_buf *out)
{
	size_t n, shown = 0, skip = below ? strlen(below) : 0;
	const struct gpc_spec_field *fields = gpc_spec_fields(&n);

	for (size_t i = 0; i < n; i++) {
		gpc_autostr *path = path_of(&fields[i]);

		if (fields[i].state == GPC_SPEC_INTERNAL ||
			(below && (!gpc_starts_with(path, below) ||
			path[skip] != '.')))
			continue;
		if (below && !shown)
			gpc_buf_adds(out, "\nBelow it:\n");
		add_line(&fields[i], path, width, out);
		shown++;
	}
	return shown;
}

/* --- one field ------------------------------------------------------------- */
static void add_fact(const char *label, const char *text, size_t width,
	struct gpc_buf *out)
{
	enum { LABEL = 12 };

	if (!text)
		return;
	gpc_buf_addf(out, "  %-*s", LABEL - 2, label);
	gpc_wrap_text(text, LABEL, LABEL, width, out);
}

static void add_field(const struct gpc_spec_field *f, const char *path,
	size_t width, struct gpc_buf *out)
{
	gpc_buf_addf(out, "%s: ", path);
	gpc_wrap_text(f->help, strlen(path) + 2, 2, width, out);
	add_fact("takes", f->forms, width, out);
	add_fact("default", f->preset ? f->preset : "none", width, out);
	add_fact("here", state_word(f), width, out);
	add_fact("of", f->ours ? "gpucloud" : "SkyPilot and gpucloud",
		width, out);
	add_list(path, width, out);
	gpc_buf_adds(out, "\ngpucloud-spec(5) tells more.\n");
}

struct found {
	const char *word;
	const struct gpc_spec_field *field;
	char *path;
	struct gpc_strv same_name;       /* paths that end in the word */
	struct gpc_strv all;
};

static void found_clear(struct found *f)
{
	free(f->path);
	gpc_strv_clear(&f->same_name);
	gpc_strv_clear(&f->all);
}
GPC_CLEANUP_VALUE(found);

/* The path itself wins; a bare name will do where only one field bears it. */
static void find(struct found *f)
{
	const struct gpc_spec_field *fields, *last = NULL;
	size_t n;

	fields = gpc_spec_fields(&n);
	for (size_t i = 0; i < n; i++) {
		gpc_autostr *path = path_of(&fields[i]);

		if (fields[i].state == GPC_SPEC_INTERNAL)
			continue;
		gpc_strv_add(&f->all, path);
		if (gpc_eq(path, f->word)) {
			f->field = &fields[i];
			f->path = gpc_steal(&path);
			return;
		}
		if (gpc_eq(fields[i].name, f->word)) {
			gpc_strv_add(&f->same_name, path);
			last = &fields[i];
		}
	}
	if (f->same_name.n == 1) {
		f->field = last;
		f->path = gpc_strdup(f->same_name.v[0]);
	}
}

static int not_found(const struct found *f, struct gpc_error *err)
{
	const char *near;
	int r;

	if (f->same_name.n) {
		gpc_autostr *list = gpc_strv_join(&f->same_name, ", ");

		r = gpc_fail(err, GPC_EUSAGE, "several fields are called "
			"\"%s\": %s", f->word, list);
		gpc_hint(err, "`gpucloud help spec %s`", f->same_name.v[0]);
		return r;
	}
	r = gpc_fail(err, GPC_EUSAGE, "a spec has no field \"%s\"", f->word);
	near = gpc_nearest(f->word, (const char *const *)f->all.v, f->all.n);
	if (near)
		gpc_hint(err, "did you mean %s?", near);
	else
		gpc_hint(err, "`gpucloud help spec` lists the fields");
	return r;
}

int gpc_help_spec(const char *field, size_t width, struct gpc_buf *out,
	struct gpc_error *err)
{
	gpc_auto(found) struct found f = {.word = field};

	if (!field) {
		gpc_buf_adds(out, "Fields of a spec (`gpucloud help spec "
			"FIELD` shows one):\n");
		add_list(NULL, width, out);
		gpc_buf_adds(out, "\ngpucloud-spec(5) tells more; `gpucloud "
			"init` writes a spec to start from.\n");
		return 0;
	}
	find(&f);
	if (!f.field)
		return not_found(&f, err);
	add_field(f.field, f.path, width, out);
	return 0;
}
