/* Copies on this machine: whole or not there, with times and permissions, also when
 * they are cut short, when the source changes, and when the disk does not hold what was
 * written. What happens in the midst of a copy is made to happen by the linker, which
 * leads writes through here. */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "transfer/place.h"
#include "transfer/transfer.h"

enum { LARGE = 23 << 20, PART = 5 << 20 };

static struct gpc_error err;
static char *folder, *from, *to;
static struct gpc_cancel cancel;

static enum { NOTHING, CANCEL, TOUCH, SHORTEN, DAMAGE, FULL } event;
static int event_at;                    /* the write that it comes with, from 1 */
static int writes;

int __real_gpc_place_write(struct gpc_place *p, const void *data, size_t n, uint64_t at,
	struct gpc_error *e);
int __wrap_gpc_place_write(struct gpc_place *p, const void *data, size_t n, uint64_t at,
	struct gpc_error *e);

int __wrap_gpc_place_write(struct gpc_place *p, const void *data, size_t n, uint64_t at,
	struct gpc_error *e)
{
	static const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	int r;

	if (++writes != event_at)
		return __real_gpc_place_write(p, data, n, at, e);
	if (event == FULL)
		return gpc_fail_sys(e, ENOSPC, "%s", p->shown);
	r = __real_gpc_place_write(p, data, n, at, e);
	if (event == CANCEL)
		cancel.signal = 15;
	if (event == TOUCH)
		assert_int_equal(utimensat(AT_FDCWD, from, times, 0), 0);
	if (event == SHORTEN)
		assert_int_equal(truncate(from, 1000), 0);
	if (event == DAMAGE)
		assert_int_equal(pwrite(p->fd, "?", 1, (off_t)at + 7), 1);
	return r;
}

/* --- one copy ------------------------------------------------------------------ */

static int done, failed;
static struct gpc_error why;
static struct gpc_transfer_counts counts;

static void tell(void *arg, const struct gpc_transfer_item *item, int r,
	const struct gpc_error *e)
{
	(void)arg;
	(void)item;
	done += r == 0;
	failed += r < 0;
	if (r < 0)
		why = *e;
}

/* Copies with what is to happen at a write; gives what gpc_transfer_finish gives. */
static int copy(int what, int at)
{
	const struct gpc_transfer_settings how = { .part_size = PART, .done = tell,
		.cancel = &cancel };
	gpc_autoptr(gpc_transfer) *t = gpc_transfer_new(&how);
	const struct gpc_transfer_item item = { .from = { .path = from },
		.to = { .path = to }, .size = -1 };
	int r;

	event = what;
	event_at = at;
	writes = done = failed = 0;
	cancel.signal = 0;
	memset(&why, 0, sizeof(why));
	r = gpc_transfer_add(t, &item, &err);
	if (r == 0)
		r = gpc_transfer_finish(t, &err);
	gpc_transfer_counts(t, &counts);
	return r;
}

static void make(uint64_t size, unsigned mode)
{
	static const struct timespec times[2] = { { .tv_sec = 1234567890,
		.tv_nsec = 123456789 }, { .tv_sec = 1234567890, .tv_nsec = 123456789 } };
	FILE *f = fopen(from, "we");
	uint64_t x = size + 1;

	assert_non_null(f);
	for (uint64_t i = 0; i < size; i += 8) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		fwrite(&x, size - i < 8 ? (size_t)(size - i) : 8, 1, f);
	}
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(from, mode), 0);
	assert_int_equal(utimensat(AT_FDCWD, from, times, 0), 0);
}

static bool is_same(void)
{
	gpc_auto(gpc_buf) struct gpc_buf a = { .max = LARGE + 1 };
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = LARGE + 1 };

	assert_ok(gpc_read_file(from, LARGE + 1, &a, &err));
	assert_ok(gpc_read_file(to, LARGE + 1, &b, &err));
	return a.len == b.len && (!a.len || memcmp(a.data, b.data, a.len) == 0);
}

/* Names beside the source, hidden ones too. */
static int names(void)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int n = -1;

	assert_non_null(d);
	while ((e = readdir(d)))
		n += !gpc_eq(e->d_name, ".") && !gpc_eq(e->d_name, "..");
	closedir(d);
	return n;
}

static char *part(void)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	char *path = NULL;

	assert_non_null(d);
	while (!path && (e = readdir(d)))
		if (gpc_starts_with(e->d_name, GPC_PLACE_PREFIX) &&
			!gpc_ends_with(e->d_name, ".notes"))
			path = gpc_path_join(folder, e->d_name);
	closedir(d);
	assert_non_null(path);
	return path;
}

static int begin(void **state)
{
	(void)state;
	folder = scratch();
	from = gpc_path_join(folder, "from");
	to = gpc_path_join(folder, "to");
	return 0;
}

static int end(void **state)
{
	(void)state;
	assert_ok(gpc_rmtree(folder, &err));
	free(folder);
	free(from);
	free(to);
	return 0;
}

/* --- tests ---------------------------------------------------------------------- */

static void arrives(uint64_t size, unsigned mode)
{
	struct stat st;

	make(size, mode);
	assert_ok(copy(NOTHING, 0));
	assert_int_equal(done, 1);
	assert_int_equal(counts.files, 1);
	assert_int_equal(counts.bytes, size);
	assert_int_equal(counts.all_bytes, size);
	assert_true(is_same());
	assert_int_equal(names(), 1);
	assert_int_equal(stat(to, &st), 0);
	assert_int_equal(st.st_mode & 07777, mode);
	assert_int_equal(st.st_mtim.tv_sec, 1234567890);
	assert_int_equal(st.st_mtim.tv_nsec, 123000000);
}

TEST(files_arrive_with_times_and_permissions)
{
	umask(077);
	arrives(0, 0644);
	arrives(1, 0755);
	arrives((512 << 10) + 1, 0600);
	arrives(LARGE, 0640);           /* over the one before */
	umask(022);
}

TEST(an_interrupted_copy_goes_on)
{
	make(LARGE, 0644);
	assert_fails(copy(CANCEL, 25), GPC_ECANCELED);
	assert_int_equal(done + failed, 0);
	assert_int_equal(access(to, F_OK), -1);
	assert_int_equal(names(), 2);   /* the temporary and its notes */
	assert_ok(copy(NOTHING, 0));
	assert_int_equal(done, 1);
	assert_int_equal(counts.resumed, 2 * PART);
	assert_int_equal(counts.bytes, LARGE);
	assert_true(is_same());
	assert_int_equal(names(), 1);
}

TEST(what_an_earlier_try_left_is_checked)
{
	gpc_autostr *path = NULL;
	int fd;

	make(LARGE, 0644);
	assert_fails(copy(CANCEL, 25), GPC_ECANCELED);
	path = part();
	assert_ok(gpc_open(path, O_WRONLY, 0, &fd, &err));
	assert_int_equal(pwrite(fd, "damaged", 7, PART + 100), 7);
	close(fd);
	assert_ok(copy(NOTHING, 0));
	assert_int_equal(counts.resumed, PART);
	assert_int_equal(counts.bytes, LARGE);
	assert_true(is_same());
}

TEST(another_source_begins_anew)
{
	make(LARGE, 0644);
	assert_fails(copy(CANCEL, 25), GPC_ECANCELED);
	make(LARGE - 8, 0644);
	assert_ok(copy(NOTHING, 0));
	assert_int_equal(counts.resumed, 0);
	assert_true(is_same());
	assert_int_equal(names(), 1);
}

static void fails(int what, int at, enum gpc_code code, const char *says)
{
	make(LARGE, 0644);
	(void)copy(what, at);
	assert_int_equal(failed, 1);
	assert_int_equal(why.code, code);
	assert_has(why.msg, says);
	assert_has(why.msg, from);
	assert_true(why.hint[0] != '\0');
	assert_int_equal(names(), 0);
	assert_int_equal(counts.bytes, 0);
}

TEST(a_source_that_changes_is_an_error)
{
	fails(TOUCH, 1, GPC_ECONFLICT, "changed while");
	fails(TOUCH, LARGE / (512 << 10), GPC_ECONFLICT, "changed while");
	fails(SHORTEN, 3, GPC_ECONFLICT, "changed while");
}

TEST(a_disk_that_does_not_hold_it_is_an_error)
{
	fails(DAMAGE, 2, GPC_EIO, "is not what was written");
	make(100, 0644);
	assert_fails(copy(FULL, 1), GPC_EIO);
	assert_int_equal(err.sys, ENOSPC);
	assert_int_equal(names(), 0);
}

TEST(what_is_no_file_is_left_alone)
{
	make(100, 0644);
	assert_int_equal(mkdir(to, 0755), 0);
	assert_ok(copy(NOTHING, 0));
	assert_int_equal(why.code, GPC_ECONFLICT);
	assert_int_equal(rmdir(to), 0);
	assert_int_equal(mkfifo(to, 0600), 0);
	assert_ok(copy(NOTHING, 0));
	assert_int_equal(why.code, GPC_ECONFLICT);
	assert_int_equal(unlink(to), 0);
	assert_int_equal(unlink(from), 0);
	assert_int_equal(mkfifo(from, 0600), 0);
	assert_ok(copy(NOTHING, 0));
	assert_int_equal(why.code, GPC_ECONFIG);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, end)
int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(files_arrive_with_times_and_permissions),
		EACH(an_interrupted_copy_goes_on),
		EACH(what_an_earlier_try_left_is_checked),
		EACH(another_source_begins_anew),
		EACH(a_source_that_changes_is_an_error),
		EACH(a_disk_that_does_not_hold_it_is_an_error),
		EACH(what_is_no_file_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
