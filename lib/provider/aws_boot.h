/* What a machine of EC2 is given to begin with: its user data. */
#pragma once
#include "model/node.h"

#define GPC_AWS_USER_DATA_MAX 16384     /* bytes, before Base64; EC2's limit */

/* cloud-init's MIME parts: the timer that ends the machine, then the script that gets
 * the bundle with the machine's own role and runs the node. Nothing in it grants
 * access. l->rest has the bundle: {url, region, sha256}, and in `ca` whom else the
 * store is believed by: certificates, as PEM. ret_text is owned; the same
 * launch gives the same bytes. GPC_ECONFIG: it would be too long. */
int gpc_aws_user_data(const struct gpc_launch *l, char **ret_text,
	struct gpc_error *err) gpc_must_check;
