/* Looking at the keys of a store. Not every program uses all of it. */
#pragma once
#include "test.h"

#include "base/str.h"
#include "store/store.h"

struct count_keys { int n; const char *part; };

static inline int count_key(void *arg, const struct gpc_object *o)
{
	struct count_keys *c = arg;

	c->n += !c->part || strstr(o->key, c->part);
	return 0;
}

/* How many there are below a prefix that hold `part`; NULL = any. */
static inline int count_keys(struct gpc_store *s, const char *prefix,
	const char *part)
{
	struct count_keys c = { .part = part };
	struct gpc_error err;

	assert_ok(gpc_store_list(s, prefix, NULL, count_key, &c, &err));
	return c.n;
}

static inline int collect_key(void *arg, const struct gpc_object *o)
{
	gpc_strv_add(arg, o->key);
	return 0;
}

/* All keys, in order, with blanks between them. */
static inline void keys_are(struct gpc_store *s, const char *want)
{
	gpc_auto(gpc_strv) struct gpc_strv keys = {0};
	gpc_autostr *have = NULL;
	struct gpc_error err;

	assert_ok(gpc_store_list(s, "", NULL, collect_key, &keys, &err));
	have = gpc_strv_join(&keys, " ");
	assert_string_equal(have, want);
}
