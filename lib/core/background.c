/* The supervisor in the background: a lock file per user, host and store says that
 * there is one and, by what its holder writes into it, that it is at work. Commands
 * look at that and start one where there is none; who holds the lock and has shown
 * no sign of life for the stale time is replaced. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/detach.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "core/supervision.h"
#include "dep/http.h"

extern char **environ;

#define LOOK_MS 100             /* for how long somebody may look at the lock */
#define MARK_SIZE 64
#define EXEC_MS 20000           /* a machine that swaps */
#define START_MS 500            /* what starting takes at most, as a rule */

char *gpc_supervisor_file(struct gpc_session *s, const char *suffix)
{
	gpc_autostr *name = gpc_format("supervise-%s.%s", s->store->id, suffix);

	return gpc_path_join(s->place.state_dir, name);
}

/* Waits for those who hold it for a moment. */
static int take_lock(const char *path, int64_t wait_ms, int *ret_fd,
	struct gpc_error *err)
{
	int64_t end = gpc_boot_ms() + wait_ms;

	for (;;) {
		int r = gpc_lock_file(path, false, ret_fd, err);

		if (r != -GPC_ECONFLICT || gpc_boot_ms() >= end)
			return r;
		gpc_sleep_ms(5);
	}
}

/* --- signs of life --------------------------------------------------------- */

/* "BOOT MILLISECONDS": when, by the clock that no one sets. Should there be no room
 * for it, the file's own time still tells. */
static void mark(const struct gpc_session *s, int fd)
{
	char text[MARK_SIZE];
	int n = snprintf(text, sizeof(text), "%-36.36s %-20lld\n",
		s->place.boot[0] ? s->place.boot : "-",
		(long long)gpc_boot_ms());

	(void)!gpc_pwrite_all(fd, text, (size_t)n, 0, "the lock", NULL);
}

bool gpc_supervisor_renew(const struct gpc_session *s, int fd, const char *path)
{
	mark(s, fd);
	return gpc_lock_renew(fd, path);
}

/* By the boot clock; -1 when the holder is of another boot, or wrote nothing. */
static int64_t marked_age_ms(const struct gpc_session *s, const char *path)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	int64_t now = gpc_boot_ms(), ms;
	struct gpc_str text, boot;
	gpc_autostr *at = NULL;

	if (gpc_read_file(path, MARK_SIZE, &b, NULL) < 0)
		return -1;
	text = gpc_str_trim(gpc_str_of(gpc_buf_str(&b)));
	if (!gpc_str_split(&text, ' ', &boot) || !s->place.boot[0] ||
		!gpc_str_eq(boot, s->place.boot))
		return -1;
	text = gpc_str_trim(text);
	at = gpc_strndup(text.ptr, text.len);
	return gpc_parse_i64(at, 0, now, "the lock's time", &ms, NULL) < 0 ?
		-1 : now - ms;
}

/* Silent is who is so by both clocks: the wall's may jump, and what is written into
 * the file may not get there on a full disk. -1: there is no such file. */
static int64_t age_ms(const struct gpc_session *s, const char *path)
{
	int64_t wall = gpc_lock_age_ms(path);
	int64_t boot = wall == -1 ? -1 : marked_age_ms(s, path);

	if (boot < 0)
		return wall;
	return wall >= 0 && wall < boot ? wall : boot;
}

/* --- the lock -------------------------------------------------------------- */

/* Takes the lock's name from a holder that has shown no sign of life: it is
 * stopped, or stuck. Should it wake up, it sees that and ends; what it was
 * about to do is kept from being done twice by the journals. */
static void break_stale(struct gpc_session *s, const char *path)
{
	int64_t age = age_ms(s, path);

	if (age < GPC_SUPERVISOR_STALE_MS || unlink(path) < 0)
		return;
	gpc_log(s->log, GPC_WARN, "the supervisor in the background has been "
		"silent for %lld s: another one takes over",
		(long long)age / 1000);
}

/* One at a time; who takes longer than that is not waited for. */
static int break_in_turn(struct gpc_session *s, const char *path, int *ret_fd,
	struct gpc_error *err)
{
	gpc_autostr *start = gpc_supervisor_file(s, "start");
	int r = take_lock(start, START_MS, ret_fd, err);

	if (r == 0)
		break_stale(s, path);
	return r == -GPC_ECONFLICT ? 0 : r;
}

int gpc_supervisor_lock(struct gpc_session *s, const char *path, int *ret_fd,
	struct gpc_error *err)
{
	gpc_autofd turn = -1;
	int r = take_lock(path, LOOK_MS, ret_fd, err);

	if (r == -GPC_ECONFLICT &&
		age_ms(s, path) >= GPC_SUPERVISOR_STALE_MS) {
		r = break_in_turn(s, path, &turn, err);
		if (r == 0)
			r = take_lock(path, LOOK_MS, ret_fd, err);
	}
	if (r == 0)
		mark(s, *ret_fd);
	return r == -GPC_ECONFLICT ? gpc_fail(err, GPC_ECONFLICT,
		"another process supervises your jobs in %s",
		s->store->url) : r;
}

/* Looking means to hold it for a moment. */
static int look_at_lock(const char *path, bool *ret_held, struct gpc_error *err)
{
	int fd = -1;
	int r = gpc_lock_file(path, false, &fd, err);

	gpc_close(&fd);
	*ret_held = r == -GPC_ECONFLICT;
	return *ret_held ? 0 : r;
}

/* Ours, and what a profile or a folder's file may have said. */
static void fill_env(const struct gpc_session *s, struct gpc_strv *env)
{
	const char *ca_file = s->options.ca_file;

	if (ca_file)
		gpc_strv_addf(env, GPC_HTTP_CA_ENV "=%s", ca_file);
	for (char **e = environ; *e; e++)
		if (!ca_file || !gpc_starts_with(*e, GPC_HTTP_CA_ENV "="))
			gpc_strv_add(env, *e);
	gpc_strv_take(env, NULL);
}

static int spawn(const struct gpc_session *s, const char *const *argv,
	const char *log_path, struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv env = {0};
	struct gpc_detached d = { .path = argv[0], .argv = argv };
	gpc_autofd log_fd = -1, report = -1;
	char word = 0;
	int r = gpc_open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600, &log_fd,
		err);

	if (r < 0)
		return r;
	fill_env(s, &env);
	d.envp = env.v;
	d.log_fd = log_fd;
	r = gpc_detach(&d, &report, err);
	return r < 0 ? r : gpc_detached_report(report, argv[0], EXEC_MS, &word,
		err);
}

/* Until it has the lock, the next one who looks would start another. */
static int start_one(struct gpc_session *s, const char *lock,
	struct gpc_error *err)
{
	gpc_autostr *log = gpc_supervisor_file(s, "log");
	const char *argv[] = {
		s->place.self_path, "supervise", "--store", s->store->url, NULL,
	};
	int64_t end = gpc_boot_ms() + START_MS;
	bool held = false;
	int r;

	if (!s->place.self_path)
		return gpc_fail(err, GPC_EUNSUPPORTED,
			"cannot find this program's own file to start a supervisor");
	GPC_CRASH("supervise.start");
	r = spawn(s, argv, log, err);
	GPC_CRASH("supervise.started");
	while (r == 0 && !held && gpc_boot_ms() < end) {
		gpc_sleep_ms(5);
		r = look_at_lock(lock, &held, err);
	}
	return r;
}

void gpc_supervisor_wake(struct gpc_session *s)
{
	gpc_autostr *path = NULL;
	struct gpc_error why;
	int r;

	if (!gpc_store_is_far(s->store))
		return;
	path = gpc_supervisor_file(s, "wake");
	r = gpc_mkdirs(s->place.state_dir, 0700, &why);
	if (r == 0)
		r = gpc_write_file(path, "", 0, 0600, &why);
	if (r < 0)
		gpc_log(s->log, GPC_VERBOSE, "%s", why.msg);
}

int64_t gpc_supervisor_silent_ms(struct gpc_session *s)
{
	gpc_autostr *lock = gpc_supervisor_file(s, "lock");
	int64_t age = age_ms(s, lock);

	return age >= GPC_SUPERVISOR_SILENT_MS ? age : 0;
}

int gpc_supervisor_ensure(struct gpc_session *s, struct gpc_error *err)
{
	gpc_autostr *lock = gpc_supervisor_file(s, "lock");
	gpc_autofd turn = -1;
	bool held = false;
	int r = gpc_mkdirs(s->place.state_dir, 0700, err);

	if (r == 0)
		r = look_at_lock(lock, &held, err);
	if (r == 0 && (!held ||
		age_ms(s, lock) >= GPC_SUPERVISOR_STALE_MS)) {
		r = break_in_turn(s, lock, &turn, err);
		if (r == 0)
			r = look_at_lock(lock, &held, err);
	}
	if (r == 0 && !held)
		r = start_one(s, lock, err);
	return gpc_wrap(err, r, "start the supervisor");
}
