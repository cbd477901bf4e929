/* The ini dialect of the clouds' own tools, as Python's configparser reads it:
 * [sections], "key = value" or "key: value", full-line comments with # or ;, and
 * values that go on in lines that are indented further than their key. Nothing
 * is a comment within a line. What stands twice counts as it stands last. Keys
 * are not case-sensitive, names of sections are.
 *
 * Input is hostile, and messages name file and line but never what stands there:
 * it may be a secret. */
#pragma once
#include <stddef.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"

#define GPC_INI_MAX_BYTES (1 << 20)
#define GPC_INI_MAX_SECTIONS 10000
#define GPC_INI_MAX_KEYS 50000                  /* of one file */
#define GPC_INI_MAX_NAME 512                    /* bytes of a section or key */

struct gpc_ini_value {
	char *text;                     /* trimmed; lines that follow begin with \n */
	int line;
};
struct gpc_ini_section {
	char *name;
	int line;
	struct gpc_map values;          /* lower-case key -> struct gpc_ini_value */
};
struct gpc_ini {
	char *path;
	struct gpc_map sections;        /* name -> struct gpc_ini_section */
};

/* GPC_ECONFIG with "path:line: ...". ret_ini must be zero. */
int gpc_ini_parse(const char *text, size_t n, const char *path,
	struct gpc_ini *ret_ini, struct gpc_error *err) gpc_must_check;
/* The same of a file; one that does not exist gives no sections and path NULL. */
int gpc_ini_load(const char *path, struct gpc_ini *ret_ini,
	struct gpc_error *err) gpc_must_check;
void gpc_ini_clear(struct gpc_ini *ini);        /* wipes the values */
GPC_CLEANUP_VALUE(gpc_ini);

/* NULL-safe, borrowed, NULL where there is none. */
const struct gpc_ini_section *gpc_ini_find(const struct gpc_ini *ini,
	const char *name);
const struct gpc_ini_value *gpc_ini_get(const struct gpc_ini_section *s,
	const char *key);
/* The value of a key in the indented lines below "name =", as "s3 =" and
 * services have them; owned. */
char *gpc_ini_sub(const struct gpc_ini_value *v, const char *key);
