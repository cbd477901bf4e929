/* What only file:// can get wrong: leftovers of a crash, a full disk, a folder
 * that cannot be written or goes away, modes, strange files, and time. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store_keys.h"

#include "base/fd.h"
#include "base/path.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "record/journal.h"
#include "store/store.h"

static struct gpc_error err;

struct world { char *folder; struct gpc_store *s; };

static int set_up(void **state)
{
	struct world *w = gpc_alloc(sizeof(*w));

	w->folder = scratch();
	assert_ok(gpc_store_open(w->folder, 0, NULL, &w->s, &err));
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	gpc_store_free(w->s);
	assert_ok(gpc_rmtree(w->folder, &err));
	free(w->folder);
	free(w);
	return 0;
}

static unsigned mode_of(const struct world *w, const char *path)
{
	gpc_autostr *full = gpc_path_join(w->folder, path);
	struct stat st;

	assert_int_equal(stat(full, &st), 0);
	return st.st_mode & 0777;
}

/* The same with setgid and sticky bits. */
static unsigned all_of_mode(const char *root, const char *path)
{
	gpc_autostr *full = gpc_path_join(root, path);
	struct stat st;

	assert_int_equal(stat(full, &st), 0);
	return st.st_mode & 07777;
}

static void opening(void **state)
{
	struct world *w = *state;
	gpc_autostr *below = gpc_format("file://%s/a/b", w->folder);
	gpc_autoptr(gpc_store) *s = NULL;

	assert_fails(gpc_store_open(below, 0, NULL, &s, &err), GPC_ENOTFOUND);
	assert_true(err.hint[0] != '\0');
	assert_ok(gpc_store_open(below, GPC_STORE_CREATE, NULL, &s, &err));
	assert_string_equal(s->url, below);
	assert_int_equal(mode_of(w, "a/b"), 0700);
	gpc_store_free(gpc_steal(&s));
	assert_fails(gpc_store_open("s9://x", 0, NULL, &s, &err), GPC_ECONFIG);
	assert_has(err.hint, "file://");
	assert_has(err.hint, "mem://");
	assert_fails(gpc_store_open("", 0, NULL, &s, &err), GPC_ECONFIG);
	assert_fails(gpc_store_open("file://", 0, NULL, &s, &err),
		GPC_ECONFIG);
}

static void modes(void **state)
{
	struct world *w = *state;

	umask(022);
	assert_ok(gpc_store_put(w->s, "secrets/j", "x", 1, 0, &err));
	assert_int_equal(mode_of(w, "secrets"), 0700);
	assert_int_equal(mode_of(w, "secrets/j"), 0600);
	assert_ok(gpc_store_put(w->s, "jobs/j/job.json", "x", 1,
		GPC_PUT_IF_ABSENT, &err));
	assert_int_equal(mode_of(w, "jobs/j/job.json"), 0644);
	assert_int_equal(mode_of(w, "jobs/j"), 0755);
	assert_ok(gpc_store_del(w->s, "secrets/j", &err));
	keys_are(w->s, "jobs/j/job.json");
}

/* Where the root's mode says that a group shares it, no umask matters. */
static void shared_modes(void **state)
{
	static const struct { unsigned root, folder, file, secrets; } rows[] = {
		{02770, 02770, 0640, 03770}, {02775, 02775, 0644, 03770},
		{02777, 02777, 0644, 03777}, {03770, 02770, 0640, 03770},
		{0770, 0700, 0600, 0700}, {02750, 02700, 0600, 02700},
	};
	struct world *w = *state;
	mode_t before = umask(077);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		gpc_autostr *root = gpc_format("%s/%zu", w->folder, i);
		gpc_autoptr(gpc_store) *s = NULL;

		assert_int_equal(mkdir(root, 0700), 0);
		assert_int_equal(chmod(root, rows[i].root), 0);
		assert_ok(gpc_store_open(root, GPC_STORE_CREATE, NULL, &s, &err));
		assert_ok(gpc_store_put(s, "a/b/once", "x", 1,
			GPC_PUT_IF_ABSENT, &err));
		assert_ok(gpc_store_put(s, "a/plain", "x", 1, 0, &err));
		assert_ok(gpc_store_append(s, "a/c/log", 0, "x", 1, true, &err));
		assert_ok(gpc_store_put(s, "secrets/j", "x", 1, 0, &err));
		for (const char *const *p = (const char *const []){"a", "a/b",
			"a/c", NULL}; *p; p++)
			assert_int_equal(all_of_mode(root, *p), rows[i].folder);
		for (const char *const *p = (const char *const []){"a/plain",
			"a/b/once", "a/c/log", NULL}; *p; p++)
			assert_int_equal(all_of_mode(root, *p), rows[i].file);
		assert_int_equal(all_of_mode(root, "secrets"), rows[i].secrets);
		assert_int_equal(all_of_mode(root, "secrets/j"), 0600);
		keys_are(s, "a/b/once a/c/log a/plain secrets/j");
	}
	umask(before);
}

/* Folders of a group's store are made aside: many at once, and each is whole. */
static void *put_many(void *arg)
{
	struct gpc_store *s = arg;
	struct gpc_error why;
	char key[40];

	for (int i = 0; i < 200; i++) {
		snprintf(key, sizeof(key), "d%d/e/", i % 10);
		gpc_rand_base32(key + strlen(key), 10);
		if (gpc_store_put(s, key, "x", 1, GPC_PUT_IF_ABSENT |
			GPC_PUT_UNSYNCED, &why) < 0 ||
			gpc_store_del(s, key, &why) < 0)
			return gpc_strdup(why.msg);
	}
	return NULL;
}

static void shared_folders_come_and_go(void **state)
{
	struct world *w = *state;
	gpc_autostr *temp = gpc_path_join(w->folder, ".tmp-old");
	struct timespec old[] = {{1, 0}, {1, 0}};
	gpc_autoptr(gpc_store) *s = NULL;
	pthread_t t[4];
	struct stat st;
	void *failed;

	assert_int_equal(chmod(w->folder, 02770), 0);
	assert_ok(gpc_store_open(w->folder, 0, NULL, &s, &err));
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, put_many, s), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &failed);
		if (failed)
			fail_msg("%s", (char *)failed);
	}
	keys_are(s, "");
	/* What was killed before it had its name goes as temporary files do. */
	assert_int_equal(mkdir(temp, 0700), 0);
	keys_are(s, "");
	assert_int_equal(stat(temp, &st), 0);
	assert_int_equal(utimensat(AT_FDCWD, temp, old, 0), 0);
	keys_are(s, "");
	assert_int_equal(stat(temp, &st), -1);
}

static void bad_paths(void **state)
{
	struct world *w = *state;
	gpc_autostr *file = gpc_path_join(w->folder, "file");
	gpc_autostr *below = gpc_path_join(file, "x/y");
	gpc_autostr *loop = gpc_path_join(w->folder, "loop");
	gpc_autostr *deep = gpc_format("%s/%0300d", w->folder, 0);
	const char *const paths[] = {file, below, loop, deep, "/dev/null",
		"/dev/null/x"};
	gpc_autoptr(gpc_store) *s = NULL;

	assert_ok(gpc_write_file(file, "x", 1, 0600, &err));
	assert_int_equal(symlink("loop", loop), 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		assert_fails(gpc_store_open(paths[i], 0, NULL, &s, &err),
			GPC_ECONFIG);
		assert_has(err.msg, "cannot be");
		assert_fails(gpc_store_open(paths[i], GPC_STORE_CREATE, NULL, &s,
			&err), GPC_ECONFIG);
		assert_has(err.hint, "--store");
	}
}

static void leftovers(void **state)
{
	struct world *w = *state;
	gpc_autostr *temp = gpc_format("%s/jobs/.tmp-dead", w->folder);
	gpc_autostr *odd = gpc_format("%s/jobs/\xc3\xa9\n", w->folder);
	gpc_autostr *link = gpc_format("%s/jobs/broken", w->folder);
	gpc_autostr *fifo = gpc_format("%s/jobs/fifo", w->folder);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	assert_ok(gpc_store_put(w->s, "jobs/a", "x", 1, 0, &err));
	assert_ok(gpc_write_file(temp, "half", 4, 0600, &err));
	assert_ok(gpc_write_file(odd, "x", 1, 0600, &err));
	assert_int_equal(symlink("nowhere", link), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	keys_are(w->s, "jobs/a");
	assert_fails(gpc_store_get(w->s, "jobs/fifo", 9, &b, &err),
		GPC_ENOTFOUND);
	assert_fails(gpc_store_get(w->s, "jobs/broken", 9, &b, &err),
		GPC_ENOTFOUND);
}

static void no_temporary_is_left(void **state)
{
	struct world *w = *state;
	gpc_autostr *command = gpc_format("%s/x", w->folder);
	struct gpc_body body = { .fd = -1, .size = 10 };

	assert_ok(gpc_store_put(w->s, "x/a", "1", 1, 0, &err));
	assert_fails(gpc_store_put(w->s, "x/a", "1", 1, GPC_PUT_IF_ABSENT,
		&err), GPC_ECONFLICT);
	assert_int_not_equal(gpc_store_put_body(w->s, "x/b", &body, 0, &err),
		0);
	assert_ok(gpc_store_del(w->s, "x/a", &err));
	/* The folder went with its last object: nothing else was in it. */
	assert_int_equal(access(command, F_OK), -1);
}

static void age(const char *folder, const char *below)
{
	gpc_autostr *path = gpc_path_join(folder, below);
	struct timespec ago = { .tv_sec = time(NULL) - 90 };
	struct timespec times[] = { ago, ago };

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* What a delete that was killed leaves of a job: no object, but folders. */
static void empty_folders_go(void **state)
{
	struct world *w = *state;
	gpc_autostr *gone = gpc_format("%s/jobs/gone", w->folder);
	gpc_autostr *deep = gpc_format("%s/jobs/gone/1/blobs", w->folder);
	gpc_autostr *events = gpc_format("%s/jobs/gone/events", w->folder);
	gpc_autostr *held = gpc_format("%s/jobs/held/events", w->folder);
	gpc_autostr *temp = gpc_format("%s/.tmp-new", held);
	static const char *const all[] = { "jobs/gone/1/blobs", "jobs/gone/1",
		"jobs/gone", "jobs/held/events", "jobs/held", "jobs" };

	assert_ok(gpc_store_put(w->s, "jobs/a/job.json", "x", 1, 0, &err));
	assert_ok(gpc_mkdirs(deep, 0777, &err));
	assert_ok(gpc_mkdirs(events, 0777, &err));
	assert_ok(gpc_mkdirs(held, 0777, &err));
	assert_ok(gpc_write_file(temp, "half", 4, 0600, &err));
	for (size_t i = 0; i < COUNT(all); i++)
		age(w->folder, all[i]);
	keys_are(w->s, "jobs/a/job.json");
	assert_int_equal(access(deep, F_OK), -1);
	assert_int_equal(access(events, F_OK), 0);      /* it is young */
	assert_int_equal(access(held, F_OK), 0);
	age(w->folder, "jobs/gone/events");
	age(w->folder, "jobs/gone");
	keys_are(w->s, "jobs/a/job.json");
	assert_int_equal(access(gone, F_OK), -1);
	assert_ok(gpc_store_put(w->s, "jobs/gone/events/1", "x", 1, 0, &err));
}

static void objects_below_objects(void **state)
{
	struct world *w = *state;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	assert_ok(gpc_store_put(w->s, "a", "x", 1, 0, &err));
	assert_fails(gpc_store_put(w->s, "a/b", "x", 1, 0, &err), GPC_EPROTO);
	assert_ok(gpc_store_put(w->s, "c/d", "x", 1, 0, &err));
	assert_int_not_equal(gpc_store_put(w->s, "c", "x", 1, 0, &err), 0);
	assert_fails(gpc_store_put(w->s, "c", "x", 1, GPC_PUT_IF_ABSENT, &err),
		GPC_ECONFLICT);
	assert_fails(gpc_store_append(w->s, "c", 0, "x", 1, false, &err),
		GPC_EPROTO);
	assert_fails(gpc_store_get(w->s, "c", 9, &b, &err), GPC_ENOTFOUND);
	keys_are(w->s, "a c/d");
}

/* A store that is taken away is an error, and does not come back empty. */
static void root_goes_away(void **state)
{
	struct world *w = *state;
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};

	assert_ok(gpc_store_put(w->s, "a/b", "x", 1, 0, &err));
	assert_ok(gpc_rmtree(w->folder, &err));
	assert_fails(gpc_store_put(w->s, "a/b", "x", 1, 0, &err),
		GPC_ENOTFOUND);
	assert_fails(gpc_store_put(w->s, "c", "x", 1, GPC_PUT_IF_ABSENT, &err),
		GPC_ENOTFOUND);
	assert_fails(gpc_store_head(w->s, "a/b", NULL, &err), GPC_ENOTFOUND);
	assert_ok(gpc_store_list(w->s, "", NULL, collect_key, &keys, &err));
	assert_int_equal(keys.n, 0);
	assert_int_equal(access(w->folder, F_OK), -1);
}

/* Runs a check in a child; its exit status: 0 good, 77 not possible here. */
static void in_child(void (*check)(const struct world *w),
	const struct world *w)
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		check(w);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define CHILD(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%d: %s: %s\n", __LINE__, #condition, \
				err.msg); \
			_exit(1); \
		} \
	} while (0)

static void write_protected(const struct world *w)
{
	CHILD(chmod(w->folder, 0555) == 0);
	if (geteuid() == 0 && seteuid(65534) < 0)
		_exit(77);
	CHILD(gpc_store_put(w->s, "a", "x", 1, 0, &err) == -GPC_EAUTH);
	CHILD(strstr(err.msg, "Permission denied"));
	CHILD(strstr(err.hint, w->folder));
	CHILD(gpc_store_put(w->s, "a/b", "x", 1, GPC_PUT_IF_ABSENT, &err) ==
		-GPC_EAUTH);
	CHILD(gpc_store_append(w->s, "a", 0, "x", 1, true, &err) ==
		-GPC_EAUTH);
	CHILD(gpc_store_del(w->s, "here", &err) == -GPC_EAUTH);
	CHILD(gpc_store_identify(w->s, GPC_STORE_CREATE, &err) == -GPC_EAUTH);
}

static void read_only(void **state)
{
	struct world *w = *state;

	assert_ok(gpc_store_put(w->s, "here", "x", 1, 0, &err));
	in_child(write_protected, w);
	assert_int_equal(chmod(w->folder, 0700), 0);
}

/* A disk of 256 KiB in a name space of its own. */
static void small_disk(const struct world *w)
{
	gpc_autostr *disk = gpc_format("%s/disk", w->folder);
	gpc_autostr *big = gpc_array(400000, 1);
	gpc_autoptr(gpc_store) *s = NULL;
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};
	struct gpc_json *data = gpc_json_object();
	struct gpc_object o;
	uint64_t at = 0;
	int64_t start;
	int r;

	if ((unshare(CLONE_NEWNS) < 0 &&
		unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) ||
		mkdir(disk, 0700) < 0 ||
		mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("tmpfs", disk, "tmpfs", 0, "size=256k") < 0)
		_exit(77);
	CHILD(gpc_store_open(disk, 0, NULL, &s, &err) == 0);
	CHILD(gpc_store_identify(s, GPC_STORE_CREATE, &err) == 0);
	gpc_journal_init(&j, s, "j", "test");
	gpc_json_set_int(data, "num_nodes", 1);
	CHILD(gpc_journal_append(&j, GPC_EVENT_SUBMITTED, data, &err) == 0);
	CHILD(gpc_store_put(s, "a", big, 400000, 0, &err) == -GPC_EIO);
	CHILD(strstr(err.msg, "No space left"));
	CHILD(strstr(err.hint, disk));
	CHILD(gpc_store_head(s, "a", NULL, &err) == -GPC_ENOTFOUND);
	/* An append that did not fit left nothing behind. */
	while ((r = gpc_store_append(s, "log", at, big, 10000, false, &err)) ==
		0)
		at += 10000;
	CHILD(r == -GPC_EIO && at > 100000);
	CHILD(gpc_store_head(s, "log", &o, &err) == 0 && o.size == at);
	while ((r = gpc_store_append(s, "log", at, big, 16, false, &err)) == 0)
		at += 16;
	/* A journal says so at once, and knows that nothing was written. */
	start = gpc_boot_ms();
	for (r = 0; r == 0;)
		r = gpc_journal_append(&j, GPC_EVENT_SAVE, NULL, &err);
	CHILD(r == -GPC_EIO && strstr(err.msg, "No space left"));
	CHILD(!j.unsettled && gpc_boot_ms() - start < 5000);
	CHILD(gpc_store_list(s, "", NULL, collect_key, &keys, &err) == 0);
	CHILD(gpc_store_del(s, "log", &err) == 0);
	CHILD(gpc_journal_append(&j, GPC_EVENT_SAVE, NULL, &err) == 0);
	CHILD(gpc_journal_verify(s, "j", &err) == 0);
}

static void full_disk(void **state)
{
	in_child(small_disk, *state);
}

static void write_until_killed(const struct world *w, int i, const char *data)
{
	char key[32];
	int k = 0;

	do
		snprintf(key, sizeof(key), "k/%d-%d", i, ++k);
	while (gpc_store_put(w->s, key, data, 300000,
		k % 2 ? GPC_PUT_IF_ABSENT : 0, NULL) == 0);
	_exit(1);
}

/* A writer killed at any moment leaves whole objects or none. */
static void killed(void **state)
{
	struct world *w = *state;
	gpc_autostr *data = gpc_array(300000, 1);
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};

	memset(data, 'x', 300000);
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (pid == 0)
			write_until_killed(w, i, data);
		gpc_sleep_ms(3 + i % 7 * 3);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
	}
	assert_ok(gpc_store_list(w->s, "", NULL, collect_key, &keys, &err));
	for (size_t i = 0; i < keys.n; i++) {
		struct gpc_object o;

		assert_ok(gpc_store_head(w->s, keys.v[i], &o, &err));
		assert_int_equal(o.size, 300000);
	}
}

static void quick(void **state)
{
	struct world *w = *state;
	int64_t start, took;
	enum { TIMES = 200 };

	assert_ok(gpc_store_identify(w->s, GPC_STORE_CREATE, &err));
	start = gpc_boot_ms();
	for (int i = 0; i < TIMES; i++) {
		gpc_autoptr(gpc_store) *s = NULL;

		assert_ok(gpc_store_open(w->folder, 0, NULL, &s, &err));
		assert_ok(gpc_store_identify(s, GPC_STORE_CREATE, &err));
	}
	took = gpc_boot_ms() - start;
	print_message("open and identify: %d us\n", (int)(took * 1000 / TIMES));
	/* Sanitizers and loaded machines included; it is some 30 us. */
	assert_true(took < TIMES * 5);
}

/* The list of one job's events does not read the other jobs. */
static void narrow_lists(void **state)
{
	struct world *w = *state;
	int64_t start;

	for (int i = 0; i < 300; i++) {
		char key[64];

		snprintf(key, sizeof(key), "jobs/j%d/events/1", i);
		assert_ok(gpc_store_put(w->s, key, "", 0, GPC_PUT_HINT, &err));
	}
	start = gpc_boot_ms();
	for (int i = 0; i < 300; i++) {
		gpc_auto(gpc_strv) struct gpc_strv keys = {0};

		assert_ok(gpc_store_list(w->s, "jobs/j7/events/", NULL, collect_key,
			&keys, &err));
		assert_int_equal(keys.n, 1);
	}
	assert_true(gpc_boot_ms() - start < 500);
}

/* Whoever takes temporary files away from writers that live costs them time, and no
 * object. */
struct sweeper {
	struct gpc_store *s;
	_Atomic bool end;
	_Atomic int may;                /* how often it still may */
	_Atomic unsigned dropped;
};

static int drop_temp(void *arg, const struct gpc_object *o)
{
	struct sweeper *x = arg;

	if (atomic_fetch_sub(&x->may, 1) > 0)
		x->dropped += gpc_store_drop(x->s, o->key, NULL) == 0;
	return 0;
}

static void *sweep(void *arg)
{
	struct sweeper *x = arg;

	while (!x->end) {
		if (gpc_store_unfinished(x->s, "", drop_temp, x, NULL) < 0)
			return x;
		sched_yield();
	}
	return NULL;
}

static void sweeping_loses_nothing(void **state)
{
	struct world *w = *state;
	struct sweeper x = { .s = w->s };
	size_t n = 256 << 10;
	gpc_autostr *big = gpc_alloc(n);
	void *failed = NULL;
	pthread_t t;

	memset(big, 'x', n);
	assert_int_equal(pthread_create(&t, NULL, sweep, &x), 0);
	for (int i = 0; i < 300 || (!x.dropped && i < 30000); i++) {
		gpc_auto(gpc_buf) struct gpc_buf b = {0};
		char key[32];

		snprintf(key, sizeof(key), "jobs/j/%d", i);
		x.may = 2;              /* a third time it would be an error */
		assert_ok(gpc_store_put(w->s, key, big, n, i % 2 ?
			GPC_PUT_IF_ABSENT : 0, &err));
		assert_ok(gpc_store_get(w->s, key, n, &b, &err));
		assert_int_equal(b.len, n);
		assert_memory_equal(b.data, big, n);
	}
	x.end = true;
	pthread_join(t, &failed);
	assert_null(failed);
	print_message("%u temporary files were swept\n", x.dropped);
	assert_true(x.dropped > 0);
	/* Only such files are taken. */
	assert_int_equal(gpc_store_drop(w->s, "jobs/j/1", &err), -GPC_EPROTO);
	assert_int_equal(gpc_store_drop(w->s, "jobs/../.tmp-x", &err),
		-GPC_EPROTO);
	assert_ok(gpc_store_head(w->s, "jobs/j/1", NULL, &err));
}

/* The writer is stopped between its last byte and the name. */
static void unfinished_is_shown(void **state)
{
	struct world *w = *state;
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};
	gpc_autostr *temp = gpc_path_join(w->folder, "jobs/j/.tmp-dead");
	gpc_autostr *link = gpc_path_join(w->folder, "jobs/j/.tmp-link");
	gpc_autostr *dir = gpc_path_join(w->folder, "jobs/j/.tmp-dir");

	assert_ok(gpc_store_put(w->s, "jobs/j/1", "1", 1, 0, &err));
	assert_ok(gpc_write_file(temp, "half", 4, 0600, &err));
	assert_int_equal(symlink("1", link), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_ok(gpc_store_unfinished(w->s, "jobs/k/", collect_key, &keys, &err));
	assert_int_equal(keys.n, 0);
	assert_ok(gpc_store_unfinished(w->s, "jobs/", collect_key, &keys, &err));
	assert_int_equal(keys.n, 1);
	assert_string_equal(keys.v[0], "jobs/j/.tmp-dead");
	assert_ok(gpc_store_drop(w->s, keys.v[0], &err));
	assert_ok(gpc_store_drop(w->s, keys.v[0], &err));
	gpc_strv_clear(&keys);
	assert_ok(gpc_store_unfinished(w->s, "jobs/", collect_key, &keys, &err));
	assert_int_equal(keys.n, 0);
	assert_ok(gpc_store_head(w->s, "jobs/j/1", NULL, &err));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(opening), T(modes), T(shared_modes),
		T(shared_folders_come_and_go), T(bad_paths), T(leftovers), T(no_temporary_is_left),
		T(unfinished_is_shown), T(sweeping_loses_nothing),
		T(empty_folders_go),
		T(objects_below_objects), T(root_goes_away), T(read_only),
		T(full_disk), T(killed), T(quick), T(narrow_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
