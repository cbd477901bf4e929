#!/bin/sh
# At a terminal: questions, Ctrl-C, and a terminal that is closed. What goes on
# is one supervisor, which ends with the last job.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

supervisors() {
	for p in $(pids_with "$T/"); do
		tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -q '^[^ ]* supervise ' &&
			echo "$p"
	done | grep -c .
}
is_stopped() { grep -q '^State:.*T (stopped)' "/proc/$1/status"; }
is_count() { [ "$(supervisors)" -eq "$1" ]; }

cat >tick.yaml <<'Y'
name: tick
run: i=0; while [ $i -lt ${N:-30} ]; do i=$((i + 1)); echo tick $i; sleep 0.1; done
Y

# Ctrl-C detaches; the job goes on.
at_terminal 'tick 3|\003' "$GPUCLOUD_BIN" submit tick.yaml
is "$rc" 130 "Ctrl-C detaches with 130"
after=$(printf '%s\n' "$err" | sed -n 's/^left 0 after \([0-9]*\) ms$/\1/p')
[ "${after:-9999}" -lt $((100 * SLOW)) ]
ok $? "within 100 ms (took ${after:-?})"
for word in "runs on" "supervis" "gpucloud logs" "gpucloud cancel"; do
	like "$out" "$word" "it says: $word"
done
run gpc wait @
is "$rc" 0 "the job went on"
like "$(gpc logs @ --stdout)" "^tick 30$" "to its end"

# Ctrl-C before a machine is asked for: the supervisor is kept from it. That of the
# job before would not be.
wait_until 60 is_count 0
mkdir crash
passed() { grep -q "^$1 " crash/passed 2>/dev/null; }
# what runs in the background of this shell would not hear SIGINT
env --default-signal=INT GPUCLOUD_CRASH=submit.done=stop,supervise.record_put=stop \
	"GPUCLOUD_CRASH_DIR=$PWD/crash" "$GPUCLOUD_BIN" submit --name early -- sleep 600 \
	>early.out 2>early.err &
client=$!
wait_until 60 passed submit.done
kill -INT "$client"
wait_until 20 is_stopped "$client"
kill -CONT "$client"
wait_until 60 passed supervise.record_put
called_off() { grep -q "called off: no machine had been asked for" early.err; }
wait_until 60 called_off
ok $? "Ctrl-C before a machine is asked for calls the job off" || note "$(cat early.err)"
kill -CONT "$(sed -n 's/^supervise.record_put //p' crash/passed | head -n 1)"
wait "$client"
is "$? $(state_of early)" "130 CANCELLED" "and nothing runs on"
is "$(gpc status early -o json | jq '.nodes | length')" 0 "as no machine was made"

# Two terminals are closed: one supervisor for both jobs.
at_terminal 'tick 3|close' "$GPUCLOUD_BIN" submit --name first tick.yaml
is "$rc" 129 "a closed terminal detaches with 129"
at_terminal 'tick 3|close' "$GPUCLOUD_BIN" submit --name last --env N=60 tick.yaml
is "$rc" 129 "the second one too"
wait_until 5 is_count 1
ok $? "one supervisor goes on" || note "$(supervisors) supervisors"
run gpc wait first
is "$rc" 0 "the first job ends well"
is "$(supervisors)" 1 "the supervisor stays for the other"
run gpc wait last
is "$rc" 0 "the other one ends well"
wait_until 10 is_count 0
ok $? "and the supervisor ends with it"
is "$(gpc logs last --stdout | tail -n 1)" "tick 60" "whole"

# Paid machines: asked at a terminal, and no is the answer to all but yes.
mkdir -p "$XDG_STATE_HOME/gpucloud/fake"
echo '{"boot": true, "faults": []}' >"$XDG_STATE_HOME/gpucloud/fake/script.json"
at_terminal '\[y/N\]|n\n' "$GPUCLOUD_BIN" submit --infra fake --name paid -- true
[ "$rc" -ne 0 ]
ok $? "a no ends it (status $rc)"
like "$out" "ends +at the latest" "after the plan was shown"
run gpc status paid
is "$rc" 5 "and no job was made"
at_terminal '\[y/N\]|y\n' "$GPUCLOUD_BIN" submit --infra fake --name paid -- echo bought
is "$rc" 0 "a yes goes on"
like "$out" "bought" "and the job runs"
gpc release paid >/dev/null 2>&1

# Colours are for terminals that want them.
at_terminal '' env NO_COLOR=1 "$GPUCLOUD_BIN" status
unlike "$out" "$(printf '\033')\[[0-9;]*m" "NO_COLOR is honoured at a terminal"
finish
