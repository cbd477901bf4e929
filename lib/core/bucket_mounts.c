/* See bucket_mounts.h. The agent copies what a bucket has when the node starts, so
 * the numbers here are those of the moment. */
#include "core/bucket_mounts.h"

#include <inttypes.h>

#include "base/parse.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/disk_room.h"
#include "transfer/source.h"

/* Some 20 requests: a few seconds. */
enum { COUNTED = 20000 };

void gpc_bucket_mounts_clear(struct gpc_bucket_mounts *m)
{
	gpc_vec_each(x, m) {
		free(x->target);
		free(x->source);
		free(x->why);
	}
	gpc_vec_free(m);
}

/* --- what is there ------------------------------------------------------------- */

/* It is the spec that names what is not there. */
static int blame(int r, struct gpc_error *err)
{
	return r == -GPC_ENOTFOUND || r == -GPC_EPROTO ?
		gpc_recode(err, GPC_ECONFIG) : r;
}

static int look(struct gpc_session *s, const struct gpc_spec_mount *from,
	struct gpc_bucket_mount *x, struct gpc_error *err)
{
	struct gpc_source_found found = {0};
	struct gpc_source source = { .url = from->source };
	int r;

	x->target = gpc_strdup(from->target);
	x->source = gpc_strdup(from->source);
	x->asked = gpc_spec_mount_mode(from);
	x->only_read = gpc_spec_mount_only_read(from);
	source.folder = x->asked != GPC_SPEC_MODE_COPY;
	source.ca_file = s->options.ca_file;
	source.cancel = s->cancel;
	source.log = s->log;
	r = gpc_source_look(&source, COUNTED, &found, err);
	if (r == 0 && !x->only_read)
		r = gpc_source_try_write(&source, err);
	x->files = found.files;
	x->bytes = found.bytes;
	x->complete = found.complete;
	return gpc_wrap(err, blame(r, err), "file_mounts.%s", from->target);
}

int gpc_bucket_mounts_look(struct gpc_session *s, const struct gpc_spec *spec,
	struct gpc_bucket_mounts *ret_m, struct gpc_error *err)
{
	gpc_auto(gpc_bucket_mounts) struct gpc_bucket_mounts m = {0};
	int r = 0;

	gpc_vec_each(from, &spec->file_mounts) {
		if (r == 0 && gpc_spec_source_is_bucket(from->source))
			r = look(s, from, gpc_vec_push(&m), err);
	}
	if (r < 0)
		return r;
	*ret_m = m;
	m = (struct gpc_bucket_mounts){0};
	return 0;
}

/* --- what becomes of it -------------------------------------------------------- */

static void choose(struct gpc_bucket_mount *x, const struct gpc_bucket_room *room)
{
	bool half = x->complete && room->bytes && x->bytes <= room->bytes / 2;

	x->mode = x->asked;
	gpc_set_str(&x->why, NULL);
	if (x->asked != GPC_SPEC_MODE_MOUNT)
		return;
	x->mode = x->only_read && half ? GPC_SPEC_MODE_COPY :
		GPC_SPEC_MODE_MOUNT_CACHED;
	gpc_set_str(&x->why, !x->only_read ? "this gpucloud mounts by no FUSE "
		"tool, and it may be written" : half ? "this gpucloud mounts by "
		"no FUSE tool; it is only read, and fits half the disk" :
		"this gpucloud mounts by no FUSE tool; it is only read, but may "
		"not fit half the disk");
}

static int fail_room(uint64_t bytes, bool complete,
	const struct gpc_bucket_room *room, struct gpc_error *err)
{
	char need[32], have[32];
	int r = gpc_fail(err, GPC_ECONFIG, "file_mounts: the buckets have %s%s, "
		"more than the %s of %s", complete ? "" : "at least ",
		gpc_format_size(bytes, need, sizeof(need)),
		gpc_format_size(room->bytes, have, sizeof(have)), room->of);

	gpc_hint(err, "take less (a folder in the bucket), or a node with a "
		"larger disk (resources.disk_size)");
	return r;
}

int gpc_bucket_mounts_decide(struct gpc_bucket_mounts *m,
	const struct gpc_bucket_room *room, struct gpc_error *err)
{
	uint64_t bytes = 0;
	bool complete = true;

	gpc_vec_each(x, m) {
		choose(x, room);
		bytes = x->bytes > UINT64_MAX - bytes ? UINT64_MAX :
			bytes + x->bytes;
		complete = complete && x->complete;
	}
	return room->bytes && bytes > room->bytes ?
		fail_room(bytes, complete, room, err) : 0;
}

int gpc_bucket_mounts_plan(struct gpc_session *s, const struct gpc_spec *spec,
	const struct gpc_plan *plan, struct gpc_bucket_mounts *m,
	struct gpc_error *err)
{
	const struct gpc_offer *o = &plan->offers.v[0];
	const struct gpc_resources *r = gpc_spec_candidate(spec,
		gpc_plan_candidate(o));
	uint64_t free_bytes = gpc_disk_room(s, plan);
	struct gpc_bucket_room room = { r->disk_bytes, "resources.disk_size" };

	if (free_bytes && (!room.bytes || free_bytes < room.bytes)) {
		room.bytes = free_bytes;
		room.of = plan->num_nodes > 1 ?
			"each node's share of what is free on this machine" :
			"what is free on this machine";
	}
	return gpc_bucket_mounts_decide(m, &room, err);
}

void gpc_bucket_mounts_note(const struct gpc_bucket_mounts *m, struct gpc_job *job)
{
	gpc_vec_each(x, m) {
		struct gpc_job_bucket *b = gpc_vec_push(&job->buckets);

		b->target = gpc_strdup(x->target);
		b->source = gpc_strdup(x->source);
		b->mode = gpc_strdup(gpc_spec_mode_names[x->mode]);
	}
}
