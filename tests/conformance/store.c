/* What every store promises, asked of every registered store, bare and behind
 * the fault store (which must be transparent when nothing is to fail). A new
 * store joins by a line in `kinds` that says how a test gets an empty one. Arguments
 * choose schemes. A store in a bucket takes part where its variable names one, as
 * tests/e2e/stores.sh does; GPUCLOUD_TEST_DATA_ONLY=1 says of its server that it
 * refuses conditions, and asks it bare alone, for the rest is our own code. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "store_suite.h"

#include "base/fd.h"
#include "base/path.h"
#include "base/rand.h"
#include "base/time.h"
#include "record/journal.h"
#include "store/fault.h"

/* --- kinds ------------------------------------------------------------- */

/* The variable that names a bucket for tests; NULL: the scheme needs none. */
static const char *bucket_of(const char *scheme)
{
	static const char *const names[][2] = { {"s3", "GPUCLOUD_TEST_S3"},
		{"oss", "GPUCLOUD_TEST_OSS"}, {"gs", "GPUCLOUD_TEST_GS"} };

	for (size_t i = 0; i < COUNT(names); i++)
		if (strcmp(names[i][0], scheme) == 0)
			return names[i][1];
	return NULL;
}

static int set_up(void **state)
{
	struct fixture *f = *state;
	char name[21];

	if (strcmp(f->scheme, "file") == 0) {
		f->folder = scratch();
		f->url = gpc_format("file://%s/store", f->folder);
	} else if (strcmp(f->scheme, "mem") == 0) {
		f->url = gpc_format("mem://%s", gpc_rand_base32(name, 20));
	} else if (bucket_of(f->scheme)) {
		/* "s3://BUCKET?endpoint=..."; a store of its own in it */
		const char *bucket = getenv(bucket_of(f->scheme));
		size_t n = strcspn(bucket, "?");

		f->url = gpc_format("%.*s/%s%s", (int)n, bucket,
			gpc_rand_base32(name, 20), bucket + n);
	} else {
		fail_msg("say in set_up how to make a %s store", f->scheme);
	}
	assert_ok(gpc_store_open(f->url, GPC_STORE_CREATE, NULL, &f->s, &err));
	if (f->faulty) {
		f->inner = f->s;
		f->s = gpc_store_fault_new(f->inner);
		assert_non_null(f->s);
	}
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	gpc_store_free(f->s);
	gpc_store_free(f->inner);
	if (f->folder)
		assert_ok(gpc_rmtree(f->folder, &err));
	free(f->folder);
	free(f->url);
	f->s = f->inner = NULL;
	f->folder = f->url = NULL;
	return 0;
}

/* --- objects ----------------------------------------------------------- */

static void objects(void **state)
{
	struct gpc_store *s = store_of(state);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_object o;
	int64_t now = gpc_wall_ms();

	assert_fails(gpc_store_get(s, "a", 10, &b, &err), GPC_ENOTFOUND);
	assert_fails(gpc_store_head(s, "a", &o, &err), GPC_ENOTFOUND);
	put(s, "a", "one");
	has(s, "a", "one");
	put(s, "a", "replaced");
	has(s, "a", "replaced");
	assert_ok(gpc_store_head(s, "a", &o, &err));
	assert_int_equal(o.size, 8);
	assert_true(o.modified_ms == 0 ||
		(o.modified_ms > now - 60000 && o.modified_ms < now + 60000));
	assert_true(o.now_ms >= now - 60000);
	put(s, "deep/er/and/deeper", "");
	has(s, "deep/er/and/deeper", "");
	assert_fails(gpc_store_get(s, "deep/er", 10, &b, &err), GPC_ENOTFOUND);
	assert_fails(gpc_store_head(s, "deep", &o, &err), GPC_ENOTFOUND);
	assert_fails(gpc_store_get(s, "a/below", 10, &b, &err), GPC_ENOTFOUND);
	/* More than the caller takes is an error, not a flood. */
	assert_fails(gpc_store_get(s, "a", 7, &b, &err), GPC_EPROTO);
}

static void bytes(void **state)
{
	struct gpc_store *s = store_of(state);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	size_t n = 3000001;
	gpc_autostr *data = gpc_array(n, 1);

	for (size_t i = 0; i < n; i++)
		data[i] = (char)(i * 7 % 251);
	assert_ok(gpc_store_put(s, "big", data, n, creating(state), &err));
	assert_ok(gpc_store_get(s, "big", n, &b, &err));
	assert_int_equal(b.len, n);
	assert_memory_equal(b.data, data, n);
}

static void deletes(void **state)
{
	struct gpc_store *s = store_of(state);

	assert_ok(gpc_store_del(s, "none", &err));
	assert_ok(gpc_store_del(s, "none/at/all", &err));
	put(s, "x/y/z", "1");
	assert_ok(gpc_store_del(s, "x/y", &err));       /* no such object */
	has(s, "x/y/z", "1");
	assert_ok(gpc_store_del(s, "x/y/z/w", &err));
	assert_ok(gpc_store_del(s, "x/y/z", &err));
	assert_ok(gpc_store_del(s, "x/y/z", &err));
	lists(s, "", NULL, "");
	put(s, "x/y", "now an object");
	has(s, "x/y", "now an object");
}

static void deletes_many(void **state)
{
	struct gpc_store *s = store_of(state);
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};
	size_t at = 0, before;
	int r = 0, calls = 0;

	for (int i = 0; i < 40; i++) {
		gpc_autostr *key = gpc_format("many/%02d", i);

		if (i % 7)              /* absent ones are no failure */
			put(s, key, "x");
		if (i % 10)
			gpc_strv_add(&keys, key);
	}
	put(s, "many+/x", "other");
	for (; r == 0 && at < keys.n; calls++) {
		before = at;
		r = gpc_store_del_next(s, &keys, &at, &err);
		assert_true(r < 0 || at > before);
	}
	assert_ok(r);
	assert_int_equal(at, keys.n);
	assert_true(calls == 1 || calls == (int)keys.n);
	lists(s, "many", NULL, "many+/x many/10 many/20 many/30");
	gpc_strv_add(&keys, "../bad");
	at = keys.n - 1;
	assert_fails(gpc_store_del_next(s, &keys, &at, &err), GPC_EPROTO);
	assert_int_equal(at, keys.n - 1);
	has(s, "many+/x", "other");
}

static void if_absent(void **state)
{
	struct gpc_store *s = store_of(state);

	assert_ok(gpc_store_put(s, "k/1", "first", 5, GPC_PUT_IF_ABSENT, &err));
	assert_fails(gpc_store_put(s, "k/1", "second", 6, GPC_PUT_IF_ABSENT,
		&err), GPC_ECONFLICT);
	has(s, "k/1", "first");
	assert_ok(gpc_store_del(s, "k/1", &err));
	assert_ok(gpc_store_put(s, "k/1", "third", 5, GPC_PUT_IF_ABSENT, &err));
	has(s, "k/1", "third");
	assert_ok(gpc_store_put(s, "k/1", "hint", 4, GPC_PUT_HINT, &err));
	has(s, "k/1", "hint");
}

/* What a store of data only says to each condition: no, having done nothing. */
static void refuses_conditions(void **state)
{
	struct gpc_store *s = store_of(state);
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_json *data = gpc_json_object();

	assert_fails(gpc_store_put(s, "k/1", "first", 5, GPC_PUT_IF_ABSENT,
		&err), GPC_EUNSUPPORTED);
	lists(s, "", NULL, "");
	put(s, "k/1", "data");
	assert_fails(gpc_store_put(s, "k/1", "second", 6, GPC_PUT_IF_ABSENT,
		&err), GPC_EUNSUPPORTED);
	has(s, "k/1", "data");
	gpc_journal_init(&j, s, "race-abc234", "test");
	gpc_json_set_int(data, "num_nodes", 1);
	assert_fails(gpc_journal_append(&j, GPC_EVENT_SUBMITTED, data, &err),
		GPC_ECONFIG);
	assert_has(err.msg, "does not keep writers apart");
	lists(s, "", NULL, "k/1");
}

static int add_to(void *arg, const void *data, size_t n, struct gpc_error *e)
{
	gpc_buf_add(arg, data, n);
	return gpc_buf_check(arg, e);
}

static void ranges(void **state)
{
	static const struct { int64_t offset, length; const char *want; } t[] = {
		{0, -1, "0123456789"}, {0, 3, "012"}, {3, 4, "3456"},
		{8, 10, "89"}, {9, 1, "9"}, {10, 5, ""}, {11, -1, ""},
		{0, 0, ""}, {4, -1, "456789"}, {INT64_MAX, INT64_MAX, ""},
		{2, INT64_MAX, "23456789"},
	};
	struct gpc_store *s = store_of(state);

	put(s, "r", "0123456789");
	for (size_t i = 0; i < COUNT(t); i++) {
		gpc_auto(gpc_buf) struct gpc_buf b = {0};
		struct gpc_object o;

		assert_ok(gpc_store_get_range(s, "r", t[i].offset, t[i].length,
			add_to, &b, &o, &err));
		assert_string_equal(gpc_buf_str(&b), t[i].want);
		assert_int_equal(o.size, 10);
	}
}

static int refuse(void *arg, const void *data, size_t n, struct gpc_error *e)
{
	(void)data;
	(void)n;
	++*(int *)arg;
	return gpc_fail(e, GPC_ECANCELED, "enough");
}

static void sink_stops(void **state)
{
	struct gpc_store *s = store_of(state);
	int calls = 0;

	put(s, "r", "0123456789");
	assert_fails(gpc_store_get_range(s, "r", 0, -1, refuse, &calls, NULL,
		&err), GPC_ECANCELED);
	assert_int_equal(calls, 1);
}

static void from_fd(void **state)
{
	struct gpc_store *s = store_of(state);
	gpc_autostr *folder = scratch();
	gpc_autostr *path = gpc_path_join(folder, "data");
	struct gpc_body body = { .fd = -1 };
	gpc_autofd fd = -1;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	for (int i = 0; i < 100000; i++)
		gpc_buf_addf(&b, "%09d\n", i);
	assert_ok(gpc_write_file(path, b.data, b.len, 0600, &err));
	assert_ok(gpc_open(path, O_RDONLY, 0, &fd, &err));
	body.fd = fd;
	body.offset = 10;
	body.size = 30;
	for (int i = 0; i < 2; i++) {           /* a repeat sends the same */
		assert_ok(gpc_store_put_body(s, "part", &body, 0, &err));
		has(s, "part", "000000001\n000000002\n000000003\n");
	}
	body.offset = 0;
	body.size = b.len;
	assert_ok(gpc_store_put_body(s, "all", &body, 0, &err));
	has(s, "all", b.data);
	/* A file that is shorter than was said makes no object. */
	body.size = b.len + 1;
	assert_fails(gpc_store_put_body(s, "short", &body, 0, &err),
		GPC_EPROTO);
	assert_fails(gpc_store_head(s, "short", NULL, &err), GPC_ENOTFOUND);
	assert_ok(gpc_rmtree(folder, &err));
}

/* --- keys -------------------------------------------------------------- */

static void hostile_keys(void **state)
{
	static const char *const bad[] = { "", "/", "/a", "a/", "a//b", ".",
		"..", "a/..", "../a", "a/../b", "a/./b", "a\nb", "a\x7f", "\xc3\xa9",
		"a\tb", ".tmp-x", "a/.tmp-x/b" };
	static const char *const good[] = { "a", ".a", "a..b", "...", "a b",
		"a\\b", "~", "a~b~c", "*", "a?b", "$(x)", "'", "\"", "-rf",
		"a/.b/c", ".tmp", "CON", "a:b", "%2e%2e" };
	struct gpc_store *s = store_of(state);
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_auto(gpc_buf) struct gpc_buf key = {0};

	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_fails(gpc_store_put(s, bad[i], "x", 1, 0, &err),
			GPC_EPROTO);
		assert_fails(gpc_store_get(s, bad[i], 10, &b, &err),
			GPC_EPROTO);
		assert_fails(gpc_store_del(s, bad[i], &err), GPC_EPROTO);
		assert_fails(gpc_store_head(s, bad[i], NULL, &err), GPC_EPROTO);
	}
	for (size_t i = 0; i < COUNT(good); i++) {
		gpc_auto(gpc_buf) struct gpc_buf k = {0};

		gpc_buf_addf(&k, "%zu/%s", i, good[i]);
		put(s, gpc_buf_str(&k), good[i]);
		has(s, gpc_buf_str(&k), good[i]);
	}
	for (int i = 0; i < 128; i++)
		gpc_buf_adds(&key, i ? "/abc" : "abcd");
	put(s, gpc_buf_str(&key), "long");
	has(s, gpc_buf_str(&key), "long");
	lists(s, "abcd", NULL, gpc_buf_str(&key));
	gpc_buf_addc(&key, 'x');
	assert_fails(gpc_store_put(s, gpc_buf_str(&key), "x", 1, 0, &err),
		GPC_EPROTO);
	assert_fails(gpc_store_list(s, "../", NULL, collect, NULL, &err),
		GPC_EPROTO);
	assert_false(gpc_store_key_ok(NULL));
}

static void order(void **state)
{
	struct gpc_store *s = store_of(state);
	static const char *const keys[] = { "b", "a/2", "a/10", "a.x", "a0",
		"a/b/c", "a/b.c", "a-", "a/b0", "c/d/e/f", "A", "a b" };

	for (size_t i = 0; i < COUNT(keys); i++)
		put(s, keys[i], "x");
	lists(s, "", NULL, "A a b a- a.x a/10 a/2 a/b.c a/b/c a/b0 a0 b "
		"c/d/e/f");
	lists(s, "a/", NULL, "a/10 a/2 a/b.c a/b/c a/b0");
	lists(s, "a/b", NULL, "a/b.c a/b/c a/b0");
	lists(s, "a/b/", NULL, "a/b/c");
	lists(s, "c", NULL, "c/d/e/f");
	lists(s, "c/d/e/f", NULL, "c/d/e/f");
	lists(s, "c/d/e/f/", NULL, "");
	lists(s, "none/", NULL, "");
	lists(s, "b/", NULL, "");
	lists(s, "", "a/2", "a/b.c a/b/c a/b0 a0 b c/d/e/f");
	lists(s, "", "a/b/c", "a/b0 a0 b c/d/e/f");
	lists(s, "", "a/b/a", "a/b/c a/b0 a0 b c/d/e/f");
	lists(s, "a/", "a/b", "a/b.c a/b/c a/b0");
	lists(s, "a/", "a", "a/10 a/2 a/b.c a/b/c a/b0");
	lists(s, "a/", "zzz", "");
	lists(s, "", "c/d/e/f", "");
	lists(s, "", "c/d", "c/d/e/f");
}

struct page { struct gpc_strv keys; size_t max; };

static int until_full(void *arg, const struct gpc_object *o)
{
	struct page *p = arg;

	if (p->keys.n == p->max)
		return 1;
	gpc_strv_add(&p->keys, o->key);
	assert_int_equal(o->size, strlen(o->key));
	return 0;
}

static void paging(void **state)
{
	struct gpc_store *s = store_of(state);
	gpc_auto(gpc_strv) struct gpc_strv all = {0};
	char last[520] = "";

	for (int i = 0; i < 257; i++) {
		gpc_autostr *key = gpc_format("p/%d/%d", i % 7, i);

		put(s, key, key);
		gpc_strv_add(&all, key);
	}
	gpc_strv_sort(&all);
	for (size_t at = 0; at < all.n;) {
		struct page p = { .max = 10 };

		assert_ok(gpc_store_list(s, "p/", *last ? last : NULL,
			until_full, &p, &err));
		assert_true(p.keys.n > 0);
		for (size_t i = 0; i < p.keys.n; i++, at++)
			assert_string_equal(p.keys.v[i], all.v[at]);
		snprintf(last, sizeof(last), "%s", p.keys.v[p.keys.n - 1]);
		gpc_strv_clear(&p.keys);
	}
	lists(s, "p/", last, "");
}

struct weed { struct gpc_store *s; int n; };

static int delete_it(void *arg, const struct gpc_object *o)
{
	struct weed *w = arg;

	assert_ok(gpc_store_del(w->s, o->key, &err));
	w->n++;
	return 0;
}

static void change_while_listing(void **state)
{
	struct gpc_store *s = store_of(state);
	struct weed w = { s, 0 };

	for (int i = 0; i < 30; i++) {
		gpc_autostr *key = gpc_format("w/%d/%d", i % 3, i);

		put(s, key, "x");
	}
	assert_ok(gpc_store_list(s, "w/", NULL, delete_it, &w, &err));
	assert_int_equal(w.n, 30);
	lists(s, "", NULL, "");
}

/* --- append ------------------------------------------------------------ */

static void appends(void **state)
{
	struct gpc_store *s = store_of(state);

	if (!(s->caps & GPC_STORE_APPEND)) {
		assert_fails(gpc_store_append(s, "l/1", 0, "a", 1, true, &err),
			GPC_EUNSUPPORTED);
		return;
	}
	assert_ok(gpc_store_append(s, "l/1", 0, "one\n", 4, false, &err));
	assert_ok(gpc_store_append(s, "l/1", 4, "two\n", 4, true, &err));
	has(s, "l/1", "one\ntwo\n");
	assert_fails(gpc_store_append(s, "l/1", 4, "x", 1, false, &err),
		GPC_ECONFLICT);
	assert_fails(gpc_store_append(s, "l/1", 9, "x", 1, false, &err),
		GPC_ECONFLICT);
	assert_fails(gpc_store_append(s, "l/1", 0, "x", 1, false, &err),
		GPC_ECONFLICT);
	assert_fails(gpc_store_append(s, "l/2", 1, "x", 1, false, &err),
		GPC_ENOTFOUND);
	assert_ok(gpc_store_append(s, "l/1", 8, NULL, 0, true, &err));
	has(s, "l/1", "one\ntwo\n");
	lists(s, "l/", NULL, "l/1");
}

/* --- store.json -------------------------------------------------------- */

static void identity(void **state)
{
	struct fixture *f = *state;
	struct gpc_store *s = f->s;
	gpc_autoptr(gpc_store) *again = NULL;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	char id[40];

	assert_fails(gpc_store_identify(s, 0, &err), GPC_ENOTFOUND);
	lists(s, "", NULL, "");
	assert_ok(gpc_store_identify(s, GPC_STORE_CREATE, &err));
	lists(s, "", NULL, "store.json");
	assert_int_equal(strlen(s->id), 20);
	assert_int_equal(!(s->caps & GPC_STORE_IF_ABSENT), f->data_only);
	memcpy(id, s->id, sizeof(id));
	assert_ok(gpc_store_open(f->url, 0, NULL, &again, &err));
	assert_string_equal(again->id, "");
	assert_ok(gpc_store_identify(again, GPC_STORE_CREATE, &err));
	assert_string_equal(again->id, id);

	assert_ok(gpc_store_get(s, "store.json", 4096, &b, &err));
	assert_has(gpc_buf_str(&b), f->data_only ?
		"\"journal_capable\": false" : "\"journal_capable\": true");
	put(s, "store.json", "{\"v\":2,\"news\":true}");
	assert_fails(gpc_store_identify(again, 0, &err), GPC_EUNSUPPORTED);
	assert_true(err.hint[0] != '\0');
	put(s, "store.json", "{\"v\":1,\"id\":7}");
	assert_fails(gpc_store_identify(again, 0, &err), GPC_EPROTO);
	put(s, "store.json", "");
	assert_fails(gpc_store_identify(again, GPC_STORE_CREATE, &err),
		GPC_EPROTO);
	put(s, "store.json",
		"{\"v\":1,\"id\":\"x\",\"journal_capable\":false}");
	assert_ok(gpc_store_identify(again, 0, &err));
	assert_false(again->caps & GPC_STORE_IF_ABSENT);
}

/* --- waiting ----------------------------------------------------------- */

static void *put_later(void *arg)
{
	gpc_sleep_ms(100);
	if (gpc_store_put(arg, "watched/deep/er/x", "1", 1, 0, NULL) < 0)
		return arg;
	return NULL;
}

static void waiting(void **state)
{
	const struct fixture *f = *state;
	struct gpc_store *s = store_of(state);
	bool hears = (f->inner ? f->inner : s)->ops->wait != NULL;
	pthread_t thread;
	int64_t start;
	void *failed;

	put(s, "watched/first", "1");
	gpc_store_wait(s, "watched/", 10);      /* at once, the first time */
	start = gpc_boot_ms();
	assert_int_equal(pthread_create(&thread, NULL, put_later, s), 0);
	while (gpc_boot_ms() - start < 5000) {
		gpc_store_wait(s, "watched/", hears ? 5000 : 200);
		if (gpc_store_head(s, "watched/deep/er/x", NULL, NULL) == 0)
			break;
	}
	/* A hint, so generous: much sooner than the time-out. */
	assert_true(gpc_boot_ms() - start < 2000);
	pthread_join(thread, &failed);
	assert_null(failed);
	start = gpc_boot_ms();
	gpc_store_wait(s, "nothing/here/", 50);
	gpc_store_wait(s, "nothing/here/", 50);
	assert_true(gpc_boot_ms() - start < 2000);
}

/* --- main -------------------------------------------------------------- */

struct promise { const char *name; void (*run)(void **state); };
static const struct promise suite[] = {
	{"objects", objects}, {"bytes", bytes}, {"deletes", deletes},
	{"deletes_many", deletes_many}, {"ranges", ranges},
	{"sink_stops", sink_stops}, {"from_fd", from_fd},
	{"hostile_keys", hostile_keys}, {"order", order}, {"paging", paging},
	{"change_while_listing", change_while_listing}, {"appends", appends},
	{"whole_replaces", store_whole_replaces},
	{"folders_come_and_go", store_folders_come_and_go}, {"identity", identity},
	{"waiting", waiting},
};
/* Besides, of what can hold journals, and of what can not. */
static const struct promise with_journals[] = {
	{"if_absent", if_absent}, {"thread_races", store_thread_races},
	{"process_races", store_process_races},
	{"journal_races", store_journal_races},
};
static const struct promise data_only[] = {
	{"refuses_conditions", refuses_conditions},
};

static bool is_wanted(const char *scheme, int argc, char **argv)
{
	const char *variable = bucket_of(scheme);

	if (variable && !getenv(variable))
		return false;
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], scheme) == 0)
			return true;
	return argc < 2;
}

static size_t add(struct CMUnitTest *tests, size_t n, const struct promise *v,
	size_t n_v, struct fixture *f)
{
	for (size_t i = 0; i < n_v; i++)
		tests[n++] = (struct CMUnitTest){ v[i].name, v[i].run, set_up,
			tear_down, f };
	return n;
}

static int run(struct fixture *f)
{
	gpc_autostr *group = gpc_format("%s%s", f->faulty ? "fault over " : "",
		f->scheme);
	struct CMUnitTest tests[COUNT(suite) + COUNT(with_journals)];
	size_t n = add(tests, 0, suite, COUNT(suite), f);

	if (f->data_only)
		n = add(tests, n, data_only, COUNT(data_only), f);
	else
		n = add(tests, n, with_journals, COUNT(with_journals), f);
	return _cmocka_run_group_tests(group, tests, n, NULL, NULL);
}

int main(int argc, char **argv)
{
	size_t n_schemes;
	const char *const *schemes = gpc_store_schemes(&n_schemes);
	bool only_data = getenv("GPUCLOUD_TEST_DATA_ONLY") != NULL;
	int failed = 0;

	for (size_t i = 0; i < 2 * n_schemes; i++) {
		struct fixture f = { .scheme = schemes[i / 2], .faulty = i % 2,
			.data_only = only_data };

		if (is_wanted(f.scheme, argc, argv) && !(only_data && f.faulty))
			failed += run(&f);
	}
	return failed;
}
