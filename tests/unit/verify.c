/* Verifying snapshots: what is whole is called sound, every damage is found and
 * named with the file that it hurts, and the rest is looked at all the same. */
#include "snapshot_tree.h"

#include "base/str.h"
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
		FRESH(known_blobs_are_read_once),
		FRESH(a_cancel_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
