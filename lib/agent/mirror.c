/* When folders that a bucket gets back are looked at. Each has a thread of its own, so
 * that neither the checkpoints nor another bucket wait for it. While the program runs
 * a failure is only told, and tried again; at its end the uploads are tried for an
 * hour, and what still is not there is kept with the job's artifacts. */
#define _DEFAULT_SOURCE
#include "agent/mirror.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/artifacts.h"
#include "agent/mirroring.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/time.h"
#include "provider/procs.h"

enum {
	LOOK_MS = 2000,         /* between two looks; two make a file quiet */
	LOOK_SHARE = 20,        /* looks take a 20th of the time at the most */
	RETRY_MS = 5000, TELL_MS = 10000,
};
#define RESCUED "not-uploaded"

struct gpc_mirrors {
	GPC_VEC(struct gpc_mirror *) all;
	int64_t told_ms;                /* boot clock: of the newest progress */
	bool noted;                     /* the agent's note is progress */
};

void gpc_mirrors_free(struct gpc_mirrors *x)
{
	if (!x)
		return;
	gpc_vec_each(m, &x->all)
		gpc_mirror_free(*m);
	gpc_vec_free(&x->all);
	free(x);
}

/* --- beginning ------------------------------------------------------------------- */

/* The bucket's own entry of the spec: both are in the spec's order. */
static const struct gpc_spec_mount *spec_of(const struct gpc_agent *a, size_t i)
{
	gpc_vec_each(s, &a->spec.file_mounts)
		if (gpc_spec_source_is_bucket(s->source) && i-- == 0)
			return s;
	return NULL;
}

static bool is_written(const struct gpc_agent *a, size_t i)
{
	const struct gpc_spec_mount *s = spec_of(a, i);

	return s && !gpc_spec_mount_only_read(s);
}

/* What is mounted further down belongs to somebody else. */
static int add_except(struct gpc_agent *a, struct gpc_mirror *m,
	struct gpc_error *err)
{
	int r = 0;

	gpc_vec_each(s, &a->spec.file_mounts) {
		gpc_autostr *path = NULL, *real = NULL;

		if (r == 0)
			r = gpc_agent_path(a, s->target, "file_mounts", &path,
				err);
		real = path ? realpath(path, NULL) : NULL;
		if (real && !gpc_eq(real, m->root) &&
			gpc_path_contains(m->root, real))
			gpc_strv_add(&m->except, real);
	}
	return r;
}

static int begin(struct gpc_agent *a, size_t i, struct gpc_mirrors *x,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	const struct gpc_job_bucket *b = &a->job.buckets.v[i];
	gpc_autostr *name = gpc_format("uploads-%zu", i);
	gpc_autostr *path = NULL, *real = NULL;
	struct gpc_mirror *m;
	int r = gpc_agent_path(a, b->target, "file_mounts", &path, err);
	int n = gpc_spec_mount_transfers(spec_of(a, i));

	if (r < 0)
		return r;
	real = realpath(path, NULL);
	if (!real)
		return gpc_fail_sys(err, errno, "cannot look at %s", path);
	m = *gpc_vec_push(&x->all) = gpc_mirror_new(b->target, b->source, real,
		&a->log);
	m->agent = a;
	m->transfers = n > 1 ? n : 1;
	m->notes_dir = gpc_path_join(a->options->node_dir, name);
	r = gpc_worker_new(&m->worker, err);
	if (r == 0)
		r = add_except(a, m, err);
	return r < 0 ? r : gpc_mirror_take(m, cancel, err);
}

int gpc_mirrors_begin(struct gpc_agent *a, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	struct gpc_mirrors *x;
	int r = 0;

	if (a->mirrors)
		return 0;
	x = gpc_alloc(sizeof(*x));
	for (size_t i = 0; r == 0 && i < a->job.buckets.n; i++)
		if (is_written(a, i))
			r = gpc_wrap(err, begin(a, i, x, cancel, err),
				"file_mounts.%s", a->job.buckets.v[i].target);
	if (r == 0 && x->all.n)
		a->mirrors = gpc_steal(&x);
	gpc_mirrors_free(x);
	return r;
}

/* --- whether ---------------------------------------------------------------------- */

/* Not once a later attempt may be at work; the rest of one that lost a rank still
 * has a moment. Nor when somebody wants an end now. */
static bool may_write(const struct gpc_agent *a)
{
	if (a->stop.asked && a->stop.reason == GPC_REASON_CANCELLED &&
		!a->stop.save)
		return false;
	return !a->abandoned || (a->stop.save && a->state.attempt <= a->attempt &&
		!gpc_job_status_is_end(a->state.status));
}

static void start(struct gpc_agent *a, struct gpc_mirror *m,
	enum gpc_mirror_task task, gpc_work_fn *fn)
{
	struct gpc_error err = {0};

	m->task = task;
	m->last = task != GPC_MIRROR_LOOK;
	if (gpc_worker_start(m->worker, fn, m, &err) == 0)
		return;
	m->task = GPC_MIRROR_IDLE;
	m->due_ms = gpc_boot_ms() + RETRY_MS;
	gpc_agent_say(a, GPC_WARN, "file_mounts.%s: %s", m->target, err.msg);
}

/* --- what a look came to ------------------------------------------------------------ */

static char *count_text(uint64_t files, uint64_t bytes)
{
	char size[32];

	return gpc_format("%" PRIu64 " file%s, %s", files, files == 1 ? "" : "s",
		gpc_format_size(bytes, size, sizeof(size)));
}

static void tell_failure(struct gpc_agent *a, struct gpc_mirror *m,
	const struct gpc_error *err)
{
	if (!m->noted || !gpc_eq(m->err.msg, err->msg))
		gpc_agent_note(a, "file_mounts.%s: not uploaded: %s; tries again",
			m->target, err->msg);
	m->noted = true;
	m->err = *err;
}

static void tell_success(struct gpc_agent *a, struct gpc_mirror *m)
{
	if (m->noted)
		gpc_set_str(&a->note, NULL);
	m->noted = false;
}

/* What only the user can mend is not the store's fault. */
static enum gpc_reason reason_of(const struct gpc_error *err)
{
	if (err->code == GPC_EAUTH)
		return GPC_REASON_AUTH;
	if (!gpc_agent_may_retry(err) && err->sys != ENOSPC && err->sys != EDQUOT)
		return GPC_REASON_SPEC_INVALID;
	return gpc_agent_reason_of(err);
}

/* The names of some, for people; owned. */
static char *names(const struct gpc_mirror *m)
{
	gpc_autostr *some = gpc_strv_join(&m->stuck, ", ");

	return !m->stuck.n ? gpc_strdup("") : gpc_format(" (%s%s)", some,
		m->n_stuck > m->stuck.n ? ", ..." : "");
}

static void give_up(struct gpc_agent *a, struct gpc_mirror *m)
{
	gpc_autostr *some = names(m);
	gpc_autostr *what = gpc_format("file_mounts.%s: %" PRIu64 " file%s%s "
		"not uploaded: %s%s", m->target, (uint64_t)m->waiting,
		m->waiting == 1 ? "" : "s", some, m->err.msg,
		m->rescued ? "; kept as artifacts below " RESCUED
		"/, which `gpucloud pull` fetches" : "");

	m->over = true;
	a->mirrors->noted = false;
	gpc_agent_note(a, "%s", what);
	if (a->exit.reason == GPC_REASON_COMPLETED)
		a->exit.reason = reason_of(&m->err);
	if (!a->exit.detail)
		a->exit.detail = gpc_steal(&what);
}

/* --- what no bucket took -------------------------------------------------------------- */

static int put(struct gpc_agent *a, const struct gpc_mirror *m,
	const struct gpc_mirror_file *f, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	gpc_autostr *path = gpc_mirror_path(m, f);
	const char *target = gpc_starts_with(m->target, "~/") ? m->target + 2 :
		m->target;
	gpc_autostr *name = gpc_format(RESCUED "/%d/%s/%s", a->rank,
		target + strspn(target, "/"), f->path);

	return gpc_artifacts_put(a, path, name, cancel, err);
}

/* The store may take what the bucket does not. */
static int rescue(void *arg, const struct gpc_cancel *cancel, struct gpc_error *err)
{
	gpc_auto(gpc_mirror_changes) struct gpc_mirror_changes c = {0};
	struct gpc_mirror *m = arg;
	int r = gpc_mirror_look(m, &c, cancel, err);

	for (size_t i = 0; r == 0 && i < c.due.n; i++)
		r = put(m->agent, m, c.due.v[i], cancel, err);
	return r;
}

/* --- ends ---------------------------------------------------------------------------- */

/* As the last save of a checkpoint: as long as it can help, but a stop has its end. */
static bool again(const struct gpc_agent *a, const struct gpc_error *err, int64_t now)
{
	int64_t until = gpc_agent_may_retry(err) ? a->step_since_ms +
		GPC_AGENT_DRAIN_MS : 0;

	if (a->stop.asked && a->stop.kill_ms < until)
		until = a->stop.kill_ms;
	return now < until;
}

static void last_ended(struct gpc_agent *a, struct gpc_mirror *m, int r,
	const struct gpc_error *err)
{
	int64_t now = gpc_boot_ms();

	if (r == 0) {
		m->over = true;
		tell_success(a, m);
		gpc_agent_say(a, GPC_INFO, "file_mounts.%s: the bucket has all: "
			"%" PRIu64 " uploaded, %" PRIu64 " deleted", m->target,
			m->n_sent, m->n_deleted);
		return;
	}
	m->err = *err;
	if (again(a, err, now)) {
		m->due_ms = now + RETRY_MS;
		tell_failure(a, m, err);
	} else {
		start(a, m, GPC_MIRROR_RESCUE, rescue);
	}
}

static void drop(struct gpc_agent *a, struct gpc_mirror *m)
{
	gpc_autostr *left = count_text(m->waiting, m->waiting_bytes);

	m->over = true;
	if (m->waiting)
		gpc_agent_say(a, GPC_WARN, "file_mounts.%s: not uploaded any more: "
			"%s", m->target, left);
}

static void ended(struct gpc_agent *a, struct gpc_mirror *m, int r,
	const struct gpc_error *err)
{
	enum gpc_mirror_task task = m->task;

	m->task = GPC_MIRROR_IDLE;
	if (!may_write(a)) {
		drop(a, m);
	} else if (task == GPC_MIRROR_RESCUE) {
		m->rescued = r == 0;
		if (r < 0)
			gpc_agent_say(a, GPC_WARN, "file_mounts.%s: not kept in "
				"the store either: %s", m->target, err->msg);
		give_up(a, m);
	} else if (task == GPC_MIRROR_LAST) {
		last_ended(a, m, r, err);
	} else if (r < 0) {
		m->due_ms = gpc_boot_ms() + RETRY_MS;
		tell_failure(a, m, err);
	} else {
		m->due_ms = gpc_boot_ms() + LOOK_MS + m->look_ms * LOOK_SHARE;
		tell_success(a, m);
	}
}

/* --- the loop's ---------------------------------------------------------------------- */

/* For whoever reads beats: what waits. */
static void count(struct gpc_agent *a)
{
	struct gpc_json *j = gpc_json_object();
	uint64_t files = 0, bytes = 0;

	gpc_vec_each(at, &a->mirrors->all) {
		files += (*at)->waiting;
		bytes += (*at)->waiting_bytes;
	}
	gpc_json_set_int(j, "files", (int64_t)files);
	gpc_json_set_int(j, "bytes", (int64_t)bytes);
	if (!a->beat_extra)
		a->beat_extra = gpc_json_object();
	gpc_json_set(a->beat_extra, "uploads", j);
}

void gpc_mirrors_tick(struct gpc_agent *a, int64_t now_ms)
{
	if (a->step <= GPC_STEP_RESTORE || !a->mirrors)
		return;
	gpc_vec_each(at, &a->mirrors->all) {
		struct gpc_mirror *m = *at;
		struct gpc_error err = {0};
		int r;

		if (gpc_worker_take(m->worker, &r, &err))
			ended(a, m, r, &err);
		else if (gpc_worker_busy(m->worker) && !may_write(a))
			gpc_worker_cancel(m->worker);
		if (!m->over && m->task == GPC_MIRROR_IDLE && may_write(a) &&
			a->step < GPC_STEP_ARTIFACTS && now_ms >= m->due_ms)
			start(a, m, GPC_MIRROR_LOOK, gpc_mirror_round);
	}
	count(a);
}

void gpc_mirrors_killing(struct gpc_agent *a)
{
	if (a->step <= GPC_STEP_RESTORE || !a->mirrors)
		return;
	gpc_vec_each(at, &a->mirrors->all)
		gpc_procs_list_writing(getpid(), (*at)->root, &(*at)->torn_next);
}

static void tell_progress(struct gpc_agent *a, const struct gpc_mirror *m,
	int64_t now_ms)
{
	gpc_autostr *left = NULL;

	if (now_ms - a->mirrors->told_ms < TELL_MS || m->noted || !m->waiting)
		return;
	left = count_text(m->waiting, m->waiting_bytes);
	if (a->mirrors->told_ms) {
		gpc_agent_say(a, GPC_INFO, "file_mounts.%s: uploads: %s left",
			m->target, left);
		gpc_set_str(&a->note, NULL);
		a->note = gpc_format("file_mounts.%s: uploads: %s left",
			m->target, left);
		a->mirrors->noted = true;
		a->beat_due_ms = now_ms;
	}
	a->mirrors->told_ms = now_ms;
}

static void start_last(struct gpc_agent *a, struct gpc_mirror *m)
{
	m->leave_torn = gpc_reason_retry(a->exit.reason) == GPC_RETRY_RECOVER;
	for (size_t i = 0; i < m->torn_next.n; i++)
		gpc_strv_add(&m->torn, m->torn_next.v[i]);
	gpc_strv_clear(&m->torn_next);
	start(a, m, GPC_MIRROR_LAST, gpc_mirror_round);
}

static bool finish(struct gpc_agent *a, struct gpc_mirror *m, int64_t now_ms)
{
	if (m->over)
		return false;
	if (gpc_worker_busy(m->worker)) {
		tell_progress(a, m, now_ms);
		return true;
	}
	if (!may_write(a)) {
		drop(a, m);
		return false;
	}
	if (!m->last || now_ms >= m->due_ms)
		start_last(a, m);
	return true;
}

bool gpc_mirrors_finish(struct gpc_agent *a, int64_t now_ms)
{
	bool waits = false;

	if (!a->mirrors)
		return false;
	gpc_vec_each(at, &a->mirrors->all)
		waits = finish(a, *at, now_ms) || waits;
	if (!waits && a->mirrors->noted)
		gpc_set_str(&a->note, NULL);
	return waits;
}
