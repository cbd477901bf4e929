/* What services and programs hand out as an identity: whatever comes, an identity
 * is whole and can stand in a header, or the message names no part of the text. */
#include "fuzz.h"

#include "creds/identity.h"
#include "creds/token.h"

static const struct gpc_identity_names forms[] = {
	{.id = "AccessKeyId", .secret = "SecretAccessKey", .token = "Token",
		.expires_at = "Expiration", .account = "AccountId"},
	{.id = "accessKeyId", .secret = "secretAccessKey",
		.token = "sessionToken", .expires_at = "expiration"},
	{.id = "AccessKeyId", .secret = "SecretAccessKey",
		.token = "SessionToken", .expires_at = "Expiration",
		.lasting = true, .no_token = true},
	{.bearer = "access_token", .expires_in = "expires_in"},
};

static void check_text(const char *text)
{
	struct gpc_error err = {0};

	if (text)
		fuzz_check(gpc_token_check("it", text, &err) == 0,
			"%s, and is taken", err.msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct gpc_identity_names *names = &forms[n ? data[0] % 4 : 0];
	gpc_auto(gpc_identity) struct gpc_identity i = {0};
	gpc_autostr *text = gpc_strndup(n ? (const char *)data + 1 : "",
		n ? n - 1 : 0);
	struct gpc_error err = {0};

	if (gpc_identity_parse(text, strlen(text), names, 1000, &i, &err) < 0) {
		fuzz_check(err.msg[0], "an error without a message");
		return 0;
	}
	fuzz_check(names->bearer ? i.bearer != NULL : i.id && i.secret,
		"half an identity");
	fuzz_check(names->no_token || names->bearer || i.token, "no token");
	fuzz_check(names->lasting || i.expires_ms != 0, "no end");
	check_text(i.id);
	check_text(i.secret);
	check_text(i.token);
	check_text(i.bearer);
	return 0;
}
