/* ~/.alibabacloud/credentials, the older file of Alibaba Cloud's SDKs: a section for
 * each profile, with a type. */
#include <string.h>

#include "base/str.h"
#include "creds/alibaba_parts.h"
#include "creds/identity.h"
#include "creds/ini.h"

struct section {
	const struct gpc_creds_look *look;
	const struct gpc_ini_section *ini;
	const char *name;
	char *where;                    /* "~/.alibabacloud/credentials:3" */
};

static const char *get(const struct section *s, const char *key)
{
	const struct gpc_ini_value *v = gpc_ini_get(s->ini, key);

	return v && v->text[0] ? v->text : NULL;
}

static int get_keys(const struct section *s, struct gpc_identity *i,
	struct gpc_error *err)
{
	const char *id = get(s, "access_key_id");
	const char *secret = get(s, "access_key_secret");

	if (!id || !secret)
		return gpc_fail(err, GPC_EAUTH, "%s: profile %s has no %s",
			s->where, s->name, id ? "access_key_secret" :
			"access_key_id");
	return gpc_identity_set_keys(i, id, secret, get(s, "security_token"),
		GPC_ALIBABA_TOKEN, s->where, err);
}

static int get_role(const struct section *s, struct gpc_identity *i,
	struct gpc_error *err)
{
	const struct gpc_alibaba_role role = {
		.arn = get(s, "role_arn"),
		.session = get(s, "role_session_name"),
		.policy = get(s, "policy"),
		.where = s->where,
	};
	gpc_auto(gpc_identity) struct gpc_identity by = {0};
	int r;

	if (!role.arn)
		return gpc_fail(err, GPC_ECONFIG, "%s: profile %s has no "
			"role_arn", s->where, s->name);
	r = get_keys(s, &by, err);
	return r ? r : gpc_alibaba_assume(s->look, &role, &by, i, err);
}

static int read_section(const struct section *s, struct gpc_creds_found *ret_f,
	struct gpc_error *err)
{
	struct gpc_identity *i = &ret_f->identity;
	const char *type = get(s, "type");
	gpc_autostr *shown = type ? gpc_str_printable(type, strnlen(type, 40)) :
		NULL;
	int r;

	if (!type || strcmp(type, "access_key") == 0 ||
		strcmp(type, "sts") == 0)
		r = get_keys(s, i, err);
	else if (strcmp(type, "ecs_ram_role") == 0)
		r = gpc_wrap(err, gpc_alibaba_from_metadata(s->look,
			get(s, "role_name"), true, ret_f, err),
			"%s: profile %s", s->where, s->name);
	else if (strcmp(type, "ram_role_arn") == 0)
		r = get_role(s, i, err);
	else
		return gpc_fail(err, GPC_EUNSUPPORTED, "%s: profile %s has the "
			"type %s, which gpucloud does not support; it knows "
			"access_key, ram_role_arn, ecs_ram_role", s->where,
			s->name, shown);
	if (r)
		return r;
	free(i->source);
	i->source = gpc_format("profile %s (%s)", s->name, s->where);
	return 0;
}

static int load(struct gpc_ini *ini, char **ret_shown, struct gpc_error *err)
{
	gpc_autostr *path = NULL;
	int r = gpc_creds_file("ALIBABA_CLOUD_CREDENTIALS_FILE",
		".alibabacloud/credentials", &path, err);

	if (r)
		return r;
	*ret_shown = gpc_creds_show_path(path);
	return gpc_ini_load(path, ini, err);
}

int gpc_alibaba_from_ini(const struct gpc_creds_look *look,
	const struct gpc_alibaba_choice *choice, bool *ret_exists,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	gpc_auto(gpc_ini) struct gpc_ini ini = {0};
	gpc_autostr *shown = NULL;
	struct section s = {.look = look,
		.name = choice->name ? choice->name : "default"};
	int r = load(&ini, &shown, err);

	if (r)
		return r;
	s.ini = gpc_ini_find(&ini, s.name);
	if (!ini.path)
		gpc_creds_saw(look, "%s does not exist", shown);
	else if (!s.ini)
		gpc_creds_saw(look, "%s has no profile %s", shown, s.name);
	*ret_exists = s.ini != NULL;
	if (!s.ini)
		return 0;
	s.where = gpc_format("%s:%d", shown, s.ini->line);
	r = read_section(&s, ret_f, err);
	free(s.where);
	return r;
}
