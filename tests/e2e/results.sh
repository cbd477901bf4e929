#!/bin/sh
# What is said about a job that has ended, and what fetching its files says and
# leaves behind.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

cat >saves.yaml <<'Y'
name: saves
checkpoint: {path: ckpt}
run: mkdir -p ckpt; printf 'x\n' >ckpt/f; head -c 9000000 /dev/zero >ckpt/big; [ ! -e "$FAIL" ]
envs: {FAIL: ""}
Y
run gpc submit -q saves.yaml
is "$rc" 0 "a job that saves" || note "$err"

# --- fetching ------------------------------------------------------------------
run gpc pull saves results
is "$rc" 0 "pull without artifacts"
like "$err" "nothing to fetch: saves-[a-z2-7]* has no artifacts" "says that there is nothing"
like "$err" "hint: .*artifacts" "and what would be"
run gpc pull saves results --json
is "$rc $(echo "$out" | jq -c '[.dir, .files]')" "0 [null,0]" "the JSON names no folder"
run gpc pull saves results -q
is "$rc $out" "0 " "nor does -q"
[ ! -e results ]
ok $? "and none is made"
run gpc submit -q --pull results saves.yaml
unlike "$err" "in results" "submit --pull names no folder that it did not make"
run gpc checkpoint pull saves got
like "$err" "2 files" "checkpoint pull counts what it fetches"
run gpc checkpoint pull saves got
like "$err" "nothing new to fetch.*" "once more there is nothing to fetch"
like "$err" "hint: .*--overwrite" "and what would fetch it all the same"
rm got/f
run gpc checkpoint pull saves got -o json
is "$(echo "$out" | jq -c '[.files, .size_bytes]')" "[1,2]" "what is missing is fetched, and counted"
run gpc checkpoint pull --overwrite saves got -o json
is "$(echo "$out" | jq .files)" 2 "--overwrite fetches all"

# Where a file system has files without a name (open(2), O_TMPFILE), one that is
# not whole has none.
temps=$(python3 -c 'import os
try:
	os.close(os.open(".", os.O_TMPFILE | os.O_WRONLY))
	print(0)
except OSError:
	print(1)')
cat >makes.yaml <<'Y'
name: makes
artifacts: [{path: out}]
run: mkdir out; echo one >out/a
Y
mkdir crash
run gpc submit -q makes.yaml
run env GPUCLOUD_CRASH=fetch.written "GPUCLOUD_CRASH_DIR=$PWD/crash" \
	"$GPUCLOUD_BIN" pull makes results
is "$rc $(find results -type f | wc -l)" "137 $temps" "a pull that is killed leaves no half file"
run gpc pull makes results
is "$rc $(cat results/out/a)" "0 one" "the next one fetches it"
run env GPUCLOUD_CRASH=restore.written "GPUCLOUD_CRASH_DIR=$PWD/crash" \
	"$GPUCLOUD_BIN" checkpoint pull saves half
is "$(find half -name '.gpucloud-*' | wc -l)" "$temps" "nor does a pull of a checkpoint"
run gpc checkpoint pull saves half
is "$rc $(cat half/f)" "0 x" "which goes on as well"

# --- advice ----------------------------------------------------------------------
job=$(gpc submit -q -d -- sleep 100)
wait_until 30 in_state "$job" RUNNING
like "$(gpc status "$job" -o json | jq -c '.supervisor | [.alive, .pid > 0, .user, .host, (.text | type)]')" \
	"^.true,true,\".*\",\"$(uname -n)\",\"string\".$" "the JSON says who supervises, by fields"
gpc cancel "$job" 2>/dev/null
run gpc wait "$job"
like "$err" "hint: .gpucloud resume $job. starts it once more" "advice names the job, and no checkpoint"
like "$(gpc status "$job")" "gpucloud resume $job. starts" "so does its page"
: >fail
job=$(gpc submit -q -d --env "FAIL=$PWD/fail" saves.yaml)
run gpc wait "$job"
like "$err" "hint: the end of .gpucloud logs $job. shows" "advice on a failure"
run gpc submit -q --env "FAIL=$PWD/fail" saves.yaml
unlike "$err" "gpucloud logs" "which who has seen the log does not need"
cat >limited.yaml <<'Y'
name: limited
checkpoint: {path: ckpt}
limits: {time: 2s}
run: mkdir -p ckpt; date >ckpt/f; sleep 100
Y
run gpc submit -q limited.yaml
is "$rc" 124 "a time limit on a machine that costs nothing"
like "$err" "hint: .*checkpoint pull limited-[a-z2-7]*. fetches" "its advice names the checkpoint"
is "$(gpc status limited -o json | jq -c '[.nodes[].expires]')" "[null]" \
	"without limits.setup its node has no lifetime"

# --- the plan's end ----------------------------------------------------------------
run gpc submit -n limited.yaml
like "$err" "ends +after 2s of running \(limits.time\)" "the plan counts running time alone"
run gpc submit -n --setup-time 5m limited.yaml
like "$err" "ends +at the latest .*limits.time, setup and grace" "with limits.setup there is a latest end"

# --- what README shows ---------------------------------------------------------------
tour() { grep "$1" "$ROOT/README.md" | head -n 1 | tr -s ' '; }
is "$(gpc status | head -n 1 | tr -s ' ')" "$(tour '^JOB ')" "README's tour has status as it is"
like "$(tour '^gpucloud: job quickstart-')" \
	"^gpucloud: job quickstart-[a-z2-7]{6} SUCCEEDED: completed \(ran [0-9]+s in 2 attempts, cost .0[.]00\)$" \
	"and an end as it is said"

# --- the list of costs ---------------------------------------------------------------
like "$(gpc cost -o json | jq -c '[.rows[] | [.nodes, (.node_time_ms > 0)]] | unique')" \
	"^..1,true..$" "the list of costs knows machines and their time"

finish
