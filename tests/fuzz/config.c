/* The configuration: a user's file with profiles, a project's file (which may set
 * less), and an environment, divided by NUL bytes; then every value is asked
 * for. */
#include "fuzz.h"

#include "model/config.h"

/* One extra key, as options of commands have: lists of short words. */
static bool find_extra(const char *name, struct gpc_config_extra *ret_extra)
{
	if (!gpc_eq(name, "submit.env") && !gpc_eq(name, "logs.tail"))
		return false;
	*ret_extra = (struct gpc_config_extra){.expected = "words",
		.doc = "words", .list = name[0] == 's', .guarded = name[0] == 'l'};
	return true;
}

static int check_extra(const struct gpc_config_extra *extra, const char *text,
	const char *label, struct gpc_error *err)
{
	if (strlen(text) < 9)
		return 0;
	return gpc_fail(err, GPC_ECONFIG, "%s: expected %s", label,
		extra->expected);
}

static void name_extras(struct gpc_strv *ret_names)
{
	gpc_strv_add(ret_names, "submit.env");
	gpc_strv_add(ret_names, "logs.tail");
}

static const struct gpc_config_extension extension = {
	.find = find_extra, .check = check_extra, .names = name_extras,
};

static void ask(const struct gpc_config *c)
{
	for (int i = 0; i < GPC_CONFIG__COUNT; i++) {
		enum gpc_config_key key = (enum gpc_config_key)i;
		const struct gpc_config_field *f = &gpc_config_fields[i];

		fuzz_check(gpc_config_where(c, key), "%s is from nowhere",
			f->name);
		fuzz_check(!f->user_only || c->guard == GPC_GUARD_TRUST
			|| gpc_config_origin(c, key) != GPC_FROM_PROJECT,
			"a project set %s", f->name);
		if (!gpc_config_is_set(c, key))
			continue;
		if (f->kind == GPC_CONFIG_STR)
			fuzz_check(gpc_config_str(c, key), "%s is empty",
				f->name);
		if (f->kind == GPC_CONFIG_ENUM)
			for (int w = gpc_config_enum(c, key); w >= 0; w--)
				fuzz_check(f->words[w], "%s is no word",
					f->name);
		if (f->kind == GPC_CONFIG_MONEY)
			fuzz_check(gpc_config_money(c, key).micros >= 0,
				"%s is negative", f->name);
	}
	gpc_vec_each(m, &c->more)
		fuzz_check(gpc_config_find_more(c, m->name) && m->items.n > 0
			&& (c->guard == GPC_GUARD_TRUST || m->name[0] != 'l'
			|| m->origin != GPC_FROM_PROJECT), "%s is strange",
			m->name);
}

static void read_env(struct gpc_config *c, struct fuzz_in *in)
{
	gpc_auto(gpc_strv) struct gpc_strv env = {0};
	struct gpc_error err = {0};
	struct gpc_str line;

	while (fuzz_part(in, '\n', &line) && env.n < 100)
		gpc_strv_take(&env, gpc_strndup(line.ptr,
			strnlen(line.ptr, line.len)));
	gpc_strv_add(&env, "GPUCLOUD_COLOR=auto");
	gpc_strv_take(&env, NULL);
	if (gpc_config_read_env(c, env.v, &err) < 0)
		fuzz_check(err.msg[0], "an error without a message");
}

static void read_text(struct gpc_config *c, bool project, struct gpc_str text)
{
	gpc_auto(gpc_strv) struct gpc_strv warnings = {0};
	struct gpc_error err = {0};

	if (gpc_config_read(c, project ? GPC_FROM_PROJECT : GPC_FROM_USER,
		text.ptr, text.len, "config.yaml", &warnings, &err) < 0)
		fuzz_check(err.msg[0], "an error without a message");
	if (!project && gpc_config_read_profile(c, "night", "--profile",
		text.ptr, text.len, "config.yaml", &err) < 0)
		fuzz_check(err.msg[0], "an error without a message");
	ask(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const enum gpc_config_guard guards[] = {GPC_GUARD_REFUSE,
		GPC_GUARD_TRUST, GPC_GUARD_SKIP};
	gpc_auto(gpc_config) struct gpc_config c = {0};
	struct fuzz_in in = {data, n};
	struct gpc_str part;

	gpc_config_init(&c);
	c.extension = &extension;
	c.guard = guards[n % COUNT(guards)];
	for (int i = 0; i < 2 && fuzz_part(&in, '\0', &part); i++)
		read_text(&c, i, part);
	read_env(&c, &in);
	ask(&c);
	return 0;
}
