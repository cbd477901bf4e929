/* How a mount of a bucket is meant. A spec leaves much of that open, and its
 * config is carried as it was written. */
#include <string.h>

#include "base/str.h"
#include "model/spec.h"

bool gpc_spec_source_is_bucket(const char *source)
{
	return source && (gpc_starts_with(source, "s3://") ||
		gpc_starts_with(source, "gs://") ||
		gpc_starts_with(source, "oss://"));
}

static bool is_only_read_type(enum gpc_spec_mount_type type)
{
	return type == GPC_SPEC_TYPE_MODEL_CHECKPOINT_RO ||
		type == GPC_SPEC_TYPE_DATASET_RO;
}

/* As in SkyPilot: a bare URI is copied; a type goes with MOUNT_CACHED alone. */
enum gpc_spec_mount_mode gpc_spec_mount_mode(const struct gpc_spec_mount *m)
{
	if (!m->object)
		return GPC_SPEC_MODE_COPY;
	if (m->mode)
		return m->mode;
	return m->type ? GPC_SPEC_MODE_MOUNT_CACHED : GPC_SPEC_MODE_MOUNT;
}

static const struct gpc_json *config_of(const struct gpc_spec_mount *m,
	const char *section)
{
	return gpc_json_get(m->config, section);
}

bool gpc_spec_mount_only_read(const struct gpc_spec_mount *m)
{
	const char *section = gpc_spec_mount_mode(m) == GPC_SPEC_MODE_MOUNT ?
		"mount" : "mount_cached";

	if (gpc_spec_mount_mode(m) == GPC_SPEC_MODE_COPY)
		return true;
	return is_only_read_type(m->type) ||
		gpc_json_bool_or(gpc_json_get(config_of(m, section),
			"read_only"), false);
}

int gpc_spec_mount_transfers(const struct gpc_spec_mount *m)
{
	return (int)gpc_json_get_int(config_of(m, "mount_cached"), "transfers",
		1);
}
