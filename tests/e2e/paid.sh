#!/bin/sh
# Jobs on machines that cost money: the pretend cloud, with real agents. Its
# ledger says what was bought and what was given back.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

CLOUD=$XDG_STATE_HOME/gpucloud/fake
mkdir -p "$CLOUD"
cp "$ROOT/examples/shell.yaml" count.yaml

script() { printf '{"boot": true, %s}\n' "$1" >"$CLOUD/script.json"; }
sum() { # FIELD: over the ledger
	jq -s "map(.$1 // 0) | add // 0" "$CLOUD/ledger"
}
buys_end() { # NAME: what was bought was given back
	is "$(sum made)" "$(sum ended)" "$1: every machine was given back"
	is "$(ls "$CLOUD/run" 2>/dev/null)" "" "$1: no node's folder is left"
}

# Nothing is bought without a yes.
script '"faults": []'
run gpc submit --infra fake -- true
is "$rc" 2 "without a terminal -y or a cost limit is asked for"
is "$(sum made)" 0 "and nothing was bought"

# The cheapest zone is sold out, and the next one's answer is lost.
script '"faults": [{"op": "create", "fault": "no_capacity", "zone": "south-a"},
	{"op": "create", "fault": "lost_answer"}]'
# shellcheck disable=SC2016  # for the job
run gpc submit -y --infra fake --nodes 2 --name pair -- \
	sh -c 'echo "rank $GPUCLOUD_NODE_RANK"; exit $((GPUCLOUD_NODE_RANK * 5))'
is "$rc" 5 "the job's own exit code arrives"
like "$out" "rank 1" "its output arrives"
is "$(jq -s 'map(select(.op == "create")) | length' "$CLOUD/ledger")" 3 \
	"sold out, answer lost, sent again"
is "$(sum made)" 2 "two machines were bought, once"
buys_end "two nodes"
cost=$(gpc status pair -o json | jq -r '.. | .cost?.amount? // empty' | head -n 1)
like "$cost" '^0\.00[0-9]*[1-9]' "it cost something"

# Nothing can be had: who goes away is told that nothing costs anything yet.
script '"faults": [{"op": "create", "fault": "no_capacity", "times": -1}]'
waits() {
	gpc status "$1" -o json | jq -e '.note | strings | test("^waits for capacity")' >/dev/null
}
gpc submit -q -y -d --once w --infra fake --max-cost 5 --name waiting -- true >/dev/null
wait_until 60 waits waiting
# a job of another client's is not ended with this one
env --default-signal=INT "$GPUCLOUD_BIN" submit -y --once w --infra fake --max-cost 5 \
	--name waiting -- true >waiting.out 2>waiting.err &
client=$!
wait_until 60 grep -q "waits for capacity" waiting.err
kill_pids INT $client
wait $client
is $? 130 "a client that waits for a machine can go away"
like "$(cat waiting.err)" "costs +nothing so far: no machine is bought" \
	"it says that nothing is bought yet"
run gpc update waiting --max-cost "80 CNY"
is "$rc" 2 "a limit in another currency than the one before is refused"
like "$err" "paid in USD" "and says why"
gpc cancel -q waiting
run gpc wait waiting
is "$(reason_of waiting)" cancelled "it can be cancelled"
is "$(gpc status waiting -o json | jq -c .note)" null \
	"and is not said to wait for capacity any more"

# The fault that is to come waits for a create that makes something.
script '"faults": [{"op": "create", "fault": "lost_answer"}, {"op": "create", "fault": "die"}]'
before=$(sum made)
run gpc submit -y --infra fake --name lives -- true
is "$rc" 0 "a job whose create had to be repeated runs"
is "$(jq -c '[.faults[].fault]' "$CLOUD/script.json")" '["die"]' \
	"the create that made nothing used up no death"
is "$(sum made)" $((before + 1)) "one machine was bought for it"

# A machine is taken away: the next one goes on from the checkpoint.
script '"faults": []'
before=$(sum made)
job=$(gpc submit -y -q -d --infra fake --env LAST=30 --env PAUSE=0.5 count.yaml)
wait_until 20 has_checkpoint "$job"
script '"faults": [{"op": "list", "fault": "die"}]'
run gpc wait "$job"
is "$rc" 0 "a job whose machine was taken away ends well"
is "$(gpc logs "$job" --stdout | sed -n 's/^count=//p' | tail -n 1)" 30 \
	"it counted to the end"
like "$(gpc logs "$job" --stdout)" "^attempt 2 goes on after [0-9]+" \
	"from its checkpoint"
gpc release "$job" >/dev/null 2>&1
is "$(sum made)" $((before + 2)) "with one machine more"
buys_end "taken away"

# A dollar a second, five dollars at most.
script '"offers": [{"zone": "z", "instance_type": "gold", "cpus": 4,
	"memory_bytes": 68719476736, "price": {"amount": "3600", "currency": "USD"}}]'
run gpc submit --infra fake --max-cost 5 --name gold -- sleep 60
is "$rc" 124 "a cost limit ends the job"
is "$(reason_of gold)" cost_limit "and is named"
gpc release gold >/dev/null 2>&1
cost=$(gpc status gold -o json | jq -r '.. | .cost?.amount? // empty' | head -n 1)
check "it was kept, but for the seconds of the end" \
	awk "BEGIN { exit !($cost > 0 && $cost < 5 + 10 * $SLOW) }"
buys_end "cost limit"

# The price is the submitter's, also when a supervisor runs with another one.
export GPUCLOUD_LOCAL_PRICE_PER_HOUR=1
first=$(gpc submit -y -q -d --name first -- sleep 30)
wait_until 20 in_state "$first" RUNNING
GPUCLOUD_LOCAL_PRICE_PER_HOUR=720
second=$(gpc submit -q -d --max-cost 100 --name second -- sleep 30)
wait_until 20 in_state "$second" RUNNING
rate() { gpc status "$1" -o json | jq -r '[.. | .rate_per_hour?.amount? // empty][0]'; }
like "$(rate "$first")" '^1(\.0+)?$' "a job costs what its plan said"
like "$(rate "$second")" '^720(\.0+)?$' "whatever the one before it cost"
unset GPUCLOUD_LOCAL_PRICE_PER_HOUR
gpc release "$first" >/dev/null 2>&1
gpc release "$second" >/dev/null 2>&1

finish
