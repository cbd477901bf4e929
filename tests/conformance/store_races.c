/* Several writers at once, threads and processes: of those that want one name exactly
 * one gets it, nobody reads half of an object, and a journal stays whole. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store_suite.h"

#include "base/rand.h"
#include "base/time.h"
#include "record/journal.h"

#define RACERS 16

/* --- races ------------------------------------------------------------- */

struct racer {
	struct gpc_store *s;
	const char *key;
	pthread_barrier_t *gate;
	char body[21];
	int r;
	pthread_t thread;
};

static void *race(void *arg)
{
	struct racer *a = arg;

	pthread_barrier_wait(a->gate);
	a->r = gpc_store_put(a->s, a->key, a->body, 20, GPC_PUT_IF_ABSENT,
		NULL);
	return NULL;
}

void store_thread_races(void **state)
{
	struct gpc_store *s = store_of(state);
	pthread_barrier_t gate;

	pthread_barrier_init(&gate, NULL, RACERS);
	for (int round = 0; round < 25; round++) {
		struct racer v[RACERS];
		gpc_autostr *key = gpc_format("race/%d/k", round);
		int winner = -1;

		for (int i = 0; i < RACERS; i++) {
			v[i] = (struct racer){ .s = s, .key = key,
				.gate = &gate };
			gpc_rand_base32(v[i].body, 20);
			assert_int_equal(pthread_create(&v[i].thread, NULL,
				race, &v[i]), 0);
		}
		for (int i = 0; i < RACERS; i++)
			pthread_join(v[i].thread, NULL);
		for (int i = 0; i < RACERS; i++) {
			if (v[i].r == 0) {
				assert_int_equal(winner, -1);
				winner = i;
			} else {
				assert_int_equal(v[i].r, -GPC_ECONFLICT);
			}
		}
		assert_true(winner >= 0);
		has(s, key, v[winner].body);
	}
	pthread_barrier_destroy(&gate);
}

/* Sixteen processes, each with its own opening of the store, race for the same
 * keys; each tells how many it won by its exit status. */
void store_process_races(void **state)
{
	struct fixture *f = *state;
	enum { ROUNDS = 12 };
	pid_t pids[RACERS];
	int won = 0;
	int64_t start = gpc_boot_ms() + 100;

	if (strcmp(f->scheme, "mem") == 0)
		return;                 /* one process only */
	for (int i = 0; i < RACERS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			struct gpc_store *s = NULL;
			int n = 0;

			if (gpc_store_open(f->url, 0, NULL, &s, NULL) < 0)
				_exit(100);
			gpc_sleep_ms(start - gpc_boot_ms());
			for (int k = 0; k < ROUNDS; k++) {
				char key[32];

				snprintf(key, sizeof(key), "proc/%d", k);
				n += gpc_store_put(s, key, &i, sizeof(i),
					GPC_PUT_IF_ABSENT, NULL) == 0;
			}
			_exit(n);
		}
	}
	for (int i = 0; i < RACERS; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= ROUNDS);
		won += WEXITSTATUS(status);
	}
	assert_int_equal(won, ROUNDS);
}

struct flip { struct gpc_store *s; atomic_bool stop; };

static void *flip(void *arg)
{
	struct flip *f = arg;
	gpc_autostr *data = gpc_array(200001, 1);

	for (int i = 0; i < 60; i++) {
		memset(data, 'a' + i % 26, 200000);
		if (gpc_store_put(f->s, "flip/x", data,
			(size_t)(100000 + i * 1000), GPC_PUT_HINT, NULL) < 0)
			break;
	}
	f->stop = true;
	return NULL;
}

/* A reader sees the old bytes or the new ones. (Swift, which is such a store of data
 * only, looks for an object's file and opens it then; it may be the old one, and gone.) */
void store_whole_replaces(void **state)
{
	struct gpc_store *s = store_of(state);
	bool may_miss = ((struct fixture *)*state)->data_only;
	struct flip f = { .s = s };
	pthread_t thread;

	put(s, "flip/x", "aaaa");
	assert_int_equal(pthread_create(&thread, NULL, flip, &f), 0);
	while (!f.stop) {
		gpc_auto(gpc_buf) struct gpc_buf b = {0};
		int r = gpc_store_get(s, "flip/x", 1 << 20, &b, &err);

		if (r == -GPC_ENOTFOUND && may_miss)
			continue;
		assert_ok(r);
		for (size_t i = 1; i < b.len; i++)
			assert_int_equal(b.data[i], b.data[0]);
	}
	pthread_join(thread, NULL);
}

/* Puts and deletes in one folder, which comes and goes meanwhile. */
static void *churn(void *arg)
{
	void **state = arg;
	struct gpc_store *s = store_of(state);
	char key[40] = "churn/deep/";

	gpc_rand_base32(key + 11, 10);
	for (int i = 0; i < 40; i++)
		if (gpc_store_put(s, key, "x", 1, i % 2 ? creating(state) :
			GPC_PUT_HINT, NULL) < 0 || gpc_store_del(s, key, NULL) <
			0)
			return s;
	return NULL;
}

void store_folders_come_and_go(void **state)
{
	struct gpc_store *s = store_of(state);
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churn,
			state), 0);
	for (int i = 0; i < 8; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	lists(s, "", NULL, "");
}

/* --- journals ---------------------------------------------------------- */

struct writer {
	struct gpc_store *s;
	int id, wins, conflicts;
	pthread_t thread;
};
enum { EACH = 8 };

/* Asks for its saves, deciding again whenever somebody else was first. */
static void *write_journal(void *arg)
{
	struct writer *w = arg;
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	gpc_autostr *by = gpc_format("writer %d", w->id);

	gpc_journal_init(&j, w->s, "race-abc234", by);
	while (w->wins < EACH) {
		struct gpc_json *data = gpc_json_object();
		int r;

		gpc_json_set_int(data, "label", w->wins);
		if (j.state.n == 0 &&
			gpc_journal_refresh(&j, NULL, NULL) < 0) {
			gpc_json_free(data);
			return w;
		}
		r = gpc_journal_append(&j, GPC_EVENT_SAVE, data, NULL);
		if (r == -GPC_ECONFLICT)
			w->conflicts++;
		else if (r == 0)
			w->wins++;
		else
			return w;
	}
	return NULL;
}

struct tally { int64_t n; int by[RACERS]; bool seen[RACERS][EACH]; };

static int count_event(void *arg, const struct gpc_event *e)
{
	struct tally *t = arg;
	int id, label;

	assert_int_equal(e->n, ++t->n);
	if (e->type != GPC_EVENT_SAVE)
		return 0;
	id = e->by[7] - '0';
	if (e->by[8])
		id = id * 10 + e->by[8] - '0';
	label = (int)gpc_json_get_int(e->data, "label", -1);
	assert_true(id >= 0 && id < RACERS && label >= 0 && label < EACH);
	assert_false(t->seen[id][label]);       /* none doubled */
	t->seen[id][label] = true;
	t->by[id]++;
	return 0;
}

void store_journal_races(void **state)
{
	struct gpc_store *s = store_of(state);
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct writer w[RACERS] = {0};
	struct gpc_json *data = gpc_json_object();
	struct tally t = {0};

	gpc_journal_init(&j, s, "race-abc234", "test");
	gpc_json_set_int(data, "num_nodes", 1);
	assert_ok(gpc_journal_append(&j, GPC_EVENT_SUBMITTED, data, &err));
	for (int i = 0; i < RACERS; i++) {
		w[i].s = s;
		w[i].id = i;
		assert_int_equal(pthread_create(&w[i].thread, NULL,
			write_journal, &w[i]), 0);
	}
	for (int i = 0; i < RACERS; i++) {
		void *failed;

		pthread_join(w[i].thread, &failed);
		assert_null(failed);
	}
	assert_ok(gpc_journal_read(s, "race-abc234", 0, count_event, &t, &err));
	assert_int_equal(t.n, 1 + RACERS * EACH);
	for (int i = 0; i < RACERS; i++)
		assert_int_equal(t.by[i], EACH);        /* none lost */
	assert_ok(gpc_journal_verify(s, "race-abc234", &err));
	assert_ok(gpc_journal_refresh(&j, NULL, &err));
	assert_int_equal(j.state.n, 1 + RACERS * EACH);
}
