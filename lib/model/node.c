/* What passes between buyers, agents and readers, as JSON by tables. */
#include "model/node.h"

#include "base/str.h"
#include "dep/bind.h"

#define VERSION 1

/* --- launch ------------------------------------------------------------ */

static const struct gpc_bind launch_fields[] = {
	GPC_BIND(gpc_launch, v, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_launch, token, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_launch, job, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_launch, name, STR),
	GPC_BIND(gpc_launch, attempt, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_launch, count, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_launch, provider, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_launch, tags, PAIRS),
	GPC_BIND(gpc_launch, expires_ms, I53),
	GPC_BIND(gpc_launch, store_url, STR),
	GPC_BIND(gpc_launch, buckets, STRV),
	GPC_BIND(gpc_launch, cpus_at_least, BOOL),
	GPC_BIND(gpc_launch, memory_bytes, I64),
	GPC_BIND(gpc_launch, memory_at_least, BOOL),
	GPC_BIND(gpc_launch, gpus, INT),
	GPC_BIND(gpc_launch, rest, REST),
	GPC_BIND_LAST
};

struct gpc_json *gpc_launch_write(const struct gpc_launch *l)
{
	struct gpc_json *j = gpc_bind_write(launch_fields, l);

	if (l->cpus > 0)
		gpc_json_set(j, "cpus", gpc_json_number(l->cpus));
	if (l->offer.provider)
		gpc_json_set(j, "offer", gpc_offer_write(&l->offer));
	return j;
}

int gpc_launch_read(const struct gpc_json *j, struct gpc_launch *ret_l,
	struct gpc_error *err)
{
	gpc_auto(gpc_launch) struct gpc_launch l = {0};
	int r = gpc_bind_read(j, launch_fields, &l, err);

	if (r < 0)
		return r;
	if (l.v > VERSION)
		return gpc_fail(err, GPC_EUNSUPPORTED, "the launch has version "
			"%d, this gpucloud knows %d", l.v, VERSION);
	l.cpus = gpc_json_number_or(gpc_json_get(l.rest, "cpus"), 0);
	if (gpc_json_get(l.rest, "offer")) {
		r = gpc_offer_read(gpc_json_get(l.rest, "offer"), &l.offer,
			err);
		if (r < 0)
			return gpc_wrap(err, r, "$.offer");
	}
	if (l.rest) {
		gpc_json_unset(l.rest, "cpus");
		gpc_json_unset(l.rest, "offer");
	}
	*ret_l = l;
	l = (struct gpc_launch){0};
	return 0;
}

void gpc_launch_clear(struct gpc_launch *l)
{
	gpc_bind_clear(launch_fields, l);
	gpc_offer_clear(&l->offer);
	l->cpus = 0;
}

void gpc_instances_clear(struct gpc_instances *x)
{
	gpc_vec_each(i, x) {
		free(i->id);
		free(i->token);
		free(i->address);
		free(i->why);
		gpc_pairs_clear(&i->tags);
	}
	gpc_vec_free(x);
}

/* --- facts ------------------------------------------------------------- */

const char *const gpc_phase_names[] = {
	[GPC_PHASE_BOOT] = "boot",
	[GPC_PHASE_RESTORE] = "restore",
	[GPC_PHASE_SETUP] = "setup",
	[GPC_PHASE_RUN] = "run",
	[GPC_PHASE_SAVE] = "save",
	[GPC_PHASE_DRAIN] = "drain",
	[GPC_PHASE_DONE] = "done",
	[GPC_PHASE__COUNT] = NULL,
};

char *gpc_rank_here(int rank)
{
	int n = rank + 1;

	return gpc_format("127.%d.%d.%d", n >> 16 & 255, n >> 8 & 255, n & 255);
}

static const struct gpc_bind beat_fields[] = {
	GPC_BIND(gpc_beat, v, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_beat, n, I53, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_beat, boot, STR),
	GPC_BIND(gpc_beat, instance, STR),
	GPC_BIND(gpc_beat, address, STR),
	GPC_BIND(gpc_beat, phase, ENUM, .flags = GPC_BIND_REQUIRED,
		.names = gpc_phase_names),
	GPC_BIND(gpc_beat, gpus, INT, .flags = GPC_BIND_KEEP_EMPTY),
	GPC_BIND(gpc_beat, pid, INT),
	GPC_BIND(gpc_beat, run_started_ms, I53),
	GPC_BIND(gpc_beat, master_port, INT),
	GPC_BIND(gpc_beat, note, STR),
	GPC_BIND(gpc_beat, rest, REST),
	GPC_BIND_LAST
};
static const struct gpc_bind exit_fields[] = {
	GPC_BIND(gpc_exit, v, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_exit, phase, ENUM, .flags = GPC_BIND_REQUIRED,
		.names = gpc_phase_names),
	GPC_BIND(gpc_exit, code, INT, .flags = GPC_BIND_KEEP_EMPTY),
	GPC_BIND(gpc_exit, signal, INT),
	GPC_BIND(gpc_exit, reason, ENUM, .flags = GPC_BIND_REQUIRED,
		.names = gpc_reason_names),
	GPC_BIND(gpc_exit, rank, INT, .flags = GPC_BIND_KEEP_EMPTY),
	GPC_BIND(gpc_exit, at_ms, I53),
	GPC_BIND(gpc_exit, run_started_ms, I53),
	GPC_BIND(gpc_exit, ran_ms, I53),
	GPC_BIND(gpc_exit, detail, STR),
	GPC_BIND(gpc_exit, boot, STR),
	GPC_BIND(gpc_exit, log_cut, STR),
	GPC_BIND(gpc_exit, rest, REST),
	GPC_BIND_LAST
};
static const struct gpc_bind peer_fields[] = {
	GPC_BIND(gpc_peer, rank, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_peer, address, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_peer, instance, STR),
	GPC_BIND_LAST
};
static const struct gpc_bind peers_fields[] = {
	GPC_BIND(gpc_peers, v, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_peers, master_port, INT),
	GPC_BIND(gpc_peers, nodes, VEC, .flags = GPC_BIND_REQUIRED,
		.sub = peer_fields, .sub_size = sizeof(struct gpc_peer)),
	GPC_BIND(gpc_peers, rest, REST),
	GPC_BIND_LAST
};

/* One reader, writer and destructor each, from its table. */
#define RECORD(name, table) \
	int gpc_##name##_parse(const char *text, size_t n, \
		struct gpc_##name *ret, struct gpc_error *err) \
	{ \
		struct gpc_##name x = {0}; \
		int r = gpc_bind_parse(text, n, table, &x, err); \
		if (r < 0) \
			return r; \
		if (x.v > VERSION) { \
			r = gpc_fail(err, GPC_EUNSUPPORTED, \
				#name " has version %d, this gpucloud " \
				"knows %d", x.v, VERSION); \
			gpc_bind_clear(table, &x); \
			return r; \
		} \
		*ret = x; \
		return 0; \
	} \
	struct gpc_json *gpc_##name##_write(const struct gpc_##name *x) \
	{ \
		return gpc_bind_write(table, x); \
	} \
	void gpc_##name##_clear(struct gpc_##name *x) \
	{ \
		gpc_bind_clear(table, x); \
	}
RECORD(beat, beat_fields)
RECORD(exit, exit_fields)
RECORD(peers, peers_fields)
