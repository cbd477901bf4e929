#!/bin/sh
# Whatever is killed, the job goes on from its newest checkpoint or ends with the
# right reason, and nothing is left running.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

cat >count.yaml <<'Y'
name: count
envs: {LAST: "3000"}
run: |
  n=0
  if [ -n "${GPUCLOUD_RESUME_FROM:-}" ]; then
    n=$(cat "$GPUCLOUD_RESUME_FROM/n")
    echo "attempt $GPUCLOUD_ATTEMPT goes on after $n"
    LAST=$((n + 5))
  fi
  while [ "$n" -lt "$LAST" ]; do
    n=$((n + 1)); sleep 0.1; echo "count=$n"
    echo "$n" > "$GPUCLOUD_CHECKPOINT_DIR/.n"
    mv "$GPUCLOUD_CHECKPOINT_DIR/.n" "$GPUCLOUD_CHECKPOINT_DIR/n"
  done
  echo "counted to $LAST"
checkpoint: {path: state, upload_every: 1s}
Y

start() { # a detached job without end, once it has a checkpoint
	job=$(gpc submit -q -d count.yaml)
	wait_until 20 has_checkpoint "$job" || note "no checkpoint of $job"
}

ends_well() { # WHAT
	run gpc wait "$job"
	is "$rc" 0 "$1: the job ends well"
	like "$(gpc logs "$job" --stdout)" "^counted to [0-9]+$" "$1: it counted to the end"
	like "$(gpc logs "$job" --stdout)" "^attempt 2 goes on after [0-9]+" \
		"$1: from a checkpoint"
	wait_until 10 no_process_of "$job"
	ok $? "$1: none of its processes is left"
}
no_process_of() { [ -z "$(job_pids "$1")" ]; }

# Our binary's processes of this scratch by their first argument.
ours() {
	for p in $(pids_with "$T/"); do
		is_program "$p" || continue
		program_args "$p" | grep -Eq "^($1)( |$)" && echo "$p"
	done
}

start
# shellcheck disable=SC2046
kill_pids KILL $(ours agent) $(job_pids "$job")
ends_well "node's whole process group"
is "$(gpc status "$job" -o json | jq -r '[.. | .reason? // empty] | index("node_lost") != null')" \
	true "node's whole process group: the lost attempt says node_lost"

start
agents=$(ours agent)
# The agent is a child of the launcher: the one whose parent is also ours.
agent=
for p in $agents; do
	parent=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$p/status")
	case " $(echo "$agents" | tr '\n' ' ') " in *" $parent "*) agent=$p ;; esac
done
[ -n "$agent" ] || note "no agent found"
kill_pids KILL "$agent"
ends_well "agent alone"

start
# shellcheck disable=SC2046
kill_pids KILL $(ours agent | head -n 1)
ends_well "launcher alone"

start
# shellcheck disable=SC2046
kill_pids KILL $(ours supervise)
# shellcheck disable=SC2046
kill_pids KILL $(ours agent) $(job_pids "$job")
gpc status >/dev/null
ends_well "supervisor and node" # wait brings a supervisor back

rm -f client.out
"$GPUCLOUD_BIN" submit --env LAST=25 count.yaml >client.out 2>client.err &
client=$!
wait_until 20 grep -q count=5 client.out
kill_pids KILL $client
wait $client 2>/dev/null
job=$(gpc status -o name | head -n 1)
run gpc wait "$job"
is "$rc" 0 "client killed: the job goes on"

rm -f client.out
"$GPUCLOUD_BIN" submit --env LAST=25 count.yaml >client.out 2>client.err &
client=$!
wait_until 20 grep -q count=2 client.out
kill_pids HUP $client
wait $client
is $? 129 "SIGHUP detaches with 129"
run gpc wait @
is "$rc" 0 "SIGHUP: the job goes on"

rm -f client.out
# shellcheck disable=SC2016  # for the job
"$GPUCLOUD_BIN" submit --name stays -- sh -c \
	'echo begun; until [ -e "$1" ]; do sleep 0.1; done' sh "$T/stay" >client.out 2>client.err &
client=$!
wait_until 60 grep -q begun client.out
kill_pids TERM $client
client_gone() { ! alive "$client"; }
wait_until 20 client_gone
ok $? "SIGTERM detaches while the job runs"
touch "$T/stay"
wait $client
is $? 143 "with 143"
like "$(cat client.err)" "gpucloud (logs|status|cancel)" "it says how to go on"
run gpc wait @
is "$rc" 0 "SIGTERM: the job goes on"

# No checkpoint at all: the next attempt starts over, twice without any
# progress ends the job.
cat >fragile.yaml <<'Y'
name: fragile
run: sleep 60
Y
job=$(gpc submit -q -d fragile.yaml)
for _ in 1 2 3; do
	wait_until 20 in_state "$job" RUNNING || break
	# shellcheck disable=SC2046
	kill_pids KILL $(ours agent) $(job_pids "$job")
	wait_until 10 no_process_of "$job"
	sleep 0.5
done
run gpc wait "$job"
is "$rc" 125 "no progress: ends with 125"
is "$(reason_of "$job")" no_progress "no progress: is the reason"

# Someone who kills the program alone gets what programs get: its exit.
start
for p in $(job_pids "$job"); do
	is_program "$p" || kill_pids KILL "$p"
done
run gpc wait "$job"
is "$rc" 137 "killing only the program is the program's end"

lock_is_old() { # SECONDS: its holder wrote into it so long ago, by both clocks
	up=$(cut -d . -f 1 /proc/uptime)
	for lock in "$XDG_STATE_HOME"/gpucloud/supervise-*.lock; do
		printf '%s %-20s\n' "$(cat /proc/sys/kernel/random/boot_id)" \
			$(((up - $1) * 1000)) | dd of="$lock" conv=notrunc status=none
		touch -d "-$1 seconds" "$lock"
	done
}
# One that is stopped: the next who needs a supervisor replaces it.
job=$(gpc submit -q -d --env LAST=100 count.yaml)
wait_until 20 has_checkpoint "$job"
old=$(ours supervise)
kill_pids STOP "$old"
lock_is_old 120
like "$(gpc status "$job")" "silent" "status says that the supervisor is silent"
run gpc submit -q --name meanwhile -- echo ran
is "$rc:$out" "0:ran" "a stopped supervisor holds up no other job"
[ -n "$old" ] && alive "$old"
ok $? "which another supervisor has moved forward"
kill_pids CONT "$old"
run gpc wait "$job"
is "$rc" 0 "and none of its own when it wakes"
gone() { ! alive "$old"; }
wait_until 20 gone
ok $? "it ends when it sees that it was replaced"
is "$(gpc status "$job" -o json | jq '.nodes | length')" 1 \
	"and nothing was bought twice"

stop_supervisors() {
	# shellcheck disable=SC2046  # a list of ids
	kill_pids STOP $(ours supervise)
}
# Who sleeps while a job runs finds out when that was. Far stores trust a supervisor
# for a minute.
if ! far; then
	cat >slept.yaml <<'Y'
name: slept
setup: touch "$AT.setup"; until [ -e "$AT.go" ]; do sleep 0.2; done
run: sleep 2
Y
	job=$(gpc submit -q -d --env AT="$T/slept" slept.yaml)
	wait_until 60 test -e "$T/slept.setup"
	wait_until 60 in_state "$job" SETUP
	old=$(ours supervise)
	stop_supervisors
	touch "$T/slept.go"
	wait_until 60 in_state "$job" SUCCEEDED
	ran_well() { gpc status "$job" -o json | jq -e '.ran_ms >= 1500 and .attempts[0].running' >/dev/null; }
	check "a job ran while its supervisor slept, and shows for how long" ran_well
	kill_pids CONT "$old"
	run gpc wait "$job"
	gpc release "$job" >/dev/null 2>&1
	check "so it does when that is recorded" ran_well
fi

# One that is stopped keeps what its ended job holds: that is found, and another
# one gives it back after one stale time, not two.
silent_for() { # JOB SECONDS: as if the stopped one had not been heard of for so long
	lock_is_old "$2"
	jq -c ".boot_ms = ($up - $2) * 1000" "$STORE/jobs/$1/supervisor" >record &&
		cp record "$STORE/jobs/$1/supervisor"
}
supervisor_events() {
	cat "$STORE/jobs/$1/events"/*.json | jq -s 'map(select(.type == "supervisor")) | length'
}
if ! far; then # it looks into the store's folder
	CLOUD=$XDG_STATE_HOME/gpucloud/fake
	mkdir -p "$CLOUD"
	echo '{"boot": true, "gone_ms": 60000}' >"$CLOUD/script.json"
	# shellcheck disable=SC2016  # for the job
	job=$(gpc submit -y -q -d --infra fake --name held -- sh -c \
		'until [ -e "$1" ]; do sleep 0.2; done; exit 3' sh "$T/go")
	wait_until 60 in_state "$job" RUNNING
	old=$(ours supervise)
	stop_supervisors
	: >"$T/go"
	wait_until 60 in_state "$job" FAILED
	ok $? "a job ends though its supervisor is stopped"
	silent_for "$job" 32
	run gpc supervise --once
	is "$rc" 0 "another supervisor has to wait"
	like "$err" "silent for [0-9]+" "and says for how long the other one has been silent"
	silent_for "$job" 32
	like "$(gpc status "$job")" "silent for [0-9]+" "as status does"
	silent_for "$job" 32
	run gpc release --orphans -n -o json
	is "$(printf '%s' "$out" | jq -r '.rows[] | [.job, .provider, .rate_per_hour.amount,
		(.since | type), (.node | type)] | join(" ")')" \
		"$job fake 0.18 string string" "release --orphans shows what it still holds"
	like "$out" "has ended.*its supervisor is silent since 20[0-9]+-" "and why"
	is "$(supervisor_events "$job")" 1 "nothing was done to it so far"
	silent_for "$job" 61
	before=$(now_ms)
	run gpc release --orphans -o json
	is "$rc" 0 "release --orphans gives it back"
	is "$(printf '%s' "$out" | jq -r '.rows[] | .result')" released "and says so"
	[ $(($(now_ms) - before)) -lt $((50000 * SLOW)) ]
	ok $? "without another stale time"
	is "$(supervisor_events "$job")" 2 "another supervisor took over"
	kill_pids CONT "$old"
	wait_until 60 gone
	ok $? "the stopped one ends when it wakes"
	is "$(reason_of "$job")" exit_code "the end is the job's own"
	is "$(jq -s 'map(.made // 0) | add' "$CLOUD/ledger")" 1 "nothing was bought twice"
	is "$(gpc status "$job" -o json | jq -c '[.nodes[] | has("released")]')" "[true]" \
		"and it is recorded as released"

	# shellcheck disable=SC2016  # for the job
	job=$(gpc submit -q -d --name cron -- sh -c \
		'until [ -e "$1" ]; do sleep 0.2; done' sh "$T/end")
	wait_until 60 in_state "$job" RUNNING
	old=$(ours supervise)
	stop_supervisors
	silent_for "$job" 70
	run gpc supervise --once
	is "$rc" 0 "supervise --once runs in place of a silent one"
	unlike "$err" "already" "and does not leave it to that one"
	is "$(supervisor_events "$job")" 2 "it took the job over"
	: >"$T/end"
	kill_pids CONT "$old"
	run gpc wait "$job"
	is "$rc" 0 "the job ends well"
	wait_until 60 gone
	ok $? "the silent one is gone"
fi

run gpc release --orphans
is "$rc" 0 "nothing to release afterwards"
finish
