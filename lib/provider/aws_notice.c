/* See aws_notice.h. */
#include "provider/aws_notice.h"

#include <string.h>

#include "base/str.h"
#include "base/time.h"

#define NOTICE "/latest/meta-data/spot/instance-action"

/* {"action": "terminate", "time": "2026-01-01T00:00:00Z"} */
static int read_notice(const char *text, int64_t *ret_at_ms,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *j = NULL;
	const char *at;
	int r = gpc_json_parse(text, strlen(text), &j, err);

	if (r < 0)
		return r;
	at = gpc_json_get_str(j, "time");
	if (!at)
		return gpc_fail(err, GPC_EPROTO, "the notice names no time");
	return gpc_parse_rfc3339(at, ret_at_ms, err);
}

int gpc_aws_notice(struct gpc_aws *aws, int64_t *ret_at_ms, struct gpc_error *err)
{
	gpc_autostr *text = NULL;
	int r = gpc_creds_machine(aws->creds, NOTICE, &text, err);

	*ret_at_ms = 0;
	if (r == 0 && text)
		r = read_notice(text, ret_at_ms, err);
	return gpc_wrap(err, r, "the metadata service");
}
