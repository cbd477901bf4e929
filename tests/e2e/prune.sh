#!/bin/sh
# Old checkpoints, old jobs and unneeded blobs go; nothing else does.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
far && skip_all "ages of objects are set in the store's folder"

cp "$ROOT/examples/shell.yaml" count.yaml
mkdir ws
echo hello >ws/a
count() { gpc submit -q -d --env PAUSE=0.1 --env LAST="$1" --workdir ws count.yaml; }
ids() { gpc checkpoint list "$1" -o name | tr '\n' ' '; }
resumed() { gpc logs "$1" --attempt 2 --stdout | grep -q "goes on"; }
blobs() { find "$STORE/blobs" -type f 2>/dev/null | wc -l; }
age() { find "$STORE" -exec touch -h -d "$1" {} +; }

# --- verify ---------------------------------------------------------------------
cat >keep.yaml <<'Y'
name: keep
run: |
  echo same >"$GPUCLOUD_CHECKPOINT_DIR/same"
  for i in 1 2 3 4; do
    echo "$i" >"$GPUCLOUD_CHECKPOINT_DIR/n"
    gpucloud checkpoint save --label "s$i" || exit 5
  done
  while [ ! -e "$GPUCLOUD_CHECKPOINT_DIR/stop" ]; do sleep 0.1; done
checkpoint: {path: state, keep: 10}
Y
job=$(gpc submit -q -d --workdir ws keep.yaml)
has_four() { [ "$(ids "$job" | wc -w)" -ge 4 ]; }
wait_until 60 has_four
ok $? "a job with four checkpoints"
run gpc checkpoint verify "$job" --all --workspace -o json
is "$rc" 0 "all of them are sound"
is "$(printf '%s' "$out" | jq -r '.rows | map(.result) | unique | join(" ")')" ok \
	"and each says so"
is "$(printf '%s' "$out" | jq -r '.rows | length')" 5 "with the workspace"
run gpc checkpoint verify "$job" 1-2-s2
is "$rc" 0 "one by its id"
run gpc checkpoint verify "$job" 1-9-none
is "$rc" 5 "one that is not there"

# --- a job that lives --------------------------------------------------------------
run gpc checkpoint prune "$job" --keep 3 --dry-run
is "$rc" 0 "prune --dry-run"
is "$out" 1-1-s1 "names what would go"
is "$(ids "$job" | wc -w)" 4 "and removes nothing"
run gpc checkpoint prune "$job" --keep 1
is "$rc" 2 "--keep 1 is refused: the newest two always stay"
run gpc checkpoint prune "$job" --keep 2
is "$rc" 0 "a running job prunes itself"
is "$(printf '%s' "$out" | tr '\n' ' ')" "1-1-s1 1-2-s2" "and tells what went"
is "$(ids "$job")" "1-3-s3 1-4-s4 " "two are left"
is "$(state_of "$job")" RUNNING "it still runs"
run gpc checkpoint verify "$job" --all
is "$rc" 0 "what is left is whole"
run gpc checkpoint prune "$job" --keep 2
like "$err" "nothing to prune" "the second time there is nothing"
run gpc cancel -q "$job"
run gpc wait -q "$job"
run gpc release -q "$job"

# --- one that has ended -------------------------------------------------------------
job=$(count 400)
wait_until 30 has_checkpoint "$job"
for i in 1 2 3; do gpc checkpoint save -q "$job" --label "x$i" >/dev/null; done
run gpc cancel -q "$job"
run gpc wait -q "$job"
run gpc checkpoint prune "$job" --keep 2
is "$rc" 0 "an ended job is pruned here, once its nodes are gone"
is "$(ids "$job" | wc -w)" 2 "two are left"
run gpc checkpoint verify "$job" --all
is "$rc" 0 "and whole"
run gpc resume -q -d "$job"
is "$rc" 0 "it can be resumed"
wait_until 30 resumed "$job"
ok $? "and goes on from what was kept"
run gpc release -q "$job"

# --- damage --------------------------------------------------------------------------
# One that a checkpoint names: a save that was cut short may have left others.
hurt=$(find "$STORE/jobs/$job" -path '*/blobs/*' -type f | while read -r blob; do
	grep -rqF --exclude-dir=blobs "${blob##*/}" "$STORE/jobs/$job" && echo "$blob"
done | head -n 1)
chmod u+w "$hurt"
printf x >>"$hurt"
run gpc checkpoint verify "$job" --all
is "$rc" 1 "damage is found"
like "$out" damaged "in the table"
like "$err" "$(basename "$hurt")" "the blob is named"
head=$(find "$STORE/jobs/$job/checkpoints" -name '*.json' | sort | tail -n 1)
chmod u+w "$head"
echo '{' >"$head"
run gpc checkpoint list "$job" -o name
is "$rc" 1 "a checkpoint that cannot be read is an error of list"
like "$err" "$(basename "$head")" "which names it"
is "$(printf '%s\n' "$out" | wc -l)" "$(($(ls "$STORE/jobs/$job/checkpoints" | wc -l) - 1))" \
	"and shows the others"
run gpc checkpoint prune "$job" --keep 2
is "$(printf '%s\n' "$err" | grep -c 'its blobs stay')" 1 "and prune warns of it once" ||
	note "$err"

# --- whole jobs -----------------------------------------------------------------------
before=$(gpc status --all -o name | wc -l)
run gpc prune --dry-run
is "$rc" 0 "prune --dry-run"
like "$err" "nothing to remove" "nothing is a month old"
run gpc prune --older-than 0
is "$rc" 2 "without a terminal -y is needed"
is "$(gpc status --all -o name | wc -l)" "$before" "and nothing was removed"
# An ended job is listed as ended a moment after its node has gone.
listed_live() { [ "$(ls "$STORE/index/live" | wc -l)" = "$1" ]; }
live=$(count 400)
wait_until 30 in_state "$live" RUNNING
wait_until 20 listed_live 1
run gpc prune --older-than 0 -y
is "$rc" 0 "prune -y"
like "$out" "$job +.*removed" "removes jobs that have ended"
is "$(gpc status --all -o name)" "$live" "the running one stays"
is "$(find "$STORE/jobs" -mindepth 1 -maxdepth 1)" "$STORE/jobs/$live" \
	"with its folder alone"
is "$(find "$STORE/index" "$STORE/secrets" "$STORE/once" -type f 2>/dev/null |
	grep -vc "$live")" 0 "nothing else of the others is left"
run gpc status "$job"
is "$rc" 5 "a removed job is not found"
is "$(state_of "$live")" RUNNING "the running one runs"

# --- blobs --------------------------------------------------------------------------------
echo other >ws/b
run gpc submit -q --workdir ws --name other -- true
is "$rc" 0 "another workspace"
run gpc release -q other
wait_until 20 listed_live 1
run gpc prune --jobs --older-than 0 -y
n=$(blobs)
run gpc prune --blobs -y -o json
is "$(blobs)" "$n" "young blobs stay"
run gpc cancel -q --now "$live"
run gpc release -q "$live"
age '20 days ago'
run gpc prune --blobs --dry-run -o json
like "$out" '"what": "blobs"' "old ones would go"
is "$(blobs)" "$n" "but a dry run removes none"
run gpc prune --blobs -y -q
is "$rc $out" "0 " "prune --blobs -q has no name of a job to print"
[ "$(blobs)" -lt "$n" ] && [ "$(blobs)" -gt 0 ]
ok $? "removes what nobody needs and keeps what the other job needs ($(blobs) of $n)"
run gpc checkpoint verify "$live" --workspace
is "$rc" 0 "whose workspace is whole"
# The same files again: what was old is put again and used.
run gpc submit -q --workdir ws --name again -- cat b
is "$rc" 0 "a submit of removed files puts them again"
is "$out" other "with their bytes"
wait_until 20 listed_live 0
run gpc prune --older-than 0 -y
is "$rc" 0 "and all of it can go"
is "$(find "$STORE/jobs" -type f 2>/dev/null | wc -l)" 0 "no job is left"
mkdir -p "$STORE/jobs/killed-aaaaaa/events" "$STORE/jobs/killed-aaaaaa/1/0"
age '2 minutes ago'
run gpc prune --dry-run
is "$(ls "$STORE/jobs" 2>/dev/null)" "" "nor a folder that a killed prune has left"

# --- others' --------------------------------------------------------------------------------
run gpc submit -q --name mine -- true
run gpc release -q mine
GPUCLOUD_OWNER=somebody-else
export GPUCLOUD_OWNER
run gpc prune --older-than 0 -y
like "$err" "nothing to remove" "jobs of others stay"
run gpc prune --older-than 0 -y --all-users
like "$out" "mine-.*removed" "unless --all-users is given"
unset GPUCLOUD_OWNER
finish
