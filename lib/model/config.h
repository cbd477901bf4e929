/* The configuration: a small table of typed keys, and keys that the caller
 * declares beside it (defaults of commands' options), filled from texts. No I/O
 * here; cmd/config_load.c reads the files.
 *
 * Every key is `name` or `group.name` in YAML (nested or dotted) and
 * GPUCLOUD_<NAME> in the environment, upper case with _ for the dot. A value
 * never replaces one of a later origin, so texts may be read in any order.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/str.h"
#include "base/vec.h"

enum gpc_config_key {
	GPC_CONFIG_STORE,                  /* URL; unset = the user's data folder */
	GPC_CONFIG_PROFILE,                /* str; unset = none */
	GPC_CONFIG_CA_FILE,                /* path; unset = the system's */
	GPC_CONFIG_OWNER,                  /* str; unset = user@host */
	GPC_CONFIG_CONFIRM_ABOVE,          /* money per job; unset = always ask */
	GPC_CONFIG_LOG_LEVEL,              /* enum gpc_level */
	GPC_CONFIG_COLOR,                  /* enum gpc_config_color */
	GPC_CONFIG_LOCAL_ENABLED,          /* bool */
	GPC_CONFIG_LOCAL_PRICE_PER_HOUR,   /* money; unset = 0 */
	GPC_CONFIG_LOCAL_HOME,             /* enum gpc_config_home */
	GPC_CONFIG_AWS_REGIONS,            /* str; unset = the chain's own */
	GPC_CONFIG_AWS_SUPERVISOR_PROFILE, /* str */
	GPC_CONFIG_AWS_CLOUDWATCH,         /* str; unset = no figures there */
	GPC_CONFIG_AWS_RESERVATIONS,       /* str; unset = none */
	GPC_CONFIG__COUNT,
};
enum gpc_config_color { GPC_COLOR_AUTO, GPC_COLOR_ALWAYS, GPC_COLOR_NEVER };
enum gpc_config_home { GPC_HOME_OWN, GPC_HOME_USER };

enum gpc_config_kind {
	GPC_CONFIG_STR, GPC_CONFIG_BOOL, GPC_CONFIG_MONEY, GPC_CONFIG_ENUM,
};
enum gpc_config_origin {               /* a later one wins */
	GPC_FROM_DEFAULT, GPC_FROM_USER, GPC_FROM_PROFILE, GPC_FROM_PROJECT,
	GPC_FROM_ENV, GPC_FROM_OPTION,
};
/* What happens to keys of a project's file that are not for strangers to set. */
enum gpc_config_guard {
	GPC_GUARD_REFUSE,                  /* an error */
	GPC_GUARD_TRUST,                   /* the user has read that file */
	GPC_GUARD_SKIP,                    /* as if they were not there */
};

struct gpc_config_field {
	const char *name;                  /* "local.price_per_hour" */
	enum gpc_config_kind kind;
	const char *preset;                /* default as text; NULL = unset */
	const char *const *words;          /* ENUM, NULL-terminated */
	bool user_only;                    /* refused in a project's file */
	const char *doc;                   /* one line */
};

struct gpc_config_value {
	char *text;                        /* as written; NULL = unset */
	bool boolean;
	int number;                        /* ENUM */
	struct gpc_money money;
	enum gpc_config_origin origin;
	char *where;                       /* "config.yaml:3:8", "GPUCLOUD_STORE" */
};

/* Keys of the caller. All texts are borrowed. */
struct gpc_config_extra {
	const char *expected;              /* "a whole number": for people */
	const char *const *words;          /* or one of these, or NULL */
	const char *doc;                   /* one line */
	const char *preset;                /* what holds without it, or NULL */
	bool guarded;                      /* like user_only */
	bool list;                         /* takes several values */
	const void *arg;                   /* the caller's */
};
struct gpc_config_extension {
	bool (*find)(const char *name, struct gpc_config_extra *ret_extra);
	/* One value of it; label is what errors begin with. */
	int (*check)(const struct gpc_config_extra *extra, const char *text,
		const char *label, struct gpc_error *err);
	void (*names)(struct gpc_strv *ret_names);
};
struct gpc_config_more {               /* an extra key that is set */
	char *name;
	struct gpc_strv items;             /* one, of a list any number */
	enum gpc_config_origin origin;
	char *where;
};

struct gpc_config {
	struct gpc_config_value v[GPC_CONFIG__COUNT];
	GPC_VEC(struct gpc_config_more) more;
	/* The caller sets these two after gpc_config_init. */
	const struct gpc_config_extension *extension;  /* NULL: no more keys */
	enum gpc_config_guard guard;
};

extern const struct gpc_config_field gpc_config_fields[GPC_CONFIG__COUNT];

/* Every key at its default. */
void gpc_config_init(struct gpc_config *c);
void gpc_config_clear(struct gpc_config *c);
GPC_CLEANUP_VALUE(gpc_config);
/* A file's text; name is what errors call it. origin: USER or PROJECT. Unknown
 * keys are errors with a suggestion. Warnings go to warnings, if not NULL. The
 * profiles of a user's file are checked, but set nothing. */
int gpc_config_read(struct gpc_config *c, enum gpc_config_origin origin,
	const char *text, size_t n, const char *name,
	struct gpc_strv *warnings, struct gpc_error *err) gpc_must_check;
/* Sets what a profile of the user's file holds. One that is not there is an
 * error that lists those that are; it begins with why ("--profile"). */
int gpc_config_read_profile(struct gpc_config *c, const char *profile,
	const char *why, const char *text, size_t n, const char *name,
	struct gpc_error *err) gpc_must_check;
/* GPUCLOUD_* of an environment ("K=V", NULL at the end). Other GPUCLOUD_ names
 * are left alone: a job's environment has many. An empty value is unset. */
int gpc_config_read_env(struct gpc_config *c, char *const *env,
	struct gpc_error *err) gpc_must_check;
/* One key from an option; where: "--store". */
int gpc_config_set(struct gpc_config *c, enum gpc_config_key key,
	enum gpc_config_origin origin, const char *text, const char *where,
	struct gpc_error *err) gpc_must_check;

/* One extra key from the environment or an option; of a list each line of text
 * is a value. GPC_ECONFIG also when there is no such key. */
int gpc_config_set_more(struct gpc_config *c, const char *name,
	enum gpc_config_origin origin, const char *text, const char *where,
	struct gpc_error *err) gpc_must_check;
const struct gpc_config_more *gpc_config_find_more(const struct gpc_config *c,
	const char *name);                         /* NULL: not set */
/* The index in gpc_config_fields or -1. */
int gpc_config_find(const char *name);
/* Fails with the nearest key, of both kinds, as a hint. */
int gpc_config_unknown(const struct gpc_config *c, const char *where,
	const char *name, struct gpc_error *err);
/* Whether text is a value of that key of the table; label begins errors. */
int gpc_config_check(enum gpc_config_key key, const char *text,
	const char *label, struct gpc_error *err) gpc_must_check;

bool gpc_config_is_set(const struct gpc_config *c, enum gpc_config_key key);
const char *gpc_config_str(const struct gpc_config *c, enum gpc_config_key key);
bool gpc_config_bool(const struct gpc_config *c, enum gpc_config_key key);
int gpc_config_enum(const struct gpc_config *c, enum gpc_config_key key);
/* Unset: currency "". */
struct gpc_money gpc_config_money(const struct gpc_config *c,
	enum gpc_config_key key);
enum gpc_config_origin gpc_config_origin(const struct gpc_config *c,
	enum gpc_config_key key);
const char *gpc_config_where(const struct gpc_config *c,
	enum gpc_config_key key);                  /* "default" for a default */
/* "GPUCLOUD_LOCAL_PRICE_PER_HOUR" of "local.price_per_hour"; owned. */
char *gpc_config_env_name(const char *key);
/* What a value of the key looks like: "true or false", "money"; owned. */
char *gpc_config_expected(enum gpc_config_key key);
