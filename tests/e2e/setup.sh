#!/bin/sh
# An account in which nothing is: `setup aws` makes what jobs need of it, once, in the
# stand-in, whose bucket then refuses what its policy forbids. That nodes need no more than
# their role lets them do, aws.sh shows.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_fakecloud
control() { # PATH [JSON]
	curl -sf --noproxy '*' ${2:+-d "$2"} "$FAKE_CONTROL/_control/$1"
}
export AWS_ENDPOINT_URL_EC2="$FAKE_EC2" AWS_ENDPOINT_URL_SSM="$FAKE_SSM" \
	AWS_ENDPOINT_URL_S3="$FAKE_S3" AWS_ENDPOINT_URL_IAM="$FAKE_IAM" \
	AWS_ENDPOINT_URL_STS="$FAKE_STS" AWS_EC2_METADATA_DISABLED=true \
	AWS_ENDPOINT_URL_SERVICE_QUOTAS="$FAKE_SERVICEQUOTAS" \
	GPUCLOUD_STORE="s3://new-bucket/team/a"
control config '{"ec2": {"profiles": []}}' >/dev/null
writes() { # how many requests changed something, since the start
	control requests | jq '[.requests[] | select((.service == "iam" and
		(.operation | test("^(Get|List)") | not)) or
		(.service == "s3" and (.method == "PUT" or .method == "DELETE")))] | length'
}
kept() { control "bucket?name=new-bucket" | jq -c "$1"; }
states() { printf '%s' "$out" | jq -r '[.rows[].state] | unique | join(" ")'; }
with_key() { # ID ACTION COMMAND…: as somebody who may not do this
	control keys "{\"id\": \"$1\", \"secret\": \"s\", \"arn\": \"arn:aws:iam::123456789012:user/$1\",
		\"deny\": [\"$2\"]}" >/dev/null
	key=$1
	shift 2
	run env AWS_ACCESS_KEY_ID="$key" AWS_SECRET_ACCESS_KEY=s "$@"
}

# --- before anything is made --------------------------------------------------
run env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY "$GPUCLOUD_BIN" setup aws -y
is "$rc" 4 "without credentials: 4"
run gpc setup aws -y --store "file://$T/folder"
is "$rc" 3 "a store in a folder: 3"
like "$err" "store s3://BUCKET" "and says how to name one"
run gpc setup aws -y --store s3://New_Bucket/x
is "$rc" 3 "a name that no bucket has: 3"
run gpc setup aws -y --source-ip 10.1.2.3
is "$rc" 3 "an address that AWS never sees: 3"
run gpc setup gcp
is "$rc" 2 "another cloud: 2"
run gpc check aws
is "$rc" 3 "check: what is missing ends it" || note "$err"
like "$err" "no instance profile gpucloud-node" "which is named"
like "$err" "gpucloud setup aws" "with what makes it"
run gpc setup aws --dry-run -o json
is "$rc:$(states):$(printf '%s' "$out" | jq '.rows | length')" 0:missing:8 "a plan shows all that is missing"
run gpc setup aws
is "$rc" 2 "without a terminal it does not go on by itself"
like "$err" "pass -y" "and says how to"
is "$(writes)" 0 "until here nothing was changed"

# --- what is in the way -------------------------------------------------------
control buckets '{"name": "theirs", "owner": "999999999999"}' >/dev/null
control buckets '{"name": "far", "region": "eu-central-1"}' >/dev/null
run gpc setup aws -y --store s3://theirs/x
is "$rc" 4 "a bucket of somebody else: 4"
like "$err" "another account's" "it says whose"
run gpc setup aws -y --store 's3://far/x?region=us-west-2'
is "$rc" 3 "a bucket in another region: 3"
like "$err" "is in eu-central-1, not in us-west-2" "it says where"
with_key POOR iam:CreateRole "$GPUCLOUD_BIN" setup aws -y --store s3://poor-bucket/x
is "$rc" 4 "without a permission: 4"
like "$err" "not authorized to perform: iam:CreateRole" "which is named"
like "$out" "bucket policy +poor-bucket.* made" "what was made before that is told"
with_key POORER s3:CreateBucket "$GPUCLOUD_BIN" setup aws -y --store s3://poorer-bucket/x
is "$rc" 4 "nor is a bucket made without"
like "$err" "s3:CreateBucket" "and that is named too"
control faults '{"service": "s3", "operation": "HeadBucket", "count": 0, "do": "error", "status": 404,
	"code": "NoSuchBucket"}' >/dev/null
run gpc setup aws -y --store s3://theirs/x
is "$rc" 3 "a name that is taken meanwhile: 3"
like "$err" "choose another" "and what to do"
curl -sf --noproxy '*' -X DELETE "$FAKE_CONTROL/_control/faults" >/dev/null

# --- making it ----------------------------------------------------------------
control settings '{"iam_delay": 1.5}' >/dev/null
run gpc setup aws -y
is "$rc" 0 "it is made, though IAM shows it late" || note "$err"
control settings '{"iam_delay": 0}' >/dev/null
before=$(writes)
run gpc setup aws -o json
is "$rc:$(states)" 0:exists "a second setup finds all of it"
is "$(($(writes) - before))" 0 "and changes nothing"
run gpc setup aws
like "$err" "nothing is to be made" "as it says"

# The template says what was made.
run gpc setup aws --export cloudformation
is "$rc" 0 "a template"
control iam >iam.json
printf '%s' "$out" >template.json
same='def flat: if type == "array" then (if length == 1 and (.[0] | type == "string") then .[0]
	else map(flat) end) elif type == "object" then map_values(flat) else . end;'
# shellcheck disable=SC2016  # for jq
is "$(jq --slurpfile t template.json "$same"' . as $m | $t[0].Resources as $r |
	($m.roles["gpucloud-node"].trust | flat) == ($r.NodeRole.Properties.AssumeRolePolicyDocument | flat)
	and ([$m.roles["gpucloud-node"].policies[] | flat] == [$r.NodeRole.Properties.Policies[].PolicyDocument | flat])
	and ($m.roles["gpucloud-node"].policies | keys) == [$r.NodeRole.Properties.Policies[].PolicyName]
	and ($m.profiles | keys) == [$r.NodeRoleProfile.Properties.InstanceProfileName]' iam.json)" true \
	"the roles of a template are those that were made"
is "$(kept .kept.policy | jq -S "$same flat")" \
	"$(jq -S "$same .Resources.StoreBucketPolicy.Properties.PolicyDocument | flat" template.json)" \
	"so is the bucket's policy"
is "$(kept .kept.lifecycle | grep -o '<ID>[^<]*\|<Prefix>[^<]*' | sed 's/.*>//' | tr '\n' ' ')" \
	"$(jq -r '.Resources.StoreBucket.Properties.LifecycleConfiguration.Rules[0] | .Id, .Prefix' \
		template.json | tr '\n' ' ')" "and the rule for uploads"
is "$(jq -r '[.Resources[].Type] | sort | join(" ")' template.json)" \
	"AWS::IAM::InstanceProfile AWS::IAM::Role AWS::S3::Bucket AWS::S3::BucketPolicy" "its resources"

# --- what others have there stays ---------------------------------------------
/usr/bin/python3 -B - "$FAKE_S3" 2>/dev/null <<'X' || note "no boto3: without entries of others"
import boto3, json, sys
s3 = boto3.client("s3", endpoint_url=sys.argv[1], region_name="us-east-1")
p = json.loads(s3.get_bucket_policy(Bucket="new-bucket")["Policy"])
p["Statement"] = [{"Sid": "Mine", "Effect": "Deny", "Principal": "*", "Action": "s3:DeleteBucket",
    "Resource": "arn:aws:s3:::new-bucket", "Condition": {"Bool": {"aws:SecureTransport": "nosuch"}}}]
s3.put_bucket_policy(Bucket="new-bucket", Policy=json.dumps(p))
s3.put_bucket_lifecycle_configuration(Bucket="new-bucket", LifecycleConfiguration={"Rules": [
    {"ID": "mine", "Filter": {"Prefix": "a&b/"}, "Status": "Enabled", "Expiration": {"Days": 3}}]})
X
run gpc setup aws -y -o json
is "$rc" 0 "what was taken out is made again"
like "$(kept .kept.policy)" 'Gpucloud.*Once' "our statement is back"
if /usr/bin/python3 -c 'import boto3' 2>/dev/null; then
	like "$(kept .kept.policy)" '"Mine"' "another's statement stays"
	like "$(kept .kept.lifecycle)" 'a&amp;b/.*gpucloud-uploads|gpucloud-uploads.*a&amp;b/' \
		"another's rule stays, as it was"
fi

# --- what it holds and forbids -----------------------------------------------------
run gpc check aws
is "$rc" 0 "check: all is there" || note "$out$err"
with_key NOBUY ec2:RunInstances "$GPUCLOUD_BIN" check aws
is "$rc" 4 "check: who may not buy is told"
like "$err" "not authorized to perform: ec2:RunInstances" "the action is named"
control config '{"ec2": {"quotas": {"us-east-1/L-417A185B": 0, "us-east-1/L-7212CCBC": 0}}}' >/dev/null
control config '{"ec2": {"default_vpc": false, "vpcs": [{"id": "vpc-own",
	"region": "us-west-2", "subnets": [
	{"id": "subnet-own", "zone": "us-west-2b", "tags": {"gpucloud": ""}}]}]}}' >/dev/null
run env GPUCLOUD_AWS_REGIONS=us-west-2 "$GPUCLOUD_BIN" check aws
like "$out" "network +ok +subnet-own, by its tag" "check: a region's own subnet" || note "$out$err"
like "$out" "launch +ok +permitted" "check: a machine may be launched there"
run env GPUCLOUD_AWS_REGIONS=eu-central-1 "$GPUCLOUD_BIN" check aws
is "$rc" 3 "check: a region without any network"
like "$err" "eu-central-1 has neither a default network nor a subnet" "check: which it says"
control config '{"ec2": {"default_vpc": true, "vpcs": []}}' >/dev/null
run env GPUCLOUD_AWS_REGIONS=us-east-1,us-west-2,eu-central-1 "$GPUCLOUD_BIN" check aws -o json
is "$rc:$(printf '%s' "$out" | jq -r '[.rows[] | select(.name | startswith("aws region ")) |
	.name + " " + .state] | join(",")')" \
	"3:aws region us-west-2 ok,aws region eu-central-1 failed" "check: a line for each further region"
like "$(printf '%s' "$out" | jq -r '.rows[].problem // empty')" "network: eu-central-1 has neither" \
	"with the worst that was found there"
run gpc check aws -o json
is "$rc:$(printf '%s' "$out" | jq -r '.rows[] | select(.name == "aws quota of P") | .state')" 0:warning \
	"check: a quota of nothing is a warning"
like "$out" "request-service-quota-increase" "with how to ask for more"
is "$(control machines | jq -c '[(.machines | length), (.security_groups | map(select(.name != "default")) |
	length)]')" '[0,0]' "check: what is tried is never made"
run gpc submit -q -y --infra local -- true
is "$rc" 0 "a job of this machine keeps its records in the bucket" || note "$err"
event=$(control "objects?sha256=0" | jq -r '[.objects[].key | select(test("/events/"))][0]')
echo x >x
put() { # KEY: a plain put by the account's own keys
	run gpc data cp x "s3://new-bucket/$1"
}
put team/a/elsewhere
is "$rc" 0 "a plain put elsewhere is taken" || note "$err"
put "$event"
is "$rc" 4 "a plain put over an event is not"
like "$err" "explicit deny" "by the bucket's policy"
put "${event%/*}/99999999.json"
is "$rc" 4 "nor one of an event to come"
put "${event%/events/*}/artifacts/out/checkpoints/a-b-c.json"
is "$rc" 0 "an artifact in a folder of that name is" || note "$err"

# --- a supervisor, and where people come from ---------------------------------
run gpc setup aws -y --supervisor-role --source-ip 203.0.113.0/24 -o json
is "$rc:$(printf '%s' "$out" | jq -c '[.rows[] | select(.state != "exists") | .kind]')" \
	'0:["bucket policy","role","role policy","instance profile"]' "a role for a supervisor and a condition are added"
run gpc status
is "$rc" 4 "from elsewhere the store is out of reach" || note "$out$err"
control settings '{"source_ip": "203.0.113.9"}' >/dev/null
run gpc status
is "$rc" 0 "from there it is not" || note "$err"
run gpc setup aws --supervisor-role --source-ip 203.0.113.0/24
like "$err" "nothing is to be made" "a second setup changes nothing"
run gpc setup aws -y --store s3://new-bucket/team/b
is "$rc" 0 "another store in the same bucket"
is "$(control iam | jq '.roles["gpucloud-node"].policies | length')" 2 "it has a policy of its own"

# --- and gone -----------------------------------------------------------------
run gpc setup aws --undo -y --store s3://new-bucket/team/b
is "$rc:$(control iam | jq -c '[.roles[].policies | length]')" 0:'[1,1]' "undo leaves what another store needs"
like "$out" "kept +other stores use it" "and says so"
is "$(kept '.kept.policy | tostring | test("Once")')" true "the first one's policy is there"
run gpc setup aws --undo -y
is "$rc" 0 "undo" || note "$err"
like "$out" "kept +it holds objects" "a bucket that holds objects stays"
is "$(control iam | jq -c '.roles, .profiles' | tr -d '\n')" "{}{}" "roles and profiles are gone"
unlike "$(kept .kept.policy)" "Gpucloud" "so are our statements"
unlike "$(kept .kept.lifecycle)" "gpucloud" "and our rule"
run gpc setup aws --undo --delete-objects -y
is "$rc:$(kept .there)" 0:false "told clearly, the bucket goes with what is in it"
run gpc setup aws --undo
is "$rc" 0 "a second undo has nothing to do"
like "$err" "nothing is to be removed" "as it says"

# --- where names and principals are others --------------------------------------
for region in cn-north-1:aws-cn:ec2.amazonaws.com.cn us-gov-west-1:aws-us-gov:ec2.amazonaws.com; do
	where=${region%%:*}
	principal=${region##*:}
	control settings "{\"region\": \"$where\"}" >/dev/null
	export AWS_REGION="$where" GPUCLOUD_STORE="s3://in-$where/x"
	run gpc setup aws -y --supervisor-role
	is "$rc" 0 "$where: setup" || note "$err"
	run gpc setup aws --supervisor-role -o json
	is "$rc:$(states)" 0:exists "$where: all of it is found again"
	control iam >iam.json
	is "$(jq -r '[.roles[].trust.Statement[].Principal.Service] | unique | join(" ")' iam.json)" \
		"$principal" "$where: who may take the roles"
	is "$(grep -o '"arn:[a-z-]*' iam.json | sort -u)" "\"arn:$(echo "$region" | cut -d: -f2)" \
		"$where: names of resources"
	run gpc setup aws -y --undo
	is "$rc:$(control iam | jq '.roles | length')" 0:0 "$where: undo"
done
stop_fakecloud
finish
