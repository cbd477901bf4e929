/* What the files of this suite share: a store to try, and what they ask of it. */
#pragma once
#include "../unit/test.h"

#include "base/str.h"
#include "store/store.h"

static struct gpc_error err;

struct fixture {
	const char *scheme;
	bool faulty;            /* behind the fault store */
	bool data_only;         /* its server refuses conditions, and says so */
	char *folder;
	char *url;
	struct gpc_store *inner, *s;
};

static inline struct gpc_store *store_of(void **state)
{
	return ((struct fixture *)*state)->s;
}

/* Creates, where a store can be asked to; else writes. */
static inline unsigned creating(void **state)
{
	return ((struct fixture *)*state)->data_only ? 0 : GPC_PUT_IF_ABSENT;
}

static inline void put(struct gpc_store *s, const char *key, const char *text)
{
	assert_ok(gpc_store_put(s, key, text, strlen(text), 0, &err));
}

static inline void has(struct gpc_store *s, const char *key, const char *text)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};

	assert_ok(gpc_store_get(s, key, 1 << 20, &b, &err));
	assert_string_equal(gpc_buf_str(&b), text);
}

static inline int collect(void *arg, const struct gpc_object *o)
{
	gpc_strv_add(arg, o->key);
	return 0;
}

/* The keys of a list, joined by spaces. */
static inline void lists(struct gpc_store *s, const char *prefix, const char *after,
	const char *want)
{
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};
	gpc_autostr *have = NULL;

	assert_ok(gpc_store_list(s, prefix, after, collect, &keys, &err));
	have = gpc_strv_join(&keys, " ");
	assert_string_equal(have, want);
}

/* Of store_races.c. */
void store_thread_races(void **state);
void store_process_races(void **state);
void store_whole_replaces(void **state);
void store_folders_come_and_go(void **state);
void store_journal_races(void **state);
