/* Keys that stand somewhere as they are: in the environment, in a file, in what a
 * program prints. A key without its secret is an error rather than a reason to
 * look on. */
#include <string.h>

#include "creds/aws_parts.h"
#include "creds/identity.h"
#include "creds/process.h"

int gpc_aws_from_env(struct gpc_aws_chain *c, struct gpc_creds_found *ret_f,
	struct gpc_error *err)
{
	const char *id = gpc_creds_env("AWS_ACCESS_KEY_ID");
	const char *secret = gpc_creds_env("AWS_SECRET_ACCESS_KEY");
	const char *token = gpc_creds_env("AWS_SECURITY_TOKEN");
	const char *end = gpc_creds_env("AWS_CREDENTIAL_EXPIRATION");
	struct gpc_identity *i = &ret_f->identity;
	int r;

	if (!id) {
		gpc_creds_saw(c->look, secret ? "AWS_SECRET_ACCESS_KEY is set, "
			"but not AWS_ACCESS_KEY_ID" :
			"AWS_ACCESS_KEY_ID is not set");
		return 0;
	}
	if (!secret)
		return gpc_fail(err, GPC_EAUTH, "AWS_ACCESS_KEY_ID is set, but "
			"not AWS_SECRET_ACCESS_KEY");
	r = gpc_identity_set_keys(i, id, secret, token ? token :
		gpc_creds_env("AWS_SESSION_TOKEN"), "the session token",
		"the environment", err);
	if (r)
		return r;
	if (end && gpc_identity_time(end, &i->expires_ms, err) < 0) {
		gpc_wrap(err, -GPC_ECONFIG, "AWS_CREDENTIAL_EXPIRATION");
		gpc_identity_clear(i);
		return gpc_recode(err, GPC_ECONFIG);
	}
	gpc_set_str(&i->account, gpc_creds_env("AWS_ACCOUNT_ID"));
	gpc_set_str(&i->source, "environment (AWS_ACCESS_KEY_ID)");
	return 0;
}

int gpc_aws_from_keys(struct gpc_aws_chain *c, const struct gpc_aws_profile *p,
	const struct gpc_ini_section *section, const char *file,
	struct gpc_creds_found *ret_f, struct gpc_error *err)
{
	const char *id = gpc_aws_section_get(section, "aws_access_key_id");
	const char *secret = gpc_aws_section_get(section,
		"aws_secret_access_key");
	const char *token = gpc_aws_section_get(section, "aws_security_token");
	gpc_autostr *where = NULL;
	int r;

	if (!id) {
		if (secret)
			gpc_creds_saw(c->look, "%s:%d has a secret key of "
				"profile %s, but no aws_access_key_id", file,
				gpc_ini_get(section, "aws_secret_access_key")
				->line, p->name);
		return 0;
	}
	where = gpc_format("%s:%d", file,
		gpc_ini_get(section, "aws_access_key_id")->line);
	if (!secret)
		return gpc_fail(err, GPC_EAUTH, "%s: profile %s has "
			"aws_access_key_id, but no aws_secret_access_key",
			where, p->name);
	r = gpc_identity_set_keys(&ret_f->identity, id, secret, token ? token :
		gpc_aws_section_get(section, "aws_session_token"),
		"the session token", where, err);
	if (r)
		return r;
	gpc_set_str(&ret_f->identity.account,
		gpc_aws_profile_get(p, "aws_account_id"));
	free(ret_f->identity.source);
	ret_f->identity.source = gpc_format("profile %s in %s", p->name, file);
	return 0;
}

static int run(struct gpc_aws_chain *c, const char *command,
	struct gpc_identity *i, struct gpc_error *err)
{
	static const struct gpc_identity_names names = {
		.id = "AccessKeyId", .secret = "SecretAccessKey",
		.token = "SessionToken", .expires_at = "Expiration",
		.account = "AccountId", .lasting = true, .no_token = true,
	};
	gpc_auto(gpc_strv) struct gpc_strv argv = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_auto(gpc_buf) struct gpc_buf out = {0};
	const struct gpc_process process = {
		.argv = &argv, .cancel = c->look->settings->cancel,
		.may_ask = !c->look->settings->no_prompt,
	};
	struct gpc_error ignored;
	int r = gpc_process_split(command, &argv, err);

	if (!r)
		r = gpc_process_run(&process, &out, err);
	if (!r && gpc_json_parse(gpc_buf_str(&out), out.len, &j, &ignored) < 0)
		r = gpc_fail(err, GPC_EAUTH, "%s printed no JSON", argv.v[0]);
	else if (!r && gpc_json_get_int(j, "Version", 0) != 1)
		r = gpc_fail(err, GPC_EAUTH, "%s printed JSON without "
			"\"Version\": 1", argv.v[0]);
	else if (!r)
		r = gpc_wrap(err, gpc_identity_read(j, &names,
			gpc_net_now_ms(c->look->net), i, err),
			"what %s printed", argv.v[0]);
	gpc_wipe(out.data, out.cap);
	return r;
}

int gpc_aws_from_process(struct gpc_aws_chain *c,
	const struct gpc_aws_profile *p, struct gpc_creds_found *ret_f,
	struct gpc_error *err)
{
	const char *command = gpc_aws_profile_get(p, "credential_process");
	gpc_autostr *where = gpc_aws_profile_where(p, "credential_process");
	struct gpc_identity *i = &ret_f->identity;
	int r;

	if (!command)
		return 0;
	r = run(c, command, i, err);
	if (r)
		return gpc_wrap(err, r, "%s: credential_process of profile %s",
			where, p->name);
	if (!i->account)
		gpc_set_str(&i->account,
			gpc_aws_profile_get(p, "aws_account_id"));
	free(i->source);
	i->source = gpc_format("credential_process of profile %s (%s)",
		p->name, where);
	return 0;
}
