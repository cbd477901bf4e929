/* A bundle is known by the program's file as it was when it was made. */
#include "core/bundle_send.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "core/bundle.h"
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

/* Where the bundle of this very program is kept. */
static int cache_path(struct gpc_session *s, char **ret_path,
	struct gpc_error *err)
{
	const char *self = s->place.self_path;
	gpc_autostr *dir = gpc_path_join(s->place.cache_dir, "bundles");
	gpc_autostr *known = NULL;
	char hex[GPC_SHA256_HEX];
	struct stat st;
	int r;

	if (!self || stat(self, &st) < 0)
		return gpc_fail_sys(err, self ? errno : ENOENT, "cannot look at "
			"this program's file %s", self ? self : "");
	known = gpc_format("%s %lld %lld %lld %lld", self, (long long)st.st_dev,
		(long long)st.st_ino, (long long)st.st_size,
		(long long)st.st_mtime);
	gpc_sha256_hex(known, strlen(known), hex);
	r = gpc_mkdirs(dir, 0700, err);
	if (r == 0)
		*ret_path = gpc_format("%s/%.16s.tar.gz", dir, hex);
	return r;
}

static int hash_file(int fd, uint64_t size, uint8_t sum[GPC_SHA256_SIZE],
	struct gpc_error *err)
{
	const struct gpc_body body = { .fd = fd, .size = size };
	gpc_autoptr(gpc_sha256) *h = gpc_sha256_new();
	char block[1 << 16];
	size_t n = 0;

	for (uint64_t at = 0; at < size; at += n) {
		int r = gpc_body_read(&body, at, block, sizeof(block), &n, err);

		if (r < 0)
			return r;
		gpc_sha256_add(h, block, n);
	}
	gpc_sha256_end(h, sum);
	return 0;
}

/* Puts the file as a blob. */
static int send(struct gpc_session *s, const char *path, char **ret_sha256,
	struct gpc_error *err)
{
	struct gpc_sender sender;
	uint8_t sum[GPC_SHA256_SIZE];
	char hex[GPC_SHA256_HEX];
	gpc_autofd fd = -1;
	struct stat st = {0};
	int r = gpc_open(path, O_RDONLY, 0, &fd, err);

	if (r == 0 && fstat(fd, &st) < 0)
		r = gpc_fail_sys(err, errno, "%s", path);
	if (r == 0)
		r = hash_file(fd, (uint64_t)st.st_size, sum, err);
	if (r < 0)
		return r;
	r = gpc_sender_open(&sender, s->store, GPC_BLOBS_COMMON, NULL, err);
	if (r < 0)
		return r;
	r = gpc_sender_put(&sender, sum, &(struct gpc_body){ .fd = fd,
		.size = (uint64_t)st.st_size }, err);
	if (r == 0)
		r = gpc_sender_sync(&sender, err);
	gpc_sender_close(&sender);
	gpc_hex(sum, GPC_SHA256_SIZE, hex);
	if (r == 0)
		*ret_sha256 = gpc_strdup(hex);
	return r;
}

int gpc_bundle_send(struct gpc_session *s, char **ret_sha256,
	struct gpc_error *err)
{
	struct gpc_bundle_facts facts;
	gpc_autostr *path = NULL, *url = NULL, *region = NULL;
	struct stat st;
	int r = gpc_store_address(s->store, GPC_BLOBS_COMMON "x", &url, &region,
		err);

	if (r == 0)
		r = cache_path(s, &path, err);
	if (r == 0 && stat(path, &st) < 0)
		r = gpc_bundle_write(s->place.self_path, path, &facts, err);
	if (r == 0)
		r = send(s, path, ret_sha256, err);
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
