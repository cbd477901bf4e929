#!/bin/sh
# Others are told what becomes of a job: by commands that the plan names, that run
# on this machine, once for each event, whatever happens to supervisors.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

cat >tell.sh <<'S'
#!/bin/sh
echo "$GPUCLOUD_EVENT $GPUCLOUD_STATE ${GPUCLOUD_REASON:-none} $GPUCLOUD_JOB_NAME" \
	"$GPUCLOUD_ATTEMPT [$GPUCLOUD_COST $GPUCLOUD_CURRENCY] $* [$TOKEN]" >>"$TOLD"
gpucloud status "$GPUCLOUD_JOB_ID" -o name >/dev/null && echo known >>"$TOLD"
echo said by tell.sh
S
chmod +x tell.sh
export TOLD="$T/told" TOKEN=t0ken
PATH=$(dirname "$GPUCLOUD_BIN"):$PATH
export PATH
cat >told.yaml <<'Y'
name: Told
envs: {TOLD: null}
secrets: {TOKEN: null}
run: |
  if [ "$GPUCLOUD_ATTEMPT" -gt 1 ]; then # once its start was told
    for _ in $(seq 300); do
      grep -q '^start .* 2 ' "$TOLD" && exit 4
      sleep 0.1
    done
    exit 5
  fi
  echo 1 >"$GPUCLOUD_CHECKPOINT_DIR/n"
  gpucloud checkpoint save -q
  echo ready
  while :; do sleep 0.1; done
checkpoint: {path: state}
notify:
  - {command: [./tell.sh, a b], on: [start, recovering, failure]}
  - {command: [nosuch-program], on: success}
Y
run gpc submit --dry-run told.yaml
is "$rc" 0 "a plan"
like "$err" "notify +runs here, as you: .*/tell.sh 'a b' \(on start, recovering, failure\)" \
	"it names what will be run"
run gpc submit --dry-run --notify none told.yaml
is "$(printf '%s' "$err" | grep -c 'runs here')" 0 "nobody is an answer too"
sed 's|./tell.sh|./nosuch.sh|' told.yaml >nosuch.yaml
run gpc submit -d nosuch.yaml
is "$rc" 3 "a program that is not there"
like "$err" 'nosuch.yaml:17:1: notify: cannot read .*/nosuch.sh' "is named"
run gpc submit -d --notify 'tell.sh a b' told.yaml
is "$rc" 2 "a command is no line"
like "$err" 'a map such as \{command' "but a list, which it says"
run gpc submit -d --notify '{command: "tell.sh a b"}' told.yaml
is "$rc" 2 "nor is it one below command"
like "$err" "no shell reads it" "which has a reason"

job=$(gpc submit -q -d told.yaml)
says() { gpc logs "$job" --stdout | grep -q "$1"; }
wait_until 30 says ready
wait_until 30 grep -q known "$TOLD"
is "$(head -n 1 "$TOLD")" "start RUNNING none Told 1 [0.00 USD] a b []" \
	"the start, without the job's secret"
# A supervisor that is gone, and the next one, tell nothing twice, once that is noted.
noted() { stored "jobs/$job/" | grep -qx notified; }
wait_until 30 noted
pid=$(gpc status "$job" -o json | jq .supervisor.pid)
kill -9 "${pid:?}"
gpc signal -q "$job" interrupt
run gpc wait -q "$job"
is "$rc" 4 "the job ends as it ends"
wait_until 30 grep -q '^end' "$TOLD"
none_live() { [ -z "$(stored index/live/)" ]; }
wait_until 30 none_live
is "$(grep -v known "$TOLD" | cut -d ' ' -f 1-3,5)" "start RUNNING none 1
recovering RECOVERING spot_interrupted 1
start RUNNING none 2
end FAILED exit_code 2" "each event once, in order"
grep -q "said by tell.sh" "$XDG_STATE_HOME"/gpucloud/supervise-*.log
ok $? "what it says is in the supervisor's log"
is "$(gpc status "$job" -o json | jq .notify_failed)" null "nothing went wrong"

# Failures are noted and change nothing; nor does one that takes its time.
run gpc submit -q --notify '[{command: [nosuch-program]}, {command: [sh, -c, "sleep 2; exit 9"]}]' \
	--name fails -- true
is "$rc" 0 "a job whose commands fail"
failed() { gpc status fails | grep -q 'failed: sh (end): exit status 9'; }
wait_until 30 failed
ok $? "status says what failed last"

# A default of one's own, which a project cannot set.
gpc config set submit.notify "{command: [sh, -c, 'echo \$GPUCLOUD_JOB_NAME >>$T/mine']}"
run gpc submit -q --name mine -- true
is "$rc" 0 "a job with the user's own notify"
wait_until 30 test -s "$T/mine"
is "$(cat "$T/mine")" mine "it is told"
printf 'submit: {notify: "{command: [touch, %s]}"}\n' "$T/theirs" >.gpucloud.yaml
run gpc submit -q --name theirs -- true
is "$rc" 3 "a project's file may not set it"
rm .gpucloud.yaml

# One round from cron waits for what it has begun to tell.
gpc config unset submit.notify
cat >slow.yaml <<'Y'
name: slow
run: exit 0
notify: {command: [sh, -c, 'sleep 3; echo slow >>$TOLD']}
Y
slow=$(gpc submit -q -d slow.yaml)
wait_until 30 in_state slow SUCCEEDED
pid=$(gpc status "$slow" -o json | jq .supervisor.pid)
[ "$pid" = null ] || kill -9 "$pid"
run gpc supervise -q --once
told_slow() { grep -q slow "$TOLD"; }
wait_until 30 told_slow
ok $? "it is told by a later round"
finish
