#!/bin/sh
# What a hostile or unlucky user does: odd specs, odd files, a spoiled store.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# --- why a job failed is said wherever its end is ------------------------------
printf 'name: big\nrun: echo never\nenvs: {BIG: %0200000d}\n' 1 >big.yaml
run gpc submit -q big.yaml
like "$err" "environment of [0-9]+ bytes" "the end of a job says why, even with -q"
like "$(gpc status)" "spec_invalid: .*environment" "so does its line in status"
like "$(gpc status @)" "environment of [0-9]+ bytes" "and its page"

# --- expressions that compile or match for ever ----------------------------------
/usr/bin/python3 - <<'P'
def spec(n, expr):
    open(f"regex{n}.yaml", "w").write(f"run: echo\nmetrics: {{loss: '{expr}'}}\n")
spec(1, "(" * 20000 + ")" * 20000)
spec(2, "(a{1,255}){1,255}{1,255}")
spec(3, "(a{1,99999999999999999999})")
spec(4, r"(.*)*(.*)*x\1")
P
for i in 1 2 3 4; do
	run gpc submit -n regex$i.yaml
	is "$rc" 3 "costly expression $i is refused" || note "$err"
done
printf 'run: echo\nmetrics: {loss: "loss=([0-9]{1,3}[.][0-9]{1,6})"}\n' >regex.yaml
run gpc submit -n regex.yaml
is "$rc" 0 "one with small repetitions is not" || note "$err"

# --- a job cannot hide from the one who ends it -----------------------------------
cat >hide.yaml <<'Y'
name: hide
envs: {GPUCLOUD_NODE_ID: mine}
run: (setsid sleep 600 &) ; sleep 600
Y
job=$(gpc submit -q -d hide.yaml)
wait_until 20 in_state "$job" RUNNING
wait_until 10 test -n "$(job_pids "$job")"
like "$(for p in $(job_pids "$job"); do tr '\0' '\n' 2>/dev/null <"/proc/$p/environ"; done |
	grep GPUCLOUD_NODE_ID | sort -u)" '^GPUCLOUD_NODE_ID=[0-9a-f-]{36}$' \
	"the mark of a node cannot be given by envs"
run gpc cancel --now "$job"
gpc wait "$job" >/dev/null 2>&1

# --- a spoiled node.json: nothing of the lost node runs on or stays -----------------
cat >spoiled.yaml <<'Y'
name: spoiled
run: |
  trap '' TERM
  echo "attempt $GPUCLOUD_ATTEMPT"
  [ "$GPUCLOUD_ATTEMPT" = 2 ] || sleep 600
Y
nodes=$XDG_STATE_HOME/gpucloud/nodes
no_nodes() { [ -z "$(find "$nodes" -mindepth 1 -maxdepth 1 -name '[!.]*')" ]; }
for how in garbage gone other; do
	wait_until 20 no_nodes
	job=$(gpc submit -q -d spoiled.yaml)
	wait_until 20 in_state "$job" RUNNING
	node=$(find "$nodes" -mindepth 1 -maxdepth 1 -name '[!.]*' | head -n 1)
	node=$(basename "$node")
	case $how in
	garbage) head -c 300 /dev/urandom >"$nodes/$node/node.json" ;;
	gone) rm "$nodes/$node/node.json" ;;
	other) sed -i 's/"id".*,/"id": "..\/..\/x",/' "$nodes/$node/node.json" ;;
	esac
	run gpc wait "$job"
	is "$rc" 0 "node.json $how: the next attempt ends well" || note "$err"
	is "$(pids_with "GPUCLOUD_NODE_ID=$node" | wc -l)" 0 \
		"node.json $how: the lost node's processes are ended"
	wait_until 10 no_nodes
	ok $? "node.json $how: no folder is left"
done

# --- what killed submits leave: secrets above all ---------------------------------------
# shellcheck disable=SC2016  # the job expands it
printf 'name: quick\nrun: echo "${#TOKEN}"\nsecrets: {TOKEN: null}\n' >quick.yaml
TOKEN=geheim-$$ && export TOKEN
run gpc submit -q quick.yaml
is "$out" "${#TOKEN}" "a job has its secret"
wait_until 20 none_left # the next supervisor sweeps first of all
mkdir -p "$STORE/secrets" "$STORE/index/live"
for name in secrets/dead-aaaaaa secrets/.tmp-aaaaaaaaaaaaaaaa secrets/young-aaaaaa \
	"secrets/$(gpc status -o name | head -n 1)" \
	"secrets/$(gpc status -o name | head -n 1).resume-00000099-aaaaaaaa" \
	index/live/1700000000-dead-aaaaaa.json; do
	echo "$TOKEN" >"$STORE/$name"
	case $name in *young*) ;; *) touch -d '2 days ago' "$STORE/$name" ;; esac
done
run gpc submit -q quick.yaml
only_young() { [ "$(ls -A "$STORE/secrets")" = young-aaaaaa ]; }
wait_until 10 only_young
ok $? "old secrets without a running job are deleted" || note "$(ls -A "$STORE/secrets")"
[ ! -e "$STORE/index/live/1700000000-dead-aaaaaa.json" ]
ok $? "so are old entries without a job"
rm -f "$STORE/secrets/young-aaaaaa"
is "$(grep -rlF -e "$TOKEN" "$XDG_DATA_HOME" "$XDG_STATE_HOME" "$XDG_CACHE_HOME")" "" \
	"afterwards no file holds the secret"
unset TOKEN

# --- no room for the last checkpoint: that is no success ----------------------------------
cat >last.yaml <<'Y'
name: last
checkpoint: {path: ck}
run: mkdir ck; head -c 8000000 /dev/urandom >ck/model; echo done
Y
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
	run unshare -m sh -c "mkdir -p '$T/small' && mount -t tmpfs -o size=4m none '$T/small' &&
		'$GPUCLOUD_BIN' submit --store file://$T/small/store last.yaml"
	is "$rc" 125 "a last checkpoint without room fails the job" || note "$err"
	like "$err" "last checkpoint could not be saved: .*No space left" "and it says so"
	like "$err" "FAILED: disk_full" "by its reason"
else
	skip "no room for the last checkpoint" "needs root and a mount namespace"
fi

# --- few resources -------------------------------------------------------------------
mkdir -p many/a/b/c
touch many/a/b/c/.gitignore
for n in 4 5 6 7 8 9 10; do
	run sh -c "ulimit -n $n; exec '$GPUCLOUD_BIN' submit -q --skip-unreadable --workdir many last.yaml"
	[ "$rc" -ne 0 ] && ! printf '%s' "$err" | grep -q "permissions"
	ok $? "with $n open files nothing is left out of the workdir ($rc)" || note "$err"
done
run sh -c "ulimit -n 20; exec '$GPUCLOUD_BIN' submit --skip-unreadable --workdir many last.yaml"
is "$(printf '%s\n' "$err" | uniq -d)" "" "why it ended is not said twice in a row"
run sh -c "ulimit -f 0; exec '$GPUCLOUD_BIN' submit -q --workdir many last.yaml"
[ "$rc" -gt 0 ] && [ "$rc" -lt 126 ]
ok $? "a limit on the size of files is an error, not the end by a signal ($rc)"

# --- what a caller left open is not held for as long as the supervisor lives -----------
printf 'run: sleep 8\n' >sleep.yaml
before=$(now_ms)
job=$( (exec 9>&1; gpc submit -q -d sleep.yaml) | cat)
[ $(($(now_ms) - before)) -lt 5000 ]
ok $? "submit -d in a pipe does not wait for the job"
run gpc cancel --now "$job"
gpc wait "$job" >/dev/null 2>&1

# --- names that look like lines of ours -----------------------------------------------
mkdir forged
printf 1234567 >"forged/a
  price       999.00 per hour"
printf 1 >forged/b
printf 'name: "x\\n  price  998"\nworkdir: forged\nrun: echo\n' >forged.yaml
run gpc submit -n -v forged.yaml
unlike "$err" '^  price .*99' "a name with a newline does not make a line of the plan"
like "$err" 'x0a  price' "but is shown"

# --- a program that takes its machine down each time ------------------------------------
cat >deadly.yaml <<'Y'
name: deadly
run: echo starting; sleep 0.5; kill -9 $PPID
Y
run gpc submit -q deadly.yaml
is "$rc" 125 "it does not get machines for ever"
is "$(reason_of @)" no_progress "the job ends for want of progress"
is "$(gpc status @ -o json | jq '[.. | .attempt? // empty | numbers] | max')" 5 \
	"after five machines"

# --- a rank that is lost while its part of a checkpoint is waited for -----------------------
cat >parts.yaml <<'Y'
name: parts
num_nodes: 2
checkpoint: {path: ck, ranks: all, upload_every: 1s}
run: |
  mkdir -p ck; n=$(cat ck/n 2>/dev/null || echo 0)
  while [ "$n" -lt 6 ]; do n=$((n + 1)); echo $n >ck/tmp; mv ck/tmp ck/n; sleep 1; done
Y
job=$(gpc submit -q -d parts.yaml)
wait_until 20 in_state "$job" RUNNING
rank_1=$(for p in $(job_pids "$job"); do
	tr '\0' '\n' 2>/dev/null <"/proc/$p/environ" |
		grep -Eq '^GPUCLOUD_NODE_ID=.{36}-1$' && echo "$p"
done)
# shellcheck disable=SC2086  # a list of ids
kill_pids STOP $rank_1
wait_until 10 test -e "$STORE/jobs/$job/1/0/save.json"
# shellcheck disable=SC2086
kill_pids KILL $rank_1
run gpc wait "$job"
is "$rc" 0 "it ends well" || note "$err"
moment() { cat "$STORE/jobs/$job/events"/*.json | jq -s "[.[] | select(.type == \"$1\")][$2].at_ms"; }
took=$(($(moment attempt 1) - $(moment lost 0)))
[ "$took" -lt $((10000 * SLOW)) ]
ok $? "and goes on soon after the loss ($took ms)"

# --- places that a job on this machine may not change -------------------------------------
printf 'run: echo never\nartifacts: [/etc/hostname]\n' >places1.yaml
printf 'run: echo never\ncheckpoint: {path: %s/ck}\n' "$T" >places2.yaml
printf 'run: echo never\nfile_mounts: {%s/there: ./last.yaml}\n' "$T" >places3.yaml
for i in 1 2 3; do
	run gpc submit -q places$i.yaml
	is "$rc" 3 "an absolute place on the node ($i) is refused before a job is made" || note "$err"
	like "$err" "outside the job's home" "and it says why"
done

# --- odd workdirs -------------------------------------------------------------------------
mkdir odd
mkfifo odd/pipe
ln -s loop odd/loop
echo x >odd/file
for what in pipe file loop; do
	run gpc submit -q --workdir odd/$what -- true
	is "$rc" 3 "a workdir that is a $what is refused" || note "$err"
	unlike "$err" "permissions" "and not for its permissions"
done
run gpc submit -q --store "file://$T/work/odd/store" --workdir odd -- \
	find . -type f
is "$rc:$out" "0:./file" "a store in the workdir is not taken along" || note "$err"
run gpc submit -q --store "file://$T/work/odd/store" --workdir odd/store -- true
is "$rc" 3 "a workdir in the store is refused" || note "$err"
printf 'run: find d -type f\nfile_mounts: {d: odd}\n' >mount.yaml
run gpc submit -q --store "file://$T/work/odd/store" mount.yaml
is "$rc:$out" "0:d/file" "nor does a mount take the store along" || note "$err"

# --- a job that is deleted by hand --------------------------------------------------------
job=$(gpc submit -q -d -- sleep 600)
wait_until 20 in_state "$job" RUNNING
rm -rf "${STORE:?}/jobs/$job"
run gpc status -o name
unlike "$out" "$job" "a deleted job is not shown"
run gpc status "$job"
is "$rc" 5 "nor found"
wait_until 30 none_left
ok $? "its node and its supervisor end"
[ ! -e "$STORE/jobs/$job/events" ]
ok $? "and nobody begins a journal anew"

# --- the newest job is deleted by hand ----------------------------------------------------
before=$(gpc status @ -o json | jq -r '.. | .job? // empty' | head -n 1)
run gpc submit -q -- true
gone=$(gpc status @ -o json | jq -r '.. | .job? // empty' | head -n 1)
wait_until 20 none_left
rm -rf "${STORE:?}/jobs/$gone"
run gpc status @
like "$out" "Job: +$before" "@ is then the one before it" || note "$err"

# --- a store that fills up while a job runs: nobody can record it, everybody says it --------
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
	cat >filled.sh <<-S
		mount -t tmpfs -o size=4m none '$T/small' && cd '$T/work' || exit 1
		export GPUCLOUD_STORE=file://$T/small/store
		$GPUCLOUD_BIN submit --name filled -- sleep 600 2>filled.err &
		until grep -q RUNNING filled.err; do sleep 0.1; done
		cat /dev/zero >'$T/small/filler' 2>/dev/null
		$GPUCLOUD_BIN status filled
		until grep -q full filled.err; do sleep 0.1; done
		rm '$T/small/filler'
		$GPUCLOUD_BIN release filled
	S
	mkdir -p "$T/small"
	run unshare -m sh filled.sh
	like "$out" "Note: +the store's disk is full" "status says that the store's disk is full" ||
		note "$err"
	like "$(cat filled.err)" "the store's disk is full: " "so does who is attached"
	like "$out" "filled.* released" "with room again the job can be released"
else
	skip "a store that fills up" "needs root and a mount namespace"
fi

finish
