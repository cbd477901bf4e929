/* What becomes of a mount of a bucket, by its mode, its size and the disk. */
#include "test.h"

#include "base/str.h"
#include "core/bucket_mounts.h"

static struct gpc_error err;

#define GB ((uint64_t)1 << 30)

static void set(struct gpc_bucket_mounts *m, enum gpc_spec_mount_mode asked,
	bool only_read, uint64_t bytes, bool complete)
{
	struct gpc_bucket_mount *x = gpc_vec_push(m);

	x->target = gpc_strdup("d");
	x->source = gpc_strdup("s3://bucket/d/");
	x->asked = asked;
	x->only_read = only_read;
	x->bytes = bytes;
	x->complete = complete;
}

TEST(modes)
{
	enum { COPY = GPC_SPEC_MODE_COPY, MOUNT = GPC_SPEC_MODE_MOUNT,
		CACHED = GPC_SPEC_MODE_MOUNT_CACHED };
	static const struct {
		int asked;
		bool only_read, complete;
		uint64_t bytes, room;
		int mode;
		const char *why;
	} cases[] = {
		{ COPY, true, true, 9 * GB, 10 * GB, COPY, NULL },
		{ CACHED, false, true, 1, 10 * GB, CACHED, NULL },
		{ CACHED, true, true, 1, 10 * GB, CACHED, NULL },
		{ MOUNT, true, true, 5 * GB, 10 * GB, COPY, "half the disk" },
		{ MOUNT, true, true, 5 * GB + 1, 10 * GB, CACHED, "may not fit" },
		{ MOUNT, true, true, 1, 0, CACHED, "may not fit" },
		{ MOUNT, true, false, 1, 10 * GB, CACHED, "may not fit" },
		{ MOUNT, false, true, 1, 10 * GB, CACHED, "may be written" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_bucket_mounts) struct gpc_bucket_mounts m = {0};
		const struct gpc_bucket_room room = { cases[i].room, "it" };

		set(&m, cases[i].asked, cases[i].only_read, cases[i].bytes,
			cases[i].complete);
		assert_ok(gpc_bucket_mounts_decide(&m, &room, &err));
		assert_int_equal(m.v[0].mode, cases[i].mode);
		if (cases[i].why)
			assert_non_null(strstr(m.v[0].why, cases[i].why));
		else
			assert_null(m.v[0].why);
	}
}

TEST(room_for_all)
{
	gpc_auto(gpc_bucket_mounts) struct gpc_bucket_mounts m = {0};
	struct gpc_bucket_room room = { 10 * GB, "resources.disk_size" };

	set(&m, GPC_SPEC_MODE_COPY, true, 6 * GB, true);
	set(&m, GPC_SPEC_MODE_COPY, true, 4 * GB, true);
	assert_ok(gpc_bucket_mounts_decide(&m, &room, &err));
	set(&m, GPC_SPEC_MODE_COPY, true, 1, false);
	assert_int_equal(gpc_bucket_mounts_decide(&m, &room, &err),
		-GPC_ECONFIG);
	assert_non_null(strstr(err.msg, "at least 10 GiB"));
	assert_non_null(strstr(err.msg, "resources.disk_size"));
	m.v[0].bytes = UINT64_MAX;
	assert_int_equal(gpc_bucket_mounts_decide(&m, &room, &err),
		-GPC_ECONFIG);
	room.bytes = 0;                 /* nobody knows */
	assert_ok(gpc_bucket_mounts_decide(&m, &room, &err));
}

static const struct gpc_spec_mount *mount_of(const char *yaml,
	struct gpc_spec_file *file)
{
	assert_ok(gpc_spec_parse(yaml, strlen(yaml), "x.yaml", file, &err));
	return &file->tasks.v[0].file_mounts.v[0];
}

TEST(what_a_spec_means)
{
	static const struct {
		const char *mount;
		enum gpc_spec_mount_mode mode;
		bool only_read;
		int transfers;
	} cases[] = {
		{ "s3://b/x", GPC_SPEC_MODE_COPY, true, 1 },
		{ "{source: s3://b}", GPC_SPEC_MODE_MOUNT, false, 1 },
		{ "{source: s3://b, mode: copy}", GPC_SPEC_MODE_COPY, true, 1 },
		{ "{source: s3://b, type: DATASET_RO}",
			GPC_SPEC_MODE_MOUNT_CACHED, true, 1 },
		{ "{source: s3://b, type: MODEL_CHECKPOINT_RW, config: "
			"{mount_cached: {transfers: 4}}}",
			GPC_SPEC_MODE_MOUNT_CACHED, false, 4 },
		{ "{source: s3://b, config: {mount: {read_only: true}}}",
			GPC_SPEC_MODE_MOUNT, true, 1 },
		/* of the other mode */
		{ "{source: s3://b, mode: MOUNT_CACHED, config: {mount: "
			"{read_only: true}}}", GPC_SPEC_MODE_MOUNT_CACHED, false,
			1 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		gpc_auto(gpc_spec_file) struct gpc_spec_file file = {0};
		gpc_autostr *yaml = gpc_format("run: x\nfile_mounts: {d: %s}\n",
			cases[i].mount);
		const struct gpc_spec_mount *m = mount_of(yaml, &file);

		assert_int_equal(gpc_spec_mount_mode(m), cases[i].mode);
		assert_int_equal(gpc_spec_mount_only_read(m),
			cases[i].only_read);
		assert_int_equal(gpc_spec_mount_transfers(m),
			cases[i].transfers);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes),
		cmocka_unit_test(room_for_all),
		cmocka_unit_test(what_a_spec_means),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
