/* What a machine wrote to its console. */
#pragma once
#include "base/buf.h"
#include "provider/aws_call.h"

/* instance: "i-…". Adds nothing while EC2 has nothing to show. A type that cannot show
 * what is newest shows what it had when it last started or stopped. */
int gpc_aws_console(struct gpc_aws *aws, const char *region,
	const char *instance, struct gpc_buf *to, struct gpc_error *err)
	gpc_must_check;
