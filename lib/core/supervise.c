/* The supervisor of one user, host and store: a lock file says that it is the
 * only one, the index says which jobs it drives, and it ends with the last.
 *
 * Ending races with a submit that sees the lock held and goes away. So the lock
 * is let go first and the index is read once more: a job that was listed before
 * the submit looked at the lock is found then. */
#include <string.h>
#include <sys/stat.h>

#include "base/crash.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "core/leftovers.h"
#include "core/machine.h"
#include "core/reconcile.h"
#include "core/supervision.h"
#include "record/index.h"
#include "record/keys.h"
#include "store/lost.h"

#define RELIST_MS 500
#define RELIST_FAR_MS 30000     /* submits and requests from here wake us */
#define LIST_AGAIN_MS 5000
#define TURN_MS 500
#define TURN_FAR_MS 200         /* between looks whether somebody woke us */
#define RENEW_MS 5000
#define SWEEP_MS 60000
#define SWEEP_FAR_MS 600000
#define LEFTOVERS_FAR_MS 3600000
#define SAY_AGAIN_MS 600000

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
	const struct gpc_supervise_how *how;
	struct gpc_crew crew;
	GPC_VEC(struct gang_member) members;
	int64_t listed_ms, swept_ms, renewed_ms;
	int64_t awaited_ms;           /* boot clock: there was more to wait for */
	int64_t awaited_round;
	int64_t again_ms;             /* boot clock: no list before it */
	int lock_fd;
	const char *lock_path, *wake_path;
	uint64_t woken;               /* print of the file as last seen */
	bool far;                     /* the store bills each request */
	struct gpc_lost lost;
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

/* On a machine of its own: those that it can see the nodes of. */
static bool is_for_us(const struct gang *g, const struct gang_member *m)
{
	return !g->how->machine || gpc_machine_serves(&m->sv->job, &m->sv->spec);
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
	m->sv->machine = g->how->machine;
	if (!is_for_us(g, m) && !m->sv->job.supervisor.profile) {
		m->due_ms = gpc_boot_ms() + RELIST_FAR_MS;
		return;
	}
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
 * do spoiled ones: only a person can mend their records. Nor, on a machine, that
 * machine's own: it would pay for itself for ever. */
static bool gang_is_idle(const struct gang *g)
{
	gpc_vec_each(m, &g->members) {
		if (m->sv && !m->spoiled && is_for_us(g, m))
			return false;
	}
	return true;
}

/* Its lists cost money, and what they find is harmless for a while. */
static bool sweep_is_due(struct gang *g)
{
	gpc_autostr *path = gpc_supervisor_file(g->session, "swept");
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
	if (gpc_supervisor_renew(g->session, g->lock_fd, g->lock_path))
		return true;
	gpc_log(g->session->log, GPC_WARN, "another supervisor has taken over "
		"while this one was stopped");
	return false;
}

/* Of one round for cron: buying takes a second look, whoever is being told is
 * told to the end, and what may be about to be resumed or taken over shows whether
 * it is: the next round would know nothing of this one's wait. */
static bool is_round_over(struct gang *g)
{
	int64_t now = gpc_boot_ms();

	gpc_vec_each(m, &g->members) {
		if (!m->sv || (!gpc_supervision_may_reopen(m->sv) &&
			!gpc_supervision_awaits(m->sv)))
			continue;
		g->awaited_ms = now;
		g->awaited_round = g->crew.round;
	}
	return now - g->awaited_ms > 1000 &&
		g->crew.round - g->awaited_round > 2 && !g->crew.notices;
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
	r = gpc_lost_look(&g->lost, g->session->store, gpc_boot_ms(), err);
	if (r == 0)
		r = gang_list(g, err);
	g->again_ms = r < 0 && g->far ? gpc_boot_ms() + LIST_AGAIN_MS : 0;
	return r;
}

/* A record that is another one's by now stays. */
static int let_go(struct gpc_supervision *sv, struct gpc_error *err)
{
	bool current = false;
	int r;

	if (!gpc_eq(sv->journal.state.supervisor, sv->id))
		return 0;
	r = gpc_journal_is_current(&sv->journal, &current, err);
	return r < 0 || !current ? r : gpc_supervision_let_go(sv, err);
}

/* Those that are still ours need not grow stale before another one moves them. */
static void let_all_go(struct gang *g)
{
	struct gpc_error why = {0};
	int r = 0;

	if (g->how->once || (!g->how->machine && !gpc_canceled(g->session->cancel)))
		return;
	if (gpc_canceled(g->session->cancel) && g->how->heeded)
		g->how->heeded();
	for (size_t i = 0; r == 0 && i < g->members.n; i++)
		if (g->members.v[i].sv)
			r = let_go(g->members.v[i].sv, &why);
	if (r < 0)
		gpc_log(g->session->log, GPC_VERBOSE, "%s", why.msg);
}

static int gang_run(struct gang *g, bool once, struct gpc_error *err)
{
	g->awaited_ms = gpc_boot_ms();
	g->awaited_round = g->crew.round;
	while (!gpc_canceled(g->session->cancel) && is_still_ours(g)) {
		int64_t wait;
		int r = 0;

		gang_hear(g);
		if (list_is_due(g))
			r = list_again(g, err);
		if (r < 0 && (once || atomic_load(&g->session->store->lost)))
			return r;
		if (r < 0)
			complain(g, &g->said, "", err->msg);
		wait = gang_step(g);
		gang_sweep(g);
		if (once && is_round_over(g))
			return 0;
		if (gang_is_idle(g) && r == 0)
			return 0;
		gpc_sleep_ms(wait);
	}
	return 0;
}

int gpc_supervise_run(struct gpc_session *s, const struct gpc_supervise_how *how,
	struct gpc_error *err)
{
	gpc_autostr *path = gpc_supervisor_file(s, "lock");
	gpc_autostr *wake = gpc_supervisor_file(s, "wake");
	struct gang g = { .session = s, .how = how, .wake_path = wake,
		.far = gpc_store_is_far(s->store) };
	int r = gpc_mkdirs(s->place.state_dir, 0700, err);

	while (r == 0) {
		bool ours = true;
		int fd = -1;

		r = gpc_supervisor_lock(s, path, &fd, err);
		g.lock_fd = fd;
		g.lock_path = path;
		g.renewed_ms = 0;
		if (r == 0)
			r = gang_run(&g, how->once, err);
		if (r == 0)
			ours = gpc_supervisor_renew(s, fd, path);
		gpc_close(&fd);
		GPC_CRASH("supervise.let_go");
		if (r < 0 || how->once || !ours || gpc_canceled(s->cancel))
			break;
		let_all_go(&g);         /* as whom we are about to forget */
		gang_clear(&g);
		r = gang_list(&g, err);
		gang_step(&g);
		if (gang_is_idle(&g))
			break;
	}
	let_all_go(&g);
	gang_clear(&g);
	return r;
}
