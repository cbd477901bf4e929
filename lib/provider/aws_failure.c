/* The table of codes. Statuses mislead (no capacity is 500, denied 403, throttled 503),
 * so that only the code counts where one is told. */
#include "provider/aws_failure.h"

#include <string.h>

#include "base/str.h"

#define HINT_KEYS "`gpucloud check aws` shows which keys are used, and from where"
#define HINT_QUOTA "ask AWS for a higher vCPU quota of this family in this region " \
	"(Service Quotas, EC2), or name another region or market"
#define HINT_IAM "the permission is missing in IAM; `gpucloud check aws` shows whose"
#define HINT_RULES "name fewer ports (8000-8010 counts as one) or networks, or ask AWS " \
	"for more rules per security group (Service Quotas, Amazon VPC)"
#define HINT_SECURITY "delete security groups that nobody needs, or ask AWS for more " \
	"(Service Quotas, Amazon VPC)"
#define HINT_IMAGE "images differ by region: name one for each in resources.image_id, " \
	"or none"
#define HINT_PRIVATE "the image is private: its owner can share it with this account " \
	"(aws ec2 modify-image-attribute --launch-permission); or name another"
#define HINT_VPC "make a default VPC (aws ec2 create-default-vpc), or tag subnets " \
	"with the key gpucloud"

static const struct {
	const char *code;
	struct gpc_aws_failure is;
} codes[] = {
	/* No machine now: the next zone, type or region may have one. */
	{"InsufficientInstanceCapacity", {GPC_NET_FAILED, GPC_ECAPACITY, NULL}},
	{"InsufficientHostCapacity", {GPC_NET_FAILED, GPC_ECAPACITY, NULL}},
	{"InsufficientReservedInstanceCapacity",
		{GPC_NET_FAILED, GPC_ECAPACITY, NULL}},
	{"InsufficientCapacity", {GPC_NET_FAILED, GPC_ECAPACITY, NULL}},
	{"InsufficientCapacityOnHost", {GPC_NET_FAILED, GPC_ECAPACITY, NULL}},
	{"UnfulfillableCapacity", {GPC_NET_FAILED, GPC_ECAPACITY, NULL}},
	{"ReservationCapacityExceeded", {GPC_NET_FAILED, GPC_ECAPACITY, NULL}},
	{"InvalidFleetConfiguration", {GPC_NET_FAILED, GPC_ECAPACITY, NULL}},
	{"InsufficientFreeAddressesInSubnet",
		{GPC_NET_FAILED, GPC_ECAPACITY, NULL}},
	{"SpotMaxPriceTooLow", {GPC_NET_FAILED, GPC_ECAPACITY,
		"the price has risen above resources.max_hourly_cost"}},
	/* The account may not have more, in the whole region. */
	{"MaxSpotInstanceCountExceeded", {GPC_NET_FAILED, GPC_EQUOTA, HINT_QUOTA}},
	{"VcpuLimitExceeded", {GPC_NET_FAILED, GPC_EQUOTA, HINT_QUOTA}},
	{"InstanceLimitExceeded", {GPC_NET_FAILED, GPC_EQUOTA, HINT_QUOTA}},
	{"MaxFleetCountExceeded", {GPC_NET_FAILED, GPC_EQUOTA, NULL}},
	{"VolumeLimitExceeded", {GPC_NET_FAILED, GPC_EQUOTA, NULL}},
	{"AddressLimitExceeded", {GPC_NET_FAILED, GPC_EQUOTA, NULL}},
	{"NetworkInterfaceLimitExceeded", {GPC_NET_FAILED, GPC_EQUOTA, NULL}},
	/* Too many calls: the same one, with its token, later. */
	{"RequestLimitExceeded", {GPC_NET_THROTTLED, GPC_ERATE, NULL}},
	{"Throttling", {GPC_NET_THROTTLED, GPC_ERATE, NULL}},
	{"ThrottlingException", {GPC_NET_THROTTLED, GPC_ERATE, NULL}},
	{"EC2ThrottledException", {GPC_NET_THROTTLED, GPC_ERATE, NULL}},
	/* Unclear: the same call, with its token, again. */
	{"InternalError", {GPC_NET_RETRY, GPC_ENET, NULL}},
	{"InternalFailure", {GPC_NET_RETRY, GPC_ENET, NULL}},
	{"InternalServerError", {GPC_NET_RETRY, GPC_ENET, NULL}},
	{"Unavailable", {GPC_NET_RETRY, GPC_ENET, NULL}},
	{"ServiceUnavailable", {GPC_NET_RETRY, GPC_ENET, NULL}},
	{"RequestTimeout", {GPC_NET_RETRY, GPC_ETIMEOUT, NULL}},
	/* Who asks. A region that the account has not enabled says AuthFailure. */
	{"AuthFailure", {GPC_NET_RENEW, GPC_EAUTH, "the keys are wrong, or the account "
		"has not enabled this region; " HINT_KEYS}},
	{"RequestExpired", {GPC_NET_RENEW, GPC_EAUTH,
		"log in again, or set the clock of this machine"}},
	{"ExpiredToken", {GPC_NET_RENEW, GPC_EAUTH, "log in again"}},
	{"ExpiredTokenException", {GPC_NET_RENEW, GPC_EAUTH, "log in again"}},
	{"InvalidClientTokenId", {GPC_NET_FAILED, GPC_EAUTH, HINT_KEYS}},
	{"UnrecognizedClientException", {GPC_NET_FAILED, GPC_EAUTH, HINT_KEYS}},
	{"SignatureDoesNotMatch", {GPC_NET_FAILED, GPC_EAUTH,
		"the secret key does not belong to the key id; " HINT_KEYS}},
	{"InvalidSignatureException", {GPC_NET_FAILED, GPC_EAUTH, HINT_KEYS}},
	{"MissingAuthenticationToken", {GPC_NET_FAILED, GPC_EAUTH, HINT_KEYS}},
	{"UnauthorizedOperation", {GPC_NET_FAILED, GPC_EAUTH, HINT_IAM}},
	{"AccessDenied", {GPC_NET_FAILED, GPC_EAUTH, HINT_IAM}},
	{"AccessDeniedException", {GPC_NET_FAILED, GPC_EAUTH, HINT_IAM}},
	{"AuthFailure.ServiceLinkedRoleCreationNotPermitted", {GPC_NET_FAILED,
		GPC_EAUTH, "let somebody with iam:CreateServiceLinkedRole run: aws iam "
		"create-service-linked-role --aws-service-name spot.amazonaws.com"}},
	{"OptInRequired", {GPC_NET_FAILED, GPC_EAUTH, "the account, or the image's "
		"offer in the Marketplace, has to be subscribed to first"}},
	{"PendingVerification", {GPC_NET_FAILED, GPC_EAUTH,
		"AWS still verifies this account for this region; it writes a mail"}},
	{"Blocked", {GPC_NET_FAILED, GPC_EAUTH, "AWS has blocked the account"}},
	/* What was made a moment ago is not seen everywhere yet. */
	{"InvalidInstanceID.NotFound", {GPC_NET_FAILED, GPC_ENOTFOUND, NULL}},
	{"ParameterNotFound", {GPC_NET_FAILED, GPC_ENOTFOUND, NULL}},
	{"NoSuchResourceException", {GPC_NET_FAILED, GPC_ENOTFOUND, NULL}},
	{"NoSuchEntity", {GPC_NET_FAILED, GPC_ENOTFOUND, NULL}},
	{"InvalidGroup.NotFound", {GPC_NET_RETRY, GPC_ECONFIG, NULL}},
	{"InvalidLaunchTemplateId.NotFound", {GPC_NET_RETRY, GPC_ECONFIG, NULL}},
	{"InvalidLaunchTemplateName.NotFoundException",
		{GPC_NET_RETRY, GPC_ECONFIG, NULL}},
	{"RulesPerSecurityGroupLimitExceeded", {GPC_NET_FAILED, GPC_EQUOTA, HINT_RULES}},
	{"SecurityGroupLimitExceeded", {GPC_NET_FAILED, GPC_EQUOTA, HINT_SECURITY}},
	{"SecurityGroupsPerInterfaceLimitExceeded",
		{GPC_NET_FAILED, GPC_EQUOTA, HINT_SECURITY}},
	{"SecurityGroupsPerInstanceLimitExceeded",
		{GPC_NET_FAILED, GPC_EQUOTA, HINT_SECURITY}},
	/* A security group and its rules: there already means made; one that a machine
	 * still has goes later. */
	{"InvalidGroup.Duplicate", {GPC_NET_FAILED, GPC_ECONFLICT, NULL}},
	{"InvalidPermission.Duplicate", {GPC_NET_FAILED, GPC_ECONFLICT, NULL}},
	{"DependencyViolation", {GPC_NET_FAILED, GPC_ECONFLICT, NULL}},
	{"InvalidGroup.InUse", {GPC_NET_FAILED, GPC_ECONFLICT, NULL}},
	/* Auto Scaling. A group is known by its name: there already means made. */
	{"AlreadyExists", {GPC_NET_FAILED, GPC_ECONFLICT, NULL}},
	{"InvalidLaunchTemplateName.AlreadyExistsException",
		{GPC_NET_FAILED, GPC_ECONFLICT, NULL}},
	{"ScalingActivityInProgress", {GPC_NET_FAILED, GPC_ERATE, NULL}},
	{"ResourceInUse", {GPC_NET_FAILED, GPC_ERATE, NULL}},
	{"ResourceContention", {GPC_NET_RETRY, GPC_ERATE, NULL}},
	{"LimitExceeded", {GPC_NET_FAILED, GPC_EQUOTA, "the account may have no more "
		"of these"}},
	{"ServiceLinkedRoleFailure", {GPC_NET_FAILED, GPC_EAUTH, "let somebody with "
		"iam:CreateServiceLinkedRole run: aws iam create-service-linked-role "
		"--aws-service-name autoscaling.amazonaws.com"}},
	/* IAM: what is there already, or is in use. */
	{"EntityAlreadyExists", {GPC_NET_FAILED, GPC_ECONFLICT, NULL}},
	{"DeleteConflict", {GPC_NET_FAILED, GPC_ECONFLICT, NULL}},
	{"ConcurrentModification", {GPC_NET_RETRY, GPC_ENET, NULL}},
	{"EntityTemporarilyUnmodifiable", {GPC_NET_RETRY, GPC_ENET, NULL}},
	{"MalformedPolicyDocument", {GPC_NET_FAILED, GPC_ECONFIG, NULL}},
	/* Placement groups, in the same way. */
	{"InvalidPlacementGroup.Duplicate", {GPC_NET_FAILED, GPC_ECONFLICT, NULL}},
	{"InvalidPlacementGroup.InUse", {GPC_NET_FAILED, GPC_ECONFLICT, NULL}},
	{"InvalidPlacementGroup.Unknown", {GPC_NET_FAILED, GPC_ENOTFOUND, NULL}},
	/* This region lacks it; another one may not. */
	{"VPCIdNotSpecified", {GPC_NET_FAILED, GPC_ENOTFOUND, HINT_VPC}},
	{"InvalidAMIID.NotFound", {GPC_NET_FAILED, GPC_ENOTFOUND, HINT_IMAGE}},
	{"InvalidAMIID.Unavailable", {GPC_NET_FAILED, GPC_ENOTFOUND, HINT_IMAGE}},
	/* Such a request can never work. */
	{"MissingInput", {GPC_NET_FAILED, GPC_ECONFIG, NULL}},
	{"IdempotentParameterMismatch", {GPC_NET_FAILED, GPC_ECONFIG, NULL}},
	{"InvalidAMIID.Malformed", {GPC_NET_FAILED, GPC_ECONFIG, NULL}},
	{"InvalidParameterCombination", {GPC_NET_FAILED, GPC_ECONFIG, NULL}},
	{"InvalidBlockDeviceMapping", {GPC_NET_FAILED, GPC_ECONFIG,
		"resources.disk_size may not be smaller than the image's disk"}},
	{"InvalidUserData.Malformed", {GPC_NET_FAILED, GPC_ECONFIG, NULL}},
	{"InvalidSubnetID.NotFound", {GPC_NET_FAILED, GPC_ECONFIG, NULL}},
	{"MissingParameter", {GPC_NET_FAILED, GPC_ECONFIG, NULL}},
	{"UnknownParameter", {GPC_NET_FAILED, GPC_ECONFIG, NULL}},
	{"TagLimitExceeded", {GPC_NET_FAILED, GPC_ECONFIG, NULL}},
	{"DryRunOperation", {GPC_NET_DONE, GPC_OK, NULL}},
};

/* Four codes mean several things, which only their words tell apart. */
static bool by_words(const char *code, const char *message,
	struct gpc_aws_failure *ret)
{
	if (gpc_eq(code, "Unsupported")) {
		/* "…not supported in your requested Availability Zone" */
		*ret = (struct gpc_aws_failure){GPC_NET_FAILED,
			strstr(message, "Availability Zone") ? GPC_ECAPACITY :
			GPC_ECONFIG, NULL};
		return true;
	}
	if (gpc_eq(code, "AuthFailure") &&
		strstr(message, "Not authorized for image")) {
		/* Another account's, which no other key opens. */
		*ret = (struct gpc_aws_failure){GPC_NET_FAILED, GPC_ENOTFOUND,
			HINT_PRIVATE};
		return true;
	}
	if (gpc_eq(code, "InvalidParameterValue")) {
		bool young = strstr(message, "IAM Instance Profile") ||
			strstr(message, "no associated IAM Roles");

		*ret = (struct gpc_aws_failure){young ? GPC_NET_RETRY :
			GPC_NET_FAILED, GPC_ECONFIG, young ? "`gpucloud setup aws` "
			"makes the profile that nodes run with" : NULL};
		return true;
	}
	if (gpc_eq(code, "ValidationError")) {
		/* "AutoScalingGroup name not found - …" */
		*ret = (struct gpc_aws_failure){GPC_NET_FAILED,
			strstr(message, "not found") ? GPC_ENOTFOUND :
			GPC_ECONFIG, NULL};
		return true;
	}
	return false;
}

bool gpc_aws_failure_known(const char *code)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (gpc_eq(codes[i].code, code))
			return true;
	return false;
}

struct gpc_aws_failure gpc_aws_failure_of(const char *code, const char *message,
	int status)
{
	struct gpc_aws_failure f;

	if (by_words(code, message, &f))
		return f;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		if (gpc_eq(codes[i].code, code))
			return codes[i].is;
	}
	if (status == 429)
		return (struct gpc_aws_failure){GPC_NET_THROTTLED, GPC_ERATE, NULL};
	if (!*code && status >= 500)
		return (struct gpc_aws_failure){GPC_NET_RETRY, GPC_ENET, NULL};
	/* Unknown codes go on: another offer may not have the problem. */
	return (struct gpc_aws_failure){GPC_NET_FAILED, GPC_ECAPACITY, NULL};
}

/* Only what EC2 says of an instance that its host never started. */
enum gpc_code gpc_aws_stillborn(const char *code)
{
	static const struct { const char *code; enum gpc_code is; } rows[] = {
		{"Server.InsufficientInstanceCapacity", GPC_ECAPACITY},
		{"Server.InternalError", GPC_ECAPACITY},
		{"Client.VolumeLimitExceeded", GPC_EQUOTA},
		{"Client.InstanceLimitExceeded", GPC_EQUOTA},
		/* Mostly the key that its disk is encrypted with. */
		{"Client.InternalError", GPC_EAUTH},
		{"Client.InvalidSnapshot.NotFound", GPC_ECONFIG},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (gpc_eq(rows[i].code, code))
			return rows[i].is;
	return GPC_OK;
}

/* "Server.InternalError: Internal error on launch"; a host that fails later has the same
 * code. */
bool gpc_aws_never_ran(const char *code, const char *message)
{
	return gpc_aws_stillborn(code) != GPC_OK &&
		(!gpc_eq(code, "Server.InternalError") ||
		strstr(message, "on launch"));
}
