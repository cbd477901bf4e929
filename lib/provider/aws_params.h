/* A launch in the words of EC2's query protocol. */
#pragma once
#include "base/map.h"
#include "model/node.h"

/* TagSpecification.1 for another kind of resource of the same job. */
void gpc_aws_params_tags(const struct gpc_launch *l, const char *kind,
	struct gpc_pairs *to);
/* The parameters of RunInstances, of a launch that was prepared (aws_launch.h). They
 * follow from the launch alone: a repeat with its token has to be the same. */
int gpc_aws_params_launch(const struct gpc_launch *l, struct gpc_pairs *to,
	struct gpc_error *err) gpc_must_check;
/* Of these what makes one machine: all but how many, which zone and which token. Each
 * name begins with prefix: "" for RunInstances, "LaunchTemplateData." for
 * CreateLaunchTemplate, whose names are else the same. */
int gpc_aws_params_machine(const struct gpc_launch *l, const char *prefix,
	struct gpc_pairs *to, struct gpc_error *err) gpc_must_check;
/* "_" for what AWS does not take in a tag, though it takes nearly all. Owned. */
char *gpc_aws_tag_value(const char *text);
/* TagSpecification.1: these tags on one kind of resource. */
void gpc_aws_params_tag_list(const char *kind, const struct gpc_pairs *tags,
	struct gpc_pairs *to);
