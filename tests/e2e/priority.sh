#!/bin/sh
# Jobs that wait for machines: the one with the highest priority gets the next
# place, whoever came first, and an update changes who that is.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

CLOUD=$XDG_STATE_HOME/gpucloud/fake
mkdir -p "$CLOUD"

# places N: so many machines more can be had.
places() {
	cat >script <<J
{"boot": true, "offers": [{"zone": "z", "instance_type": "one", "cpus": 4,
 "memory_bytes": 68719476736, "price": {"amount": "1", "currency": "USD"}}],
 "faults": [{"op": "create", "fault": "no_capacity", "times": -1, "skip": $1}]}
J
	mv script "$CLOUD/script.json"
}
waits() { # JOB
	gpc status "$1" -o json | jq -e '.note | strings | test("^waits for capacity")' >/dev/null
}
fake() { # NAME WORDS…
	fake_name=$1
	shift
	gpc submit -q -y -d --infra fake --name "$fake_name" "$@" -- \
		sh -c "while [ ! -e '$T/end' ]; do sleep 0.1; done"
}

places 0
first=$(fake first)
second=$(fake second --priority 2)
third=$(fake third)
fourth=$(fake fourth --priority -1)
for job in $first $second $third $fourth; do
	wait_until 30 waits "$job"
done
ok $? "all wait"
run gpc update "$third" --priority 7
is "$out" "priority  0 -> 7" "an update puts another one in front"
like "$(gpc status "$second")" 'Priority: +2' "status shows the priority"
places 1
wait_until 60 in_state "$third" RUNNING
ok $? "it gets the first place"
places 1
wait_until 120 in_state "$second" RUNNING
ok $? "then the one that was submitted with a priority"
places 1
wait_until 240 in_state "$first" RUNNING
ok $? "then the oldest of the others"
is "$(state_of "$fourth")" PROVISIONING "and the least of them still waits"
# A place that one of ours leaves is noticed at once.
places 1
touch "$T/end"
wait_until 60 in_state "$fourth" SUCCEEDED
ok $? "until a place is given back"
for job in $first $second $third; do
	gpc wait -q "$job"
	is $? 0 "$job has ended"
done
finish
