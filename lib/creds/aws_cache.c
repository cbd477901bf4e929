/* The cache of AWS's command line, ~/.aws/cli/cache/<SHA-1>.json: roles and SSO
 * roles, so that a code is not asked for at each command. The name comes from the
 * same bytes as there (JSON as Python prints it), so that one finds what the other
 * has got. Written to a temporary file, private, then renamed. */
#include "creds/aws_parts.h"

#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "creds/identity.h"
#include "dep/crypto.h"
#include "dep/json.h"

#define MAX_BYTES ((size_t)64 << 10)
#define NEAR_MS (INT64_C(15) * 60 * 1000)

void gpc_aws_cache_open(const char *text, struct gpc_aws_cache *ret_c)
{
	gpc_autostr *home = NULL;
	char name[2 * GPC_SHA1_SIZE + 1];
	uint8_t sum[GPC_SHA1_SIZE];
	struct gpc_error ignored;

	if (!text || gpc_home(&home, &ignored) < 0 ||
		gpc_sha1(text, strlen(text), sum, &ignored) < 0)
		return;
	gpc_hex(sum, sizeof(sum), name);
	ret_c->path = gpc_format("%s/.aws/cli/cache/%s.json", home, name);
}

void gpc_aws_cache_clear(struct gpc_aws_cache *c)
{
	free(c->path);
	c->path = NULL;
}

bool gpc_aws_cache_get(const struct gpc_aws_cache *c, int64_t now_ms,
	struct gpc_identity *i)
{
	static const struct gpc_identity_names names = {
		.id = "AccessKeyId", .secret = "SecretAccessKey",
		.token = "SessionToken", .expires_at = "Expiration",
		.account = "AccountId",
	};
	gpc_auto(gpc_identity) struct gpc_identity kept = {0};
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_error ignored;
	bool good;

	if (!c->path || gpc_read_file(c->path, MAX_BYTES, &b, &ignored) < 0)
		return false;
	good = gpc_json_parse(gpc_buf_str(&b), b.len, &j, &ignored) == 0 &&
		gpc_identity_read(gpc_json_get(j, "Credentials"), &names,
		now_ms, &kept, &ignored) == 0 &&
		kept.expires_ms - now_ms > NEAR_MS;
	gpc_wipe(b.data, b.cap);
	if (good)
		gpc_identity_copy(i, &kept);
	return good;
}

void gpc_aws_cache_put(const struct gpc_aws_cache *c, const char *kind,
	const struct gpc_identity *i)
{
	gpc_autostr *dir = c->path ? gpc_path_dir(c->path) : NULL;
	gpc_autoptr(gpc_json) *j = NULL;
	struct gpc_json *keys;
	gpc_autostr *text = NULL;
	char end[GPC_RFC3339_SIZE];
	struct gpc_error ignored;
	int r;

	if (!dir || gpc_mkdirs(dir, 0700, &ignored) < 0)
		return;
	j = gpc_json_object();
	keys = gpc_json_object();
	gpc_json_set_str(j, "ProviderType", kind);
	gpc_json_set_str(keys, "AccessKeyId", i->id);
	gpc_json_set_str(keys, "SecretAccessKey", i->secret);
	gpc_json_set_str(keys, "SessionToken", i->token);
	gpc_json_set_str(keys, "Expiration",
		gpc_identity_time_text(i->expires_ms, end));
	if (i->account)
		gpc_json_set_str(keys, "AccountId", i->account);
	gpc_json_set(j, "Credentials", keys);
	text = gpc_json_print(j);
	/* What cannot be written is got anew next time. */
	r = gpc_write_file(c->path, text, strlen(text), 0600, &ignored);
	(void)r;
	gpc_wipe_str(text);
}
