/* The configuration: a small table of typed keys, filled from texts in the
 * order of their precedence. No I/O here; cmd/config_load.c reads the files.
 *
 * Every key is `name` or `group.name` in YAML (nested or dotted) and
 * GPUCLOUD_<NAME> in the environment, upper case with _ for the dot.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/str.h"

enum gpc_config_key {
	GPC_CONFIG_STORE,                  /* URL; unset = the user's data folder */
	GPC_CONFIG_OWNER,                  /* str; unset = user@host */
	GPC_CONFIG_CONFIRM_ABOVE,          /* money per job; unset = always ask */
	GPC_CONFIG_LOG_LEVEL,              /* enum gpc_level */
	GPC_CONFIG_COLOR,                  /* enum gpc_config_color */
	GPC_CONFIG_LOCAL_ENABLED,          /* bool */
	GPC_CONFIG_LOCAL_PRICE_PER_HOUR,   /* money; unset = 0 */
	GPC_CONFIG_LOCAL_HOME,             /* enum gpc_config_home */
	GPC_CONFIG__COUNT,
};
enum gpc_config_color { GPC_COLOR_AUTO, GPC_COLOR_ALWAYS, GPC_COLOR_NEVER };
enum gpc_config_home { GPC_HOME_OWN, GPC_HOME_USER };

enum gpc_config_kind {
	GPC_CONFIG_STR, GPC_CONFIG_BOOL, GPC_CONFIG_MONEY, GPC_CONFIG_ENUM,
};
enum gpc_config_origin {               /* a later one wins */
	GPC_FROM_DEFAULT, GPC_FROM_USER, GPC_FROM_PROJECT, GPC_FROM_ENV,
	GPC_FROM_OPTION,
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
struct gpc_config { struct gpc_config_value v[GPC_CONFIG__COUNT]; };

extern const struct gpc_config_field gpc_config_fields[GPC_CONFIG__COUNT];

/* Every key at its default. */
void gpc_config_init(struct gpc_config *c);
void gpc_config_clear(struct gpc_config *c);
GPC_CLEANUP_VALUE(gpc_config);
/* A file's text; name is what errors call it. origin: USER or PROJECT. Unknown
 * keys are errors with a suggestion. Warnings go to warnings, if not NULL. */
int gpc_config_read(struct gpc_config *c, enum gpc_config_origin origin,
	const char *text, size_t n, const char *name,
	struct gpc_strv *warnings, struct gpc_error *err) gpc_must_check;
/* GPUCLOUD_* of an environment ("K=V", NULL at the end). Other GPUCLOUD_ names
 * are left alone: a job's environment has many. An empty value is unset. */
int gpc_config_read_env(struct gpc_config *c, char *const *env,
	struct gpc_error *err) gpc_must_check;
/* One key from an option; where: "--store". */
int gpc_config_set(struct gpc_config *c, enum gpc_config_key key,
	enum gpc_config_origin origin, const char *text, const char *where,
	struct gpc_error *err) gpc_must_check;

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
/* "GPUCLOUD_LOCAL_PRICE_PER_HOUR"; owned. */
char *gpc_config_env_name(enum gpc_config_key key);
