#!/bin/sh
# What one may ask of a running job: save, signal, cancel, resume, release.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

cp "$ROOT/examples/shell.yaml" count.yaml
count() { gpc submit -q -d --env PAUSE=0.1 --env LAST="$1" count.yaml; }
counted() { gpc logs "$1" --stdout | sed -n 's/^count=//p' | tail -n 1; }
none_of_job() { [ -z "$(job_pids "$1")" ]; }
resumed() { gpc logs "$1" --attempt 2 --stdout | grep -q "goes on"; }

job=$(count 400)
wait_until 20 in_state "$job" RUNNING
wait_until 20 has_checkpoint "$job"
run gpc checkpoint save "$job"
is "$rc" 0 "checkpoint save returns when it is kept"
run gpc checkpoint list "$job" -o json
is "$(printf '%s' "$out" | jq -r 'has("schema")')" true "checkpoint list as JSON"
run gpc checkpoint pull "$job" cp
is "$rc" 0 "checkpoint pull"
like "$(cat cp/n 2>/dev/null)" '^[0-9]+$' "fetches the files"

run gpc cancel "$job"
is "$rc" 0 "cancel"
run gpc wait "$job"
is "$rc" 125 "a cancelled job is 125"
is "$(state_of "$job")" CANCELLED "and CANCELLED"
wait_until 10 none_of_job "$job"
before=$(counted "$job")
run gpc cancel "$job"
is "$rc" 0 "cancelling again changes nothing"
run gpc signal "$job" USR1
is "$rc" 8 "a signal to a job that has ended"
like "$err" "hint: .gpucloud resume $job. starts it once more" "and what can be done"

# Who asks before the program has written anything waits for what it writes.
slow=$(gpc submit -q -d --name slow --checkpoint state -- sh -c "
	while [ ! -e '$T/go' ]; do sleep 0.1; done
	echo 1 >\"\$GPUCLOUD_CHECKPOINT_DIR/n\"; exec sleep 300")
wait_until 30 in_state "$slow" RUNNING
gpc checkpoint save -q --timeout 120s "$slow" >saved 2>&1 &
asker=$!
nothing_yet() { gpc status "$slow" | grep -q "nothing to save"; }
wait_until 60 nothing_yet
ok $? "who asks for a save before there is a file is told so by status"
touch "$T/go"
wait "$asker"
is "$?" 0 "and gets it once there is one" || note "$(cat saved)"
noted_no_more() { ! nothing_yet; }
wait_until 60 noted_no_more
ok $? "then status has no such note any more"
gpc cancel -q "$slow"

run gpc resume -d "$job"
is "$rc" 0 "a cancelled job can be resumed"
wait_until 20 in_state "$job" RUNNING
wait_until 20 resumed "$job"
run gpc logs "$job" --attempt 2 --stdout
like "$out" "^attempt 2 goes on after [0-9]+" "it goes on from its checkpoint"
after=$(printf '%s\n' "$out" | sed -n 's/.*goes on after \([0-9]*\).*/\1/p' | head -n 1)
[ "${after:-0}" -gt 5 ] && [ "${after:-0}" -le "$before" ]
ok $? "the checkpoint is recent ($after of $before)"
run gpc release "$job"
is "$rc" 0 "release JOB cancels a live one and waits"
[ -z "$(job_pids "$job")" ]
ok $? "its nodes are gone when it returns"

cat >trap.yaml <<'Y'
name: trap
run: |
  trap 'echo got USR1' USR1
  trap 'echo got TERM; exit 9' TERM
  echo ready
  while :; do sleep 0.1; done
checkpoint: {path: state}
Y
job=$(gpc submit -q -d trap.yaml)
says() { gpc logs "$job" --stdout | grep -q "$1"; }
wait_until 20 says ready
run gpc signal "$job" USR1
is "$rc" 0 "signal JOB USR1"
wait_until 10 says "got USR1"
ok $? "reaches the program"
run gpc cancel "$job"
run gpc wait "$job"
is "$rc" 125 "cancelled, whatever the program's exit"
like "$(gpc logs "$job" --stdout)" "got TERM" "cancel asks the program first"

# A notice as a cloud would give it: save, stop, go on elsewhere.
job=$(count $((SLOW > 4 ? 600 : ${GPUCLOUD_TEST_STORE:+2}60))) # far stores are asked seldom
wait_until 20 has_checkpoint "$job"
run gpc signal "$job" interrupt
is "$rc" 0 "signal JOB interrupt"
run gpc wait "$job"
is "$rc" 0 "an interrupted job goes on and ends well"
like "$(gpc logs "$job" --stdout)" "goes on after [0-9]+" "from a checkpoint"
like "$(gpc status "$job" -o json)" "spot_interrupted" "and says why it was stopped"

# Names: the newest is meant; ending an ambiguous one is refused.
a=$(count 300)
b=$(count 300)
run gpc cancel shell-count
is "$rc" 8 "cancelling an ambiguous name is refused"
like "$err" "$a" "with the list"
like "$err" "$b" "of both"
run gpc release --all --dry-run
is "$rc" 0 "release --all --dry-run"
like "$out$err" "$a" "names what would go"
run gpc release --all -y
is "$rc" 0 "release --all"
[ -z "$(job_pids "$a")$(job_pids "$b")" ]
ok $? "nothing of them runs"
run gpc wait "$a"
is "$rc" 125 "they are cancelled"

if far; then
	note "nodes without a job, a spoiled journal, no store: need the store's folder"
	finish
	exit
fi

# A client that is killed right after it has resumed a job whose node was still kept:
# meanwhile that was given back, and what the ended job had was dropped.
if grep -qa GPUCLOUD_CRASH_DIR "$GPUCLOUD_BIN"; then
	cat >late.yaml <<'Y'
name: late
run: test "$GPUCLOUD_ATTEMPT" = 2 && echo "it is $TOKEN"
secrets: {TOKEN: null}
limits: {keep_on_failure: 1h}
Y
	job=$(TOKEN=old gpc submit -q -d late.yaml)
	run gpc wait "$job"
	is "$rc" 1 "a job fails and keeps its node"
	mkdir crash
	TOKEN=new GPUCLOUD_CRASH=resume.live_put=stop,event.resume \
		GPUCLOUD_CRASH_DIR="$PWD/crash" "$GPUCLOUD_BIN" resume -q -d \
		--secret TOKEN "$job" 2>/dev/null &
	client=$!
	is_stopped() { grep -q '^State:.T' "/proc/$client/status"; }
	wait_until 60 is_stopped
	ok $? "who resumes it is stopped before the event"
	run gpc release "$job"
	old_dropped() { [ ! -e "$STORE/secrets/$job" ]; }
	wait_until 60 old_dropped
	ok $? "the old secrets go with the node"
	kill_pids CONT "$client"
	wait "$client" 2>/dev/null
	is "$?" 137 "and dies of it"
	run gpc wait "$job"
	is "$rc:$(gpc logs "$job" --stdout)" "0:it is new" "the job goes on, with its new secrets"
	run gpc release "$job"
	no_secrets() { ! find "$STORE/secrets" 2>/dev/null | grep -q "/$job"; }
	wait_until 60 no_secrets
	ok $? "which go in turn"
fi

# Two stores are lost under running jobs: a folder that is deleted, and one in which
# another store is made. A third is only moved. They are looked at below.
submit_to() { gpc submit -q -d --store "$T/$1" --name "$1" -- sleep 600; }
runs_in() { gpc status --store "$T/$1" "$1" --json | jq -r .state | grep -qx RUNNING; }
deleted=$(submit_to deleted)
replaced=$(submit_to replaced)
moved=$(submit_to moved)
for name in deleted replaced moved; do
	wait_until 60 runs_in "$name"
	ok $? "a job runs in the store $name"
done
deleted_id=$(jq -r .id "$T/deleted/store.json")
delete_it() { rm -rf "$T/deleted" 2>/dev/null; [ ! -e "$T/deleted" ]; }
wait_until 20 delete_it # what is written meanwhile keeps rm from it
rm -rf "${T:?}"/replaced/*
mv "$T/moved" "$T/elsewhere"
run gpc submit -q --store "$T/replaced" -- echo new
is "$rc:$out" 0:new "a new store at the place of another one works"

# A node that no job explains.
job=$(count 300)
wait_until 20 in_state "$job" RUNNING
rm -rf "$STORE/jobs/$job" "$STORE"/index/*/*"$job"*
run gpc release --orphans
is "$rc" 0 "release --orphans"
wait_until 20 none_of_job "$job"
ok $? "ends a node whose job is gone"

# A journal that cannot be read keeps no node.
job=$(count 300)
wait_until 20 in_state "$job" RUNNING
last=$(find "$STORE/jobs/$job/events" -name '0*.json' | sort | tail -n 1)
chmod u+w "$last"
echo spoiled >"$last"
run gpc release "$job"
[ -z "$(job_pids "$job")" ]
ok $? "release ends the nodes of a job with a spoiled journal ($rc)"

# Nor does a store that is gone: the tags are enough.
job=$(count 300)
wait_until 20 in_state "$job" RUNNING
# shellcheck disable=SC2046  # a list of ids
kill_pids KILL $(pids_with "$T/" | while read -r p; do
	tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" |
		grep -q " supervise .*://$STORE " && echo "$p"
done)
mv "$STORE" "$STORE.away"
run gpc release --orphans
[ "$rc" -ne 0 ]
ok $? "without the store it cannot be told what is an orphan ($rc)"
run gpc release --all -y
is "$rc" 0 "release --all without the store"
[ -z "$(job_pids "$job")" ]
ok $? "ends what its tags show"
mv "$STORE.away" "$STORE"
run gpc release --all -y
is "$rc" 0 "and ends the job when the store is back"

# What became of those whose store was lost.
told() { grep -rqF "this node ends: the store file://$T/$1 was $1" \
	"$XDG_STATE_HOME"/gpucloud/nodes/*/agent.log; }
ended() { [ -z "$(job_pids "$1")" ]; }
wait_until 60 ended "$replaced"
ok $? "a job ends whose store has become another one"
check "which its node's agent.log tells" told replaced
wait_until 60 ended "$deleted"
ok $? "so does one whose store was deleted"
check "which is told there, too" told deleted
said() { grep -qF "the store file://$T/deleted was deleted" \
	"$XDG_STATE_HOME/gpucloud/supervise-$deleted_id.log"; }
check "and by its supervisor" said
[ -n "$(job_pids "$moved")" ]
ok $? "one whose store was moved goes on"
run gpc release -q --store "$T/elsewhere" --all -y
is "$rc:$(gpc status --store "$T/elsewhere" "$moved" --json | jq -r .state)" 0:CANCELLED \
	"and is found where that is now"
finish
