/* The table of EC2's error codes: one row for each of the fact sheet. */
#include "test.h"

#include "provider/aws_failure.h"

/* What becomes of the purchase. */
static const struct {
	const char *code, *message;
	int status;
	enum gpc_net_verdict verdict;
	enum gpc_code is;
} rows[] = {
	/* The next zone, type, region or provider. */
	{"InsufficientInstanceCapacity", "", 500, GPC_NET_FAILED, GPC_ECAPACITY},
	{"InsufficientHostCapacity", "", 500, GPC_NET_FAILED, GPC_ECAPACITY},
	{"InsufficientReservedInstanceCapacity", "", 400, GPC_NET_FAILED,
		GPC_ECAPACITY},
	{"InsufficientCapacity", "", 500, GPC_NET_FAILED, GPC_ECAPACITY},
	{"UnfulfillableCapacity", "", 400, GPC_NET_FAILED, GPC_ECAPACITY},
	{"ReservationCapacityExceeded", "", 400, GPC_NET_FAILED, GPC_ECAPACITY},
	{"Unsupported", "Your requested instance type (p5.48xlarge) is not supported in "
		"your requested Availability Zone (us-east-1e).", 400,
		GPC_NET_FAILED, GPC_ECAPACITY},
	{"InvalidFleetConfiguration", "", 400, GPC_NET_FAILED, GPC_ECAPACITY},
	{"InsufficientFreeAddressesInSubnet", "", 400, GPC_NET_FAILED,
		GPC_ECAPACITY},
	{"SpotMaxPriceTooLow", "", 400, GPC_NET_FAILED, GPC_ECAPACITY},
	/* The next region or market. */
	{"MaxSpotInstanceCountExceeded", "", 400, GPC_NET_FAILED, GPC_EQUOTA},
	{"VcpuLimitExceeded", "", 400, GPC_NET_FAILED, GPC_EQUOTA},
	{"InstanceLimitExceeded", "", 400, GPC_NET_FAILED, GPC_EQUOTA},
	{"MaxFleetCountExceeded", "", 400, GPC_NET_FAILED, GPC_EQUOTA},
	{"VolumeLimitExceeded", "", 400, GPC_NET_FAILED, GPC_EQUOTA},
	{"AddressLimitExceeded", "", 400, GPC_NET_FAILED, GPC_EQUOTA},
	{"RulesPerSecurityGroupLimitExceeded", "", 400, GPC_NET_FAILED, GPC_EQUOTA},
	{"SecurityGroupLimitExceeded", "", 400, GPC_NET_FAILED, GPC_EQUOTA},
	{"SecurityGroupsPerInterfaceLimitExceeded", "", 400, GPC_NET_FAILED,
		GPC_EQUOTA},
	{"SecurityGroupsPerInstanceLimitExceeded", "", 400, GPC_NET_FAILED,
		GPC_EQUOTA},
	{"NetworkInterfaceLimitExceeded", "", 400, GPC_NET_FAILED, GPC_EQUOTA},
	/* A security group: made already, or in use still. */
	{"InvalidGroup.Duplicate", "", 400, GPC_NET_FAILED, GPC_ECONFLICT},
	{"InvalidPermission.Duplicate", "", 400, GPC_NET_FAILED, GPC_ECONFLICT},
	{"DependencyViolation", "", 400, GPC_NET_FAILED, GPC_ECONFLICT},
	{"InvalidGroup.InUse", "", 400, GPC_NET_FAILED, GPC_ECONFLICT},
	/* The same token, later. */
	{"RequestLimitExceeded", "", 503, GPC_NET_THROTTLED, GPC_ERATE},
	{"Throttling", "", 400, GPC_NET_THROTTLED, GPC_ERATE},
	{"ThrottlingException", "", 400, GPC_NET_THROTTLED, GPC_ERATE},
	{"EC2ThrottledException", "", 400, GPC_NET_THROTTLED, GPC_ERATE},
	{"InternalError", "", 500, GPC_NET_RETRY, GPC_ENET},
	{"InternalFailure", "", 500, GPC_NET_RETRY, GPC_ENET},
	{"Unavailable", "", 503, GPC_NET_RETRY, GPC_ENET},
	{"ServiceUnavailable", "", 503, GPC_NET_RETRY, GPC_ENET},
	{"RequestTimeout", "", 503, GPC_NET_RETRY, GPC_ETIMEOUT},
	{"", "", 502, GPC_NET_RETRY, GPC_ENET},
	/* Ask the user. */
	{"AuthFailure", "", 401, GPC_NET_RENEW, GPC_EAUTH},
	{"AuthFailure", "Not authorized for images: [ami-0123]", 400, GPC_NET_FAILED,
		GPC_ENOTFOUND},
	{"AuthFailure.ServiceLinkedRoleCreationNotPermitted", "", 403,
		GPC_NET_FAILED, GPC_EAUTH},
	{"UnauthorizedOperation", "", 403, GPC_NET_FAILED, GPC_EAUTH},
	{"RequestExpired", "", 400, GPC_NET_RENEW, GPC_EAUTH},
	{"InvalidClientTokenId", "", 403, GPC_NET_FAILED, GPC_EAUTH},
	{"SignatureDoesNotMatch", "", 403, GPC_NET_FAILED, GPC_EAUTH},
	{"MissingAuthenticationToken", "", 401, GPC_NET_FAILED, GPC_EAUTH},
	{"OptInRequired", "", 401, GPC_NET_FAILED, GPC_EAUTH},
	{"PendingVerification", "", 400, GPC_NET_FAILED, GPC_EAUTH},
	{"Blocked", "", 400, GPC_NET_FAILED, GPC_EAUTH},
	/* IAM. */
	{"NoSuchEntity", "", 404, GPC_NET_FAILED, GPC_ENOTFOUND},
	{"EntityAlreadyExists", "", 409, GPC_NET_FAILED, GPC_ECONFLICT},
	{"DeleteConflict", "", 409, GPC_NET_FAILED, GPC_ECONFLICT},
	{"ConcurrentModification", "", 409, GPC_NET_RETRY, GPC_ENET},
	{"EntityTemporarilyUnmodifiable", "", 409, GPC_NET_RETRY, GPC_ENET},
	{"MalformedPolicyDocument", "", 400, GPC_NET_FAILED, GPC_ECONFIG},
	/* Made a moment ago, not seen everywhere yet. */
	{"InvalidInstanceID.NotFound", "", 400, GPC_NET_FAILED, GPC_ENOTFOUND},
	{"InvalidParameterValue", "Value (x) for parameter iamInstanceProfile.name is "
		"invalid. Invalid IAM Instance Profile name", 400, GPC_NET_RETRY,
		GPC_ECONFIG},
	{"InvalidParameterValue", "IAM Instance Profile \"arn\" has no associated IAM "
		"Roles", 400, GPC_NET_RETRY, GPC_ECONFIG},
	{"InvalidGroup.NotFound", "", 400, GPC_NET_RETRY, GPC_ECONFIG},
	{"InvalidLaunchTemplateId.NotFound", "", 400, GPC_NET_RETRY, GPC_ECONFIG},
	{"InvalidLaunchTemplateName.NotFoundException", "", 400, GPC_NET_RETRY,
		GPC_ECONFIG},
	/* Auto Scaling. */
	{"AlreadyExists", "", 400, GPC_NET_FAILED, GPC_ECONFLICT},
	{"ScalingActivityInProgress", "", 400, GPC_NET_FAILED, GPC_ERATE},
	{"ResourceInUse", "", 400, GPC_NET_FAILED, GPC_ERATE},
	{"ResourceContention", "", 500, GPC_NET_RETRY, GPC_ERATE},
	{"LimitExceeded", "", 400, GPC_NET_FAILED, GPC_EQUOTA},
	{"ValidationError", "", 400, GPC_NET_FAILED, GPC_ECONFIG},
	{"ValidationError", "AutoScalingGroup name not found - null", 400,
		GPC_NET_FAILED, GPC_ENOTFOUND},
	/* Never. */
	{"IdempotentParameterMismatch", "", 400, GPC_NET_FAILED, GPC_ECONFIG},
	{"InvalidAMIID.Malformed", "", 400, GPC_NET_FAILED, GPC_ECONFIG},
	{"InvalidParameterCombination", "", 400, GPC_NET_FAILED, GPC_ECONFIG},
	{"InvalidBlockDeviceMapping", "", 400, GPC_NET_FAILED, GPC_ECONFIG},
	{"InvalidUserData.Malformed", "", 400, GPC_NET_FAILED, GPC_ECONFIG},
	{"MissingParameter", "", 400, GPC_NET_FAILED, GPC_ECONFIG},
	{"InvalidParameterValue", "Invalid value 'g9.huge' for InstanceType.", 400,
		GPC_NET_FAILED, GPC_ECONFIG},
	{"Unsupported", "The requested configuration is currently not supported.", 400,
		GPC_NET_FAILED, GPC_ECONFIG},
	/* The next region. */
	{"InvalidAMIID.NotFound", "", 400, GPC_NET_FAILED, GPC_ENOTFOUND},
	{"InvalidAMIID.Unavailable", "", 400, GPC_NET_FAILED, GPC_ENOTFOUND},
	{"VPCIdNotSpecified", "", 400, GPC_NET_FAILED, GPC_ENOTFOUND},
	/* What lies beside machines. */
	{"InvalidPlacementGroup.Duplicate", "", 400, GPC_NET_FAILED, GPC_ECONFLICT},
	{"InvalidPlacementGroup.InUse", "", 400, GPC_NET_FAILED, GPC_ECONFLICT},
	{"InvalidPlacementGroup.Unknown", "", 400, GPC_NET_FAILED, GPC_ENOTFOUND},
	{"InvalidGroup.Duplicate", "", 400, GPC_NET_FAILED, GPC_ECONFLICT},
	{"InvalidPermission.Duplicate", "", 400, GPC_NET_FAILED, GPC_ECONFLICT},
	{"DependencyViolation", "", 400, GPC_NET_FAILED, GPC_ECONFLICT},
	/* A dry run that would have worked. */
	{"DryRunOperation", "", 412, GPC_NET_DONE, GPC_OK},
	/* Unknown codes go on. */
	{"BrandNewProblem", "", 400, GPC_NET_FAILED, GPC_ECAPACITY},
	{"BrandNewProblem", "", 500, GPC_NET_FAILED, GPC_ECAPACITY},
};

TEST(each_code_of_the_facts)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gpc_aws_failure f = gpc_aws_failure_of(rows[i].code,
			rows[i].message, rows[i].status);

		if (f.verdict != rows[i].verdict || f.code != rows[i].is)
			fail_msg("%s (%s): verdict %d, code %s", rows[i].code,
				rows[i].message, f.verdict,
				gpc_code_to_str(f.code));
	}
}

TEST(people_are_told_what_to_do)
{
	static const char *const told[] = { "VcpuLimitExceeded", "AuthFailure",
		"UnauthorizedOperation", "OptInRequired", "VPCIdNotSpecified",
		"SpotMaxPriceTooLow", "InvalidAMIID.NotFound" };

	for (size_t i = 0; i < COUNT(told); i++)
		assert_non_null(gpc_aws_failure_of(told[i], "", 400).hint);
}

/* pending, then terminated. */
TEST(what_never_ran_is_not_billed)
{
	static const struct { const char *code, *message; bool is; } ends[] = {
		{"Server.InternalError", "Server.InternalError: Internal error on "
			"launch", true},
		{"Server.InternalError", "Server.InternalError: Internal error",
			false},
		{"Server.InternalError", "", false},
		{"Server.InsufficientInstanceCapacity", "", true},
		{"Client.InternalError", "Client error on launch", true},
		{"Server.SpotInstanceTermination", "on launch", false},
		{"Client.UserInitiatedShutdown", "User initiated shutdown", false},
		{"", "", false},
	};

	for (size_t i = 0; i < COUNT(ends); i++)
		if (gpc_aws_never_ran(ends[i].code, ends[i].message) != ends[i].is)
			fail_msg("%s: %s", ends[i].code, ends[i].message);
}

TEST(what_died_before_it_ran)
{
	static const struct { const char *code; enum gpc_code is; } ends[] = {
		{"Server.InsufficientInstanceCapacity", GPC_ECAPACITY},
		{"Server.InternalError", GPC_ECAPACITY},
		{"Client.VolumeLimitExceeded", GPC_EQUOTA},
		{"Client.InternalError", GPC_EAUTH},
		{"Server.SpotInstanceTermination", GPC_OK},
		{"Client.InstanceInitiatedShutdown", GPC_OK},
		{"Client.UserInitiatedShutdown", GPC_OK},
		{"", GPC_OK},
	};

	for (size_t i = 0; i < COUNT(ends); i++)
		if (gpc_aws_stillborn(ends[i].code) != ends[i].is)
			fail_msg("%s is %s", ends[i].code, gpc_code_to_str(
				gpc_aws_stillborn(ends[i].code)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_code_of_the_facts),
		cmocka_unit_test(what_died_before_it_ran),
		cmocka_unit_test(what_never_ran_is_not_billed),
		cmocka_unit_test(people_are_told_what_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
