/* Saving a checkpoint, in the worker.
 *
 * What a program writes is taken when it is quiet: two looks a moment apart
 * that see the same, and nothing that changed while it was read. Rank 0's
 * record is the commit; with all ranks owning parts, rank 0 first says the
 * number, each rank puts its part, and the record follows the last of them. */
#include "agent/saver.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/str.h"
#include "base/time.h"
#include "provider/procs.h"
#include "record/checkpoint.h"
#include "record/keys.h"
#include "snapshot/snapshot.h"

enum { QUIET_MS = 400, RESTLESS_MS = 1200, PARTS_MAX_MS = 10 * 60 * 1000, PART_LOOK_MS = 200,
	PART_MAX = 4 << 20 };

static int scan(const struct gpc_saver *s, const struct gpc_cancel *cancel,
	struct gpc_tree *ret_t, struct gpc_error *err)
{
	/* A file that vanishes meanwhile makes the scan fail: once more. */
	struct gpc_scan_options o = { .unreadable = GPC_UNREADABLE_FAIL,
		.cancel = cancel };
	int r = 0;

	for (int i = 0; i < 3; i++) {
		r = gpc_scan(s->dir, &o, ret_t, err);
		if (r != -GPC_ENOTFOUND)
			break;
	}
	return r;
}

static uint64_t print_of(const struct gpc_tree *t)
{
	uint64_t h = t->entries.n;

	for (size_t i = 0; i < t->entries.n; i++) {
		const struct gpc_entry *e = &t->entries.v[i];
		/* Folders' own times change with every temporary file. */
		uint64_t x[6] = { h, e->kind, e->mode,
			e->kind == GPC_ENTRY_FILE ? e->size : 0,
			e->kind == GPC_ENTRY_DIR ? 0 : (uint64_t)e->mtime_ns,
			e->kind == GPC_ENTRY_DIR ? 0 : e->ino };

		h = gpc_hash64(x, sizeof(x));
		h ^= gpc_hash64(e->path, strlen(e->path));
	}
	return h | 1;                 /* 0 = nothing seen yet */
}

int gpc_saver_print(const struct gpc_saver *s, const struct gpc_cancel *cancel,
	uint64_t *ret_print, uint64_t *ret_n, struct gpc_error *err)
{
	gpc_auto(gpc_tree) struct gpc_tree t = {0};
	int r = scan(s, cancel, &t, err);

	if (r < 0)
		return r;
	*ret_print = print_of(&t);
	*ret_n = t.n_files;
	return 0;
}

/* --- waiting for quiet ---------------------------------------------------- */

static void rest(const struct gpc_cancel *cancel, int64_t ms)
{
	for (; ms > 0 && !gpc_canceled(cancel); ms -= 100)
		gpc_sleep_ms(ms < 100 ? ms : 100);
}

/* FORCE: until the program has written (if it was asked to) and rests; one that
 * never rests is taken at a moment in which it has no file open. */
static int wait_quiet(struct gpc_saver *s, const struct gpc_cancel *cancel,
	int64_t end, struct gpc_error *err)
{
	int64_t since = gpc_boot_ms();
	uint64_t last = 0, now, n;

	for (;;) {
		int r = gpc_saver_print(s, cancel, &now, &n, err);
		int64_t waited = gpc_boot_ms() - since;
		bool late = gpc_boot_ms() >= end;
		bool written = !s->wait_change || now != s->saved_print || late;

		if (r < 0)
			return r;
		if (written && now == last)
			return 0;
		if ((written && waited >= RESTLESS_MS) || late) {
			if (!gpc_procs_writing_below(getpid(), s->dir))
				return 0;
			if (late)
				return gpc_fail(err, GPC_ETIMEOUT, "%s: a file "
					"is still being written", s->dir);
		}
		last = now;
		rest(cancel, QUIET_MS);
		if (gpc_canceled(cancel))
			return gpc_fail(err, GPC_ECANCELED, "stopped");
	}
}

/* LOOK: whether this is worth a save now. */
static bool is_due(struct gpc_saver *s, uint64_t print)
{
	bool quiet = print == s->seen_print;

	s->changed = print != s->saved_print;
	s->seen_print = print;
	if (!s->changed)
		return false;
	return quiet || (s->insist
		&& !gpc_procs_writing_below(getpid(), s->dir));
}

/* --- parts ---------------------------------------------------------------- */

static struct gpc_json *part_json(const struct gpc_saver *s,
	const struct gpc_save_result *r)
{
	struct gpc_json *j = gpc_json_object();

	gpc_json_set_int(j, "v", 1);
	gpc_json_set_int(j, "n", s->n);
	gpc_json_set_bool(j, "quiet", r->quiet);
	gpc_json_set_int(j, "files", (int64_t)r->n_files);
	gpc_json_set_int(j, "bytes", (int64_t)r->n_bytes);
	gpc_json_set(j, "head", gpc_json_copy(r->head));
	return j;
}

static int put_json(struct gpc_saver *s, const char *key, struct gpc_json *j,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *owned = j;
	gpc_autostr *text = gpc_json_print(owned);

	return gpc_store_put(s->store, key, text, strlen(text), 0, err);
}

static void part_key(const struct gpc_saver *s, int rank, gpc_key out)
{
	gpc_autostr *name = gpc_format("part-%d.json", s->n);

	gpc_key_rank(out, s->job, s->attempt, rank, name);
}

/* ranks: all, rank 0: tells the others which number is being saved. */
static int announce(struct gpc_saver *s, struct gpc_error *err)
{
	struct gpc_json *j = gpc_json_object();
	gpc_key key;

	gpc_json_set_int(j, "v", 1);
	gpc_json_set_int(j, "n", s->n);
	gpc_json_set_str(j, "label", s->request.label);
	gpc_key_rank(key, s->job, s->attempt, 0, "save.json");
	return put_json(s, key, j, err);
}

static int read_part(struct gpc_saver *s, int rank, struct gpc_json **ret_j,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_key key;
	int r;

	part_key(s, rank, key);
	r = gpc_store_get(s->store, key, PART_MAX, &b, err);
	return r < 0 ? r : gpc_json_parse(b.data, b.len, ret_j, err);
}

/* Adds the other ranks' parts as they come. */
static int add_parts(struct gpc_saver *s, struct gpc_checkpoint *c,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	/* At the end a rank that died must not hold up the others. */
	int64_t end = gpc_boot_ms() + (s->task == GPC_SAVER_FINAL
		? s->patience_ms + PART_SPARE_MS : PARTS_MAX_MS);

	for (int rank = 1; rank < s->num_nodes;) {
		gpc_autoptr(gpc_json) *j = NULL;
		struct gpc_checkpoint_part *p;
		int r = read_part(s, rank, &j, err);

		if (r == -GPC_ENOTFOUND && gpc_boot_ms() < end
			&& !gpc_canceled(cancel)) {
			rest(cancel, PART_LOOK_MS);
			continue;
		}
		if (r < 0)
			return gpc_wrap(err, r, "part of rank %d", rank);
		p = gpc_vec_push(&c->parts);
		p->rank = rank;
		p->head = gpc_json_copy(gpc_json_get(j, "head"));
		c->files += gpc_json_get_int(j, "files", 0);
		c->bytes += gpc_json_get_int(j, "bytes", 0);
		c->quiet = c->quiet
			&& gpc_json_bool_or(gpc_json_get(j, "quiet"), false);
		rank++;
	}
	return 0;
}

static int commit(struct gpc_saver *s, const struct gpc_save_result *saved,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	gpc_auto(gpc_checkpoint) struct gpc_checkpoint c = { .v = 1,
		.attempt = s->attempt, .n = s->n, .at_ms = gpc_wall_ms(),
		.quiet = saved->quiet, .bytes = (int64_t)saved->n_bytes,
		.files = (int64_t)saved->n_files };
	struct gpc_checkpoint_part *own = gpc_vec_push(&c.parts);
	int r = 0;

	c.id = gpc_format("%d-%d-%s", s->attempt, s->n, s->request.label);
	c.label = gpc_strdup(s->request.label);
	own->rank = s->rank;
	own->head = gpc_json_copy(saved->head);
	if (s->request.number) {
		c.rest = gpc_json_object();
		gpc_json_set_int(c.rest, "request", s->request.number);
	}
	if (s->all_ranks) {
		atomic_store(&s->in_parts, true);
		r = add_parts(s, &c, cancel, err);
		atomic_store(&s->in_parts, false);
	}
	if (r == 0)
		r = gpc_checkpoint_put(s->store, s->job, &c, err);
	if (r == 0)
		gpc_log(s->log, GPC_INFO, "checkpoint %s: %lld files, %lld "
			"bytes, %lld sent", c.id, (long long)c.files,
			(long long)c.bytes, (long long)saved->sent_bytes);
	return r;
}

/* --- the task ------------------------------------------------------------- */

static int upload(struct gpc_saver *s, const struct gpc_cancel *cancel,
	struct gpc_save_result *ret_r, uint64_t *ret_print,
	struct gpc_error *err)
{
	struct gpc_save_options o = { .prefix = s->prefix, .base = s->base,
		.cache_path = s->cache_path, .threads = 2, .cancel = cancel };
	gpc_auto(gpc_tree) struct gpc_tree t = {0};
	int r = scan(s, cancel, &t, err);

	if (r < 0)
		return r;
	*ret_print = print_of(&t);
	return gpc_snapshot_save(s->store, &t, &o, false, ret_r, err);
}

/* Without any_state, what moved under our hands is not committed: *s says that
 * it was not saved, and a later try takes it. */
static int save_now(struct gpc_saver *s, bool any_state,
	const struct gpc_cancel *cancel, struct gpc_error *err)
{
	gpc_auto(gpc_save_result) struct gpc_save_result saved = {0};
	uint64_t print = 0;
	gpc_key key;
	int r = 0;

	if (s->all_ranks && s->leads)
		r = announce(s, err);
	GPC_CRASH("save.announced");
	if (r == 0)
		r = upload(s, cancel, &saved, &print, err);
	if (r == 0 && !saved.quiet && !any_state) {
		s->n += s->all_ranks && s->leads; /* its parts are of now */
		return 0;
	}
	if (r == 0 && !s->leads) {
		part_key(s, s->rank, key);
		r = put_json(s, key, part_json(s, &saved), err);
		GPC_CRASH("save.part_put");
	} else if (r == 0) {
		r = commit(s, &saved, cancel, err);
	}
	if (r < 0)
		return r;
	s->saved = true;
	s->saved_print = s->seen_print = print;
	gpc_json_free(s->base);
	s->base = gpc_steal(&saved.head);
	if (s->leads && gpc_saver_prune_now(s, s->keep, cancel, err) < 0)
		gpc_log(s->log, GPC_WARN, "old checkpoints stay: %s", err->msg);
	return 0;
}

/* After the program was killed or crashed, files that it had just written may
 * be half of what they should be. */
static bool is_fresh(const struct gpc_tree *t, int64_t since_ms)
{
	for (size_t i = 0; i < t->entries.n; i++)
		if (t->entries.v[i].kind == GPC_ENTRY_FILE
			&& t->entries.v[i].mtime_ns / 1000000 >= since_ms)
			return true;
	return false;
}

static int check_suspect(struct gpc_saver *s, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	gpc_auto(gpc_tree) struct gpc_tree t = {0};
	int r = scan(s, cancel, &t, err);

	if (r == 0 && is_fresh(&t, gpc_wall_ms() - 5000))
		return gpc_fail(err, GPC_ECONFLICT, "the program was killed "
			"while it may have been writing below %s: not saved",
			s->dir);
	return r;
}

static int save_forced(struct gpc_saver *s, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	int64_t end = gpc_boot_ms() + s->patience_ms;
	int r = 0;

	while (r == 0 && !s->saved) {
		r = wait_quiet(s, cancel, end, err);
		if (r == 0)
			r = save_now(s, gpc_boot_ms() >= end, cancel, err);
	}
	return r;
}

int gpc_saver_task_save(void *arg, const struct gpc_cancel *cancel,
	struct gpc_error *err)
{
	struct gpc_saver *s = arg;
	uint64_t print = 0, n = 0;
	int r;

	s->saved = s->empty = s->changed = false;
	r = gpc_saver_print(s, cancel, &print, &n, err);
	if (r == -GPC_ENOTFOUND || (r == 0 && n == 0 && !s->all_ranks)) {
		s->empty = true;      /* nothing there yet is no failure */
		return 0;
	}
	if (r < 0)
		return r;
	if (s->task == GPC_SAVER_LOOK && !is_due(s, print))
		return 0;
	if (s->task == GPC_SAVER_FINAL && print == s->saved_print)
		return 0;
	if (s->task == GPC_SAVER_FINAL && s->suspect)
		r = check_suspect(s, cancel, err);
	if (s->task == GPC_SAVER_FORCE)
		return save_forced(s, cancel, err);
	return r < 0 ? r : save_now(s, s->task == GPC_SAVER_FINAL
		|| s->any_state, cancel, err);
}
