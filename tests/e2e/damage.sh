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
# What the program of the job that runs has in ckpt/state.
state_file() { find "$XDG_STATE_HOME/gpucloud/nodes" -path '*/ckpt/state'; }
has_state() { [ -n "$(state_file)" ]; }
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
wait_until 30 has_state
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
	wait_until 30 has_state
	older=$(gpc checkpoint save "$job")
	find "$STORE/jobs/$job/1/blobs" -type f | sort >"$T/older-blobs"
	state=$(cat "$(state_file)")
	wait_until 30 has_gone_on
	newer=$(gpc checkpoint save "$job")
}
has_gone_on() { [ "$(cat "$(state_file)")" != "$state" ]; }
# own_blobs: what only the newer checkpoint needs; its list is the first one put.
own_blobs() { find "$STORE/jobs/$job/1/blobs" -type f | sort | comm -13 "$T/older-blobs" -; }

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

# --- a damaged checkpoint, and nobody to ask -----------------------------------------
# list_blobs: what names the files of the newer one.
list_blobs() { jq -r '.parts[].head.lists[].sha256' "$STORE/jobs/$job/checkpoints/$newer.json"; }
# turn_files: other bytes of the same size in what the newer one saved, but not in
# its lists: only who reads everything sees it.
turn_files() {
	list_blobs >"$T/lists"
	own_blobs | grep -vFf "$T/lists" | while read -r f; do
		size=$(wc -c <"$f")
		chmod u+w "$f"
		head -c "$size" /dev/zero >"$f"
	done
}
lose_machine() {
	# shellcheck disable=SC2046  # a list of ids
	kill_pids KILL $(job_pids "$job")
}
of_attempt() { gpc status "$job" -o json | jq -r ".attempts[] | select(.attempt == $1) | $2"; }
resumed() { [ "$(of_attempt "$1" '.resumed_from // ""')" = "$2" ]; }
runs_again() { in_state "$job" RUNNING && resumed "$1" "$older"; }

# A blob is lost, and then the machine.
saved lost
gpc wait "$job" >/dev/null 2>"$T/talk" &
waiter=$!
own_blobs | xargs rm -f
lose_machine
wait_until 60 runs_again 2
ok $? "a lost blob: the next attempt goes on from the one before" ||
	note "$(gpc status "$job")"
is "$(of_attempt 2 '.passed_over | join(" ")')" "$newer" "a lost blob: and knows what it passed over"
run gpc status "$job"
like "$out" "$newer is damaged .blob .* is missing. and passed over by attempt 2" \
	"a lost blob: as status says"
run gpc checkpoint list "$job"
is "$rc" 0 "a lost blob: list shows both" || note "$err"
like "$err" "$newer is damaged .*passed over by attempt 2" "a lost blob: and says so too"
is "$(gpc checkpoint list "$job" -o json | jq -r '[.rows[] | select(.passed_over).id] | join(" ")')" \
	"$newer" "a lost blob: also to programs"
run gpc checkpoint verify "$job"
is "$rc" 1 "a lost blob: verify agrees"
# With a third one kept, the damaged one holds up no other that goes.
for _ in 1 2 3; do third=$(gpc checkpoint save "$job"); done
: >"$go"
wait "$waiter"
like "$(cat "$T/talk")" "attempt 2, from checkpoint $older; $newer is damaged .blob .* is missing." \
	"a lost blob: whoever waits hears of both"
is "$(grep -c "is damaged" "$T/talk")" 1 "a lost blob: once"
like "$(gpc logs "$job")" "goes on from [0-9]" "a lost blob: the program has its state"
is "$(gpc status "$job" -o json | jq -r .state)" SUCCEEDED "a lost blob: and the job ends well"
wait_until 30 none_left
run gpc checkpoint verify "$job" nosuch
is "$rc" 2 "no checkpoint is called so"
like "$err" "checkpoint list $job" "and what shows them"
run gpc checkpoint verify --all "$job"
is "$(gpc checkpoint verify --all "$job" -o json 2>/dev/null |
	jq -r '[.rows[] | select(.result != "ok").id] | join(" ")')" "$newer" \
	"a lost blob: all others are whole ($third among them)"

# Bytes are changed: the first attempt that reads them finds out, no second one.
saved turned
gpc wait "$job" >/dev/null 2>"$T/talk" &
waiter=$!
turn_files
lose_machine
wait_until 60 runs_again 3
ok $? "a changed byte: the attempt after the one that found it goes on from the one before" ||
	note "$(gpc status "$job")"
is "$(of_attempt 2 .reason)" agent_failed "a changed byte: that one could not start"
is "$(of_attempt 3 '.passed_over | join(" ")')" "$newer" "a changed byte: which the next one knows"
run gpc status "$job"
like "$out" "$newer is damaged .*passed over by attempt 3" "a changed byte: as status says"
run gpc checkpoint pull "$job" turned
is "$rc" 1 "a changed byte: pull of the newest fails"
like "$err" "checkpoint pull $job $older" "a changed byte: and knows what is whole"
# Once more: the damaged one is not tried again.
lose_machine
wait_until 60 runs_again 4
ok $? "a changed byte: nor does an attempt after that try it again"
: >"$go"
wait "$waiter"
is "$?" 0 "a changed byte: the job ends well" || note "$(cat "$T/talk")"
is "$(grep -c "from checkpoint $newer" "$T/talk")" 1 "a changed byte: it was tried once"
wait_until 30 none_left

# None is whole: that is for a person to decide.
saved none
find "$STORE/jobs/$job/1/blobs" -type f >"$T/blobs"
mkdir "$T/aside"
while read -r f; do mv "$f" "$T/aside/"; done <"$T/blobs"
lose_machine
run gpc wait "$job"
is "$rc" 125 "nothing whole: the job ends"
like "$err" "checkpoint_damaged" "nothing whole: with a reason of its own"
like "$err" "checkpoint $newer is damaged .blob .* is missing." "nothing whole: which is named"
like "$err" "checkpoint verify --all $job" "nothing whole: and what to do"
is "$(of_attempt 2 .attempt)" "" "nothing whole: and nothing is begun anew"
wait_until 30 none_left
run gpc resume "$job"
is "$rc" 1 "nothing whole: resume refuses" || note "$err"
while read -r f; do
	mkdir -p "$(dirname "$f")"
	mv "$T/aside/$(basename "$f")" "$f"
done <"$T/blobs"
: >"$go"
run gpc resume "$job"
is "$rc" 0 "nothing whole: once they are back, it goes on" || note "$err"
is "$(of_attempt 2 .resumed_from)" "$newer" "nothing whole: from the newest"

# --- what killed writers left --------------------------------------------------------
# The machine dies while it saves; the job ends without another attempt.
sed -i '/^envs/i resources: {job_recovery: none}' steps.yaml
saved killed
blobs=$STORE/jobs/$job/1/blobs
left() { find "$STORE/jobs/$job" -name '.tmp-*' -o -name "$lost"; }
lost=$(echo lost | sha256sum | cut -d ' ' -f 1)
leave() {
	mkdir -p "$blobs/$(echo "$lost" | cut -c 1-2)"
	echo lost >"$blobs/$(echo "$lost" | cut -c 1-2)/$lost"
	echo half >"$blobs/.tmp-half"
	echo half >"$STORE/jobs/$job/checkpoints/.tmp-half"
	echo half >"$STORE/jobs/$job/events/.tmp-half"
}
leave
is "$(left | wc -l)" 4 "killed writers: there is what they left"
lose_machine
run gpc wait "$job"
is "$rc" 125 "killed writers: the job ends" || note "$err"
wait_until 30 none_left
is "$(left)" "" "killed writers: all of it is gone at once"
run gpc checkpoint verify --all "$job"
is "$rc" 0 "killed writers: no checkpoint misses anything" || note "$err"
leave
run gpc checkpoint prune "$job"
is "$rc" 0 "killed writers: prune takes the same of an ended job" || note "$err"
like "$err" "3 temporary files of killed writers removed" "killed writers: and says so"
is "$(left)" "" "killed writers: nothing is left"
leave
run gpc prune -y
like "$err" "3 temporary files of killed writers removed" "killed writers: prune of the store as well"
is "$(left | grep -v "$lost")" "" "killed writers: which leaves none"

# --- a job whose record nobody can read ------------------------------------------------
job=$(gpc submit -q -d --name unread -- true)
run gpc wait "$job"
run gpc release "$job"
: >"$STORE/jobs/$job/job.json"
run gpc status "$job"
like "$err" "jobs/$job/job.json: .*" "job.json is empty: it is named"
like "$err" "hint: .*prune --jobs" "job.json is empty: and what takes it away"
run gpc prune -y --jobs --older-than 0
is "$rc" 0 "job.json is empty: the job can be removed" || note "$err"
[ ! -e "$STORE/jobs/$job" ]
ok $? "job.json is empty: all of it is gone"
run gpc prune -y
is "$rc" 0 "job.json is empty: which holds up blobs no longer" || note "$err"

finish
