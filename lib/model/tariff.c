/* Tariffs and bills as plain data and exact sums. */
#include "model/tariff.h"

#include <string.h>

#include "base/str.h"

static const struct gpc_bind part_fields[] = {
	GPC_BIND(gpc_tariff_part, name, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_tariff_part, price, MONEY, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_tariff_part, per_ms, I53),
	GPC_BIND_LAST
};
const struct gpc_bind gpc_tariff_fields[] = {
	GPC_BIND(gpc_tariff, step_ms, I53),
	GPC_BIND(gpc_tariff, least_ms, I53),
	GPC_BIND(gpc_tariff, parts, VEC, .sub = part_fields,
		.sub_size = sizeof(struct gpc_tariff_part)),
	GPC_BIND_LAST
};
const struct gpc_bind gpc_bill_part_fields[] = {
	GPC_BIND(gpc_bill_part, name, STR, .flags = GPC_BIND_REQUIRED),
	GPC_BIND(gpc_bill_part, sum, MONEY),
	GPC_BIND_LAST
};

/* A mixed sum would be worse than a short one. */
static void add(struct gpc_money *to, struct gpc_money m)
{
	if (gpc_money_add(to, m, NULL) < 0)
		return;
}

void gpc_tariff_clear(struct gpc_tariff *t)
{
	gpc_bind_clear(gpc_tariff_fields, t);
}

void gpc_tariff_add(struct gpc_tariff *t, const char *name,
	struct gpc_money price, int64_t per_ms)
{
	struct gpc_tariff_part *p = gpc_vec_push(&t->parts);

	p->name = gpc_strdup(name);
	p->price = price;
	p->per_ms = per_ms;
}

static struct gpc_money part_for(const struct gpc_tariff_part *p, int64_t ms)
{
	return gpc_money_per(p->price, p->per_ms > 0 ? p->per_ms : GPC_HOUR_MS,
		ms);
}

struct gpc_money gpc_tariff_hourly(const struct gpc_tariff *t)
{
	struct gpc_money sum = {0};

	gpc_vec_each(p, &t->parts)
		add(&sum, part_for(p, GPC_HOUR_MS));
	return sum;
}

/* --- bills ------------------------------------------------------------------ */

void gpc_bill_clear(struct gpc_bill *b)
{
	gpc_vec_each(p, b)
		free(p->name);
	gpc_vec_free(b);
}

void gpc_bill_add(struct gpc_bill *b, const char *name, struct gpc_money sum)
{
	struct gpc_bill_part *to;

	gpc_vec_each(p, b) {
		if (gpc_eq(p->name, name)) {
			add(&p->sum, sum);
			return;
		}
	}
	to = gpc_vec_push(b);
	to->name = gpc_strdup(name);
	to->sum = sum;
}

/* Steps that were begun, and never less than the shortest time. */
static int64_t paid_ms(const struct gpc_tariff *t, int64_t ms)
{
	int64_t over;

	if (ms < 0)
		ms = 0;
	over = t->step_ms > 0 ? ms % t->step_ms : 0;
	if (over && ms < INT64_MAX - t->step_ms)
		ms += t->step_ms - over;
	return ms < t->least_ms ? t->least_ms : ms;
}

struct gpc_money gpc_tariff_charge(const struct gpc_tariff *t, int64_t ms, int n,
	bool machine_free, struct gpc_bill *to)
{
	struct gpc_money sum = {0};

	ms = paid_ms(t, ms);
	gpc_vec_each(p, &t->parts) {
		struct gpc_money part = part_for(p, ms);

		if (machine_free && gpc_eq(p->name, GPC_TARIFF_MACHINE))
			part.micros = 0;
		part.micros = n > 0 && part.micros > INT64_MAX / n ? INT64_MAX :
			part.micros * n;
		add(&sum, part);
		if (to)
			gpc_bill_add(to, p->name, part);
	}
	return sum;
}
