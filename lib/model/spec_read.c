/* Reads, writes and clears one section of the spec by the rows of the table.
 * Every complaint names file, line and column, the field, what was expected
 * and what was found; an unknown word gets the nearest known one. */
#include <string.h>

#include "base/vec.h"
#include "model/spec_read.h"

enum { SHOWN = 40, MAX_WORDS = 64 };

static char *place(const struct gpc_spec_reader *r,
	const struct gpc_yaml_node *node)
{
	if (!node || !node->line)
		return gpc_strdup(r->name);
	return gpc_format("%s:%d:%d", r->name, node->line, node->column);
}

int gpc_spec_fail(struct gpc_spec_reader *r, const struct gpc_yaml_node *node,
	const char *fmt, ...)
{
	gpc_autostr *where = place(r, node), *text = NULL, *shown = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = gpc_vformat(fmt, ap);
	va_end(ap);
	shown = gpc_str_printable(text, strlen(text));
	return gpc_fail(r->err, GPC_ECONFIG, "%s: %s", where, shown);
}

void gpc_spec_warn(struct gpc_spec_reader *r, const struct gpc_yaml_node *node,
	const char *fmt, ...)
{
	gpc_autostr *where = NULL, *text = NULL, *shown = NULL;
	va_list ap;

	if (!r->warnings)
		return;
	where = place(r, node);
	va_start(ap, fmt);
	text = gpc_vformat(fmt, ap);
	va_end(ap);
	shown = gpc_str_printable(text, strlen(text));
	gpc_strv_addf(r->warnings, "%s: %s", where, shown);
}

/* "the text 'two'", "a list": what stands there, for messages. */
static char *describe(const struct gpc_yaml_node *node)
{
	gpc_autostr *shown = NULL;
	bool b = false;
	size_t n;

	if (!node)
		return gpc_strdup("nothing");
	if (node->kind != GPC_YAML_SCALAR)
		return gpc_strdup(node->kind == GPC_YAML_LIST ? "a list"
			: "a map");
	n = strlen(node->text);
	shown = gpc_str_printable(node->text, n > SHOWN ? SHOWN : n);
	switch (node->type) {
	case GPC_YAML_NULL:
		return gpc_strdup("nothing");
	case GPC_YAML_BOOL:
		(void)gpc_yaml_to_bool(node, &b);
		if (!gpc_eq_nocase(shown, b ? "true" : "false"))
			return gpc_format("`%s`, which YAML reads as %s", shown,
				b ? "true" : "false");
		return gpc_format("`%s`", shown);
	case GPC_YAML_INT:
	case GPC_YAML_FLOAT:
		return gpc_format("the number %s", shown);
	case GPC_YAML_TIMESTAMP:
		return gpc_format("the date %s", shown);
	default:
		return gpc_format("the text '%s%s'", shown,
			n > SHOWN ? "..." : "");
	}
}

static const char *title_sep(const struct gpc_spec_field *f)
{
	return gpc_eq(f->section, "task") ? "" : ".";
}

/* Sections as the path that a user sees. */
static const char *title_section(const struct gpc_spec_field *f)
{
	static const char *const paths[][2] = {
		{"task", ""}, {"ask", "checkpoint.ask"}, {"idle", "limits.idle"},
		{"mount", "file_mounts"}, {"artifact", "artifacts"},
		{"notice", "notify"},
		{"node_volumes", "resources.volumes"}, {"volume", "volumes"},
		{"mount_config", "config"}, {"mount_plain", "config.mount"},
		{"mount_cached", "config.mount_cached"},
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		if (gpc_eq(f->section, paths[i][0]))
			return paths[i][1];
	}
	return f->section;
}

int gpc_spec_expected(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	const char *fmt, ...)
{
	gpc_autostr *found = describe(node), *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = gpc_vformat(fmt, ap);
	va_end(ap);
	return gpc_spec_fail(r, node, "%s%s%s: expected %s, got %s",
		title_section(f), title_sep(f), f->name, text, found);
}

void gpc_spec_surprise(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node)
{
	gpc_autostr *text = gpc_yaml_surprise(node);

	if (text)
		gpc_spec_warn(r, node, "%s%s%s: %s, as YAML 1.1 says; write it "
			"so, or in quotes", title_section(f), title_sep(f),
			f->name, text);
}

bool gpc_spec_is_null(const struct gpc_yaml_node *node)
{
	return !node || (node->kind == GPC_YAML_SCALAR &&
		node->type == GPC_YAML_NULL);
}

const char *gpc_spec_text(const struct gpc_yaml_node *node)
{
	if (!node || node->kind != GPC_YAML_SCALAR ||
	    node->type == GPC_YAML_BOOL)
		return NULL;
	return node->text;
}

const char *gpc_spec_section_title(const char *section)
{
	static const char *const titles[][2] = {
		{"task", "the task"}, {"header", "the header"},
		{"mount", "this file_mounts entry"},
		{"artifact", "this artifact"}, {"notice", "this notify item"},
		{"mount_config", "config"}, {"mount_plain", "config.mount"},
		{"mount_cached", "config.mount_cached"},
		{"node_volumes", "this volume"}, {"volume", "this volume"},
		{"ask", "checkpoint.ask"}, {"idle", "limits.idle"},
	};

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++) {
		if (gpc_eq(section, titles[i][0]))
			return titles[i][1];
	}
	return section;
}

/* --- reading ---------------------------------------------------------------- */

/* Other tools' words for a field, and `num_workers`, which is the classic. */
static const char *of_habit(const char *section, const char *key)
{
	static const struct {
		const char *section, *theirs, *ours;
	} habits[] = {
		{"task", "command", "run"}, {"task", "commands", "run"},
		{"task", "script", "run"}, {"task", "nodes", "num_nodes"},
		{"task", "image", "resources.image_id"},
		{"task", "max_duration", "limits.time"},
		{"resources", "gpu", "accelerators"},
		{"resources", "image", "image_id"},
	};

	for (size_t i = 0; i < sizeof(habits) / sizeof(*habits); i++) {
		if (gpc_eq(habits[i].section, section) &&
		    gpc_eq(habits[i].theirs, key))
			return habits[i].ours;
	}
	return gpc_eq(section, "task") && strstr(key, "worker") ? "num_nodes" :
		NULL;
}

/* A field that stands a level too high or too low. */
static const char *misplaced(const char *section, const char *key)
{
	if (gpc_eq(section, "task") && gpc_spec_field_find("resources", key))
		return "it belongs below resources";
	if (gpc_eq(section, "resources") && gpc_spec_field_find("task", key))
		return "it belongs beside resources, not below";
	return NULL;
}

static void hint_unknown(struct gpc_spec_reader *r, const char *section,
	const char *key)
{
	if (gpc_eq(section, "task") && gpc_eq(key, "type"))
		gpc_hint(r->err, "that is of dstack; a task here has the fields "
			"of SkyPilot's, see gpucloud-spec(5)");
	else
		gpc_hint(r->err, "gpucloud-spec(5) lists all fields");
}

static int fail_unknown(struct gpc_spec_reader *r, const char *section,
	const struct gpc_yaml_node *key)
{
	const struct gpc_spec_field *fields;
	const char *place = misplaced(section, key->text);
	const char *words[MAX_WORDS], *near;
	gpc_autostr *shown = gpc_str_printable(key->text,
		strnlen(key->text, SHOWN));
	size_t n_fields, n = 0;

	fields = gpc_spec_fields(&n_fields);
	for (size_t i = 0; i < n_fields && n < MAX_WORDS; i++) {
		if (gpc_eq(fields[i].section, section) &&
		    fields[i].state != GPC_SPEC_INTERNAL)
			words[n++] = fields[i].name;
	}
	if (place)
		return gpc_spec_fail(r, key, "unknown field '%s' in %s: %s",
			shown, gpc_spec_section_title(section), place);
	near = of_habit(section, key->text);
	if (!near)
		near = gpc_nearest(key->text, words, n);
	if (near)
		return gpc_spec_fail(r, key, "unknown field '%s' in %s; did you "
			"mean '%s'?", shown, gpc_spec_section_title(section),
			near);
	gpc_spec_fail(r, key, "unknown field '%s' in %s", shown,
		gpc_spec_section_title(section));
	hint_unknown(r, section, key->text);
	return -GPC_ECONFIG;
}

char *gpc_spec_field_path(const struct gpc_spec_field *f)
{
	return gpc_format("%s%s%s", title_section(f), title_sep(f), f->name);
}

/* Takes field. */
static void note_place(struct gpc_spec_reader *r, char *field,
	const struct gpc_yaml_node *key)
{
	struct gpc_spec_place *p;

	if (!r->spec || !key->line) {
		free(field);
		return;
	}
	p = gpc_vec_push(&r->spec->places);
	p->field = field;
	p->line = key->line;
	p->column = key->column;
}

void gpc_spec_note_names(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *map)
{
	for (size_t i = 0; map->kind == GPC_YAML_MAP && i < map->n; i++)
		note_place(r, gpc_format("%s.%s", f->name, map->keys[i]->text),
			map->keys[i]);
}

static void *slot_of(const struct gpc_spec_field *f, void *base)
{
	return base && !(f->flags & GPC_FIELD_NO_SLOT)
		? (char *)base + f->offset : NULL;
}

int gpc_spec_read_value(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *base)
{
	if (gpc_spec_is_null(node)) {
		if (node && gpc_eq(node->text, "~"))
			gpc_spec_warn(r, node, "%s%s%s: a bare ~ is nothing in "
				"YAML; write \"~\" for your home",
				title_section(f), title_sep(f), f->name);
		return 0;
	}
	return gpc_spec_kind_of(f)->read(r, f, node, slot_of(f, base));
}

static int check_required(struct gpc_spec_reader *r, const char *section,
	const struct gpc_yaml_node *node)
{
	const struct gpc_spec_field *fields;
	size_t n;

	fields = gpc_spec_fields(&n);
	for (size_t i = 0; i < n; i++) {
		const struct gpc_spec_field *f = &fields[i];

		if (!gpc_eq(f->section, section) ||
		    !(f->flags & GPC_FIELD_REQUIRED) ||
		    !gpc_spec_is_null(gpc_yaml_get(node, f->name)))
			continue;
		return gpc_spec_fail(r, node, "%s needs '%s' (%s)",
			gpc_spec_section_title(section), f->name, f->forms);
	}
	return 0;
}

/* `gpus` beside `accelerators` would make one of them lie. */
static int check_alias(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *map,
	const struct gpc_yaml_node *key)
{
	if (gpc_eq(f->name, key->text) || !gpc_yaml_get(map, f->name))
		return 0;
	return gpc_spec_fail(r, key, "'%s' is another name of '%s': give one "
		"of the two", key->text, f->name);
}

static int read_key(struct gpc_spec_reader *r, const char *section,
	const struct gpc_yaml_node *map, size_t i, void *base)
{
	const struct gpc_yaml_node *key = map->keys[i], *value = map->items[i];
	const struct gpc_spec_field *f = gpc_spec_field_find(section, key->text);
	int e;

	if (!f)
		return fail_unknown(r, section, key);
	note_place(r, gpc_spec_field_path(f), key);
	e = check_alias(r, f, map, key);
	if (e)
		return e;
	return f->state == GPC_SPEC_REFUSED && r->mistakes && r->spec ?
		gpc_spec_read_unbuilt(r, f, key, value, base) :
		gpc_spec_read_value(r, f, value, base);
}

int gpc_spec_read_section(struct gpc_spec_reader *r, const char *section,
	const struct gpc_yaml_node *node, void *base)
{
	int first = 0;

	if (!node || node->kind != GPC_YAML_MAP) {
		gpc_autostr *found = describe(node);

		return gpc_spec_fail(r, node, "expected a map for %s, got %s",
			gpc_spec_section_title(section), found);
	}
	for (size_t i = 0; i < node->n; i++) {
		size_t before = gpc_spec_wrong(r);
		int e = read_key(r, section, node, i, base);

		if (!gpc_spec_goes_on(r, before, e, &first))
			return first;
	}
	/* what is missing may be what has a wrong name */
	return first ? first : check_required(r, section, node);
}

/* --- writing and clearing ----------------------------------------------------- */

void gpc_spec_write_section(const char *section, const void *base,
	struct gpc_json *object)
{
	const struct gpc_spec_field *fields;
	size_t n;

	fields = gpc_spec_fields(&n);
	for (size_t i = 0; i < n; i++) {
		const struct gpc_spec_field *f = &fields[i];
		const struct gpc_spec_kind *kind;
		struct gpc_json *value;

		if (!gpc_eq(f->section, section) ||
		    (f->flags & GPC_FIELD_NO_SLOT))
			continue;
		kind = gpc_spec_kind_of(f);
		value = kind && kind->write
			? kind->write(f, (const char *)base + f->offset) : NULL;
		if (value)
			gpc_json_set(object, f->name, value);
	}
}

void gpc_spec_clear_section(const char *section, void *base)
{
	const struct gpc_spec_field *fields;
	size_t n;

	fields = gpc_spec_fields(&n);
	for (size_t i = 0; i < n; i++) {
		const struct gpc_spec_field *f = &fields[i];
		const struct gpc_spec_kind *kind = gpc_spec_kind_of(f);

		if (gpc_eq(f->section, section) && kind && kind->clear &&
		    !(f->flags & GPC_FIELD_NO_SLOT))
			kind->clear(f, (char *)base + f->offset);
	}
}
