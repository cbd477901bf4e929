#!/bin/sh
# recovery.by: cloud on EC2: a group of Auto Scaling starts the next machine, whoever is
# there to see it, and ends with the job.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_fakecloud --set ec2_boot=true
control() { # PATH [JSON]
	curl -sf ${2:+-d "$2"} "$FAKE_CONTROL/_control/$1"
}
export AWS_ENDPOINT_URL_EC2="$FAKE_EC2" AWS_ENDPOINT_URL_SSM="$FAKE_SSM" \
	AWS_ENDPOINT_URL_AUTO_SCALING="$FAKE_AUTO_SCALING" \
	AWS_ENDPOINT_URL_S3="$FAKE_S3" AWS_ENDPOINT_URL_IAM="$FAKE_IAM" \
	AWS_ENDPOINT_URL_STS="$FAKE_STS" AWS_EC2_METADATA_DISABLED=true \
	GPUCLOUD_STORE="s3://bucket/store"
[ "$(id -u)" -eq 0 ] || skip_all "machines are booted by root alone"
RUN_SECONDS=120
# Machines have the role of nodes that setup makes, and who submits the one of supervisors.
control config '{"ec2": {"profiles": []}}' >/dev/null
run gpc setup aws --supervisor-role --auto-scaling -y
is "$rc" 0 "setup makes the roles" || note "$err"
control keys '{"id": "AKIASUPERVISOR", "secret": "supervisor", "arn":
	"arn:aws:sts::123456789012:assumed-role/gpucloud-supervisor/here"}' >/dev/null
export AWS_ACCESS_KEY_ID=AKIASUPERVISOR AWS_SECRET_ACCESS_KEY=supervisor

machines() { # FILTER: of all that were ever bought
	control machines | jq -r ".machines | $1"
}
live() { machines 'map(select(.state != "terminated")) | length'; }
groups() { control groups | jq -r "$1"; }
nothing_left() {
	[ "$(live)$(groups '(.groups + .templates) | length')" = 00 ]
}
runs() { gpc status "$1" -o json | jq -e '.. | .state? // empty | select(. == "RUNNING")' >/dev/null; }
kill_supervisor() {
	for pid in $(pids_with "$T/"); do
		case $(program_args "$pid") in supervise*) kill_pids KILL "$pid" ;; esac
	done
}
state() { gpc status "$1" -o json | jq -r '[.. | .state? // empty][0]'; }
sleeper() { # NAME: prints the job, which runs
	printf '%s\n' "name: $1" "recovery: {by: cloud}" "resources: {infra: aws}" \
		"checkpoint: {path: ck}" "run: sleep 600" >"$1.yaml"
	made=$(gpc submit -q -y -d "$1.yaml") || return
	wait_until 120 runs "$made"
	echo "$made"
}

# --- what it is not for -----------------------------------------------------
printf '%s\n' "recovery: {by: cloud}" "run: 'true'" >here.yaml
run gpc submit -y --infra local here.yaml
is "$rc" 3 "a provider without groups is refused"
like "$err" "recovery.by: cloud" "by name"
run gpc submit -y --infra aws --nodes 2 here.yaml
is "$rc:$(machines length)" 3:0 "several nodes are refused"

# --- nobody is there ---------------------------------------------------------
cat >spot.yaml <<'Y'
name: spot
resources: {infra: aws, use_spot: true}
recovery: {by: cloud}
run: |
  i=0
  [ -z "${GPUCLOUD_RESUME_FROM:-}" ] || i=$(cat "$GPUCLOUD_RESUME_FROM/n")
  echo "from $i on"
  echo 1 >"$GPUCLOUD_CHECKPOINT_DIR/n"
  [ "$i" -gt 0 ] || exec sleep 600
checkpoint: {path: ck, upload_every: 1s, grace: 1s}
Y
job=$(gpc submit -q -y -d spot.yaml)
wait_until 120 runs "$job"
is "$(groups '.groups[0] | .sizes == [0, 1, 1] and
	.actions["gpucloud-end"].desired == 0 and
	(.actions["gpucloud-end"].start | floor) == (.tags["gpucloud-expires"] | tonumber)')" true \
	"a group of one, which AWS itself ends with the job's lifetime"
is "$(groups '.groups[0].tags["gpucloud-job"]')" "$job" "it bears the job's tags"
is "$(control 'requests?service=auto_scaling' | jq -r '[.requests[].operation |
	select(test("^(Create|Put|Update)|ScheduledActions"))] | join(" ")')" \
	"CreateAutoScalingGroup PutScheduledUpdateGroupAction DescribeScheduledActions UpdateAutoScalingGroup" \
	"and that end is there, and was read back, before it may start a machine"
kill_supervisor
control machines "{\"id\": \"$(groups '.groups[0].machines[0]')\", \"do\": \"notice\"}" >/dev/null
wait_until 120 nothing_left
ok $? "after a notice to nobody a second machine comes, and all is gone in the end"
is "$(machines '[length, (map(.market) | unique[])] | join(" ")')" "2 spot" "two machines did it"
is "$(state "$job")" SUCCEEDED "the job is done"
like "$(gpc logs "$job" --attempt 2 2>/dev/null)" "from 1 on" "from what it had saved"
like "$(gpc status "$job")" "spot_interrupted" "and it is told why there were two attempts"
run gpc release "$job"
is "$rc" 0 "whoever comes later finds nothing to release"
is "$(gpc status "$job" -o json | jq -c '[.. | objects | select(has("rank") and has("provider")) | .status // .state] | unique')" \
	'["RELEASED"]' "and writes that down"

# --- answers are lost, there is no room --------------------------------------
control config '{"ec2": {"capacity": {"us-east-1a/*": 0}}}' >/dev/null
for operation in CreateLaunchTemplate UpdateAutoScalingGroup; do
	control faults "{\"operation\": \"$operation\", \"do\": \"reset\", \"effect\": true}" >/dev/null
done
control faults '{"operation": "CreateAutoScalingGroup", "do": "late", "ms": 1500}' >/dev/null
control faults '{"operation": "DeleteAutoScalingGroup", "do": "error", "status": 400,
	"code": "ScalingActivityInProgress"}' >/dev/null
before=$(machines length)
printf '%s\n' "name: lost" "recovery: {by: cloud}" "checkpoint: {path: ck}" \
	"resources: {infra: aws}" "run: exit 7" >lost.yaml
run gpc submit -y lost.yaml
is "$rc" 7 "lost and late answers, and a zone without a machine: the job runs all the same"
is "$(machines "[.[$before:][] | .zone] | join(\" \")")" us-east-1b \
	"on one machine, in the next zone"
wait_until 60 nothing_left
ok $? "the group that could start none is gone, too, though it could not be deleted at once"
curl -sf -X DELETE "$FAKE_CONTROL/_control/faults" >/dev/null
control config '{"ec2": {"capacity": {}}}' >/dev/null

# --- one too many -------------------------------------------------------------
job=$(sleeper twin)
first=$(groups '.groups[0].machines[0]')
two() { [ "$(groups '.groups[0].machines | length')" = 2 ]; }
one() { [ "$(groups '.groups[0] | [.sizes[1], (.machines | join(" "))] | join(" ")')" = "1 $first" ]; }
kill_supervisor
control groups '{"size": 2}' >/dev/null
wait_until 60 two
wait_until 120 one
ok $? "a second node of the group finds the attempt taken, and leaves"
is "$(state "$job")" RUNNING "the first one runs on"
run gpc release --all -y
is "$rc" 0 "release --all ends the group before its machine"
ok "$(nothing_left; echo $?)" "and nothing comes after it"

# --- cancelled ----------------------------------------------------------------
# Another job has come as far as a template, and no further: lists leave templates out
# where there is a group.
job=$(sleeper stopped)
control faults '{"operation": "CreateAutoScalingGroup", "do": "reset", "effect": false,
	"count": 0}' >/dev/null
has() { [ "$(groups '"\(.groups | length) \(.templates | length)"')" = "$1" ]; }
half=$(gpc submit -q -y -d --name half stopped.yaml)
wait_until 60 has "1 2"
ok $? "a job is stopped between its template and its group"
run gpc cancel "$half"
wait_until 60 has "1 1"
ok $? "cancelled, it takes its template along"
curl -sf -X DELETE "$FAKE_CONTROL/_control/faults" >/dev/null
run gpc cancel "$job"
wait_until 120 nothing_left
ok $? "a cancelled job takes its group along"
run gpc release "$job"
is "$rc" 0 "which is written down"

# --- dying at each step ---------------------------------------------------------
# The intent is there before anything is made, and the group's name is its token:
# whoever comes next makes the same group, or ends it.
mkdir "$T/crash"
printf '%s\n' "name: crash" "recovery: {by: cloud}" "checkpoint: {path: ck}" \
	"resources: {infra: aws}" "run: echo it ran" >crash.yaml
died() { [ -e "$T/crash/$point.died" ]; }
if grep -qa GPUCLOUD_CRASH_DIR "$GPUCLOUD_BIN"; then
	for point in group.asks group.answered group.destroyed; do
		before=$(machines length)
		[ $point != group.destroyed ] || # of one that has no room
			control config '{"ec2": {"capacity": {"us-east-1a/*": 0}}}' >/dev/null
		kill_supervisor # of the job before, which is over
		job=$(GPUCLOUD_CRASH=$point GPUCLOUD_CRASH_DIR="$T/crash" \
			gpc submit -q -y -d crash.yaml)
		wait_until 120 died
		ok $? "a supervisor dies at $point"
		run gpc wait "$job"
		wait_until 120 nothing_left
		run gpc release "$job"
		is "$rc:$(state "$job"):$(nothing_left; echo $?):$(machines "length - $before")" \
			0:SUCCEEDED:0:1 "the job runs once all the same, and nothing is left"
	done
	control config '{"ec2": {"capacity": {}}}' >/dev/null

	# Nobody supervises. The first node dies when it has begun the attempt, the second
	# when all is done but the group is there, the third when it has ended the group.
	shared=$(cat "$T/fake/data")/crash # machines have /dev as it is here
	mkdir "$shared"
	rm "$T/crash/group.answered.died"
	control config "{\"ec2\": {\"environment\": {\"GPUCLOUD_CRASH_DIR\": \"$shared\",
		\"GPUCLOUD_CRASH\": \"claim.appended,agent.parts,agent.parted\"}}}" >/dev/null
	before=$(machines length)
	kill_supervisor
	job=$(GPUCLOUD_CRASH=group.answered GPUCLOUD_CRASH_DIR="$T/crash" \
		gpc submit -q -y -d crash.yaml)
	point=group.answered
	wait_until 120 died # before that there is nothing yet
	wait_until 120 nothing_left
	ok $? "nodes die as they claim and as they part: all is gone in the end"
	# The machine may go with its group before the third one comes to its point.
	is "$(cd "$shared" && ls claim.appended.died agent.parts.died | tr '\n' ' ')" \
		"agent.parts.died claim.appended.died " "at their points"
	run gpc release "$job"
	is "$rc:$(state "$job"):$(machines "length - $before"):$(gpc logs "$job")" \
		"0:SUCCEEDED:3:it ran" "the job is done, by the second of three machines"
	control config '{"ec2": {"environment": {}}}' >/dev/null
fi
stop_fakecloud
finish
