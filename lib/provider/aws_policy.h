/* Policy documents of IAM and S3 (version 2012-10-17): who may do what. */
#pragma once
#include "dep/json.h"

/* An array of these texts, ended by NULL. */
struct gpc_json *gpc_aws_texts(const char *first, ...)
	__attribute__((sentinel));
/* {"OPERATOR": {"KEY": value}}, added to a condition that may have others. Takes
 * value. */
void gpc_aws_condition(struct gpc_json *to, const char *operator,
	const char *key, struct gpc_json *value);

/* Takes its parts; principal and condition may be NULL. sid: letters and digits. */
struct gpc_aws_statement {
	const char *sid;
	bool deny;
	struct gpc_json *principal, *actions, *resources, *condition;
};
struct gpc_json *gpc_aws_policy(void);
void gpc_aws_policy_add(struct gpc_json *policy,
	const struct gpc_aws_statement *s);
/* Text of a name inside a resource or a pattern: what would be a wildcard or a variable
 * there stands for itself. Owned. */
char *gpc_aws_policy_literal(const char *text);

/* Whether both mean the same: services give documents back with keys in another
 * order, and a list of one as its only text. */
bool gpc_aws_policy_equal(const struct gpc_json *a, const struct gpc_json *b);
/* Statements whose Sid starts with `start`, as an array of copies; the others. */
struct gpc_json *gpc_aws_policy_pick(const struct gpc_json *policy,
	const char *start, bool others);
