#!/bin/sh
# A tethered job ends with its client: told by a signal, or missed.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# What it writes when it is told to stop is what the last save must have.
cat >count.yaml <<'EOF'
name: count
envs: { PAUSE: "0.1" }
run: |
  cd "$GPUCLOUD_CHECKPOINT_DIR"
  put() { echo "$2" >.part && mv .part "$1"; }
  trap 'put bye "$n"; exit 143' TERM
  n=0
  while sleep "$PAUSE"; do
    n=$((n + 1))
    put n "$n"
  done
checkpoint: { path: state, upload_every: 1s }
limits: { time: 5m }
EOF
# Sets $client and $job: an attached submit in the background that has begun.
attach() { # NAME OPTION...
	name=$1
	shift
	# a background job of this shell would not hear SIGINT
	env --default-signal=INT ${CI_IS:+"CI=$CI_IS"} "$GPUCLOUD_BIN" submit -q --wait --name "$name" \
		"$@" count.yaml >"$name.out" 2>"$name.err" &
	client=$!
	wait_until 20 in_state "$name" RUNNING
	wait_until 20 has_checkpoint "$name"
	job=$(gpc status "$name" -o name)
}
ends() { # SIGNAL: sets $rc
	kill "-$1" "$client"
	rc=0
	wait "$client" || rc=$?
}
supervisor_pids() {
	for p in $(pids_with "$T/"); do
		tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -q ' supervise ' && echo "$p"
	done
}
none_of_job() { [ -z "$(job_pids "$job")" ]; }
saved_last() { # TEXT
	run gpc checkpoint pull -q "$job" "last-$name"
	[ -e "last-$name/bye" ]
	ok $? "$1"
}

run gpc submit -n --tether=90s -- true
is "$rc" 0 "a tethered submit can be planned"
like "$err" "tether +it ends when .* silent for 1m30s" "its plan names the tether"
run gpc submit -n -o json --tether=90s -- true
is "$(printf '%s' "$out" | jq '.plans[0].tether_ms')" 90000 "for programs too"
run gpc submit -n -d --tether -- true
is "$rc" 2 "a plan is refused for what would be refused"

attach int --tether
run gpc status "$job"
far || like "$out" "^Tether: +it ends when its client is .* silent for 10m$" "status tells the tether"
ends INT
is "$rc" 130 "an interrupted tethered client exits with 130"
is "$(state_of "$job")" CANCELLED "and its job is cancelled when it does"
like "$(cat int.err)" "cancelled with this client" "which it says"
saved_last "the job saved before it stopped"
wait_until 10 none_of_job
ok $? "nothing is left running"

# One that takes the job up without a tether does not renew it, and takes it away.
attach taken --once taken --tether
ends KILL
env --default-signal=INT "$GPUCLOUD_BIN" submit -q --wait --name taken --once taken count.yaml \
	>taken.out 2>taken.err &
client=$!
is_free() { ! stored "jobs/$job/" | grep -q "tether$"; }
wait_until 10 is_free
ok $? "a client without a tether frees the job of another one's" || note "$(cat taken.err)"
ends INT
is "$rc $(state_of "$job")" "130 RUNNING" "which is not cancelled with it either"
gpc cancel -q "$job" --now

CI_IS=true attach ci
ends TERM
is "$rc" 143 "in CI a client is tethered by itself"
is "$(state_of "$job")" CANCELLED "so the job of a cancelled pipeline ends"

CI_IS=true attach free --no-tether
ends TERM
is "$rc" 143 "--no-tether in CI"
is "$(state_of "$job")" RUNNING "leaves the job running"
gpc cancel -q "$job"

CI_IS=true
export CI_IS
job=$(env CI=true "$GPUCLOUD_BIN" submit -q -d --name away count.yaml)
[ ! -e "$STORE/jobs/$job/tether" ]
ok $? "a detached job is not tethered, in CI either"
gpc cancel -q "$job"
unset CI_IS

within=$((SLOW > 4 ? 15 : 3)) # a look at the state takes as long under memcheck
attach killed "--tether=${within}s"
ends KILL
is "$(state_of "$job")" RUNNING "a killed client says nothing"
wait_until 60 in_state "$job" CANCELLED
is "$(state_of "$job")" CANCELLED "and is missed"
run gpc status "$job"
like "$out" "silent for ${within}s" "status says why"
unlike "$out" "^Tether:" "and of an ended job nothing of a tether"
saved_last "the job saved"
wait_until 10 none_of_job
ok $? "nothing is left running"

# What the killed client left does not end what comes later.
run gpc resume -d "$job"
is "$rc" 0 "it can be resumed without a client"
wait_until 20 in_state "$job" RUNNING
[ ! -e "$STORE/jobs/$job/tether" ]
ok $? "and is not tethered then"
gpc cancel -q "$job"

# A stopped supervisor does not matter: the node sees it, too.
attach alone --tether=3s
for pid in $(supervisor_pids); do kill -STOP "$pid"; done
ends KILL
wait_until 60 none_of_job
ok $? "a node without a supervisor ends by itself"
for pid in $(supervisor_pids); do kill -CONT "$pid"; done
wait_until 20 in_state "$job" CANCELLED
is "$(state_of "$job")" CANCELLED "which is CANCELLED, and tried no more"

run gpc submit -d --tether count.yaml
is "$rc" 2 "-d with --tether is refused"
run gpc submit --tether=1ms count.yaml
is "$rc" 2 "so is one that no client could keep"
run gpc submit -q --tether=0s count.yaml
is "$rc" 2 "also none at all"

finish
