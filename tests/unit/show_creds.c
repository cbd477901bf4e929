/* Shows who the chain of AWS says we are, as JSON; of secrets only a hash:
 *   show-creds [-p PROFILE] [-r] [-c] [-s SERVICE NAME]
 * -r renews once more, -c asks STS who that is, -s shows a setting instead. A
 * failure is {code, msg, hint, request_id}, and its exit status that of gpucloud. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "creds/creds.h"
#include "dep/crypto.h"
#include "dep/json.h"

static void show_hash(struct gpc_json *shown, const char *name, const char *s)
{
	char hex[GPC_SHA256_HEX];

	if (s)
		gpc_json_set_str(shown, name, gpc_sha256_hex(s, strlen(s),
			hex));
}

static int show(struct gpc_creds *creds, bool renew, bool ask,
	struct gpc_json *shown, struct gpc_error *err)
{
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	int r = gpc_creds_get(creds, renew, &i, err);

	if (!r && ask)
		r = gpc_creds_whoami(creds, &i, err);
	if (r)
		return r;
	gpc_json_set_str(shown, "id", i.id);
	show_hash(shown, "secret_sha256", i.secret);
	show_hash(shown, "token_sha256", i.token);
	gpc_json_set_int(shown, "expires_ms", i.expires_ms);
	gpc_json_set_str(shown, "source", i.source);
	gpc_json_set_str(shown, "account", i.account);
	gpc_json_set_str(shown, "region", i.region);
	if (ask)
		gpc_json_set_str(shown, "arn", i.name);
	return 0;
}

int main(int argc, char **argv)
{
	struct gpc_creds_settings settings = {.cloud = GPC_CLOUD_AWS};
	const struct gpc_net_settings how = {.max_tries = 2};
	gpc_autoptr(gpc_net) *net = gpc_net_new(&how);
	gpc_autoptr(gpc_creds) *creds = NULL;
	gpc_autoptr(gpc_json) *shown = gpc_json_object();
	gpc_autostr *text = NULL, *value = NULL;
	bool renew = false, ask = false, setting = false;
	struct gpc_error err = {0};
	int c, r = 0;

	while ((c = getopt(argc, argv, "p:rcs")) != -1) {
		if (c == 'p')
			settings.profile = optarg;
		renew |= c == 'r';
		ask |= c == 'c';
		setting |= c == 's';
	}
	settings.no_prompt = !isatty(0);
	creds = gpc_creds_new(&settings, net);
	if (setting && optind + 1 < argc) {
		value = gpc_creds_setting(creds, argv[optind][0] ?
			argv[optind] : NULL, argv[optind + 1]);
		gpc_json_set_str(shown, "value", value);
	} else {
		r = show(creds, renew, ask, shown, &err);
	}
	if (r) {
		gpc_json_set_str(shown, "code", gpc_code_to_str(err.code));
		gpc_json_set_str(shown, "msg", err.msg);
		gpc_json_set_str(shown, "hint", err.hint);
		gpc_json_set_str(shown, "request_id", err.request_id);
	}
	text = gpc_json_print(shown);
	puts(text);
	return r ? gpc_error_exit(&err) : 0;
}
