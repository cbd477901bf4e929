/* See pull_say.h. */
#include "cmd/pull_say.h"

#include "cmd/phrase.h"

void gpc_pull_say(struct gpc_cmd *c, const struct gpc_fetched *got,
	const char *job, const char *dir)
{
	gpc_autostr *files = gpc_phrase_count(got->files, "file");
	gpc_autostr *size = gpc_phrase_size(got->bytes);

	if (got->files) {
		gpc_say(&c->talk, "gpucloud: %s, %s in %s", files, size, dir);
		return;
	}
	if (!got->kept) {
		gpc_say(&c->talk, "gpucloud: nothing to fetch: %s has no "
			"artifacts", job);
		gpc_say(&c->talk, "  hint: what its spec names as artifacts is "
			"kept at its end; `gpucloud checkpoint list %s` shows its "
			"checkpoints", job);
		return;
	}
	/* else an old result is taken for this job's */
	gpc_say(&c->talk, "gpucloud: nothing new to fetch from %s", job);
	gpc_say(&c->talk, "  hint: what exists in %s is kept; "
		"`gpucloud pull --overwrite` replaces it", dir);
}
