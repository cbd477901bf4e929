/* Jobs as words and records. Every word that people or the store see is in one
 * table here, and so is everything that depends on why a job ended: whether a
 * next attempt makes sense, which exit status tells it, and what to advise. */
#include "model/job.h"

#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "dep/bind.h"

/* --- words ------------------------------------------------------------- */

const char *const gpc_job_status_names[] = {
	[GPC_JOB_PENDING] = "PENDING",
	[GPC_JOB_PROVISIONING] = "PROVISIONING",
	[GPC_JOB_STARTING] = "STARTING",
	[GPC_JOB_SETUP] = "SETUP",
	[GPC_JOB_RUNNING] = "RUNNING",
	[GPC_JOB_STOPPING] = "STOPPING",
	[GPC_JOB_RECOVERING] = "RECOVERING",
	[GPC_JOB_SUCCEEDED] = "SUCCEEDED",
	[GPC_JOB_FAILED] = "FAILED",
	[GPC_JOB_CANCELLED] = "CANCELLED",
	[GPC_JOB__COUNT] = NULL,
};
const char *const gpc_node_status_names[] = {
	[GPC_NODE_INTENDED] = "INTENDED",
	[GPC_NODE_CREATED] = "CREATED",
	[GPC_NODE_READY] = "READY",
	[GPC_NODE_DRAINING] = "DRAINING",
	[GPC_NODE_RELEASED] = "RELEASED",
	[GPC_NODE__COUNT] = NULL,
};
const char *const gpc_reason_names[] = {
	[GPC_REASON_NONE] = "",
	[GPC_REASON_COMPLETED] = "completed",
	[GPC_REASON_EXIT_CODE] = "exit_code",
	[GPC_REASON_SETUP_FAILED] = "setup_failed",
	[GPC_REASON_CANCELLED] = "cancelled",
	[GPC_REASON_TIME_LIMIT] = "time_limit",
	[GPC_REASON_DEADLINE] = "deadline",
	[GPC_REASON_COST_LIMIT] = "cost_limit",
	[GPC_REASON_PRICE_ABOVE_CAP] = "price_above_cap",
	[GPC_REASON_LIFETIME] = "lifetime",
	[GPC_REASON_SPOT_INTERRUPTED] = "spot_interrupted",
	[GPC_REASON_PREEMPTED] = "preempted",
	[GPC_REASON_HOST_MAINTENANCE] = "host_maintenance",
	[GPC_REASON_NODE_LOST] = "node_lost",
	[GPC_REASON_OUT_OF_MEMORY] = "out_of_memory",
	[GPC_REASON_DISK_FULL] = "disk_full",
	[GPC_REASON_GPU_ERROR] = "gpu_error",
	[GPC_REASON_HANG] = "hang",
	[GPC_REASON_IMAGE_PULL_FAILED] = "image_pull_failed",
	[GPC_REASON_NO_CAPACITY] = "no_capacity",
	[GPC_REASON_QUOTA] = "quota",
	[GPC_REASON_AUTH] = "auth",
	[GPC_REASON_STORE_UNREACHABLE] = "store_unreachable",
	[GPC_REASON_NO_PROGRESS] = "no_progress",
	[GPC_REASON_SPEC_INVALID] = "spec_invalid",
	[GPC_REASON_IDLE] = "idle",
	[GPC_REASON_SKIPPED] = "skipped",
	[GPC_REASON_AGENT_FAILED] = "agent_failed",
	[GPC_REASON_CHECKPOINT_DAMAGED] = "checkpoint_damaged",
	[GPC_REASON__COUNT] = NULL,
};

/* Exit status of a reason; OWN: the job's own code or signal. */
enum { LIMIT = 124, OTHER = 125, MEMORY = 137, OWN = -1 };

/* "@" is the job's id; what is in braces holds with a checkpoint, what is in
 * brackets without one. */
#define RESUME "`gpucloud resume @` {goes on from its newest checkpoint}" \
	"[starts it once more, from the beginning]"
#define SAVED "{; `gpucloud checkpoint pull @` fetches what it saved}"

static const struct {
	enum gpc_retry retry;
	int exit;
	enum gpc_job_status status;
	const char *advice;
} reasons[GPC_REASON__COUNT] = {
	[GPC_REASON_NONE] = {GPC_RETRY_NEVER, OTHER, GPC_JOB_FAILED, ""},
	[GPC_REASON_COMPLETED] = {GPC_RETRY_NEVER, 0, GPC_JOB_SUCCEEDED,
		"fetch the results with `gpucloud pull @`"},
	[GPC_REASON_EXIT_CODE] = {GPC_RETRY_IF_ASKED, OWN, GPC_JOB_FAILED,
		"the end of `gpucloud logs @` shows what the program said"},
	[GPC_REASON_SETUP_FAILED] = {GPC_RETRY_IF_ASKED, OWN, GPC_JOB_FAILED,
		"a command of `setup` failed: see `gpucloud logs @`"},
	[GPC_REASON_CANCELLED] = {GPC_RETRY_NEVER, OTHER, GPC_JOB_CANCELLED,
		RESUME},
	[GPC_REASON_TIME_LIMIT] = {GPC_RETRY_NEVER, LIMIT, GPC_JOB_FAILED,
		"submit it again with more of limits.time or .setup"
		SAVED},
	[GPC_REASON_DEADLINE] = {GPC_RETRY_NEVER, LIMIT, GPC_JOB_FAILED,
		"submit it again with a later limits.deadline"
		SAVED},
	[GPC_REASON_COST_LIMIT] = {GPC_RETRY_NEVER, LIMIT, GPC_JOB_FAILED,
		"submit it again with a higher limits.cost"
		SAVED},
	[GPC_REASON_PRICE_ABOVE_CAP] = {GPC_RETRY_NEVER, OTHER, GPC_JOB_FAILED,
		"raise max_hourly_cost, or allow more regions"},
	[GPC_REASON_LIFETIME] = {GPC_RETRY_RECOVER, LIMIT, GPC_JOB_FAILED,
		"set checkpoint.path so that a next node can go on, or limits.time"},
	[GPC_REASON_SPOT_INTERRUPTED] = {GPC_RETRY_RECOVER, OTHER,
		GPC_JOB_FAILED,
		RESUME "; use_spot: false avoids interruptions"},
	[GPC_REASON_PREEMPTED] = {GPC_RETRY_RECOVER, OTHER, GPC_JOB_FAILED,
		RESUME},
	[GPC_REASON_HOST_MAINTENANCE] = {GPC_RETRY_RECOVER, OTHER,
		GPC_JOB_FAILED,
		RESUME},
	[GPC_REASON_NODE_LOST] = {GPC_RETRY_RECOVER, OTHER, GPC_JOB_FAILED,
		RESUME},
	[GPC_REASON_OUT_OF_MEMORY] = {GPC_RETRY_IF_ASKED, MEMORY,
		GPC_JOB_FAILED,
		"ask for more memory, or use less (smaller batches, fewer workers)"},
	[GPC_REASON_DISK_FULL] = {GPC_RETRY_IF_ASKED, OTHER, GPC_JOB_FAILED,
		"free space there, ask for a larger disk_size, or write less"},
	[GPC_REASON_GPU_ERROR] = {GPC_RETRY_RECOVER, OTHER, GPC_JOB_FAILED,
		"the GPU failed, not the program: `gpucloud resume @` takes another"},
	[GPC_REASON_HANG] = {GPC_RETRY_IF_ASKED, OTHER, GPC_JOB_FAILED,
		"the program stopped making progress: see `gpucloud logs @`"},
	[GPC_REASON_IMAGE_PULL_FAILED] = {GPC_RETRY_NEVER, OTHER,
		GPC_JOB_FAILED,
		"check the name of the image and who may pull it"},
	[GPC_REASON_NO_CAPACITY] = {GPC_RETRY_NEVER, OTHER, GPC_JOB_FAILED,
		"allow other GPUs or regions, or set recovery.wait_capacity"},
	[GPC_REASON_QUOTA] = {GPC_RETRY_NEVER, OTHER, GPC_JOB_FAILED,
		"ask the cloud for more quota, or allow other regions"},
	[GPC_REASON_AUTH] = {GPC_RETRY_NEVER, OTHER, GPC_JOB_FAILED,
		"correct the credentials or the permission that was refused"},
	[GPC_REASON_STORE_UNREACHABLE] = {GPC_RETRY_RECOVER, OTHER,
		GPC_JOB_FAILED,
		"check that the store can be reached from the node"},
	[GPC_REASON_NO_PROGRESS] = {GPC_RETRY_NEVER, OTHER, GPC_JOB_FAILED,
		"attempt after attempt ended without getting anywhere: see "
		"`gpucloud logs @`"},
	[GPC_REASON_SPEC_INVALID] = {GPC_RETRY_NEVER, OTHER, GPC_JOB_FAILED,
		"correct the spec and submit it again"},
	[GPC_REASON_IDLE] = {GPC_RETRY_NEVER, LIMIT, GPC_JOB_FAILED,
		"its GPUs were idle for limits.idle.for: see `gpucloud logs @`"},
	[GPC_REASON_SKIPPED] = {GPC_RETRY_NEVER, OTHER, GPC_JOB_CANCELLED,
		"a task before it did not succeed"},
	[GPC_REASON_AGENT_FAILED] = {GPC_RETRY_RECOVER, OTHER, GPC_JOB_FAILED,
		"a fault of gpucloud: see `gpucloud logs @` and report it"},
	[GPC_REASON_CHECKPOINT_DAMAGED] = {GPC_RETRY_NEVER, OTHER,
		GPC_JOB_FAILED,
		"`gpucloud checkpoint verify --all @` shows what is left of them; "
		"put lost blobs back and resume it, or submit it again"},
};

const char *gpc_job_status_to_str(enum gpc_job_status s)
{
	return (unsigned)s < GPC_JOB__COUNT ? gpc_job_status_names[s] : "?";
}

const char *gpc_reason_to_str(enum gpc_reason r)
{
	return (unsigned)r < GPC_REASON__COUNT ? gpc_reason_names[r] : "?";
}

bool gpc_job_status_is_end(enum gpc_job_status s)
{
	return s == GPC_JOB_SUCCEEDED || s == GPC_JOB_FAILED ||
		s == GPC_JOB_CANCELLED;
}

enum gpc_retry gpc_reason_retry(enum gpc_reason r)
{
	return reasons[r].retry;
}

char *gpc_reason_advice(enum gpc_reason r, const char *job,
	bool has_checkpoint)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	bool shown = true;

	for (const char *p = reasons[r].advice; *p; p++) {
		if (*p == '{')
			shown = has_checkpoint;
		else if (*p == '[')
			shown = !has_checkpoint;
		else if (*p == '}' || *p == ']')
			shown = true;
		else if (shown && *p == '@')
			gpc_buf_adds(&b, job);
		else if (shown)
			gpc_buf_add(&b, p, 1);
	}
	return gpc_strdup(gpc_buf_str(&b));
}

enum gpc_job_status gpc_reason_status(enum gpc_reason r)
{
	return reasons[r].status;
}

int gpc_reason_exit(enum gpc_reason r, int code, int signal)
{
	if (reasons[r].exit != OWN)
		return reasons[r].exit;
	if (signal > 0)
		return 128 + signal;
	/* A failure never looks like success. */
	return code > 0 && code < 256 ? code : 1;
}

void gpc_job_name_clean(const char *text, char ret_name[GPC_JOB_NAME_MAX + 1])
{
	size_t n = 0;

	for (const char *p = text ? text : ""; *p; p++) {
		unsigned char c = (unsigned char)*p;
		bool letter;

		if ((c & 0xc0) == 0x80)         /* inside a UTF-8 character */
			continue;
		if (c >= 'A' && c <= 'Z')
			c = (unsigned char)(c - 'A' + 'a');
		letter = c >= 'a' && c <= 'z';
		if (!letter && !(c >= '0' && c <= '9'))
			c = '-';
		if (n == 0 && c == '-')
			continue;
		if (n == 0 && !letter) {
			memcpy(ret_name, "job-", 4);
			n = 4;
		}
		if (n < GPC_JOB_NAME_MAX)
			ret_name[n++] = (char)c;
	}
	while (n > 0 && ret_name[n - 1] == '-')
		n--;
	if (n == 0) {
		memcpy(ret_name, "job", 3);
		n = 3;
	}
	ret_name[n] = '\0';
}

/* --- job.json ---------------------------------------------------------- */

#define JOB_VERSION 1

static const struct gpc_bind owner_fields[] = {
	GPC_BIND(gpc_owner, hash, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_owner, user, STR),
	GPC_BIND(gpc_owner, host, STR),
	GPC_BIND_LAST
};
static const struct gpc_bind mount_fields[] = {
	GPC_BIND(gpc_job_mount, target, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_job_mount, head, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_job_mount, file, STR),
	GPC_BIND(gpc_job_mount, rest, REST),
	GPC_BIND_LAST
};
static const struct gpc_bind bucket_fields[] = {
	GPC_BIND(gpc_job_bucket, target, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_job_bucket, source, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_job_bucket, mode, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_job_bucket, rest, REST),
	GPC_BIND_LAST
};
static const struct gpc_bind local_fields[] = {
	GPC_BIND(gpc_job_local, price_per_hour, MONEY),
	GPC_BIND(gpc_job_local, home, STR),
	GPC_BIND_LAST
};
static const struct gpc_bind git_fields[] = {
	GPC_BIND(gpc_job_git, url, STR),
	GPC_BIND(gpc_job_git, ref, STR),
	GPC_BIND(gpc_job_git, commit, STR),
	GPC_BIND_LAST
};
static const struct gpc_bind supervisor_fields[] = {
	GPC_BIND(gpc_job_supervisor, profile, STR),
	GPC_BIND(gpc_job_supervisor, life_ms, I53),
	GPC_BIND_LAST
};
static const struct gpc_bind job_fields[] = {
	GPC_BIND(gpc_job, v, INT, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_job, id, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_job, name, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_job, original_name, STR),
	GPC_BIND(gpc_job, kind, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_job, created_ms, I53, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_job, owner, OBJECT, .flags = GPC_BIND_REQUIRED,
		.sub = owner_fields),
	GPC_BIND(gpc_job, spec, JSON, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_job, workspace, STR),
	GPC_BIND(gpc_job, workdir, STR),
	GPC_BIND(gpc_job, local, OBJECT, .sub = local_fields),
	GPC_BIND(gpc_job, git, OBJECT, .sub = git_fields),
	GPC_BIND(gpc_job, supervisor, OBJECT, .sub = supervisor_fields),
	GPC_BIND(gpc_job, cloudwatch, STR),
	GPC_BIND(gpc_job, mounts, VEC, .sub = mount_fields,
		.sub_size = sizeof(struct gpc_job_mount)),
	GPC_BIND(gpc_job, buckets, VEC, .sub = bucket_fields,
		.sub_size = sizeof(struct gpc_job_bucket)),
	GPC_BIND(gpc_job, bundle, STR),
	GPC_BIND(gpc_job, bundles, PAIRS),
	GPC_BIND(gpc_job, group, STR),
	GPC_BIND(gpc_job, once_key, STR),
	GPC_BIND(gpc_job, secrets, STRV),
	GPC_BIND(gpc_job, rest, REST),
	GPC_BIND_LAST
};

int gpc_job_parse(const char *text, size_t n, struct gpc_job *ret_job,
	struct gpc_error *err)
{
	struct gpc_job job = {0};
	int r = gpc_bind_parse(text, n, job_fields, &job, err);

	if (r < 0)
		return r;
	if (job.v > JOB_VERSION) {
		r = gpc_fail(err, GPC_EUNSUPPORTED, "job %s has format %d, "
			"this gpucloud knows %d", job.id, job.v, JOB_VERSION);
		gpc_hint(err, "a newer gpucloud wrote it: update this one");
	} else if (!*job.id || strlen(job.id) >= GPC_JOB_ID_SIZE) {
		r = gpc_fail(err, GPC_EPROTO, "$.id: expected the id of a job");
	}
	if (r < 0) {
		gpc_job_clear(&job);
		return r;
	}
	*ret_job = job;
	return 0;
}

struct gpc_json *gpc_job_write(const struct gpc_job *job)
{
	return gpc_bind_write(job_fields, job);
}

void gpc_job_clear(struct gpc_job *job)
{
	gpc_bind_clear(job_fields, job);
}
