/* store.json: the name of a store, and whether journals may live in it.
 *
 * Whether a store keeps if-absent cannot be asked by putting twice: a store
 * that ignores the condition under load, or a proxy that retries, looks right
 * then. So 16 writers race for one key, several times, and exactly one of them
 * must win and find its own bytes. This is paid once, when a store is made;
 * every later open reads one small object.
 *
 * The store that has a journal's data bears the journal's name, and says that the
 * journal is elsewhere: what it has of a journal is copies, and another journal's data
 * must not mix with it, for each would sweep what only the other one needs. */
#include "store/store.h"

#include <pthread.h>
#include <string.h>

#include "base/crash.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/time.h"
#include "dep/bind.h"

#define KEY "store.json"
#define FORMAT 1
#define RACERS 16
#define ROUNDS 3
#define MAX_BYTES 65536
#define ID_LENGTH 20

struct identity {
	int v;
	char *id;
	bool journal_capable;
	int64_t created_ms;
	char *journal;                  /* "elsewhere", or NULL */
	struct gpc_json *rest;
};
static const struct gpc_bind fields[] = {
	GPC_BIND(identity, v, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(identity, id, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(identity, journal_capable, BOOL, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(identity, created_ms, I64),
	GPC_BIND(identity, journal, STR),
	GPC_BIND(identity, rest, REST),
	GPC_BIND_LAST
};
static void identity_clear(struct identity *x) { gpc_bind_clear(fields, x); }
GPC_CLEANUP_VALUE(identity);

struct racer {
	struct gpc_store *store;
	const char *key;
	char body[24];
	int r;
	struct gpc_error err;
	pthread_t thread;
	bool started;
};

static void *race(void *arg)
{
	struct racer *a = arg;

	a->r = gpc_store_put(a->store, a->key, a->body, strlen(a->body),
		GPC_PUT_IF_ABSENT | GPC_PUT_HINT, &a->err);
	return NULL;
}

/* *ret_fair stays as it is unless this round proves the store unfit. */
static int judge(struct gpc_store *s, const struct racer *racers,
	bool *ret_fair, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	const struct racer *winner = NULL;
	int r;

	for (int i = 0; i < RACERS; i++) {
		if (racers[i].r == 0 && winner)
			*ret_fair = false;
		if (racers[i].r == 0)
			winner = &racers[i];
		if (racers[i].r == -GPC_EUNSUPPORTED)
			*ret_fair = false;
		else if (racers[i].r < 0 && racers[i].r != -GPC_ECONFLICT) {
			if (err)
				*err = racers[i].err;
			return racers[i].r;
		}
	}
	if (!*ret_fair)
		return 0;
	if (!winner) {
		*ret_fair = false;
		return 0;
	}
	r = gpc_store_get(s, winner->key, MAX_BYTES, &b, err);
	if (r < 0)
		return r;
	*ret_fair = strcmp(gpc_buf_str(&b), winner->body) == 0;
	return 0;
}

static int run_round(struct gpc_store *s, bool *ret_fair, struct gpc_error *err)
{
	struct racer *racers = gpc_array(RACERS, sizeof(*racers));
	char key[40] = "probe/";
	struct gpc_error ignored;
	int r = 0;

	gpc_rand_base32(key + 6, 20);
	for (int i = 0; i < RACERS; i++) {
		racers[i].store = s;
		racers[i].key = key;
		gpc_rand_base32(racers[i].body, 20);
		racers[i].started = gpc_thread_start(&racers[i].thread,
			race, &racers[i]) == 0;
		if (!racers[i].started)
			racers[i].r = gpc_fail(&racers[i].err, GPC_EIO,
				"cannot start a thread");
	}
	for (int i = 0; i < RACERS; i++)
		if (racers[i].started)
			pthread_join(racers[i].thread, NULL);
	GPC_CRASH("store.probed");
	r = judge(s, racers, ret_fair, err);
	if (gpc_store_del(s, key, &ignored) < 0)
		gpc_log(s->log, GPC_WARN, "%s: %s", s->url, ignored.msg);
	free(racers);
	return r;
}

int gpc_store_probe(struct gpc_store *s, bool *ret_capable,
	struct gpc_error *err)
{
	bool fair = (s->caps & GPC_STORE_IF_ABSENT) != 0;

	for (int i = 0; i < ROUNDS && fair; i++) {
		int r = run_round(s, &fair, err);

		if (r < 0)
			return r;
	}
	*ret_capable = fair;
	return 0;
}

static int put(struct gpc_store *s, const struct identity *x, unsigned flags,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = gpc_bind_write(fields, x);
	gpc_autostr *text = gpc_json_print_pretty(j);

	return gpc_store_put(s, KEY, text, strlen(text), flags, err);
}

static int create(struct gpc_store *s, struct gpc_error *err)
{
	gpc_auto(identity) struct identity x = { .v = FORMAT };
	char id[ID_LENGTH + 1];
	int r = gpc_store_probe(s, &x.journal_capable, err);

	if (r < 0)
		return r;
	x.id = gpc_strdup(gpc_rand_base32(id, ID_LENGTH));
	x.created_ms = gpc_wall_ms();
	r = put(s, &x, x.journal_capable ? GPC_PUT_IF_ABSENT : 0, err);
	GPC_CRASH("store.identified");
	return r == -GPC_ECONFLICT ? 0 : r;
}

static int newer(const struct gpc_store *s, int v, struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_EUNSUPPORTED,
		"%s: store.json has format %d, this gpucloud knows %d", s->url,
		v, FORMAT);

	gpc_hint(err, "a newer gpucloud made this store: update this one");
	return r;
}

static int load(struct gpc_store *s, struct identity *ret_x,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	int r = gpc_store_get(s, KEY, MAX_BYTES, &b, err);
	int64_t v;

	if (r < 0)
		return r;
	r = gpc_json_parse(gpc_buf_str(&b), b.len, &j, err);
	if (r < 0)
		return gpc_wrap(err, r, "%s/%s", s->url, KEY);
	v = gpc_json_get_int(j, "v", 0);
	if (v > FORMAT)
		return newer(s, v > 99999 ? 99999 : (int)v, err);
	r = gpc_bind_read(j, fields, ret_x, err);
	if (r < 0)
		return gpc_wrap(err, r, "%s/%s", s->url, KEY);
	if (!*ret_x->id || strlen(ret_x->id) >= sizeof(s->id))
		return gpc_fail(err, GPC_EPROTO, "%s/%s: $.id is not an id",
			s->url, KEY);
	return 0;
}

static int take(struct gpc_store *s, struct gpc_error *err)
{
	gpc_auto(identity) struct identity x = {0};
	int r = load(s, &x, err);

	if (r < 0)
		return r;
	memcpy(s->id, x.id, strlen(x.id) + 1);
	if (!x.journal_capable) {
		s->caps &= ~(unsigned)GPC_STORE_IF_ABSENT;
		s->data_only = true;
	}
	return 0;
}

int gpc_store_read_id(struct gpc_store *s, char ret_id[40],
	struct gpc_error *err)
{
	gpc_auto(identity) struct identity x = {0};
	int r = load(s, &x, err);

	if (r == 0)
		memcpy(ret_id, x.id, strlen(x.id) + 1);
	return r;
}

/* --- data whose journal is elsewhere ----------------------------------------- */

static int anothers(const struct gpc_store *s, const struct gpc_store *data,
	const struct identity *x, struct gpc_error *err)
{
	int r = gpc_fail(err, GPC_ECONFIG, "%s belongs to the store %s, and the "
		"journal to %s", data->url, x->id, s->id);

	gpc_hint(err, "%s, or another place for the data", x->journal ?
		"name the journal that it had before" : "leave journal= out");
	return r;
}

/* What a try without journal= left has no job, for it can have none. */
static int name_data(struct gpc_store *s, struct gpc_error *err)
{
	struct gpc_store *data = gpc_store_of_nodes(s);
	gpc_auto(identity) struct identity there = {0};
	struct identity x = { .v = FORMAT, .id = s->id,
		.created_ms = gpc_wall_ms(), .journal = (char *)"elsewhere" };
	struct gpc_error why = {0};
	int r = data == s ? 0 : load(data, &there, &why);

	if (data == s || (r == 0 && gpc_eq(there.id, s->id)))
		return 0;
	if (r < 0 && r != -GPC_ENOTFOUND) {
		if (err)
			*err = why;
		return r;
	}
	if (r == 0 && (there.journal_capable || there.journal))
		return anothers(s, data, &there, err);
	return put(data, &x, 0, err);
}

int gpc_store_identify(struct gpc_store *s, unsigned flags,
	struct gpc_error *err)
{
	int r = take(s, err);

	if (r == -GPC_ENOTFOUND && !(flags & GPC_STORE_CREATE)) {
		r = gpc_fail(err, GPC_ENOTFOUND,
			"%s is not a gpucloud store: it has no %s", s->url,
			KEY);
		gpc_hint(err, "the first `gpucloud submit` makes one");
		return r;
	}
	if (r == -GPC_ENOTFOUND) {
		r = create(s, err);
		if (r < 0)
			return gpc_wrap(err, r, "making the store %s", s->url);
		r = take(s, err);
	}
	return r < 0 || !(flags & GPC_STORE_CREATE) ? r : name_data(s, err);
}
