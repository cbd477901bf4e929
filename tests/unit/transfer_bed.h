/* A bucket of the stand-in, a folder, and a transfer between them, for test programs. */
#pragma once
#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "objects_bed.h"

#include "base/time.h"
#include "dep/crypto.h"
#include "transfer/transfer.h"

#define MIB ((uint64_t)1 << 20)

static struct bed server;
static const char *service = "s3";      /* as the stand-in calls it */
static char *folder;                    /* of a test */

static inline int bed_open(void **state)
{
	(void)state;
	bed_start(&server);
	setenv("AWS_REGION", "us-east-1", 1);
	return 0;
}

static inline int bed_close(void **state)
{
	(void)state;
	bed_end(&server);
	return 0;
}

/* Two empty buckets of each service, and an empty folder. */
static inline int bed_reset(void **state)
{
	static const char *const names[] = {"s3", "oss", "gcs"};

	(void)state;
	service = "s3";
	folder = scratch();
	bed_tell(&server, "reset", "{}");
	for (size_t i = 0; i < COUNT(names); i++) {
		gpc_autostr *text = gpc_format("{\"service\": \"%s\", \"name\": "
			"\"other\"}", names[i]);

		bed_tell(&server, "buckets", text);
	}
	return 0;
}

static inline int bed_clean(void **state)
{
	(void)state;
	assert_ok(gpc_rmtree(folder, &err));
	free(folder);
	return 0;
}

static inline void bed_fault(const char *text)
{
	bed_tell(&server, "faults", text);
}

static inline void bed_no_faults(void)
{
	gpc_json_free(bed_send(&server, "DELETE", "faults", NULL));
}

/* How many requests of an operation were answered well since `since`. */
static inline int bed_count(const char *operation, int since)
{
	gpc_autostr *what = gpc_format("requests?since=%d", since);
	gpc_autoptr(gpc_json) *j = bed_control(&server, what, NULL);
	const struct gpc_json *all = gpc_json_get(j, "requests");
	int n = 0;

	for (const struct gpc_json *r = gpc_json_first(all); r; r = gpc_json_next(r)) {
		n += gpc_eq(gpc_json_get_str(r, "operation"), operation) &&
			gpc_json_get_int(r, "status", 0) / 100 == 2;
	}
	return n;
}

static inline int bed_now(void)
{
	gpc_autoptr(gpc_json) *j = bed_control(&server, "requests?since=999999999", NULL);

	return (int)gpc_json_get_int(j, "next", 0);
}

/* Body bytes that objects' gets have sent since then. */
static inline uint64_t bed_sent(int since)
{
	gpc_autostr *what = gpc_format("requests?since=%d", since);
	gpc_autoptr(gpc_json) *j = bed_control(&server, what, NULL);
	const struct gpc_json *all = gpc_json_get(j, "requests");
	uint64_t n = 0;

	for (const struct gpc_json *r = gpc_json_first(all); r; r = gpc_json_next(r)) {
		if (gpc_eq(gpc_json_get_str(r, "operation"), "GetObject"))
			n += (uint64_t)gpc_json_get_int(r, "sent", 0);
	}
	return n;
}

/* "objects" or "uploads" that are there. */
static inline int bed_left(const char *kind)
{
	gpc_autoptr(gpc_json) *j = bed_control(&server, "objects?sha256=0", NULL);
	int n = 0;

	for (const struct gpc_json *o = gpc_json_first(gpc_json_get(j, kind)); o;
		o = gpc_json_next(o))
		n++;
	return n;
}

static inline void bed_assert_object(const char *bucket, const char *key,
	const char *path)
{
	gpc_autoptr(gpc_json) *j = bed_control(&server, "objects", NULL);
	const struct gpc_json *all = gpc_json_get(j, "objects");
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	char hex[GPC_SHA256_HEX];

	assert_ok(gpc_read_file(path, 256 * MIB, &b, &err));
	gpc_sha256_hex(gpc_buf_str(&b), b.len, hex);
	for (const struct gpc_json *o = gpc_json_first(all); o; o = gpc_json_next(o)) {
		if (!gpc_eq(gpc_json_get_str(o, "key"), key) ||
			!gpc_eq(gpc_json_get_str(o, "bucket"), bucket))
			continue;
		assert_string_equal(gpc_json_get_str(o, "sha256"), hex);
		return;
	}
	fail_msg("no object %s", key);
}

/* --- files ------------------------------------------------------------------- */

/* Below the folder; owned. */
static inline char *bed_path(const char *name)
{
	return gpc_path_join(folder, name);
}

/* The temporary of a file in the folder, or what lies beside it; owned. */
static inline char *bed_part(const char *name, const char *more)
{
	gpc_autostr *part = gpc_format(".gpucloud-part-%016llx%s", (unsigned long long)
		gpc_hash64(name, strlen(name)), more);

	return bed_path(part);
}

/* Bytes that no two places have alike; returns the path, owned. */
static inline char *bed_file(const char *name, uint64_t size)
{
	char *path = bed_path(name);
	gpc_autofd fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	uint64_t block[8192], x = size + 1;

	assert_true(fd >= 0);
	for (uint64_t at = 0; at < size; at += sizeof(block)) {
		size_t n = size - at < sizeof(block) ? (size_t)(size - at) :
			sizeof(block);

		for (size_t i = 0; i < COUNT(block); i++)
			block[i] = x = x * 6364136223846793005u + 1442695040888963407u;
		assert_int_equal(write(fd, block, n), n);
	}
	return path;
}

static inline void bed_assert_same(const char *a, const char *b)
{
	gpc_auto(gpc_buf) struct gpc_buf x = {0}, y = {0};

	assert_ok(gpc_read_file(a, 256 * MIB, &x, &err));
	assert_ok(gpc_read_file(b, 256 * MIB, &y, &err));
	assert_int_equal(x.len, y.len);
	if (x.len && memcmp(x.data, y.data, x.len) != 0)
		fail_msg("%s and %s differ", a, b);
}

/* Names in a folder below the test's; "." = that one. */
static inline int bed_names(const char *below, bool hidden_only)
{
	gpc_autostr *path = bed_path(below);
	DIR *d = opendir(path);
	struct dirent *e;
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
			(!hidden_only || e->d_name[0] == '.');
	closedir(d);
	return n;
}

/* --- transfers --------------------------------------------------------------- */

struct bed_run {
	struct gpc_transfer *t;
	struct gpc_objects *bucket, *other;
	struct gpc_cancel cancel;
	int done, failed;
	struct gpc_error err;           /* of the last that failed */
	char last[256];                 /* key or path of the last that ended */
	struct gpc_transfer_counts counts;
	uint64_t cancel_at;             /* bytes; 0: never */
	int most_at_once;
	void (*also)(struct bed_run *run);      /* with each progress */
};

static inline void bed_done(void *arg, const struct gpc_transfer_item *item, int r,
	const struct gpc_error *e)
{
	struct bed_run *run = arg;

	run->done += r == 0;
	run->failed += r < 0;
	if (r < 0)
		run->err = *e;
	snprintf(run->last, sizeof(run->last), "%s", item->from.key ?
		item->from.key : item->from.path);
}

static inline void bed_progress(void *arg, const struct gpc_transfer_counts *c)
{
	struct bed_run *run = arg;

	assert_true(c->bytes <= c->all_bytes && c->files <= c->all_files);
	run->counts = *c;
	if (c->at_once > run->most_at_once)
		run->most_at_once = c->at_once;
	if (run->cancel_at && c->bytes >= run->cancel_at)
		run->cancel.signal = SIGINT;
	if (run->also)
		run->also(run);
}

static inline struct gpc_objects *bed_bucket(struct gpc_transfer *t, const char *name,
	const struct gpc_cancel *cancel)
{
	bool is_s3 = gpc_eq(service, "s3"), is_oss = gpc_eq(service, "oss");
	gpc_autostr *url = gpc_format("%s://%s?endpoint=%s",
		is_s3 || is_oss ? service : "gs", name,
		is_s3 ? server.s3 : is_oss ? server.oss : server.gcs);
	gpc_autostr *key = NULL;
	struct gpc_objects *o = NULL;

	assert_ok(gpc_objects_open(url, gpc_transfer_net(t), NULL, cancel, &o, &key,
		&err));
	return o;
}

/* set: what differs from the defaults; state is kept below the server's folder. */
static inline void bed_begin(struct bed_run *run, struct gpc_transfer_settings set)
{
	gpc_autostr *state = gpc_path_join(folder, ".state");

	set.done = bed_done;
	set.progress = bed_progress;
	set.arg = run;
	set.cancel = &run->cancel;
	set.state_dir = state;
	run->t = gpc_transfer_new(&set);
	run->bucket = bed_bucket(run->t, "bucket", &run->cancel);
	run->other = bed_bucket(run->t, "other", &run->cancel);
}

static inline void bed_finish(struct bed_run *run, int want)
{
	int r = gpc_transfer_finish(run->t, &err);

	if (r != want)
		fail_msg("finish gave %d, not %d: %s; %s", r, want, err.msg,
			run->err.msg);
	gpc_transfer_counts(run->t, &run->counts);
	gpc_objects_free(run->bucket);
	gpc_objects_free(run->other);
	gpc_transfer_free(run->t);
}

static inline void bed_up(struct bed_run *run, const char *path, const char *key)
{
	struct gpc_transfer_item item = { .from = { .path = path },
		.to = { .objects = run->bucket, .key = key }, .size = -1 };

	assert_ok(gpc_transfer_add(run->t, &item, &err));
}

static inline void bed_down(struct bed_run *run, const char *key, const char *path,
	const char *below, int64_t size)
{
	struct gpc_transfer_item item = { .from = { .objects = run->bucket,
		.key = key }, .to = { .path = path, .below = below }, .size = size };

	assert_ok(gpc_transfer_add(run->t, &item, &err));
}

static inline void bed_across(struct bed_run *run, const char *key, const char *to,
	int64_t size)
{
	struct gpc_transfer_item item = { .from = { .objects = run->bucket,
		.key = key }, .to = { .objects = run->other, .key = to },
		.size = size };

	assert_ok(gpc_transfer_add(run->t, &item, &err));
}

/* A file of this size under this key; returns its path, owned. */
static inline char *bed_put(const char *key, uint64_t size)
{
	struct bed_run run = {0};
	char *path = bed_file("source", size);

	bed_begin(&run, (struct gpc_transfer_settings){0});
	bed_up(&run, path, key);
	bed_finish(&run, 0);
	assert_int_equal(run.done, 1);
	return path;
}
