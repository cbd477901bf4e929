/* JSON trees (cJSON behind it; its names stay in json.c). Input is hostile:
 * size, depth, invalid UTF-8, NUL and duplicate keys are refused. Integers are
 * exact up to 2^53. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

struct gpc_json;                                   /* opaque */

#define GPC_JSON_MAX_BYTES (64 << 20)
#define GPC_JSON_MAX_DEPTH 64
#define GPC_JSON_MAX_VALUES (2 << 20)

int gpc_json_parse(const char *text, size_t n, struct gpc_json **ret_j,
	struct gpc_error *err) gpc_must_check;
void gpc_json_free(struct gpc_json *j);
GPC_CLEANUP_POINTER(gpc_json);
struct gpc_json *gpc_json_copy(const struct gpc_json *j);
/* What is printed parses back: bytes that are no UTF-8 become U+FFFD. Equal
 * trees give equal bytes. */
char *gpc_json_print(const struct gpc_json *j);         /* one line; owned */
/* The same for what may be large: an error past max bytes, or without memory. */
int gpc_json_try_print(const struct gpc_json *j, size_t max, char **ret_text,
	struct gpc_error *err) gpc_must_check;
char *gpc_json_print_pretty(const struct gpc_json *j);  /* two spaces; owned */

struct gpc_json *gpc_json_object(void);
struct gpc_json *gpc_json_array(void);
struct gpc_strv;
struct gpc_json *gpc_json_strings(const struct gpc_strv *s); /* an array */
struct gpc_json *gpc_json_string(const char *s);   /* NULL gives null */
struct gpc_json *gpc_json_int(int64_t n);
struct gpc_json *gpc_json_number(double x);
struct gpc_json *gpc_json_bool(bool b);
struct gpc_json *gpc_json_null(void);

/* These take ownership of value (NULL counts as null). set replaces; append is
 * for a key that the object does not have, and as quick in a large one. */
void gpc_json_set(struct gpc_json *object, const char *key,
	struct gpc_json *value);
void gpc_json_append(struct gpc_json *object, const char *key,
	struct gpc_json *value);
void gpc_json_add(struct gpc_json *array, struct gpc_json *value);
void gpc_json_set_str(struct gpc_json *object, const char *key, const char *s);
void gpc_json_set_int(struct gpc_json *object, const char *key, int64_t n);
void gpc_json_set_bool(struct gpc_json *object, const char *key, bool b);
void gpc_json_unset(struct gpc_json *object, const char *key);

bool gpc_json_is_object(const struct gpc_json *j);
bool gpc_json_is_array(const struct gpc_json *j);
bool gpc_json_is_string(const struct gpc_json *j);
bool gpc_json_is_number(const struct gpc_json *j);
bool gpc_json_is_bool(const struct gpc_json *j);
bool gpc_json_is_null(const struct gpc_json *j);
/* All borrowed; all NULL-safe. The int forms take only whole numbers within
 * 2^53; anything else gives `otherwise`. */
const struct gpc_json *gpc_json_get(const struct gpc_json *object,
	const char *key);
const char *gpc_json_str(const struct gpc_json *j);          /* or NULL */
int64_t gpc_json_int_or(const struct gpc_json *j, int64_t otherwise);
double gpc_json_number_or(const struct gpc_json *j, double otherwise);
bool gpc_json_bool_or(const struct gpc_json *j, bool otherwise);
const char *gpc_json_get_str(const struct gpc_json *object, const char *key);
int64_t gpc_json_get_int(const struct gpc_json *object, const char *key,
	int64_t otherwise);
/* Members in order: for (m = gpc_json_first(j); m; m = gpc_json_next(m)) */
const struct gpc_json *gpc_json_first(const struct gpc_json *j);
const struct gpc_json *gpc_json_next(const struct gpc_json *member);
const char *gpc_json_key(const struct gpc_json *member);
