/* What a store should look like when nothing is under way:
 *   store-check STORE
 * Every journal replays, every job has ended and holds nothing, each is listed
 * once, everything that a job, a manifest or a checkpoint names is there with
 * the bytes that its name promises, and nothing else is. Prints a line
 * "job ID STATUS REASON ATTEMPTS" for each job and a line "bad KEY: WHY" for each
 * flaw; blobs that nothing names are lines "unreferenced KEY". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "dep/crypto.h"
#include "record/checkpoint.h"
#include "record/index.h"
#include "record/journal.h"
#include "record/keys.h"
#include "snapshot/snapshot.h"

#define ANY_SIZE ((size_t)64 << 20)

struct check {
	struct gpc_store *store;
	struct gpc_strv keys;
	struct gpc_map have, wanted, jobs;
	const char *prefix;           /* of the blobs being looked at */
	const char *by;               /* the key that names them */
	int bad;
};

static void bad(struct check *c, const char *key, const char *why)
{
	printf("bad %s: %s\n", key, why);
	c->bad++;
}

static void want(struct check *c, const char *key, const char *by)
{
	if (!gpc_map_has(&c->have, key)) {
		gpc_autostr *why = gpc_format("missing, %s names it", by);

		bad(c, key, why);
	}
	gpc_map_set(&c->wanted, key, c);
}

static int note_key(void *arg, const struct gpc_object *o)
{
	struct check *c = arg;

	gpc_strv_add(&c->keys, o->key);
	gpc_map_set(&c->have, o->key, c);
	return 0;
}

static int want_blob(void *arg, const char *sha256, uint64_t size,
	struct gpc_error *err)
{
	struct check *c = arg;
	struct gpc_object o = {0};
	gpc_key key;

	gpc_blob_key(c->prefix, sha256, key);
	want(c, key, c->by);
	if (gpc_store_head(c->store, key, &o, err) == 0 && o.size != size)
		bad(c, key, "its size is not what its manifest says");
	return 0;
}

static void want_snapshot(struct check *c, const struct gpc_json *head,
	const char *prefix, const char *by)
{
	struct gpc_error err;

	c->prefix = prefix;
	c->by = by;
	if (gpc_snapshot_blobs(c->store, head, prefix, want_blob, c, &err) < 0)
		bad(c, by, err.msg);
}

static void want_tree(struct check *c, const char *sha256, const char *by)
{
	gpc_autoptr(gpc_json) *head = NULL;
	struct gpc_error err;
	gpc_key key;

	if (!sha256)
		return;
	gpc_blob_key("blobs/", sha256, key);
	want(c, key, by);
	if (gpc_snapshot_get_head(c->store, "blobs/", sha256, &head, &err) < 0)
		bad(c, by, err.msg);
	else
		want_snapshot(c, head, "blobs/", by);
}

static void check_checkpoints(struct check *c, const char *job)
{
	gpc_auto(gpc_checkpoint_ids) struct gpc_checkpoint_ids ids = {0};
	struct gpc_error err;

	if (gpc_checkpoint_list(c->store, job, &ids, &err) < 0)
		bad(c, job, err.msg);
	for (size_t i = 0; i < ids.n; i++) {
		gpc_auto(gpc_checkpoint) struct gpc_checkpoint x = {0};
		gpc_key key, prefix;

		gpc_key_checkpoint(key, job, ids.v[i].id);
		if (gpc_checkpoint_get(c->store, job, ids.v[i].id, &x, &err) < 0)
			bad(c, key, err.msg);
		gpc_key_attempt(prefix, job, ids.v[i].attempt, "blobs/");
		gpc_vec_each(p, &x.parts)
			want_snapshot(c, p->head, prefix, key);
	}
}

static void check_state(struct check *c, const char *job)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	const struct gpc_job_state *st = &j.state;
	struct gpc_error err;

	gpc_journal_init(&j, c->store, job, "check");
	if (gpc_journal_refresh(&j, NULL, &err) < 0 ||
		gpc_journal_verify(c->store, job, &err) < 0) {
		bad(c, job, err.msg);
		return;
	}
	if (!gpc_job_status_is_end(st->status))
		bad(c, job, "it has not ended");
	if (st->intents.n)
		bad(c, job, "an intent is open");
	gpc_vec_each(n, &st->nodes)
		if (n->status != GPC_NODE_RELEASED)
			bad(c, n->id, "its node is not released");
	printf("job %s %s %s %d\n", job, gpc_job_status_to_str(st->status),
		gpc_reason_to_str(st->reason), st->attempt);
}

static void check_job(struct check *c, const char *key)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_auto(gpc_job) struct gpc_job job = {0};
	gpc_key secrets;
	struct gpc_error err;
	int r = gpc_store_get(c->store, key, ANY_SIZE, &b, &err);

	if (r == 0)
		r = gpc_job_parse(b.data, b.len, &job, &err);
	if (r < 0) {
		bad(c, key, err.msg);
		return;
	}
	gpc_map_set(&c->jobs, job.id, c);
	check_state(c, job.id);
	want_tree(c, job.workspace, key);
	gpc_vec_each(m, &job.mounts)
		want_tree(c, m->head, key);
	check_checkpoints(c, job.id);
	if (gpc_map_has(&c->have, gpc_key_secrets(secrets, job.id, NULL)))
		bad(c, secrets, "its job has ended");
}

/* Each job once, among the done ones; nothing else. */
static void check_index(struct check *c)
{
	struct gpc_map seen = {0};

	for (size_t i = 0; i < c->keys.n; i++) {
		struct gpc_str rest = gpc_str_of(c->keys.v[i]), part;
		gpc_autostr *job = NULL;

		if (gpc_starts_with(c->keys.v[i], "index/live/"))
			bad(c, c->keys.v[i], "its job is not live");
		if (!gpc_starts_with(c->keys.v[i], "index/done/"))
			continue;
		for (int n = 0; n < 4; n++)
			if (!gpc_str_split(&rest, n < 3 ? '/' : '.', &part))
				break;
		job = gpc_strndup(part.ptr, part.len);
		if (!gpc_map_has(&c->jobs, job))
			bad(c, c->keys.v[i], "there is no such job");
		if (gpc_map_has(&seen, job))
			bad(c, c->keys.v[i], "the job has another entry");
		gpc_map_set(&seen, job, c);
	}
	for (size_t i = 0; i < c->jobs.n; i++)
		if (!gpc_map_has(&seen, c->jobs.entries[i].key))
			bad(c, c->jobs.entries[i].key, "the index lacks it");
	gpc_map_clear(&seen);
}

static void check_blob(struct check *c, const char *key)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	char hex[GPC_SHA256_HEX];
	struct gpc_error err;

	if (gpc_store_get(c->store, key, ANY_SIZE, &b, &err) < 0) {
		bad(c, key, err.msg);
		return;
	}
	gpc_sha256_hex(gpc_buf_str(&b), b.len, hex);
	if (!gpc_ends_with(key, hex))
		bad(c, key, "its bytes are not those of its name");
	if (!gpc_map_has(&c->wanted, key))
		printf("unreferenced %s\n", key);
}

/* What is no blob, no index entry and no part of a job that exists. */
static void check_place(struct check *c, const char *key)
{
	static const char *const known[] = { "index/", "once/", "blobs/",
		"shared/capacity/", "store.json" };
	struct gpc_str rest = gpc_str_of(key), part;
	gpc_autostr *job = NULL;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (gpc_starts_with(key, known[i]))
			return;
	if (!gpc_starts_with(key, "jobs/") || !gpc_str_split(&rest, '/', &part)
		|| !gpc_str_split(&rest, '/', &part)) {
		bad(c, key, "it belongs to nothing");
		return;
	}
	job = gpc_strndup(part.ptr, part.len);
	if (!gpc_map_has(&c->jobs, job))
		bad(c, key, "its job does not exist");
}

int main(int argc, char **argv)
{
	struct check c = {0};
	struct gpc_error err = {0};
	int r = argc < 2 ? -1 : gpc_store_open(argv[1], 0, NULL, &c.store, &err);

	if (r == 0)
		r = gpc_store_list(c.store, "", NULL, note_key, &c, &err);
	if (r < 0) {
		printf("bad %s: %s\n", argc < 2 ? "usage" : argv[1], err.msg);
		gpc_strv_clear(&c.keys);
		gpc_map_clear(&c.have);
		gpc_store_free(c.store);
		return 2;
	}
	for (size_t i = 0; i < c.keys.n; i++)
		if (gpc_starts_with(c.keys.v[i], "jobs/")
			&& gpc_ends_with(c.keys.v[i], "/job.json"))
			check_job(&c, c.keys.v[i]);
	check_index(&c);
	for (size_t i = 0; i < c.keys.n; i++) {
		if (strstr(c.keys.v[i], "blobs/"))
			check_blob(&c, c.keys.v[i]);
		check_place(&c, c.keys.v[i]);
	}
	gpc_strv_clear(&c.keys);
	gpc_map_clear(&c.have);
	gpc_map_clear(&c.wanted);
	gpc_map_clear(&c.jobs);
	gpc_store_free(c.store);
	return c.bad ? 1 : 0;
}
