/* The supervisor of one user, host and store: a lock file says that it is the
 * only one, the index says which jobs it drives, and it ends with the last.
 *
 * Ending races with a submit that sees the lock held and goes away. So the lock
 * is let go first and the index is read once more: a job that was listed before
 * the submit looked at the lock is found then. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/detach.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "core/leftovers.h"
#include "core/reconcile.h"
#include "core/supervision.h"
#include "dep/http.h"
#include "record/index.h"
#include "record/keys.h"

extern char **environ;

#define RELIST_MS 500
#define RELIST_FAR_MS 30000     /* submits and requests from here wake us */
#define LIST_AGAIN_MS 5000
#define TURN_MS 500
#define TURN_FAR_MS 200         /* between looks whether somebody woke us */
#define RENEW_MS 5000
#define STALE_MS 60000
#define SWEEP_MS 60000
#define SWEEP_FAR_MS 600000
#define LEFTOVERS_FAR_MS 3600000
#define SAY_AGAIN_MS 600000
#define LOOK_MS 100             /* for how long somebody may look at the lock */
#define EXEC_MS 20000           /* a machine that swaps */
#define START_MS 500            /* what starting takes at most, as a rule */

/* What went wrong last: the same again is not worth a line each second. */
struct complaint { char *text; int64_t said_ms; };
struct gang_member {
	char job[GPC_JOB_ID_SIZE];
	struct gpc_supervision *sv;   /* NULL = not loaded yet, or failed */
	int64_t due_ms;               /* boot clock */
	struct complaint said;
	bool listed;
	bool spoiled;                 /* its journal cannot be read */
};
struct gang {
	struct gpc_session *session;
	struct gpc_crew crew;
	GPC_VEC(struct gang_member) members;
	int64_t listed_ms, swept_ms, renewed_ms;
	int64_t again_ms;             /* boot clock: no list before it */
	int lock_fd;
	const char *lock_path, *wake_path;
	uint64_t woken;               /* print of the file as last seen */
	bool far;                     /* the store bills each request */
	struct complaint said;
};

static void complain(struct gang *g, struct complaint *c, const char *who,
	const char *text)
{
	int64_t now = gpc_boot_ms();

	if (c->text && gpc_eq(c->text, text) && now - c->said_ms < SAY_AGAIN_MS)
		return;
	gpc_set_str(&c->text, text);
	c->said_ms = now;
	gpc_log(g->session->log, GPC_WARN, "%s%s%s", who, *who ? ": " : "",
		text);
}

static void gang_clear(struct gang *g)
{
	gpc_vec_each(m, &g->members) {
		gpc_supervision_free(m->sv);
		free(m->said.text);
	}
	gpc_vec_free(&g->members);
	gpc_crew_clear(&g->crew);
	free(g->said.text);
	g->said.text = NULL;
}

static struct gang_member *gang_find(struct gang *g, const char *job)
{
	gpc_vec_each(m, &g->members) {
		if (gpc_eq(m->job, job))
			return m;
	}
	return NULL;
}

static void drop_unlisted(struct gang *g)
{
	for (size_t i = g->members.n; i-- > 0;) {
		if (g->members.v[i].listed)
			continue;
		gpc_supervision_free(g->members.v[i].sv);
		free(g->members.v[i].said.text);
		gpc_vec_remove(&g->members, i);
	}
}

static int gang_list(struct gang *g, struct gpc_error *err)
{
	gpc_auto(gpc_index) struct gpc_index index = {0};
	int r = gpc_index_list_live(g->session->store, &index, err);

	if (r < 0)
		return r;
	gpc_vec_each(m, &g->members)
		m->listed = false;
	gpc_vec_each(x, &index) {
		struct gang_member *m = gang_find(g, x->job);

		if (!x->live || !gpc_eq(x->owner_hash,
			g->session->place.owner.hash))
			continue;
		if (!m) {
			m = gpc_vec_push(&g->members);
			memcpy(m->job, x->job, sizeof(m->job));
		}
		m->listed = true;
	}
	drop_unlisted(g);
	g->listed_ms = gpc_boot_ms();
	return 0;
}

/* An entry without a job is a submit under way, or one that died. */
static void load_failed(struct gang *g, struct gang_member *m, int r,
	const struct gpc_error *why)
{
	if (r != -GPC_ENOTFOUND)
		complain(g, &m->said, "", why->msg);
	m->due_ms = gpc_boot_ms() + (r == -GPC_ENOTFOUND ? 500 : 30000);
}

static bool is_deleted(struct gang *g, const char *job)
{
	gpc_key key;

	/* An unmounted folder has no jobs either, which says nothing. */
	return gpc_store_head(g->session->store, "store.json", NULL, NULL) == 0
		&& gpc_store_head(g->session->store, gpc_key_job(key, job),
			NULL, NULL) == -GPC_ENOTFOUND;
}

static void member_step(struct gang *g, struct gang_member *m)
{
	struct gpc_error err = {0};
	int64_t wake = 1000;
	bool done = false;
	int r = 0;

	if (!m->sv)
		r = gpc_supervision_new(g->session, m->job, &m->sv, &err);
	if (r < 0) {
		load_failed(g, m, r, &err);
		return;
	}
	m->sv->crew = &g->crew;
	r = gpc_supervision_step(m->sv, &done, &wake, &err);
	m->spoiled = r == -GPC_EPROTO;
	if (r == -GPC_ENOTFOUND && is_deleted(g, m->job)) {
		complain(g, &m->said, m->job, "it was deleted from the store");
		gpc_supervision_free(m->sv);
		m->sv = NULL;
		g->swept_ms = 0;        /* its nodes are orphans now */
		return;
	}
	if (r < 0) {
		complain(g, &m->said, m->job, err.msg);
		wake = 2000;
	}
	m->due_ms = gpc_boot_ms() + wake;
	if (!done || r < 0)
		return;
	/* Its entry has moved: look again. Should it be resumed, nothing of
	 * what we know of its former life counts. */
	g->listed_ms = 0;
	gpc_supervision_free(m->sv);
	m->sv = NULL;
}

static bool is_before(const struct gang_member *a, const struct gang_member *b)
{
	if (!a->sv || !b->sv)
		return a->sv && !b->sv;
	return gpc_crew_before(a->sv, b->sv);
}

/* So that in one round all get their turn. They are in order but for the few
 * that have come or changed. */
static void gang_sort(struct gang *g)
{
	for (size_t i = 1; i < g->members.n; i++) {
		struct gang_member m = g->members.v[i];
		size_t k = i;

		while (k > 0 && is_before(&m, &g->members.v[k - 1])) {
			g->members.v[k] = g->members.v[k - 1];
			k--;
		}
		g->members.v[k] = m;
	}
}

static int64_t gang_step(struct gang *g)
{
	int64_t now = gpc_boot_ms();
	int64_t next = now + (g->far ? TURN_FAR_MS : TURN_MS);

	gang_sort(g);
	g->crew.round++;
	for (size_t i = 0; i < g->members.n; i++) {
		if (g->members.v[i].due_ms <= now)
			member_step(g, &g->members.v[i]);
		if (g->members.v[i].due_ms < next)
			next = g->members.v[i].due_ms;
	}
	now = gpc_boot_ms();
	return next > now ? next - now : 0;
}

/* Jobs, not bare entries: those of a submit that died do not keep us here. Nor
 * do spoiled ones: only a person can mend their records. */
static bool gang_is_idle(const struct gang *g)
{
	gpc_vec_each(m, &g->members) {
		if (m->sv && !m->spoiled)
			return false;
	}
	return true;
}

static char *lock_path(struct gpc_session *s, const char *suffix)
{
	gpc_autostr *name = gpc_format("supervise-%s.%s", s->store->id, suffix);

	return gpc_path_join(s->place.state_dir, name);
}

/* Its lists cost money, and what they find is harmless for a while. */
static bool sweep_is_due(struct gang *g)
{
	gpc_autostr *path = lock_path(g->session, "swept");
	int64_t age = gpc_lock_age_ms(path);
	struct gpc_error why;

	if (age >= 0 && age < LEFTOVERS_FAR_MS)
		return false;
	if (gpc_write_file(path, "", 0, 0600, &why) < 0)
		gpc_log(g->session->log, GPC_VERBOSE, "%s", why.msg);
	return true;
}

/* Nodes that a crash left behind, first of all and once a minute. */
static void gang_sweep(struct gang *g)
{
	struct gpc_error err = {0};
	int64_t now = gpc_boot_ms();
	int n = 0;

	if (g->swept_ms && now - g->swept_ms < (g->far ? SWEEP_FAR_MS :
		SWEEP_MS))
		return;
	g->swept_ms = now;
	if (gpc_reconcile(g->session, &n, &err) < 0)
		gpc_log(g->session->log, GPC_WARN, "reconcile: %s", err.msg);
	if (g->far && !sweep_is_due(g))
		return;
	if (gpc_leftovers_sweep(g->session, &err) < 0)
		gpc_log(g->session->log, GPC_WARN, "sweep: %s", err.msg);
}

/* Whoever was stopped for long finds that somebody else has gone on. */
static bool is_still_ours(struct gang *g)
{
	int64_t now = gpc_boot_ms();

	if (g->renewed_ms && now - g->renewed_ms < RENEW_MS)
		return true;
	g->renewed_ms = now;
	if (gpc_lock_renew(g->lock_fd, g->lock_path))
		return true;
	gpc_log(g->session->log, GPC_WARN, "another supervisor has taken over "
		"while this one was stopped");
	return false;
}

/* Of one round for cron: buying takes a second look, whoever is being told is
 * told to the end, and what may be about to be resumed shows whether it is: the
 * next round would know nothing of this one's wait. */
static bool is_round_over(const struct gang *g, int64_t started_ms)
{
	gpc_vec_each(m, &g->members)
		if (m->sv && gpc_supervision_may_reopen(m->sv))
			return false;
	return gpc_boot_ms() - started_ms > 1000 && g->crew.round > 2 &&
		!g->crew.notices;
}

/* Somebody here wrote something for us: all is looked at anew. */
static void gang_hear(struct gang *g)
{
	struct stat st;
	uint64_t print;

	if (!g->far || stat(g->wake_path, &st) < 0)
		return;
	print = (uint64_t)st.st_ino ^ (uint64_t)st.st_mtim.tv_sec << 30 ^
		(uint64_t)st.st_mtim.tv_nsec;
	if (print == g->woken)
		return;
	g->woken = print;
	g->listed_ms = 0;
	gpc_vec_each(m, &g->members)
		m->due_ms = 0;
}

static bool list_is_due(const struct gang *g)
{
	return !g->listed_ms || gpc_boot_ms() - g->listed_ms >=
		(g->far ? RELIST_FAR_MS : RELIST_MS);
}

/* A service that is out of reach is not asked with every turn; until then the
 * last answer holds. */
static int list_again(struct gang *g, struct gpc_error *err)
{
	int r;

	if (gpc_boot_ms() < g->again_ms)
		return -(int)err->code;
	r = gang_list(g, err);
	g->again_ms = r < 0 && g->far ? gpc_boot_ms() + LIST_AGAIN_MS : 0;
	return r;
}

static int gang_run(struct gang *g, bool once, struct gpc_error *err)
{
	int64_t started = gpc_boot_ms();

	while (!gpc_canceled(g->session->cancel) && is_still_ours(g)) {
		int64_t wait;
		int r = 0;

		gang_hear(g);
		if (list_is_due(g))
			r = list_again(g, err);
		if (r < 0 && once)
			return r;
		if (r < 0)
			complain(g, &g->said, "", err->msg);
		wait = gang_step(g);
		gang_sweep(g);
		if (once && is_round_over(g, started))
			return 0;
		if (gang_is_idle(g) && r == 0)
			return 0;
		gpc_sleep_ms(wait);
	}
	return 0;
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

int gpc_supervise_run(struct gpc_session *s, bool once, struct gpc_error *err)
{
	gpc_autostr *path = lock_path(s, "lock");
	gpc_autostr *wake = lock_path(s, "wake");
	struct gang g = { .session = s, .wake_path = wake,
		.far = gpc_store_is_far(s->store) };
	int r = gpc_mkdirs(s->place.state_dir, 0700, err);

	while (r == 0) {
		bool ours = true;
		int fd = -1;

		r = take_lock(path, LOOK_MS, &fd, err);
		if (r == -GPC_ECONFLICT)
			r = gpc_fail(err, GPC_ECONFLICT,
				"another process supervises your jobs in %s",
				s->store->url);
		g.lock_fd = fd;
		g.lock_path = path;
		g.renewed_ms = 0;
		if (r == 0)
			r = gang_run(&g, once, err);
		if (r == 0)
			ours = gpc_lock_renew(fd, path);
		gpc_close(&fd);
		GPC_CRASH("supervise.let_go");
		if (r < 0 || once || !ours || gpc_canceled(s->cancel))
			break;
		gang_clear(&g);
		r = gang_list(&g, err);
		gang_step(&g);
		if (gang_is_idle(&g))
			break;
	}
	gang_clear(&g);
	return r;
}

/* Takes the lock's name from a holder that has shown no sign of life: it is
 * stopped, or stuck. Should it wake up, it sees that and ends; what it was
 * about to do is kept from being done twice by the journals. */
static void break_stale(struct gpc_session *s, const char *path)
{
	int64_t age = gpc_lock_age_ms(path);

	if (age < STALE_MS || unlink(path) < 0)
		return;
	gpc_log(s->log, GPC_WARN, "the supervisor in the background has been "
		"silent for %lld s: another one takes over",
		(long long)age / 1000);
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
	gpc_autostr *log = lock_path(s, "log");
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
	path = lock_path(s, "wake");
	r = gpc_mkdirs(s->place.state_dir, 0700, &why);
	if (r == 0)
		r = gpc_write_file(path, "", 0, 0600, &why);
	if (r < 0)
		gpc_log(s->log, GPC_VERBOSE, "%s", why.msg);
}

int64_t gpc_supervisor_silent_ms(struct gpc_session *s)
{
	gpc_autostr *lock = lock_path(s, "lock");
	int64_t age = gpc_lock_age_ms(lock);

	return age >= STALE_MS ? age : 0;
}

int gpc_supervisor_ensure(struct gpc_session *s, struct gpc_error *err)
{
	gpc_autostr *lock = lock_path(s, "lock");
	gpc_autostr *start = lock_path(s, "start");
	gpc_autofd fd = -1;
	bool held = false;
	int r = gpc_mkdirs(s->place.state_dir, 0700, err);

	if (r == 0)
		r = look_at_lock(lock, &held, err);
	if (r == 0 && (!held || gpc_lock_age_ms(lock) >= STALE_MS)) {
		/* One at a time; who takes longer than that is not waited for. */
		r = take_lock(start, START_MS, &fd, err);
		if (r == 0)
			break_stale(s, lock);
		if (r == 0 || r == -GPC_ECONFLICT)
			r = look_at_lock(lock, &held, err);
	}
	if (r == 0 && !held)
		r = start_one(s, lock, err);
	return gpc_wrap(err, r, "start the supervisor");
}
