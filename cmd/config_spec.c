/* What the configuration's files say about a job. They rank below its spec, so
 * each value is laid under it: a field that the spec names in any form, also in
 * one of its alternatives, is left alone. (The environment and options rank
 * above the spec and go another way.)
 */
#include <string.h>

#include "cmd/config_load.h"

static bool names(const struct gpc_spec *spec, const char *field)
{
	gpc_vec_each(p, &spec->places) {
		if (gpc_eq(p->field, field))
			return true;
	}
	return false;
}

/* What a machine type says by itself. */
static bool of_machine(const char *field)
{
	return gpc_eq(field, "resources.accelerators") ||
		gpc_eq(field, "resources.cpus") ||
		gpc_eq(field, "resources.memory");
}

static bool names_field(const struct gpc_spec *spec, const char *field)
{
	static const char *const infra[] = {
		"resources.cloud", "resources.region", "resources.zone",
	};

	if (gpc_starts_with(field, "task."))
		field += strlen("task.");
	if (names(spec, field))
		return true;
	if (gpc_starts_with(field, "resources.") &&
		(spec->resources.any_of.n || spec->resources.ordered.n))
		return true;
	if (of_machine(field) && names(spec, "resources.instance_type"))
		return true;
	for (size_t i = 0; i < sizeof(infra) / sizeof(*infra); i++) {
		if (gpc_eq(field, "resources.infra") && names(spec, infra[i]))
			return true;
	}
	return false;
}

/* "submit.max_cost" of "max-cost"; owned. */
static char *key_of(const char *word)
{
	char *key = gpc_format("submit.%s", word);

	for (char *s = key; *s; s++) {
		if (*s == '-')
			*s = '_';
	}
	return key;
}

static const struct gpc_config_more *from_file(const struct gpc_config *c,
	const char *word)
{
	gpc_autostr *key = key_of(word);
	const struct gpc_config_more *m = gpc_config_find_more(c, key);

	return m && m->origin < GPC_FROM_ENV ? m : NULL;
}

static int lay_field(const struct gpc_config *c, struct gpc_spec *spec,
	const struct gpc_spec_option *o, struct gpc_strv *warnings,
	struct gpc_error *err)
{
	const struct gpc_config_more *m = from_file(c, o->word);

	if (!m || names_field(spec, o->field))
		return 0;
	gpc_autostr *value = gpc_strv_join(&m->items, ",");
	int r = gpc_spec_override(spec, o->word, value, warnings, err);
	if (!r)
		return 0;
	return gpc_wrap(err, gpc_recode(err, GPC_ECONFIG), "%s", m->where);
}

/* The name of NAME or NAME=..., owned; NULL: the spec has it already. */
static char *name_to_lay(const struct gpc_spec *spec, const char *item)
{
	gpc_autostr *name = gpc_strndup(item, strcspn(item, "="));

	return gpc_pairs_has(&spec->envs, name) ||
		gpc_pairs_has(&spec->secrets, name) ? NULL : gpc_steal(&name);
}

static int lay_envs(const struct gpc_config *c, struct gpc_spec *spec,
	const struct gpc_spec_host *host, struct gpc_error *err)
{
	const struct gpc_config_more *m = from_file(c, "env");

	for (size_t i = 0; m && i < m->items.n; i++) {
		const char *item = m->items.v[i];
		gpc_autostr *name = name_to_lay(spec, item);

		if (!name)
			continue;
		int r = gpc_spec_env(spec, item, host, err);
		if (!r)
			continue;
		return gpc_wrap(err, gpc_recode(err, GPC_ECONFIG), "%s", m->where);
	}
	return 0;
}

/* One without a file gets its value with those of the spec, so that an option
 * may still give it. */
static int lay_secrets(const struct gpc_config *c, struct gpc_spec *spec,
	const struct gpc_spec_host *host, struct gpc_error *err)
{
	const struct gpc_config_more *m = from_file(c, "secret");

	for (size_t i = 0; m && i < m->items.n; i++) {
		const char *item = m->items.v[i];
		gpc_autostr *name = name_to_lay(spec, item);

		if (!name)
			continue;
		if (gpc_eq(item, name)) {
			gpc_pairs_set(&spec->secrets, name, NULL);
			continue;
		}
		int r = gpc_spec_secret(spec, item, host, NULL, err);
		if (!r)
			continue;
		return gpc_wrap(err, gpc_recode(err, GPC_ECONFIG), "%s", m->where);
	}
	return 0;
}

int gpc_config_under_spec(const struct gpc_config *c, bool machine_given,
	struct gpc_spec *spec, const struct gpc_spec_host *host,
	struct gpc_strv *warnings, struct gpc_error *err)
{
	size_t n;
	const struct gpc_spec_option *o = gpc_spec_options(&n);
	int r = 0;

	if (!c->more.n)
		return 0;
	for (size_t i = 0; i < n && !r; i++) {
		if (!machine_given || !of_machine(o[i].field))
			r = lay_field(c, spec, &o[i], warnings, err);
	}
	if (!r)
		r = lay_secrets(c, spec, host, err);
	return r ? r : lay_envs(c, spec, host, err);
}
