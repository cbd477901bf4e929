/* The two of bind.h that need no JSON text: freeing what a table names, and a
 * deep copy. The copy is direct, so it is exact and cannot fail.
 */
#include <string.h>

#include "base/map.h"
#include "base/money.h"
#include "base/str.h"
#include "dep/bind.h"

/* What every GPC_VEC looks like. */
struct any_vec { void *v; size_t n, cap; };

static void clear_vec(const struct gpc_bind *t, struct any_vec *vec)
{
	for (size_t i = 0; i < vec->n; i++)
		gpc_bind_clear(t->sub, (char *)vec->v + i * t->sub_size);
	free(vec->v);
	*vec = (struct any_vec){0};
}

static void clear_member(const struct gpc_bind *t, void *at)
{
	switch (t->kind) {
	case GPC_BIND_STR:
		gpc_set_str(at, NULL);
		break;
	case GPC_BIND_INT:
	case GPC_BIND_ENUM:
		*(int *)at = 0;
		break;
	case GPC_BIND_I64:
	case GPC_BIND_I53:
		*(int64_t *)at = 0;
		break;
	case GPC_BIND_BOOL:
		*(bool *)at = false;
		break;
	case GPC_BIND_MONEY:
		*(struct gpc_money *)at = (struct gpc_money){0};
		break;
	case GPC_BIND_STRV:
		gpc_strv_clear(at);
		break;
	case GPC_BIND_PAIRS:
		gpc_pairs_clear(at);
		break;
	case GPC_BIND_OBJECT:
		gpc_bind_clear(t->sub, at);
		break;
	case GPC_BIND_VEC:
		clear_vec(t, at);
		break;
	case GPC_BIND_JSON:
	case GPC_BIND_REST:
		gpc_json_free(*(struct gpc_json **)at);
		*(struct gpc_json **)at = NULL;
		break;
	case GPC_BIND_END:
		break;
	}
}

void gpc_bind_clear(const struct gpc_bind *table, void *object)
{
	if (!object)
		return;
	for (const struct gpc_bind *t = table; t->kind != GPC_BIND_END; t++)
		clear_member(t, (char *)object + t->offset);
}

static void copy_vec(const struct gpc_bind *t, struct any_vec *to,
	const struct any_vec *from)
{
	if (from->n == 0)
		return;
	to->v = gpc_array(from->n, t->sub_size);
	to->n = to->cap = from->n;
	for (size_t i = 0; i < from->n; i++)
		gpc_bind_copy(t->sub, (char *)to->v + i * t->sub_size,
			(const char *)from->v + i * t->sub_size);
}

static void copy_member(const struct gpc_bind *t, void *to, const void *from)
{
	switch (t->kind) {
	case GPC_BIND_STR:
		gpc_set_str(to, *(char *const *)from);
		break;
	case GPC_BIND_INT:
	case GPC_BIND_ENUM:
		memcpy(to, from, sizeof(int));
		break;
	case GPC_BIND_I64:
	case GPC_BIND_I53:
		memcpy(to, from, sizeof(int64_t));
		break;
	case GPC_BIND_BOOL:
		memcpy(to, from, sizeof(bool));
		break;
	case GPC_BIND_MONEY:
		memcpy(to, from, sizeof(struct gpc_money));
		break;
	case GPC_BIND_STRV:
		gpc_strv_copy(to, from);
		break;
	case GPC_BIND_PAIRS:
		gpc_pairs_copy(to, from);
		break;
	case GPC_BIND_OBJECT:
		gpc_bind_copy(t->sub, to, from);
		break;
	case GPC_BIND_VEC:
		copy_vec(t, to, from);
		break;
	case GPC_BIND_JSON:
	case GPC_BIND_REST:
		*(struct gpc_json **)to =
			gpc_json_copy(*(struct gpc_json *const *)from);
		break;
	case GPC_BIND_END:
		break;
	}
}

void gpc_bind_copy(const struct gpc_bind *table, void *to, const void *from)
{
	if (to == from)
		return;
	gpc_bind_clear(table, to);
	for (const struct gpc_bind *t = table; t->kind != GPC_BIND_END; t++)
		copy_member(t, (char *)to + t->offset,
			(const char *)from + t->offset);
}
