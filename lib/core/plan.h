/* What submitting a spec would do: which offer, until when, for how much. */
#pragma once
#include <stdint.h>

#include "base/map.h"
#include "core/session.h"
#include "model/offer.h"
#include "model/spec.h"

enum gpc_end_by { GPC_END_NEVER, GPC_END_TIME, GPC_END_LIFETIME, GPC_END_COST };
struct gpc_plan {
	struct gpc_offers offers;     /* all that were asked, fitting ones first */
	size_t n_fitting;             /* 0 never comes with success */
	int num_nodes;
	struct gpc_money hourly;      /* of all nodes of offers.v[0], with all parts */
	struct gpc_bill hourly_bill;  /* by part; empty: free */
	int64_t life_ms;              /* lifetime of a node; 0 = none */
	enum gpc_end_by end_by;       /* what bounds it */
	struct gpc_money at_most;     /* worst case; "" = no bound */
	struct gpc_bill at_most_bill; /* by part, as above */
	bool free;                    /* costs nothing by the hour */
};
void gpc_plan_clear(struct gpc_plan *p);
GPC_CLEANUP_VALUE(gpc_plan);
/* Offers of the spec's candidates (any_of: cheapest first; ordered: in order).
 * GPC_ECAPACITY when nothing fits, with each provider's why_not in the message
 * and a hint; GPC_EOVERCAP when only max_hourly_cost or limits.cost is in the
 * way. spent: what the job has cost so far. */
int gpc_plan_make(struct gpc_session *s, const struct gpc_spec *spec,
	struct gpc_money spent, int64_t ran_ms, struct gpc_plan *ret_p,
	struct gpc_error *err) gpc_must_check;
/* The same without offers that were refused a moment ago: refused maps the
 * keys of gpc_plan_offer_key, gpc_plan_limit_key and gpc_plan_region_key to why. */
int gpc_plan_make_without(struct gpc_session *s, const struct gpc_spec *spec,
	struct gpc_money spent, int64_t ran_ms, const struct gpc_pairs *refused,
	struct gpc_plan *ret_p, struct gpc_error *err) gpc_must_check;
#define GPC_PLAN_REFUSED "refused"     /* in the rest of an offer so refused */
/* Names what can be had or not: provider, place, type and market. Owned. */
char *gpc_plan_offer_key(const struct gpc_offer *o);
/* What one node of it costs an hour, with all parts. */
struct gpc_money gpc_plan_offer_hourly(const struct gpc_offer *o);
/* The same for all that one limit of the account bounds: of a region and market, and
 * of the group that offer->rest names as "limit", if any. Owned. */
char *gpc_plan_limit_key(const struct gpc_offer *o);
/* The same for all of a provider's region. Owned. */
char *gpc_plan_region_key(const struct gpc_offer *o);
/* Which of gpc_spec_candidate's alternatives a plan's offer is for. */
size_t gpc_plan_candidate(const struct gpc_offer *o);
/* The architectures of what fits, by GPC_ARCH_BIT. */
unsigned gpc_plan_archs(const struct gpc_plan *p);
/* The ask of one candidate, but for archs. */
void gpc_plan_ask(const struct gpc_spec *spec, const struct gpc_resources *r,
	struct gpc_ask *ret_ask);
