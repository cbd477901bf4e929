/* The bundle in a store: put among the blobs, and where a node finds it. */
#include "core/bundle_send.h"

#include "base/str.h"
#include "core/bundle_cache.h"
#include "dep/crypto.h"
#include "provider/provider.h"
#include "snapshot/blob.h"
#include "snapshot/snapshot.h"

bool gpc_bundle_is_needed(const struct gpc_spec *spec)
{
	bool ordered;
	size_t n = gpc_spec_candidates(spec, &ordered);

	for (size_t i = 0; i < n; i++) {
		gpc_autostr *name = gpc_resources_provider(
			gpc_spec_candidate(spec, i));

		if (name && !(gpc_provider_caps(name) & GPC_PROVIDER_THIS_HOST))
			return true;
	}
	return false;
}

/* The file is only read where the store lacks it. */
static int send(struct gpc_session *s, struct gpc_bundle_cached *b,
	struct gpc_error *err)
{
	struct gpc_sender sender;
	bool has = false;
	int r = gpc_sender_open(&sender, s->store, GPC_BLOBS_COMMON, NULL, err);

	if (r < 0)
		return r;
	r = gpc_sender_has(&sender, b->sum, b->size, &has, err);
	if (r == 0 && !has)
		r = gpc_bundle_cached_check(b, err);
	if (r == 0)
		r = gpc_sender_put(&sender, b->sum, &(struct gpc_body){
			.fd = b->fd, .size = b->size }, err);
	if (r == 0)
		r = gpc_sender_sync(&sender, err);
	gpc_sender_close(&sender);
	return r;
}

static int open_and_send(struct gpc_session *s, char **ret_sha256,
	struct gpc_error *err)
{
	gpc_auto(gpc_bundle_cached) struct gpc_bundle_cached b = { .fd = -1 };
	char hex[GPC_SHA256_HEX];
	int r = gpc_bundle_cached_open(s, &b, err);

	if (r == 0)
		r = send(s, &b, err);
	if (r < 0)
		return r;
	gpc_hex(b.sum, GPC_SHA256_SIZE, hex);
	*ret_sha256 = gpc_strdup(hex);
	return 0;
}

int gpc_bundle_send(struct gpc_session *s, char **ret_sha256,
	struct gpc_error *err)
{
	gpc_autostr *url = NULL, *region = NULL;
	int r = gpc_store_address(s->store, GPC_BLOBS_COMMON "x", &url, &region,
		err);

	if (r == 0)
		r = open_and_send(s, ret_sha256, err);
	if (r == -GPC_EPROTO)           /* what was kept of it is gone now */
		r = open_and_send(s, ret_sha256, err);
	return gpc_wrap(err, r, "bundle for the nodes");
}

int gpc_bundle_address(struct gpc_session *s, const char *sha256,
	struct gpc_json **ret_j, struct gpc_error *err)
{
	gpc_autostr *url = NULL, *region = NULL;
	char key[520];
	int r;

	if (!sha256)
		return gpc_fail(err, GPC_ECONFIG, "the job was submitted without a "
			"bundle for its nodes: submit it again");
	gpc_blob_key(GPC_BLOBS_COMMON, sha256, key);
	r = gpc_store_address(s->store, key, &url, &region, err);
	if (r < 0)
		return r;
	*ret_j = gpc_json_object();
	gpc_json_set_str(*ret_j, "url", url);
	gpc_json_set_str(*ret_j, "region", region);
	gpc_json_set_str(*ret_j, "sha256", sha256);
	return 0;
}
