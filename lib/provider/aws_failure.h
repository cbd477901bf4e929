/* What the error codes of EC2 mean for who buys machines. */
#pragma once
#include "net/net.h"

/* Facts: EC2's errors by their Code (AWS API reference, "Error codes"). What stands in
 * no row: a capacity problem of this offer when EC2 says 5xx of a launch it refused,
 * else a failure of this request that the next offer may not have. */
struct gpc_aws_failure {
	enum gpc_net_verdict verdict;   /* whether the same call is worth repeating */
	enum gpc_code code;             /* see provider.h */
	const char *hint;               /* what a person can do; or NULL */
};
/* stateReason of an instance that went from pending to terminated: what a create that
 * fails so would be; GPC_OK for an end that says nothing of its kind. */
enum gpc_code gpc_aws_stillborn(const char *code);
/* Whether these words are only said of one that never ran, which is not billed. */
bool gpc_aws_never_ran(const char *code, const char *message);
/* code, message: as told; message may be "". Never fails. */
struct gpc_aws_failure gpc_aws_failure_of(const char *code, const char *message,
	int status);
/* Whether a word is such a code, which others quote in their texts. */
bool gpc_aws_failure_known(const char *code);
