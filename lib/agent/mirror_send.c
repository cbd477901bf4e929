/* What has changed in a folder, into its bucket. Large files go in parts at once and
 * appear whole; files follow each other in the order in which they were written, so
 * that one that says "the others are there" tells the truth. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "agent/mirroring.h"
#include "base/crash.h"
#include "base/time.h"
#include "transfer/transfer.h"

struct sending {
	struct gpc_mirror *m;
	struct gpc_transfer *t;
	struct gpc_objects *objects;
	char *prefix;                   /* "" or ends in "/" */
	int under_way;
	bool stop;                      /* time may heal it: nothing goes on before */
	struct gpc_error first;         /* of what failed; code 0: nothing */
};

static void sending_clear(struct sending *s)
{
	if (s->t)
		gpc_transfer_cut(s->t);
	gpc_objects_free(s->objects);
	gpc_transfer_free(s->t);
	free(s->prefix);
}
GPC_CLEANUP_VALUE(sending);

static void fail_one(struct sending *s, const char *path, const struct gpc_error *err)
{
	if (!s->first.code)
		s->first = *err;
	gpc_mirror_add_stuck(s->m, path);
	s->stop = s->stop || gpc_agent_may_retry(err);
}

/* One that was changed or removed under our hands is met again by the next look. */
static bool is_moving(const struct gpc_error *err)
{
	return err->code == GPC_ECONFLICT || err->sys == ENOENT;
}

static void done(void *arg, const struct gpc_transfer_item *item, int r,
	const struct gpc_error *err)
{
	struct sending *s = arg;
	struct gpc_mirror_file *f = gpc_map_get(&s->m->files,
		item->to.key + strlen(s->prefix));

	s->under_way--;
	if (r < 0 && is_moving(err))
		return;
	if (r < 0) {
		fail_one(s, f->path, err);
		return;
	}
	f->up = true;
	f->fetched = false;
	f->sent = f->now;
	s->m->n_sent++;
	s->m->waiting--;
	s->m->waiting_bytes -= f->now.size;
	GPC_CRASH("mirror.file_put");
}

static int open_bucket(struct sending *s, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	gpc_autostr *key = NULL;
	int r = gpc_objects_open(s->m->url, gpc_transfer_net(s->t), s->m->log, cancel,
		&s->objects, &key, err);

	if (r < 0)
		return r;
	s->prefix = !*key || gpc_ends_with(key, "/") ? gpc_steal(&key) :
		gpc_format("%s/", key);
	return 0;
}

/* --- uploads ------------------------------------------------------------------- */

static int upload(struct sending *s, struct gpc_mirror_file *f, struct gpc_error *err)
{
	gpc_autostr *path = gpc_mirror_path(s->m, f);
	gpc_autostr *key = gpc_format("%s%s", s->prefix, f->path);
	const struct gpc_transfer_item item = {
		.from = { .path = path },
		.to = { .objects = s->objects, .key = key },
		.size = (int64_t)f->now.size,
	};
	struct gpc_mirror_stat now;
	int r;

	/* It has been a while, if much was before it. */
	if (!gpc_mirror_stat(s->m, f, &now) ||
		memcmp(&now, &f->now, sizeof(now)) != 0)
		return 0;
	s->under_way++;
	r = gpc_transfer_add(s->t, &item, err);
	while (r == 0 && s->under_way >= s->m->transfers)
		r = gpc_transfer_next(s->t, err);
	return r;
}

static int upload_all(struct sending *s, const struct gpc_mirror_changes *c,
	struct gpc_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && !s->stop && i < c->due.n; i++)
		r = upload(s, c->due.v[i], err);
	return r < 0 ? r : gpc_transfer_finish(s->t, err);
}

/* --- deletions ----------------------------------------------------------------- */

/* What somebody else has put there since is theirs. */
static bool is_still_ours(const struct gpc_mirror_file *f,
	const struct gpc_object_info *info)
{
	return info->size == f->sent.size && (!f->fetched || !info->modified_ms ||
		info->modified_ms / 1000 == f->sent.mtime_ns / 1000000000);
}

/* 1: it is to be deleted. */
static int check_gone(struct sending *s, struct gpc_mirror_file *f, const char *key,
	struct gpc_error *err)
{
	struct gpc_object_info info = {0};
	struct gpc_mirror_stat now;
	gpc_autostr *keep = NULL;
	int r;

	if (gpc_mirror_stat(s->m, f, &now))
		return 0;               /* it has come back */
	r = gpc_objects_head(s->objects, key, &info, &keep, err);
	if (r == 0 && is_still_ours(f, &info))
		return 1;
	if (r == 0)
		gpc_log(s->m->log, GPC_WARN, "file_mounts.%s: %s was removed here, "
			"but is another one by now in the bucket: it stays there",
			s->m->target, f->path);
	if (r == 0 || r == -GPC_ENOTFOUND)
		f->up = false;
	return r == -GPC_ENOTFOUND ? 0 : r;
}

static int delete_all(struct sending *s, const struct gpc_mirror_changes *c,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};
	size_t n = strlen(s->prefix);
	int r = 0;

	for (size_t i = 0; r >= 0 && i < c->gone.n; i++) {
		gpc_autostr *key = gpc_format("%s%s", s->prefix,
			c->gone.v[i]->path);

		r = check_gone(s, c->gone.v[i], key, err);
		if (r == 1)
			gpc_strv_add(&keys, key);
	}
	if (r >= 0 && keys.n) {
		r = gpc_objects_delete(s->objects, &keys, NULL, NULL, err);
		GPC_CRASH("mirror.deleted");
	}
	if (r < 0)
		return gpc_wrap(err, r, "deletions");
	for (size_t i = 0; i < keys.n; i++) {
		struct gpc_mirror_file *f = gpc_map_get(&s->m->files,
			keys.v[i] + n);

		f->up = false;
		s->m->n_deleted++;
	}
	return 0;
}

int gpc_mirror_send(struct gpc_mirror *m, const struct gpc_mirror_changes *c,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	gpc_auto(sending) struct sending s = { .m = m };
	const struct gpc_transfer_settings how = { .cancel = cancel, .log = m->log,
		.state_dir = m->notes_dir, .done = done, .arg = &s };
	int r;

	if (!c->due.n && !c->gone.n)
		return 0;
	s.t = gpc_transfer_new(&how);
	r = open_bucket(&s, cancel, err);
	if (r == 0)
		r = upload_all(&s, c, err);
	if (r == 0 && s.first.code) {
		if (err)
			*err = s.first;
		r = -(int)s.first.code;
	}
	return r < 0 ? r : delete_all(&s, c, err);
}

int gpc_mirror_round(void *arg, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	gpc_auto(gpc_mirror_changes) struct gpc_mirror_changes c = {0};
	struct gpc_mirror *m = arg;
	int64_t since = gpc_boot_ms();
	int r;

	gpc_strv_clear(&m->stuck);
	m->n_stuck = 0;
	r = gpc_mirror_look(m, &c, cancel, err);
	m->look_ms = gpc_boot_ms() - since;
	if (r == 0)
		r = gpc_mirror_send(m, &c, cancel, err);
	if (r == 0 && m->n_stuck)
		return gpc_fail_sys(err, EACCES, "%s", m->stuck.v[0]);
	if (r == 0 && m->last && m->waiting)
		return gpc_fail(err, GPC_EIO, "%" PRIu64 " files were changed "
			"while they were uploaded", (uint64_t)m->waiting);
	return r;
}
