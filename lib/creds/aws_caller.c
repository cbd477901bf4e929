/* Who AWS says that the keys belong to: STS answers everybody, whatever they may
 * do otherwise. */
#include "creds/aws_sts.h"

int gpc_aws_whoami(const struct gpc_creds_look *look, struct gpc_identity *i,
	struct gpc_error *err)
{
	gpc_auto(gpc_aws_files) struct gpc_aws_files files = {0};
	gpc_auto(gpc_pairs) struct gpc_pairs form = {0};
	struct gpc_aws_profile profile;
	const struct gpc_aws_chain chain = {
		.look = look, .files = &files, .profile = &profile,
	};
	const struct gpc_aws_sts how = {
		.chain = &chain, .by = i, .action = "GetCallerIdentity",
		.where = i->source,
	};
	const char *from;
	int r = gpc_aws_files_load(&files, err);

	if (r)
		return r;
	gpc_aws_profile_find(&files, gpc_aws_profile_name(look->settings,
		&from), &profile);
	return gpc_aws_sts_call(&how, &form, i, err);
}
