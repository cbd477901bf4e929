/* Opening a session is the same for every command that needs the store, so the
 * configuration's keys meet the core in this one place.
 */
#include "cmd/session_open.h"

#include <stdlib.h>

#include "core/supervise.h"

/* One that ends with its process holds nothing for the next command, nor for
 * the supervisor and the node, which are other processes. */
static int check_store(const char *url, struct gpc_error *err)
{
	if (!url || !gpc_starts_with(url, "mem:"))
		return 0;
	gpc_fail(err, GPC_EUSAGE, "%s lives in one process only, which is of "
		"use in tests", url);
	gpc_hint(err, "name a folder: --store file:///PATH");
	return -GPC_EUSAGE;
}

int gpc_cmd_session(struct gpc_cmd *c, enum gpc_cmd_store how,
	struct gpc_session **ret_s, struct gpc_error *err)
{
	struct gpc_session_options options = {
		.log = &c->log,
		.cancel = c->cancel,
		.store_url = c->store_url,
		.ca_file = c->ca_file,
		.owner = gpc_config_str(&c->config, GPC_CONFIG_OWNER),
		.create_store = how == GPC_STORE_MAKE,
		.no_store = how == GPC_STORE_MAY_LACK ||
			how == GPC_STORE_MAY_BE_KNOWN ||
			how == GPC_STORE_MAY_FAIL,
		.unseen = how == GPC_STORE_UNSEEN,
		.id_suffices = how == GPC_STORE_MAY_BE_KNOWN,
		.tags_suffice = how == GPC_STORE_MAY_FAIL,
		.local_price = gpc_config_money(&c->config,
			GPC_CONFIG_LOCAL_PRICE_PER_HOUR),
		.local_user_home = gpc_config_enum(&c->config,
			GPC_CONFIG_LOCAL_HOME) == GPC_HOME_USER,
		.aws_regions = gpc_config_str(&c->config, GPC_CONFIG_AWS_REGIONS),
		.aws_cloudwatch = gpc_config_str(&c->config,
			GPC_CONFIG_AWS_CLOUDWATCH),
		.aws_reservations = gpc_config_str(&c->config,
			GPC_CONFIG_AWS_RESERVATIONS),
	};
	int r = check_store(c->store_url, err);

	if (r == 0)
		r = gpc_session_open(&options, ret_s, err);

	if (r == -GPC_ENOTFOUND && how == GPC_STORE_MUST_BE && err &&
		!err->hint[0])
		gpc_hint(err, "the first `gpucloud submit` makes the store; "
			"--store or GPUCLOUD_STORE names another one");
	return r;
}

const char *gpc_cmd_own_job(void)
{
	const char *job = getenv("GPUCLOUD_JOB_ID");

	return job && *job ? job : NULL;
}

const char *gpc_cmd_job_word(const char *word)
{
	if (word)
		return word;
	return gpc_cmd_own_job() ? gpc_cmd_own_job() : "@";
}

bool gpc_cmd_inside_job(void)
{
	return gpc_cmd_own_job() != NULL;
}

void gpc_cmd_ensure_supervisor(struct gpc_cmd *c, struct gpc_session *s)
{
	struct gpc_error err = {0};

	if (gpc_cmd_inside_job())
		return;
	if (gpc_supervisor_ensure(s, &err) < 0)
		gpc_log(&c->log, GPC_WARN, "no supervisor: %s", err.msg);
}
