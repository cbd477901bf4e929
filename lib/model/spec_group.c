/* Files of several tasks: the header's termination_delay and the names that
 * header and tasks must agree on. */
#include <ctype.h>
#include <string.h>

#include "base/parse.h"
#include "base/vec.h"
#include "model/spec_read.h"

struct delays { struct gpc_spec_delay *v; size_t n, cap; };

static void delays_clear(struct delays *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->v[i].task);
	gpc_vec_free(d);
}
GPC_CLEANUP_VALUE(delays);

static int read_one(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, const char *task, struct delays *d)
{
	const char *text = gpc_spec_text(node);
	struct gpc_spec_delay *delay;
	int64_t ms;

	if (gpc_yaml_to_i64(node, &ms) && ms >= 0 && ms < 1000000000)
		ms *= 1000;
	else if (!text || gpc_parse_duration(text, 1000, f->name, &ms, NULL) ||
		 ms < 0)
		return gpc_spec_expected(r, f, node,
			"seconds, or a time such as 30s or 5m");
	gpc_spec_surprise(r, f, node);
	delay = gpc_vec_push(d);
	delay->task = gpc_strdup(task);
	delay->ms = ms;
	return 0;
}

static int read_delay(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
	const struct gpc_yaml_node *node, void *slot)
{
	gpc_auto(delays) struct delays d = {0};
	int e = 0;

	if (node->kind == GPC_YAML_MAP) {
		for (size_t i = 0; i < node->n && !e; i++) {
			const char *task = node->keys[i]->text;

			e = read_one(r, f, node->items[i],
				gpc_eq(task, "default") ? NULL : task, &d);
		}
	} else {
		e = read_one(r, f, node, NULL, &d);
	}
	if (!e && slot) {
		delays_clear(slot);
		*(struct delays *)slot = d;
		d = (struct delays){0};
	}
	return e;
}

static struct gpc_json *write_delay(const struct gpc_spec_field *f,
	const void *slot)
{
	const struct delays *d = slot;
	struct gpc_json *object;

	(void)f;
	if (!d->n)
		return NULL;
	object = gpc_json_object();
	for (size_t i = 0; i < d->n; i++) {
		const struct gpc_spec_delay *delay = &d->v[i];
		struct gpc_json *value = gpc_spec_write_duration(delay->ms);

		gpc_json_set(object, delay->task ? delay->task : "default",
			value ? value : gpc_json_int(0));
	}
	return object;
}

static void clear_delay(const struct gpc_spec_field *f, void *slot)
{
	(void)f;
	delays_clear(slot);
}

const struct gpc_spec_kind gpc_kind_delay = {
	read_delay, write_delay, clear_delay,
};

/* --- names ------------------------------------------------------------------------ */

static bool is_group_name(const char *name)
{
	if (!name)
		return false;
	for (const char *s = name; *s; s++) {
		if (!isalnum((unsigned char)*s) && *s != '_' && *s != '-')
			return false;
	}
	return *name != '\0';
}

static bool has_task(const struct gpc_spec_file *file, const char *name)
{
	for (size_t i = 0; i < file->tasks.n; i++) {
		if (gpc_eq(file->tasks.v[i].name, name))
			return true;
	}
	return false;
}

static int check_parallel(struct gpc_spec_reader *r,
	const struct gpc_spec_file *file)
{
	for (size_t i = 0; i < file->tasks.n; i++) {
		const struct gpc_spec *task = &file->tasks.v[i];
		gpc_autostr *where = gpc_spec_where(task, "name");

		if (!is_group_name(task->name))
			return gpc_fail(r->err, GPC_ECONFIG, "%s: task %zu of a "
				"job group needs a name of letters, digits, - "
				"and _", where, i + 1);
		for (size_t k = 0; k < i; k++) {
			if (gpc_eq(file->tasks.v[k].name, task->name))
				return gpc_fail(r->err, GPC_ECONFIG, "%s: two "
					"tasks are called '%s'", where,
					task->name);
		}
	}
	return 0;
}

int gpc_spec_check_group(struct gpc_spec_reader *r,
	const struct gpc_spec_file *file)
{
	if (!file->header)
		return 0;
	if (file->execution == GPC_SPEC_PARALLEL) {
		int e = check_parallel(r, file);

		if (e)
			return e;
	} else if (file->primary_tasks.n || file->termination_delay.n) {
		return gpc_spec_fail(r, NULL, "primary_tasks and "
			"termination_delay need execution: parallel");
	}
	for (size_t i = 0; i < file->primary_tasks.n; i++) {
		if (!has_task(file, file->primary_tasks.v[i]))
			return gpc_spec_fail(r, NULL, "primary_tasks: no task is "
				"called '%s'", file->primary_tasks.v[i]);
	}
	for (size_t i = 0; i < file->termination_delay.n; i++) {
		const char *task = file->termination_delay.v[i].task;

		if (task && !has_task(file, task))
			return gpc_spec_fail(r, NULL, "termination_delay: no "
				"task is called '%s'", task);
	}
	return 0;
}
