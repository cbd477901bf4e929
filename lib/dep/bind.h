/* One table per struct, used to read it from JSON, to write it, and to free
 * it. Errors carry the path ("$.nodes[2].rank: expected a number"). Members
 * that the table does not name are kept in a GPC_BIND_REST member, if the
 * table ends in one, and written back; otherwise they are ignored. */
#pragma once
#include <stddef.h>

#include "base/err.h"
#include "dep/json.h"

enum gpc_bind_kind {
	GPC_BIND_STR,      /* char * */
	GPC_BIND_INT,      /* int */
	GPC_BIND_I64,      /* int64_t; beyond 2^53 as a string of digits */
	GPC_BIND_I53,      /* int64_t within 2^53: times, counts; sums and
	                    * differences of a few of them do not overflow */
	GPC_BIND_BOOL,     /* bool */
	GPC_BIND_ENUM,     /* int-sized enum, by names[] (NULL-terminated) */
	GPC_BIND_MONEY,    /* struct gpc_money, as {"amount":"1.25","currency":"USD"} */
	GPC_BIND_STRV,     /* struct gpc_strv, as an array of strings */
	GPC_BIND_PAIRS,    /* struct gpc_pairs, as an object of string or null */
	GPC_BIND_OBJECT,   /* a struct in place, by sub */
	GPC_BIND_VEC,      /* GPC_VEC(struct), by sub and sub_size */
	GPC_BIND_JSON,     /* struct gpc_json *: any value, as it is */
	GPC_BIND_REST,     /* struct gpc_json *: an object of all other members */
	GPC_BIND_END,
};
#define GPC_BIND_MAX_ELEMENTS 100000   /* of one array of structs */
enum { GPC_BIND_REQUIRED = 1, GPC_BIND_KEEP_EMPTY = 2 };

struct gpc_bind {
	const char *key;
	enum gpc_bind_kind kind;
	size_t offset;
	unsigned flags;    /* an empty member (NULL, 0, false, no element) is not
	                    * written unless KEEP_EMPTY or REQUIRED */
	const char *const *names;
	const struct gpc_bind *sub;
	size_t sub_size;
};

/* GPC_BIND(gpc_node, rank, INT) or with more members: (..., INT, .flags = x). */
#define GPC_BIND(type, field, ...) \
	{ .key = #field, .offset = offsetof(struct type, field), \
	  .kind = GPC_BIND_##__VA_ARGS__ }
#define GPC_BIND_LAST { .kind = GPC_BIND_END }

/* *object must be all zero; on failure it is cleared again. */
int gpc_bind_read(const struct gpc_json *j, const struct gpc_bind *table,
	void *ret_object, struct gpc_error *err) gpc_must_check;
int gpc_bind_parse(const char *text, size_t n, const struct gpc_bind *table,
	void *ret_object, struct gpc_error *err) gpc_must_check;
struct gpc_json *gpc_bind_write(const struct gpc_bind *table,
	const void *object);
void gpc_bind_clear(const struct gpc_bind *table, void *object);
/* A deep copy; what `to` held before is cleared. */
void gpc_bind_copy(const struct gpc_bind *table, void *to, const void *from);
