/* JSON trees by cJSON, whose names end here: struct gpc_json is its cJSON. Text
 * passes the strict scan first and the tree a second look (duplicate members,
 * numbers beyond a double), so that what comes out has one meaning only.
 */
#include "dep/json.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/map.h"
#include "base/str.h"
#include "dep/json_check.h"

#define EXACT 9007199254740992.0        /* 2^53 */

static cJSON *in(struct gpc_json *j)
{
	return (cJSON *)j;
}

static const cJSON *view(const struct gpc_json *j)
{
	return (const cJSON *)j;
}

/* cJSON returns NULL only when memory is gone; see base/mem.h. */
static struct gpc_json *made(cJSON *c)
{
	if (!c)
		abort();
	return (struct gpc_json *)c;
}

static int fail_twice(const char *key, struct gpc_error *err)
{
	gpc_autostr *shown = gpc_str_printable(key, strnlen(key, 80));

	return gpc_fail(err, GPC_EPROTO,
		"JSON with the member \"%s\" twice in one object", shown);
}

/* Few members are compared in pairs, which needs no memory; many go through
 * a map, so that hostile input costs no square. */
static int check_members(const cJSON *object, struct gpc_error *err)
{
	gpc_auto(gpc_map) struct gpc_map seen = {0};
	size_t n = 0;

	for (const cJSON *m = object->child; m; m = m->next)
		n++;
	for (const cJSON *m = object->child; m; m = m->next) {
		if (n > 16) {
			if (gpc_map_has(&seen, m->string))
				return fail_twice(m->string, err);
			gpc_map_set(&seen, m->string, NULL);
			continue;
		}
		for (const cJSON *k = object->child; k != m; k = k->next)
			if (strcmp(k->string, m->string) == 0)
				return fail_twice(m->string, err);
	}
	return 0;
}

/* Depth is bounded by the scan before. */
static int check_tree(const cJSON *c, struct gpc_error *err)
{
	int r = 0;

	if (cJSON_IsNumber(c) && !isfinite(c->valuedouble))
		return gpc_fail(err, GPC_EPROTO,
			"JSON with a number that is too large");
	if (cJSON_IsObject(c))
		r = check_members(c, err);
	for (const cJSON *m = c->child; m && r == 0; m = m->next)
		r = check_tree(m, err);
	return r;
}

int gpc_json_parse(const char *text, size_t n, struct gpc_json **ret_j,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = NULL;
	int r = gpc_json_check(text, n, err);
	cJSON *parsed;

	if (r < 0)
		return r;
	parsed = cJSON_ParseWithLength(text, n);
	if (!parsed)            /* the text itself was checked */
		return gpc_fail_sys(err, ENOMEM, "JSON of %zu bytes", n);
	j = made(parsed);
	r = check_tree(view(j), err);
	if (r == 0)
		*ret_j = gpc_steal(&j);
	return r;
}

void gpc_json_free(struct gpc_json *j)
{
	cJSON_Delete(in(j));
}

struct gpc_json *gpc_json_copy(const struct gpc_json *j)
{
	return j ? made(cJSON_Duplicate(view(j), true)) : NULL;
}

struct gpc_json *gpc_json_object(void)
{
	return made(cJSON_CreateObject());
}

struct gpc_json *gpc_json_array(void)
{
	return made(cJSON_CreateArray());
}

struct gpc_json *gpc_json_string(const char *s)
{
	return s ? made(cJSON_CreateString(s)) : gpc_json_null();
}

struct gpc_json *gpc_json_strings(const struct gpc_strv *s)
{
	struct gpc_json *j = gpc_json_array();

	for (size_t i = 0; i < s->n; i++)
		gpc_json_add(j, gpc_json_string(s->v[i]));
	return j;
}

struct gpc_json *gpc_json_int(int64_t n)
{
	return made(cJSON_CreateNumber((double)n));
}

struct gpc_json *gpc_json_number(double x)
{
	return made(cJSON_CreateNumber(x));
}

struct gpc_json *gpc_json_bool(bool b)
{
	return made(cJSON_CreateBool(b));
}

struct gpc_json *gpc_json_null(void)
{
	return made(cJSON_CreateNull());
}

void gpc_json_set(struct gpc_json *object, const char *key,
	struct gpc_json *value)
{
	bool done;

	if (!value)
		value = gpc_json_null();
	if (cJSON_GetObjectItemCaseSensitive(view(object), key))
		done = cJSON_ReplaceItemInObjectCaseSensitive(in(object), key,
			in(value));
	else
		done = cJSON_AddItemToObject(in(object), key, in(value));
	if (!done)
		abort();
}

void gpc_json_add(struct gpc_json *array, struct gpc_json *value)
{
	if (!value)
		value = gpc_json_null();
	if (!cJSON_AddItemToArray(in(array), in(value)))
		abort();
}

void gpc_json_append(struct gpc_json *object, const char *key,
	struct gpc_json *value)
{
	if (!value)
		value = gpc_json_null();
	if (!cJSON_AddItemToObject(in(object), key, in(value)))
		abort();
}

void gpc_json_set_str(struct gpc_json *object, const char *key, const char *s)
{
	gpc_json_set(object, key, gpc_json_string(s));
}

void gpc_json_set_int(struct gpc_json *object, const char *key, int64_t n)
{
	gpc_json_set(object, key, gpc_json_int(n));
}

void gpc_json_set_bool(struct gpc_json *object, const char *key, bool b)
{
	gpc_json_set(object, key, gpc_json_bool(b));
}

void gpc_json_unset(struct gpc_json *object, const char *key)
{
	cJSON_DeleteItemFromObjectCaseSensitive(in(object), key);
}

bool gpc_json_is_object(const struct gpc_json *j)
{
	return cJSON_IsObject(view(j));
}

bool gpc_json_is_array(const struct gpc_json *j)
{
	return cJSON_IsArray(view(j));
}

bool gpc_json_is_string(const struct gpc_json *j)
{
	return cJSON_IsString(view(j));
}

bool gpc_json_is_number(const struct gpc_json *j)
{
	return cJSON_IsNumber(view(j));
}

bool gpc_json_is_bool(const struct gpc_json *j)
{
	return cJSON_IsBool(view(j));
}

bool gpc_json_is_null(const struct gpc_json *j)
{
	return cJSON_IsNull(view(j));
}

const struct gpc_json *gpc_json_get(const struct gpc_json *object,
	const char *key)
{
	if (!gpc_json_is_object(object))
		return NULL;
	return (const struct gpc_json *)cJSON_GetObjectItemCaseSensitive(
		view(object), key);
}

const char *gpc_json_str(const struct gpc_json *j)
{
	return gpc_json_is_string(j) ? view(j)->valuestring : NULL;
}

int64_t gpc_json_int_or(const struct gpc_json *j, int64_t otherwise)
{
	double x = gpc_json_number_or(j, 0.5);

	if (x < -EXACT || x > EXACT || x != floor(x))
		return otherwise;
	return (int64_t)x;
}

double gpc_json_number_or(const struct gpc_json *j, double otherwise)
{
	return gpc_json_is_number(j) ? view(j)->valuedouble : otherwise;
}

bool gpc_json_bool_or(const struct gpc_json *j, bool otherwise)
{
	return gpc_json_is_bool(j) ? cJSON_IsTrue(view(j)) : otherwise;
}

const char *gpc_json_get_str(const struct gpc_json *object, const char *key)
{
	return gpc_json_str(gpc_json_get(object, key));
}

int64_t gpc_json_get_int(const struct gpc_json *object, const char *key,
	int64_t otherwise)
{
	return gpc_json_int_or(gpc_json_get(object, key), otherwise);
}

const struct gpc_json *gpc_json_first(const struct gpc_json *j)
{
	if (!gpc_json_is_object(j) && !gpc_json_is_array(j))
		return NULL;
	return (const struct gpc_json *)view(j)->child;
}

const struct gpc_json *gpc_json_next(const struct gpc_json *member)
{
	return member ? (const struct gpc_json *)view(member)->next : NULL;
}

const char *gpc_json_key(const struct gpc_json *member)
{
	return member ? view(member)->string : NULL;
}
