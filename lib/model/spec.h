/* The spec: the YAML that a user writes, as plain data.
 *
 * A SkyPilot task file is valid here, with the same fields, forms and meaning,
 * plus our own fields (gpucloud-spec(5)). One table of fields (spec_fields.c)
 * drives reading, writing, clearing, "did you mean", help and completion.
 *
 * Order of use: gpc_spec_parse, then overrides (gpc_spec_override, _env,
 * _env_file, _secret), then gpc_spec_resolve (defaults, values that must be
 * given, substitution, absolute paths, checks across fields), then
 * gpc_spec_check_supported. gpc_spec_to_json of a resolved spec is what
 * job.json keeps; gpc_spec_from_json reads it back to the same value.
 * All zero is a valid empty gpc_spec except where gpc_spec_init says more.
 * Nothing here reads files or the environment but through struct gpc_spec_host.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/errors.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/str.h"
#include "base/vec.h"
#include "dep/json.h"

#define GPC_SPEC_KEEP_DEFAULT 2                 /* checkpoint.keep; also its least */
#define GPC_SPEC_GRACE_DEFAULT_MS 30000         /* checkpoint.grace */
#define GPC_SPEC_SETUP_DEFAULT_MS 3600000       /* limits.setup where machines cost money */
#define GPC_SPEC_IDLE_FOR_DEFAULT_MS 1800000    /* limits.idle.for */
#define GPC_SPEC_MAX_NODES 4096

/* One GPU wish: a name ("A100-40GB"), or by memory ("80GB+"). */
struct gpc_gpu {
	char *name;                 /* canonical; NULL = any with this memory */
	char *vendor;               /* "nvidia"; only without a name, may be NULL */
	double count;               /* per node, > 0; V100:0.5 is allowed */
	int memory_gb;              /* without a name: of one GPU */
	bool memory_at_least;
};

enum gpc_spec_wait_for {
	GPC_SPEC_WAIT_UNSET, GPC_SPEC_WAIT_JOBS_AND_SSH, GPC_SPEC_WAIT_JOBS,
	GPC_SPEC_WAIT_NONE,
};
struct gpc_spec_autostop {
	bool set;                   /* the field was given */
	bool on;
	int64_t idle_ms;
	bool down;
	enum gpc_spec_wait_for wait_for;
	char *hook;
	int64_t hook_timeout_ms;    /* 0 = unset */
};

struct gpc_spec_codes { int *v; size_t n, cap; }; /* exit codes, a GPC_VEC */
enum gpc_spec_strategy {
	GPC_SPEC_STRATEGY_UNSET, GPC_SPEC_STRATEGY_FAILOVER,
	GPC_SPEC_STRATEGY_EAGER_NEXT_REGION, GPC_SPEC_STRATEGY_NONE,
};
/* SkyPilot's job_recovery as written; read struct gpc_spec_recovery instead,
 * into which it is folded. */
struct gpc_spec_job_recovery {
	bool set;
	enum gpc_spec_strategy strategy;
	int max_restarts;           /* -1 = unset */
	struct gpc_spec_codes exit_codes;
};

enum gpc_spec_disk_tier {
	GPC_SPEC_TIER_UNSET, GPC_SPEC_TIER_LOW, GPC_SPEC_TIER_MEDIUM,
	GPC_SPEC_TIER_HIGH, GPC_SPEC_TIER_ULTRA, GPC_SPEC_TIER_BEST,
};
enum gpc_spec_network_tier {
	GPC_SPEC_NETWORK_UNSET, GPC_SPEC_NETWORK_STANDARD, GPC_SPEC_NETWORK_BEST,
};

/* What one node needs. */
struct gpc_resources {
	char *infra;                /* "local", "aws/us-east-1/a", "k8s/CONTEXT";
	                             * NULL = any enabled; provider lower-cased */
	GPC_VEC(struct gpc_gpu) gpus; /* several: any one of them ... */
	bool gpus_ordered;          /* ... in this order, else the cheapest first */
	double cpus;                /* 0 = unset */
	bool cpus_at_least;         /* "4+": a requirement, not a limit */
	uint64_t memory_bytes;      /* 0 = unset */
	bool memory_at_least;
	char *instance_type;
	bool use_spot;
	struct gpc_money max_hourly_cost; /* per node; currency "" = unset */
	uint64_t disk_bytes;        /* 0 = unset; whole GB */
	uint64_t ephemeral_bytes;
	enum gpc_spec_disk_tier disk_tier;
	enum gpc_spec_network_tier network_tier;
	char *local_disk;           /* "nvme:1000+" */
	struct gpc_strv ports;      /* "8080", "10052-10100" */
	struct gpc_strv allow;      /* who may reach them: "192.0.2.0/24" */
	struct gpc_pairs labels;
	char *image_id;             /* for every region */
	struct gpc_pairs image_ids; /* or region -> id */
	struct gpc_spec_autostop autostop;
	struct gpc_spec_job_recovery job_recovery;
	struct gpc_json *accelerator_args, *volumes; /* checked and carried */
	int priority;               /* 0 = unset */
	char *priority_class;
	/* Complete alternatives (outer values already merged in): any_of =
	 * cheapest first, ordered = in this order. At most one is not empty;
	 * then these, not the outer values, say what is wanted. */
	struct { struct gpc_resources *v; size_t n, cap; } any_of, ordered;
};

enum gpc_spec_mount_mode {
	GPC_SPEC_MODE_UNSET, GPC_SPEC_MODE_MOUNT, GPC_SPEC_MODE_COPY,
	GPC_SPEC_MODE_MOUNT_CACHED,
};
enum gpc_spec_mount_type {
	GPC_SPEC_TYPE_UNSET, GPC_SPEC_TYPE_MODEL_CHECKPOINT_RO,
	GPC_SPEC_TYPE_MODEL_CHECKPOINT_RW, GPC_SPEC_TYPE_DATASET_RO,
	GPC_SPEC_TYPE_DATASET_RW,
};
/* One file_mounts entry. Short form (object = false): source is a local path
 * (copied, links kept as links), file://..., job://TASK/PATH or a bucket URI
 * (copied). Long form (object = true): sources and the fields below. */
struct gpc_spec_mount {
	char *target;               /* on the node: absolute, ~/..., or below workdir */
	bool object;
	char *source;               /* first source; NULL = a new bucket `name`.
	                             * Local paths are absolute once resolved. */
	struct gpc_strv sources;    /* all of them, when more than one */
	char *name;
	char *store;                /* "s3", "gcs", ... */
	bool persistent;            /* default true */
	enum gpc_spec_mount_mode mode;
	enum gpc_spec_mount_type type;
	struct gpc_json *config;
};
/* True for a path of this machine (no scheme, or file://). */
bool gpc_spec_source_is_local(const char *source);
/* The local path in it: what follows file://, else the source itself. */
const char *gpc_spec_source_path(const char *source);
/* True for what is in a bucket that file_mounts can reach: s3, gs and oss. */
bool gpc_spec_source_is_bucket(const char *source);
/* Of such a mount: how it is meant, never UNSET; whether the job only reads there;
 * and how many files are uploaded at once. */
enum gpc_spec_mount_mode gpc_spec_mount_mode(const struct gpc_spec_mount *m);
bool gpc_spec_mount_only_read(const struct gpc_spec_mount *m);
int gpc_spec_mount_transfers(const struct gpc_spec_mount *m);
extern const char *const gpc_spec_mode_names[];  /* by gpc_spec_mount_mode */

enum gpc_spec_ranks { GPC_SPEC_RANKS_0, GPC_SPEC_RANKS_ALL };
struct gpc_spec_checkpoint {
	char *path;                 /* below the workdir, or absolute; NULL = none */
	int keep;                   /* newest that are kept; >= 2 */
	int64_t upload_every_ms;    /* 0 = the default cadence */
	int ask_signal;             /* 0 = the program is not asked by a signal */
	int64_t ask_every_ms;       /* 0 = only before a stop */
	int64_t grace_ms;           /* between that and SIGKILL; default 30 s */
	bool all_ranks;             /* ranks: all; else rank 0 alone saves */
};

enum gpc_spec_when { GPC_SPEC_WHEN_SUCCESS, GPC_SPEC_WHEN_ALWAYS };
struct gpc_spec_artifact {
	char *path;                 /* below the workdir; may hold * and ? */
	char *to;                   /* URL; NULL = the job's artifacts/ */
	enum gpc_spec_when when;    /* default success */
};

enum gpc_spec_idle_action { GPC_SPEC_IDLE_STOP, GPC_SPEC_IDLE_WARN };
struct gpc_spec_limits {
	struct gpc_money cost;      /* over the job, or the group; "" = unset */
	struct gpc_money cost_each; /* over each job of a group */
	int64_t time_ms;            /* running time over all attempts; 0 = none */
	int64_t setup_ms;           /* of one setup; 0 = none */
	int64_t expected_ms;        /* a guess, for plans */
	int64_t deadline_ms;        /* wall clock; 0 = none */
	double idle_gpu_below;      /* percent, mean of all GPUs; 0 = no idle rule */
	int64_t idle_for_ms;        /* set whenever idle_gpu_below is (resolve) */
	enum gpc_spec_idle_action idle_action;
	int power;                  /* watts per GPU; 0 = unset */
	int64_t keep_on_failure_ms; /* node kept that long after a failure */
};

enum gpc_spec_by { GPC_SPEC_BY_SUPERVISOR, GPC_SPEC_BY_CLOUD };
struct gpc_spec_recovery {
	enum gpc_spec_by by;
	int restarts;               /* after the program's own errors; -1 = unset */
	struct gpc_spec_codes on_exit; /* codes restarted without limit, 0..255 */
	int64_t wait_capacity_ms;   /* 0 = unset */
	bool barrier;               /* every rank waits for all before `run` */
	bool none;                  /* job_recovery: none: no next attempt at all */
};

/* What is told; bits, so that an item may name several. */
enum gpc_notify_on {
	GPC_NOTIFY_START = 1,       /* an attempt's program begins */
	GPC_NOTIFY_CHECKPOINT = 2,  /* one is complete */
	GPC_NOTIFY_RECOVERING = 4,  /* an attempt was lost; the next one follows */
	GPC_NOTIFY_SUCCESS = 8,     /* the end: SUCCEEDED */
	GPC_NOTIFY_FAILURE = 16,    /* the end: FAILED */
	GPC_NOTIFY_END = 32,        /* any end, also CANCELLED */
};
/* Who is told: a command or an address; never both. */
struct gpc_spec_notice {
	struct gpc_strv command;    /* argv, run where the supervisor runs */
	char *url;                  /* whole, or short: see model/hook.h */
	unsigned on;                /* of enum gpc_notify_on; default END */
};
struct gpc_spec_notify { struct gpc_spec_notice *v; size_t n, cap; };
void gpc_spec_notify_clear(struct gpc_spec_notify *list);
GPC_CLEANUP_VALUE(gpc_spec_notify);

struct gpc_spec_git { char *url, *ref; };       /* url NULL = not used */
/* Addresses and refs that may reach git and a record: GPC_ECONFIG otherwise,
 * with a message that does not show them. */
int gpc_spec_git_check(const struct gpc_spec_git *git, struct gpc_error *err)
	gpc_must_check;
bool gpc_spec_git_is_path(const char *url);     /* of this machine, no URL */
/* "repo" of https://host/team/repo.git; owned. */
char *gpc_spec_git_name(const char *url);

/* Where a field was written; line 0 = command line or JSON. */
struct gpc_spec_place { char *field; int line, column; };

/* One task. */
struct gpc_spec {
	char *name;                 /* cleaned by resolve */
	char *original_name;        /* as written when cleaning changed it, else NULL */
	char *workdir;              /* absolute after resolve; NULL = none */
	struct gpc_spec_git workdir_git;
	int num_nodes;              /* >= 1 */
	char *setup, *run;          /* bash; NULL = none */
	struct gpc_pairs envs;      /* text exactly as written; NULL = must be given */
	struct gpc_pairs secrets;   /* the same; values are never written out */
	struct gpc_resources resources;
	GPC_VEC(struct gpc_spec_mount) file_mounts;
	struct gpc_spec_checkpoint checkpoint;
	GPC_VEC(struct gpc_spec_artifact) artifacts;
	struct gpc_pairs metrics;   /* name -> POSIX extended regex, one group */
	char *launcher;             /* "none" or NULL = plain */
	struct gpc_spec_limits limits;
	struct gpc_spec_recovery recovery;
	struct gpc_strv data_residency; /* regions or countries */
	char *min_driver;           /* "535.104" */
	bool strict;                /* bash -e -o pipefail */
	struct gpc_spec_notify notify;
	/* recognised, checked, carried, not built yet */
	struct gpc_json *sweep, *service, *pool, *config, *volumes;
	struct gpc_json *managed_secrets, *inputs, *outputs;
	char *event_callback;
	/* not part of the value: for messages and plans */
	char *source;               /* "job.yaml" */
	int64_t life_ms;            /* what a machine that costs money may live at
	                             * most; 0 = a day */
	GPC_VEC(struct gpc_spec_place) places;
};

enum gpc_spec_execution { GPC_SPEC_SERIAL, GPC_SPEC_PARALLEL };
struct gpc_spec_delay { char *task; int64_t ms; };  /* task NULL = default */

/* A file: one task, or a header and several (pipeline or job group). */
struct gpc_spec_file {
	GPC_VEC(struct gpc_spec) tasks;             /* at least one */
	bool header;                /* the first document was a header */
	char *name;                 /* of the header */
	enum gpc_spec_execution execution;
	struct gpc_strv primary_tasks;
	GPC_VEC(struct gpc_spec_delay) termination_delay;
	struct gpc_strv warnings;   /* "job.yaml:3:7: ..." ready to print */
};

/* What the outside world says; every member may be NULL. */
struct gpc_spec_host {
	const char *cwd;            /* absolute; relative local paths start here */
	const char *home;           /* for ~ and for refusing it as a workdir */
	const char *script;         /* names a job without name and workdir */
	const char *(*lookup)(const char *name, void *arg); /* environment; borrowed */
	int (*read_file)(const char *path, char **ret_text, void *arg,
		struct gpc_error *err);  /* for file: secrets; owned text */
	void *arg;
};

/* --- read ---------------------------------------------------------------- */
/* name is what messages call the text ("job.yaml", "<stdin>"). Forms, ranges
 * and words are checked whole; values are not resolved yet. */
int gpc_spec_parse(const char *text, size_t n, const char *name,
	struct gpc_spec_file *ret_file, struct gpc_error *err) gpc_must_check;
/* The same for people, who want to know at once all that is wrong: err is the
 * first mistake, those after it are added to others, in the order of the file and
 * a bounded number of them. A field that is not built is refused as that, whatever
 * is in it, and stands among the mistakes when there are others. */
int gpc_spec_parse_all(const char *text, size_t n, const char *name,
	struct gpc_spec_file *ret_file, struct gpc_errors *others,
	struct gpc_error *err) gpc_must_check;
/* One task from what gpc_spec_to_json wrote. warnings may be NULL. */
int gpc_spec_from_json(const struct gpc_json *j, const char *name,
	struct gpc_spec *ret_spec, struct gpc_strv *warnings,
	struct gpc_error *err) gpc_must_check;
void gpc_spec_init(struct gpc_spec *spec);      /* defaults: num_nodes 1, ... */
/* `gpucloud submit -- python3 train.py`: run = the quoted words; the name comes
 * from the first word that looks like a script. */
void gpc_spec_init_command(struct gpc_spec *spec, const char *const *argv,
	size_t n);

/* --- change -------------------------------------------------------------- */
/* "job.yaml:7:3", or "job.yaml" when the place is not known; owned. */
char *gpc_spec_where(const struct gpc_spec *spec, const char *field);

/* Command-line words ("gpus", "max-cost") to fields; NULL-terminated name. */
struct gpc_spec_option {
	const char *word;           /* without -- */
	const char *field;          /* "resources.accelerators" */
	const char *arg, *help;     /* "NAME[:COUNT]"; arg NULL = a flag */
};
const struct gpc_spec_option *gpc_spec_options(size_t *ret_n);
/* value is read as the field's YAML would be; resource fields change every
 * alternative of any_of/ordered too. value NULL = "true". Messages begin
 * "--gpus: ". warnings may be NULL. */
int gpc_spec_override(struct gpc_spec *spec, const char *word,
	const char *value, struct gpc_strv *warnings, struct gpc_error *err)
	gpc_must_check;
/* --env "K=V", or "K" from host->lookup. */
int gpc_spec_env(struct gpc_spec *spec, const char *arg,
	const struct gpc_spec_host *host, struct gpc_error *err) gpc_must_check;
/* --env-file: lines K=V (quotes, export and # allowed). A name that the spec
 * lists under secrets goes there, every other into envs. */
int gpc_spec_env_file(struct gpc_spec *spec, const char *text, size_t n,
	const char *name, struct gpc_error *err) gpc_must_check;
/* --secret "K" (from host->lookup), "K=@file" (host->read_file), or "K=V",
 * which sets *ret_value_in_argv: every user of the machine could see it. */
int gpc_spec_secret(struct gpc_spec *spec, const char *arg,
	const struct gpc_spec_host *host, bool *ret_value_in_argv,
	struct gpc_error *err) gpc_must_check;

/* --- resolve and check --------------------------------------------------- */
/* Idempotent. Missing envs and secrets are one error that names them all. */
int gpc_spec_resolve(struct gpc_spec *spec, const struct gpc_spec_host *host,
	struct gpc_strv *warnings, struct gpc_error *err) gpc_must_check;
/* The same for who wants to know what else is in the way: what is wrong with the
 * values of envs and secrets is added to unset and does not end it. What would need
 * them stays as it is written. */
int gpc_spec_resolve_rest(struct gpc_spec *spec,
	const struct gpc_spec_host *host, struct gpc_strv *warnings,
	struct gpc_errors *unset, struct gpc_error *err) gpc_must_check;
/* Refuses by name what would change the meaning and is not built yet: the first is
 * err, the rest is added to others (may be NULL). Without any, adds a warning for each
 * field that is only a hint. */
int gpc_spec_check_supported(const struct gpc_spec *spec,
	struct gpc_strv *warnings, struct gpc_errors *others,
	struct gpc_error *err) gpc_must_check;
/* One alternative of it, for those that choose between several. */
int gpc_resources_check_supported(const struct gpc_resources *r,
	struct gpc_errors *others, struct gpc_error *err) gpc_must_check;
/* The same over a file: several tasks cannot run yet. */
int gpc_spec_file_check_supported(const struct gpc_spec_file *file,
	struct gpc_error *err) gpc_must_check;
/* Alternatives of a task, the outer resources when it names none. */
size_t gpc_spec_candidates(const struct gpc_spec *spec, bool *ret_ordered);
const struct gpc_resources *gpc_spec_candidate(const struct gpc_spec *spec,
	size_t i);
/* Who buys first when several jobs wait: the greatest of the alternatives. */
int gpc_spec_priority(const struct gpc_spec *spec);
/* "aws" of "aws/us-east-1": owned, NULL when infra names none. */
char *gpc_resources_provider(const struct gpc_resources *r);
/* Largest count of any GPU wish of this alternative, rounded up; 0 = none. */
int gpc_resources_gpu_count(const struct gpc_resources *r);
/* "A100-40GB:8" or "80GB+:4"; owned. */
char *gpc_gpu_format(const struct gpc_gpu *g);

/* --- write --------------------------------------------------------------- */
/* Canonical, without secret values (name: null) and without defaults. */
struct gpc_json *gpc_spec_to_json(const struct gpc_spec *spec);
/* A file of one task gives the object, several an array with the header
 * first; for --dry-run. */
struct gpc_json *gpc_spec_file_to_json(const struct gpc_spec_file *file);
/* The same as YAML documents. Both parse back to the same file. */
int gpc_spec_file_to_yaml(const struct gpc_spec_file *file, struct gpc_buf *out,
	struct gpc_error *err) gpc_must_check;
void gpc_resources_clear(struct gpc_resources *r);
GPC_CLEANUP_VALUE(gpc_resources);
void gpc_spec_clear(struct gpc_spec *spec);     /* wipes secret values */
GPC_CLEANUP_VALUE(gpc_spec);
void gpc_spec_file_clear(struct gpc_spec_file *file);
GPC_CLEANUP_VALUE(gpc_spec_file);

/* --- the table ----------------------------------------------------------- */
enum gpc_spec_state {
	GPC_SPEC_BUILT,       /* does what it says */
	GPC_SPEC_HINT,        /* accepted; a warning says that nothing heeds it yet */
	GPC_SPEC_REFUSED,     /* checked; running is refused by name */
	GPC_SPEC_INTERNAL,    /* accepted and ignored: another tool's book-keeping */
};
struct gpc_spec_field {
	const char *section;  /* "task", "resources", "checkpoint", ... */
	const char *name;
	const char *forms;    /* "NAME[:COUNT], list, map" */
	const char *preset;   /* default, or NULL */
	const char *help;     /* one line */
	enum gpc_spec_state state;
	bool ours;            /* not a field of SkyPilot */
	int kind;             /* the rest is the reader's business */
	int unset;            /* of whole numbers: what "not given" looks like */
	unsigned flags;
	size_t offset;
	double min, max;
	const void *more;
};
/* All fields, grouped by section in the order of the manual page. */
const struct gpc_spec_field *gpc_spec_fields(size_t *ret_n);
