/* GetConsoleOutput: Latest for types of the Nitro system; others refuse that. */
#include "provider/aws_console.h"

#include <string.h>

#include "base/encode.h"
#include "base/str.h"

#define KEPT (64 * 1024)        /* what EC2 keeps of a console */

static int get(struct gpc_aws *aws, const char *region, const char *instance,
	bool latest, struct gpc_xml **ret_xml, struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs params = {0};
	const struct gpc_aws_call call = { .region = region,
		.action = "GetConsoleOutput", .params = &params,
		.repeatable = true };

	gpc_pairs_add(&params, "InstanceId", instance);
	if (latest)
		gpc_pairs_add(&params, "Latest", "true");
	return gpc_aws_ec2(aws, &call, ret_xml, err);
}

int gpc_aws_console(struct gpc_aws *aws, const char *region,
	const char *instance, struct gpc_buf *to, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf coded = {0}, text = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	size_t n;
	int r = get(aws, region, instance, true, &xml, err);

	/* "This instance type does not support retrieving the latest console logs" */
	if (r < 0 && r != -GPC_EAUTH && r != -GPC_ENOTFOUND && err && err->http == 400)
		r = get(aws, region, instance, false, &xml, err);
	if (r < 0)
		return r;
	for (const char *c = gpc_xml_text(xml, "output"); *c; c++)
		if (!strchr(" \t\r\n", *c))   /* it may come in lines */
			gpc_buf_addc(&coded, *c);
	r = gpc_unbase64(gpc_buf_str(&coded), coded.len, false, &text, err);
	if (r < 0)
		return gpc_wrap(err, r, "the console of %s", instance);
	n = text.len < KEPT ? text.len : KEPT;
	gpc_buf_add(to, text.data + text.len - n, n);
	return 0;
}
