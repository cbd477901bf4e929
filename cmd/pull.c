/* `gpucloud pull`: a job's artifacts, as plain files in a folder. */
#include "cmd/command.h"
#include "cmd/pull_say.h"
#include "cmd/session_open.h"
#include "core/fetch.h"
#include "core/view.h"

struct pull { bool overwrite; };

static const struct gpc_opt options[] = {
	GPC_OPT_FLAG(0, "overwrite", struct pull, overwrite,
		"replace files that exist; by default they are kept",
		.key = GPC_OPT_NO_KEY),
	GPC_OPT_END
};

struct row {
	char *job, *dir;
	int64_t files;
	uint64_t size;
};
static const struct gpc_col cols[] = {
	GPC_COL("job", STR, struct row, job, 0),
	GPC_COL("dir", STR, struct row, dir, GPC_COL_F_NAME),
	GPC_COL("files", I64, struct row, files, 0),
	GPC_COL("size", SIZE, struct row, size, 0),
	GPC_COL_LAST
};
static const struct gpc_table table = {"pull", cols, sizeof(struct row)};

static int report(struct gpc_cmd *c, const struct gpc_fetched *got, char *job,
	char *dir, struct gpc_error *err)
{
	struct row row = {job, got->files || got->kept ? dir : NULL,
		(int64_t)got->files, got->bytes};

	if (c->out.format != GPC_OUT_TABLE && c->out.format != GPC_OUT_WIDE)
		return gpc_out_record(&c->out, &table, &row, err);
	gpc_pull_say(c, got, job, dir);
	return 0;
}

static int run(struct gpc_cmd *c, struct gpc_error *err)
{
	const struct pull *o = c->ctx;
	gpc_autoptr(gpc_session) *s = NULL;
	struct gpc_fetched got = {0};
	char job[GPC_JOB_ID_SIZE];
	int r = gpc_cmd_session(c, GPC_STORE_MUST_BE, &s, err);

	if (!r)
		r = gpc_job_find(s, c->argc ? c->argv[0] : "@", false, job,
			err);
	if (r)
		return r;
	gpc_autostr *dir = gpc_strdup(c->argc > 1 ? c->argv[1] : job);
	r = gpc_fetch_artifacts(s, job, dir, o->overwrite, &got, err);
	return r ? r : report(c, &got, job, dir, err);
}

static enum gpc_complete next(const char *const *words, int n)
{
	(void)words;
	return n ? GPC_COMPLETE_DIR : GPC_COMPLETE_JOB;
}

const struct gpc_command gpc_command_pull = {
	.name = "pull",
	.summary = "fetch what a job made",
	.usage = "[OPTION]... [JOB [DIR]]",
	.about = "Fetches the artifacts of JOB (by default the newest one) "
		"into DIR, by default a folder here that is named after the "
		"job. Files that exist are kept.",
	.group = GPC_GROUP_AROUND,
	.flags = GPC_CMD_STORE | GPC_CMD_OUTPUT,
	.options = options,
	.ctx_size = sizeof(struct pull),
	.max_args = 2,
	.complete_next = next,
	.run = run,
};
