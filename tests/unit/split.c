/* Records and data in two stores look like one: each key has its place, lists are
 * whole and in order, and only the records' store needs to keep writers apart. */
#include "test.h"

#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "record/journal.h"
#include "record/keys.h"
#include "store/store.h"
#include "store/words.h"

struct world {
	char *dir;
	char *data_dir, *journal_dir;
	struct gpc_store *s, *data, *journal;
};

static int setup(void **state)
{
	struct world *w = gpc_alloc(sizeof(*w));
	struct gpc_error err;

	w->dir = scratch();
	w->data_dir = gpc_path_join(w->dir, "data");
	w->journal_dir = gpc_path_join(w->dir, "journal");
	gpc_autostr *url = gpc_format("file://%s?journal=file:%%2F%%2F%s",
		w->data_dir, w->journal_dir);
	assert_ok(gpc_store_open(url, GPC_STORE_CREATE, NULL, &w->s, &err));
	assert_string_equal(w->s->url, url);
	assert_ok(gpc_store_open(w->data_dir, 0, NULL, &w->data, &err));
	assert_ok(gpc_store_open(w->journal_dir, 0, NULL, &w->journal, &err));
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	struct gpc_error err;

	gpc_store_free(w->s);
	gpc_store_free(w->data);
	gpc_store_free(w->journal);
	assert_ok(gpc_rmtree(w->dir, &err));
	free(w->dir);
	free(w->data_dir);
	free(w->journal_dir);
	free(w);
	return 0;
}

/* put_all puts job.json behind the first event, with which it is copied: it comes
 * with that when it is put again, before its own turn. */
static bool has_copy(const char *key)
{
	return strstr(key, "/events/") || gpc_ends_with(key, "/job.json");
}

static const struct { const char *key; bool data; } rows[] = {
	{ "blobs/aa/1", true },
	{ "index/live/1-j-aaaaaa.json", false },
	{ "jobs/j-aaaaaa/1/0/agent/0-1", true },
	{ "jobs/j-aaaaaa/1/0/beat", true },
	{ "jobs/j-aaaaaa/1/0/exit.json", true },
	{ "jobs/j-aaaaaa/1/0/log/0-1", true },
	{ "jobs/j-aaaaaa/1/0/marks/0-1", true },
	{ "jobs/j-aaaaaa/1/0/metrics/0-1", true },
	{ "jobs/j-aaaaaa/1/blobs/aa/2", true },
	{ "jobs/j-aaaaaa/1/peers.json", true },
	{ "jobs/j-aaaaaa/1/verdict.json", true },
	{ "jobs/j-aaaaaa/artifacts/x", true },
	{ "jobs/j-aaaaaa/checkpoints/1-1-user.json", true },
	{ "jobs/j-aaaaaa/events/00000001.json", false },
	{ "jobs/j-aaaaaa/head", false },
	{ "jobs/j-aaaaaa/job.json", false },
	{ "jobs/j-aaaaaa/supervisor", false },
	{ "jobs/j-aaaaaa/tether", true },
	{ "jobs/j-aaaaaa/watch", true },
	{ "once/1", false },
	{ "secrets/j-aaaaaa", true },
	{ "store.json", false },
};
enum { ROWS = sizeof(rows) / sizeof(*rows) };

static void put_all(struct world *w)
{
	struct gpc_error err;

	for (size_t i = 0; i < ROWS; i++)
		assert_ok(gpc_store_put(w->s, rows[i].key, "x", 1,
			GPC_PUT_IF_ABSENT, &err));
}

static int none(void *arg, const struct gpc_object *o)
{
	(void)arg;
	fail_msg("%s is still there", o->key);
	return 1;
}

TEST(many_go_from_both)
{
	struct world *w = *state;
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};
	struct gpc_error err;
	int calls = 0;

	put_all(w);
	for (size_t i = 0; i < ROWS; i++)
		gpc_strv_add(&keys, rows[i].key);
	for (size_t at = 0; at < keys.n; calls++)
		assert_ok(gpc_store_del_next(w->s, &keys, &at, &err));
	assert_int_equal(calls, 1);
	assert_ok(gpc_store_list(w->data, "", NULL, none, NULL, &err));
	assert_ok(gpc_store_list(w->journal, "", NULL, none, NULL, &err));
}

TEST(each_key_has_its_place)
{
	struct world *w = *state;
	struct gpc_error err;

	put_all(w);
	for (size_t i = 0; i < ROWS; i++) {
		struct gpc_buf b = {0};

		assert_int_equal(gpc_store_head(w->data, rows[i].key, NULL,
			&err), rows[i].data || has_copy(rows[i].key) ? 0 :
			-GPC_ENOTFOUND);
		assert_int_equal(gpc_store_head(w->journal, rows[i].key, NULL,
			&err), rows[i].data ? -GPC_ENOTFOUND : 0);
		assert_ok(gpc_store_get(w->s, rows[i].key, 10, &b, &err));
		gpc_buf_clear(&b);
		assert_int_equal(gpc_store_put(w->s, rows[i].key, "y", 1,
			GPC_PUT_IF_ABSENT, &err), -GPC_ECONFLICT);
		assert_ok(gpc_store_put(w->s, rows[i].key, "y", 1, 0, &err));
		assert_ok(gpc_store_del(w->s, rows[i].key, &err));
		assert_int_equal(gpc_store_head(w->s, rows[i].key, NULL, &err),
			-GPC_ENOTFOUND);
		assert_int_equal(gpc_store_head(w->data, rows[i].key, NULL,
			&err), -GPC_ENOTFOUND);
	}
}

/* A writer was killed, of a copy as well. */
TEST(what_was_not_finished_goes_from_both)
{
	static const char *const keys[] = {
		"jobs/j-aaaaaa/1/0/.tmp-a", "jobs/j-aaaaaa/.tmp-b",
		"jobs/j-aaaaaa/events/.tmp-c",
	};
	struct world *w = *state;
	struct gpc_error err;

	put_all(w);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		gpc_autostr *here = gpc_path_join(w->data_dir, keys[i]);
		gpc_autostr *there = gpc_path_join(w->journal_dir, keys[i]);

		assert_ok(gpc_write_file(here, "x", 1, 0600, &err));
		if (i > 0)
			assert_ok(gpc_write_file(there, "x", 1, 0600, &err));
		assert_ok(gpc_store_drop(w->s, keys[i], &err));
	}
	assert_ok(gpc_store_unfinished(w->s, "jobs/", none, NULL, &err));
}

struct seen { size_t n, most; const char *prefix, *after; };

/* The rows are in the order of keys. */
static int see(void *arg, const struct gpc_object *o)
{
	struct seen *x = arg;

	while (x->n < ROWS && (!gpc_starts_with(rows[x->n].key, x->prefix) ||
		(x->after && strcmp(rows[x->n].key, x->after) <= 0)))
		x->n++;
	assert_true(x->n < ROWS);
	assert_string_equal(o->key, rows[x->n].key);
	x->n++;
	return --x->most == 0;
}

static size_t matches(const char *prefix, const char *after)
{
	size_t n = 0;

	for (size_t i = 0; i < ROWS; i++)
		n += gpc_starts_with(rows[i].key, prefix) &&
			(!after || strcmp(rows[i].key, after) > 0);
	return n;
}

TEST(lists_are_whole_and_in_order)
{
	static const char *const prefixes[] = {
		"", "b", "blobs/", "index/", "jobs/", "jobs/j", "jobs/j-aaaaaa/",
		"jobs/j-aaaaaa/1/", "jobs/j-aaaaaa/1/0/", "jobs/j-aaaaaa/1/0/log/",
		"jobs/j-aaaaaa/c", "jobs/j-aaaaaa/events/", "jobs/j-aaaaaa/w",
		"s", "secrets/", "nothing/",
	};
	struct world *w = *state;
	struct gpc_error err;

	put_all(w);
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		const char *afters[] = { NULL, "jobs/j-aaaaaa/1/0/beat" };

		for (size_t k = 0; k < 2; k++) {
			size_t all = matches(prefixes[i], afters[k]);

			/* whole, and ended after each number of objects */
			for (size_t most = 1; most <= all + 1; most++) {
				struct seen x = { 0, most, prefixes[i], afters[k] };

				assert_ok(gpc_store_list(w->s, prefixes[i],
					afters[k], see, &x, &err));
				assert_int_equal(most - x.most,
					most <= all ? most : all);
			}
		}
	}
}

TEST(the_journal_decides_what_it_can_do)
{
	struct world *w = *state;
	struct gpc_error err;

	assert_true(w->s->caps & GPC_STORE_IF_ABSENT);
	assert_true(w->s->caps & GPC_STORE_LOCAL);
	assert_false(w->s->caps & GPC_STORE_APPEND);
	assert_ok(gpc_store_identify(w->s, GPC_STORE_CREATE, &err));
	assert_true(w->s->caps & GPC_STORE_IF_ABSENT);
}

TEST(both_are_folders_of_its_own)
{
	struct world *w = *state;
	gpc_auto(gpc_strv) struct gpc_strv paths = {0};

	gpc_store_folders(w->s, &paths);
	assert_int_equal(paths.n, 2);
	assert_string_equal(paths.v[0], w->data_dir);
	assert_string_equal(paths.v[1], w->journal_dir);
}

/* What a node is told, and then knows the store by. */
TEST(the_data_bears_the_journals_name)
{
	struct world *w = *state;
	gpc_autostr *url = gpc_format("file://%s", w->data_dir);
	struct gpc_error err;

	assert_string_equal(gpc_store_of_nodes(w->s)->url, url);
	assert_ptr_equal(gpc_store_of_nodes(w->data), w->data);
	assert_ok(gpc_store_identify(w->s, GPC_STORE_CREATE, &err));
	assert_ok(gpc_store_identify(w->data, 0, &err));
	assert_ok(gpc_store_identify(w->journal, 0, &err));
	assert_string_equal(w->data->id, w->s->id);
	assert_string_equal(w->journal->id, w->s->id);
	assert_false(w->data->caps & GPC_STORE_IF_ABSENT);
	assert_true(w->journal->caps & GPC_STORE_IF_ABSENT);
	/* once more, as each submit does */
	assert_ok(gpc_store_identify(w->s, GPC_STORE_CREATE, &err));
	assert_string_equal(w->data->id, w->s->id);
}

/* A store of its own, or of another journal: neither is mixed with. What is left of
 * a try without journal= is taken over. */
TEST(data_has_one_journal)
{
	static const struct { const char *json; const char *hint; } rows_of[] = {
		{ "{\"v\":1,\"id\":\"other\",\"journal_capable\":true}",
			"leave journal= out" },
		{ "{\"v\":1,\"id\":\"other\",\"journal_capable\":false,"
			"\"journal\":\"elsewhere\"}", "had before" },
		{ "{\"v\":1,\"id\":\"other\",\"journal_capable\":false}", NULL },
	};
	struct world *w = *state;
	struct gpc_error err;

	for (size_t i = 0; i < sizeof(rows_of) / sizeof(*rows_of); i++) {
		const char *text = rows_of[i].json;

		assert_ok(gpc_store_put(w->data, "store.json", text,
			strlen(text), 0, &err));
		err = (struct gpc_error){0};
		if (!rows_of[i].hint) {
			assert_ok(gpc_store_identify(w->s, GPC_STORE_CREATE,
				&err));
			continue;
		}
		assert_int_equal(gpc_store_identify(w->s, GPC_STORE_CREATE,
			&err), -GPC_ECONFIG);
		assert_non_null(strstr(err.msg, "belongs to the store other"));
		assert_non_null(strstr(err.hint, rows_of[i].hint));
	}
	assert_ok(gpc_store_identify(w->data, 0, &err));
	assert_string_equal(w->data->id, w->s->id);
}

/* Where the service knows no if-absent, whoever is an object's one writer looks. */
TEST(a_node_looks_before_it_puts)
{
	struct world *w = *state;
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err;

	assert_ok(gpc_store_identify(w->s, GPC_STORE_CREATE, &err));
	assert_ok(gpc_store_identify(w->data, 0, &err));
	assert_true(w->data->data_only);
	assert_ok(gpc_store_put(w->data, "jobs/j-aaaaaa/1/0/exit.json", "x", 1,
		GPC_PUT_IF_ABSENT, &err));
	assert_int_equal(gpc_store_put(w->data, "jobs/j-aaaaaa/1/0/exit.json",
		"y", 1, GPC_PUT_IF_ABSENT, &err), -GPC_ECONFLICT);
	assert_ok(gpc_store_get(w->s, "jobs/j-aaaaaa/1/0/exit.json", 9, &b,
		&err));
	assert_string_equal(gpc_buf_str(&b), "x");
}

/* --- copies ------------------------------------------------------------------ */

#define JOB "j-aaaaaa"

static void append(struct gpc_store *s, enum gpc_event_type type,
	struct gpc_json *data)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_error err;
	int r;

	gpc_journal_init(&j, s, JOB, "test");
	r = gpc_journal_refresh(&j, NULL, &err);
	assert_true(r == 0 || r == -GPC_ENOTFOUND);
	assert_ok(gpc_journal_append(&j, type, data, &err));
}

/* What somebody reads who reaches this store alone; 0: nothing. */
static int64_t newest(struct gpc_store *s)
{
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_error err;
	int r;

	gpc_journal_init(&j, s, JOB, "reader");
	r = gpc_journal_refresh(&j, NULL, &err);
	assert_true(r == 0 || r == -GPC_ENOTFOUND);
	if (r == 0)
		assert_ok(gpc_journal_verify(s, JOB, &err));
	return j.state.n;
}

static void submitted(struct gpc_store *s)
{
	struct gpc_json *data = gpc_json_object();
	struct gpc_error err;

	assert_ok(gpc_store_put(s, "jobs/" JOB "/job.json", "{}", 2,
		GPC_PUT_IF_ABSENT, &err));
	gpc_json_set_int(data, "num_nodes", 1);
	append(s, GPC_EVENT_SUBMITTED, data);
}

TEST(nodes_read_the_journal_where_the_data_is)
{
	struct world *w = *state;
	struct gpc_error err;

	submitted(w->s);
	assert_int_equal(newest(w->data), 1);
	assert_ok(gpc_store_head(w->data, "jobs/" JOB "/job.json", NULL, &err));
	append(w->s, GPC_EVENT_SAVE, NULL);
	append(w->s, GPC_EVENT_SAVE, NULL);
	assert_int_equal(newest(w->data), 3);
	/* What somebody puts there decides nothing. */
	append(w->data, GPC_EVENT_CANCEL, NULL);
	assert_int_equal(newest(w->data), 4);
	assert_int_equal(newest(w->s), 3);
}

TEST(nobody_appends_where_copies_are)
{
	struct world *w = *state;
	gpc_auto(gpc_journal) struct gpc_journal j = {0};
	struct gpc_error err;

	assert_ok(gpc_store_identify(w->s, GPC_STORE_CREATE, &err));
	submitted(w->s);
	assert_ok(gpc_store_identify(w->data, 0, &err));
	gpc_journal_init(&j, w->data, JOB, "test");
	assert_ok(gpc_journal_refresh(&j, NULL, &err));
	assert_int_equal(gpc_journal_append(&j, GPC_EVENT_CANCEL, NULL, &err),
		-GPC_ECONFIG);
	assert_non_null(strstr(err.hint, "journal=URL"));
}

/* Somebody died between the event and its copy: whoever comes next makes up for
 * it, in order. */
TEST(copies_that_lag_behind_are_made_up_for)
{
	struct world *w = *state;
	struct gpc_error err;
	gpc_key key;

	submitted(w->journal);
	append(w->journal, GPC_EVENT_SAVE, NULL);
	assert_int_equal(newest(w->data), 0);
	append(w->s, GPC_EVENT_SAVE, NULL);     /* the next writer */
	assert_int_equal(newest(w->data), 3);
	assert_ok(gpc_store_head(w->data, "jobs/" JOB "/job.json", NULL, &err));
	append(w->journal, GPC_EVENT_SAVE, NULL);
	append(w->journal, GPC_EVENT_CANCEL, NULL);
	assert_int_equal(newest(w->data), 3);
	for (int i = 0; i < 2; i++) {           /* the supervisor's look */
		assert_ok(gpc_store_follow(w->s, gpc_key_event(key, JOB, 5),
			&err));
		assert_int_equal(newest(w->data), 5);
	}
	/* Other stores and other keys have none. */
	assert_ok(gpc_store_follow(w->journal, key, &err));
	assert_ok(gpc_store_follow(w->s, "jobs/" JOB "/events/1x.json", &err));
	assert_ok(gpc_store_follow(w->s, "jobs/" JOB "/beat", &err));
}

/* Where copies cannot be put, what is recorded stays recorded. */
TEST(the_journal_goes_on_without_copies)
{
	struct world *w = *state;
	gpc_autostr *jobs = gpc_path_join(w->data_dir, "jobs");
	struct gpc_error err;
	gpc_key key;

	assert_ok(gpc_write_file(jobs, "", 0, 0600, &err));
	submitted(w->s);
	append(w->s, GPC_EVENT_SAVE, NULL);
	assert_int_equal(newest(w->s), 2);
	assert_true(gpc_store_follow(w->s, gpc_key_event(key, JOB, 2), &err) <
		0);
	assert_int_equal(unlink(jobs), 0);
	assert_ok(gpc_store_follow(w->s, key, &err));
	assert_int_equal(newest(w->data), 2);
}

TEST(words_of_urls)
{
	static const struct { const char *url, *without; } some[] = {
		{ "s3://b", "s3://b" },
		{ "s3://b?profile=x", "s3://b" },
		{ "s3://b?profile=", "s3://b" },
		{ "s3://b?profile=x&region=y", "s3://b?region=y" },
		{ "s3://b?region=y&profile=x", "s3://b?region=y" },
		{ "s3://b?a=1&profile=x&c=3", "s3://b?a=1&c=3" },
		{ "s3://b?xprofile=x", "s3://b?xprofile=x" },
		{ "s3://b/profile=x", "s3://b/profile=x" },
	};
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++) {
		gpc_autostr *got = gpc_store_without_word(some[i].url,
			"profile=");

		assert_string_equal(got, some[i].without);
	}
	assert_string_equal(gpc_store_word("s3://b?a=12&c=3", "a=", &n),
		"12&c=3");
	assert_int_equal(n, 2);
	assert_null(gpc_store_word("s3://b?a=12", "b=", &n));
}

TEST(bad_urls_are_told)
{
	static const char *const urls[] = {
		"mem://?journal=", "mem://?journal=%zz", "mem://?journal=no://x",
		"mem://?journal=folder", "mem://?journal=s3:bucket",
	};
	struct gpc_store *s = NULL;
	struct gpc_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++)
		assert_true(gpc_store_open(urls[i], 0, NULL, &s, &err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(many_go_from_both, setup, teardown),
		cmocka_unit_test_setup_teardown(each_key_has_its_place, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			what_was_not_finished_goes_from_both, setup, teardown),
		cmocka_unit_test_setup_teardown(lists_are_whole_and_in_order,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_journal_decides_what_it_can_do, setup, teardown),
		cmocka_unit_test_setup_teardown(both_are_folders_of_its_own,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_data_bears_the_journals_name, setup, teardown),
		cmocka_unit_test_setup_teardown(data_has_one_journal, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_node_looks_before_it_puts,
			setup, teardown),
		cmocka_unit_test_setup_teardown(nobody_appends_where_copies_are,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			nodes_read_the_journal_where_the_data_is, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			copies_that_lag_behind_are_made_up_for, setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_journal_goes_on_without_copies, setup, teardown),
		cmocka_unit_test(words_of_urls),
		cmocka_unit_test(bad_urls_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
