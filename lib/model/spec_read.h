/* How the spec files of this room share the reader; not for other rooms.
 *
 * A field's value is read by its kind from a YAML node into a slot of the
 * struct that its section describes. slot NULL means "check only": fields that
 * are carried as JSON have rows without storage. */
#pragma once
#include "dep/yaml.h"
#include "model/spec.h"

#define GPC_SPEC_MAX_CANDIDATES 256
#define GPC_SPEC_MAX_GPUS 256
#define GPC_SPEC_MAX_LABELS 256
#define GPC_SPEC_MAX_COPIED ((size_t)16 << 20)   /* bytes of text made from text */

#define GPC_SPEC_MAX_PAIRS 10000         /* envs, secrets, labels: of each */

struct gpc_spec_reader {
	const char *name;              /* what messages call the input */
	struct gpc_yaml_docs *docs;    /* owns the nodes; overlays join it */
	struct gpc_strv *warnings;     /* may be NULL */
	struct gpc_spec *spec;         /* collects places; may be NULL */
	struct gpc_spec_mistakes *mistakes; /* NULL: the first one ends reading */
	struct gpc_error *err;
};

/* All that is wrong with a file, in the order of reading. */
struct gpc_spec_mistakes {
	struct gpc_errors list;
	size_t wrong;                  /* of them; the others are right, but not
	                                * built, and count only beside these */
};

enum gpc_spec_kind_id {
	GPC_KIND_TEXT,      /* char *; numbers as written, booleans refused */
	GPC_KIND_INT,       /* int, min..max, `unset` */
	GPC_KIND_BOOL,      /* bool */
	GPC_KIND_NUMBER,    /* no storage: a number, min..max */
	GPC_KIND_SIZE_GB,   /* uint64_t bytes, whole GB; a bare number is GB */
	GPC_KIND_DURATION,  /* int64_t ms, a unit is needed */
	GPC_KIND_MONEY,     /* struct gpc_money > 0 */
	GPC_KIND_PAIRS,     /* struct gpc_pairs, name -> text */
	GPC_KIND_STRV,      /* struct gpc_strv, one text or a list */
	GPC_KIND_ENUM,      /* int-sized enum; more = names, "" matches nothing */
	GPC_KIND_WORD,      /* char *, one of more = names */
	GPC_KIND_MAP,       /* fields of section `more` in the same struct or in
	                     * the one at offset */
	GPC_KIND_CHECKED,   /* gpc_json *; a map checked against section `more` */
	GPC_KIND_JSON,      /* gpc_json *; any value */
	GPC_KIND_ALIAS,     /* another name: more = the field of this section */
	GPC_KIND_OWN,       /* more = struct gpc_spec_kind */
};
enum {
	GPC_FIELD_REQUIRED = 1,
	GPC_FIELD_OR_TEXT = 2,         /* a CHECKED value may also be text */
	GPC_FIELD_NO_SLOT = 4,
};

struct gpc_spec_kind {
	int (*read)(struct gpc_spec_reader *r, const struct gpc_spec_field *f,
		const struct gpc_yaml_node *node, void *slot);
	struct gpc_json *(*write)(const struct gpc_spec_field *f,
		const void *slot);     /* NULL when empty */
	void (*clear)(const struct gpc_spec_field *f, void *slot);
};
const struct gpc_spec_kind *gpc_spec_kind_of(const struct gpc_spec_field *f);

/* --- spec_fields.c -------------------------------------------------------- */
/* Follows an alias to its field; NULL when the section has no such word. */
const struct gpc_spec_field *gpc_spec_field_find(const char *section,
	const char *name);

/* --- spec_read.c ---------------------------------------------------------- */
/* "job.yaml:7:3: text", -GPC_ECONFIG. node may be NULL. */
int gpc_spec_fail(struct gpc_spec_reader *r, const struct gpc_yaml_node *node,
	const char *fmt, ...) gpc_printf(3, 4);
void gpc_spec_warn(struct gpc_spec_reader *r, const struct gpc_yaml_node *node,
	const char *fmt, ...) gpc_printf(3, 4);
/* "`resources.cpus`: expected WHAT, got the text 'two'" */
int gpc_spec_expected(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	const char *fmt, ...) gpc_printf(4, 5);
/* Warns when YAML 1.1 reads a typed scalar as something unexpected. */
void gpc_spec_surprise(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node);
/* Remembers where each name of a map stands, as the field "envs.NAME". */
void gpc_spec_note_names(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *map);
bool gpc_spec_is_null(const struct gpc_yaml_node *node);
/* Scalar text as written; NULL for lists, maps and booleans written plain. */
const char *gpc_spec_text(const struct gpc_yaml_node *node);
/* Reads one value by its field. */
int gpc_spec_read_value(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	void *base);
/* Reads a map by the rows of a section; base NULL = check only. */
int gpc_spec_read_section(struct gpc_spec_reader *r, const char *section,
	const struct gpc_yaml_node *node, void *base);
/* Adds the section's fields that are not empty to object. */
void gpc_spec_write_section(const char *section, const void *base,
	struct gpc_json *object);
void gpc_spec_clear_section(const char *section, void *base);
/* "task" is "the task" in messages. */
const char *gpc_spec_section_title(const char *section);

/* "resources.cpus", as a user sees it; owned. */
char *gpc_spec_field_path(const struct gpc_spec_field *f);

/* --- spec_mistakes.c ------------------------------------------------------- */
/* How many mistakes have been noted: what gpc_spec_goes_on is told about. */
size_t gpc_spec_wrong(const struct gpc_spec_reader *r);
/* After reading one of several things with result e: true when the next may be
 * read. A mistake is noted, unless what was read noted some itself since there
 * were `before`. *first keeps the result of the whole. */
bool gpc_spec_goes_on(struct gpc_spec_reader *r, size_t before, int e,
	int *first);
/* Reads the value of a field that is not built: whatever is wrong in it, what
 * there is to say is that. base is where it goes; NULL = check only. */
int gpc_spec_read_unbuilt(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *key,
	const struct gpc_yaml_node *value, void *base);
/* Moves what was noted out: the first to err, the others to others. r as reading
 * ended; returns what the whole does. */
int gpc_spec_take_mistakes(struct gpc_spec_reader *r, int result,
	struct gpc_errors *others);

/* --- spec_support.c -------------------------------------------------------- */
/* True when base holds a value of it, and it is one that is refused. */
bool gpc_spec_is_unbuilt(const struct gpc_spec_field *f, const void *base);

/* --- kinds ---------------------------------------------------------------- */
extern const struct gpc_spec_kind gpc_spec_kinds[];        /* spec_kinds.c */
struct gpc_json *gpc_spec_write_strv(const struct gpc_strv *s);
struct gpc_json *gpc_spec_write_pairs(const struct gpc_pairs *p);
struct gpc_json *gpc_spec_write_duration(int64_t ms);
int gpc_spec_read_pairs(struct gpc_spec_reader *r,
	const struct gpc_spec_field *f, const struct gpc_yaml_node *node,
	bool null_ok, bool names, size_t max, struct gpc_pairs *ret_pairs);

extern const struct gpc_spec_kind gpc_kind_gpus;           /* spec_gpus.c */
extern const struct gpc_spec_kind gpc_kind_cpus;
extern const struct gpc_spec_kind gpc_kind_memory;

extern const struct gpc_spec_kind gpc_kind_resources;      /* spec_candidates.c */
extern const struct gpc_spec_kind gpc_kind_candidates;

extern const struct gpc_spec_kind gpc_kind_infra;          /* spec_resources.c */
extern const struct gpc_spec_kind gpc_kind_place;
extern const struct gpc_spec_kind gpc_kind_labels;
extern const struct gpc_spec_kind gpc_kind_image;
extern const struct gpc_spec_kind gpc_kind_local_disk;
extern const struct gpc_spec_kind gpc_kind_ports;          /* spec_ports.c */
extern const struct gpc_spec_kind gpc_kind_networks;
/* cloud, region and zone of a resources map become infra. */
int gpc_spec_join_places(struct gpc_spec_reader *r,
	const struct gpc_yaml_node *map, struct gpc_resources *res);

extern const struct gpc_spec_kind gpc_kind_autostop;       /* spec_policy.c */
extern const struct gpc_spec_kind gpc_kind_job_recovery;
extern const struct gpc_spec_kind gpc_kind_codes;
extern const struct gpc_spec_kind gpc_kind_signal;
extern const struct gpc_spec_kind gpc_kind_ranks;
extern const struct gpc_spec_kind gpc_kind_deadline;

extern const struct gpc_spec_kind gpc_kind_workdir;        /* spec_task.c */
extern const struct gpc_spec_kind gpc_kind_envs;
extern const struct gpc_spec_kind gpc_kind_secrets;
extern const struct gpc_spec_kind gpc_kind_mounts;
extern const struct gpc_spec_kind gpc_kind_artifacts;
extern const struct gpc_spec_kind gpc_kind_metrics;
extern const struct gpc_spec_kind gpc_kind_version;

extern const struct gpc_spec_kind gpc_kind_notify;         /* spec_notify.c */
extern const struct gpc_spec_kind gpc_kind_notify_command;
extern const struct gpc_spec_kind gpc_kind_notify_on;
extern const struct gpc_spec_kind gpc_kind_notify_url;

extern const struct gpc_spec_kind gpc_kind_managed_secrets; /* spec_carried.c */
extern const struct gpc_spec_kind gpc_kind_sizes;
extern const struct gpc_spec_kind gpc_kind_volumes;
extern const struct gpc_spec_kind gpc_kind_node_volumes;
extern const struct gpc_spec_kind gpc_kind_service;
extern const struct gpc_spec_kind gpc_kind_pool;
extern const struct gpc_spec_kind gpc_kind_sweep;
extern const struct gpc_spec_kind gpc_kind_config;
extern const struct gpc_spec_kind gpc_kind_qps;

extern const struct gpc_spec_kind gpc_kind_delay;          /* spec_group.c */

/* --- shared by the steps after reading ------------------------------------- */
/* Where the fields of a section of this spec are kept; NULL for sections that
 * have no storage or more than one place. */
void *gpc_spec_section_base(struct gpc_spec *spec, const char *section);
/* Checks names of several tasks against their header. */
int gpc_spec_check_group(struct gpc_spec_reader *r,
	const struct gpc_spec_file *file);
/* Overwrites a secret before its memory is freed; NULL is fine. */
void gpc_spec_wipe(char *s);
/* "train" of "exp/train.py"; owned. */
char *gpc_spec_script_name(const char *path);
