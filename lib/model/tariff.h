/* What machines cost: a price for each part of one (the machine itself, its disk, its
 * address), and the time that is counted. */
#pragma once
#include <stdint.h>

#include "base/mem.h"
#include "base/money.h"
#include "base/vec.h"
#include "dep/bind.h"

#define GPC_TARIFF_MACHINE "machine"
#define GPC_HOUR_MS ((int64_t)3600 * 1000)
#define GPC_MONTH_MS (730 * GPC_HOUR_MS)    /* as clouds count one */

struct gpc_tariff_part {
	char *name;
	struct gpc_money price;     /* for per_ms of time */
	int64_t per_ms;             /* not over a month; 0 = an hour */
};
struct gpc_tariff {
	int64_t step_ms;            /* a step that is begun is paid; 0 = exact time */
	int64_t least_ms;           /* the shortest time that is paid */
	GPC_VEC(struct gpc_tariff_part) parts;
};
extern const struct gpc_bind gpc_tariff_fields[];
void gpc_tariff_clear(struct gpc_tariff *t);
GPC_CLEANUP_VALUE(gpc_tariff);
void gpc_tariff_add(struct gpc_tariff *t, const char *name,
	struct gpc_money price, int64_t per_ms);
/* All parts for an hour, without the shortest time; rounded up. */
struct gpc_money gpc_tariff_hourly(const struct gpc_tariff *t);

/* What was or may be paid, by part. */
struct gpc_bill_part { char *name; struct gpc_money sum; };
struct gpc_bill { struct gpc_bill_part *v; size_t n, cap; };
extern const struct gpc_bind gpc_bill_part_fields[];
void gpc_bill_clear(struct gpc_bill *b);
GPC_CLEANUP_VALUE(gpc_bill);
/* A part that is in another currency than before stays as it is: currencies are
 * never converted. */
void gpc_bill_add(struct gpc_bill *b, const char *name, struct gpc_money sum);

/* What n machines cost that are there for so long, each part rounded up for each
 * machine. machine_free: the machine itself is not charged, what belongs to it is.
 * Adds the parts to `to`, which may be NULL. */
struct gpc_money gpc_tariff_charge(const struct gpc_tariff *t, int64_t ms, int n,
	bool machine_free, struct gpc_bill *to);
