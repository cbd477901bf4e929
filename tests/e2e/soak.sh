#!/bin/sh
# One supervisor, one agent and three clients live on while many short jobs come,
# fail, are cancelled, lose their node, save, are resumed and go: they stay as
# small as they were after a third of that, and nothing is left of the others.
# --long makes it some hundred jobs; tests/unit/core_soak.c counts bytes over
# thousands.
# shellcheck source=tests/e2e/lib.sh disable=SC2034  # some are read by name
. "$(dirname "$0")/lib.sh"

ROUNDS=4 # of nine jobs
[ -z "${GPUCLOUD_TEST_LONG:-}" ] || ROUNDS=30
MAY_GROW=768 # KiB of resident memory; the stack and the heap breathe

# --- those that live on ---------------------------------------------------------
cat >keeper.yaml <<'Y'
name: keeper
run: |
  n=0
  until [ -e "$GPUCLOUD_CHECKPOINT_DIR/stop" ]; do
    n=$((n + 1))
    echo "step=$n of a job that has much to say and never stops saying it"
    echo "$n" >"$GPUCLOUD_CHECKPOINT_DIR/.n"
    mv "$GPUCLOUD_CHECKPOINT_DIR/.n" "$GPUCLOUD_CHECKPOINT_DIR/n"
    sleep 0.05
  done
checkpoint: {path: state, upload_every: 1s, keep: 2}
metrics: {step: 'step=([0-9]+)'}
Y
attached() { [ -n "$(gpc status keeper -o name 2>/dev/null)" ] && has_checkpoint keeper; }
"$GPUCLOUD_BIN" submit -q keeper.yaml >attached.out 2>attached.err &
submit=$!
wait_until 30 attached
ok $? "a job that lives on"
keeper=$(gpc status keeper -o name)
"$GPUCLOUD_BIN" logs -f keeper >/dev/null 2>&1 &
follow=$!
"$GPUCLOUD_BIN" status --watch=0.2 >/dev/null 2>&1 &
watch=$!

one_with() { # ARGUMENTS: the first process of ours that was started so
	for p in $(pids_with "$T/"); do
		is_program "$p" && program_args "$p" | grep -Eq "^$1( |$)" &&
			echo "$p" && return
	done
}
supervise=$(one_with supervise)
agent=$(job_pids "$keeper" | while read -r p; do
	parent=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$p/status" 2>/dev/null)
	is_program "$p" && [ -n "$parent" ] && is_program "$parent" && echo "$p"
done | head -n 1)
launcher=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/${agent:-none}/status")
all="supervise launcher agent submit follow watch"

# --- sizes ------------------------------------------------------------------------
memory_of() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status"; }
# What is open: of sockets and pipes the kind, of files the name. The first
# inotify is opened when there is something to wait for, and somebody may make a
# device anew.
opened_by() {
	for f in "/proc/$1/fd"/*; do readlink "$f"; done |
		sed "s/:\[.*//; s|^$T||; s|/[0-9a-f]\{16\}-[0-9]*\$|/PART|
			s|^\(/dev/.*\) (deleted)\$|\1|" |
		awk '!/inotify/ || n++' | sort
}
# What a save or a read has open for a moment is not held: the least of some looks.
held_by() { # PID FILE
	opened_by "$1" >"$2"
	for _ in 1 2 3 4 5; do
		sleep 0.15
		opened_by "$1" >"$2.again"
		[ "$(wc -l <"$2.again")" -ge "$(wc -l <"$2")" ] || mv "$2.again" "$2"
	done
}
zombies_of() {
	cat /proc/[0-9]*/stat 2>/dev/null | sed 's/^.*) //' |
		awk -v p="$1" '$1 == "Z" && $2 == p' | wc -l
}
sample() { # NAME
	for who in $all; do
		eval "pid=\$$who"
		memory_of "$pid" >"$T/$1.$who.memory"
		held_by "$pid" "$T/$1.$who.opened"
		zombies_of "$pid" >"$T/$1.$who.zombies"
	done
}

# --- those that come and go ---------------------------------------------------------
cat >count.yaml <<'Y'
name: count
run: |
  n=0
  if [ -n "${GPUCLOUD_RESUME_FROM:-}" ]; then
    n=$(cat "$GPUCLOUD_RESUME_FROM/n")
    LAST=$((n + 2))
  fi
  while [ "$n" -lt "${LAST:-3000}" ]; do
    n=$((n + 1)); sleep 0.1; echo "count=$n"
    echo "$n" > "$GPUCLOUD_CHECKPOINT_DIR/.n"
    mv "$GPUCLOUD_CHECKPOINT_DIR/.n" "$GPUCLOUD_CHECKPOINT_DIR/n"
  done
checkpoint: {path: state, upload_every: 1s}
Y
cat >saves.yaml <<'Y'
name: saves
run: |
  for i in 1 2 3 4; do
    echo "$i" >"$GPUCLOUD_CHECKPOINT_DIR/n"
    gpucloud checkpoint save --label "s$i" || exit 5
  done
checkpoint: {path: state, keep: 2}
Y
mkdir ws
echo hello >ws/a

wrong=0
expect() { # GOT WANT WHAT
	[ "$1" = "$2" ] && return
	wrong=$((wrong + 1))
	note "round $round: $3: $1, not $2"
	note "$(tail -n 5 "$T/err")"
}
a_round() {
	run gpc submit -q --name good --workdir ws -- cat a
	expect "$rc:$out" "0:hello" "success"
	run gpc submit -q --name bad -- false
	expect "$rc" 1 "failure"
	seq 1 4 | xargs -P 2 -I N "$GPUCLOUD_BIN" submit -q -d --name many -- \
		sh -c 'echo N' >"$T/many"
	expect "$(wc -l <"$T/many")" 4 "several at a time"
	saves=$(gpc submit -q -d saves.yaml)

	job=$(gpc submit -q -d count.yaml)
	wait_until 30 has_checkpoint "$job"
	"$GPUCLOUD_BIN" logs -f "$job" >/dev/null 2>&1 &
	reader=$!
	# shellcheck disable=SC2046  # a list of ids
	kill_pids KILL $(node_pids "$(node_of "$(rank_pid "$job" 0)")")
	run gpc wait -q "$job"
	expect "$rc" 0 "a node that was lost"
	wait "$reader"

	job=$(gpc submit -q -d count.yaml)
	wait_until 30 has_checkpoint "$job"
	timeout $((20 * SLOW)) "$GPUCLOUD_BIN" logs -f "$job" 2>/dev/null | head -n 1 >/dev/null
	run gpc cancel -q "$job"
	run gpc wait -q "$job"
	expect "$rc" 125 "cancelled"
	run gpc release -q "$job"
	run gpc resume -q -d "$job"
	run gpc wait -q "$job"
	expect "$rc" 0 "resumed"

	run gpc wait -q "$saves"
	expect "$rc" 0 "checkpoints"
	expect "$(gpc checkpoint list "$saves" -o name | wc -l)" 2 "checkpoints that stay"
	while read -r many; do
		run gpc wait -q "$many"
		expect "$rc" 0 "one of several"
	done <"$T/many"
}
only_keeper() {
	gpc prune --jobs --older-than 0 -y -q >/dev/null 2>&1
	[ "$(gpc status --all -o name)" = "$keeper" ]
}

round=0
while [ "$round" -lt "$ROUNDS" ]; do
	round=$((round + 1))
	a_round
	wait_until 60 only_keeper || expect "$(gpc status --all -o name)" "$keeper" "removed"
	[ "$round" -eq $(((ROUNDS + 2) / 3)) ] && sample third
done
sample end
is "$wrong" 0 "$((ROUNDS * 9)) jobs each came to the end that they should"

for who in $all; do
	is "$(cat "$T/end.$who.opened")" "$(cat "$T/third.$who.opened")" \
		"$who: as many descriptors as after a third"
	is "$(cat "$T/end.$who.zombies")" 0 "$who: no zombie"
	then=$(cat "$T/third.$who.memory")
	now=$(cat "$T/end.$who.memory")
	note "$who: ${then:-none} KiB after a third, ${now:-none} KiB at the end"
	[ "$SLOW" -gt 1 ] && continue # memcheck and ASan keep what was freed
	[ "${now:-999999}" -le $((${then:-0} + MAY_GROW)) ]
	ok $? "$who: as small as after a third"
done

# --- nothing is left ---------------------------------------------------------------
kill -INT "$watch" 2>/dev/null || kill_pids TERM "$watch"
run gpc cancel -q "$keeper"
wait "$submit"
is $? 125 "the attached client ends with its job"
wait "$follow"
is $? 0 "so does logs -f"
kill_pids TERM "$watch"
wait "$watch" 2>/dev/null
run gpc release -q "$keeper"
run gpc checkpoint list "$keeper" -o name
[ "$(printf '%s\n' "$out" | wc -l)" -le 3 ]
ok $? "it has pruned its checkpoints all the time"
wait_until 30 none_left
run gpc prune --jobs --older-than 0 -y -q
is "$(stored "" | grep -F .tmp-)" "" "no temporary object in the store"
is "$(stored "" | grep -v ^blobs/)" store.json "no object of any job"
if ! far; then # where no age can be set
	find "$STORE" -exec touch -h -d '20 days ago' {} +
	run gpc prune --blobs -y -q
	is "$(stored blobs/)" "" "no blob"
fi
is "$(find "$XDG_STATE_HOME/gpucloud" -type f | sed "s|^$XDG_STATE_HOME/gpucloud/||" |
	grep -Ev '^(supervise-[^/]*\.(lock|start|log|wake|swept)|stores/[^/]*|nodes/\.lock)$')" "" \
	"no file of a node"
is "$(find "$TMPDIR" -mindepth 1)" "" "no temporary file"
log=$(cat "$XDG_STATE_HOME"/gpucloud/supervise-*.log | wc -c)
[ "$log" -lt 20000 ]
ok $? "a short log of the supervisor" || note "$log bytes"
finish
