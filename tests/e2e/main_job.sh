#!/bin/sh
# The life of a job, as a user meets it: submit, output, exit status, results.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir -p proj/sub
echo 'hello from the workspace' >proj/data.txt
echo deep >proj/sub/deep.txt
printf 'junk\n' >proj/ignored.tmp
echo '*.tmp' >proj/.gitignore
cat >job.yaml <<'Y'
name: main
workdir: proj
envs: {GREETING: hi, VERSION: 3.10}
setup: echo "in setup $GPUCLOUD_NODE_RANK"
run: |
  cat data.txt sub/deep.txt
  [ ! -e ignored.tmp ] && echo "ignored stayed at home"
  echo "$GREETING $VERSION attempt $GPUCLOUD_ATTEMPT of $GPUCLOUD_JOB_ID"
  echo "to stderr" >&2
  mkdir -p out && seq 1 5 > out/result.txt
  exit ${CODE:-0}
artifacts:
  - path: out
Y

run gpc submit job.yaml
is "$rc" 0 "attached submit ends with the job's status"
like "$out" "^hello from the workspace$" "the workspace arrived"
like "$out" "^ignored stayed at home$" "what .gitignore names stays at home"
like "$out" "^hi 3.10 attempt 1 of main-[a-z2-7]{6}$" "envs keep their text"
unlike "$out" "to stderr" "stderr is not on stdout"
like "$err" "^to stderr$" "stderr is on stderr"
like "$err" "SUCCEEDED|completed" "the end is told on stderr"
first=$(printf '%s\n' "$out" | sed -n 's/.* of \(main-.*\)/\1/p')

run gpc logs "$first" --stdout
like "$out" "^hello from the workspace$" "logs shows the output after the end"
run gpc logs main --stderr
is "$out$err" "to stderr" "logs --stderr shows stderr alone"
run gpc status main
like "$out" "SUCCEEDED" "status shows the end"
run gpc status -o json
like "$out" '"schema": *"gpucloud\.' "status -o json names its schema"
members='{job, name, owner, state, reason, attempt, num_nodes, submitted, ended, cost, rate_per_hour, ran: has("ran_ms")}'
row=$(printf '%s' "$out" | jq -c ".rows[] | select(.job == \"$first\") | $members")
run gpc status "$first" -o json
is "$(printf '%s' "$out" | jq -c "$members")" "$row" "the list and the detail agree, name by name"
is "$(printf '%s' "$out" | jq -r 'has("schema")')" true "one job as JSON"
is "$(reason_of "$first")" completed "the reason is completed"
run gpc pull main got
is "$(cat got/out/result.txt)" "$(seq 1 5)" "pull fetches the artifact"
run gpc cost main
is "$rc" 0 "cost answers"
like "$out" "main" "cost shows the job"
run gpc wait "$first"
is "$rc" 0 "wait returns at once with the job's status"

run gpc submit job.yaml --env CODE=7
is "$rc" 7 "the job's own exit code"
like "$err" "exit_code" "the reason word ends stderr"
run gpc wait main
is "$rc" 7 "wait gives the same code"
run gpc submit -- sh -c 'kill -9 $$'
is "$rc" 137 "a signal is 128 + n"
# shellcheck disable=SC2016
run gpc submit -- printf '%s|' a 'b c' "d'e" '$HOME' '*'
is "$out" "a|b c|d'e|\$HOME|*|" "a program's words arrive as they were"

run gpc submit -d job.yaml
like "$out" "^main-[a-z2-7]{6}$" "-d prints the id alone"
second=$out
echo changed >proj/data.txt
run gpc wait "$second"
like "$(gpc logs "$second")" "hello from the workspace" \
	"what was submitted is what runs"

mkdir -p data && echo old >data/f && echo one >one.txt
cat >mounts.yaml <<Y
name: mounts
file_mounts: {~/data: ./data, cfg/: ./one.txt, tree/: ./data}
run: |
  echo "attempt \$GPUCLOUD_ATTEMPT has \$(cat ~/data/f cfg/one.txt tree/f)"
  [ "\$GPUCLOUD_ATTEMPT" = 2 ] && exit
  until [ -e "$PWD/edited" ]; do sleep 0.1; done
  exit 1
recovery: {restarts: 1}
Y
run gpc submit --dry-run -v mounts.yaml
like "$err" "/data -> ~/data: 1 file, 4 " "the plan counts file mounts"
like "$err" "^    \+ ~/data/f  4 " "-v lists their files"
run gpc submit -d mounts.yaml
third=$out
rm -r data && echo new >one.txt && : >edited
run gpc wait "$third"
is "$rc" 0 "a node that starts later needs no file mount's source"
# Two lines: a file each.
like "$(gpc logs "$third" --stdout | tr '\n' ' ')" "attempt 2 has old one old" \
	"and has the file mounts that were submitted"

run gpc submit -q --pull fetched job.yaml
is "$(cat fetched/out/result.txt 2>/dev/null)" "$(seq 1 5)" "--pull fetches at the end"

run gpc submit -d --once key-1 job.yaml
once=$out
run gpc submit -d --once key-1 job.yaml
is "$out" "$once" "--once gives the same job again"
gpc wait "$once" >/dev/null 2>&1

run sh -c "'$GPUCLOUD_BIN' submit - <job.yaml"
is "$rc" 0 "- reads the spec from stdin"

cat >slow.yaml <<'Y'
run: sleep 60
limits: {time: 1s}
Y
run gpc submit slow.yaml
is "$rc" 124 "a limit of the spec ends it with 124"
like "$err" "time_limit" "and says so"

cat >setup.yaml <<'Y'
setup: exit 3
run: echo never
Y
run gpc submit setup.yaml
unlike "$out" never "a failed setup keeps run from starting"
like "$err" "setup_failed" "and is the reason"

cat >strict.yaml <<'Y'
strict: true
run: |
  false | true
  echo not reached
Y
run gpc submit strict.yaml
is "$rc" 1 "strict: a failing pipe ends the job"
unlike "$out" "not reached" "strict: at once"

run gpc status -o name
like "$out" "^$first$" "status -o name lists ids"
run gpc release --orphans
is "$rc" 0 "no orphans"
finish
