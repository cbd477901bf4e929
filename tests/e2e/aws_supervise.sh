#!/bin/sh
# A supervisor on a machine of its own: what this machine began goes on without it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_fakecloud --set ec2_boot=true
control() { # PATH [JSON]
	curl -sf ${2:+-d "$2"} "$FAKE_CONTROL/_control/$1"
}
export AWS_ENDPOINT_URL_EC2="$FAKE_EC2" AWS_ENDPOINT_URL_SSM="$FAKE_SSM" \
	AWS_ENDPOINT_URL_S3="$FAKE_S3" AWS_ENDPOINT_URL_IAM="$FAKE_IAM" \
	AWS_ENDPOINT_URL_STS="$FAKE_STS" AWS_EC2_METADATA_DISABLED=true \
	GPUCLOUD_STORE="s3://bucket/store"
[ "$(id -u)" -eq 0 ] || skip_all "machines are booted by root alone"
other() { # WORD...: of gpucloud, in another store
	env GPUCLOUD_STORE=s3://bucket/other "$GPUCLOUD_BIN" "$@"
}
# All that machines do, they do with the roles that setup makes.
control config '{"ec2": {"profiles": []}}' >/dev/null
run gpc setup aws --supervisor-role -y
is "$rc" 0 "setup makes both roles" || note "$err"
other setup aws --supervisor-role -y >/dev/null 2>&1
ok $? "which stores share"

machines() { # FILTER: of all that were ever bought
	control machines | jq -r ".machines | $1"
}
all_gone() { # [JOB...]
	for gone in "$@"; do
		[ "$(of "$gone" ' | map(select(.state != "terminated")) | length')" = 0 ] || return
	done
	[ $# -gt 0 ] || [ "$(machines 'map(select(.state != "terminated")) | length')" = 0 ]
}
runs() { in_state "$1" RUNNING; }
of() { # JOB: its machines
	machines "map(select(.tags[\"gpucloud-job\"] == \"$1\"))$2"
}
supervisors() { # SIGNAL [STORE]: to those of this machine, if there are any
	some=1
	for pid in $(pids_with "GPUCLOUD_STORE=${2:-$GPUCLOUD_STORE}"); do
		case $(program_args "$pid") in supervise*) kill_pids "$1" "$pid" && some=0 ;; esac
	done
	return "$some"
}
alone() { ! supervisors 0; }
alone_there() { ! supervisors 0 s3://bucket/other; }
RUN_SECONDS=180

# --- before one is bought -----------------------------------------------------
run gpc supervise --on aws -y --store "file://$T/folder"
is "$rc" 0 "without a store there is nothing to move"
run gpc supervise --on gcp -y
is "$rc" 3 "it is refused where it is not built yet"
cat >spot.yaml <<'Y'
name: train
resources: {infra: aws, use_spot: true}
run: |
  [ "$GPUCLOUD_ATTEMPT" -gt 1 ] || exec sleep 600
  echo done
Y
job=$(gpc submit -q -y -d spot.yaml)
wait_until 120 runs "$job"
run gpc supervise --on aws --dry-run
like "$err" "t3.micro" "the smallest machine is planned"
like "$err" "after 7d.*costs at most [$]" "with its end and what it may cost"
run gpc supervise --on aws </dev/null
is "$rc:$(machines length)" 2:1 "it is not bought unasked"

# --- it is bought, and this machine goes -------------------------------------
run gpc supervise --on aws -y
machine=$out
is "$rc:$(state_of "$machine")" 0:RUNNING "the command returns when the machine supervises"
like "$err" "stands by" "and says so"
is "$(of "$machine" '[0] | [.type, .market] | join(" ")')" "t3.micro on-demand" "it is the smallest"
run gpc supervise --on aws -y
is "$rc:$out:$(machines length)" "0:$machine:2" "a second one is not bought"
like "$(gpc status "$job")" "$machine, when it is gone" "status names it"

# --- in the other store it dies, with the machine of its job --------------------
# Its silence has to last for a minute, which passes beside what follows.
lost=$(other submit -q -y -d --name lost spot.yaml)
lost_runs() { [ "$(other status "$lost" -o json | jq -r '.. | .state? // empty' | head -n 1)" = "$1" ]; }
wait_until 120 lost_runs RUNNING
second=$(other supervise --on aws -y 2>/dev/null)
lost_held() { [ "$(other status "$lost" -o json | jq -r '.supervisor.job')" = "$second" ]; }
supervisors TERM s3://bucket/other
wait_until 120 lost_held
ok $? "another one takes over in another store"
for victim in "$second" "$lost"; do
	control machines "{\"id\": \"$(of "$victim" '[0].id')\", \"do\": \"kill\"}" >/dev/null
done
other supervise >"$T/other" 2>&1 &

# --- here it takes over, and this machine goes -----------------------------------
supervisors TERM
held() { [ "$(gpc status "$job" -o json | jq -r '.supervisor.job')" = "$machine" ]; }
wait_until 120 held
ok $? "it takes over"
like "$(gpc status "$job")" "$machine, on a machine of its own" "status says so"
control machines "{\"id\": \"$(of "$job" '[0].id')\", \"do\": \"notice\", \"seconds\": 120}" >/dev/null
wait_until 180 all_gone "$job" "$machine"
ok $? "all machines are gone"
alone
ok $? "without a supervisor here"
is "$(of "$job" ' | length')" 2 "it bought the next attempt"
run gpc wait "$job"
is "$rc" 0 "and the job has ended well"
like "$(gpc logs "$job" 2>/dev/null)" "done" "with its output"
run gpc wait "$machine"
is "$rc" 0 "so has the supervisor"
run gpc cost --json
is "$(printf '%s' "$out" | jq -c --arg a "$job" --arg b "$machine" \
	'[.. | .job? // empty | select(. == $a or . == $b)] | unique | length')" 2 \
	"both are in the costs"
run gpc release --orphans --dry-run
is "$rc" 0 "nothing is left"

# --- and there ----------------------------------------------------------------
wait_until 240 lost_runs SUCCEEDED
ok $? "this computer goes on where a supervisor's machine died" || note "$(cat "$T/other")"
is "$(of "$lost" ' | length')" 2 "with one more machine for the job"
wait_until 120 all_gone
ok $? "and nothing is left there, either"
wait_until 60 alone
ok $? "who closed them has ended"
wait_until 60 alone_there
ok $? "here and there"
stop_fakecloud
finish
