/* Verifying snapshots: what is whole is called sound, every damage is found and
 * named with the file that it hurts, and the rest is looked at all the same. */
#include "snapshot_tree.h"

#include "base/str.h"
#include "snapshot/list.h"
#include "snapshot/snapshot.h"

struct found { struct gpc_strv lines; };

static void note(void *arg, const char *path, const char *blob,
	const char *what)
{
	struct found *f = arg;

	gpc_strv_addf(&f->lines, "%s|%s|%s", path ? path : "-", blob ? blob :
		"-", what);
}

static size_t verify_with(const struct gpc_json *head,
	const struct gpc_verify_options *o, struct found *f)
{
	struct gpc_error err = {0};

	gpc_strv_clear(&f->lines);
	if (gpc_snapshot_verify(store, head, "blobs/", o, note, f, &err) < 0)
		fail_msg("%s", err.msg);
	return f->lines.n;
}

static size_t verify(const struct gpc_json *head, struct found *f)
{
	return verify_with(head, NULL, f);
}

static bool has(const struct found *f, const char *path, const char *what)
{
	for (size_t i = 0; i < f->lines.n; i++)
		if (strstr(f->lines.v[i], path) && strstr(f->lines.v[i], what))
			return true;
	return false;
}

static void whole_is_sound(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0};
	struct found f = {0};

	(void)state;
	make_tree(true);
	save_with((struct gpc_save_options){0}, 0, &r);
	assert_int_equal(verify(r.head, &f), 0);
}

/* Each blob in turn is lost, cut, or has a bit turned. */
static void each_damage_is_found(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0};
	gpc_auto(gpc_map) struct gpc_map blobs = {0};
	struct found f = {0};

	(void)state;
	put("in/one", "first");
	put("in/d/two", "second");
	put_random("in/weights", (8 << 20) + 1);
	save_with((struct gpc_save_options){0}, 0, &r);
	blobs_of(r.head, &blobs);
	for (size_t i = 0; i < blobs.n; i++)
		for (int how = 0; how < 3; how++) {
			const char *hex = blobs.entries[i].key;
			gpc_auto(gpc_buf) struct gpc_buf b = {0};
			char key[520];

			b.max = 64 << 20;
			gpc_blob_key("blobs/", hex, key);
			assert_int_equal(gpc_store_get(store, key, 64 << 20, &b,
				NULL), 0);
			if (how == 0)
				assert_int_equal(gpc_store_del(store, key, NULL),
					0);
			if (how == 1)
				assert_int_equal(gpc_store_put(store, key,
					b.data, b.len - 1, 0, NULL), 0);
			b.data[b.len / 2] ^= 4;
			if (how == 2)
				assert_int_equal(gpc_store_put(store, key,
					b.data, b.len, 0, NULL), 0);
			assert_true(verify(r.head, &f) > 0);
			assert_true(has(&f, hex, ""));
			b.data[b.len / 2] ^= 4;
			assert_int_equal(gpc_store_put(store, key, b.data,
				b.len, 0, NULL), 0);
		}
	assert_int_equal(verify(r.head, &f), 0);
	gpc_strv_clear(&f.lines);
}

/* The right blob in the wrong place: the hash of each file tells. */
static void bytes_must_lie_where_the_list_says(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result a = {0}, b = {0};
	struct found f = {0};

	(void)state;
	put("in/one", "first");
	put("in/two", "second");
	save_with((struct gpc_save_options){0}, 0, &a);
	put("in/two", "SECOND");
	save_with((struct gpc_save_options){0}, 0, &b);
	/* a's head with a number of files that is not its lists'. */
	gpc_json_set_int(a.head, "files", 3);
	assert_int_equal(verify(a.head, &f), 1);
	assert_true(has(&f, "-|-|", "does not agree"));
	assert_int_equal(verify(b.head, &f), 0);
	gpc_strv_clear(&f.lines);
}

static int add_lie(void *arg, struct gpc_line *line, struct gpc_error *err)
{
	line->hash[0] ^= 1;
	return gpc_list_add(arg, line, err);
}

/* A list that is whole itself, of a pack that is, too: only they do not agree. */
static void a_list_that_lies_is_found(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0};
	gpc_autoptr(gpc_json) *head = NULL;
	struct gpc_spool_budget memory = { 8 << 20 };
	gpc_auto(gpc_spool) struct gpc_spool spool;
	gpc_auto(gpc_list_writer) struct gpc_list_writer w;
	struct gpc_json *lists = NULL;
	struct gpc_sender sender;
	struct found f = {0};
	struct gpc_error err;

	(void)state;
	put("in/one", "first");
	save_with((struct gpc_save_options){0}, 0, &r);
	assert_int_equal(gpc_sender_open(&sender, store, "blobs/", NULL, &err), 0);
	gpc_spool_init(&spool, &memory);
	gpc_list_writer_init(&w, &sender, &spool);
	assert_int_equal(gpc_lists_read(store, r.head, "blobs/", NULL, add_lie, &w, &err), 0);
	assert_int_equal(gpc_list_finish(&w, &lists, &err), 0);
	assert_int_equal(gpc_sender_sync(&sender, &err), 0);
	gpc_sender_close(&sender);
	head = gpc_json_copy(r.head);
	gpc_json_set(head, "lists", lists);
	assert_int_equal(verify(head, &f), 1);
	assert_true(has(&f, "one|", "not those that the list names"));
	gpc_strv_clear(&f.lines);
}

/* Of two snapshots: what is known of the first one vouches for nothing else. */
static void what_is_known_stands_for_itself_alone(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result a = {0}, b = {0};
	gpc_auto(gpc_map) struct gpc_map before = {0}, blobs = {0};
	struct found f = {0};
	size_t lost = 0;

	(void)state;
	put("in/one", "first");
	save_with((struct gpc_save_options){0}, 0, &a);
	put("in/one", "second");
	put_random("in/weights", (8 << 20) + 1);
	save_with((struct gpc_save_options){0}, 0, &b);
	blobs_of(a.head, &before);
	blobs_of(b.head, &blobs);
	for (size_t i = 0; i < blobs.n; i++) {
		gpc_auto(gpc_buf) struct gpc_buf kept = { .max = 64 << 20 };
		gpc_autoptr(gpc_verified) *known = gpc_verified_new();
		struct gpc_verify_options o = { .known = known };
		char key[520];

		if (gpc_map_has(&before, blobs.entries[i].key))
			continue;
		gpc_blob_key("blobs/", blobs.entries[i].key, key);
		assert_int_equal(gpc_store_get(store, key, 64 << 20, &kept, NULL), 0);
		assert_int_equal(gpc_store_del(store, key, NULL), 0);
		assert_int_equal(verify_with(a.head, &o, &f), 0);
		assert_true(verify_with(b.head, &o, &f) > 0);
		lost++;
		assert_int_equal(gpc_store_put(store, key, kept.data, kept.len, 0,
			NULL), 0);
	}
	assert_in_range(lost, 3, 9);    /* a list, a pack, a piece */
	gpc_strv_clear(&f.lines);
}

static void known_blobs_are_read_once(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0};
	gpc_autoptr(gpc_verified) *known = gpc_verified_new();
	struct gpc_verify_options o = { .known = known, .threads = 2 };
	gpc_auto(gpc_map) struct gpc_map blobs = {0};
	struct found f = {0};
	char key[520];

	(void)state;
	put_random("in/weights", 9 << 20);
	put("in/small", "x");
	save_with((struct gpc_save_options){0}, 0, &r);
	assert_int_equal(verify_with(r.head, &o, &f), 0);
	blobs_of(r.head, &blobs);
	/* Lost since then: it is not read again (the list is). */
	gpc_blob_key("blobs/", blobs.entries[1].key, key);
	assert_int_equal(gpc_store_del(store, key, NULL), 0);
	assert_int_equal(verify_with(r.head, &o, &f), 0);
	assert_true(verify(r.head, &f) > 0);
	gpc_strv_clear(&f.lines);
}

static void a_cancel_ends_it(void **state)
{
	gpc_auto(gpc_save_result) struct gpc_save_result r = {0};
	struct gpc_cancel cancel = { .signal = 2 };
	struct gpc_verify_options o = { .cancel = &cancel };
	struct gpc_error err = {0};
	struct found f = {0};

	(void)state;
	put("in/one", "first");
	save_with((struct gpc_save_options){0}, 0, &r);
	assert_int_equal(gpc_snapshot_verify(store, r.head, "blobs/", &o, note,
		&f, &err), -GPC_ECANCELED);
	assert_int_equal(f.lines.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FRESH(whole_is_sound),
		FRESH(each_damage_is_found),
		FRESH(bytes_must_lie_where_the_list_says),
		FRESH(a_list_that_lies_is_found),
		FRESH(what_is_known_stands_for_itself_alone),
		FRESH(known_blobs_are_read_once),
		FRESH(a_cancel_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
