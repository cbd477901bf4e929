/* What a plan says to people and programs alike, counted once. */
#include "cmd/plan_facts.h"

#include <string.h>

#include "base/time.h"

static const char *end_cause(enum gpc_end_by by)
{
	switch (by) {
	case GPC_END_TIME: return "limits.time, setup and grace";
	case GPC_END_LIFETIME: return "a machine's default lifetime";
	case GPC_END_COST: return "what limits.cost buys";
	case GPC_END_NEVER: break;
	}
	return "";
}

int64_t gpc_plan_latest_end(const struct gpc_plan_text *t, const char **ret_cause)
{
	int64_t life = t->plan->life_ms, deadline = t->spec->limits.deadline_ms;
	int64_t end = life > 0 ? gpc_wall_ms() + life : 0;

	*ret_cause = end_cause(t->plan->end_by);
	if (!deadline || (end && end <= deadline))
		return end;
	*ret_cause = "limits.deadline";
	return deadline;
}

size_t gpc_plan_biggest(const struct gpc_tree *t, size_t ret_at[GPC_PLAN_BIGGEST])
{
	size_t n = 0;

	for (size_t i = 0; i < t->entries.n; i++) {
		size_t k = n;

		if (t->entries.v[i].kind != GPC_ENTRY_FILE)
			continue;
		while (k > 0 && t->entries.v[ret_at[k - 1]].size <
			t->entries.v[i].size) {
			if (k < GPC_PLAN_BIGGEST)
				ret_at[k] = ret_at[k - 1];
			k--;
		}
		if (k < GPC_PLAN_BIGGEST)
			ret_at[k] = i;
		if (n < GPC_PLAN_BIGGEST)
			n++;
	}
	return n;
}

struct gpc_plan_rule *gpc_plan_rules(const struct gpc_tree *t, size_t *ret_n)
{
	struct gpc_plan_rule *rules = NULL;
	size_t n = 0;

	for (size_t i = 0; i < t->excluded.n; i++) {
		const char *text = t->excluded.v[i].rule;
		size_t k = 0;

		while (k < n && !gpc_eq(rules[k].text, text))
			k++;
		if (k == n) {
			rules = gpc_grow(rules, n + 1, sizeof(*rules));
			rules[n++] = (struct gpc_plan_rule){text, 0};
		}
		rules[k].n++;
		for (; k > 0 && rules[k].n > rules[k - 1].n; k--) {
			struct gpc_plan_rule swap = rules[k];
			rules[k] = rules[k - 1];
			rules[k - 1] = swap;
		}
	}
	*ret_n = n;
	return rules;
}
