/* `gpucloud data`: files and objects between this machine and buckets, from bucket to
 * bucket, and from folder to folder. It needs no store of gpucloud; its verbs are in files of their own.
 */
#include <limits.h>
#include <string.h>

#include "cmd/data_verbs.h"
#include "cmd/session_open.h"

static const char *const verbs[] = { "cp", "sync", "ls", NULL };

static const struct gpc_opt options[] = {
	GPC_OPT_FLAG('r', "recursive", struct data, recursive,
		"cp, ls: folders with all that is in them",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_LIST(0, "exclude", struct data, patterns, "PATTERN",
		"leave out what fits, as in a .gitignore",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_LIST(0, "include", struct data, patterns, "PATTERN",
		"take it all the same; the last one that fits decides",
		.before = "!", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG(0, "delete", struct data, remove,
		"sync: delete what the source lacks", .key = GPC_OPT_NO_KEY),
	GPC_OPT_STR(0, "shard", struct data, shard, "I/N",
		"cp, sync: only part I of N, of equal bytes, from 0; "
		"or rank: this node's", .key = GPC_OPT_NO_KEY),
	GPC_OPT_STR(0, "storage-class", struct data, storage_class, "CLASS",
		"cp, sync: of what is put into a bucket, in its service's word"),
	GPC_OPT_INT(0, "at-once", struct data, at_once, "N",
		"cp, sync: requests at a time; by default as many as help",
		.min = 1, .max = 1000),
	GPC_OPT_DURATION(0, "patience", struct data, patience_ms, "TIME",
		"cp, sync: how long a service may be out of reach before that is a "
		"failure", .preset = "5m"),
	GPC_OPT_FLAG('n', "dry-run", struct data, dry_run,
		"cp, sync: only show what would be done", .key = GPC_OPT_NO_KEY),
	GPC_OPT_FLAG('y', "yes", struct data, yes,
		"sync: do not ask when the source is empty",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_END
};

/* A login by the cloud's own tool, as hinted elsewhere, does not reach a job. */
static void hint_inside_job(struct gpc_error *err)
{
	if (gpc_cmd_inside_job() && strstr(err->msg, "no credentials for"))
		gpc_hint(err, "a job has no credentials but those that it is "
			"given: submit it with --secret NAME for each, or let "
			"file_mounts bring the data");
}

/* Goes before what is said of any place where nothing is. */
static void hint_at_pattern(const struct gpc_cmd *c, struct gpc_error *err)
{
	if (err->code != GPC_ENOTFOUND)
		return;
	for (int i = 1; i < c->argc; i++) {
		if (strstr(c->argv[i], "://") && strchr(c->argv[i], '*'))
			gpc_hint(err, "* is a plain character of a key: name "
				"the folder, and choose by -r --exclude '*' "
				"--include PATTERN");
	}
}

static int unknown_verb(const char *word, struct gpc_error *err)
{
	const char *near = gpc_nearest(word, verbs, 3);
	int r = gpc_fail(err, GPC_EUSAGE, "there is no \"data %s\": use cp, "
		"sync or ls", word);

	if (near)
		gpc_hint(err, "did you mean %s?", near);
	return r;
}

static int check_options(const struct gpc_cmd *c, const char *verb,
	struct gpc_error *err)
{
	static const struct { const char *option, *verbs; } where[] = {
		{"recursive", "cp ls sync"}, {"delete", "sync"},
		{"shard", "cp sync"}, {"storage-class", "cp sync"},
		{"at-once", "cp sync"}, {"patience", "cp sync"},
		{"dry-run", "cp sync"}, {"yes", "sync"},
	};

	for (size_t i = 0; i < sizeof(where) / sizeof(*where); i++)
		if (gpc_opt_given(&c->args, where[i].option) &&
			!strstr(where[i].verbs, verb))
			return gpc_fail(err, GPC_EUSAGE, "data %s: --%s does "
				"not fit", verb, where[i].option);
	return 0;
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	/* words that each verb takes */
	static const struct { int min, max; const char *what; } takes[] = {
		{2, INT_MAX, "SOURCE and TARGET"}, {2, 2, "SOURCE and TARGET"},
		{1, 1, "what to list"},
	};
	const char *const *words = c->argv + 1;
	int n = c->argc - 1, i = 0, r;

	while (verbs[i] && !gpc_eq(verbs[i], c->argv[0]))
		i++;
	if (!verbs[i])
		return unknown_verb(c->argv[0], err);
	if (n < takes[i].min)
		return gpc_fail(err, GPC_EUSAGE, "data %s: expected %s",
			verbs[i], takes[i].what);
	if (n > takes[i].max)
		return gpc_fail(err, GPC_EUSAGE, "data %s: one argument too "
			"many: \"%s\"", verbs[i], words[takes[i].max]);
	r = check_options(c, verbs[i], err);
	if (r)
		return r;
	r = i == 0 ? gpc_data_cp(c, words, n, err) :
		i == 1 ? gpc_data_sync(c, words[0], words[1], err) :
		gpc_data_ls(c, words[0], err);
	if (r == -GPC_EAUTH)
		hint_inside_job(err);
	if (r == -GPC_ENOTFOUND)
		hint_at_pattern(c, err);
	return r;
}

static enum gpc_complete next(const char *const *words, int n)
{
	(void)words;
	return n ? GPC_COMPLETE_FILE : GPC_COMPLETE_WORDS;
}

const struct gpc_command gpc_command_data = {
	.name = "data",
	.summary = "copy, sync and list files and objects of buckets",
	.usage = "cp [OPTION]... SOURCE... TARGET\n"
		"sync [OPTION]... SOURCE TARGET\n"
		"ls [OPTION]... PLACE",
	.about = "cp copies files and objects: into a bucket, out of one, from "
		"bucket to bucket, or from folder to folder. sync copies what is missing in TARGET "
		"or differs. ls lists a bucket or a folder. A place is a path "
		"here, or s3://BUCKET/KEY, oss://BUCKET/KEY or "
		"gs://BUCKET/KEY.\n"
		"Large files go in several pieces at once. What was cut short "
		"goes on where it was when the same command is given again, "
		"and nothing half-written is ever seen.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_CONFIG | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct data),
	.min_args = 1,
	.max_args = -1,
	.words = verbs,
	.complete_next = next,
	.run = run,
};
