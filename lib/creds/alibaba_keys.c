/* Keys of Alibaba Cloud that stand in the environment as they are. Its tools have
 * three families of names, and those of OSS one more; a key counts with the secret
 * and the token of its own family only, so that two sets are never mixed. */
#include <string.h>

#include "creds/alibaba_parts.h"
#include "creds/identity.h"

const char *gpc_alibaba_env(const char *name)
{
	static const char *const families[] = {
		"ALIBABA_CLOUD", "ALIBABACLOUD", "ALICLOUD",
	};

	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
		gpc_autostr *variable = gpc_format("%s_%s", families[i], name);
		const char *value = gpc_creds_env(variable);

		if (value)
			return value;
	}
	return NULL;
}

bool gpc_alibaba_has_env(void)
{
	return gpc_alibaba_env("ACCESS_KEY_ID") ||
		gpc_creds_env("OSS_ACCESS_KEY_ID");
}

int gpc_alibaba_from_env(const struct gpc_creds_look *look,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	static const struct { const char *id, *secret, *token; } sets[] = {
		{"ALIBABA_CLOUD_ACCESS_KEY_ID",
			"ALIBABA_CLOUD_ACCESS_KEY_SECRET",
			"ALIBABA_CLOUD_SECURITY_TOKEN"},
		{"ALIBABACLOUD_ACCESS_KEY_ID",
			"ALIBABACLOUD_ACCESS_KEY_SECRET",
			"ALIBABACLOUD_SECURITY_TOKEN"},
		{"ALICLOUD_ACCESS_KEY_ID", "ALICLOUD_ACCESS_KEY_SECRET",
			"ALICLOUD_SECURITY_TOKEN"},
		{"OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET",
			"OSS_SESSION_TOKEN"},
	};
	struct gpc_identity *i = &ret_f->identity;

	for (size_t k = 0; k < sizeof(sets) / sizeof(*sets); k++) {
		const char *id = gpc_creds_env(sets[k].id);
		const char *secret = gpc_creds_env(sets[k].secret);
		int r;

		if (!id && secret)
			gpc_creds_saw(look, "%s is set, but not %s",
				sets[k].secret, sets[k].id);
		if (!id)
			continue;
		if (!secret)
			return gpc_fail(err, GPC_EAUTH, "%s is set, but not %s",
				sets[k].id, sets[k].secret);
		r = gpc_identity_set_keys(i, id, secret,
			gpc_creds_env(sets[k].token), GPC_ALIBABA_TOKEN,
			"the environment", err);
		if (r)
			return r;
		free(i->source);
		i->source = gpc_format("environment (%s)", sets[k].id);
		return 0;
	}
	gpc_creds_saw(look, "ALIBABA_CLOUD_ACCESS_KEY_ID is not set");
	return 0;
}

int gpc_alibaba_from_bare_env(struct gpc_creds_found *ret_f,
	struct gpc_error *err)
{
	const char *id = gpc_creds_env("ACCESS_KEY_ID");
	const char *secret = gpc_creds_env("ACCESS_KEY_SECRET");
	struct gpc_identity *i = &ret_f->identity;
	int r;

	/* One alone is somebody else's. */
	if (!id || !secret)
		return 0;
	r = gpc_identity_set_keys(i, id, secret,
		gpc_creds_env("SECURITY_TOKEN"), GPC_ALIBABA_TOKEN,
		"the environment", err);
	if (!r)
		gpc_set_str(&i->source, "environment (ACCESS_KEY_ID)");
	return r;
}
