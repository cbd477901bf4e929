/* Specs as a whole: from YAML documents or JSON to checked values, and back.
 * A file is one task, or a header and several; what is written parses back to
 * the same value, with secrets by name only. */
#include "model/spec.h"

#include <string.h>

#include "model/job.h"
#include "model/spec_read.h"

#define MAX_TASKS 1000

void gpc_spec_init(struct gpc_spec *spec)
{
	*spec = (struct gpc_spec){
		.num_nodes = 1,
		.checkpoint.keep = GPC_SPEC_KEEP_DEFAULT,
		.recovery.restarts = -1,
	};
}

void gpc_spec_clear(struct gpc_spec *spec)
{
	if (!spec)
		return;
	gpc_spec_clear_section("task", spec);
	free(spec->original_name);
	free(spec->source);
	gpc_vec_each(p, &spec->places)
		free(p->field);
	gpc_vec_free(&spec->places);
	*spec = (struct gpc_spec){0};
}

void gpc_spec_file_clear(struct gpc_spec_file *file)
{
	if (!file)
		return;
	gpc_vec_each(task, &file->tasks)
		gpc_spec_clear(task);
	gpc_vec_free(&file->tasks);
	gpc_spec_clear_section("header", file);
	gpc_strv_clear(&file->warnings);
	*file = (struct gpc_spec_file){0};
}

void *gpc_spec_section_base(struct gpc_spec *spec, const char *section)
{
	const struct { const char *section; void *base; } all[] = {
		{"task", spec}, {"workdir", &spec->workdir_git},
		{"resources", &spec->resources},
		{"checkpoint", &spec->checkpoint}, {"ask", &spec->checkpoint},
		{"limits", &spec->limits}, {"idle", &spec->limits},
		{"recovery", &spec->recovery},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (gpc_eq(section, all[i].section))
			return all[i].base;
	}
	return NULL;
}

char *gpc_spec_where(const struct gpc_spec *spec, const char *field)
{
	const char *source = spec->source ? spec->source : "spec";

	gpc_vec_each(p, &spec->places) {
		if (gpc_eq(p->field, field))
			return gpc_format("%s:%d:%d", source, p->line,
				p->column);
	}
	if (gpc_eq(field, "resources.infra"))  /* its older form */
		return gpc_spec_where(spec, "resources.cloud");
	if (gpc_eq(field, "managed_secrets"))  /* the list form of secrets */
		return gpc_spec_where(spec, "secrets");
	if (gpc_starts_with(field, "envs."))   /* a name that an option gave */
		return gpc_spec_where(spec, "envs");
	if (gpc_starts_with(field, "secrets."))
		return gpc_spec_where(spec, "secrets");
	return gpc_strdup(source);
}

/* --- reading ------------------------------------------------------------------- */

static const struct gpc_spec_job_recovery *job_recovery_of(
	const struct gpc_spec *spec)
{
	return &gpc_spec_candidate(spec, 0)->job_recovery;
}

/* SkyPilot's job_recovery and our recovery say the same thing in two places;
 * readers look at recovery only. */
static int fold_recovery(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *node, struct gpc_spec *spec)
{
	const struct gpc_spec_job_recovery *from = job_recovery_of(spec);
	const struct gpc_yaml_node *ours = gpc_yaml_get(node, "recovery");

	if (!from->set)
		return 0;
	if (!gpc_spec_is_null(ours))
		return gpc_spec_fail(r, ours, "recovery and "
			"resources.job_recovery clash: give one of the two");
	spec->recovery.none = from->strategy == GPC_SPEC_STRATEGY_NONE;
	spec->recovery.restarts = from->max_restarts;
	for (size_t i = 0; i < from->exit_codes.n; i++)
		*gpc_vec_push(&spec->recovery.on_exit) = from->exit_codes.v[i];
	return 0;
}

static int read_task(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *node, struct gpc_spec *spec)
{
	int e;

	gpc_spec_init(spec);
	spec->source = gpc_strdup(r->name);
	r->spec = spec;
	e = gpc_spec_read_section(r, "task", node, spec);
	r->spec = NULL;
	return e ? e : fold_recovery(r, node, spec);
}

/* A first document with nothing but these is a header; any other key makes it
 * a task. */
static bool is_header(const struct gpc_yaml_node *node)
{
	if (node->kind != GPC_YAML_MAP || !node->n)
		return false;
	for (size_t i = 0; i < node->n; i++) {
		if (!gpc_spec_field_find("header", node->keys[i]->text))
			return false;
	}
	return true;
}


struct roots { const struct gpc_yaml_node **v; size_t n, cap; };

/* Several documents, or one list: what gpc_spec_file_to_json makes of them. */
static void find_roots(const struct gpc_yaml_docs *docs, struct roots *roots)
{
	for (size_t i = 0; i < docs->n; i++) {
		const struct gpc_yaml_node *node = gpc_yaml_root(docs->v[i]);

		if (node)
			*gpc_vec_push(roots) = node;
	}
	if (roots->n == 1 && roots->v[0]->kind == GPC_YAML_LIST &&
	    roots->v[0]->n) {
		const struct gpc_yaml_node *list = roots->v[0];

		roots->n = 0;
		for (size_t i = 0; i < list->n; i++)
			*gpc_vec_push(roots) = list->items[i];
	}
}

static int read_roots(struct gpc_spec_reader *r, const struct roots *roots,
	struct gpc_spec_file *file)
{
	size_t first = 0;
	int e = 0;

	if (!roots->n) {
		gpc_spec_fail(r, NULL, "the spec is empty");
		gpc_hint(r->err, "`gpucloud init` writes one to start from");
		return -GPC_ECONFIG;
	}
	if (roots->n > MAX_TASKS)
		return gpc_spec_fail(r, roots->v[MAX_TASKS],
			"more than %d tasks in one file", MAX_TASKS);
	if (roots->n > 1 && is_header(roots->v[0])) {
		file->header = true;
		first = 1;
		if (!gpc_spec_goes_on(r, 0, gpc_spec_read_section(r, "header",
			roots->v[0], file), &e))
			return e;
	}
	for (size_t i = first; i < roots->n; i++) {
		size_t before = gpc_spec_wrong(r);

		if (!gpc_spec_goes_on(r, before, read_task(r, roots->v[i],
			gpc_vec_push(&file->tasks)), &e))
			return e;
	}
	return e ? e : gpc_spec_check_group(r, file);
}

static int parse(const char *text, size_t n, const char *name,
	struct gpc_spec_mistakes *mistakes, struct gpc_spec_file *ret_file,
	struct gpc_errors *others, struct gpc_error *err)
{
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
	struct gpc_spec_reader r = {
		.name = name, .docs = &docs, .warnings = &file.warnings,
		.mistakes = mistakes, .err = err,
	};
	struct roots roots = {0};
	int e = gpc_yaml_parse(text, n, name, &docs, err);

	if (e)
		return e;
	gpc_strv_copy(&file.warnings, &docs.warnings);
	find_roots(&docs, &roots);
	e = read_roots(&r, &roots, &file);
	if (mistakes)
		e = gpc_spec_take_mistakes(&r, e, others);
	gpc_vec_free(&roots);
	if (e)
		return e;
	*ret_file = file;
	file = (struct gpc_spec_file){0};
	return 0;
}

int gpc_spec_parse(const char *text, size_t n, const char *name,
	struct gpc_spec_file *ret_file, struct gpc_error *err)
{
	return parse(text, n, name, NULL, ret_file, NULL, err);
}

int gpc_spec_parse_all(const char *text, size_t n, const char *name,
	struct gpc_spec_file *ret_file, struct gpc_errors *others,
	struct gpc_error *err)
{
	struct gpc_spec_mistakes mistakes = {0};
	struct gpc_error own = {0};
	int e = parse(text, n, name, &mistakes, ret_file, others,
		err ? err : &own);

	gpc_vec_free(&mistakes.list);
	return e;
}

int gpc_spec_from_json(const struct gpc_json *j, const char *name,
	struct gpc_spec *ret_spec, struct gpc_strv *warnings,
	struct gpc_error *err)
{
	gpc_auto(gpc_yaml_docs) struct gpc_yaml_docs docs = {0};
	gpc_auto(gpc_spec) struct gpc_spec spec = {0};
	struct gpc_spec_reader r = {
		.name = name, .docs = &docs, .warnings = warnings, .err = err,
	};
	int e = gpc_yaml_from_json(j, name, &docs, err);

	if (!e)
		e = read_task(&r, gpc_yaml_root(docs.v[0]), &spec);
	if (e)
		return e;
	*ret_spec = spec;
	spec = (struct gpc_spec){0};
	return 0;
}

/* --- alternatives ----------------------------------------------------------------- */

size_t gpc_spec_candidates(const struct gpc_spec *spec, bool *ret_ordered)
{
	const struct gpc_resources *r = &spec->resources;

	if (ret_ordered)
		*ret_ordered = r->ordered.n > 0;
	return r->ordered.n ? r->ordered.n : r->any_of.n ? r->any_of.n : 1;
}

const struct gpc_resources *gpc_spec_candidate(const struct gpc_spec *spec,
	size_t i)
{
	const struct gpc_resources *r = &spec->resources;

	if (r->ordered.n)
		return &r->ordered.v[i];
	return r->any_of.n ? &r->any_of.v[i] : r;
}

int gpc_spec_priority(const struct gpc_spec *spec)
{
	size_t n = gpc_spec_candidates(spec, NULL);
	int most = gpc_spec_candidate(spec, 0)->priority;

	for (size_t i = 1; i < n; i++) {
		int p = gpc_spec_candidate(spec, i)->priority;

		most = p > most ? p : most;
	}
	return most;
}

/* --- writing ---------------------------------------------------------------------- */

/* As the user wrote it, so that what is printed gives the same name and the same
 * original again; not when the name was changed after that. */
static const char *name_to_write(const struct gpc_spec *spec)
{
	char clean[GPC_JOB_NAME_MAX + 1];

	if (!spec->original_name)
		return spec->name;
	gpc_job_name_clean(spec->original_name, clean);
	return gpc_eq(clean, spec->name) ? spec->original_name : spec->name;
}

struct gpc_json *gpc_spec_to_json(const struct gpc_spec *spec)
{
	struct gpc_json *object = gpc_json_object();

	gpc_spec_write_section("task", spec, object);
	if (spec->name)
		gpc_json_set_str(object, "name", name_to_write(spec));
	if (job_recovery_of(spec)->set)
		gpc_json_unset(object, "recovery");
	return object;
}

static struct gpc_json *write_header(const struct gpc_spec_file *file)
{
	struct gpc_json *object = gpc_json_object();

	gpc_spec_write_section("header", file, object);
	if (!gpc_json_get(object, "execution"))
		gpc_json_set_str(object, "execution", "serial");
	return object;
}

struct gpc_json *gpc_spec_file_to_json(const struct gpc_spec_file *file)
{
	struct gpc_json *list;

	if (file->tasks.n == 1 && !file->header)
		return gpc_spec_to_json(&file->tasks.v[0]);
	list = gpc_json_array();
	if (file->header)
		gpc_json_add(list, write_header(file));
	for (size_t i = 0; i < file->tasks.n; i++)
		gpc_json_add(list, gpc_spec_to_json(&file->tasks.v[i]));
	return list;
}

int gpc_spec_file_to_yaml(const struct gpc_spec_file *file, struct gpc_buf *out,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = gpc_spec_file_to_json(file);
	const struct gpc_json *doc;
	int e = 0;

	if (!gpc_json_is_array(j))
		return gpc_yaml_print(j, out, err);
	for (doc = gpc_json_first(j); doc && !e; doc = gpc_json_next(doc)) {
		gpc_buf_adds(out, "---\n");
		e = gpc_yaml_print(doc, out, err);
	}
	return e;
}
