#!/bin/sh
# Dying at every crash point, one at a time and in pairs. The points are named in
# the sources by GPC_CRASH (lib/base/crash.h). Each of the scenarios below runs
# once unharmed, which shows what points it passes; then once for each point (and
# for each process that passes it) with that point armed. What is left is helped
# as a user would: `wait`, `release`, submitting again. After that everything must
# be right: state, processes, machines bought, blobs, files.
#   crash.sh [--long] [-j PLACES] [--done FILE]
#     --long       all pairs that can occur together, and after each single write and
#                  deletion of the store, not samples of both: about two hours on two
#                  cores that have nothing else to do
#     -j PLACES    so many walks at a time; each waits for most of its time
#     --done FILE  results are added to it, and what it says went well is left
#                  out: so a long run goes on where it was stopped
#   crash.sh --walk 'SCENARIO POINT[:N][,POINT...]'     one of them, with details
self=$(realpath "$0")
results=
while [ $# -gt 0 ] && [ "$1" != --walk ]; do
	case $1 in
	--long) export GPUCLOUD_TEST_LONG=1 ;;
	-j) GPUCLOUD_CRASH_JOBS=$2 && shift ;;
	--done) results=$(realpath "$2") && shift ;;
	*) echo "crash.sh: what is '$1'?" >&2 && exit 2 ;;
	esac
	shift
done
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

CHECK=$(dirname "$(dirname "$GPUCLOUD_BIN")")/tests/e2e/store-check
ELSEWHERE="buckets.fetched
mirror.file_put
mirror.deleted
group.asks
group.answered
group.destroyed
claim.appended
agent.parts
agent.parted
fetch.written" # by mounts.sh and aws_group.sh, which have a cloud, and results.sh
SCENARIOS="plain paid gang request save sweep remove"
export GPUCLOUD_CRASH_DIR="$T/crash"
mkdir "$GPUCLOUD_CRASH_DIR"

# --- scenarios -------------------------------------------------------------
# Each is a function that does what a user does, dies with the client when that
# is killed, and says in $want what its jobs may end as.

# A workspace, a secret, a program, somebody who is told of its end.
plain() {
	mkdir -p ws/sub
	echo hello >ws/a
	head -c 50000 "$GPUCLOUD_BIN" >ws/sub/b
	echo "{command: [sh, -c, 'echo \$GPUCLOUD_STATE >>$T/told'], on: success}" >notify
	again='gpc submit -q --once key --workdir ws --secret TOKEN=@token --name plain \
		--notify @notify -- cat a'
	echo secret >token
	submit
	want='^SUCCEEDED completed [12]$'
}

# Three checkpoints, two of them kept; artifacts; a second attempt that goes on
# from a checkpoint because the first one takes its own machine down.
save() {
	mkdir -p ws
	echo hello >ws/a
	cat >save.yaml <<'Y'
name: save
workdir: ws
file_mounts: {~/one: ws/a}
run: |
  i=0
  [ -z "${GPUCLOUD_RESUME_FROM:-}" ] || i=$(cat "$GPUCLOUD_RESUME_FROM/n")
  while [ "$i" -lt 3 ]; do
    i=$((i + 1))
    echo "$i" >"$GPUCLOUD_CHECKPOINT_DIR/n"
    gpucloud checkpoint save -q || exit 5
  done
  echo saved
  if [ "$GPUCLOUD_ATTEMPT" = 1 ]; then sleep 0.3; kill -9 $PPID; sleep 60; fi
  echo result >result
checkpoint: {path: state, upload_every: 1s}
artifacts: [{path: result}]
Y
	again='gpc submit -q --once key save.yaml'
	submit
	want='^SUCCEEDED completed [23]$'
}

# What one asks of a running job, and of one that has ended.
request() {
	cat >request.yaml <<'Y'
name: request
run: |
  trap 'kill $!' USR1
  [ "$GPUCLOUD_ATTEMPT" -gt 1 ] && [ -e "$GPUCLOUD_CHECKPOINT_DIR/n" ] && exit
  echo 1 >"$GPUCLOUD_CHECKPOINT_DIR/n"
  while :; do sleep 60 & wait; done
checkpoint: {path: state}
Y
	echo secret >token
	again='gpc submit -q -d --once key --secret TOKEN=@token request.yaml'
	submit
	job=$(newest)
	[ -n "$job" ] || return
	running "$job"
	ask gpc signal -q "$job" USR1
	# An agent that is asked before the program has a file saves nothing.
	ask gpc checkpoint save -q --timeout 20s "$job"
	ask gpc update -q -y --time 1h "$job"
	ask gpc cancel -q "$job"
	ask gpc wait -q "$job"
	until_it_works gpc resume -q -d --secret TOKEN=@token "$job"
	want='^SUCCEEDED completed [2345]$'
}

# Bought by the hour; the first zone is sold out.
paid() {
	cloud=$XDG_STATE_HOME/gpucloud/fake
	mkdir -p "$cloud"
	# What is gone is listed for a while: else absence means it only after 5 min.
	echo '{"boot": true, "gone_ms": 60000,
		"faults": [{"op": "create", "fault": "no_capacity"}]}' >"$cloud/script.json"
	again='gpc submit -q -y --once key --infra fake --ports 8080 --name paid -- \
		sh -c "sleep 0.2; echo paid"'
	submit
	want='^SUCCEEDED completed [12]$'
}

# Two ranks that both own parts of the checkpoints.
gang() {
	cat >gang.yaml <<'Y'
name: gang
num_nodes: 2
run: echo "$GPUCLOUD_NODE_RANK" >"$GPUCLOUD_CHECKPOINT_DIR/n.$GPUCLOUD_NODE_RANK"
checkpoint: {path: state, ranks: all}
artifacts: [{path: state, to: file:///TO}]
Y
	sed -i "s|/TO|$PWD/to|" gang.yaml
	again='gpc submit -q --once key gang.yaml'
	submit
	want='^SUCCEEDED completed [123]$'
}

# What submits that died long ago left, and a node without its job.
sweep() {
	again='gpc submit -q -d --once key -- sleep 0.3'
	submit
	job=$(newest)
	[ -n "$job" ] || return
	ask gpc wait -q "$job"
	mkdir -p "$STORE/secrets"
	echo old >"$STORE/secrets/gone-aaaaaa"
	echo '{}' >"$STORE/index/live/1700000000-gone-aaaaaa.json"
	touch -d '2 days ago' "$STORE/secrets/gone-aaaaaa" \
		"$STORE/index/live/1700000000-gone-aaaaaa.json"
	lost=$(gpc submit -q -d -- sleep 600) || lost=$(newest)
	[ "$lost" != "$job" ] || lost=
	[ -n "$lost" ] || return
	running "$lost"
	# shellcheck disable=SC2046
	kill_pids KILL $(supervisors)
	rm -rf "$STORE/jobs/$lost"
	rm -f "$STORE"/index/*/*"$lost"*
	ask gpc release -q --orphans
	want='^SUCCEEDED completed [12]$'
}

# Old checkpoints go, then the job, and then what it had submitted.
remove() {
	mkdir -p ws
	echo hello >ws/a
	cat >remove.yaml <<'Y'
name: remove
workdir: ws
run: |
  for i in 1 2 3; do
    echo "$i" >"$GPUCLOUD_CHECKPOINT_DIR/n"
    gpucloud checkpoint save -q || exit 5
  done
checkpoint: {path: state, keep: 4}
Y
	again='gpc submit -q --once key remove.yaml'
	submit
	job=$(newest)
	[ -n "$job" ] || return
	ask gpc wait -q "$job"
	ask gpc release -q "$job"
	echo half >"$STORE/jobs/$job/checkpoints/.tmp-half"
	until_it_works gpc checkpoint prune -q --keep 2 "$job"
	# What its supervisor had not closed when it died is closed by another.
	wait_until 60 removed "$job"
	find "$STORE/blobs" -exec touch -d '40 days ago' {} +
	until_it_works gpc prune -q -y --blobs
	find "$STORE/blobs" -type f -exec touch -d '20 days ago' {} +
	until_it_works gpc prune -q -y --blobs
	left=0
}

removed() {
	gpc supervise -q --once
	gpc prune -q -y --jobs --older-than 1s
	[ ! -e "$STORE/jobs/$1" ]
}

# --- what a user does ------------------------------------------------------
newest() { gpc status -o json | jq -r 'first(.. | .job? // empty | strings)'; }
supervisors() {
	for p in $(pids_with "$T/"); do
		tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" |
			grep -q '^[^ ]* supervise ' && echo "$p"
	done
}
running() { # JOB; in between nobody may be there who moves it
	for _ in 1 2 3 4 5 6 7 8 9; do
		wait_until 2 in_state "$1" RUNNING && return
		gpc supervise -q --once 2>/dev/null
	done
}
killed() { [ "$1" -eq 137 ]; }

ask() { # a request that was cut short is made again
	"$@"
	rc=$?
	! killed $rc || "$@"
}

until_it_works() {
	for _ in 1 2 3; do
		"$@" && return
	done
}

# Submits again until there is a job; --once makes that safe.
submit() {
	for _ in 1 2 3; do
		eval "$again"
		rc=$?
		killed $rc || return 0
	done
}

# --- one walk ---------------------------------------------------------------
flaw() { echo "flaw: $*"; }

recover() {
	# shellcheck disable=SC2046  # a list of ids
	for job in $(gpc status -q -o name); do
		gpc wait -q "$job"
		gpc release -q "$job" || gpc release -q "$job"
	done
	gpc release -q --orphans || gpc release -q --orphans
	wait_until 20 none_left || flaw "still running: $(pids_with "$T/" | tr '\n' ' ')"
}

# At once: what killed writers left of jobs that are over is gone.
check_remains() {
	gpc supervise -q --once
	for entry in "$STORE"/index/done/*/*; do
		[ -e "$entry" ] || continue
		job=${entry##*/}
		find "$STORE/jobs/${job%%.*}" -name '.tmp-*' 2>/dev/null |
			sed 's/^/flaw: left at once: /'
	done
	"$CHECK" "file://$STORE" 2>/dev/null | sed -n 's/^unreferenced jobs/flaw: left at once: jobs/p'
}

# A month later: whatever may wait for a sweep has been waiting.
grow_old() {
	find "$STORE" "$XDG_STATE_HOME" "$XDG_CACHE_HOME" -exec touch -h -d '40 days ago' {} +
	gpc supervise -q --once
	gpc prune -q -y --blobs
	for job in $(gpc status -q -o name); do
		gpc checkpoint prune -q --keep 99 "$job" >/dev/null
	done
}

check_store() {
	"$CHECK" "file://$STORE" >check 2>&1 || true
	[ "$(grep -c '^job ' check)" -eq "$left" ] ||
		flaw "the store was not looked at: $(head -n 2 check | tr '\n' ' ')"
	case ${points:-} in *,*) want='^(SUCCEEDED completed|FAILED no_progress) ' ;; esac
	sed -n 's/^job [^ ]* //p' check | while read -r line; do
		echo "$line" | grep -Eq "${want:-.}" || flaw "ended as: $line"
	done
	sed -n 's/^bad/flaw:/p; s/^unreferenced/flaw: unreferenced/p' check
	find "$STORE" -name '.tmp-*' | sed 's/^/flaw: temporary file /'
	# the same without any code of ours
	find "$STORE" -path '*/blobs/*' -type f -exec sha256sum {} + |
		awk '{ n = split($2, p, "/"); if (p[n] != $1) print "flaw: " $2 }'
}

# Of a success; two deaths in a row may have ended the job as FAILED.
was_told() {
	! grep -q '^job [^ ]* SUCCEEDED ' check || grep -qx SUCCEEDED "$T/told"
}

check_machines() {
	nodes=$XDG_STATE_HOME/gpucloud
	find "$nodes/nodes" -mindepth 1 ! -name .lock 2>/dev/null |
		sed 's/^/flaw: left of a node: /'
	for f in "$nodes"/fake/nodes/*.json; do
		[ -e "$f" ] || continue
		jq -e '.gone_boot_ms > 0' "$f" >/dev/null || flaw "never given back: $f"
	done
	[ -z "$(ls "$nodes/fake/run" 2>/dev/null)" ] || flaw "left in fake/run"
	[ -z "$(ls "$nodes/fake/ways" 2>/dev/null)" ] || flaw "ports are open"
	[ ! -e "$nodes/fake/ledger" ] || jq -rs 'map(select(.made > 0)) | group_by(.token)[]
		| select((map(.made) | add) > 1) | "flaw: bought twice: \(.[0].token)"' \
		"$nodes/fake/ledger"
}

walk() { # SCENARIO POINTS
	want=
	lost=
	left=1 # jobs
	points=$2
	[ -z "$2" ] || export GPUCLOUD_CRASH="$2"
	"$1" >"$T/out" 2>&1
	unset GPUCLOUD_CRASH
	{
		recover
		# a job that was removed by hand: its node may have written a last beat
		[ -z "$lost" ] || rm -rf "$STORE/jobs/$lost"
		jobs=$(find "$STORE/jobs" -name job.json 2>/dev/null | wc -l)
		[ "$jobs" -eq "$left" ] || flaw "$jobs jobs"
		check_remains
		grow_old
		check_store
		[ ! -e notify ] || was_told || flaw "nobody was told"
		check_machines
	} >>"$T/out" 2>&1
}

died() { find "$GPUCLOUD_CRASH_DIR" -name '*.died' | sed 's|.*/||; s/\.died$//' | sort; }

# Prints "ok WALK: DIED-AT" or "bad WALK: WHY", one line.
one() {
	start=$(now_ms)
	walk "$1" "${2:-}"
	cat "$T"/sanitizer.* 2>/dev/null | sed 's/^/flaw: /' >>"$T/out"
	if grep -q '^flaw: ' "$T/out"; then
		echo "bad $1 ${2:-}: $(sed -n 's/^flaw: //p' "$T/out" | head -n 8 | tr '\n' ';')" \
			"${GPUCLOUD_TEST_KEEP:+kept: $T}"
	else
		echo "ok $1 ${2:-}: died at $(died | tr '\n' ' ')($(($(now_ms) - start)) ms)"
	fi
	[ -z "${TRACE:-}" ] || [ -n "${2:-}" ] || cp "$GPUCLOUD_CRASH_DIR/passed" "$TRACE/$1"
}

if [ "${1:-}" = --walk ]; then
	# shellcheck disable=SC2086  # a list of words
	one $2
	[ -z "${VERBOSE:-}" ] || cat "$T/out"
	exit
fi

# --- all of them ------------------------------------------------------------
grep -qa GPUCLOUD_CRASH_DIR "$GPUCLOUD_BIN" ||
	skip_all "this build has no crash points (meson option crash_points)"
LIMIT=$((200 * SLOW)) # seconds for one walk
cores=$(getconf _NPROCESSORS_ONLN)
PLACES=${GPUCLOUD_CRASH_JOBS:-$((cores * ${GPUCLOUD_TEST_LONG:+2}6))}
[ "$SLOW" -eq 1 ] || PLACES=8

walk_all() { # FILE: lines "SCENARIO [POINTS]"; results in order of their ends
	xargs -P "$PLACES" -I '{}' sh -c \
		'timeout -k 5 "$1" sh "$2" --walk "$3" || echo "bad $3: took too long"' \
		sh "$LIMIT" "$self" '{}' <"$1"
}

walked() { # RESULTS: the walks
	sed 's/^[a-z]* \([^ ]* [^ ]*\): .*/\1/' "$1"
}

# A check for each result as it comes in, and now and then how far it is.
report() { # OF
	since=$(now_ms)
	n=0
	bad=0
	while read -r word walk; do
		[ "$word" = ok ]
		ok $? "$walk" || bad=$((bad + 1))
		n=$((n + 1))
		[ $((n % 100)) -eq 0 ] || continue
		took=$((($(now_ms) - since) / 1000))
		note "$n of $1 walks in $took s, $bad bad; $((took * ($1 - n) / n)) s to go"
	done
}

# Pairs that have found something, whatever the sample is.
NAMED="request event.intent,event.resume"

# The points of a scenario in the order in which they are passed first, for each
# process that passes them: "NAME" or "NAME:N".
points_of() { # SCENARIO
	awk '{ n[$1]++ }
		!(($1, $2) in seen) { seen[$1, $2] = 1; print $1 (n[$1] > 1 ? ":" n[$1] : "") }
	' "$TRACE/$1"
}

# Each point in the first scenario that passes it: "SCENARIO POINT".
singles() {
	for s in $SCENARIOS; do
		points_of "$s" | sed "s/^/$s /"
	done | awk '{ split($2, p, ":"); if (!(p[1] in at)) at[p[1]] = $1 } at[p[1]] == $1'
}

# Each two points in the first scenario that passes both.
pairs() {
	for s in $SCENARIOS; do
		points_of "$s" | grep -v : | awk -v s="$s" '
			{ for (i in p) print s, $1 < i ? $1 "," i : i "," $1; p[$1] }'
	done | awk '!seen[$2]++' | sort
}

# After each write and deletion of the store, whether or not its place has a name:
# "SCENARIO NAME:N".
writes() {
	for s in $SCENARIOS; do
		awk -v s="$s" '/^store\.(linked|named|deleted) / {
			n[$1]++; print s, $1 ":" n[$1] }' "$TRACE/$s"
	done
}

export TRACE="$T/trace"
mkdir "$TRACE"
grep -rhoE 'GPC_CRASH\("[^"]+"\)' "$ROOT/lib" "$ROOT/cmd" |
	sed 's/.*"\(.*\)".*/\1/' | sort -u >"$T/points"
echo "$SCENARIOS" | tr ' ' '\n' >"$T/unharmed"
walk_all "$T/unharmed" >"$T/first"
while read -r word walk; do
	[ "$word" = ok ]
	ok $? "unharmed $walk"
done <"$T/first"
cut -d ' ' -f 1 "$TRACE"/* | sort -u >"$T/passed"
never=$(comm -23 "$T/points" "$T/passed" | grep -vxF "$ELSEWHERE" | tr '\n' ' ')
is "$never" "" "every point is passed by a scenario"

if [ -n "${GPUCLOUD_TEST_LONG:-}" ]; then
	{
		meson setup --buildtype release -Dtests=false "$T/release" "$ROOT" &&
			ninja -C "$T/release" cmd/gpucloud
	} >/dev/null 2>&1
	check "a release can be built" test -x "$T/release/cmd/gpucloud"
	is "$(strings -a "$T/release/cmd/gpucloud" |
		grep -xF -e GPUCLOUD_CRASH -f "$T/points" | head -n 5)" "" \
		"and has none of the points"
	rm -rf "$T/release"
fi

singles >"$T/walks"
sample() { # OF COUNT: so many of all of them
	"$1" >"$T/all-$1"
	awk -v step=$(($(wc -l <"$T/all-$1") / $2)) 'NR % step == 7 % step' "$T/all-$1"
}
if [ "$SLOW" -gt 1 ]; then # with sanitizers each point once
	{ grep -v : "$T/walks"; sample pairs 6; sample writes 6; } >"$T/few"
elif [ -n "${GPUCLOUD_TEST_LONG:-}" ]; then
	{ cat "$T/walks"; writes; pairs; } | awk '!seen[$0]++' >"$T/few"
else
	{ cat "$T/walks"; sample pairs 15; sample writes 15; echo "$NAMED"; } |
		awk '!seen[$0]++' >"$T/few"
fi
# Without those that an earlier run has done.
results=${results:-$T/results}
touch "$results"
sed -i '/^ok .*: died at /!d' "$results"
walked "$results" >"$T/before"
grep -vxFf "$T/before" "$T/few" >"$T/todo"
walk_all "$T/todo" | tee -a "$results" | report "$(wc -l <"$T/todo")"
TESTS=$((TESTS + $(wc -l <"$results") - $(wc -l <"$T/before")))
walked "$results" >"$T/after"
is "$(grep -vxFf "$T/after" "$T/few")" "" "every walk came to an end"

# How processes take turns differs from walk to walk: once more where no walk has
# died at a point, and where one of a pair has spared the other.
spared() {
	sed -n 's/^.*: died at \(.*\)(.*/\1/p' "$results" "$T/more" 2>/dev/null |
		tr ' ' '\n' | sort -u | comm -23 "$T/passed" -
}
lonely() { # RESULTS
	sed -n 's/^ok \([^ ]* [^ ]*,[^ ]*\): died at [^ ]* (.*/\1/p' "$1"
}
{
	spared | while read -r point; do grep " $point\$" "$T/walks"; done
	lonely "$results"
} >"$T/again"
walk_all "$T/again" >"$T/more"
while read -r word walk; do
	[ "$word" = ok ]
	ok $? "again $walk"
done <"$T/more"
is "$(spared | tr '\n' ' ')" "" "every point killed somebody"
note "$(grep -c , "$T/few") pairs, of which one spared the other:" \
	"$(lonely "$T/more" | tr '\n' ';')"
finish
