/* A store that is lost for ever, and what only looks so. */
#include <stdio.h>

#include "test.h"

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "store/fault.h"
#include "store/lost.h"

static struct gpc_error err;

struct world { char *dir, *folder; struct gpc_store *s; struct gpc_lost l; };

static char *in(const struct world *w, const char *name)
{
	return gpc_path_join(w->dir, name);
}

static int set_up(void **state)
{
	struct world *w = gpc_alloc(sizeof(*w));

	w->dir = scratch();
	w->folder = in(w, "store");
	assert_ok(gpc_store_open(w->folder, GPC_STORE_CREATE, NULL, &w->s, &err));
	assert_ok(gpc_store_identify(w->s, GPC_STORE_CREATE, &err));
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	gpc_store_free(w->s);
	assert_ok(gpc_rmtree(w->dir, &err));
	free(w->folder);
	free(w->dir);
	free(w);
	return 0;
}

static int look(struct world *w, int64_t now_ms)
{
	return gpc_lost_look(&w->l, w->s, now_ms, &err);
}

/* Another store at that place. */
static void make_another(const struct world *w)
{
	gpc_autoptr(gpc_store) *other = NULL;

	assert_ok(gpc_store_open(w->folder, GPC_STORE_CREATE, NULL, &other, &err));
	assert_ok(gpc_store_identify(other, GPC_STORE_CREATE, &err));
	assert_string_not_equal(other->id, w->s->id);
}

static void nothing_goes(struct world *w)
{
	assert_true(atomic_load(&w->s->lost));
	assert_fails(gpc_store_put(w->s, "a/b", "x", 1, 0, &err), GPC_ENOTFOUND);
	assert_has(err.msg, "is lost");
	assert_fails(gpc_store_list(w->s, "a/", NULL, NULL, NULL, &err),
		GPC_ENOTFOUND);
}

TEST(a_deleted_folder_is_lost_after_a_while)
{
	struct world *w = *state;

	assert_ok(look(w, 1000));
	assert_ok(gpc_rmtree(w->folder, &err));
	assert_fails(look(w, 2000), GPC_ENOTFOUND);
	assert_has(err.msg, "was deleted");
	assert_false(atomic_load(&w->s->lost));
	assert_fails(look(w, 2000 + GPC_LOST_GONE_MS - 1), GPC_ENOTFOUND);
	assert_false(atomic_load(&w->s->lost));
	assert_fails(look(w, 2000 + GPC_LOST_GONE_MS), GPC_ENOTFOUND);
	nothing_goes(w);
}

/* Nor is it read through the new one, which stands where it stood. */
TEST(so_is_one_whose_place_another_has_taken)
{
	struct world *w = *state;

	assert_ok(gpc_rmtree(w->folder, &err));
	make_another(w);
	assert_fails(look(w, 1000), GPC_ENOTFOUND);
	assert_fails(look(w, 1000 + GPC_LOST_GONE_MS), GPC_ENOTFOUND);
	nothing_goes(w);
}

TEST(another_store_json_counts_at_once)
{
	struct world *w = *state;
	gpc_autostr *json = gpc_path_join(w->folder, "store.json");

	assert_int_equal(remove(json), 0);
	make_another(w);
	assert_fails(look(w, 1000), GPC_ENOTFOUND);
	assert_has(err.msg, "was replaced");
	nothing_goes(w);
}

/* What may come back, or be nobody's fault. */
TEST(all_else_is_not_lost)
{
	struct world *w = *state;
	gpc_autostr *away = in(w, "away");
	gpc_autostr *json = gpc_path_join(w->folder, "store.json");
	gpc_autostr *aside = in(w, "store.json");

	assert_int_equal(rename(w->folder, away), 0);
	assert_ok(look(w, 1000));
	make_another(w);                /* beside the one that was moved */
	assert_ok(look(w, 1000 + 2 * GPC_LOST_GONE_MS));
	assert_ok(gpc_rmtree(w->folder, &err));
	assert_int_equal(rename(away, w->folder), 0);
	assert_int_equal(rename(json, aside), 0);
	assert_ok(look(w, 100000));
	assert_ok(look(w, 100000 + 2 * GPC_LOST_GONE_MS));
	assert_ok(gpc_write_file(json, "no json", 7, 0600, &err));
	assert_ok(look(w, 200000));
	assert_false(atomic_load(&w->s->lost));
}

/* Seen again in between: it is counted from the start. */
TEST(only_without_a_break)
{
	struct world *w = *state;
	gpc_autostr *json = gpc_path_join(w->folder, "store.json");
	gpc_autostr *away = in(w, "away");
	gpc_autostr *moved = gpc_path_join(away, "store.json");
	gpc_autostr *aside = in(w, "store.json");

	assert_int_equal(rename(json, aside), 0);
	assert_int_equal(rename(w->folder, away), 0);
	assert_fails(look(w, 1000), GPC_ENOTFOUND);
	assert_int_equal(rename(aside, moved), 0);
	assert_ok(look(w, 2000));
	assert_int_equal(rename(moved, aside), 0);
	assert_fails(look(w, 1000 + GPC_LOST_GONE_MS), GPC_ENOTFOUND);
	assert_false(atomic_load(&w->s->lost));
}

/* A service that fails says nothing, whatever it says; it is asked seldom. */
TEST(a_far_store_is_lost_only_by_another_id)
{
	static const enum gpc_code codes[] = { GPC_ENET, GPC_ETIMEOUT, GPC_EAUTH,
		GPC_ENOTFOUND, GPC_EIO, GPC_EPROTO };
	gpc_autoptr(gpc_store) *inner = NULL, *s = NULL;
	struct gpc_lost l = {0};
	int64_t now = 1000;

	(void)state;
	assert_ok(gpc_store_open("mem://lost", GPC_STORE_CREATE, NULL, &inner,
		&err));
	assert_ok(gpc_store_identify(inner, GPC_STORE_CREATE, &err));
	s = gpc_store_fault_new(inner);
	assert_ok(gpc_store_identify(s, 0, &err));
	s->caps &= ~(unsigned)GPC_STORE_LOCAL;
	assert_ok(gpc_lost_look(&l, s, now, &err));
	for (size_t i = 0; i < COUNT(codes); i++) {
		gpc_store_fault_reset(s);
		gpc_store_fault_add(s, &(struct gpc_fault){ .op = GPC_FAULT_GET,
			.how = GPC_FAULT_BEFORE, .code = codes[i], .nth = 1 });
		now += GPC_LOST_FAR_MS;
		assert_ok(gpc_lost_look(&l, s, now, &err));
	}
	gpc_store_fault_reset(s);
	assert_ok(gpc_store_del(inner, "store.json", &err));
	assert_ok(gpc_lost_look(&l, s, now += GPC_LOST_FAR_MS, &err));
	assert_ok(gpc_store_identify(inner, GPC_STORE_CREATE, &err));
	assert_ok(gpc_lost_look(&l, s, now + GPC_LOST_FAR_MS - 1, &err));
	assert_false(atomic_load(&s->lost));
	assert_fails(gpc_lost_look(&l, s, now + GPC_LOST_FAR_MS, &err),
		GPC_ENOTFOUND);
	assert_true(atomic_load(&s->lost));
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(a_deleted_folder_is_lost_after_a_while),
		T(so_is_one_whose_place_another_has_taken),
		T(another_store_json_counts_at_once),
		T(all_else_is_not_lost),
		T(only_without_a_break),
		T(a_far_store_is_lost_only_by_another_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
