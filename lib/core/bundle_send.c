/* Bundles in a store: put among the blobs, and where a node finds its own. */
#include "core/bundle_send.h"

#include "base/str.h"
#include "core/bundle_cache.h"
#include "core/bundle_other.h"
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

static int open_and_send(struct gpc_session *s, enum gpc_arch arch,
	struct gpc_pairs *sums, struct gpc_error *err)
{
	gpc_auto(gpc_bundle_cached) struct gpc_bundle_cached b = { .fd = -1 };
	char hex[GPC_SHA256_HEX];
	int r = arch == gpc_arch_self() ? gpc_bundle_cached_open(s, &b, err) :
		gpc_bundle_other_open(s, arch, &b, err);

	if (r == 0)
		r = send(s, &b, err);
	if (r < 0)
		return r;
	gpc_hex(b.sum, GPC_SHA256_SIZE, hex);
	gpc_pairs_set(sums, gpc_arch_names[arch], hex);
	return 0;
}

int gpc_bundles_send(struct gpc_session *s, unsigned archs, struct gpc_pairs *ret_sums,
	struct gpc_error *err)
{
	gpc_autostr *url = NULL, *region = NULL;
	int r = gpc_store_address(s->store, GPC_BLOBS_COMMON "x", &url, &region,
		err);

	if (!archs)
		archs = GPC_ARCH_BIT(gpc_arch_self());
	for (int a = 0; r == 0 && a < GPC_ARCH__COUNT; a++) {
		if (!(archs & GPC_ARCH_BIT(a)))
			continue;
		r = open_and_send(s, a, ret_sums, err);
		if (r == -GPC_EPROTO)   /* what was kept of it is gone now */
			r = open_and_send(s, a, ret_sums, err);
	}
	return gpc_wrap(err, r, "bundle for the nodes");
}

int gpc_bundle_address(struct gpc_session *s, const struct gpc_job *job,
	enum gpc_arch arch, struct gpc_json **ret_j, struct gpc_error *err)
{
	const char *sha256 = gpc_bundle_sum_of(job, arch);
	gpc_autostr *url = NULL, *region = NULL;
	char key[520];
	int r;

	if (!sha256)
		return gpc_fail(err, GPC_ECONFIG, "the job was submitted without a "
			"bundle for nodes of %s: submit it again",
			gpc_arch_names[arch]);
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
