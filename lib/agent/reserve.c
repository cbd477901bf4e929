/* See reserve.h. What the store's room is for is exit.json, and a few events of whoever
 * supervises. It is an object like others, so the store needs no word for it, and it
 * is random: some file systems keep zeros in no room at all. */
#include "agent/reserve.h"

#include <unistd.h>

#include "agent/facts.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/rand.h"
#include "base/str.h"
#include "record/keys.h"

#define NAME "reserve"
enum { HERE = 256 * 1024, IN_STORE = 64 * 1024 };

static int make_here(struct gpc_agent *a, const void *bytes, struct gpc_error *err)
{
	gpc_autostr *path = gpc_path_join(a->options->node_dir, NAME);

	return gpc_write_file(path, bytes, HERE, 0600, err);
}

/* A store that is full already tells so by what the job writes to it. */
static void make_in_store(struct gpc_agent *a, const void *bytes)
{
	struct gpc_error why = {0};
	gpc_key key;

	if (gpc_store_is_far(a->store))
		return;
	gpc_key_rank(key, a->job.id, a->attempt, a->rank, NAME);
	a->reserved = true;
	if (gpc_store_put(a->store, key, bytes, IN_STORE, GPC_PUT_HINT, &why) < 0)
		gpc_agent_say(a, GPC_WARN, "no room is kept in the store for the "
			"job's end: %s", why.msg);
}

int gpc_reserve_make(struct gpc_agent *a, struct gpc_error *err)
{
	gpc_autostr *bytes = gpc_alloc(HERE);
	int r;

	gpc_rand(bytes, HERE);
	r = make_here(a, bytes, err);
	if (r == 0)
		make_in_store(a, bytes);
	return r;
}

void gpc_reserve_free(struct gpc_agent *a)
{
	gpc_autostr *path = gpc_path_join(a->options->node_dir, NAME);
	struct gpc_error why = {0};
	gpc_key key;

	unlink(path);
	if (!a->reserved)
		return;
	gpc_key_rank(key, a->job.id, a->attempt, a->rank, NAME);
	if (gpc_store_del(a->store, key, &why) == 0)
		a->reserved = false;
	else
		gpc_agent_say(a, GPC_WARN, "%s", why.msg);
}
