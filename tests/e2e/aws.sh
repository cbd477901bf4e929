#!/bin/sh
# Jobs on machines of EC2, as the stand-in has them: it checks each request, boots each
# machine by its user data, and counts what it costs.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_fakecloud --set ec2_boot=true
control() { # PATH [JSON]
	curl -sf ${2:+-d "$2"} "$FAKE_CONTROL/_control/$1"
}
export AWS_ENDPOINT_URL_EC2="$FAKE_EC2" AWS_ENDPOINT_URL_SSM="$FAKE_SSM" \
	AWS_ENDPOINT_URL_SERVICE_QUOTAS="$FAKE_SERVICEQUOTAS" \
	AWS_ENDPOINT_URL_S3="$FAKE_S3" AWS_ENDPOINT_URL_IAM="$FAKE_IAM" \
	AWS_ENDPOINT_URL_STS="$FAKE_STS" \
	AWS_ENDPOINT_URL_CHECKIP="$FAKE_CHECKIP" AWS_EC2_METADATA_DISABLED=true \
	GPUCLOUD_STORE="s3://nodes/store"
[ "$(id -u)" -eq 0 ] || skip_all "machines are booted by root alone"

machines() { # FILTER: of all that were ever bought
	control machines | jq -r ".machines | $1"
}
live() { machines 'map(select(.state != "terminated")) | length'; }
all_gone() { [ "$(live)" = 0 ]; }
asked() { # OPERATION: how often, since the last reset
	control "requests?service=ec2" |
		jq --arg op "$1" '[.requests[] | select(.operation == $op)] | length'
}
afresh() {
	wait_until 60 all_gone
	control faults >/dev/null
	curl -sf -X DELETE "$FAKE_CONTROL/_control/faults" >/dev/null
}
RUN_SECONDS=120

# --- an account in which nothing is --------------------------------------------
# All that machines do from here on, they do with the role that this makes, and all that
# is done here, with the one of supervisors: what their policies lack is found out.
control config '{"ec2": {"profiles": []}}' >/dev/null
run env GPUCLOUD_AWS_CLOUDWATCH=team/training "$GPUCLOUD_BIN" setup aws \
	--supervisor-role -y
is "$rc" 0 "setup makes bucket, roles and profiles" || note "$err"
control keys '{"id": "AKIASUPERVISOR", "secret": "supervisor", "arn":
	"arn:aws:sts::123456789012:assumed-role/gpucloud-supervisor/here"}' >/dev/null
user_id=$AWS_ACCESS_KEY_ID user_secret=$AWS_SECRET_ACCESS_KEY
by_user() { # WORD...: of gpucloud
	run env AWS_ACCESS_KEY_ID="$user_id" AWS_SECRET_ACCESS_KEY="$user_secret" \
		"$GPUCLOUD_BIN" "$@"
}
export AWS_ACCESS_KEY_ID=AKIASUPERVISOR AWS_SECRET_ACCESS_KEY=supervisor

# Images of one's own, each with something wrong, and one that only us-west-2 has.
image() { # ID MEMBERS
	printf '{"id": "ami-%017d", "name": "own %s", "root": "/dev/sda1", "owner": "1", %s},' \
		"$1" "$1" "$2"
}
images=$(PYTHONPATH=$ROOT/tests python3 -c 'import json
from fakecloud.ec2_account import EC2
print(json.dumps(EC2["images"])[1:-1])')
images="$(image 1 '"arch": "arm64", "gb": 8')$(image 2 '"arch": "x86_64", "gb": 8,
	"state": "pending"')$(image 3 '"arch": "x86_64", "gb": 8, "deprecated":
	"2024-01-01T00:00:00.000Z"')$(image 4 '"arch": "x86_64", "gb": 8, "platform":
	"windows"')$(image 5 '"arch": "x86_64", "gb": 500')$(image 6 '"arch": "x86_64",
	"gb": 8, "region": "us-west-2"')$(image 7 '"arch": "x86_64", "gb": 8,
	"private": true')$images"
control config "{\"ec2\": {\"images\": [$images]}}" >/dev/null

# Two regions without a default network; one of them has subnets of its own.
control config '{"ec2": {"default_vpc": false, "vpcs": [{"id": "vpc-own",
	"region": "us-west-2", "subnets": [
	{"id": "subnet-full", "zone": "us-west-2a", "free": 0, "tags": {"gpucloud": ""}},
	{"id": "subnet-own", "zone": "us-west-2b", "tags": {"gpucloud": ""}}]}]}}' >/dev/null
gpc offers --infra aws/us-west-2 >/dev/null
gpc offers --infra aws/eu-central-1 >/dev/null
control config '{"ec2": {"default_vpc": true}}' >/dev/null

# --- before money is spent --------------------------------------------------
run env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY "$GPUCLOUD_BIN" submit -y \
	--infra aws --store "file://$T/folder" -- true
is "$rc" 3 "a folder of this machine is no store for one of EC2's, which needs nobody to ask"
like "$err" "store in a bucket" "and says what is"
by_user submit --dry-run --infra aws --store "s3://bucket/never?endpoint=$FAKE_S3" -- true
is "$rc:$(printf '%s' "$err" | grep -c t3.small)" 0:1 "a plan needs no store that is made" ||
	note "$err"
run env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY "$GPUCLOUD_BIN" submit -y \
	--infra aws -- true
is "$rc" 4 "without credentials nothing is bought"
before=$(asked DescribeInstanceTypeOfferings)
run gpc offers --infra aws --gpus Z9000
is "$rc:$(($(asked DescribeInstanceTypeOfferings) - before))" 0:0 "what no type has asks nobody"
run gpc offers --infra aws --gpus A10G:1 -o json
is "$(printf '%s' "$out" | jq -c '[.rows[] | select(.fits) | .zone]')" \
	'["us-east-1a","us-east-1b","us-east-1c"]' "an offer for each zone that has it"
run gpc offers --infra aws --region us-east-1 --gpus 80GB+:8 --rdma --interconnect nvlink -o json
is "$(printf '%s' "$out" | jq -c '[.rows[] | .instance_type + " " + .interconnect + " " + .rdma] |
	unique')" '["p5.48xlarge nvswitch efa"]' "what joins GPUs and machines can be asked for"
explained() { # WORDS…: the reasons, each once
	gpc offers --infra aws --json "$@" | jq -r '[.rows[].why_not] | unique | .[]'
}
is "$(explained --gpus A10G:4 --interconnect nvlink --explain g5.12xlarge)" \
	"asks for nvlink between GPUs; g5.12xlarge has pcie" "and why a type is out"
is "$(explained --rdma --explain us-east-1/m7i.large)" \
	"asks for RDMA between nodes; m7i.large has none" "of one region, too"
is "$(explained --arch arm64 --explain m7i.large)" \
	"asks for another architecture; m7i.large is x86_64" "by its architecture"
closed=ap-south-1,us-east-1
run env GPUCLOUD_AWS_REGIONS=$closed "$GPUCLOUD_BIN" offers --infra aws --gpus A10G:1 -o json
is "$rc:$(printf '%s' "$out" | jq -c '[.rows[] | select(.fits) | .region] | unique')" \
	'0:["us-east-1"]' "a region that the account has not enabled is passed over" || note "$err"
like "$(export GPUCLOUD_AWS_REGIONS=$closed; explained --gpus A10G:1 --explain ap-south-1/g5.xlarge)" \
	"AuthFailure" "which is told to who asks"
run env GPUCLOUD_AWS_REGIONS=ap-south-1,ap-south-2 "$GPUCLOUD_BIN" offers --infra aws --gpus A10G:1
is "$rc" 4 "unless there is no other one" || note "$out$err"

for words in "--instance-type g5.xlrge|did you mean g5.xlarge" \
	"--infra aws/us-est-1|did you mean us-east-1" "--gpus A10G:3|nearest: aws: g5.12xlarge" \
	"--infra aws/eu-central-1|a default network"; do
	# shellcheck disable=SC2086  # options
	run gpc submit -y --infra aws ${words%%|*} -- true
	like "$err" "${words##*|}" "what cannot be had says what is near: ${words%%|*}"
done
[ "$rc" -ne 0 ] && [ "$(machines length)" = 0 ] && [ "${#err}" -lt 3000 ]
ok $? "and nothing is bought for it"

for words in "1|is for arm64, and t3.small is x86_64" "2|in us-east-1 is pending" \
	"3|is deprecated since 2024-01-01" "4|is of windows, and has no cloud-init" \
	"5|is 100 GB, and the image alone needs 500" "7|private and not shared" "9|InvalidAMIID.NotFound.*request"; do
	printf 'resources: {infra: aws, image_id: ami-%017d, disk_size: 100}\nrun: "true"\n' \
		"${words%%|*}" >image.yaml
	run gpc submit -y image.yaml
	is "$rc:$(machines length):$(printf '%s\n' "$err" |
		sed -n 's/.*FAILED: \([a-z_]*\).*/\1/p')" 125:0:spec_invalid \
		"an image is refused before a machine is paid for"
	like "$err" "${words##*|}" "and why: ${words##*|}"
done
printf 'resources: {infra: aws, image_id: "docker:busybox"}\nrun: "true"\n' >image.yaml
run gpc submit -y image.yaml
is "$rc:$(machines length)" 3:0 "an image of containers, too"

# --- from offer to release --------------------------------------------------
calls() { control "requests?service=ec2" | jq '.requests | length'; }
before=$(calls)
run gpc submit -y --infra aws --name first -- sh -c 'echo on "$(cat /proc/sys/kernel/ostype)"
	echo oops >&2; exit 7'
is "$rc:$out" "7:on Linux" "a job runs on a machine of EC2 and its exit code arrives"
like "$err" "oops" "its stderr arrives"
wait_until 60 all_gone
ok $? "the machine is gone"
is "$(machines '.[0] | [.type, .market, .reason] | join(" ")')" \
	"t3.small on-demand Client.InstanceInitiatedShutdown" "it switched itself off"
is "$(machines '.[0].tags | keys | join(" ")')" \
	"Name gpucloud-expires gpucloud-job gpucloud-owner gpucloud-store" "it bore its tags"
is "$(asked RunInstances)" 1 "one launch"
bill() { # JOB: what the meter says, in millionths
	machines "map(select(.tags[\"gpucloud-job\"] | startswith(\"$1\")) | .bill[]) | add"
}
spent() { # JOB [PART]
	gpc cost "$1" --json | jq --arg part "${2:-}" '[.rows[0] |
		if $part == "" then . else .parts[] | select(.part == $part) end |
		.cost.amount | tonumber * 1000000 | round] | add'
}
is "$(spent first)" "$(bill first)" "it cost what the meter says: a minute"
is "$(spent first machine) $(spent first disk) $(spent first address)" "347 183 84" \
	"of a machine, its disk and its address"
like "$(gpc cost first)" "of that: machine .*, disk .*, address " "and cost shows them"
is "$(control "written?id=$(machines '.[0].id')" |
	jq -r '[.files[] | split("/")[:3] | join("/")] | unique | join(" ")')" var/lib/gpucloud \
	"nothing is installed: one folder holds all that was written there"
calls=$(($(calls) - before))
note "requests to EC2 for all of this: $calls"
[ "$calls" -lt 25 ]
ok $? "few requests"

# --- several from one loop -----------------------------------------------------
# The first one keeps their supervisor there, which asks for all of them at once.
afresh
before=$(machines length)
launches=$(asked RunInstances) images=$(asked DescribeImages) subnets=$(asked DescribeSubnets)
zones=$(asked DescribeInstanceTypeOfferings)
gpc submit -y -q -d --infra aws --name row-0 -- sleep 600 >/dev/null
for i in 1 2 3 4 5; do
	gpc submit -y -q -d --infra aws --name "row-$i" -- true >/dev/null
done
for i in 1 2 3 4 5; do gpc wait -q "row-$i" >/dev/null || break; done
is "$?" 0 "jobs of one loop all end well"
gpc cancel -q row-0 >/dev/null
wait_until 60 all_gone
is "$(machines ".[$before:] | \"\(length) \([.[].token] | unique | length)\""):$(live)" "6 6:0" \
	"each has one machine, and none is left"
is "$(($(asked RunInstances) - launches))" 6 "each was asked for once"
images=$(($(asked DescribeImages) - images)) subnets=$(($(asked DescribeSubnets) - subnets))
zones=$(($(asked DescribeInstanceTypeOfferings) - zones))
note "images $images, subnets $subnets, zones $zones"
[ "$images" -le 3 ] && [ "$subnets" -le 3 ] && [ "$zones" -le 9 ]
ok $? "and what is the same for all is not asked for each"

# --- no capacity, a lost answer, two nodes ----------------------------------
afresh
control config '{"ec2": {"capacity": {"us-east-1a/*": 0}}}' >/dev/null
control faults '{"service": "ec2", "operation": "RunInstances", "prefix": "us-east-1b/",
	"do": "reset", "effect": true}' >/dev/null
before=$(machines length)
# shellcheck disable=SC2016  # for the job
run gpc submit -y --infra aws --nodes 2 --name pair -- \
	sh -c 'echo "rank $GPUCLOUD_NODE_RANK of $GPUCLOUD_NUM_NODES"'
is "$rc" 0 "two nodes run where there is room"
like "$out" "rank 1 of 2" "both of them"
is "$(($(machines length) - before))" 2 "a lost answer buys nothing twice"
is "$(machines ".[$before:] | map(select(.zone == \"us-east-1a\")) | length")" 0 \
	"the zone without capacity sold nothing more"
is "$(gpc status pair -o json | jq -r '.refused | map(.offer + " " + (.why | match("[A-Z]\\w+Capacity").string)) | join(",")')" \
	"aws/us-east-1/us-east-1a/t3.small/on-demand InsufficientInstanceCapacity" \
	"and status keeps what was refused"

# --- what dies before it runs, and what is too much ---------------------------
afresh
control config '{"ec2": {"capacity": {}, "quotas": {"us-east-1/L-DB2E81BA": 0}, "dies": {
	"us-east-1a/*": "Server.InsufficientInstanceCapacity"}}}' >/dev/null
run gpc submit -y --infra aws --name stillborn -- true
is "$rc" 0 "a machine that dies at launch is an offer that was not to be had"
like "$(gpc status stillborn)" "died before it ran" "and status says so"
is "$(spent stillborn):$(machines "map(select(.tags[\"gpucloud-job\"] | startswith(\"stillborn\"))) | length")" \
	"$(bill stillborn):2" "which costs nothing, as the meter has it"
before=$(asked RunInstances)
run gpc submit -y --infra aws --gpus A10G:1 -- true
is "$rc:$(($(asked RunInstances) - before))" 125:1 "a limit that is too low is asked for once"
like "$err" "quota-code L-DB2E81BA" "and it is said how one asks for more"
control faults '{"service": "ec2", "operation": "RunInstances", "do": "error", "status": 400,
	"code": "InvalidParameterValue", "message": "Tag value exceeds the maximum length",
	"count": 0}' >/dev/null
before=$(machines length)
run gpc submit -y --infra aws -- true
is "$rc:$(($(machines length) - before)):$(printf '%s\n' "$err" |
	sed -n 's/.*FAILED: \([a-z_]*\).*/\1/p')" 125:0:spec_invalid \
	"a tag that EC2 refuses ends the job, and nothing is bought"
like "$err" "Tag value exceeds the maximum length .request [0-9A-F]+" "which is said"
curl -sf -X DELETE "$FAKE_CONTROL/_control/faults" >/dev/null
control config '{"ec2": {"quotas": {}, "dies": {}}}' >/dev/null

# --- waiting for capacity ------------------------------------------------------
control config '{"ec2": {"capacity": {"*": 0}}}' >/dev/null
patient=$(gpc submit -q -y -d --name patient --infra aws -- true)
cat >brief.yaml <<'Y'
resources: {infra: aws}
run: "true"
recovery: {wait_capacity: 1s}
Y
run gpc submit -q -y brief.yaml
is "$rc:$(printf '%s\n' "$err" | sed -n 's/.*FAILED: \([a-z_]*\).*/\1/p')" 125:no_capacity "capacity is waited for as long as the spec says"
control config '{"ec2": {"capacity": {}}}' >/dev/null
run gpc wait "$patient"
is "$rc" 0 "or until there is some"

# --- networks, EFA, what is reserved ------------------------------------------
run gpc submit -y --infra aws/us-west-2 --name own -- true
is "$rc:$(machines 'max_by(.launched).zone')" 0:us-west-2b "subnets of one's own are found by their tag"
like "$err" "store is in us-east-1 and the machine in us-west-2" "another region than the store's is said"
printf 'name: moved\nresources: {infra: aws, image_id: {us-east-1: ami-%017d, us-west-2:
	ami-%017d}}\nrun: "true"\n' 6 6 >image.yaml
run env GPUCLOUD_AWS_REGIONS=us-east-1,us-west-2 "$GPUCLOUD_BIN" submit -y image.yaml
is "$rc:$(machines 'max_by(.launched).zone')" 0:us-west-2b "a region without the image is passed over"
like "$err" "aws/us-east-1/.*cannot be had: .*InvalidAMIID.NotFound" "which is said"
like "$(gpc status moved -o json | jq -r '.refused[] | .offer + " " + .why')" \
	"^aws/us-east-1/[^ ]* .*InvalidAMIID.NotFound" "and kept"
run gpc submit -y --infra aws --instance-type p5.48xlarge --nodes 2 -- true
like "$err" "network_tier: standard" "cards without a way to the store are refused"
run gpc submit -y --infra aws --instance-type g5.12xlarge --nodes 2 --name efa -- true
is "$rc:$(machines 'map(select(.tags["gpucloud-side"])) | length')" 0:2 "several machines talk by EFA"
is "$(asked CreatePlacementGroup):$(control machines | jq -c .groups)" '1:[]' \
	"their group goes with them"
control config '{"ec2": {"reservations": [{"id": "cr-1", "type": "g5.xlarge",
	"zone": "us-east-1b", "count": 1, "market": "capacity-block"}]}}' >/dev/null
run env GPUCLOUD_AWS_RESERVATIONS=cr-1,cr-2 "$GPUCLOUD_BIN" submit -y --infra aws --instance-type g5.xlarge -- true
is "$rc:$(machines 'max_by(.launched) | .market + " " + .zone')" "0:capacity-block us-east-1b" \
	"what is reserved is used first"
like "$err" "cr-1 is paid for" "at no further price"
like "$err" "aws.reservations: cr-2 is not in us-east-1" "and what is named and not there, is told"

# --- the spot market takes it back, a host dies -----------------------------
afresh
control config '{"ec2": {"capacity": {}}}' >/dev/null
cat >spot.yaml <<'Y'
name: spot
resources: {infra: aws, use_spot: true}
run: |
  i=0
  [ -z "${GPUCLOUD_RESUME_FROM:-}" ] || i=$(cat "$GPUCLOUD_RESUME_FROM/n")
  echo "from $i on"
  echo 1 >"$GPUCLOUD_CHECKPOINT_DIR/n"
  [ "$i" -gt 0 ] || exec sleep 600
checkpoint: {path: ck, upload_every: 1s, grace: 1s}
metrics: {loss: "from ([0-9]+) on"}
Y
newest() { machines 'max_by(.launched).id'; }
runs() { gpc status "$1" -o json | jq -e '.. | .state? // empty | select(. == "RUNNING")' >/dev/null; }
control faults '{"service": "cloudwatch", "operation": "PutMetricData", "do": "error",
	"status": 403, "code": "AccessDenied"}' >/dev/null
export GPUCLOUD_AWS_CLOUDWATCH=team/training
job=$(gpc submit -q -y -d spot.yaml)
unset GPUCLOUD_AWS_CLOUDWATCH
wait_until 120 runs "$job"
control machines "{\"id\": \"$(newest)\", \"do\": \"notice\", \"seconds\": 120}" >/dev/null
run gpc wait "$job"
is "$rc" 0 "after a notice the job goes on on another machine"
like "$(gpc logs "$job" --attempt 2 2>/dev/null)" "from 1 on" "from what it had saved"
like "$(gpc status "$job")" "spot_interrupted" "and says why"
is "$(machines "map(select(.tags[\"gpucloud-job\"] == \"$job\") | .market) | unique | join(\" \")")" \
	spot "as a spot machine again"

is "$(control "requests?service=cloudwatch" | jq -c '.requests | map(.status)')" "[403,200]" \
	"figures that CloudWatch refuses are lost, and no more than that"
is "$(control figures | jq -c '.figures | map([.space, .region, .name, .sum == 1, .dimensions])')" \
	"[[\"team/training\",\"us-east-1\",\"loss\",true,{\"JobId\":\"$job\",\"Rank\":\"0\"}]]" \
	"its metrics are in CloudWatch, as asked"

job=$(gpc submit -q -y -d --name dies --infra aws -- sh -c \
	'[ "$GPUCLOUD_ATTEMPT" -gt 1 ] || exec sleep 600')
wait_until 120 runs "$job"
control machines "{\"id\": \"$(newest)\", \"do\": \"kill\"}" >/dev/null
run gpc wait "$job"
is "$rc" 0 "a job survives the sudden death of its machine"

# --- a way to a machine -----------------------------------------------------
afresh
control config '{"ec2": {"nets": ["127.101", "127.102"]}}' >/dev/null
groups() { control machines | jq -r ".security_groups | map(select(.name != \"default\")) | $1"; }
rules() { groups '.[].rules[].cidr' | sort | tr '\n' ' '; }
job=$(gpc submit -q -y -d --name reached --infra aws -- sleep 600)
wait_until 120 runs "$job"
is "$(groups length)" 0 "nothing guards or opens a machine before it is asked for"
run gpc ssh reached --allow 192.0.2.77/24 -- true
is "$rc:$(rules)" "255:192.0.2.0/24 " "another one's address is let in, and not ours" || note "$err"
run gpc ssh reached -- 'echo "$GPUCLOUD_JOB_ID: $(id -un)"; exit 5'
is "$rc:$out" "5:$job: root" "a command runs on a machine of EC2" || note "$err"
is "$(rules)" "127.0.0.1/32 192.0.2.0/24 " "the caller's address alone was added"
is "$(groups '.[0].tags["gpucloud-job"]'):$(groups length)" "$job:1" "by one group with the job's tags"
run gpc release reached
way_gone() {
	[ "$(groups length)" = 0 ] && ! grep -q "$job" "$XDG_CONFIG_HOME/gpucloud/ssh_config"
}
wait_until 60 way_gone
ok $? "the group goes with the job, and so does the entry"

# --- ports --------------------------------------------------------------------
# Opened for one address of this machine; EC2 refuses that at first, and the supervisor
# dies meanwhile.
rule_fault() { # FAULT...: of the call that makes rules
	curl -sf -X DELETE "$FAKE_CONTROL/_control/faults" >/dev/null
	for fault; do
		control faults "{\"service\": \"ec2\", \"operation\":
			\"AuthorizeSecurityGroupIngress\", $fault}" >/dev/null
	done
}
rule_fault '"do": "error", "status": 403, "code": "UnauthorizedOperation", "count": 0'
cat >serves.yaml <<'Y'
name: serves
resources: {infra: aws, ports: [18080, 18090-18091], allow: [127.0.0.9, "2001:db8::/32"]}
run: |
  at=$(cat /proc/[0-9]*/environ | tr '\0' '\n' |
    sed -n 's/^AWS_EC2_METADATA_SERVICE_ENDPOINT=//p' | head -n 1)/latest
  token=$(curl -sf -X PUT -H "X-aws-ec2-metadata-token-ttl-seconds: 60" "$at/api/token")
  exec python3 -m http.server 18080 --bind \
    "$(curl -sf -H "X-aws-ec2-metadata-token: $token" "$at/meta-data/local-ipv4")"
Y
job=$(gpc submit -q -y -d serves.yaml)
says() { gpc status "$job" | tr -s ' \n' ' ' | grep -q -e "$1"; }
wait_until 120 says "ports are not open yet: .*UnauthorizedOperation.*request .*IAM"
ok $? "what EC2 refuses is said, with the request's id and what to do" ||
	note "$(gpc status "$job")"
like "$(gpc status "$job")" "Ports: *18080: not open yet" "nor does status show more than there is"
for pid in $(pids_with "$T/"); do
	case $(program_args "$pid") in supervise*) kill_pids KILL "$pid" ;; esac
done
rule_fault '"do": "error", "status": 503, "code": "RequestLimitExceeded"' \
	'"do": "reset", "effect": true, "nth": 2'
gpc update -q "$job" --priority 1 >/dev/null
at() { gpc status "$job" -o json | jq -r '.ports[0].at // empty'; }
is_open() { at | grep -q '^http://127[.]10[12][.][0-9.]*:18080$'; }
wait_until 120 is_open
ok $? "the next one opens them: refused calls and lost answers double nothing"
is "$(groups length):$(rules)" \
	"1:127.0.0.9/32 127.0.0.9/32 2001:db8::/32 2001:db8::/32 " "one group, two rules for each"
fetch() { curl -sf --max-time 10 --interface "$1" "$(at)" >/dev/null; }
wait_until 60 fetch 127.0.0.9
ok $? "the job is reached from the address that may"
! fetch 127.0.0.1
ok $? "and not from another one"
is "$(gpc status "$job" -o json | jq -c '[.allow, .ports[1].ports]')" \
	'[["127.0.0.9/32","2001:db8::/32"],"18090-18091"]' "status tells programs the same"
run gpc release serves
group_gone() { [ "$(groups length)" = 0 ]; }
wait_until 60 group_gone
ok $? "the group goes with the job"

# --- nothing is left --------------------------------------------------------
job=$(gpc submit -q -y -d --name left --infra aws -- sleep 600)
wait_until 120 runs "$job"
by_user setup aws --undo -y
is "$rc" 8 "setup takes nothing away while a machine runs" || note "$err"
run gpc ssh left -- true
is "$rc:$(groups length)" 0:1 "a way to a machine"
for pid in $(pids_with "$T/"); do
	case $(program_args "$pid") in supervise*) kill_pids KILL "$pid" ;; esac
done
id=$(newest)
control machines "{\"id\": \"$id\", \"do\": \"older\", \"seconds\": 7000}" >/dev/null
control machines "{\"id\": \"$id\", \"do\": \"cut\", \"seconds\": 600}" >/dev/null
run env GPUCLOUD_AWS_REGIONS=$closed "$GPUCLOUD_BIN" release --all --now -y
is "$rc:$(live):$(groups length)" 0:0:0 \
	"release --all finds by tags what nobody supervises any more, past a region that is not enabled"
is_told() {
	gpc supervise --once 2>/dev/null
	gpc status "$job" --json | jq -e 'all(.nodes[]; .released)'
}
wait_until 60 is_told
check "two hours cost what the meter says, but for the two seconds at their ends" \
	awk "BEGIN { d = $(spent "$job") - $(bill "$job"); exit !(d * d <= 24 * 24) }"

# --- what a machine cannot do -----------------------------------------------
afresh
export AWS_ACCESS_KEY_ID="$user_id" AWS_SECRET_ACCESS_KEY="$user_secret"
run gpc setup aws --undo -y
is "$rc" 0 "setup takes away what it made" || note "$err"
before=$(machines length)
run gpc submit -y --infra aws --name roleless --max-cost 1 -- true
is "$(($(machines length) - before))" 0 "without the nodes' profile nothing is bought"
like "$err" "setup aws" "and says what makes it"
# --- machines that do not boot ----------------------------------------------
# Each in a store of its own, so that all of them fail at once; what their scripts wait
# for is short here, and their agents die when they are born.
control config '{"ec2": {"profiles": ["gpucloud-node"], "environment": {
	"GPC_BOOT_SECOND": "0.005", "GPUCLOUD_CRASH": "agent.born",
	"GPUCLOUD_CRASH_DIR": "/tmp"}}}' >/dev/null
bundles_fail() { # STORE FAULT
	control faults "{\"service\": \"s3\", \"operation\": \"GetObject\", \"count\": 0,
		\"prefix\": \"$1/blobs/\", $2}" >/dev/null
}
bundles_fail denied '"do": "error", "status": 403, "code": "AccessDenied"'
bundles_fail cut '"do": "reset"'
bundles_fail spoiled '"do": "corrupt", "at": 1000'
for job in denied cut spoiled dies-young; do
	gpc submit -q -y -d --store "s3://bucket/$job" --infra aws --name "$job" -- true >/dev/null
	ok $? "$job is submitted"
done
boot_failed() { # JOB MACHINES REASON WORD WORDS
	run gpc wait --store "s3://bucket/$1" "$1"
	is "$rc:$(machines "map(select(.tags[\"gpucloud-job\"] | startswith(\"$1-\"))) |
		length"):$(gpc status --store "s3://bucket/$1" "$1" -o json |
		jq -r '[.. | .attempts? // empty | .[] | .reason + " " + .boot] | unique |
			join(",")')" "125:$2:$3 $4" "$1: machines and reason"
	like "$(gpc status --store "s3://bucket/$1" "$1")" "$5" "$1: in words, with what to do"
}
boot_failed denied 1 auth access_denied "may not use the store: 403 AccessDenied .allow"
boot_failed cut 2 store_unreachable no_network "does not reach the store: .*subnet needs a way"
boot_failed spoiled 1 agent_failed bad_checksum "not what was uploaded"
boot_failed dies-young 2 agent_failed agent_died "agent was killed by signal 9"
# A bundle for another architecture, as far as it is looked at; the machines of this
# stand-in are what this machine is.
run gpc submit -y --infra aws --gpus T4G:1 -- true
like "$err" "g5g.xlarge is arm64, for which there is no bundle here: .*bundle.sh arm64.*--add-bundle" \
	"another architecture needs a bundle of its own"
mkdir -p other/bin other/etc
printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\267\0' >other/bin/gpucloud
printf '#!/bin/sh\n' >other/gpucloud
printf '%s arm64\n' "$(gpc version)" >other/etc/version
tar -C other -czf other.tgz bin/gpucloud gpucloud etc/version
run gpc agent --add-bundle other.tgz
is "$rc" 0 "which is taken up" || note "$err"
gpc submit -q -y -d --store s3://bucket/arm --infra aws --gpus T4G:1 --name arm -- true >/dev/null
boot_failed arm 1 spec_invalid wrong_arch "for another architecture than the machine"
is "$(machines 'max_by(.launched) | .type + " " + .arch'):$(control 'requests?service=s3' |
	jq --arg sum "$(sha256sum other.tgz | cut -d' ' -f1)" '[.requests[] |
	select(.operation == "GetObject" and (.key | endswith($sum)))] | length')" \
	"g5g.xlarge arm64:1" "the machine, with an image that fits it, fetched that one"
run gpc offers --infra aws -o json
is "$(printf '%s' "$out" | jq -c '[.rows[] | select(.fits and (.instance_type | test("^[a-z]+[0-9]g")))]')" \
	'[]' "who names none gets none"
# The agent tells this one by the store; nothing here has a driver.
control config '{"ec2": {"environment": {}}}' >/dev/null
run gpc submit -y -d -q --store s3://bucket/bare --infra aws --gpus A10G:1 --name bare -- true
boot_failed bare 2 gpu_error no_driver "no working GPU driver"
# --- one region of several ----------------------------------------------------
# The machine of a job that the store knows nothing of any more.
afresh
gpc submit -q -y -d --store s3://bucket/lone --infra aws --name lone -- sleep 600 >/dev/null
is_bought() { [ "$(live)" = 1 ]; }
wait_until 60 is_bought
for pid in $(pids_with "$T/"); do
	case $(program_args "$pid") in supervise*) kill_pids KILL "$pid" ;; esac
done
/usr/bin/python3 - "$FAKE_S3" <<'X'
import boto3, sys
bucket = boto3.resource("s3", endpoint_url=sys.argv[1], region_name="us-east-1").Bucket("bucket")
for folder in ("jobs", "live", "index"):
    bucket.objects.filter(Prefix="lone/%s/" % folder).delete()
X
control faults '{"service": "ec2", "operation": "DescribeInstances", "prefix": "us-west-2/",
	"do": "error", "status": 403, "code": "UnauthorizedOperation", "count": 0}' >/dev/null
run env GPUCLOUD_AWS_REGIONS=us-west-2,us-east-1 "$GPUCLOUD_BIN" release \
	--store s3://bucket/lone --orphans
is "$rc" 4 "a region that does not answer is told"
like "$err" "us-west-2: .*UnauthorizedOperation" "by its name"
wait_until 20 all_gone
ok $? "and keeps no machine of the others"
stop_fakecloud
finish
