/* A job without core: this header plays the supervisor by hand. It makes a
 * file:// store, a job, the events up to `created`, and nodes by the provider
 * local, whose launcher is the test program itself. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

#include "agent/agent.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/time.h"
#include "core/mounts.h"
#include "model/node.h"
#include "model/spec.h"
#include "provider/node_file.h"
#include "provider/procs.h"
#include "provider/provider.h"
#include "record/checkpoint.h"
#include "record/journal.h"
#include "record/keys.h"
#include "record/stream.h"
#include "snapshot/snapshot.h"

static struct gpc_error err;
static char *self;

#define JOB "bed-abc234"
#define BED_RATE "{'amount': '3600', 'currency': 'USD'}" /* an hour: 1 a second */
enum { BED_WAIT_MS = 60000 };

struct bed {
	char *dir, *url;
	struct gpc_store *store;
	struct gpc_provider_context ctx;
	struct gpc_provider *p;
	struct gpc_journal j;
	int num_nodes, attempt, gpus;
	int more_tries;                  /* of a create that fails */
	GPC_VEC(char *) ids;             /* of this attempt, by rank */
};

static inline void bed_append(struct bed *b, enum gpc_event_type type,
	struct gpc_json *data)
{
	int r;

	/* The agent never writes, but checkpoint save and tests may. */
	do {
		r = gpc_journal_append(&b->j, type, gpc_json_copy(data), &err);
		if (r == -GPC_ECONFLICT)
			continue;
		assert_ok(r);
	} while (r < 0);
	gpc_json_free(data);
}

/* {"a": 1, "b": "x"} as text, with ' for ". */
static inline struct gpc_json *json_of(const char *text)
{
	gpc_autostr *copy = gpc_strdup(text);
	struct gpc_json *j = NULL;

	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	assert_ok(gpc_json_parse(copy, strlen(copy), &j, &err));
	return j;
}

/* What a submit does with file_mounts. */
static inline void bed_put_mounts(struct bed *b, const struct gpc_spec *spec,
	struct gpc_job *job)
{
	struct gpc_save_options o = { .prefix = "blobs/" };
	struct gpc_mounts mounts = {0};

	assert_ok(gpc_mounts_scan(NULL, spec, false, &mounts, &err));
	for (size_t i = 0; i < mounts.n; i++) {
		struct gpc_job_mount *to = gpc_vec_push(&job->mounts);
		struct gpc_save_result saved = {0};

		assert_ok(gpc_snapshot_save(b->store, &mounts.v[i].tree, &o,
			true, &saved, &err));
		to->target = gpc_strdup(mounts.v[i].target);
		to->head = gpc_strdup(saved.head_blob);
		to->file = gpc_strdup(mounts.v[i].file);
		gpc_save_result_clear(&saved);
	}
	gpc_mounts_clear(&mounts);
}

static inline void bed_put_job(struct bed *b, const char *yaml,
	const struct gpc_pairs *secrets)
{
	struct gpc_spec_file file = {0};
	struct gpc_job job = { .v = 1, .created_ms = gpc_wall_ms() };
	gpc_autostr *text = NULL;
	struct gpc_json *j;
	gpc_key key;

	assert_ok(gpc_spec_parse(yaml, strlen(yaml), "bed.yaml", &file, &err));
	b->num_nodes = file.tasks.v[0].num_nodes;
	job.id = gpc_strdup(JOB);
	job.name = gpc_strdup("bed");
	job.kind = gpc_strdup("job");
	job.owner.hash = gpc_strdup("0123456789abcdef");
	job.owner.user = gpc_strdup("tester");
	job.spec = gpc_spec_to_json(&file.tasks.v[0]);
	bed_put_mounts(b, &file.tasks.v[0], &job);
	for (size_t i = 0; secrets && i < secrets->n; i++)
		gpc_strv_add(&job.secrets, secrets->v[i].key);
	j = gpc_job_write(&job);
	text = gpc_json_print(j);
	assert_ok(gpc_store_put(b->store, gpc_key_job(key, JOB), text,
		strlen(text), GPC_PUT_IF_ABSENT, &err));
	gpc_json_free(j);
	gpc_job_clear(&job);
	gpc_spec_file_clear(&file);
}

static inline void bed_open(struct bed *b)
{
	*b = (struct bed){0};
	b->dir = scratch();
	b->url = gpc_format("file://%s/store", b->dir);
	assert_ok(gpc_store_open(b->url, GPC_STORE_CREATE, NULL, &b->store,
		&err));
	assert_ok(gpc_store_identify(b->store, GPC_STORE_CREATE, &err));
	b->ctx = (struct gpc_provider_context){ .store_id = b->store->id,
		.state_dir = b->dir, .self_path = self };
	assert_ok(gpc_provider_open("local", &b->ctx, &b->p, &err));
	gpc_journal_init(&b->j, b->store, JOB, "test");
}

static inline void bed_forget_ids(struct bed *b)
{
	for (size_t i = 0; i < b->ids.n; i++)
		free(b->ids.v[i]);
	b->ids.n = 0;
}

/* Everything up to and with nodes that run; expires_ms 0 = no lifetime. The
 * `created` event is left out when born is false. */
static inline void bed_attempt(struct bed *b, const char *resume_from,
	int64_t expires_ms, bool born)
{
	struct gpc_launch l = { .v = 1, .attempt = ++b->attempt,
		.count = b->num_nodes, .expires_ms = expires_ms,
		.gpus = b->gpus };
	struct gpc_instances made = {0};
	struct gpc_json *data = gpc_json_object(), *nodes;
	char name[13];

	gpc_json_set_int(data, "attempt", b->attempt);
	if (resume_from)
		gpc_json_set_str(data, "resume_from", resume_from);
	bed_append(b, GPC_EVENT_ATTEMPT, data);
	/* Of this run alone: marked processes are killed by their node's id. */
	l.token = gpc_format("bed-%s-%d", gpc_rand_base32(name, 12), b->attempt);
	l.job = gpc_strdup(JOB);
	l.provider = gpc_strdup("local");
	l.store_url = gpc_strdup(b->url);
	gpc_pairs_set(&l.tags, "gpucloud-store", b->store->id);
	data = gpc_json_object();
	gpc_json_set_int(data, "attempt", b->attempt);
	gpc_json_set_str(data, "token", l.token);
	gpc_json_set(data, "request", gpc_launch_write(&l));
	bed_append(b, GPC_EVENT_INTENT, data);
	while (b->more_tries > 0 &&
		b->p->ops->create(b->p, &l, &made, &err) < 0)
		b->more_tries--;
	if (made.n == 0)
		assert_ok(b->p->ops->create(b->p, &l, &made, &err));
	bed_forget_ids(b);
	nodes = gpc_json_array();
	for (size_t i = 0; i < made.n; i++) {
		struct gpc_json *n = gpc_json_object();

		gpc_json_set_int(n, "rank", (int)i);
		gpc_json_set_str(n, "id", made.v[i].id);
		gpc_json_set_str(n, "provider", "local");
		gpc_json_set_str(n, "offer", "local");
		gpc_json_set(n, "rate", json_of(BED_RATE));
		gpc_json_add(nodes, n);
		*gpc_vec_push(&b->ids) = gpc_strdup(made.v[i].id);
	}
	data = gpc_json_object();
	gpc_json_set_int(data, "intent", b->j.state.n);
	gpc_json_set(data, "nodes", nodes);
	if (born)
		bed_append(b, GPC_EVENT_CREATED, data);
	else
		gpc_json_free(data);
	gpc_instances_clear(&made);
	gpc_launch_clear(&l);
}

static inline void bed_start(struct bed *b, const char *yaml)
{
	struct gpc_json *data = gpc_json_object();

	bed_open(b);
	bed_put_job(b, yaml, NULL);
	gpc_json_set_int(data, "num_nodes", b->num_nodes);
	bed_append(b, GPC_EVENT_SUBMITTED, data);
	bed_attempt(b, NULL, 0, true);
}

static inline char *bed_node_dir(const struct bed *b, int rank)
{
	return gpc_format("%s/nodes/%s", b->dir, b->ids.v[rank]);
}

static inline void bed_node(const struct bed *b, int rank,
	struct gpc_node_file *ret_n)
{
	gpc_autostr *dir = bed_node_dir(b, rank);

	assert_ok(gpc_node_file_read(dir, ret_n, &err));
}

static inline void bed_close(struct bed *b)
{
	struct gpc_instances all = {0};

	assert_ok(b->p->ops->list(b->p, &all, &err));
	for (size_t i = 0; i < all.n; i++) {
		const char *id = all.v[i].id;

		if (!getenv("GPC_TEST_KEEP"))
			assert_ok(b->p->ops->destroy(b->p, &id, 1, &err));
	}
	gpc_instances_clear(&all);
	bed_forget_ids(b);
	gpc_vec_free(&b->ids);
	gpc_journal_clear(&b->j);
	gpc_provider_free(b->p);
	gpc_store_free(b->store);
	if (!getenv("GPC_TEST_KEEP"))
		assert_ok(gpc_rmtree(b->dir, &err));
	free(b->url);
	free(b->dir);
}

/* --- looking ---------------------------------------------------------------- */

/* Shows the agents' own words before the test fails. */
static inline void bed_fail(struct bed *b, const char *what)
{
	for (size_t i = 0; i < b->ids.n; i++) {
		gpc_autostr *dir = bed_node_dir(b, (int)i);
		gpc_autostr *path = gpc_path_join(dir, GPC_NODE_LOG);
		struct gpc_buf log = {0};

		if (gpc_read_file(path, 1 << 20, &log, NULL) == 0)
			fprintf(stderr, "--- rank %zu\n%s", i, gpc_buf_str(&log));
		gpc_buf_clear(&log);
	}
	fail_msg("%s", what);
}

static inline bool bed_has(struct bed *b, const char *key)
{
	struct gpc_object o;

	return gpc_store_head(b->store, key, &o, NULL) == 0;
}

static inline void bed_wait_key(struct bed *b, const char *key)
{
	int64_t end = gpc_boot_ms() + BED_WAIT_MS;

	while (!bed_has(b, key)) {
		if (gpc_boot_ms() > end)
			bed_fail(b, key);
		gpc_sleep_ms(20);
	}
}

/* rank < 0: the verdict. Waits. */
static inline void bed_exit(struct bed *b, int rank, struct gpc_exit *ret_x)
{
	struct gpc_buf text = {0};
	gpc_key key;

	if (rank < 0)
		gpc_key_attempt(key, JOB, b->attempt, "verdict.json");
	else
		gpc_key_rank(key, JOB, b->attempt, rank, "exit.json");
	bed_wait_key(b, key);
	assert_ok(gpc_store_get(b->store, key, 1 << 20, &text, &err));
	assert_ok(gpc_exit_parse(text.data, text.len, ret_x, &err));
	gpc_buf_clear(&text);
}

static inline void bed_stream(struct bed *b, int rank, const char *name,
	struct gpc_buf *to)
{
	struct gpc_stream_reader *r;
	gpc_key key;
	size_t before;

	gpc_buf_init(to, (size_t)512 << 20);
	r = gpc_stream_reader_new(b->store, gpc_key_rank(key, JOB, b->attempt,
		rank, name), 0);
	do {
		before = to->len;
		assert_ok(gpc_stream_read(r, 4 << 20, to, &err));
	} while (to->len > before);
	gpc_stream_reader_free(r);
}

/* Waits until the log holds this text. */
static inline void bed_wait_log(struct bed *b, int rank, const char *text)
{
	int64_t end = gpc_boot_ms() + BED_WAIT_MS;

	for (;;) {
		struct gpc_buf log = {0};
		bool found;

		bed_stream(b, rank, "log/", &log);
		found = strstr(gpc_buf_str(&log), text) != NULL;
		gpc_buf_clear(&log);
		if (found)
			return;
		if (gpc_boot_ms() > end)
			bed_fail(b, text);
		gpc_sleep_ms(20);
	}
}

static inline bool is_self(pid_t pid)
{
	gpc_autostr *link = gpc_format("/proc/%d/exe", (int)pid);
	char exe[4096];
	ssize_t n = readlink(link, exe, sizeof(exe) - 1);

	if (n <= 0)
		return false;
	exe[n] = '\0';
	/* memcheck runs ours, and only ours, inside itself */
	return gpc_eq(exe, self) || strstr(exe, "/memcheck-");
}

/* How many processes of the job bear this node's mark; its launcher and agent
 * bear it too, and are not counted. */
static inline size_t bed_marked(const char *id)
{
	gpc_autostr *mark = gpc_format(GPC_NODE_ENV "=%s", id);
	struct gpc_procs p = {0};
	size_t n = 0;

	gpc_procs_list(&p);
	for (size_t i = 0; i < p.n; i++) {
		struct gpc_buf text = {0};
		gpc_autostr *path = gpc_format("/proc/%d/environ",
			(int)p.v[i].pid);
		size_t at = 0;

		if (!p.v[i].zombie && !is_self(p.v[i].pid)
			&& gpc_read_file(path, 1 << 22, &text, NULL) == 0)
			for (; at < text.len; at += strlen(text.data + at) + 1)
				n += gpc_eq(text.data + at, mark);
		gpc_buf_clear(&text);
	}
	gpc_procs_clear(&p);
	return n;
}

/* Until the node's launcher has ended. */
static inline void bed_wait_gone(struct bed *b, int rank)
{
	int64_t end = gpc_boot_ms() + BED_WAIT_MS;
	bool alive = true;

	while (alive) {
		struct gpc_node_file n = {0};

		bed_node(b, rank, &n);
		alive = gpc_node_file_alive(&n) || n.pid == 0;
		gpc_node_file_clear(&n);
		if (gpc_boot_ms() > end)
			bed_fail(b, "the launcher does not end");
		gpc_sleep_ms(20);
	}
	assert_int_equal(bed_marked(b->ids.v[rank]), 0);
}

/* The agent: the launcher's child that has no mark. */
static inline pid_t bed_agent(struct bed *b, int rank)
{
	struct gpc_node_file n = {0};
	struct gpc_procs p = {0};
	pid_t pid = 0;

	bed_node(b, rank, &n);
	gpc_procs_list(&p);
	for (size_t i = 0; i < p.n; i++)
		if (p.v[i].ppid == n.pid && !p.v[i].zombie)
			pid = p.v[i].pid;
	gpc_procs_clear(&p);
	gpc_node_file_clear(&n);
	assert_true(pid > 0);
	return pid;
}

static inline size_t bed_checkpoints(struct bed *b,
	struct gpc_checkpoint_ids *ret_ids)
{
	assert_ok(gpc_checkpoint_list(b->store, JOB, ret_ids, &err));
	return ret_ids->n;
}

/* Main of an agent test: also the launcher's role. */
static inline bool bed_main(int argc, char **argv, int *ret_status)
{
	struct gpc_agent_options o = { .ready_fd = 3 };

	self = gpc_proc_self();
	if (argc != 6 || strcmp(argv[1], "agent") != 0)
		return false;
	o.node_dir = argv[3];
	o.self_path = self;
	*ret_status = gpc_agent_launch(&o, &err) < 0;
	if (*ret_status)
		fprintf(stderr, "launcher: %s\n", err.msg);
	free(self);
	return true;
}
