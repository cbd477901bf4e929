#!/bin/sh
# Limits of a job that waits or runs can be changed, its priority, and who is told;
# nothing else can.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

cat >long.yaml <<'Y'
name: long
run: |
  echo ready
  while :; do sleep 0.1; done
checkpoint: {path: state}
limits: {time: 10m, setup: 1h}
Y
job=$(gpc submit -q -d long.yaml)
says() { gpc logs "$job" --stdout | grep -q "$1"; }
wait_until 30 says ready
run gpc update "$job" --max-cost 5
is "$rc" 0 "a cost limit"
is "$out" 'cost  no limit -> $5.00' "old and new are shown"
run gpc update "$job" --max-cost "80 CNY"
like "$err" "its machine is free" "a limit on what is free says that it means nothing"
run gpc update "$job" --max-cost 5
run gpc update "$job" --time 20m --max-cost "6 USD" -o json
is "$rc" 0 "both"
is "$(printf '%s' "$out" | jq -c '[.schema, .changed, .cost.old.amount, .cost.new.amount, .time.new_ms]')" \
	'["gpucloud.update/1",true,"5.00","6.00",1200000]' "as JSON"
run gpc status "$job"
like "$out" 'Limits: +cost \$6.00 \(updated\), time 20m \(updated\)' "status shows them"
is "$(gpc status "$job" -o json | jq -c .limits.time_ms)" 1200000 "so does its JSON"
run gpc update "$job" --time 20m
is "$rc" 0 "the same again is fine"
like "$err" already "and says so"
run gpc update "$job" --time 300h
is "$rc" 8 "no longer than the lifetime of its node"
like "$err" "lifetime of its node was fixed" "with the reason"
like "$err" "at most" "and what is possible"
run gpc update "$job" --gpus H100:2
is "$rc" 2 "--gpus cannot be updated"
like "$err" "bought as it is" "and why"
for o in --env=A=1 --nodes=2 --workdir=. --deadline; do
	run gpc update "$job" "$o"
	is "$rc" 2 "nor can $o"
	like "$err" "cannot be updated: " "which says why"
done
run gpc update "$job" --priority 3
is "$out" 'priority  0 -> 3' "a priority"
run gpc update "$job" --priority=-5 --notify "{command: [sh, -c, 'echo \$GPUCLOUD_EVENT >>$T/told']}"
is "$rc" 0 "another one, and who is told"
like "$out" '^priority  3 -> -5$' "with the old one"
like "$out" '^notify  nobody -> sh -c .* \(on end\)$' "and the command"
run gpc status "$job"
like "$out" 'Priority: +-5 \(updated\)' "status shows the priority"
like "$out" 'Notify: +sh -c' "and who is told"
run gpc update "$job" --priority 1001
is "$rc" 2 "a priority that is none"
run gpc update "$job" --notify 'echo done'
is "$rc" 2 "a command is a list"
run gpc update "$job" --notify http://example.org/hidden-hook
is "$rc" 2 "an address that others on the way would see"
like "$err" "http:// would tell it" "which it says"
unlike "$out$err" "hidden-hook" "without repeating it"
run gpc update "$job" --notify @nosuch
is "$rc" 5 "a file that is not there"
run gpc update "$job" --time soon
is "$rc" 2 "a time that is none"
run gpc update "$job" --time 99999999999h
is "$rc" 2 "nor one that no clock can hold"
run gpc update "$job" --max-cost 0
is "$rc" 2 "a limit of nothing"
is "$(state_of "$job")" RUNNING "it still runs"

ran_long() { [ "$(gpc status "$job" -o json | jq .ran_ms)" -gt 1500 ]; }
wait_until 30 ran_long
run gpc update "$job" --time 1s
is "$rc" 2 "a limit that is passed already is asked for"
like "$err" "ends it now" "and says why"
run gpc update "$job" --time 1s -y
is "$rc" 0 "-y means it"
run gpc wait "$job"
is "$rc" 124 "the job ends by its limit"
is "$(reason_of "$job")" time_limit "and says by which"
wait_until 30 test -e "$T/told"
is "$(cat "$T/told")" end "who was named by the update is told"
run gpc update "$job" --priority 1
is "$rc" 8 "an ended job has no priority to change"
run gpc update "$job" --time 1h
is "$rc" 8 "an ended job has no limits to change"
run gpc update nosuch --time 1h
is "$rc" 5 "nor has one that is not there"

# The supervisor follows as well: it buys the next node for the new limit.
cat >again.yaml <<'Y'
name: again
run: |
  [ "$GPUCLOUD_ATTEMPT" -gt 1 ] && exit
  echo 1 >"$GPUCLOUD_CHECKPOINT_DIR/n"
  gpucloud checkpoint save -q
  echo ready
  while :; do sleep 0.1; done
checkpoint: {path: state}
limits: {time: 10m, setup: 1h}
Y
job=$(gpc submit -q -d again.yaml)
wait_until 30 says ready
run gpc update -q "$job" --time 40m
is "$rc" 0 "a longer time"
first=$(gpc status "$job" -o json | jq -r '.nodes[0].expires')
run gpc signal -q "$job" interrupt
run gpc wait "$job"
is "$rc" 0 "the next attempt ends well"
second=$(gpc status "$job" -o json | jq -r '.nodes[-1].expires')
[ "$(($(date -d "$second" +%s) - $(date -d "$first" +%s)))" -ge 1700 ]
ok $? "on a node that was made for it ($first, then $second)"
finish
