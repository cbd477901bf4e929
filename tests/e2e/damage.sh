#!/bin/sh
# What stands in the store is damaged while a job runs, or after its end: every
# command ends in bounded time, and says what is wrong where it cannot help.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

cat >job.yaml <<'Y'
name: harmed
checkpoint: {path: ckpt, upload_every: 1s}
run: |
  echo "attempt $GPUCLOUD_ATTEMPT"
  i=0
  while [ ! -e "$GO" ] && [ $i -lt 1200 ]; do sleep 0.1; i=$((i + 1)); done
  exit 3
envs: {GO: ""}
Y
# start: a job that runs until the file $go is there; in $job.
start() {
	go=$T/go-$1
	job=$(gpc submit -q -d --env "GO=$go" job.yaml)
	wait_until 30 in_state "$job" RUNNING
}
harm() { # FILE HOW
	case $2 in
	emptied) : >"$1" ;;
	random) head -c 3000 /dev/urandom >"$1" ;;
	truncated) printf '{"v":1,"phase":"run","rea' >"$1" ;;
	large) head -c 400000 /dev/zero | tr '\0' ' ' >"$1" ;;
	folder) mkdir "$1" ;;
	pipe) mkfifo "$1" ;;
	esac
}

# --- the facts of the agent ----------------------------------------------------
for how in emptied random truncated large pipe; do
	start "$how"
	harm "$STORE/jobs/$job/1/verdict.json" $how
	harm "$STORE/jobs/$job/1/0/exit.json" $how
	run gpc status "$job"
	is "$rc" 0 "facts $how: status shows the job" || note "$err"
	like "$out" RUNNING "facts $how: which still runs"
	[ "$how" = pipe ] || like "$out" "is damaged" "facts $how: and what is damaged"
	: >"$go"
	run gpc wait "$job"
	is "$rc" 3 "facts $how: the job's own exit status arrives" || note "$err"
	run gpc release "$job"
	is "$rc" 0 "facts $how: its node is released" || note "$err"
done
start folder
harm "$STORE/jobs/$job/1/verdict.json" folder
run gpc release --now "$job"
is "$rc" 0 "a folder in place of the verdict does not keep a node" || note "$err"

# --- the journal ---------------------------------------------------------------
start journal
rm -r "$STORE/jobs/$job/events"
echo harm >"$STORE/jobs/$job/events"
for cmd in wait "status" "logs" "cancel"; do
	run gpc $cmd "$job"
	is "$rc" 1 "events/ is a file: $cmd ends"
	like "$err" "/events/ has no event any more" "events/ is a file: $cmd says so"
done
run gpc release "$job"
is "$rc" 1 "events/ is a file: release says that it cannot end the job"
like "$err" "its nodes are released" "events/ is a file: but gives the node back"
wait_until 30 none_left
ok $? "events/ is a file: the supervisor ends"
rm -r "$STORE/jobs/$job"

# An end that is lost is found once more.
start newest
: >"$go"
gpc wait "$job" >/dev/null 2>&1
gpc release "$job" >/dev/null 2>&1
wait_until 30 none_left
last=$(find "$STORE/jobs/$job/events" -name '*.json' | sort | tail -n 1)
rm "$last"
run gpc release "$job"
is "$rc" 0 "a lost event: release does not wait in vain" || note "$err"
like "$(gpc status "$job")" RELEASED "a lost event: the node is recorded as released"
printf 'name: over\nenvs: {BIG: %0200000d}\nrun: echo never\n' 1 >over.yaml
job=$(gpc submit -q -d over.yaml)
gpc wait "$job" >/dev/null 2>&1
wait_until 30 none_left
rm "$(find "$STORE/jobs/$job/events" -name '*.json' | sort | tail -n 1)"
run gpc wait "$job"
is "$rc" 125 "a lost end: wait finds it again" || note "$err"

# --- checkpoints/ ----------------------------------------------------------------
cat >saves.yaml <<'Y'
name: saves
checkpoint: {path: ckpt, upload_every: 1h}
run: mkdir -p ckpt; date +%N >ckpt/state; while [ ! -e "$GO" ]; do sleep 0.1; done
envs: {GO: ""}
Y
go=$T/go-saves
job=$(gpc submit -q -d --env "GO=$go" saves.yaml)
wait_until 30 in_state "$job" RUNNING
rm -rf "$STORE/jobs/$job/checkpoints"
echo harm >"$STORE/jobs/$job/checkpoints"
wait_until 30 test -e "$(find "$XDG_STATE_HOME/gpucloud/nodes" -path '*/ckpt/state')"
run gpc checkpoint save --timeout 8s "$job"
is "$rc" 7 "checkpoints/ is a file: save gives up in time" || note "$err"
like "$err" "cannot create .*checkpoints/" "checkpoints/ is a file: and said what fails"
: >"$go"
run gpc wait "$job"
is "$rc" 125 "checkpoints/ is a file: the job ends" || note "$err"
like "$err" "no_progress" "checkpoints/ is a file: after a second attempt"
like "$err" "checkpoint could not be saved: .*checkpoints/" \
	"checkpoints/ is a file: and says what it cannot save"

# --- a checkpoint ------------------------------------------------------------------
cat >steps.yaml <<'Y'
name: steps
checkpoint: {path: ckpt, upload_every: 1h, keep: 9}
run: |
  [ -z "${GPUCLOUD_RESUME_FROM:-}" ] || echo "goes on from $(cat ckpt/state)"
  i=0
  while [ ! -e "$GO" ]; do i=$((i + 1)); echo "$i" >ckpt/.n; mv ckpt/.n ckpt/state; sleep 0.1; done
envs: {GO: ""}
Y
# saved: a running job with two checkpoints; in $job, $older and $newer.
saved() {
	go=$T/go-$1
	job=$(gpc submit -q -d --env "GO=$go" steps.yaml)
	wait_until 30 in_state "$job" RUNNING
	wait_until 30 test -e "$(find "$XDG_STATE_HOME/gpucloud/nodes" -path '*/ckpt/state')"
	older=$(gpc checkpoint save "$job")
	find "$STORE/jobs/$job/1/blobs" -type f | sort >"$T/older-blobs"
	sleep 0.2 # another state than the one before
	newer=$(gpc checkpoint save "$job")
}
# own_blobs: what only the newer checkpoint needs; its list is the first one put.
own_blobs() { find "$STORE/jobs/$job/1/blobs" -type f | sort | comm -13 "$T/older-blobs" -; }
turn_bits() { for f in $(own_blobs); do
	size=$(wc -c <"$f")
	chmod u+w "$f"
	head -c "$size" /dev/zero >"$f"
done; }

saved gone
: >"$go"
gpc wait "$job" >/dev/null 2>&1
wait_until 30 none_left
final=$(gpc checkpoint list "$job" -o name | tail -n 1)
own_blobs >"$T/own"
xargs rm -f <"$T/own"
run gpc resume "$job"
is "$rc" 1 "a lost blob: resume refuses"
like "$err" "checkpoint $final of job $job is damaged: .*missing" "a lost blob: and names the checkpoint"
like "$err" "resume $job --checkpoint $older.*checkpoint verify $job" \
	"a lost blob: and tells what else there is"
is "$(gpc status "$job" -o json | jq '[.. | .attempt? // empty] | max')" 1 \
	"a lost blob: no attempt is begun"
run gpc resume --checkpoint "$newer" "$job"
is "$rc" 1 "a lost blob: nor from the one before"
run gpc checkpoint pull "$job" got
is "$rc" 1 "a lost blob: pull fails"
like "$err" "checkpoint $final of job $job is damaged: .*missing" "a lost blob: and names it too"
like "$err" "checkpoint pull $job $older" "a lost blob: and what can be fetched"
run gpc checkpoint pull "$job" "$older" got
is "$rc" 0 "a lost blob: which can be" || note "$err"
run gpc resume --checkpoint "$older" "$job"
is "$rc" 0 "a lost blob: and gone on from" || note "$err"
like "$out" "goes on from [0-9]" "a lost blob: the program finds it"
rm "$STORE/jobs/$job/checkpoints"/*
run gpc resume --checkpoint "$older" "$job"
is "$rc" 5 "no checkpoint at all: resume says so" || note "$err"

# The machine is lost, and then the bytes that the next one needs are wrong.
saved turned
turn_bits
# shellcheck disable=SC2046  # a list of ids
kill_pids KILL $(job_pids "$job")
run gpc wait "$job"
is "$rc" 125 "a changed byte: the job ends" || note "$err"
like "$err" "checkpoint $newer of job $job is damaged" "a changed byte: and names the checkpoint"
like "$err" "resume $job --checkpoint $older" "a changed byte: and how to go on"
run gpc status "$job"
like "$out" "$newer of job $job is damaged" "a changed byte: as status does"
attempts=$(gpc status "$job" -o json | jq '[.. | .attempt? // empty] | max')
[ "$attempts" -le 3 ]
ok $? "a changed byte: no machine after another is tried with it" || note "$attempts"
run gpc checkpoint pull "$job" turned
is "$rc" 1 "a changed byte: pull fails"
like "$err" "checkpoint pull $job $older" "a changed byte: and knows what is whole"
: >"$go"
run gpc resume --checkpoint "$older" "$job"
is "$rc" 0 "a changed byte: the job goes on from the one before" || note "$err"
like "$out" "goes on from [0-9]" "a changed byte: with its state"

finish
